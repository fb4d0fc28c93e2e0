"""The journal for those who must not wait."""

import asyncio
import hashlib
import sqlite3
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import psycopg
import pytest

from satchel.calls.journal import write_journal
from satchel.errors import ClosedError, JournalError
from satchel.model import Call, Caller, CallRecord, CallResult, ToldMemory
from satchel.store.journal import Journal
from satchel.store.journal_tables import calls
from satchel.store.owners import current_owner
from satchel.store.store import Store
from satchel.store.writer import Writer
from tests.fakes import FakeServer, make_tool
from tests.store.conftest import location_fixture, postgresql_fixture
from tests.store.values import is_writing, new_call, open_journal, until

pytestmark = pytest.mark.anyio
__all__ = ["location_fixture", "postgresql_fixture"]  # the fixtures `location` and `postgresql`

TOOL = make_tool({"name": "get"}, server="drive")
WAIT = 60  # seconds; only a hang reaches it


def call(execution: str | None = None, **arguments: Any) -> Call:
    return Call(what=TOOL, arguments=arguments, caller=Caller(execution=execution))


@asynccontextmanager
async def opened(location: Path | str) -> AsyncGenerator[Journal]:
    records = Journal(Writer(location))
    with anyio.fail_after(WAIT):
        yield records
        await records.aclose()


def store_of(records: Journal) -> Store:
    store = records._writer._store
    assert store is not None
    return store


def recorded(location: Path | str) -> list[CallRecord]:
    """As another process sees it."""
    store = open_journal(location)
    found = store.calls()
    store.close()
    return found


async def test_a_call_is_committed_before_begin_returns(location: Path | str) -> None:
    async with opened(location) as records:
        number = await records.begin(call("e1", id="x"))
        (found,) = recorded(location)

    assert (found.id, found.status, found.execution) == (number, "sent", "e1")
    assert (found.agent, found.server, found.tool) == ("default", "drive", "get")


async def test_arguments_are_recorded_as_a_digest_of_their_canonical_json(location: Path | str) -> None:
    async with opened(location) as records:
        await records.begin(call(b=[1, None], a="é"))
        await records.begin(call(a="é", b=[1, None]))
        await records.begin(call(odd="\ud800\0"))
        odd, second, first = await records.calls()

    data = '{"a":"é","b":[1,null]}'.encode()
    assert (first.arguments_digest, first.arguments_size) == (hashlib.sha256(data).hexdigest(), len(data))
    assert second.arguments_digest == first.arguments_digest
    assert odd.arguments_size == len(b'{"odd":"\xed\xa0\x80\\u0000"}')


async def test_an_end_is_written_soon_by_itself(location: Path | str) -> None:
    async with opened(location) as records:
        number = await records.begin(call())
        records.complete(number, "error", ms=12.5, error="no")
        await until(lambda: recorded(location)[0].status != "sent")
        (found,) = recorded(location)

    assert (found.status, found.duration_ms, found.error) == ("error", 12.5, "no")


async def test_a_result_is_recorded_as_a_digest(location: Path | str) -> None:
    plain = CallResult(content=({"type": "text", "text": "done"},))
    structured = replace(plain, structured={"b": 1, "a": None}, has_structured=True)
    odd = CallResult(structured=object(), has_structured=True)
    async with opened(location) as records:
        for result in (plain, structured, odd):
            records.complete(await records.begin(call()), "ok", ms=1, result=result)
        of_odd, of_structured, of_plain = await records.calls()

    data = b'{"content":[{"text":"done","type":"text"}]}'
    assert (of_plain.result_digest, of_plain.result_size) == (hashlib.sha256(data).hexdigest(), len(data))
    data = data[:-1] + b',"structuredContent":{"a":null,"b":1}}'
    assert (of_structured.result_digest, of_structured.result_size) == (
        hashlib.sha256(data).hexdigest(),
        len(data),
    )
    assert (of_odd.status, of_odd.result_digest) == ("ok", None)


async def test_arguments_that_are_not_json_are_refused_before_anything_is_recorded(tmp_path: Path) -> None:
    async with opened(tmp_path / "satchel.db") as records:
        with pytest.raises(JournalError, match=r"arguments of drive\.get"):
            await records.begin(call(value=object()))
        assert await records.calls() == []


