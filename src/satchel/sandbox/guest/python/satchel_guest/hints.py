"""What somebody can do about an error of a program: a line below its traceback, where one helps.

Only looks at what is there; nothing is imported on behalf of the program.
"""

import errno
import os
import re
import socket
import sys
from collections.abc import Iterable, Iterator
from typing import Any

BOX = "/program"  # where the program lies in a sandbox; without one it lies in a folder of its own
NO_NETWORK = "there is no network here: programs reach the outside through tools"
_PACKAGES = ("servers", "tools", "skills")
_TOP = (*_PACKAGES, "helpers", "satchel_runtime")
_BESIDE_TOOLS = ("example", "sync", "resources", "prompts")  # files of a server that are no tools
_MOST_NAMED = 12
_MOST_READ = 1_000_000  # bytes of the list of servers that can't be used
_MOST_ERRORS = 50  # that led to one another
_UNREACHABLE = (
    *(errno.EAFNOSUPPORT, errno.ENETUNREACH, errno.EHOSTUNREACH),  # the first is what the sandbox answers
    *(errno.ENETDOWN, errno.ECONNREFUSED),
)
_NO_NAME = re.compile(r"cannot import name '(\w+)'")
_NO_PARAMETER = re.compile(r"(?:\w+\.)*(\w+)\(\) got an unexpected keyword argument '(\w+)'")
_NO_POSITION = re.compile(r"(?:\w+\.)*(\w+)\(\) takes 0 positional arguments but")


def hint_for(error: BaseException, program: str) -> str | None:
    """What to do next, in one line without its end."""
    if isinstance(error, ModuleNotFoundError):
        return missing_module(error.name or "", os.path.dirname(program))
    if isinstance(error, ImportError):
        return missing_name(error, os.path.dirname(program))
    if isinstance(error, TypeError):
        return wrong_argument(str(error))
    # Whether there is a network is known only of a sandbox, which never has one.
    if os.path.dirname(program) == BOX and any(map(is_about_network, led_to(error))):
        return NO_NETWORK
    return None


def missing_module(name: str, folder: str) -> str | None:
    """For `servers.evrything`: why it can't be used, or else the folders beside it that are called alike."""
    package, _, last = name.rpartition(".")
    if name in _TOP:
        return f"nothing is in {name} yet"
    if not package:
        near = closest(last, _TOP, cutoff=0.8)  # most that is missing is a package that is not installed
        return did_you_mean(near) if near else None
    if package.partition(".")[0] not in _PACKAGES:
        return None
    notes = unusable_in(package, folder)
    if last in notes:
        return notes[last]
    known = [*modules_in(os.path.join(folder, *package.split("."))), *notes]
    hint = names_like(last, known, f"{package}.")
    meant = next((notes[one] for one in closest(last, known)[:1] if one in notes), None)
    return f"{hint} {meant}" if meant else hint


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


def missing_name(error: ImportError, folder: str) -> str | None:
    """For `from servers.everything import ech`: what that module has."""
    found = _NO_NAME.match(str(error))
    name = error.name or ""
    if found is None or name not in sys.modules or name.partition(".")[0] not in _TOP:
        return None
    note = unusable_in(name, folder).get(found[1]) if name in _PACKAGES else None
    return note or names_like(found[1], names_in(vars(sys.modules[name])))


def names_in(module: dict[str, Any]) -> list[str]:
    """What can be imported from a module: what it says itself, its files, or all that it has."""
    if "__all__" in module:
        return list(module["__all__"])
    if module["__name__"] in _PACKAGES:
        return modules_in(next(iter(module["__path__"])))
    return [name for name in module if not name.startswith("_")]


def wrong_argument(message: str) -> str | None:
    """For an argument that a wrapper or a skill does not have: those that it has."""
    if found := _NO_PARAMETER.match(message):
        parameters = [name for one in functions_called(found[1]) for name in parameters_of(one)]
        return names_like(found[2], parameters, what="it takes")
    if found := _NO_POSITION.match(message):
        parameters = [name for one in functions_called(found[1]) for name in parameters_of(one)]
        return f"name its arguments: {some_of(parameters)}" if parameters else None
    return None


def functions_called(name: str) -> Iterator[Any]:
    """The functions of wrappers and skills that have this name, of modules that the program has loaded."""
    for place, module in list(sys.modules.items()):
        package, _, rest = place.partition(".")
        function = vars(module).get(name) if package in _PACKAGES and rest else None
        if hasattr(function, "__code__") and getattr(function, "__module__", "") == place:
            yield function


def parameters_of(function: Any) -> tuple[str, ...]:
    code = function.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def led_to(error: BaseException) -> list[BaseException]:
    """An error and those that it came of, however it carries them."""
    found: list[BaseException] = [error]
    for one in found:
        parts: list[Any] = [one.__cause__, one.__context__, getattr(one, "reason", None)]
        parts += getattr(one, "exceptions", None) or ()
        known = set(map(id, found))
        found += [part for part in parts if isinstance(part, BaseException) and id(part) not in known]
        if len(found) > _MOST_ERRORS:
            break
    return found


def is_about_network(error: BaseException) -> bool:
    if isinstance(error, socket.gaierror):
        return True
    return isinstance(error, OSError) and error.errno in _UNREACHABLE


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


def closest(name: str, known: Iterable[str], cutoff: float = 0.6) -> list[str]:
    """Those that look alike, best first. Case and underscores don't count: `getIssue` is `get_issue`."""
    from difflib import get_close_matches  # few hints name what looks alike

    by_letters: dict[str, str] = {}
    for one in known:
        by_letters.setdefault(one.replace("_", "").lower(), one)
    near = get_close_matches(name.replace("_", "").lower(), by_letters, cutoff=cutoff)
    return [by_letters[letters] for letters in near]
