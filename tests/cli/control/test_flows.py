"""`satchel flows`: the rules, why one decides, and what files carry on."""

import sys
from pathlib import Path

import pytest

from satchel.library.memory.traces import trace
from satchel.model import Source
from tests.projects import Project
from tests.servers import raw
from tests.terminals import decide

pytestmark = pytest.mark.slow
SETTINGS = """
trusted: [crm]
flows:
  sensitive: [crm]
  rules:
    - { from: sensitive, to: untrusted, then: deny }
    - { from: [crm, nowhere.get_*], to: slack, then: ask }
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path / "project", {"crm": raw("good"), "slack": raw("good")})
    (project.directory / "satchel.yaml").write_text(SETTINGS)
    return project


def test_rules_are_listed_with_what_files_may_carry_on(project: Project) -> None:
    own = project.directory / ".satchel" / "agents" / "default"
    trace(own, "workspace", [Source(server="crm", what="echo", labels=frozenset({"sensitive"}))])
    said = project.run("flows", "list")
    assert said.code == 0, said.err
    assert "flows.rules[1]" in said.out and "crm, nowhere.get_*" in said.out
    assert "workspace of agent default may carry" in said.out and "crm.echo" in said.out
    listed = project.run("flows", "list", "--json").json
    assert listed["rules"][0] == {
        "name": "flows.rules[0]",
        "from": ["sensitive"],
        "to": ["untrusted"],
        "then": "deny",
        "same_server": False,
    }
    assert listed["files"] == {"workspace": [{"name": "crm.echo", "labels": ["sensitive"]}]}


def test_without_rules_a_hint_leads_to_examples(project: Project) -> None:
    (project.directory / "satchel.yaml").write_text("{}")
    said = project.run("flows", "list")
    assert said.code == 0 and "satchel docs flows" in said.err


def test_the_rule_that_decides_is_named_and_so_are_the_others(project: Project) -> None:
    assert project.run("refresh").code == 0
    said = project.run("flows", "check", "crm.echo", "slack.echo")
    assert said.code == 0, said.err
    assert "deny: flows.rules[0] decides (sensitive -> untrusted: deny)" in said.out
    assert "flows.rules[1] fits as well" in said.out
    answer = project.run("flows", "check", "slack", "crm.echo", "--json").json
    assert (answer["then"], answer["matches"], answer["source_labels"]) == ("allow", [], ["untrusted"])
    assert "no rule fits" in project.run("flows", "check", "slack.echo", "crm.echo").out
    unknown = project.run("flows", "check", "crm.ecko", "slack.echo")
    assert unknown.code == 2 and "crm.echo" in unknown.err


def test_a_pattern_that_fits_nothing_is_named_by_doctor(project: Project) -> None:
    said = project.run("doctor")
    assert "flows.rules[1].from: 'nowhere.get_*' fits no tool" in said.out + said.err


def test_only_a_person_at_a_terminal_clears_what_files_carry_on(project: Project) -> None:
    own = project.directory / ".satchel" / "agents" / "default"
    trace(own, "memory", [Source(server="crm", what="echo")])
    command = [sys.executable, "-m", "satchel", "flows", "clear"]
    said = project.run("flows", "clear", stdin="yes\n" * 100)
    assert said.code == 2 and "no terminal" in said.err
    code, _ = decide(command, project.directory, answer=lambda code: "yes")
    assert code == 2 and project.run("flows", "list", "--json").json["files"]
    code, shown = decide(command, project.directory)
    assert code == 0 and "memory: crm.echo" in shown
    assert not project.run("flows", "list", "--json").json["files"]
    assert project.run("flows", "clear").code == 0
