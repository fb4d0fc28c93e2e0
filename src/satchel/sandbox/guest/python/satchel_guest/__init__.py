"""Runs a program inside the box. Programs don't import it."""
