"""One writer for several tables: the journal's, and one that only this test knows."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
import pytest
from sqlalchemy import Column, MetaData, Table, select

from satchel.errors import ClosedError, JournalError
from satchel.store import journal_rows
from satchel.store.column_types import SafeText
from satchel.store.journal import Journal
from satchel.store.row_changes import ChangedRow, NewRow, Unmatched
from satchel.store.schema import SCHEMA
from satchel.store.store import Store, open_store
from satchel.store.writer import Writer
from tests.store.values import CALL, until

pytestmark = pytest.mark.anyio

WAIT = 20  # seconds; only a hang reaches it

grants = Table(
    "grants",
    MetaData(),
    Column("name", SafeText, primary_key=True),
    Column("state", SafeText, nullable=False),
)
CREATE = "CREATE TABLE grants (name TEXT PRIMARY KEY, state TEXT NOT NULL)"
WITH_GRANTS = replace(
    SCHEMA,
    tables=(*SCHEMA.tables, grants),
    upgrades={**SCHEMA.upgrades, SCHEMA.version + 1: (CREATE,)},
)


def open_with_grants(location: Path | str) -> Store:
    return open_store(location, WITH_GRANTS)


@dataclass(frozen=True)
class Grants:
    """A table's async face: some allow one call each."""

    writer: Writer

    async def give(self, name: str) -> None:
        await self.writer.begin(NewRow(table="grants", values={"name": name, "state": "given"}))

    def withdraw(self, name: str) -> None:
        row = ChangedRow(table="grants", where={"name": name}, values={"state": "withdrawn"})
        self.writer.write_soon(lambda: row)

    async def use(self, name: str) -> int:
        """Record that a call is sent, and that this grant is used up by it."""
        used = ChangedRow(
            table="grants",
            where={"name": name, "state": "given"},
            values={"state": "used"},
            required=True,
        )
        return await self.writer.begin(used, journal_rows.sent_call(CALL))

    async def states(self) -> dict[str, str]:
        query = select(grants.c.name, grants.c.state).order_by(grants.c.name)
        rows = await self.writer.read(lambda connection: connection.execute(query).all())
        return {row.name: row.state for row in rows}


@asynccontextmanager
async def opened(location: Path | str) -> AsyncGenerator[tuple[Grants, Journal]]:
    writer = Writer(location, open_with_grants)
    with anyio.fail_after(WAIT):
        yield Grants(writer), Journal(writer)
        await writer.aclose()


def stored(location: Path | str) -> dict[str, str]:
    """As another process sees it, without a writer."""
    store = open_with_grants(location)
    rows = store.read(lambda connection: connection.execute(select(grants.c.name, grants.c.state)).all())
    store.close()
    return {row.name: row.state for row in rows}


async def test_a_database_from_before_the_table_gets_it(location: Path | str) -> None:
    open_store(location).close()

    async with opened(location) as (table, _):
        await table.give("a")

    assert stored(location) == {"a": "given"}


async def test_what_begins_in_another_table_is_committed_before_it_returns(location: Path | str) -> None:
    async with opened(location) as (table, _):
        await table.give("a")
        await table.give("b")

        assert stored(location) == {"a": "given", "b": "given"}


async def test_what_ends_in_another_table_is_written_soon_and_with_the_ends_of_calls(
    location: Path | str,
) -> None:
    async with opened(location) as (table, journal):
        number = await journal.begin(CALL)
        await table.give("a")
        journal.complete(number, "ok", ms=1)
        table.withdraw("a")
        journal.denied(CALL)
        await until(lambda: stored(location) == {"a": "withdrawn"})

        assert [call.status for call in await journal.calls()] == ["denied", "ok"]


async def test_rows_of_two_tables_are_committed_together_or_not_at_all(location: Path | str) -> None:
    async with opened(location) as (table, journal):
        await table.give("a")
        number = await table.use("a")
        with pytest.raises(Unmatched):
            await table.use("a")
        with pytest.raises(Unmatched):
            await table.use("nobody's")

        assert await table.states() == {"a": "used"}
        assert [(call.id, call.status) for call in await journal.calls()] == [(number, "sent")]
        assert await journal.begin(CALL) > number


async def test_of_many_that_use_the_same_row_at_once_one_succeeds(location: Path | str) -> None:
    async with opened(location) as (table, journal):
        await table.give("a")
        refused = 0

        async def use() -> None:
            nonlocal refused
            try:
                await table.use("a")
            except Unmatched:
                refused += 1

        async with anyio.create_task_group() as group:
            for _ in range(8):
                group.start_soon(use)

        assert refused == 7
        assert len(await journal.calls()) == 1


async def test_a_failure_in_one_table_undoes_what_the_other_was_to_have(location: Path | str) -> None:
    async with opened(location) as (table, journal):
        await table.give("a")
        again = NewRow(table="grants", values={"name": "a", "state": "given"})  # a name is used once
        with pytest.raises(JournalError):
            await table.writer.begin(journal_rows.sent_call(CALL), again)

        assert await journal.calls() == []


async def test_nothing_begins_in_any_table_while_an_end_can_not_be_written(location: Path | str) -> None:
    async with opened(location) as (table, journal):
        await table.give("a")
        bad = ChangedRow(table="grants", where={"name": "a"}, values={"state": None})  # it may not be null
        table.writer.write_soon(lambda: bad)
        with pytest.raises(JournalError):
            await table.writer.flush()
        for begin in (
            table.give("b"),
            journal.begin(CALL),
            journal.begin_execution(id="e1", agent="", language="", program=""),
        ):
            with pytest.raises(JournalError):
                await begin
        assert await table.states() == {"a": "given"}  # reading goes on
        assert await journal.executions() == []
        table.writer._waiting.clear()  # or it could not be closed


async def test_after_the_end_nothing_begins_in_any_table(location: Path | str) -> None:
    async with opened(location) as (table, journal):
        await table.give("a")
        await journal.aclose()

        with pytest.raises(ClosedError):
            await table.give("b")
        assert await table.states() == {"a": "given"}
