"""The chain that every call of every surface goes through."""
