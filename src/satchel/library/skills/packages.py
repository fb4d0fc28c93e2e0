"""The JSON files that make a skill a package: tools.json, resources.json and prompts.json.

They name parts of servers, and only which part they name counts. A file or an entry that can't be used is
named as a problem and costs only itself.
"""

import json
import os
from stat import S_ISREG
from typing import Any, TypeGuard

from satchel.errors import NotFoundError
from satchel.library.skills.contents import read_of
from satchel.model import Package, PackagePart, Skill, is_list, is_object

FILES = {"tools": "tools.json", "resources": "resources.json", "prompts": "prompts.json"}
_KEYS = {"tools": ("name",), "resources": ("uri", "uriTemplate", "name"), "prompts": ("name",)}
_LARGEST = 256 * 1024  # bytes of a file
_MOST_PARTS = 200  # of a file
_MOST_PROBLEMS = 20
_LONGEST_NAME = 1_000  # characters
_LONGEST_DESCRIPTION = 2_000


def is_package(skill: Skill) -> bool:
    """Whether viewing the skill switches the context."""
    return any(_is_file(skill, file) for file in FILES.values())


def package_of(skill: Skill) -> Package | None:
    """What its files ask for; None for a plain skill."""
    if not is_package(skill):
        return None
    problems: list[str] = []
    parts = {kind: _read(skill, kind, problems) for kind in FILES}
    return Package(**parts, problems=tuple(problems[:_MOST_PROBLEMS]))


def _is_file(skill: Skill, name: str) -> bool:
    try:
        return S_ISREG(os.stat(skill.folder / name, follow_symlinks=False).st_mode)
    except (OSError, ValueError):
        return False


def _read(skill: Skill, kind: str, problems: list[str]) -> tuple[PackagePart, ...]:
    file = FILES[kind]
    if not _is_file(skill, file):
        return ()
    try:
        data = read_of(skill, file)
    except NotFoundError as error:
        problems.append(f"{file}: {error.hint or error.message}")
        return ()
    if len(data) > _LARGEST:
        problems.append(f"{file}: more than {_LARGEST // 1024} KiB")
        return ()
    try:
        value: Any = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        problems.append(f"{file}: not UTF-8")
        return ()
    except json.JSONDecodeError as error:
        problems.append(f"{file}:{error.lineno}: not valid JSON: {error.msg.lower()}")
        return ()
    except (ValueError, RecursionError):  # a number of thousands of digits, a nesting without end
        problems.append(f"{file}: not valid JSON")
        return ()
    return _parts(value, kind, problems)


def _parts(value: Any, kind: str, problems: list[str]) -> tuple[PackagePart, ...]:
    """A list, or an object with the list below its own name; of objects, or of names alone."""
    file = FILES[kind]
    entries: Any = value.get(kind) if is_object(value) else value
    if not is_list(entries):
        problems.append(f"{file}: it has to be a list, or an object with a list '{kind}'")
        return ()
    if len(entries) > _MOST_PARTS:
        problems.append(f"{file}: only the first {_MOST_PARTS} of {len(entries)} entries are used")
    found: dict[tuple[str, str], PackagePart] = {}
    for place, entry in enumerate(entries[:_MOST_PARTS]):
        part = _part(entry, _KEYS[kind])
        if part is None:
            problems.append(f"{file}: entry {place + 1} has no '{_KEYS[kind][0]}'")
        else:
            found.setdefault((part.server, part.name), part)
    return tuple(found.values())


def _part(entry: Any, keys: tuple[str, ...]) -> PackagePart | None:
    given: dict[str, Any] = entry if is_object(entry) else {keys[0]: entry}
    # OpenAI's form of a tool has all of it one level below.
    inner: Any = given.get("function")
    given = inner if is_object(inner) else given
    name = next((given[key] for key in keys if _is_name(given.get(key))), None)
    if name is None:
        return None
    server, description = given.get("server"), given.get("description")
    return PackagePart(
        name=name,
        server=server if _is_name(server) else "",
        description=description[:_LONGEST_DESCRIPTION] if isinstance(description, str) else "",
    )


def _is_name(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and 0 < len(value) <= _LONGEST_NAME and value.isprintable()
