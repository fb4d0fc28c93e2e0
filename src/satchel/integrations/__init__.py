"""A Toolset for agent frameworks: a module each, which needs that framework's package and no other."""