async def test_a_refused_call_is_recorded_whatever_its_arguments_are(tmp_path: Path) -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    async with opened(tmp_path / "satchel.db") as records:
        records.denied(call(value=deep))
        records.denied(call(value=object()))
        found = await records.calls()

    assert [(one.status, one.arguments_digest, one.arguments_size) for one in found] == [
        ("denied", "", 0)
    ] * 2


async def test_closing_writes_what_is_left(location: Path | str) -> None:
    async with opened(location) as records:
        for _ in range(50):
            records.complete(await records.begin(call()), "ok", ms=1)

    assert [found.status for found in recorded(location)] == ["ok"] * 50


async def test_closing_and_finishing_work_while_everything_is_cancelled(location: Path | str) -> None:
    records = Journal(Writer(location))
    number = await records.begin(call())
    await records.begin_execution(id="e1", agent="default", language="python", program="")
    with anyio.CancelScope() as scope:
        scope.cancel()
        records.complete(number, "cancelled", ms=1)
        await records.finish_execution("e1", {"exit_code": 1})
        await records.aclose()

    async with opened(location) as again:
        assert [found.status for found in await again.calls()] == ["cancelled"]
        assert [found.state for found in await again.executions()] == ["done"]


async def test_what_begins_while_it_is_closed_is_refused_and_leaves_nothing_open(
    location: Path | str,
) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def read_later() -> Path | str:
        begun.set()
        assert go_on.wait(WAIT)
        return location

    records = Journal(Writer(read_later))
    first = asyncio.create_task(records.begin(call()))
    second = asyncio.create_task(records.begin(call()))
    with anyio.fail_after(WAIT):
        await until(begun.is_set)
        closing = asyncio.create_task(records.aclose())
        await until(lambda: records._writer._is_closed)
        go_on.set()
        await closing
        ends = await asyncio.gather(first, second, return_exceptions=True)
        assert any(isinstance(end, ClosedError) for end in ends)  # one may have come in time
        for use in (
            records.begin(call()),
            records.begin_execution(id="e2", agent="", language="", program=""),
        ):
            with pytest.raises(ClosedError):
                await use
        await until(lambda: records._writer._store is None)


async def test_what_ends_after_it_was_closed_is_recorded_and_leaves_nothing_open(
    location: Path | str,
) -> None:
    records = Journal(Writer(location))
    number = await records.begin(call())
    await records.begin_execution(id="e1", agent="default", language="python", program="")
    await records.aclose()
    assert records._writer._store is None

    records.complete(number, "ok", ms=1)
    await records.finish_execution("e1", {"exit_code": 0})
    assert [found.status for found in await records.calls()] == ["ok"]
    assert [found.state for found in await records.executions()] == ["done"]
    await until(lambda: records._writer._store is None)


async def test_refused_calls_are_recorded_although_nothing_was_begun(location: Path | str) -> None:
    async with opened(location) as records:
        records.denied(call("e1", id="x"))

    (found,) = recorded(location)
    assert (found.status, found.execution, found.tool) == ("denied", "e1", "get")


async def test_an_execution_is_done_only_after_the_ends_of_its_calls_are_written(
    location: Path | str,
) -> None:
    async with opened(location) as records:
        await records.begin_execution(
            id="e1", agent="mail", language="python", program="print(1)", description="one"
        )
        number = await records.begin(call("e1"))
        running = await records.execution("e1")
        records.complete(number, "ok", ms=1)
        await records.finish_execution("e1", {"exit_code": 0})
        store = open_journal(location)
        done = store.execution("e")
        store.close()

    assert running is not None
    assert (running.state, running.description, running.calls[0].status) == ("running", "one", "sent")
    assert done is not None
    assert (done.state, done.outcome, done.calls[0].status) == ("done", {"exit_code": 0}, "ok")


async def test_readers_see_what_has_ended_and_can_narrow(location: Path | str) -> None:
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    async with opened(location) as records:
        await records.begin_execution(id="e1", agent="mail", language="python", program="")
        records.complete(await records.begin(call("e1")), "ok", ms=1)
        await records.begin(call())

        assert [found.status for found in await records.calls()] == ["sent", "ok"]
        assert [found.execution for found in await records.calls(execution="e1")] == ["e1"]
        assert len(await records.calls(server="drive", tool="get", agent="default", limit=1)) == 1
        assert await records.calls(since=tomorrow) == []
        assert [found.call_count for found in await records.executions(agent="mail", limit=1)] == [1]
        assert await records.executions(since=tomorrow) == []
        assert await records.execution("e2") is None


