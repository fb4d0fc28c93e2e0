"""From changes to statements. Each is built once, so that SQLAlchemy also compiles it only once."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

from sqlalchemy import Insert, Table, Update, bindparam, insert, update

from satchel.store.row_changes import Change, ChangedRow, NewRow


class Step(NamedTuple):  # made for every call, and several times faster than a frozen dataclass
    """One statement, and the rows to send it with."""

    statement: Insert | Update
    rows: Sequence[Mapping[str, Any]]
    required: bool  # every row has to be found
    adds: bool  # it is an Insert


class Statements:
    def __init__(self, tables: Sequence[Table]) -> None:
        self._tables = {table.name: table for table in tables}
        self._built: dict[tuple[object, ...], Insert | Update] = {}

    def steps(self, changes: Sequence[Change]) -> list[Step]:
        """The changes in their order. Neighbours of the same shape are sent together."""
        if len(changes) == 1:  # as for most
            return [self._step(changes[0].shape, changes)]
        return [self._step(shape, list(alike)) for shape, alike in groupby(changes, attrgetter("shape"))]

    def _step(self, shape: tuple[object, ...], changes: Sequence[Change]) -> Step:
        first = changes[0]
        statement = self._built.get(shape)
        if statement is None:
            statement = self._built[shape] = _build(self._tables[first.table], first)
        return Step(
            statement=statement,
            rows=[_parameters(change) for change in changes],
            required=isinstance(first, ChangedRow) and first.required,
            adds=isinstance(first, NewRow),
        )


def _build(table: Table, change: Change) -> Insert | Update:
    if isinstance(change, NewRow):
        return insert(table)
    return (
        update(table)
        .where(*(table.c[name] == bindparam(_wanted(name)) for name in change.where))
        .values({name: bindparam(name) for name in change.values})
    )


def _parameters(change: Change) -> Mapping[str, Any]:
    if isinstance(change, NewRow):
        return change.values
    return {**change.values, **{_wanted(name): value for name, value in change.where.items()}}


def _wanted(name: str) -> str:
    """A column may be compared and set by the same statement."""
    return f"wanted_{name}"
