"""Hints for an error of a program: a line below its traceback, if one helps.

Only looks at what is there; nothing is imported on behalf of the program.
"""

import errno
import os
import re
import socket
import sys
from collections.abc import Iterator
from typing import Any

from satchel_guest.offered import (
    PACKAGES,
    closest,
    did_you_mean,
    lines_importing,
    modules_in,
    names_in,
    names_like,
    path_like,
    some_of,
    unusable_in,
)

BOX = "/program"  # where the program lies in a sandbox; without one it lies in a folder of its own
NO_NETWORK = "there is no network here: programs reach the outside through tools"
_TOP = (*PACKAGES, "helpers", "satchel_runtime")
_MOST_ERRORS = 50  # that led to one another
_UNREACHABLE = (
    *(errno.EAFNOSUPPORT, errno.ENETUNREACH, errno.EHOSTUNREACH),  # the first is what the sandbox answers
    *(errno.ENETDOWN, errno.ECONNREFUSED),
)
_FOR_NETWORKS = ("requests", "httpx", "aiohttp", "urllib3", "bs4", "websockets", "selenium", "playwright")
_WRITABLE = ("/workspace", "/mnt/memory", "/mnt/tasks", "/tmp")
_SHOWN = (*_WRITABLE, "/mnt", BOX)
_NO_NAME = re.compile(r"cannot import name '(\w+)'")
_NO_PARAMETER = re.compile(r"(?:\w+\.)*(\w+)\(\) got an unexpected keyword argument '(\w+)'")
_NO_POSITION = re.compile(r"(?:\w+\.)*(\w+)\(\) takes 0 positional arguments but")
_NOT_AWAITED = re.compile(r"'coroutine' object|type '?coroutine'?")
_HYPHENS = re.compile(r"\b(servers|tools|skills)\.(\w+(?:-\w+)+)")
_TYPESCRIPT = re.compile(r"\s*(?:import\s*[{*]|import\s+\w+\s+from|export\s|(?:const|let)\s|//|console\.)")


def hint_for(error: BaseException, program: str) -> str | None:
    """The next step, in one line without its end."""
    folder = os.path.dirname(program)
    if isinstance(error, ModuleNotFoundError):
        return missing_module(error.name or "", folder)
    if isinstance(error, ImportError):
        return missing_name(error, folder)
    if isinstance(error, NameError):
        return not_imported(error.name or "", folder)
    if isinstance(error, SyntaxError):
        return wrong_syntax(error, folder)
    if isinstance(error, TypeError | AttributeError | ValueError) and _NOT_AWAITED.search(str(error)):
        return not_awaited(error, program)
    if isinstance(error, TypeError):
        return wrong_argument(str(error))
    # What there is beside the program is known only of a sandbox.
    if folder == BOX and any(map(is_about_network, led_to(error))):
        return NO_NETWORK
    return wrong_path(error, folder) if isinstance(error, OSError) else None


def missing_module(name: str, folder: str) -> str | None:
    """For `servers.evrything`: why it can't be used, or else the folders beside it that are called alike."""
    package, _, last = name.rpartition(".")
    if name in _TOP:
        return f"nothing is in {name} yet"
    if not package:
        return missing_package(name, folder)
    if package.partition(".")[0] not in PACKAGES:
        return None
    notes = unusable_in(package, folder)
    if last in notes:
        return notes[last]
    known = [*modules_in(os.path.join(folder, *package.split("."))), *notes]
    if not known:
        return f"nothing is in {package} yet"
    hint = names_like(last, known, f"{package}.")
    meant = next((notes[one] for one in closest(last, known)[:1] if one in notes), None)
    return f"{hint} {meant}" if meant else hint


def missing_package(name: str, folder: str) -> str:
    """For `requests`: a server of that name, or else what there is instead."""
    if near := closest(name, _TOP, cutoff=0.8):
        return did_you_mean(near)
    for top in ("servers", "tools"):
        if near := closest(name, modules_in(os.path.join(folder, top)), cutoff=0.95):
            return did_you_mean([f"{top}.{near[0]}"])
    if name in _FOR_NETWORKS and folder == BOX:
        return f"{NO_NETWORK}; search_tools finds one"
    return f"{name} is not installed here; import Python's own modules, servers, tools and skills"


def missing_name(error: ImportError, folder: str) -> str | None:
    """For `from servers.everything import ech`: what that module has."""
    found = _NO_NAME.match(str(error))
    name = error.name or ""
    if found is None or name not in sys.modules or name.partition(".")[0] not in _TOP:
        return None
    note = unusable_in(name, folder).get(found[1]) if name in PACKAGES else None
    return note or names_like(found[1], names_in(vars(sys.modules[name])))


def not_imported(name: str, folder: str) -> str | None:
    """For a tool that is called without an import, in whichever spelling: the line that imports it."""
    lines = lines_importing(name, folder)
    return f"write {' or '.join(lines)}" if lines else None


def wrong_syntax(error: SyntaxError, folder: str) -> str | None:
    text = error.text or ""
    if found := _HYPHENS.search(text):
        near = closest(found[2], modules_in(os.path.join(folder, found[1])))
        return did_you_mean([f"{found[1]}.{near[0]}"]) if near else None
    return "TypeScript needs language 'typescript'" if _TYPESCRIPT.match(text) else None


def not_awaited(error: BaseException, program: str) -> str:
    """For the use of what a call gives before it was awaited."""
    from satchel_guest import awaits  # few programs forget it

    call = awaits.forgotten_before(error, program)
    return "a call gives its value with await" if call is None else awaits.hint_for(call)


def wrong_path(error: OSError, folder: str) -> str | None:
    """For a file that is not there or is closed: one that is called alike, or what a program sees."""
    path = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else ""
    if error.errno == errno.ENOENT and path and (near := path_like(path)) not in (None, path):
        return did_you_mean([str(near)])
    if folder != BOX or not path:
        return None
    whole = os.path.join(os.getcwd(), path)
    if error.errno == errno.EROFS or (error.errno == errno.EACCES and whole.startswith("/mnt")):
        return f"only {', '.join(filter(is_writable, _WRITABLE))} can be written to"
    top = f"/{whole.split('/')[1]}"
    unknown = not os.path.isabs(path) and not os.path.exists(path.split("/")[0])
    if error.errno in (errno.ENOENT, errno.EACCES) and (top not in _SHOWN or unknown):
        return (
            "a program sees /workspace, /mnt and /tmp, and what code_execution.sandbox.allow_read in"
            " satchel.yaml names"
        )
    return None


def is_writable(folder: str) -> bool:
    return os.access(folder, os.W_OK)


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
        function = vars(module).get(name) if package in PACKAGES and rest else None
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
