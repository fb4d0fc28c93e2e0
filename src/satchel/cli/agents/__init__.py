"""agents: the agents of a project, for the person who keeps them."""
