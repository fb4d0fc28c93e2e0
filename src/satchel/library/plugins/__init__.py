"""Plugins as a person keeps them: where they come from, installing, updating and removing them."""
