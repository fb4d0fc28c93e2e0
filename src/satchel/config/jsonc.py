"""JSON with comments and trailing commas, as editors write it."""

import re

# Strings are matched first, so that what looks like a comment inside one is left alone. A string or comment
# that never ends is matched to the end of the text: looking for it again from every character takes minutes.
_STRING = r'"(?:[^"\\]|\\.)*+"?'
_COMMENT = re.compile(rf"{_STRING}|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_TRAILING_COMMA = re.compile(rf"{_STRING}|,(?=\s*+[\]}}])", re.DOTALL)


def to_json(text: str) -> str:
    """The same text as plain JSON. What is taken out becomes spaces, so lines and columns stay right."""

    def blank(match: re.Match[str]) -> str:
        return match[0] if match[0].startswith('"') else re.sub(r"[^\n]", " ", match[0])

    return _TRAILING_COMMA.sub(blank, _COMMENT.sub(blank, text))
