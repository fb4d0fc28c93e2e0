"""Custom tools: functions of the user's project that satchel.yaml names, made into one server entry a group.

A group runs as a stdio server, `satchel.upstream.custom_host`, so that it is cached, started, timed, watched
and stopped like any other. Nothing of the user's code is imported here.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from satchel.config.entries import ServerEntry
from satchel.config.reader import Locate
from satchel.errors import ConfigError

SETTING = "custom_tools"
_HOST = "satchel.upstream.custom_host"


def check_custom_tools(tools: Mapping[str, str], locate: Locate) -> None:
    """Raise ConfigError for a name that is not `group.name`, or a target that is not `module:function`."""
    for name, target in tools.items():
        group, _, tool = name.partition(".")
        if not name.isprintable():
            raise _error(name, f"custom tool {name!r} has invisible characters", "rename it", locate)
        if not group or not tool:
            raise _error(name, f"custom tool '{name}' has no group", "write group.name", locate)
        module, colon, function = target.partition(":")
        parts = [*module.split("."), *function.split(".")]
        if not colon or not all(part.isidentifier() for part in parts):
            raise _error(name, f"'{target}' is not a function of a module", "write module:function", locate)


def custom_entries(tools: Mapping[str, str], file: Path) -> tuple[ServerEntry, ...]:
    """The entries of all groups, in the order of `file`. The group is what stands before the first dot."""
    groups: dict[str, dict[str, str]] = {}
    for name, target in tools.items():
        group, _, tool = name.partition(".")
        groups.setdefault(group, {})[tool] = target
    return tuple(_entry(group, functions, file) for group, functions in groups.items())


def refuse_conflicts(servers: tuple[ServerEntry, ...], groups: tuple[ServerEntry, ...]) -> None:
    """A group and a server of the same name could not be told apart: raise ConfigError with both places."""
    known = {entry.name: entry for entry in servers}
    for group in groups:
        if group.name in known:
            file, line = group.locate(())
            other, other_line = known[group.name].locate(())
            raise ConfigError(
                f"the group '{group.name}' of {SETTING} has the name of a server in {other}:{other_line}",
                file=file,
                line=line,
                key=f"{SETTING}.{group.name}.{next(iter(group.written['tools']))}",
                hint="give one of them another name",
            )


def _entry(group: str, functions: Mapping[str, str], file: Path) -> ServerEntry:
    modules = sorted({target.partition(":")[0] for target in functions.values()})
    return ServerEntry(
        name=group,
        file=file,
        # Part of the key of the cache, so the group is listed again after an edit of the code.
        written={
            "tools": dict(functions),
            "sources": {module: _stamps(file.parent, module) for module in modules},
        },
        command=sys.executable,
        # -P: a file of the project must not take the place of a module that the host itself needs.
        args=("-P", "-m", _HOST, group, *(f"{name}={target}" for name, target in functions.items())),
        custom=True,
    )


def _stamps(project: Path, module: str) -> list[list[int] | None]:
    """When the source of a module was last written, and its size; None where it does not lie."""
    path = project.joinpath(*module.split("."))
    return [_stamp(path / "__init__.py"), _stamp(path.with_name(f"{path.name}.py"))]


def _stamp(file: Path) -> list[int] | None:
    try:
        status = os.stat(file)
    except OSError:
        return None
    return [status.st_mtime_ns, status.st_size]


def _error(name: str, message: str, hint: str, locate: Locate) -> ConfigError:
    file, line = locate((SETTING, name))
    return ConfigError(message, file=file, line=line, key=f"{SETTING}.{name}", hint=hint)
