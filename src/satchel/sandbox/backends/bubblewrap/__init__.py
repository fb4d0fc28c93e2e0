"""Isolated boxes on Linux: what is in one, how it is made, and some kept ready."""
