"""What doctor says of the sandbox, as a real process."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.projects import Project
from tests.sandbox.trial.test_trial import without_namespaces

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the sandbox is Linux's"),
]


def test_doctor_runs_a_program_in_the_sandbox_and_names_what_enforces_each_limit(tmp_path: Path) -> None:
    outcome = Project(tmp_path / "project").run("doctor")
    assert outcome.code == 0
    machine, _, sandbox = outcome.out.partition("\nsandbox\n")
    assert "  ok    sandbox: bubblewrap " in machine
    for check in ("seccomp", "network", "processes", "cpu", "files", "the rest"):
        assert f"  ok    {check}: " in sandbox
    assert " memory: 1024 MiB " in sandbox
    for check in ("total memory", "total processes", "programs at once", "sessions"):
        assert f" {check}: " in sandbox
    assert not (tmp_path / "project/.satchel").exists()


def test_doctor_says_why_programs_cannot_be_isolated_and_what_to_do(tmp_path: Path) -> None:
    project = Project(tmp_path / "project")
    done = subprocess.run(
        without_namespaces(project.command("doctor")),
        cwd=project.directory,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 4
    assert (
        "  FAIL  sandbox: the sandbox can't be made here: bwrap: Creating new namespace failed" in done.stdout
    )
    assert "→ user namespaces are switched off: sysctl user.max_user_namespaces=" in done.stdout
    assert "seccomp" not in done.stdout
    assert "total memory" not in done.stdout


def test_doctor_warns_of_a_sandbox_that_is_none_and_of_grants_that_cannot_be_made(tmp_path: Path) -> None:
    project = Project(tmp_path / "project")
    (project.directory / "satchel.yaml").write_text(
        "code_execution: {sandbox: {backend: process, python_env: nowhere}}"
    )
    outcome = project.run("doctor")
    assert outcome.code == 4
    assert "  warn  sandbox: programs run without isolation" in outcome.out
    assert "  FAIL  grants: python_env: " in outcome.out
