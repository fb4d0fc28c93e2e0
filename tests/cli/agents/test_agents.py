"""satchel agents: listed, shown, added, cleared and removed from the command line."""

import json
import os
import re
import sys
from pathlib import Path

import pytest

from tests.projects import Project
from tests.terminals import decide

pytestmark = pytest.mark.slow

SETTINGS = """\
# Ours.
agents:
  supervisor:
    model: openai:gpt-4o
    approve: [destructive]
    memory: { allow_read_from: [worker] }  # all of it
  worker: { allow: ["good.*"], deny: ["good.add"] }
  alone: {}
"""
CODE = """
import os
open('/workspace/left', 'w').write('x' * 100_000)
open('/mnt/memory/facts.md', 'w').write('y')
print('done')
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path / "project", {})
    (project.directory / "satchel.yaml").write_text(SETTINGS)
    return project


def test_agents_are_listed_with_what_each_may_do(project: Project) -> None:
    assert project.run("run", "-", "--agent", "worker", stdin=CODE).code == 0

    listed = project.run("agents", "list")

    assert listed.code == 0, listed.err
    rows = {row.split()[0]: re.split(r"\s{2,}", row)[1:] for row in listed.out.splitlines()}
    assert rows["default"] == ["-", "everything", "on", "0 B", "none"]
    assert rows["supervisor"][:3] == ["openai:gpt-4o", "everything", "on, reads worker"]
    assert rows["worker"][1] == "good.* but good.add"
    assert re.fullmatch(r"\d+ KiB", rows["worker"][3])
    assert rows["worker"][5] == "exit 0"
    told = {agent["name"]: agent for agent in project.run("agents", "list", "--json").json["agents"]}
    assert told["supervisor"]["memory"] == {"enabled": True, "reads": ["worker"], "writes": []}
    assert told["worker"]["last_execution"]["ended"] == "exit 0"


def test_one_agent_is_shown_with_everything(project: Project) -> None:
    assert project.run("run", "-", "--agent", "supervisor", stdin=CODE).code == 0
    tasks = project.directory / ".satchel/agents/supervisor/tasks"
    (tasks / "completed_tasks").mkdir(parents=True, exist_ok=True)
    (tasks / "current_task.yaml").write_text("id: t1\ndescription: Write the report\n")
    (tasks / "completed_tasks/a.yaml").write_text("description: Read all\noutcome: It was much.\n")
    (tasks / "completed_tasks/b.yaml").write_text("description: [\x1b]52;evil")

    shown = project.run("agents", "show", "supervisor")

    assert shown.code == 0, shown.err
    told = [" ".join(line.split()) for line in shown.out.splitlines()]
    for line in (
        "supervisor",
        "may call *",
        "waits for approval destructive",
        "model openai:gpt-4o",
        "may read the memory of worker",
        "may be read by no other agent",
        "current Write the report",
        "done Read all It was much.",
    ):
        assert line in told, shown.out
    assert any(line.startswith("workspace ") and line.endswith("supervisor/workspace") for line in told)
    assert "exit 0" in told[-1]
    assert "completed_tasks/b.yaml:1 can't be read" in shown.err
    assert "\x1b" not in shown.out + shown.err
    whole = project.run("agents", "show", "supervisor", "--json").json
    assert whole["tasks"]["current"]["id"] == "t1"
    assert whole["settings"]["approve"] == ["destructive"]
    assert project.run("agents", "show", "worker", "--json").json["memory"]["read_by"] == {
        "supervisor": False
    }


def test_what_programs_write_as_tasks_can_not_pass_for_lines_of_ours(project: Project) -> None:
    assert project.run("run", "-", "--agent", "worker", stdin=CODE).code == 0
    tasks = project.directory / ".satchel/agents/worker/tasks"
    (tasks / "completed_tasks").mkdir(parents=True, exist_ok=True)
    evil = "x\n  may call  everything\x1b[2J"
    (tasks / "current_task.yaml").write_text(json.dumps({"description": evil, "started_at": evil}))
    values = {"status": evil, "outcome": evil, "ended_at": evil, "id": evil}
    (tasks / "completed_tasks/a.yaml").write_text(json.dumps(values))
    for name in (b"b\n  may call  everything.yaml", b"c\xff.yaml"):
        (Path(os.fsdecode(bytes(tasks / "completed_tasks") + b"/" + name))).write_text("[")

    shown = project.run("agents", "show", "worker")

    assert shown.code == 0, shown.err
    assert "may call  everything" not in "\n".join(
        line for line in (shown.out + shown.err).splitlines() if line.startswith("  may call")
    )
    assert "\x1b" not in shown.out + shown.err
    assert len(project.run("agents", "show", "worker", "--json").json["tasks"]["problems"]) == 2


def test_a_name_that_is_nearly_right_is_suggested(project: Project) -> None:
    for command in ("show", "clear-workspace", "remove"):
        refused = project.run("agents", command, "wroker")
        assert refused.code == 2
        assert "unknown agent 'wroker'" in refused.err
        assert "did you mean worker?" in refused.err


def test_an_agent_is_added_and_removed_and_comments_stay(project: Project) -> None:
    file = project.directory / "satchel.yaml"
    values = ("--model", "anthropic:claude", "--allow", "a.*", "--allow", "b", "--deny", "a.x")
    added = project.run("agents", "add", "new", *values, "--instructions", "Be kind.")

    assert added.code == 0, added.err
    assert "it may call a.*, b but a.x" in added.err
    assert file.read_text() == SETTINGS + (
        "  new:\n    model: anthropic:claude\n"
        '    allow: ["a.*", "b"]\n    deny: ["a.x"]\n    instructions: "Be kind."\n'
    )
    assert project.run("agents", "add", "new").code == 2
    token = project.run("token", "new").out
    removed = project.run("agents", "remove", "new", "--yes")
    assert removed.code == 0, removed.err
    assert "its token is void" in removed.err
    assert file.read_text() == SETTINGS
    assert project.run("agents", "add", "new").code == 0
    assert project.run("token", "new").out != token


def test_where_it_can_not_be_added_the_lines_are_told(project: Project) -> None:
    file = project.directory / "satchel.yaml"
    file.write_text("agents:\n- id: a\n")

    refused = project.run("agents", "add", "new", "--allow", "a.*")

    assert refused.code == 2
    assert '- id: new\n    allow: ["a.*"]' in refused.err
    assert file.read_text() == "agents:\n- id: a\n"


def test_files_go_only_after_a_yes(project: Project) -> None:
    assert project.run("run", "-", "--agent", "alone", stdin=CODE).code == 0
    own = project.directory / ".satchel/agents/alone"

    refused = project.run("agents", "remove", "alone", stdin="y\n")
    assert refused.code == 2
    assert "there is no terminal to ask at" in refused.err
    assert (own / "workspace/left").exists()
    assert (project.directory / "satchel.yaml").read_text() == SETTINGS

    command = [sys.executable, "-m", "satchel", "agents"]
    code, said = decide(
        [*command, "clear-workspace", "alone"], project.directory, lambda _: "n", asked=r"\((\d+ KiB)\)\? "
    )
    assert code == 2, said
    code, said = decide(
        [*command, "clear-workspace", "alone"], project.directory, lambda _: "y", asked=r"\((\d+ KiB)\)\? "
    )
    assert code == 0, said
    assert not (own / "workspace/left").exists()
    assert (own / "memory/facts.md").exists()

    code, said = decide(
        [*command, "remove", "alone"], project.directory, lambda _: "y", asked=r"remove the agent '(\w+)'\?"
    )
    assert code == 0, said
    assert "kept; --memory removes it as well" in said
    assert (own / "memory/facts.md").exists()
    left = project.run("agents", "list")
    assert "no longer names alone" in left.err
    assert project.run("agents", "remove", "alone", "--memory", "--yes").code == 0
    assert not own.exists()


def test_an_agent_that_others_read_is_not_removed(project: Project) -> None:
    refused = project.run("agents", "remove", "worker", "--yes")

    assert refused.code == 2
    assert "satchel.yaml:6: agents.supervisor.memory.allow_read_from" in refused.err
    assert project.run("agents", "remove", "default", "--yes").code == 2
    assert (project.directory / "satchel.yaml").read_text() == SETTINGS


@pytest.mark.parametrize("line", ["satchel agents show ", "satchel run --agent ", "satchel token "])
def test_shells_complete_the_names_of_agents(project: Project, line: str, tmp_path: Path) -> None:
    done = tmp_path / "completions"
    environment = {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(done),
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
    }
    project.run_anew(environment=environment)
    assert {"default", "supervisor", "worker", "alone"} <= {
        name.strip() for name in done.read_text().split("\n")
    }
