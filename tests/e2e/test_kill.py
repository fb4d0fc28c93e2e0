"""Satchel is killed at any moment: no call is lost or sent twice, and nothing goes on without it."""

import hashlib
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import anyio
import pytest

from satchel.model import CallRecord, ExecutionRecord
from satchel.sandbox.running import cgroups
from satchel.store.journal import Journal
from satchel.store.writer import Writer
from tests.projects import Project
from tests.sandbox.helpers import wait_until_none_has
from tests.scale import scaled
from tests.servers import raw

KILLS = scaled(8, 100)
LONGEST_LIFE = 1.5  # seconds from `ready` to the kill
WAIT = 60  # seconds; only a hang reaches it
ROOT = Path(__file__).resolve().parents[2]
MARK = "SATCHEL_TEST_MARK"

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(120 + 20 * KILLS)]


class Killable:
    """A project, and Satchels on it that can be told from whatever else runs on this machine."""

    def __init__(self, directory: Path) -> None:
        self.token = f"killable-{os.urandom(8).hex()}"
        self.log = directory / "calls"
        # In the arguments of servers, of the box and of what mounts it; the mark is in the box's environment.
        self.project = Project(directory / self.token, {"noting": raw("notes", calls=self.log)})
        settings = {"code_execution": {"sandbox": {"allow_env": [MARK]}}}
        (self.project.directory / "satchel.yaml").write_text(json.dumps(settings))

    def start(self, name: str) -> subprocess.Popen[bytes]:
        """A Satchel that has said that it is ready."""
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.e2e.killed", str(self.project.directory), name],
            cwd=ROOT,
            env={**os.environ, MARK: self.token},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line == b"ready\n", process.communicate(timeout=WAIT)
        return process

    def wait_until_nothing_runs(self) -> None:
        """Of Satchels, servers, boxes and whatever is in them: all of it bears the token."""
        wait_until_none_has(self.token)

    def wait_for_a_call(self, before: int) -> None:
        deadline = time.monotonic() + WAIT
        while len(self.sent()) <= before:
            assert time.monotonic() < deadline
            time.sleep(0.005)

    def sent(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []

    def recorded(self) -> tuple[list[ExecutionRecord], list[CallRecord]]:
        async def read() -> tuple[list[ExecutionRecord], list[CallRecord]]:
            records = Journal(Writer(self.project.directory / ".satchel" / "satchel.db"))
            try:
                return await records.executions(limit=100_000), await records.calls(limit=1_000_000)
            finally:
                await records.aclose()

        return anyio.run(read)

    def check(self) -> tuple[list[ExecutionRecord], list[CallRecord]]:
        """Every call that the servers got was sent once, and is in the journal."""
        executions, calls = self.recorded()
        sent = self.sent()
        assert len(sent) == len(set(sent))
        digests = [call.arguments_digest for call in calls if call.tool == "note"]
        assert len(digests) == len(set(digests))
        assert {digest_of(number) for number in sent} <= set(digests)
        return executions, calls


def digest_of(number: str) -> str:
    return hashlib.sha256(json.dumps({"number": number}, separators=(",", ":")).encode()).hexdigest()


def kill_later(process: subprocess.Popen[bytes], seconds: float) -> None:
    """The moment is the point, and nothing to be waited for says when it has come: hence the sleep."""
    time.sleep(seconds)
    assert process.poll() is None, process.communicate(timeout=WAIT)
    process.kill()
    process.communicate(timeout=WAIT)


def finish(process: subprocess.Popen[bytes]) -> int:
    """Let a Satchel come to its own end, and tell how many programs it ran."""
    out, err = process.communicate(timeout=WAIT)
    assert (process.returncode, err) == (0, b"")
    return int(out.split()[1])


def groups_of(processes: list[int]) -> list[str]:
    parents = cgroups.find_parents()
    directories = parents.directories.values() if parents is not None else ()
    owners = {str(process) for process in processes}
    return [
        path.name
        for directory in directories
        for path in directory.glob("satchel-*")
        if path.name.split("-")[1] in owners
    ]


@pytest.mark.long
def test_a_killed_satchel_loses_no_call_sends_none_twice_and_leaves_nothing_running(tmp_path: Path) -> None:
    killable = Killable(tmp_path)
    chance = random.Random(4711)
    killed: list[int] = []
    for number in range(KILLS):
        before = len(killable.sent())
        process = killable.start(f"round-{number}")
        killed.append(process.pid)
        if number % 3:
            kill_later(process, chance.uniform(0, LONGEST_LIFE))
        else:  # on a slow machine no call would ever be hit otherwise
            killable.wait_for_a_call(before)
            kill_later(process, chance.uniform(0, 0.05))
        killable.wait_until_nothing_runs()
        executions, calls = killable.check()
        assert {execution.state for execution in executions} <= {"done", "interrupted"}
        assert "sent" not in {call.status for call in calls}
    assert finish(killable.start("last")) > 0
    assert groups_of(killed) == []
    killable.wait_until_nothing_runs()
    executions, calls = killable.check()
    # It was worth it: some were killed in the middle of a program and of a call.
    assert "interrupted" in {execution.state for execution in executions}
    assert "interrupted" in {call.status for call in calls}
    assert {call.status for call in calls if call.tool == "note"} <= {"ok", "interrupted", "cancelled"}


@pytest.mark.long
def test_a_satchel_beside_one_that_is_killed_goes_on_as_if_nothing_was(tmp_path: Path) -> None:
    killable = Killable(tmp_path)
    chance = random.Random(4712)
    steady = killable.start("steady")
    for number in range(max(KILLS // 4, 2)):
        kill_later(killable.start(f"round-{number}"), chance.uniform(0, LONGEST_LIFE))
    programs = finish(steady)
    killable.wait_until_nothing_runs()
    executions, calls = killable.check()
    mine = [execution for execution in executions if '"steady-' in execution.program]
    assert len(mine) == programs > 0
    for execution in mine:
        assert (execution.state, (execution.outcome or {})["exit_code"]) == ("done", 0)
    numbers = {execution.id for execution in mine}
    assert {call.status for call in calls if call.execution in numbers} == {"ok"}
    assert "running" not in {execution.state for execution in executions}


def test_two_satchels_at_once_on_one_project_record_every_call(tmp_path: Path) -> None:
    killable = Killable(tmp_path)
    both = [killable.start("first"), killable.start("second")]
    time.sleep(LONGEST_LIFE)
    programs = sum(finish(process) for process in both)
    killable.wait_until_nothing_runs()
    executions, calls = killable.check()
    assert len(executions) == programs >= 6
    assert {execution.state for execution in executions} == {"done"}
    assert {call.status for call in calls} == {"ok"}
    assert sorted(map(digest_of, killable.sent())) == sorted(call.arguments_digest for call in calls)
