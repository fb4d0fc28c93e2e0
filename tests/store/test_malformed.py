"""Rows that Satchel did not write like that: they are shown as they are."""

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from satchel.cli.main import main
from tests.projects import Project
from tests.store.values import finished, new_call, open_journal

TIMES = ["yesterday", "", "2026-01-01T00:00:00", "0001-01-01T00:00:00+14:00", b"\xff\x1b[31m"]
OUTCOMES = [
    "no JSON",
    "[1]",
    "[" * 100_000,
    b"\xff{}",
    '{"exit_code": [], "ended": 5, "duration_ms": "long", "files": 5, "reason": {}, "stdout": [1]}',
    '{"files": [1, {"path": 1}], "duration_ms": {}, "malformed": []}',
    json.dumps({"exit_code": 0, "result": 0}).replace("0}", "[" * 985 + "]" * 985 + "}"),
]


Shown = Callable[[], str]


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shown:
    """Everything that shows rows, for people and as JSON. In this process: it is a matter of many cases."""
    project = Project(tmp_path / "project", {})
    (project.directory / "satchel.yaml").write_text(f"database: sqlite:///{tmp_path}/satchel.db\n")
    monkeypatch.chdir(project.directory)

    def show() -> str:
        told = ""
        for command in (["executions"], ["show-execution", "e1"], ["audit"]):
            for options in ([], ["--json"]):
                code = main([*command, *options])
                out, err = capsys.readouterr()
                assert (code, err) == (0, "")
                assert "\x1b" not in out
                told += out
        return told

    return show


def write(path: Path, *, started_at: Any, outcome: Any, number: Any = 1) -> None:
    store = open_journal(path)
    store.begin_execution("e1")
    store.finish_calls([finished(store.begin_call(new_call(execution="e1")))])
    store.close()
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("UPDATE executions SET started_at = ?, outcome = ?", (started_at, outcome))
    connection.execute(
        "UPDATE calls SET started_at = ?, duration_ms = ?, arguments_size = ?, result_size = ?",
        (started_at, number, number, number),
    )
    connection.close()


@pytest.mark.parametrize("started_at", TIMES)
def test_a_time_that_is_none_is_shown_as_it_is(shown: Shown, tmp_path: Path, started_at: Any) -> None:
    write(tmp_path / "satchel.db", started_at=started_at, outcome=None, number="many")

    told = shown()

    assert (started_at if isinstance(started_at, str) else "\ufffd") in told
    assert "many → many" in told


@pytest.mark.parametrize("outcome", OUTCOMES, ids=range(len(OUTCOMES)))
def test_an_outcome_that_is_none_is_shown_as_it_is(shown: Shown, tmp_path: Path, outcome: Any) -> None:
    write(tmp_path / "satchel.db", started_at="2026-01-01T00:00:00.000+00:00", outcome=outcome)

    told = shown()

    assert outcome != "no JSON" or told.count("no JSON") == 5
