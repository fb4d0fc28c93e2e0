"""Skills: found below the folders that have them, read once, and known again by time and size of their file.

A skill is a folder with a SKILL.md. One that can't be read is in the list like the others, with its error.
"""

import json
import os
import re
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from errno import ESTALE
from hashlib import sha256
from pathlib import Path
from stat import S_ISLNK, S_ISREG
from typing import Any

from satchel.config import Paths
from satchel.config.settings import SkillsSettings
from satchel.library.skills.changes import Look
from satchel.library.skills.directory import FILE
from satchel.library.skills.front_matter import Remark, read_document
from satchel.library.skills.walking import Found, walk
from satchel.library.sources import Source, sources
from satchel.library.state import read_states, with_state
from satchel.model import Json, Skill, is_list, is_object
from satchel.support.files import write_atomically

LARGEST = 1024 * 1024  # bytes of a SKILL.md
_FORMAT = 7
_TICK = 50_000_000  # nanoseconds within which two changes of a file may have one time
_SEPARATOR = re.compile(r"[\s,]+")
_PARENTHESIS = re.compile(r"[()]|[\s,]+")


def skills_of(
    paths: Paths,
    settings: SkillsSettings,
    agent: str | None = None,
    *,
    states: Mapping[str, object] | None = None,
    plugins: Iterable[Source] = (),
) -> list[Skill]:
    """The skills of an agent, or of all of them for a person, each enabled or not.

    `states` is what extensions_config.json says of them; it is read where that is not given.
    """
    found = find_skills(sources(paths, settings, agent, plugins), cache_of(paths))
    return with_state(found, read_states(paths.extensions_file) if states is None else states)


def cache_of(paths: Paths) -> Path:
    """The file that remembers the contents of a project's skills."""
    project = sha256(os.fsencode(paths.project)).hexdigest()[:24]
    return paths.user_cache / "skills" / f"{project}.json"


def find_skills(
    found_in: Iterable[Source], cache: Path | None = None, look: Look | None = None
) -> list[Skill]:
    """All skills of these sources, by name, enabled as by default. `cache` remembers what was read.

    `look` hears of each folder and file before it is read, so that it can tell later what has changed.
    """
    known = _read_cache(cache)
    kept: dict[str, Json] = {}
    skills: list[Skill] = []
    now = time.time_ns()
    at_folder = look.at_folder if look is not None else _ignore
    for found in (found for source in found_in for found in walk(source, at_folder)):
        if look is not None and found.status is not None:
            look.at_file(f"{found.folder}/{found.file}", found.status)
        if found.problem is not None:
            skills.append(_skill(found, {"error": found.problem}))
            continue
        key = f"{found.folder}/{found.file}"
        status = found.status
        stamp = [status.st_mtime_ns, status.st_ctime_ns, status.st_size] if status else [0, 0, 0]
        row = known.get(key)
        if row is None or row.get("stamp") != stamp:
            # A file that was written just now may be written again without another time.
            is_new = status is not None and status.st_ctime_ns > now - _TICK
            row = _row(found, key) | {"stamp": None if is_new else stamp}
        kept[key] = row
        skills.append(_skill(found, row))
    if cache is not None and any(known.get(key) is not row for key, row in kept.items()):
        with suppress(OSError, ValueError, RecursionError):
            others = {key: row for key, row in known.items() if key not in kept and os.path.lexists(key)}
            rows = {**others, **kept}  # other agents see others
            write_atomically(cache, json.dumps({"format": _FORMAT, "skills": rows}).encode())
    return sorted(skills, key=lambda skill: (skill.name, skill.category, skill.relative))


def _ignore(folder: str) -> None:
    """For callers that don't need to hear of folders."""


# What they say


def _row(found: Found, file: str) -> Json:
    """The contents of a file, as cached."""
    status = found.status
    if status is not None and S_ISLNK(status.st_mode):
        return {"error": f"its {found.file} is a symbolic link, which is not followed"}
    if status is None or not S_ISREG(status.st_mode) or status.st_size > LARGEST:
        return {"error": f"its {found.file} is not a file of at most {LARGEST // 1024} KiB"}
    try:
        return _read(file, status)
    except OSError as error:
        return {"error": f"its {found.file} can't be read: {error.strerror}"}
    except Exception as error:  # noqa: BLE001  no error of one skill hides another
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
        place=found.place,
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
