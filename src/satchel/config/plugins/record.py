"""What is known on this machine about a project's plugins: which a person installed or approved, and how.

It is in the user's data directory and not in the project: what somebody committed there must not be able to
approve itself. A record that can't be read approves nothing.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from satchel.config.paths import Paths
from satchel.model import Json, is_list, is_object
from satchel.support.files import locked, read_small, write_atomically


@dataclass(frozen=True, kw_only=True)
class Installed:
    """A plugin that a person installed here: from where, and which files it had then."""

    name: str
    source: str = ""
    digest: str = ""
    before: str = ""  # the digest of the version that it replaced: still there if an update was killed
    commit: str = ""
    at: str = ""
    order: int = 0
    origin: Mapping[str, str] = field(default_factory=dict[str, str])  # where an update looks


@dataclass(frozen=True, kw_only=True)
class Approved:
    """A person's approvals for a plugin: its remote servers, command lines, and variables."""

    name: str
    endpoints: tuple[str, ...] = ()  # of remote servers, with their headers
    commands: tuple[str, ...] = ()  # digests of command lines with their environment
    variables: tuple[str, ...] = ()  # `NAME host`, or `NAME` for a program on this machine
    at: str = ""
    order: int = 0


@dataclass(frozen=True, kw_only=True)
class Record:
    """Both, by the names of plugins."""

    installed: Mapping[str, Installed] = field(default_factory=dict[str, Installed])
    approved: Mapping[str, Approved] = field(default_factory=dict[str, Approved])

    @property
    def next_order(self) -> int:
        """The place of a plugin that comes after all others."""
        return max((one.order for one in (*self.installed.values(), *self.approved.values())), default=0) + 1

    def order_of(self, name: str) -> int | None:
        """When it came to be known here; None for one that nobody installed or approved."""
        known = (self.installed.get(name), self.approved.get(name))
        return min((one.order for one in known if one is not None), default=None)

    def with_installed(self, plugin: Installed) -> "Record":
        """With a plugin installed; an update keeps its place among the others."""
        order = self.order_of(plugin.name) or self.next_order
        return replace(self, installed={**self.installed, plugin.name: replace(plugin, order=order)})

    def with_approved(self, plugin: Approved) -> "Record":
        order = self.order_of(plugin.name) or self.next_order
        return replace(self, approved={**self.approved, plugin.name: replace(plugin, order=order)})

    def without(self, name: str) -> "Record":
        """With nothing about a plugin that was removed."""
        return Record(
            installed={key: one for key, one in self.installed.items() if key != name},
            approved={key: one for key, one in self.approved.items() if key != name},
        )


def record_file(paths: Paths) -> Path:
    return paths.user_data / "plugins" / f"{paths.mark}.json"


def read_record(paths: Paths) -> Record:
    """The record of a project's plugins; empty if it can't be read."""
    try:
        data: object = json.loads(read_small(record_file(paths)))
    except (OSError, ValueError, RecursionError):
        return Record()
    if not is_object(data):
        return Record()
    return Record(
        installed={one.name: one for one in _rows(data.get("installed"), Installed)},
        approved={one.name: one for one in _rows(data.get("approved"), Approved)},
    )


def update_record(paths: Paths, change: Callable[[Record], Record]) -> Record:
    """Let `change` make a new record of the present one, under a lock, and write it."""
    file = record_file(paths)
    with locked(file.parent):
        record = change(read_record(paths))
        rows = {
            "installed": [asdict(one) for one in record.installed.values()],
            "approved": [asdict(one) for one in record.approved.values()],
        }
        write_atomically(file, (json.dumps(rows, indent=1) + "\n").encode(), mode=0o600)
    return record


_T = TypeVar("_T", Installed, Approved)


def _rows(data: object, kind: type[_T]) -> list[_T]:
    found: list[_T] = []
    for row in data if is_list(data) else ():
        if is_object(row) and isinstance(row.get("name"), str):
            found.append(_row(row, kind))
    return found


def _row(row: Json, kind: type[_T]) -> _T:
    values: Json = {"name": row["name"]}
    for key, default in asdict(kind(name="")).items():
        value: object = row.get(key)
        if isinstance(default, tuple):
            values[key] = tuple(part for part in value if isinstance(part, str)) if is_list(value) else ()
        elif isinstance(default, dict):
            texts = value.items() if is_object(value) else ()
            values[key] = {name: text for name, text in texts if isinstance(text, str)}
        elif type(value) is type(default):
            values[key] = value
    return kind(**values)
