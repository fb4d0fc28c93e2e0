"""Giving a saved skill to all agents: a tested copy in the community, switched on.

    skills/community             what a person gave: among the files of the project, where people's tools run
    .satchel/skills/community    what an agent gave that may: out of sight of these tools

Of two skills of one name, the person's counts.
"""

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from satchel.config import Paths
from satchel.config.settings import SkillsSettings
from satchel.errors import ArgumentError
from satchel.library.install.folders import replace_folder
from satchel.library.install.run_by_tools import first_run_by_tool
from satchel.library.saved.marks import mark_in
from satchel.library.saved.places import make_place, place_of
from satchel.library.saved.recording import RECORDED
from satchel.library.saved.saved import LARGEST_FILE, TESTS, SavedSkill, read_saved
from satchel.library.saved.saving import digest_of
from satchel.library.sources import COMMUNITY, project_root, saved_root
from satchel.library.state import read_states, update_states
from satchel.model import Json, is_object
from satchel.support.files import locked, write_atomically

By = Literal["person", "agent"]
_MOST_FILES, _DEEPEST = 100, 4
_README = "README.md"


@dataclass(frozen=True, kw_only=True)
class Community:
    """The two folders of skills for all agents."""

    paths: Paths
    settings: SkillsSettings

    @property
    def of_people(self) -> Path:
        return project_root(self.paths, self.settings) / COMMUNITY

    @property
    def of_agents(self) -> Path:
        return saved_root(self.paths) / COMMUNITY


def promote(community: Community, saved: SavedSkill, *, by: By, force: bool = False) -> Path:
    """Copy a skill to the community, and switch it on there. Untested ones are refused."""
    if saved.category == COMMUNITY:
        raise ArgumentError(f"{saved.name} is in the community already")
    _check_tested(saved, force)
    files = _files(saved)
    if digest_of(files.get(saved.file.name, b"")) != saved.digest:
        raise ArgumentError(f"{saved.name} was changed just now", hint="test it, then try again")
    if by == "person":
        _refuse_run_by_tools(saved, files)
    identity = f"{COMMUNITY}:{saved.name}"

    def check_states(states: Json) -> None:
        if not force and any(_is_off(states.get(key)) for key in (identity, saved.name)):
            raise ArgumentError(
                f"somebody has switched '{identity}' off", hint=f"satchel skills enable {identity}"
            )

    def switch_on(states: Json) -> None:
        check_states(states)  # once more: somebody may have while it was copied
        states[identity] = {"enabled": True}

    extensions_file = community.paths.extensions_file
    check_states(read_states(extensions_file))
    with locked(saved_root(community.paths)):
        _check_free(community, saved, by, force)
        if by == "person":
            place = make_place(community.of_people) / saved.name
        else:
            place = place_of(community.paths, COMMUNITY) / saved.name
            files |= mark_in(saved.folder)
        replace_folder(place, files)
        if by == "person":
            _explain(place.parent)
    update_states(extensions_file, switch_on)
    return place


def _explain(community: Path) -> None:
    """Say in the folder how skills get there, and how agents find them. One that is there stays as it is."""
    if not os.path.lexists(community / _README):
        write_atomically(
            community / _README, Path(__file__).with_name("community.md").read_bytes(), mode=0o644
        )


def _check_tested(saved: SavedSkill, force: bool) -> None:
    tested = saved.tested
    if not force and (tested is None or tested.get("passed") is not True):
        why = "its last test failed" if tested else "it was not tested since it was last changed"
        agent = f" --agent {saved.category}" if saved.category != "default" else ""
        raise ArgumentError(
            f"{saved.name} can't be promoted: {why}",
            hint=f"satchel skills test {saved.name}{agent}, then again",
        )


def _refuse_run_by_tools(saved: SavedSkill, files: dict[str, bytes]) -> None:
    """An agent's code must not run on this machine because somebody runs their tests."""
    found = first_run_by_tool(f"{saved.name}/{file}" for file in files)
    if found is not None:
        path, tool = found
        file = path.removeprefix(f"{saved.name}/")
        raise ArgumentError(
            f"{saved.name} can't be promoted: {tool} would run its file {file}, outside of the sandbox",
            hint=f"save it under another name, such as {saved.name}-skill; if {file} is not needed, take it"
            f" out of {saved.folder}",
        )


def _check_free(community: Community, saved: SavedSkill, by: By, force: bool) -> None:
    """Refuse to take the place of what another agent, or a person, has given."""
    for folder in (community.of_people, community.of_agents):
        place = folder / saved.name
        if force or not os.path.lexists(place):
            continue
        there = read_saved(place, COMMUNITY)
        if there is None or there.agent != saved.agent:
            by_whom = f" of agent '{there.agent}'" if there is not None else ""
            raise ArgumentError(
                f"the community has a skill '{saved.name}'{by_whom}",
                hint="save it under another name, or --force to replace that one",
            )
        if by == "agent" and folder == community.of_people:
            raise ArgumentError(
                f"a person has given '{saved.name}' to all agents, and an agent can't replace that",
                hint=f"ask for: satchel skills promote {saved.name} --agent {saved.category}",
            )


def _is_off(state: object) -> bool:
    return state is False or (is_object(state) and state.get("enabled") is False)


def _files(saved: SavedSkill) -> dict[str, bytes]:
    """The files to copy: no links, and no recorded results, which not everyone may see."""
    found: dict[str, bytes] = {}
    for path, folders, names, descriptor in os.fwalk(saved.folder, follow_symlinks=False):
        relative = Path(path).relative_to(saved.folder)
        folders[:] = [name for name in folders if not name.startswith(".") and len(relative.parts) < _DEEPEST]
        for name in names:
            file = (relative / name).as_posix()
            status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
            if not stat.S_ISREG(status.st_mode) or name.startswith(".") or file == f"{TESTS}/{RECORDED}":
                continue
            if status.st_size > LARGEST_FILE or len(found) >= _MOST_FILES:
                raise ArgumentError(
                    f"{saved.name} is too large to be promoted: at most {_MOST_FILES} files of a mebibyte",
                    hint=f"look at {saved.folder / file}",
                )
            inner = os.open(
                name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=descriptor
            )
            with open(inner, "rb") as stream:
                found[file] = stream.read(LARGEST_FILE)
    return found
