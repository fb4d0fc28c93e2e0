"""The commands of `satchel approvals`, as processes: a decision in one is acted on in another."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.projects import Project
from tests.servers import raw
from tests.terminals import decide, yes_to_everything

pytestmark = pytest.mark.e2e

WAIT = 60  # seconds; only a hang reaches it
NOTE = 'await call_mcp_tool("noting.note", {"number": "\\u202e1\\n2"})\nprint("done")\n'


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path / "project", {"noting": raw("notes", calls=tmp_path / "calls")})
    (project.directory / "satchel.yaml").write_text(
        "approvals: { wait: 60s }\nagents: { default: { approve: destructive } }\n"
    )
    (project.directory / "note.py").write_text(NOTE)
    return project


def start(project: Project, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        project.command(*arguments),
        cwd=project.directory,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def waiting(project: Project) -> dict[str, Any]:
    deadline = time.monotonic() + WAIT
    while time.monotonic() < deadline:
        if found := project.run("approvals", "list", "--json").json["approvals"]:
            return found[0]
        time.sleep(0.1)
    raise AssertionError("nothing waits")


def test_a_person_at_a_terminal_decides_on_what_waits_in_another_process(
    project: Project, tmp_path: Path
) -> None:
    with start(project, "run", "note.py", "--description", "be nice") as program:
        approval = waiting(project)
        shown = project.run("approvals", "show", approval["id"][:6])
        assert r'  | number = "\u202e1\n2"' in shown.out
        assert "the model's own words about it: “be nice”" in shown.out
        assert "because of agents.default.approve" in shown.out
        refused = yes_to_everything(project.command("approvals", "allow", approval["id"]), project.directory)
        assert (refused.returncode, "a person at a terminal" in refused.stderr) == (2, True)
        wrong, _ = decide(
            project.command("approvals", "allow", approval["id"]), project.directory, lambda code: "yes"
        )
        assert wrong == 2
        assert not (tmp_path / "calls").exists()
        code, said = decide(project.command("approvals", "allow", approval["id"]), project.directory)
        assert (code, "approved" in said) == (0, True), said
        out, err = program.communicate(timeout=WAIT)
    assert (program.returncode, out) == (0, "done\n"), err
    assert f"satchel approvals allow {approval['id']}" in err
    assert len((tmp_path / "calls").read_text().splitlines()) >= 1
    (row,) = project.run("approvals", "list", "--all", "--json").json["approvals"]
    assert row["state"] == "used"
    again = project.run("approvals", "deny", approval["id"])
    assert (again.code, "there is nothing to decide: it is used" in again.err) == (2, True)


def test_a_person_says_no(project: Project, tmp_path: Path) -> None:
    with start(project, "call", "noting.note", "number=1") as call:
        approval = waiting(project)
        assert decide(project.command("approvals", "deny", approval["id"]), project.directory)[0] == 0
        _, err = call.communicate(timeout=WAIT)
    assert (call.returncode, "a person said no" in err) == (1, True), err
    assert not (tmp_path / "calls").exists()


def test_what_nobody_decides_on_ends_with_a_code_of_its_own(project: Project) -> None:
    (project.directory / "satchel.yaml").write_text(
        "approvals: { wait: 0s }\nagents: { default: { approve: [noting] } }\n"
    )
    call = project.run("call", "noting.note", "number=1")
    assert (call.code, "waits for a person to agree" in call.err) == (6, True), call.err
    program = project.run("run", "note.py", "--json")
    assert (program.code, program.json["ended"]) == (6, "approval")
    assert program.json["waiting"][0]["tool"] == "noting.note"
    listed = project.run("approvals", "list")
    assert listed.out.count("waiting") == 2


def test_edited_arguments_are_sent_instead(project: Project, tmp_path: Path) -> None:
    with start(project, "call", "noting.note", "number=1") as call:
        approval = waiting(project)
        bad = project.run("approvals", "allow", approval["id"], "--args", '["1"]')
        assert (bad.code, "must be an object" in bad.err) == (2, True)
        edited = json.dumps({"number": "7"})
        command = project.command("approvals", "allow", approval["id"], "--args", edited)
        assert decide(command, project.directory)[0] == 0
        call.communicate(timeout=WAIT)
    assert (tmp_path / "calls").read_text() == "7\n"


def test_an_unknown_approval_and_an_empty_list_are_told(project: Project) -> None:
    assert project.run("approvals", "list").err == "nothing waits\n"
    unknown = project.run("approvals", "show", "nope")
    assert (unknown.code, "unknown approval 'nope'" in unknown.err) == (2, True)


def test_a_person_agrees_and_resumes_in_one_command(project: Project, tmp_path: Path) -> None:
    (project.directory / "satchel.yaml").write_text(
        "approvals: { wait: 0s }\nagents: { default: { approve: [noting.note] } }\n"
    )
    (project.directory / "note.py").write_text('print(await call_mcp_tool("noting.count", {}))\n' + NOTE)
    stopped = project.run("run", "note.py", "--json")
    assert stopped.code == 6, stopped.err
    (waits,) = stopped.json["waiting"]
    command = project.command("approvals", "allow", waits["approval"], "--resume")
    code, said = decide(command, project.directory)
    assert (code, said.splitlines()[-2].endswith("done"), "resumed from" in said) == (0, True, True), said
    assert stopped.json["stdout"] in said  # the count of the first run, which is not asked for again
    assert (tmp_path / "calls").read_text() == "\u202e1\n2\n"


@pytest.mark.parametrize("is_sent", [False, True])
def test_a_program_whose_satchel_was_killed_is_resumed_unless_a_call_of_it_was_under_way(
    project: Project, tmp_path: Path, is_sent: bool
) -> None:
    (project.directory / "satchel.yaml").write_text(
        "approvals: { wait: 60s }\nagents: { default: { approve: [noting.note] } }\n"
    )
    slow = 'other = asyncio.create_task(call_mcp_tool("noting.sleep", {"seconds": 50}))\n'
    wait = "await asyncio.sleep(1)\n"  # the other one is begun before this one waits
    begins = "import asyncio\n" + (slow + wait if is_sent else "")
    (project.directory / "note.py").write_text(begins + NOTE)
    with start(project, "run", "note.py") as program:
        approval = waiting(project)
        os.kill(program.pid, signal.SIGKILL)
    code, said = decide(project.command("approvals", "allow", approval["id"], "--resume"), project.directory)
    if is_sent:
        assert (code, "noting.sleep was sent, and its outcome is not known" in said) == (2, True), said
        assert not (tmp_path / "calls").exists()
    else:
        assert (code, said.splitlines()[-2].endswith("done")) == (0, True), said
        assert (tmp_path / "calls").read_text() == "\u202e1\n2\n"
