"""Rows to be written, as plain values, so that their authors need not import SQLAlchemy."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any


@dataclass(frozen=True, kw_only=True)
class NewRow:
    """Add a row. Columns that `values` leaves out are null, or numbered by the database."""

    table: str
    values: Mapping[str, Any]

    @property
    def shape(self) -> tuple[object, ...]:
        """Changes of the same shape are the same statement."""
        return self.table, *self.values


@dataclass(frozen=True, kw_only=True)
class ChangedRow:
    """Set `values` where all columns of `where` are as given."""

    table: str
    where: Mapping[str, Any]
    values: Mapping[str, Any]
    required: bool = False  # if no row is like that, `Unmatched` is raised and nothing is committed

    @property
    def shape(self) -> tuple[object, ...]:
        return self.table, self.required, *self.where, "=", *self.values


Change = NewRow | ChangedRow


class Unmatched(Exception):
    """A required row does not exist, or no longer has the expected values. Nothing was committed."""


def time_as_text(time: datetime) -> str:
    """ISO 8601 in UTC and of constant length, so that texts sort like times."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds")
