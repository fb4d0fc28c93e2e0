"""Calling tools by name, for when no wrapper is at hand."""