async def test_what_models_are_told_of_memories_is_recorded_by_its_digest(location: Path | str) -> None:
    told = ToldMemory(text="<memory>\n- the plan\n</memory>", entries=1, tokens=9)
    async with opened(location) as records:
        records.told_memory(told, agent="mail", conversation="c1")
        records.told_memory(replace(told, text="other"), agent="default")
        (one,) = await records.told_memories(agent="mail")
        every = await records.told_memories()

    assert one.digest == hashlib.sha256(told.text.encode()).hexdigest()
    assert (one.agent, one.conversation, one.entries, one.tokens) == ("mail", "c1", 1, 9)
    assert datetime.fromisoformat(one.told_at).tzinfo == UTC
    assert {record.id for record in every} > {one.id}
    assert len(every) == 2


async def test_opening_marks_what_the_dead_left(location: Path | str) -> None:
    store = open_journal(location)
    number = store.begin_call(new_call())
    with store.store._database.engine.begin() as connection:
        connection.execute(calls.update().values(owner=replace(current_owner(), boot="before").text))
    store.close()

    async with opened(location) as records:
        mine = await records.begin(call())
        found = {record.id: record.status for record in await records.calls()}

    assert found == {number: "interrupted", mine: "sent"}


async def test_many_calls_at_once_are_all_recorded(location: Path | str) -> None:
    async with opened(location) as records:
        call_tool = write_journal(records)(FakeServer().send)

        async def make(number: int) -> None:
            await call_tool(call(id=number))

        async with anyio.create_task_group() as group:
            for number in range(100):
                group.start_soon(make, number)
        found = await records.calls(limit=1000)

    assert [record.status for record in found] == ["ok"] * 100


def held_file(path: Path) -> sqlite3.Connection:
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    return holder


def held_server(url: str) -> "psycopg.Connection[Any]":
    holder = psycopg.connect(url)
    holder.execute("LOCK TABLE calls IN ACCESS EXCLUSIVE MODE")
    return holder


async def test_others_go_on_while_the_journal_is_held_by_another_process(location: Path | str) -> None:
    async with opened(location) as records:
        first = await records.begin(call())
        records.complete(first, "ok", ms=1)
        await records.flush()
        holder = held_file(location) if isinstance(location, Path) else held_server(location)
        begun: list[int] = []
        longest = 0.0

        async def begin() -> None:
            begun.append(await records.begin(call()))

        async with anyio.create_task_group() as group:
            group.start_soon(begin)
            before = anyio.current_time()
            for _ in range(30):
                await anyio.sleep(0.01)
                now = anyio.current_time()
                longest, before = max(longest, now - before), now
            assert begun == []
            holder.close()

    assert len(begun) == 1
    assert longest < 10, "the event loop stood still"  # until the writer gives up, after 30 s
    assert len(recorded(location)) == 2


@pytest.mark.parametrize("times", [1, 2])
async def test_a_call_whose_task_is_cancelled_while_it_begins_is_recorded_as_cancelled(
    tmp_path: Path, times: int
) -> None:
    path = tmp_path / "satchel.db"
    async with opened(path) as records:
        assert await records.calls() == []
        holder = held_file(path)
        task = asyncio.create_task(records.begin(call()))
        await until(lambda: is_writing(store_of(records)))
        for _ in range(times):
            task.cancel()
            await anyio.lowlevel.checkpoint()
        holder.close()
        with pytest.raises(asyncio.CancelledError):
            await task
        (found,) = await records.calls()

    assert (found.status, found.duration_ms) == ("cancelled", 0)


async def test_a_call_whose_scope_is_cancelled_while_it_begins_is_recorded_as_cancelled(
    tmp_path: Path,
) -> None:
    path = tmp_path / "satchel.db"
    async with opened(path) as records:
        assert await records.calls() == []
        holder = held_file(path)
        async with anyio.create_task_group() as group:
            group.start_soon(records.begin, call())
            await until(lambda: is_writing(store_of(records)))
            group.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                await anyio.lowlevel.checkpoint()
                holder.close()
        (found,) = await records.calls()

    assert found.status == "cancelled"


