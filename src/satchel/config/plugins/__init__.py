"""Plugins: their folders read, their state, and the servers that they bring. Nothing of them is executed."""
