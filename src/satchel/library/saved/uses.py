"""Which skills a program imports, by its text. Nothing is run, and no language needs to be told."""

import re

from satchel.names import PROGRAM_MAX

_PYTHON = re.compile(r"\b(?:from|import)\s+skills((?:\.\w+)+)")
_NAMES = re.compile(r"\bfrom\s+skills(?:\.\w+)?\s+import\s+(\([^)]{0,2000}\)|[^\n;#]*)")
_TYPESCRIPT = re.compile(r"""["'](?:\./|/workspace/)?skills/([\w./-]+)["']""")
_ENDING = re.compile(r"\.[a-z]+$")
_WORD = re.compile(r"\w+")


def imported_skills(program: str) -> frozenset[str]:
    """The words of a program that may be modules of skills: those in its imports of `skills`."""
    program = program[:PROGRAM_MAX]
    words = {
        word
        for found in (*_PYTHON.findall(program), *_NAMES.findall(program))
        for word in _WORD.findall(found)
    }
    places = (_ENDING.sub("", place) for place in _TYPESCRIPT.findall(program))
    return frozenset(words | {place.rpartition("/")[2] for place in places})
