"""Skills: found below the folders that have them, read once, and known again by time and size of their file.

A skill is a folder with a SKILL.md. One that can't be read is in the list like the others, with its error.
"""

import json
import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from errno import ESTALE
from hashlib import sha256
from pathlib import Path
from stat import S_ISLNK, S_ISREG
from typing import Any

from satchel.config import Paths
from satchel.config.settings import SkillsSettings
from satchel.library.saved.shelf import overlap
from satchel.library.skills.front_matter import Remark, read_document
from satchel.library.skills.walking import (
    COMMUNITY,
    CUSTOM,
    DEPTH,
    FILE,
    PUBLIC,
    USER,
    Found,
    Source,
    folders_in,
    walk,
)
from satchel.model import Json, Skill, is_list, is_object
from satchel.support.files import write_atomically

__all__ = [
    "COMMUNITY",
    "CUSTOM",
    "DEPTH",
    "FILE",
    "PUBLIC",
    "USER",
    "Source",
    "cache_of",
    "find_skills",
    "skill_sources",
    "tools_in",
    "with_state",
]

LARGEST = 1024 * 1024  # bytes of a SKILL.md
_FORMAT = 5
_SEPARATOR = re.compile(r"[\s,]+")
_PARENTHESIS = re.compile(r"[()]|[\s,]+")


def skill_sources(paths: Paths, settings: SkillsSettings, agent: str | None = None) -> list[Source]:
    """Where a project's skills are, in order; with `agent`, only what that one sees."""
    root = paths.project / Path(settings.path).expanduser()
    user = paths.user_config / "skills"
    sources: list[Source] = []
    if root != user and agent is None:
        sources.append(Source(root=root, is_mounted=True))
    elif root != user:
        shared = (PUBLIC, CUSTOM, COMMUNITY)
        categories = (*shared, *([agent] if agent not in shared else []))
        sources += [Source(root=root / str(name), category=str(name)) for name in categories]
        sources.append(Source(root=root, agent=str(agent), only_alone=True, is_mounted=True))
    sources.append(Source(root=user, category=USER))
    taken = {PUBLIC, CUSTOM, COMMUNITY, USER, agent, *(folders_in(str(root)) if settings.include else ())}
    for path in settings.include:
        place = paths.project / Path(path).expanduser()
        category = _category_of(place, taken)
        taken.add(category)
        problem = _refusal(place, root, paths)
        sources.append(Source(root=place, category=category, enabled=True, problem=problem))
    return sources


def _refusal(place: Path, root: Path, paths: Paths) -> str | None:
    """Why a folder is not read for `skills.include`: programs would see all that is in it."""
    if overlap(place, root):
        return "is in skills.include, but has skills.path in it, or is in that"
    own = next((private for private in paths.private if overlap(place, private)), None)
    return None if own is None else f"is in skills.include, and would let programs at {own}, Satchel's own"


def _category_of(place: Path, taken: set[str | None]) -> str:
    """What skills from elsewhere are known by: `.claude/skills` are of `claude`."""
    parts = [part.strip(".") for part in place.parts if part.strip("./") and part != "skills"]
    name = parts[-1] if parts else "other"
    return next(
        spelt
        for number in range(1, 1000)
        if (spelt := f"{name}-{number}" if number > 1 else name) not in taken
    )


def cache_of(paths: Paths) -> Path:
    """Where it is remembered what the files of a project's skills said."""
    project = sha256(os.fsencode(paths.project)).hexdigest()[:24]
    return paths.user_cache / "skills" / f"{project}.json"


def find_skills(sources: Iterable[Source], cache: Path | None = None) -> list[Skill]:
    """All skills, sorted by name; `with_state` says which are enabled. `cache` remembers what was read."""
    known = _read_cache(cache)
    kept: dict[str, Json] = {}
    skills: list[Skill] = []
    for found in (found for source in sources for found in walk(source)):
        if found.problem is not None:
            skills.append(_skill(found, {"error": found.problem}))
            continue
        key = f"{found.folder}/{found.file}"
        status = found.status
        stamp = [status.st_mtime_ns, status.st_size] if status else [0, 0]
        row = known.get(key)
        if row is None or row.get("stamp") != stamp:
            row = _row(found, key) | {"stamp": stamp}
        kept[key] = row
        skills.append(_skill(found, row))
    if cache is not None and any(known.get(key) is not row for key, row in kept.items()):
        with suppress(OSError, ValueError, RecursionError):
            others = {key: row for key, row in known.items() if key not in kept and os.path.lexists(key)}
            rows = {**others, **kept}  # other agents see others
            write_atomically(cache, json.dumps({"format": _FORMAT, "skills": rows}).encode())
    return sorted(skills, key=lambda skill: (skill.name, skill.category, skill.relative))


# What they say


