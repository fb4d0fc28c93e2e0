"""Two Satchel processes at once on one project: no lost update, no corrupt cache."""

import subprocess
from pathlib import Path

import pytest

from tests.projects import Project
from tests.servers import raw

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def start(project: Project, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        project.command(*arguments),
        cwd=project.directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def test_servers_added_by_two_processes_are_all_there(tmp_path: Path) -> None:
    project = Project(tmp_path, {"first": raw("good")})
    for round_number in range(5):
        names = [f"server-{round_number}-{number}" for number in range(4)]
        running = [start(project, "add", name, "--no-check", "--", "true") for name in names]
        assert [finish(process)[0] for process in running] == [0] * 4
    assert len(project.read()) == 21


def test_refreshing_and_listing_at_once_never_shows_a_broken_catalog(tmp_path: Path) -> None:
    project = Project(tmp_path, {f"s{number}": raw("many_tools", tools=300) for number in range(3)})
    assert project.run_anew("refresh").code == 0
    for _ in range(3):
        running = [start(project, "refresh"), start(project, "refresh"), start(project, "list", "--json")]
        outcomes = [finish(process) for process in running]
        assert [code for code, _, _ in outcomes] == [0, 0, 0], outcomes
        assert '"total_tools": 900' in outcomes[2][1]


def test_calls_from_two_processes_use_servers_of_their_own(tmp_path: Path) -> None:
    project = Project(tmp_path, {"good": raw("good")})
    project.run_anew("refresh")
    running = [start(project, "call", "good.environment", "--json") for _ in range(2)]
    outcomes = [finish(process) for process in running]
    assert [code for code, _, _ in outcomes] == [0, 0]
    assert outcomes[0][1] != outcomes[1][1]
