"""Plugins: what they bring besides servers, as it is now."""
