"""Calls that wait for a person: asking, and deciding."""
