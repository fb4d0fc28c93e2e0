"""What is written of executions and calls, and how it is read again. In both databases unless said."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import DBAPIError

from satchel.errors import JournalError, NotFoundError
from satchel.model import CallRecord, ExecutionRecord
from tests.store.postgresql import Server
from tests.store.values import StoredJournal, finished, new_call, open_journal


def test_a_call_is_recorded_as_sent_and_then_how_it_ended(store: StoredJournal) -> None:
    before = datetime.now(UTC) - timedelta(seconds=1)
    number = store.begin_call(new_call(execution="e1", agent="mail", arguments_size=17))

    (sent,) = store.calls()
    store.finish_calls(
        [finished(number, "error", duration_ms=12.5, result_digest="f" * 64, result_size=9, error="no")]
    )
    (ended,) = store.calls()

    assert before <= datetime.fromisoformat(sent.started_at) <= datetime.now(UTC)
    assert sent == CallRecord(
        id=number,
        execution="e1",
        agent="mail",
        server="drive",
        tool="get",
        status="sent",
        started_at=sent.started_at,
        arguments_digest="0" * 64,
        arguments_size=17,
    )
    assert ended == CallRecord(
        id=number,
        execution="e1",
        agent="mail",
        server="drive",
        tool="get",
        status="error",
        started_at=sent.started_at,
        duration_ms=12.5,
        arguments_digest="0" * 64,
        arguments_size=17,
        result_digest="f" * 64,
        result_size=9,
        error="no",
    )


def test_a_call_that_was_begun_is_seen_by_others_at_once(store: StoredJournal, location: Path | str) -> None:
    number = store.begin_call(new_call())
    other = open_journal(location)

    assert [call.id for call in other.calls()] == [number]
    other.close()


def test_what_was_written_is_there_after_closing_and_opening(location: Path | str) -> None:
    first = open_journal(location)
    number = first.begin_call(new_call())
    first.close()
    second = open_journal(location)

    assert [call.id for call in second.calls()] == [number]
    assert second.begin_call(new_call()) > number
    second.close()


def test_an_execution_is_running_until_its_outcome_is_known(store: StoredJournal) -> None:
    store.begin_execution("e1", agent="mail", language="typescript", program="1", description="count")
    running = store.execution("e1")
    store.finish_execution("e1", {"exit_code": 0, "stdout": "\0 \ud800 é", "result": [None, 1.5]})
    done = store.execution("e1")

    assert running is not None
    assert running == ExecutionRecord(
        id="e1",
        agent="mail",
        language="typescript",
        program="1",
        description="count",
        state="running",
        started_at=running.started_at,
    )
    assert done is not None
    assert (done.state, done.outcome) == (
        "done",
        {"exit_code": 0, "stdout": "\0 \ud800 é", "result": [None, 1.5]},
    )


def test_an_execution_has_its_calls_in_the_order_they_were_made(store: StoredJournal) -> None:
    store.begin_execution("e1")
    store.begin_execution("e2")
    first = store.begin_call(new_call(execution="e1"))
    store.begin_call(new_call(execution="e2"))
    second = store.begin_call(new_call(execution="e1", tool="put"))
    store.begin_call(new_call())
    store.finish_calls([finished(second), finished(first)])

    record = store.execution("e1")

    assert record is not None
    assert [call.id for call in record.calls] == [first, second]
    assert record.call_count == 2


def test_executions_are_listed_newest_first_with_the_number_of_their_calls(store: StoredJournal) -> None:
    for id in ("e1", "e2", "e3"):
        store.begin_execution(id)
    for _ in range(3):
        store.begin_call(new_call(execution="e2"))

    assert [(record.id, record.call_count, record.calls) for record in store.executions()] == [
        ("e3", 0, ()),
        ("e2", 3, ()),
        ("e1", 0, ()),
    ]
    assert [record.id for record in store.executions(limit=2)] == ["e3", "e2"]


def test_executions_can_be_narrowed_to_an_agent_and_a_time(store: StoredJournal) -> None:
    store.begin_execution("e1", agent="mail")
    store.begin_execution("e2")

    assert [record.id for record in store.executions(agent="mail")] == ["e1"]
    assert len(store.executions(since=datetime.now(UTC) - timedelta(minutes=1))) == 2
    assert store.executions(since=datetime.now(UTC) + timedelta(minutes=1)) == []


def test_calls_are_listed_newest_first_and_can_be_narrowed(store: StoredJournal) -> None:
    a = store.begin_call(new_call())
    b = store.begin_call(new_call(server="mail", tool="send"))
    c = store.begin_call(new_call(agent="robot", execution="e1"))

    def found(**wanted: Any) -> list[int]:
        return [call.id for call in store.calls(**wanted)]

    assert found() == [c, b, a]
    assert [call.id for call in store.calls(limit=2)] == [c, b]
    assert found(server="mail") == [b]
    assert found(tool="get") == [c, a]
    assert found(agent="robot") == [c]
    assert found(execution="e1") == [c]
    assert found(server="drive", agent="default") == [a]
    assert found(server="no such") == []


def test_a_time_is_understood_in_any_zone(store: StoredJournal) -> None:
    store.begin_call(new_call())
    now = datetime.now().astimezone()
    east = now.astimezone(UTC).astimezone(datetime.strptime("+1345", "%z").tzinfo)

    assert len(store.calls(since=east - timedelta(minutes=1))) == 1
    assert store.calls(since=east + timedelta(minutes=1)) == []


def test_the_beginning_of_an_id_is_enough_when_it_is_the_only_one(store: StoredJournal) -> None:
    for id in ("ab12", "ab34", "cd56", "ab3", "%_x"):
        store.begin_execution(id)

    def found(id: str) -> str | None:
        record = store.execution(id)
        return record and record.id

    assert found("c") == "cd56"
    assert found("ab1") == "ab12"
    assert found("ab3") == "ab3"  # the id itself, although another begins like that
    assert found("%") == "%_x"
    assert found("C") is None
    assert found("cd567") is None
    assert found("") is None


def test_an_ambiguous_beginning_names_the_candidates(store: StoredJournal) -> None:
    for id in ("ab12", "ab34", "cd56"):
        store.begin_execution(id)

    with pytest.raises(NotFoundError) as raised:
        store.execution("ab")

    assert set(raised.value.closest) == {"ab12", "ab34"}
    assert raised.value.hint == "did you mean ab34 or ab12?"


def test_refused_calls_are_recorded_as_denied(store: StoredJournal) -> None:
    store.record_denied([new_call(tool="delete"), new_call(tool="delete", execution="e1")])
    store.record_denied([])

    assert [(call.tool, call.status, call.execution) for call in store.calls()] == [
        ("delete", "denied", "e1"),
        ("delete", "denied", None),
    ]


def test_ends_are_written_all_or_none(store: StoredJournal) -> None:
    first, second = store.begin_call(new_call()), store.begin_call(new_call())

    with pytest.raises(JournalError):
        store.finish_calls([finished(first), finished(second, None)])  # pyright: ignore[reportArgumentType]

    assert {call.status for call in store.calls()} == {"sent"}
    store.finish_calls([finished(first), finished(second)])
    assert {call.status for call in store.calls()} == {"ok"}


def test_the_end_of_something_unknown_or_interrupted_is_no_error(store: StoredJournal) -> None:
    store.finish_execution("nobody", {})
    store.finish_calls([finished(12345)])
    store.finish_calls([])

    assert store.calls() == []
    assert store.executions() == []


def test_an_id_is_used_once(store: StoredJournal) -> None:
    store.begin_execution("e1")

    with pytest.raises(JournalError):
        store.begin_execution("e1", program="other")

    assert [record.program for record in store.executions()] == ["print(1)"]


ODD = "a\0b\ud800c\udfffd 😀é\r\n"
STORED = "a\ufffdb\ufffdc\ufffdd 😀é\r\n"


def test_text_that_a_database_refuses_is_stored_all_the_same(store: StoredJournal) -> None:
    store.begin_execution(ODD, agent=ODD, program=ODD, description=ODD)
    number = store.begin_call(new_call(execution=ODD, agent=ODD, server=ODD, tool=ODD))
    store.finish_calls([finished(number, "error", error=ODD)])
    store.finish_execution(ODD, {})

    (record,) = store.executions(agent=ODD)
    (call,) = store.calls(server=ODD, tool=ODD, agent=ODD, execution=ODD)
    found = store.execution(ODD[:3])

    assert (record.id, record.agent, record.program, record.description) == (STORED,) * 4
    assert (call.execution, call.agent, call.server, call.tool, call.error) == (STORED,) * 5
    assert (record.state, record.call_count) == ("done", 1)
    assert found is not None
    assert found.id == STORED


def test_long_errors_and_programs_are_cut(store: StoredJournal) -> None:
    whole, long = "p" * 1024 * 1024, "q" * (1024 * 1024 + 5)
    store.begin_execution("whole", program=whole)
    store.begin_execution("long", program=long, description="d" * 12_000_000)
    numbers = [store.begin_call(new_call()) for _ in range(2)]
    store.finish_calls(
        [finished(numbers[0], "error", error="e" * 2000), finished(numbers[1], "error", error="f" * 2001)]
    )

    cut, kept = (record.program for record in store.executions())
    described = [len(record.description) for record in store.executions()]
    cut_error, kept_error = (call.error for call in store.calls())

    assert kept == whole
    assert cut == "q" * 1024 * 1024 + "\n… 5 characters left out"
    assert described == [2000 + len("\n… 11998000 characters left out"), 0]
    assert kept_error == "e" * 2000
    assert cut_error == "f" * 1999 + "…"


def test_threads_share_a_store(store: StoredJournal) -> None:
    ready = threading.Barrier(4)

    def work(_: int) -> list[int]:
        ready.wait(60)
        numbers = [store.begin_call(new_call()) for _ in range(25)]
        store.finish_calls([finished(number) for number in numbers])
        return numbers

    with ThreadPoolExecutor(4) as pool:
        numbers = [number for made in pool.map(work, range(4)) for number in made]

    recorded = store.calls(limit=1000)
    assert sorted(numbers) == sorted(call.id for call in recorded)
    assert {call.status for call in recorded} == {"ok"}


@pytest.mark.slow
def test_a_connection_that_the_server_ended_is_made_anew(postgresql: Server) -> None:
    store = open_journal(postgresql.empty_url())
    first = store.begin_call(new_call())
    postgresql.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
    )

    store.finish_calls([finished(first)])
    second = store.begin_call(new_call())

    assert [(call.id, call.status) for call in store.calls()] == [(second, "sent"), (first, "ok")]
    store.close()


def test_a_closed_store_can_be_closed_again(store: StoredJournal) -> None:
    store.close()
    store.close()


def test_errors_do_not_tell_what_was_to_be_written(store: StoredJournal) -> None:
    store.begin_execution("e1")

    with pytest.raises(JournalError) as raised:
        store.begin_execution("e1", program="SECRET PROGRAM")

    cause = raised.value.__cause__
    assert isinstance(cause, DBAPIError)
    assert "SECRET" not in f"{raised.value} {raised.value.hint} {cause}"
