"""A program's types, checked in a box before it runs."""
