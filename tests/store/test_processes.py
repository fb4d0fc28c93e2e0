"""Several processes on one journal, and what they leave behind when they are killed."""

import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from satchel.store.journal_tables import calls, executions
from satchel.store.owners import current_owner
from tests.store.values import (
    AS_LOCATION,
    StoredJournal,
    finished,
    location_arguments,
    new_call,
    open_journal,
)

ROOT = Path(__file__).parents[2]
WAIT = 60

PREPARE = f"""
import sys
{AS_LOCATION}
from tests.store.values import StoredJournal, finished, new_call, open_journal
"""
LEAVE_UNFINISHED = """
store = open_journal(location)
store.begin_execution("dead")
done = store.begin_call(new_call(execution="dead"))
store.finish_calls([finished(done)])
store.begin_call(new_call(execution="dead"))
store.begin_call(new_call(execution="alive"))
print("ready", flush=True)
input()
"""
WRITE_FOR_EVER = """
store = open_journal(location)
print("ready", flush=True)
while True:
    numbers = [store.begin_call(new_call()) for _ in range(3)]
    print("sent", *numbers, flush=True)
    store.finish_calls([finished(number) for number in numbers])
    print("ok", *numbers, flush=True)
"""
WRITE_MANY = """
input()
store = open_journal(location)
for _ in range(40):
    numbers = [store.begin_call(new_call(agent=sys.argv[3])) for _ in range(3)]
    store.finish_calls([finished(number) for number in numbers])
store.begin_execution(sys.argv[3])
store.finish_execution(sys.argv[3], {})
store.close()
"""


