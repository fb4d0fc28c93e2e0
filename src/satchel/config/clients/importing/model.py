"""The results of the importers: servers found, files that can't be used, and the plan."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from satchel.model import Json, is_list, is_object


@dataclass(frozen=True, kw_only=True)
class Found:
    """A server of another client, as extensions_config.json would have it."""

    name: str
    entry: Json
    client: str
    origin: Path
    line: int | None
    notes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Unreadable:
    """A file, or one entry of a file, that is there but can't be used."""

    client: str
    origin: Path
    reason: str


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The plan of an import. Every given Found is in exactly one of the three."""

    additions: tuple[Found, ...]  # with their final names; a note tells of a new one
    duplicates: tuple[tuple[Found, str], ...]  # the same server as the planned or configured one of that name
    skipped: tuple[tuple[Found, str], ...]  # with the reason


class UnusableError(Exception):
    """Why a file or an entry can't be used. Becomes an Unreadable; never leaves this package."""


def as_object(value: object) -> Json:
    return value if is_object(value) else {}


def as_list(value: object) -> list[Any]:
    return value if is_list(value) else []
