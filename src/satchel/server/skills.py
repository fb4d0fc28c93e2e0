"""Skills for MCP clients: as resources for all, and by the protocol's extension for those that speak it.

`skill://category/name/SKILL.md` is a skill, and its other files lie beside that.
"""

import mimetypes
import os
from base64 import b64encode
from collections.abc import Iterator
from math import isfinite
from typing import Any
from urllib.parse import quote, unquote

from satchel.errors import ArgumentError, NotFoundError
from satchel.model import Json, Skill, is_list, is_object
from satchel.verbs.satchel import Satchel
from satchel.verbs.skills import File

EXTENSION = "io.modelcontextprotocol/skills"
SCHEME = "skill://"
_MOST_FILES = 512
_LARGEST = 16 * 1024 * 1024  # bytes of all files of a skill
_PAGE = 100  # skills: every file of each is read when it is first listed
_DEEPEST = 64  # levels of front matter; nobody has more than a few, and not every client reads more
_FOLDER = "inode/directory"

Place = tuple[str, ...]
"""The parts of an address up to a skill."""


class SkillOffers:
    """The skills of one agent, by their addresses."""

    def __init__(self, satchel: Satchel, agent: str) -> None:
        self._shown = satchel.skills
        self._skills: dict[Place, Skill] = {}
        for skill in self._shown.of(agent):
            self._skills[next(place for place in _places(skill) if place not in self._skills)] = skill

    def resources(self) -> list[Json]:
        """Those that models are told of; the others can be read all the same."""
        return [
            {
                "uri": _uri(place, skill.file.name),
                "name": skill.name,
                "description": _described(skill),
                "mimeType": "text/markdown",
            }
            for place, skill in self._skills.items()
            if self._shown.is_told(skill)
        ]

    def templates(self) -> list[Json]:
        if not self._skills:
            return []
        return [
            {"uriTemplate": f"{SCHEME}{{+path}}", "name": "skill-file", "description": "A file of a skill"}
        ]

    def entries(self, cursor: str | None = None) -> tuple[list[Json], str | None]:
        """As skills/list has them, and where the next ones begin."""
        places = [place for place, skill in self._skills.items() if self._shown.is_told(skill)]
        start = 0
        if cursor is not None:  # the address of the last one: others may come and go meanwhile
            known = {_uri(place, ""): number for number, place in enumerate(places, 1)}
            if cursor not in known:
                raise ArgumentError("the cursor is not valid any more", hint="list from the beginning")
            start = known[cursor]
        page = places[start : start + _PAGE]
        is_last = start + _PAGE >= len(places)
        return [self._entry(place) for place in page], None if is_last else _uri(page[-1], "")

    def entry(self, uri: str) -> Json:
        place, skill, path = self._located(uri, "skill")
        if path != skill.file.name:
            raise NotFoundError("skill", _cut(uri), hint="name its SKILL.md")
        return self._entry(place)

    def of(self, uri: str) -> Skill | None:
        """The skill whose SKILL.md an address is; None for its other files."""
        _, skill, path = self._located(uri, "resource")
        return skill if path == skill.file.name else None

    def read(self, uri: str) -> Json:
        """One file, as resources/read has it."""
        _, skill, path = self._located(uri, "resource")
        data = self._shown.read(skill, path)
        kind = _kind(path)
        try:
            return {"uri": uri, "mimeType": kind, "text": data.decode("utf-8")}
        except UnicodeDecodeError:
            return {"uri": uri, "mimeType": kind, "blob": b64encode(data).decode()}

    def children(self, uri: str) -> list[Json]:
        """What is in a folder of a skill, as resources/directory/read has it."""
        place, skill, path = self._located(uri.rstrip("/"), "folder")
        inside = f"{path}/" if path else ""
        files = [file for file in self._shown.files(skill) if file.path.startswith(inside)]
        if not files:
            raise ArgumentError(f"'{_cut(uri)}' is not a folder of a skill")
        found: dict[str, Json] = {}
        for file in files:
            name, _, deeper = file.path[len(inside) :].partition("/")
            kind = _FOLDER if deeper else _kind(name)
            child = {"uri": _uri(place, inside + name), "name": _cut(name), "mimeType": kind}
            found.setdefault(name, child)
        return list(found.values())

    def _entry(self, place: Place) -> Json:
        skill = self._skills[place]
        return {
            "uri": _uri(place, skill.file.name),
            "frontmatter": {**_as_json(skill.values), "name": skill.name, "description": _described(skill)},
            "resources": self._resources(place, skill),
        }

    def _resources(self, place: Place, skill: Skill) -> list[Json] | str:
        """All of its files; `dynamic` where that are more than the protocol has, or one can't be read."""
        files = self._shown.files(skill)
        if not files or len(files) > _MOST_FILES or sum(file.size for file in files) > _LARGEST:
            return "dynamic"
        try:
            return [self._resource(place, skill, file) for file in files]
        except NotFoundError:
            return "dynamic"

    def _resource(self, place: Place, skill: Skill, file: File) -> Json:
        digest = f"sha256:{self._shown.digest(skill, file)}"
        return {"uri": _uri(place, file.path), "digest": digest, "size": file.size}

    def _located(self, uri: str, kind: str) -> tuple[Place, Skill, str]:
        """(place, skill, path in it). Parts are compared one by one, read as they are meant."""
        parts: Place = ()
        if uri.startswith(SCHEME):
            written = uri.removeprefix(SCHEME).split("/")
            parts = tuple(unquote(part, errors="surrogateescape") for part in written)
        # No longer than the longest place: an address may have a million parts.
        for length in range(min(len(parts), max(map(len, self._skills), default=0)), 0, -1):
            skill = self._skills.get(parts[:length])
            if skill is not None:
                return parts[:length], skill, "/".join(parts[length:])
        raise NotFoundError(kind, _cut(uri))


def _places(skill: Skill) -> Iterator[Place]:
    """Where a skill may be: below its category, and where another of its name is there, by its folder."""
    folders = skill.relative.split("/")
    yield skill.category, skill.name
    yield skill.category, *folders[:-1], skill.name
    folders = [folder for folder in folders if folder] or [skill.folder.name]
    while True:
        yield skill.category, *folders, skill.name
        folders.append(folders[-1])


def _described(skill: Skill) -> str:
    """As it is written: clients compare it with what the file says."""
    written: object = skill.values.get("description")
    return written if isinstance(written, str) else skill.description


def _as_json(value: object, depth: int = 0) -> Any:
    """Front matter without values that no message can hold: NaN, infinities, and endless levels."""
    if is_object(value):
        return {key: _as_json(part, depth + 1) for key, part in value.items()} if depth < _DEEPEST else None
    if is_list(value):
        return [_as_json(part, depth + 1) for part in value] if depth < _DEEPEST else None
    return None if isinstance(value, float) and not isfinite(value) else value


def _uri(place: Place, path: str) -> str:
    parts = (*place, *path.split("/")) if path else place
    return SCHEME + "/".join(quote(os.fsencode(part), safe="") for part in parts)


def _cut(text: str) -> str:
    return text[:300].encode("utf-8", "backslashreplace").decode()


def _kind(path: str) -> str:
    if path.endswith(".md"):
        return "text/markdown"
    return mimetypes.guess_type(path)[0] or "application/octet-stream"
