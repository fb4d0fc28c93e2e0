"""From the catalog to typed wrappers: JSON Schema → type tree → Python and TypeScript → a tree of files.

Everything here is a pure function except `tree`, which writes.
"""
