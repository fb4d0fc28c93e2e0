"""The languages of programs, wrappers and saved skills, and what all stages must agree on about each.

How a stage handles a language is in a table of its own: `WRITERS` in codegen, `JOBS` and `CHECKERS` in
sandbox, `CODE` in library/saved. To add a language, add a row to each; nothing compares a language's name.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from satchel.errors import ArgumentError

if TYPE_CHECKING:  # the command line's parser must load quickly
    from satchel.names import Spelling

Language = Literal["python", "typescript"]
"""A language that has wrappers, and that skills can be saved in."""
ProgramLanguage = Literal["python", "typescript", "bash"]
"""A language that a program can be in."""


@dataclass(frozen=True, kw_only=True)
class Conventions:
    """How wrappers and skills are named and imported in a language."""

    ending: str  # of their files
    spelled: "Callable[[Spelling], str]"
    imported: Callable[[str, str], str]
    """The line that imports a name from a folder or module of the tree, such as servers/google_drive."""


@dataclass(frozen=True, kw_only=True)
class Programs:
    """How programs in a language are recognised, and what the language is called."""

    title: str
    names: tuple[str, ...]  # by which it can be asked for
    endings: tuple[str, ...]  # of files


LANGUAGES: Mapping[Language, Conventions] = {
    "python": Conventions(
        ending=".py",
        spelled=lambda spelling: spelling.python,
        imported=lambda place, name: f"from {place.replace('/', '.')} import {name}",
    ),
    "typescript": Conventions(
        ending=".ts",
        spelled=lambda spelling: spelling.typescript,
        imported=lambda place, name: f'import {{ {name} }} from "./{place}";',
    ),
}
PROGRAMS: Mapping[ProgramLanguage, Programs] = {
    "python": Programs(title="Python", names=("python", "py"), endings=(".py",)),
    "typescript": Programs(
        title="TypeScript",
        names=("typescript", "ts", "javascript", "js"),
        endings=(".ts", ".mts", ".js", ".mjs"),
    ),
    "bash": Programs(title="the shell", names=("bash", "sh"), endings=(".sh",)),
}
_NAMES: Mapping[str, ProgramLanguage] = {
    name: language for language, programs in PROGRAMS.items() for name in programs.names
}
_ENDINGS: Mapping[str, ProgramLanguage] = {
    ending: language for language, programs in PROGRAMS.items() for ending in programs.endings
}


def language_of(name: str) -> ProgramLanguage:
    """The language that a name stands for."""
    if name not in _NAMES:
        raise ArgumentError(
            f"programs can't be in {name[:40]!r}", argument="language", hint="use python or typescript"
        )
    return _NAMES[name]


def language_of_file(ending: str) -> ProgramLanguage | None:
    """The language of a program in a file with that ending."""
    return _ENDINGS.get(ending)


def with_wrappers(name: object) -> Language | None:
    """The language of that name if it has wrappers; the shell has none."""
    return next((language for language in LANGUAGES if language == name), None)