async def test_an_execution_whose_task_is_cancelled_while_it_begins_can_be_finished(tmp_path: Path) -> None:
    path = tmp_path / "satchel.db"
    async with opened(path) as records:
        assert await records.calls() == []
        holder = held_file(path)
        task = asyncio.create_task(
            records.begin_execution(id="e1", agent="default", language="python", program="")
        )
        await until(lambda: is_writing(store_of(records)))
        task.cancel()
        for _ in range(10):
            await anyio.lowlevel.checkpoint()
        assert not task.done()  # who finished it now would do so before it is there
        holder.close()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert [found.state for found in await records.executions()] == ["running"]
        await records.finish_execution("e1", {"ended": "cancelled"})
        (found,) = await records.executions()

    assert (found.state, found.outcome) == ("done", {"ended": "cancelled"})


async def test_a_beginning_that_fails_after_its_task_was_cancelled_is_only_cancelled(tmp_path: Path) -> None:
    path = tmp_path / "satchel.db"
    async with opened(path) as records:
        assert await records.calls() == []
        holder = held_file(path)
        task = asyncio.create_task(records.begin(call()))
        await until(lambda: is_writing(store_of(records)))
        task.cancel()
        holder.execute("DROP TABLE calls")
        holder.execute("COMMIT")
        holder.close()
        with pytest.raises(asyncio.CancelledError):
            await task


@contextmanager
def refusing_ends(path: Path) -> Generator[None]:
    """A journal that calls can begin in, and not end."""

    def execute(statement: str) -> None:
        connection = sqlite3.connect(path)
        connection.execute(statement)
        connection.close()

    execute("CREATE TRIGGER refuse BEFORE UPDATE ON calls BEGIN SELECT RAISE(ABORT, 'not today'); END")
    yield
    execute("DROP TRIGGER refuse")


async def test_an_end_that_can_not_be_written_is_kept_and_stops_the_next_beginning(tmp_path: Path) -> None:
    path = tmp_path / "satchel.db"
    async with opened(path) as records:
        number = await records.begin(call())
        with refusing_ends(path):
            records.complete(number, "ok", ms=1)
            records.denied(call())
            await until(lambda: records._writer._behind)
            with pytest.raises(JournalError, match="not today"):
                await records.begin(call())
            with pytest.raises(JournalError, match="not today"):
                await records.flush()
        second = await records.begin(call())
        found = recorded(path)

    assert [(record.id, record.status) for record in found] == [
        (second, "sent"),
        (second - 1, "denied"),
        (number, "ok"),
    ]


async def test_an_execution_is_not_done_while_the_ends_of_its_calls_can_not_be_written(
    tmp_path: Path,
) -> None:
    path = tmp_path / "satchel.db"
    async with opened(path) as records:
        await records.begin_execution(id="e1", agent="default", language="python", program="")
        number = await records.begin(call("e1"))
        with refusing_ends(path):
            records.complete(number, "ok", ms=1)
            with pytest.raises(JournalError, match="not today"):
                await records.finish_execution("e1", {})
            (found,) = await records.executions()
            assert found.state == "running"
        await records.finish_execution("e1", {})
        (found,) = await records.executions()
        assert found.state == "done"


async def test_a_journal_that_can_not_be_opened_is_tried_again(tmp_path: Path) -> None:
    link = tmp_path / "satchel.db"
    link.symlink_to(tmp_path / "elsewhere")
    async with opened(link) as records:
        with pytest.raises(JournalError, match="symbolic link"):
            await records.begin(call())
        link.unlink()
        assert await records.begin(call()) == 1


async def test_nothing_is_made_before_the_first_use(tmp_path: Path) -> None:
    async with opened(tmp_path / "state" / "satchel.db"):
        pass

    assert list(tmp_path.iterdir()) == []


def run(script: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=WAIT,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_and_making_a_journal_does_not_import_sqlalchemy() -> None:
    script = """
import sys
from satchel.store.journal import Journal
from satchel.store.writer import Writer
Journal(Writer("x"))
print("sqlalchemy" in sys.modules)
"""

    assert run(script) == "False\n"


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["anyio.run(records.aclose)", "pass"])
def test_nothing_that_ended_is_lost_when_the_interpreter_ends(tmp_path: Path, ending: str) -> None:
    script = f"""
import anyio
from pathlib import Path
from satchel.store.journal import Journal
from satchel.store.writer import Writer
from tests.store.test_journal import call
records = Journal(Writer(Path({str(tmp_path / "satchel.db")!r})))
async def main():
    for number in [await records.begin(call()) for _ in range(10)]:
        records.complete(number, "ok", ms=1)
anyio.run(main)
{ending}
"""
    run(script)

    assert [record.status for record in recorded(tmp_path / "satchel.db")] == ["ok"] * 10
