"""The verbs for agents, for the person who keeps them."""