def _row(found: Found, file: str) -> Json:
    """What a file says, as it is cached."""
    status = found.status
    if status is not None and S_ISLNK(status.st_mode):
        return {"error": f"its {found.file} is a symbolic link, which is not followed"}
    if status is None or not S_ISREG(status.st_mode) or status.st_size > LARGEST:
        return {"error": f"its {found.file} is not a file of at most {LARGEST // 1024} KiB"}
    try:
        return _read(file, status)
    except OSError as error:
        return {"error": f"its {found.file} can't be read: {error.strerror}"}
    except Exception as error:  # noqa: BLE001  whatever it is, it hides no other skill
        return {"error": f"its {found.file} can't be read: {error!r}"[:300]}


def _read(file: str, status: os.stat_result) -> Json:
    document = read_document(_bytes(file, status))
    values, warnings = document.values, list(document.warnings)
    texts: dict[str, str] = {}
    for key in ("name", "description", "license"):
        written = document.written.get(key)
        texts[key] = _text(values.get(key) if written is None else written)
        if written is not None:
            text = f"'{key}' should be in quotes: YAML reads {written[:100]} as {values[key]!r}"
            warnings.append(Remark(text=text, line=document.lines.get(key, 1)))
    row: Json = {
        "name": texts["name"],
        "description": " ".join(texts["description"].split()),
        "license": texts["license"],
        "tools": tools_in(values.get("allowed-tools")),
        "values": values,
        "warnings": [str(remark) for remark in warnings],
        "body_line": document.body_line,
    }
    if document.error is not None:
        row |= {"error": document.error.text, "line": document.error.line}
    elif not row["description"]:
        row |= {"error": "has no description", "line": document.lines.get("description", 1)}
    return row


def _bytes(file: str, seen: os.stat_result) -> bytes:
    """The file that was seen in the walk: a folder on the way may be a link by now."""
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as stream:
        status = os.fstat(stream.fileno())
        if (status.st_dev, status.st_ino) != (seen.st_dev, seen.st_ino):
            raise OSError(ESTALE, "it is another file by now")
        return stream.read(LARGEST)


def _skill(found: Found, row: Json) -> Skill:
    file = Path(found.folder, found.file)
    folder = file.parent  # which costs less than a second path
    name, error = row.get("name"), row.get("error")
    warnings: list[str] = row.get("warnings") or []
    if error is None and not name:
        warnings = [*warnings, f"has no name; called after its folder '{folder.name}'"]
    if found.file != FILE:
        warnings = [*warnings, f"its file is called {found.file}; other programs want {FILE}"]
    return Skill(
        name=name or folder.name,
        description=row.get("description", ""),
        license=row.get("license") or None,
        folder=folder,
        file=file,
        category=found.category,
        relative=found.relative,
        enabled=found.enabled and error is None,
        values=row.get("values") or {},
        allowed_tools=tuple(row.get("tools") or ()),
        error=error,
        line=row.get("line"),
        warnings=tuple(warnings),
    )


def tools_in(value: object) -> tuple[str, ...]:
    """The tools of `allowed-tools`: a list, or names separated by commas or spaces, such as Bash(git:*)."""
    if is_list(value):
        return tuple(tool for item in value for tool in _tools(str(item)))
    return tuple(_tools(_text(value)))


def _tools(text: str) -> list[str]:
    """Names are separated where no parenthesis is open; with one that is never closed, everywhere."""
    found: list[str] = []
    depth = begin = 0
    for match in _PARENTHESIS.finditer(text):
        if match[0] in "()":
            depth = max(0, depth + (1 if match[0] == "(" else -1))
        elif depth == 0:
            found.append(text[begin : match.start()])
            begin = match.end()
    found += _SEPARATOR.split(text[begin:]) if depth else [text[begin:]]
    return [tool for tool in found if tool]


def _text(value: object) -> str:
    if value is None or is_object(value):
        return ""
    if is_list(value):
        return " ".join(str(item) for item in value)
    return str(value).strip()


def _read_cache(cache: Path | None) -> dict[str, Json]:
    if cache is None:
        return {}
    try:
        kept: Any = json.loads(cache.read_bytes())
        rows: object = kept["skills"] if kept["format"] == _FORMAT else None
        return rows if is_object(rows) else {}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}


# Enabled or not


def with_state(skills: Iterable[Skill], states: Mapping[str, object], agent: str = "default") -> list[Skill]:
    """Whether each is enabled, by what extensions_config.json says of its identity or its name.

    The skills are those of `find_skills`, whose `enabled` is what counts where nothing is said.
    """
    return [
        skill
        if skill.enabled == (state := _is_enabled(skill, states, agent))
        else replace(skill, enabled=state)
        for skill in skills
    ]


def _is_enabled(skill: Skill, states: Mapping[str, object], agent: str) -> bool:
    if skill.error is not None:
        return False
    for key in (skill.identity, skill.name):
        state = states.get(key)
        if is_object(state) and isinstance(state.get("enabled"), bool):
            return state["enabled"]
        if isinstance(state, bool):
            return state
    return skill.enabled or skill.category in (PUBLIC, CUSTOM, USER, agent)
