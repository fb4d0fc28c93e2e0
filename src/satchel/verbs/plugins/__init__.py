"""The verbs for plugins: kept and installed by a person, and what they bring to agents."""
