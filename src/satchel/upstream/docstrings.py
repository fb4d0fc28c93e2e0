"""What a docstring says about each parameter, in the ways that are common: Google, NumPy and Sphinx.

What can't be read is left out: it is still in the description of the tool, which has the whole docstring.
"""

import re
from collections.abc import Iterable

_SPHINX = re.compile(r":(?:param|parameter|arg|argument|key|keyword)\s+(?:[^:]*?\s)?\*{0,2}(\w+)\s*:\s*(.*)")
_GOOGLE_HEADING = re.compile(r"(?:Args|Arguments|Parameters|Params|Keyword Args|Keyword Arguments):")
_GOOGLE_ITEM = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)")
_NUMPY_ITEM = re.compile(r"\*{0,2}(\w+(?:\s*,\s*\w+)*)\s*(?::.*)?")


def parameter_descriptions(docstring: str) -> dict[str, str]:
    """Each parameter's text on one line. `docstring` is without the indentation of its function."""
    lines = docstring.splitlines()
    found: dict[str, list[str]] = {}
    for position, line in enumerate(lines):
        if match := _SPHINX.match(line):
            following = _deeper_than(lines[position + 1 :], 0)
            found.setdefault(match[1], [match[2], *following])
        elif _GOOGLE_HEADING.fullmatch(line.rstrip()):
            _read_google(_deeper_than(lines[position + 1 :], 0, blank=True), found)
        elif line.strip() in ("Parameters", "Other Parameters") and _is_ruled(lines, position):
            _read_numpy(lines[position + 2 :], found)
    texts = {name: " ".join(" ".join(parts).split()) for name, parts in found.items()}
    return {name: text for name, text in texts.items() if text}


def _read_google(block: list[str], found: dict[str, list[str]]) -> None:
    first = min((_indent(line) for line in block if line.strip()), default=0)
    current: list[str] | None = None
    for line in block:
        if line.strip() and _indent(line) == first:
            match = _GOOGLE_ITEM.match(line.strip())
            current = found.setdefault(match[1], [match[2]]) if match else None
        elif current is not None:
            current.append(line)


def _read_numpy(lines: list[str], found: dict[str, list[str]]) -> None:
    current: list[list[str]] = []
    for position, line in enumerate(lines):
        if line.strip() and _indent(line) == 0:
            match = _NUMPY_ITEM.fullmatch(line.strip())
            if match is None or _is_ruled(lines, position):
                return
            current = [found.setdefault(name.strip(), []) for name in match[1].split(",")]
        else:
            for text in current:
                text.append(line)


def _deeper_than(lines: Iterable[str], indent: int, *, blank: bool = False) -> list[str]:
    """The lines from here on that are indented, up to the first that is not; `blank` ones don't end it."""
    taken: list[str] = []
    for line in lines:
        if (line.strip() and _indent(line) <= indent) or (not line.strip() and not blank):
            break
        taken.append(line)
    return taken


def _is_ruled(lines: list[str], position: int) -> bool:
    """Whether the line is a heading of NumPy's kind, underlined with dashes."""
    return position + 1 < len(lines) and re.fullmatch(r"-{3,}\s*", lines[position + 1]) is not None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
