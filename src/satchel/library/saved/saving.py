"""Saving a working program as a skill: a folder with its module, and a SKILL.md that says how to use it.

Everything here was written by a program: names, texts and code are checked, and the code is read, never run.

    .satchel/skills/<agent>/create-report/SKILL.md            what it does, how it is called, what it calls
                                          create_report.py    the module, or create-report.ts
                                          tests/example.py    a program that uses it, where one is known
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256

from satchel.config import Paths
from satchel.errors import ArgumentError, SatchelError
from satchel.languages import LANGUAGES, Language
from satchel.library.install.folders import replace_folder
from satchel.library.saved.code import CODE
from satchel.library.saved.describing import Example, skill_text
from satchel.library.saved.marks import mark_for
from satchel.library.saved.naming import LONGEST_CODE, names_of
from satchel.library.saved.places import place_of, refuse_unfit
from satchel.library.saved.reading import Reading
from satchel.library.skills.directory import FILE
from satchel.library.sources import saved_root
from satchel.model import Json, Source, Tool
from satchel.support.files import locked

LONGEST_DESCRIPTION = 1024
LONGEST_EXAMPLE = 8 * 1024
MOST_SKILLS = 200  # of one agent
FindTool = Callable[[str], Tool | None]
"""The tool of a name in any spelling, if the catalog has it."""


@dataclass(frozen=True, kw_only=True)
class NewSkill:
    """A skill to save."""

    name: str
    code: str
    description: str
    agent: str
    language: Language = "python"
    example: str = ""
    execution: str | None = None
    reads: tuple[Source, ...] = ()  # what had been read before the program saved it


def save_skill(paths: Paths, new: NewSkill, find_tool: FindTool) -> Json:
    """Write a skill, new or again; returns its name, its import, and the tools that it calls."""
    refuse_unfit(new.agent)
    if new.language not in LANGUAGES:
        raise ArgumentError(
            "a skill is in python or typescript", argument="language", hint="leave language out"
        )
    names = names_of(new.name, new.language)
    description = _checked_description(new.description)
    _check_text("code", new.code, LONGEST_CODE)
    _check_text("example", new.example, LONGEST_EXAMPLE)
    reading = CODE[new.language].read(new.code, names.function)
    CODE[new.language].check_example(new.example)
    tools = _tools(reading, find_tool)
    code = new.code.encode()
    metadata: Json = {
        "language": new.language,
        "module": names.file,
        "function": names.function,
        "agent": new.agent,
        **({"execution": new.execution} if new.execution else {}),
        "saved": datetime.now(UTC).isoformat(timespec="seconds"),
        "digest": digest_of(code),
        "tools": tools,
    }
    example = Example(names=names, reading=reading, given=new.example)
    files = {FILE: skill_text(example, description, metadata).encode("utf-8", "replace"), names.file: code}
    files |= mark_for(new.reads)
    if example.can_run:
        files[f"tests/example{LANGUAGES[new.language].ending}"] = example.program.encode()
    _write(paths, new.agent, names.skill, files)
    return {
        "name": names.skill,
        "import": names.imported,
        "signature": reading.signature,
        "tools": list(tools),
    }


def digest_of(code: bytes) -> str:
    return sha256(code).hexdigest()


def _write(paths: Paths, agent: str, name: str, files: Mapping[str, bytes]) -> None:
    with locked(saved_root(paths)):
        place = place_of(paths, agent)
        try:
            if not os.path.lexists(place / name) and len(os.listdir(place)) >= MOST_SKILLS:
                raise ArgumentError(
                    f"agent '{agent}' has {MOST_SKILLS} skills already",
                    hint="remove some that are not needed",
                )
            replace_folder(place / name, files)
        except OSError as error:
            raise SatchelError(
                f"{place / name} can't be written: {error.strerror}", hint="let Satchel write there"
            ) from error


def _tools(reading: Reading, find_tool: FindTool) -> dict[str, str]:
    """The definitions that it relies on, by name; one that nobody knows has none."""
    found: dict[str, str] = {}
    for call in reading.calls:
        tool = find_tool(call)
        found[tool.qualified_name if tool is not None else call[:200]] = (
            tool.digest if tool is not None else ""
        )
    return dict(sorted(found.items()))


def _checked_description(text: str) -> str:
    _check_text("description", text, 4 * LONGEST_DESCRIPTION)
    description = " ".join(text.split())
    if not description or len(description) > LONGEST_DESCRIPTION:
        raise ArgumentError(
            f"the description must have 1 to {LONGEST_DESCRIPTION:,} characters", argument="description"
        )
    odd = next((character for character in description if not character.isprintable()), None)
    if odd is not None or set("<>") & set(description):
        shown = f"U+{ord(odd):04X}" if odd is not None else "'<' or '>'"
        raise ArgumentError(
            f"the description must not have {shown} in it", argument="description", hint="use plain words"
        )
    return description


def _check_text(name: str, text: object, longest: int) -> None:
    if not isinstance(text, str) or len(text) > longest:
        raise ArgumentError(f"'{name}' must be a text of at most {longest:,} characters", argument=name)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ArgumentError(f"'{name}' is not valid Unicode: {error.reason}", argument=name) from None
    if "\0" in text:
        raise ArgumentError(f"'{name}' has a zero in it", argument=name)
