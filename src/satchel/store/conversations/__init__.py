"""Conversations in the database: their tables, how they are read, and an async interface."""
