"""Plugins: what they bring besides servers, and how they are installed, updated and removed."""
