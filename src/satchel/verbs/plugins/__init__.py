"""The verbs for plugins: kept by a person, installed, updated."""
