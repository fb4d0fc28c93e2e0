"""Skills that were saved: what is known of each, and whether it was tested."""

import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from satchel.errors import ArgumentError, NotFoundError, SatchelError
from satchel.languages import LANGUAGES, Language, with_wrappers
from satchel.library.install.folders import read_inside
from satchel.library.saved.naming import LONGEST_CODE, names_of
from satchel.library.saved.recording import RECORDED
from satchel.library.saved.saving import digest_of
from satchel.library.skills.directory import FILE, is_folder
from satchel.library.skills.front_matter import read_document
from satchel.library.sources import COMMUNITY, Source, importable
from satchel.model import Json, Tool, is_object
from satchel.names import closest
from satchel.support.files import write_atomically

TESTS = "tests"
_LARGEST_TEXT = 1024 * 1024  # bytes of a SKILL.md
OUTCOME = "outcome.json"
LARGEST_FILE = 1024 * 1024  # bytes of a file of one
Finding = Literal["changed", "gone", "not listed"]


@dataclass(frozen=True, kw_only=True)
class SavedSkill:
    """One that an agent wrote, as its folder has it now."""

    name: str
    category: str
    folder: Path
    language: Language
    file: Path
    digest: str  # of the module as it is
    agent: str  # who saved it first
    tools: dict[str, str]  # what it calls, with the digests of their definitions then

    @property
    def identity(self) -> str:
        return f"{self.category}:{self.name}"

    @property
    def example(self) -> Path:
        return self.folder / TESTS / f"example{LANGUAGES[self.language].ending}"

    @property
    def recording(self) -> Path:
        return self.folder / TESTS / RECORDED

    @property
    def tested(self) -> Json | None:
        """How its last test ended, if that was of this module."""
        try:
            outcome: Any = json.loads(read_inside(self.folder, f"{TESTS}/{OUTCOME}", LARGEST_FILE))
        except (OSError, ValueError, RecursionError):
            return None
        return outcome if is_object(outcome) and outcome.get("digest") == self.digest else None


def saved_skills(sources: Iterable[Source]) -> Iterator[SavedSkill]:
    """All that were saved to these sources, by agents or for all."""
    for source in importable(sources):
        for name in _folders(source):
            saved = read_saved(source.root / name, source.category)
            if saved is not None:
                yield saved


def find_saved(sources: Iterable[Source], name: str, agent: str) -> SavedSkill:
    """The agent's own of that name, or else that of the community; `community:name` is the latter."""
    category, _, plain = name.rpartition(":")
    skill = plain.replace("_", "-")
    wanted = (category,) if category else (agent, COMMUNITY)
    if any(each not in (agent, COMMUNITY) for each in wanted):
        raise NotFoundError("skill", name, hint=f"--agent {category} is for skills of that agent")
    known: list[str] = []
    for saved in saved_skills(sources):
        if saved.category in wanted:
            if saved.name == skill:
                return saved
            known.append(saved.name)
    hint = None if known else f"agent '{agent}' has saved none"
    raise NotFoundError("skill", name, closest=closest(skill, known), hint=hint)


def _folders(source: Source) -> list[str]:
    if not is_folder(source.root):
        return []
    names = [name for name in sorted(os.listdir(source.root)) if source.only is None or name in source.only]
    return [name for name in names if not name.startswith(".") and is_folder(source.root / name)]


def read_saved(folder: Path, category: str) -> SavedSkill | None:
    """None for a skill that is instructions only, or can't be read."""
    try:
        metadata: object = read_document(read_inside(folder, FILE, _LARGEST_TEXT)).values.get("metadata")
        language = with_wrappers(metadata.get("language")) if is_object(metadata) else None
        if not is_object(metadata) or language is None:
            return None
        file = folder / names_of(folder.name, language).file
        code = read_inside(folder, file.name, 4 * LONGEST_CODE)
    except (OSError, ArgumentError):
        return None
    tools = metadata.get("tools")
    return SavedSkill(
        name=folder.name,
        category=category,
        folder=folder,
        language=language,
        file=file,
        digest=digest_of(code),
        agent=str(metadata.get("agent") or category),
        tools={name: str(digest or "") for name, digest in tools.items()} if is_object(tools) else {},
    )


def read_example(saved: SavedSkill) -> str:
    """The program that uses a skill; OSError if there is none, UnicodeDecodeError if it is not text."""
    return read_inside(saved.folder, f"{TESTS}/{saved.example.name}", LARGEST_FILE).decode()


def stale_tools(
    saved: SavedSkill, find_tool: Callable[[str], Tool | None], is_silent: Callable[[str], bool]
) -> dict[str, Finding]:
    """The tools that it calls and that are no longer what they were. `is_silent` is true of servers' tools
    that nobody has asked for yet."""
    found: dict[str, Finding] = {}
    for name, digest in saved.tools.items():
        tool = find_tool(name)
        if tool is None:
            found[name] = "not listed" if is_silent(name) else "gone"
        elif digest and tool.digest != digest:
            found[name] = "changed"
    return found


def keep_outcome(saved: SavedSkill, outcome: Json) -> None:
    """Record how a test of this module ended."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    write_test_file(saved, OUTCOME, json.dumps({"digest": saved.digest, "at": now, **outcome}).encode())


def write_test_file(saved: SavedSkill, name: str, data: bytes) -> None:
    place = saved.folder / TESTS
    place.mkdir(mode=0o755, exist_ok=True)
    if not is_folder(place):
        raise SatchelError(f"{place} is a symbolic link", hint="remove it")
    # Programs may run as another user; what calls have returned is for nobody but its owner.
    write_atomically(place / name, data, mode=0o600 if name == RECORDED else 0o644)
