"""The verbs for memories: looked at, changed, reviewed and imported by people, used by models."""
