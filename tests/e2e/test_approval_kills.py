"""kill -9 in an approval's life: the server saw the call once at most, and row and journal agree."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.projects import Project
from tests.scale import scaled
from tests.servers import raw

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]

ROOT = Path(__file__).parents[2]
COMMITS = 24  # of two calls, from the first row to the last
WAIT = 120  # seconds; only a hang reaches it


@pytest.fixture(name="project")
def project_fixture(tmp_path: Path) -> Project:
    project = Project(tmp_path / "project", {"noting": raw("notes", calls=tmp_path / "calls")})
    (project.directory / "satchel.yaml").write_text(
        "approvals: { wait: 0s }\nagents: { default: { approve: destructive } }\n"
    )
    return project


def test_killed_between_any_two_commits(project: Project, tmp_path: Path) -> None:
    for count in range(1, COMMITS + 1, scaled(4, 1)):
        with start(project, f"c{count}", str(count)) as process:
            assert process.wait(WAIT) == -signal.SIGKILL
    check(project, tmp_path / "calls")


def test_killed_at_any_moment(project: Project, tmp_path: Path) -> None:
    chance = random.Random(7)
    for number in range(scaled(5, 150)):
        with start(project, f"r{number}") as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            time.sleep(chance.uniform(0.0, 1.0))  # a moment within the calls, which is what is tried
            os.kill(process.pid, signal.SIGKILL)
    check(project, tmp_path / "calls")


def start(project: Project, *arguments: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", "tests.e2e.deciding", str(project.directory), *arguments],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )


def check(project: Project, calls: Path) -> None:
    assert project.run("call", "noting.note", "number=last").code == 6  # it marks what dead processes left
    seen = Counter(calls.read_text().split())
    assert seen and set(seen.values()) == {1}
    with sqlite3.connect(project.directory / ".satchel" / "satchel.db") as database:
        approvals = database.execute("SELECT state, call FROM approvals").fetchall()
        journal = dict(database.execute("SELECT id, status FROM calls").fetchall())
    used = {call for state, call in approvals if state == "used"}
    assert all(call is None for state, call in approvals if state != "used")
    assert all(journal[call] in ("ok", "interrupted") for call in used)
    assert {call for call, status in journal.items() if status in ("ok", "interrupted")} == used
    assert len(seen) <= len(used)
