"""Headings at the beginning of a text in Markdown, which say less than what follows."""

import re

_HEADING = re.compile(r"\s*(?:#{1,6}[ \t][^\n]*|[^\n]+\n[ \t]*(?:={3,}|-{3,})[ \t]*)(?:\n|$)")
_LONGEST = 4000  # characters that are looked at


def without_headings(text: str) -> str:
    """The text from its first line that is not a heading; nothing where it has headings alone."""
    text = text[:_LONGEST]
    while found := _HEADING.match(text):
        text = text[found.end() :]
    return text.strip()