def start(script: str, location: Path | str, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", PREPARE + script, *location_arguments(location), *arguments],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def start_ready(script: str, location: Path | str) -> "subprocess.Popen[str]":
    process = start(script, location)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def release(processes: Sequence["subprocess.Popen[str]"]) -> None:
    """Let those go on that wait for a line, and wait for all to succeed."""
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    for process in processes:
        with process:
            assert process.wait(WAIT) == 0


def statuses(store: StoredJournal) -> dict[int, str]:
    return {call.id: call.status for call in store.calls(limit=1_000_000)}


@pytest.mark.slow
def test_what_a_killed_process_left_under_way_is_marked_and_nothing_else(location: Path | str) -> None:
    store = open_journal(location)
    store.begin_execution("alive")
    mine = store.begin_call(new_call(execution="dead"))
    with start_ready(LEAVE_UNFINISHED, location) as process:
        assert store.mark_interrupted() == 0  # it lives
        process.kill()

    assert store.mark_interrupted() == 3
    assert store.mark_interrupted() == 0
    found = {call.id - mine: (call.execution, call.status) for call in store.calls()}
    assert found == {
        0: ("dead", "sent"),
        1: ("dead", "ok"),
        2: ("dead", "interrupted"),
        3: ("alive", "interrupted"),
    }
    assert {record.id: record.state for record in store.executions()} == {
        "alive": "running",
        "dead": "interrupted",
    }
    store.close()


def test_what_belongs_to_the_dead_and_to_other_hosts_is_told_apart(store: StoredJournal) -> None:
    numbers = [store.begin_call(new_call()) for _ in range(4)]
    store.begin_execution("gone")
    store.begin_execution("elsewhere")
    gone = replace(current_owner(), boot="before")
    elsewhere = replace(gone, host="elsewhere")
    give(store, numbers[0], "gone", gone.text)
    give(store, numbers[1], "elsewhere", elsewhere.text)
    give(store, numbers[2], "", gone.text)
    store.finish_calls([finished(numbers[2])])

    assert store.mark_interrupted() == 2
    assert list(statuses(store).values()) == ["sent", "ok", "sent", "interrupted"]
    assert {record.id: record.state for record in store.executions()} == {
        "gone": "interrupted",
        "elsewhere": "running",
    }


def test_an_owner_that_can_not_be_read_does_not_keep_others_from_being_marked(
    file_store: StoredJournal,
) -> None:
    numbers = [file_store.begin_call(new_call()) for _ in range(3)]
    give(file_store, numbers[0], "", "nobody")
    with file_store.store._database.engine.begin() as connection:
        connection.exec_driver_sql(
            "UPDATE calls SET owner = CAST(x'ff5b' AS TEXT) WHERE id = ?", (numbers[1],)
        )
    give(file_store, numbers[2], "", replace(current_owner(), boot="before").text)

    assert file_store.mark_interrupted() == 1
    assert list(statuses(file_store).values()) == ["interrupted", "sent", "sent"]


def test_the_end_of_what_was_taken_for_interrupted_counts(store: StoredJournal) -> None:
    number = store.begin_call(new_call())
    store.begin_execution("e1")
    give(store, number, "e1", replace(current_owner(), boot="before").text)
    assert store.mark_interrupted() == 2

    store.finish_calls([finished(number)])
    store.finish_execution("e1", {})

    assert statuses(store) == {number: "ok"}
    assert [record.state for record in store.executions()] == ["done"]


def give(store: StoredJournal, number: int, execution: str, owner: str) -> None:
    """As if another process had written them."""
    with store.store._database.engine.begin() as connection:
        connection.execute(calls.update().where(calls.c.id == number).values(owner=owner))
        connection.execute(executions.update().where(executions.c.id == execution).values(owner=owner))


def wait_for_its_last_statement(url: str) -> None:
    """A server still does what a client asked for that is dead."""
    others = "SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND client_port IS NOT NULL"
    deadline = time.monotonic() + WAIT
    with psycopg.connect(url, autocommit=True) as connection:
        while connection.execute(others).fetchone() != (0,):
            assert time.monotonic() < deadline


@pytest.mark.slow
@pytest.mark.parametrize("attempt", range(3))
def test_everything_committed_survives_kill_9_at_any_moment(location: Path | str, attempt: int) -> None:
    with start_ready(WRITE_FOR_EVER, location) as process:
        assert process.stdout is not None
        first = process.stdout.readline()  # it may be long before it gets to write
        time.sleep(random.uniform(0.05, 0.5))  # not a wait: the moment of the kill
        process.send_signal(signal.SIGKILL)
        told: str = first + process.stdout.read()  # `communicate` would pass over what is in the buffer
    if isinstance(location, str):
        wait_for_its_last_statement(location)
    complete_lines = told.splitlines()[: told.count("\n")]
    printed: dict[int, str] = {}
    for line in complete_lines:
        status, *numbers = line.split()
        printed |= dict.fromkeys(map(int, numbers), status)

    store = open_journal(location)
    before = statuses(store)
    unfinished = sum(status == "sent" for status in before.values())
    marked = store.mark_interrupted()
    after = statuses(store)
    store.begin_call(new_call())
    store.close()

    assert printed
    assert all(before[number] in (status, "ok") for number, status in printed.items())
    assert marked == unfinished <= 3
    assert {number: status.replace("sent", "interrupted") for number, status in before.items()} == after


@pytest.mark.slow
def test_processes_that_open_a_new_journal_at_once_and_write_lose_nothing(location: Path | str) -> None:
    agents = [f"agent {number}" for number in range(6)]
    release([start(WRITE_MANY, location, agent) for agent in agents])

    store = open_journal(location)
    recorded = store.calls(limit=1_000_000)
    assert {agent: sum(call.agent == agent for call in recorded) for agent in agents} == dict.fromkeys(
        agents, 120
    )
    assert {call.status for call in recorded} == {"ok"}
    assert sorted(record.id for record in store.executions()) == agents
    store.close()


@pytest.mark.slow
def test_many_threads_open_a_new_journal_at_once(location: Path | str) -> None:
    script = """
from concurrent.futures import ThreadPoolExecutor
import threading
barrier = threading.Barrier(8)
def work(_):
    barrier.wait(60)
    store = open_journal(location)
    number = store.begin_call(new_call())
    store.close()
    return number
input()
with ThreadPoolExecutor(8) as pool:
    assert len(set(pool.map(work, range(8)))) == 8
"""
    release([start(script, location) for _ in range(2)])

    store = open_journal(location)
    assert len(store.calls()) == 16
    store.close()
