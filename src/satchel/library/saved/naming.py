"""How saved skills are called: `create-report`, and in code `create_report` or `createReport`."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from satchel.errors import ArgumentError
from satchel.languages import LANGUAGES, Language
from satchel.names import assign_tools

LONGEST_CODE = 128 * 1024
_MODULES: Mapping[Language, Callable[[str], str]] = {
    "python": lambda skill: skill.replace("-", "_"),
    "typescript": lambda skill: skill,
}
_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_LONGEST_NAME = 60
_RESERVED = frozenset({"servers", "tools", "helpers", "skills", "satchel-runtime"})  # beside a program


@dataclass(frozen=True, kw_only=True)
class Names:
    """How a skill is called: `create-report`, and in code `create_report` or `createReport`."""

    skill: str
    language: Language

    @property
    def module(self) -> str:
        return _MODULES[self.language](self.skill)

    @property
    def file(self) -> str:
        return self.module + LANGUAGES[self.language].ending

    @property
    def function(self) -> str:
        return LANGUAGES[self.language].spelled(assign_tools([self.skill])[self.skill])

    @property
    def imported(self) -> str:
        """The line by which a program has it."""
        return LANGUAGES[self.language].imported(f"skills/{self.module}", self.function)


def names_of(name: str, language: Language) -> Names:
    """ArgumentError for what can't be the name of a skill, or of the function that it has."""
    names = Names(skill=name.replace("_", "-"), language=language)
    if not _NAME.fullmatch(names.skill) or len(names.skill) > _LONGEST_NAME:
        raise ArgumentError(
            f"{name[:80]!r} can't be the name of a skill",
            argument="name",
            hint="use lower-case words with hyphens or underscores, such as create-report;"
            f" at most {_LONGEST_NAME} letters",
        )
    if not _is_free(names):
        raise ArgumentError(f"the name '{names.skill}' is taken", argument="name", hint="use another one")
    return names


@lru_cache(maxsize=1024)
def _is_free(names: Names) -> bool:
    """Not a word of the language, or of Satchel."""
    plain = {names.skill.replace("-", "_"), re.sub(r"-(.)", lambda found: found[1].upper(), names.skill)}
    return names.skill not in _RESERVED and names.function in plain
