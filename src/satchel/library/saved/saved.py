"""Skills that were saved: what is known of each, whether it was tested, and how it comes to the community."""

import json
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from satchel.errors import ArgumentError, NotFoundError, SatchelError
from satchel.languages import LANGUAGES, Language, with_wrappers
from satchel.library.install.folders import read_inside, replace_folder
from satchel.library.saved.naming import LONGEST_CODE, names_of
from satchel.library.saved.recording import RECORDED
from satchel.library.saved.saving import digest_of
from satchel.library.saved.shelf import SHARED, Shelf
from satchel.library.skills.front_matter import read_document
from satchel.library.skills.walking import COMMUNITY, FILE
from satchel.library.state import read_states, update_states
from satchel.model import Json, Tool, is_object
from satchel.names import closest
from satchel.support.files import locked, write_atomically

TESTS = "tests"
_LARGEST_TEXT = 1024 * 1024  # bytes of a SKILL.md
OUTCOME = "outcome.json"
_MOST_FILES, _LARGEST_FILE, _DEEPEST = 100, 1024 * 1024, 4
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
            outcome: Any = json.loads(read_inside(self.folder, f"{TESTS}/{OUTCOME}", _LARGEST_FILE))
        except (OSError, ValueError, RecursionError):
            return None
        return outcome if is_object(outcome) and outcome.get("digest") == self.digest else None


def saved_skills(shelf: Shelf) -> Iterator[SavedSkill]:
    """All of them, of all agents and of the community: for people, not for an agent."""
    try:
        categories = sorted(os.listdir(shelf.root))
    except OSError:
        return
    for category in categories:
        if category not in SHARED or category == COMMUNITY:
            yield from _in(shelf.root / category, category)


def find_saved(shelf: Shelf, name: str, agent: str) -> SavedSkill:
    """The agent's own of that name, or else that of the community; `community:name` is the latter."""
    category, _, plain = name.rpartition(":")
    skill = plain.replace("_", "-")
    wanted = [category] if category else [agent, COMMUNITY]
    if any(each not in (agent, COMMUNITY) for each in wanted):
        raise NotFoundError("skill", name, hint=f"--agent {category} is for skills of that agent")
    known: list[str] = []
    for each in wanted:
        for saved in _in(shelf.root / each, each):
            if saved.name == skill:
                return saved
            known.append(saved.name)
    hint = None if known else f"agent '{agent}' has saved none"
    raise NotFoundError("skill", name, closest=closest(skill, known), hint=hint)


def _in(folder: Path, category: str) -> Iterator[SavedSkill]:
    if not _is_folder(folder):
        return
    for name in sorted(os.listdir(folder)):
        if not name.startswith(".") and _is_folder(folder / name):
            saved = _read(folder / name, category)
            if saved is not None:
                yield saved


def _read(folder: Path, category: str) -> SavedSkill | None:
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
    """The program that uses a skill; OSError where there is none, UnicodeDecodeError where it is no text."""
    return read_inside(saved.folder, f"{TESTS}/{saved.example.name}", _LARGEST_FILE).decode()


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
    if not _is_folder(place):
        raise SatchelError(f"{place} is a symbolic link", hint="remove it")
    # Programs may run as another user; what calls have returned is for nobody but its owner.
    write_atomically(place / name, data, mode=0o600 if name == RECORDED else 0o644)


def promote(shelf: Shelf, saved: SavedSkill, extensions_file: Path, *, force: bool = False) -> Path:
    """Copy a skill to the community, and switch it on there. Untested ones are refused."""
    if saved.category == COMMUNITY:
        raise ArgumentError(f"{saved.name} is of the community already")
    tested = saved.tested
    if not force and (tested is None or tested.get("passed") is not True):
        why = "its last test failed" if tested else "it was not tested since it was last changed"
        agent = f" --agent {saved.category}" if saved.category != "default" else ""
        raise ArgumentError(
            f"{saved.name} can't be promoted: {why}",
            hint=f"satchel skills test {saved.name}{agent}, then again",
        )
    files = _files(saved)
    if digest_of(files.get(saved.file.name, b"")) != saved.digest:
        raise ArgumentError(f"{saved.name} was changed just now", hint="test it, then try again")
    identity = f"{COMMUNITY}:{saved.name}"

    def check_states(states: Json) -> None:
        if not force and any(_is_off(states.get(key)) for key in (identity, saved.name)):
            raise ArgumentError(
                f"somebody has switched '{identity}' off", hint=f"satchel skills enable {identity}"
            )

    def switch_on(states: Json) -> None:
        check_states(states)  # once more: somebody may have while it was copied
        states[identity] = {"enabled": True}

    check_states(read_states(extensions_file))
    with locked(shelf.state):
        place = shelf.place(COMMUNITY) / saved.name
        there = _read(place, COMMUNITY) if os.path.lexists(place) else None
        if os.path.lexists(place) and not force and (there is None or there.agent != saved.agent):
            by = f" of agent '{there.agent}'" if there is not None else ""
            raise ArgumentError(
                f"the community has a skill '{saved.name}'{by}",
                hint="save it under another name, or --force to replace that one",
            )
        replace_folder(place, files)
    update_states(extensions_file, switch_on)
    return place


def _is_off(state: object) -> bool:
    return state is False or (is_object(state) and state.get("enabled") is False)


def _files(saved: SavedSkill) -> dict[str, bytes]:
    """What is copied: neither links, nor what its calls returned, which not everyone may see."""
    found: dict[str, bytes] = {}
    for path, folders, names, descriptor in os.fwalk(saved.folder, follow_symlinks=False):
        relative = Path(path).relative_to(saved.folder)
        folders[:] = [name for name in folders if not name.startswith(".") and len(relative.parts) < _DEEPEST]
        for name in names:
            file = (relative / name).as_posix()
            status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
            if not stat.S_ISREG(status.st_mode) or name.startswith(".") or file == f"{TESTS}/{RECORDED}":
                continue
            if status.st_size > _LARGEST_FILE or len(found) >= _MOST_FILES:
                raise ArgumentError(
                    f"{saved.name} is too large to be promoted: at most {_MOST_FILES} files of a mebibyte",
                    hint=f"look at {saved.folder / file}",
                )
            inner = os.open(
                name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=descriptor
            )
            with open(inner, "rb") as stream:
                found[file] = stream.read(_LARGEST_FILE)
    return found


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False
