"""Names that a program can import and open, for suggestions. Only looks at existing files."""

import os
from collections.abc import Iterable
from typing import Any

PACKAGES = ("servers", "tools", "skills")
_BESIDE_TOOLS = ("example", "sync", "resources", "prompts")  # files of a server that are not tools
_MOST_NAMED = 12
_MOST_LINES = 3
_MOST_READ = 1_000_000  # bytes of the list of servers that can't be used
_CODE_API = "/mnt/code-api"


def unusable_in(package: str, folder: str) -> dict[str, str]:
    """The servers or custom tools that can't be used, each with the sentence that says why."""
    import json  # few programs import what is not there

    try:
        with open(os.path.join(folder, "servers", "unusable.json"), "rb") as stream:
            rows = [(row["folder"].split("/"), row["note"]) for row in json.loads(stream.read(_MOST_READ))]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
    return {place[1]: note for place, note in rows if place[0] == package}


def modules_in(folder: str) -> list[str]:
    try:
        names = [name.removesuffix(".py") for name in os.listdir(folder)]
    except OSError:
        return []
    return sorted(name for name in names if is_offered(name))


def is_offered(name: str) -> bool:
    return name.isidentifier() and name not in _BESIDE_TOOLS and not name.startswith("__")


def names_in(module: dict[str, Any]) -> list[str]:
    """The names that can be imported from a module: its `__all__`, its files, or all that it has."""
    if "__all__" in module:
        return list(module["__all__"])
    if module["__name__"] in PACKAGES:
        return modules_in(next(iter(module["__path__"])))
    return [name for name in module if not name.startswith("_")]


def lines_importing(name: str, folder: str) -> list[str]:
    """The lines that import what is called like that: a tool, a server, a skill, a part of the runtime."""
    import satchel_runtime  # its names are needed for suggestions

    meant, found = letters(name), list[str]()
    for top in ("servers", "tools"):
        for server in modules_in(os.path.join(folder, top)):
            if letters(server) == meant:
                found.append(f"from {top} import {server}")
            for tool in modules_in(os.path.join(folder, top, server)):
                if meant in (letters(tool), letters(server + tool)):
                    found.append(f"from {top}.{server} import {tool}")
    skills = modules_in(os.path.join(folder, "skills"))
    found += [f"from skills.{skill} import {skill}" for skill in skills if letters(skill) == meant]
    known = satchel_runtime.__all__
    found += [f"from satchel_runtime import {each}" for each in known if letters(each) == meant]
    return found[:_MOST_LINES]


def path_like(path: str) -> str | None:
    """The file of a wrapper or a skill that a path may mean, as `servers/google-drive/getDocument.py`."""
    top, *rest = path.removeprefix(f"{_CODE_API}/").removeprefix("./").rstrip("/").split("/")
    if top not in PACKAGES:
        return None
    place = top
    for part in rest:
        root = place if os.path.isdir(place) else os.path.join(_CODE_API, place)
        try:
            near = closest(part, os.listdir(root))
        except OSError:
            return None
        if not near:
            return None
        place = f"{place}/{near[0]}"
    return place


def names_like(name: str, known: Iterable[str], prefix: str = "", what: str = "there are") -> str | None:
    """The names that may have been meant, or else what there is."""
    known = list(dict.fromkeys(known))
    if near := closest(name, known):
        return did_you_mean([f"{prefix}{one}" for one in near])
    return f"{what} {some_of(known)}" if known else None


def did_you_mean(names: list[str]) -> str:
    return f"did you mean {' or '.join(names)}?"


def some_of(names: list[str]) -> str:
    return ", ".join(names[:_MOST_NAMED]) + (", …" if len(names) > _MOST_NAMED else "")


def letters(name: str) -> str:
    """Case, underscores and hyphens don't count: `getIssue` is `get_issue`."""
    return name.replace("_", "").replace("-", "").lower()


def closest(name: str, known: Iterable[str], cutoff: float = 0.6) -> list[str]:
    """Those that look alike, best first."""
    from difflib import get_close_matches  # few hints name what looks alike

    by_letters: dict[str, str] = {}
    for one in known:
        by_letters.setdefault(letters(one), one)
    near = get_close_matches(letters(name), by_letters, cutoff=cutoff)
    return [by_letters[each] for each in near]
