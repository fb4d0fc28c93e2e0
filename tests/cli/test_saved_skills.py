"""satchel skills save, test, check and promote, as people use them."""

import json
from pathlib import Path

import pytest

from tests.projects import Outcome, Project
from tests.servers import raw

pytestmark = pytest.mark.slow
PROGRAM = """
from servers.good import echo

said = await echo(text="hello")
print(said.text)
result = {"said": said.text}
"""


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """What the server says that its tool `echo` does."""
    file = tmp_path / "text"
    file.write_text("Return the text.")
    return file


@pytest.fixture
def project(tmp_path: Path, text: Path) -> Project:
    return Project(tmp_path / "project", {"good": raw("rug_pull", text=text)})


def ran(project: Project, program: str = PROGRAM, *options: str) -> str:
    """The id of a program's execution."""
    done = project.run("run", "-", "--json", *options, stdin=program)
    assert done.code == 0, done.err
    return done.json["execution_id"]


def succeeded(outcome: Outcome) -> Outcome:
    assert outcome.code == 0, outcome.err
    return outcome


def saved(project: Project) -> Path:
    arguments = ("--name", "say_hello", "--description", "Says hello: to everybody.")
    succeeded(project.run("skills", "save", ran(project), *arguments))
    return project.directory / ".satchel/skills/default/say-hello"


def test_a_program_is_saved_from_the_journal_tested_and_given_to_all(project: Project) -> None:
    folder = saved(project)
    assert "async def say_hello():" in (folder / "say_hello.py").read_text()
    shown = succeeded(project.run("skills", "list", "--json")).json["skills"]
    assert [(skill["identity"], skill["enabled"]) for skill in shown] == [("default:say-hello", True)]
    use = "from skills.say_hello import say_hello\nresult = await say_hello()"
    done = succeeded(project.run("run", "-", "--json", stdin=use))
    assert done.json["result"] == {"said": "hello"}
    assert [call["tool"] for call in done.json["tools_called"]] == ["good__echo"]

    refused = project.run("skills", "promote", "say-hello")
    assert (refused.code, "not tested" in refused.err) == (2, True)
    tested = succeeded(project.run("skills", "test", "say_hello", "--record"))
    assert tested.out == "hello\n"
    assert "default:say-hello passed: 1 call" in tested.err
    recorded = succeeded(project.run("skills", "test", "say-hello", "--recorded", "--json"))
    assert (recorded.json["passed"], recorded.json["execution"]["result"]) == (True, {"said": "hello"})
    promoted = succeeded(project.run("skills", "promote", "say-hello"))
    assert "community:say-hello is enabled" in promoted.err
    shown = succeeded(project.run("skills", "list", "--json")).json["skills"]
    assert {skill["identity"] for skill in shown if skill["enabled"]} == {
        "default:say-hello",
        "community:say-hello",
    }
    lint = project.run("skills", "lint")
    assert lint.code == 0, lint.out + lint.err


def test_skills_whose_tools_changed_or_went_are_told(project: Project, text: Path) -> None:
    saved(project)
    fine = succeeded(project.run("skills", "check"))
    assert fine.out == "1 saved skill, all as they were saved\n"
    text.write_text("Return the text, and tell everybody.")
    succeeded(project.run("refresh"))
    changed = project.run("skills", "check")
    assert changed.code == 1
    assert "default:say-hello" in changed.out
    assert "good.echo  its definition has changed" in changed.out
    project.write({})
    gone = project.run("skills", "check", "--json")
    assert gone.code == 1
    assert gone.json == {
        "skills": [{"skill": "default:say-hello", "tools": 1, "findings": {"good.echo": "gone"}}]
    }


def test_what_can_not_be_saved_is_said_with_what_to_do(project: Project) -> None:
    execution = ran(project, "print(1)")
    for arguments, words in (
        (("nothing", "--name", "x", "--description", "x"), "unknown execution"),
        ((execution, "--name", "x"), "needs a description"),
        ((execution, "--name", "../x", "--description", "x"), "can't be the name"),
        ((execution, "--name", "servers", "--description", "x"), "taken"),
        ((execution, "--name", "x", "--description", "a <b>"), "'<' or '>'"),
        ((execution, "--name", "x", "--description", "x", "--agent", "nobody"), "unknown agent"),
    ):
        refused = project.run("skills", "save", *arguments)
        assert (refused.code, words in refused.err) == (2, True), refused.err
    shell = project.run("run", "-", "--language", "bash", "--json", stdin="true").json["execution_id"]
    refused = project.run("skills", "save", shell, "--name", "x", "--description", "x")
    assert "of the shell" in refused.err
    assert not (project.directory / "skills").exists()


def test_a_skill_of_another_agent_is_told_with_whose_it_is(project: Project) -> None:
    (project.directory / "satchel.yaml").write_text("agents: {writer: {}}\n")
    saved(project)
    refused = project.run("skills", "test", "say-hello", "--agent", "writer")
    assert refused.code == 2
    assert "error: unknown skill 'say-hello'\nhint: --agent default" in refused.err
    unknown = project.run("skills", "test", "zzz")
    assert "hint: satchel skills list --category default has" in unknown.err


def test_a_test_that_fails_is_no_test_passed(project: Project) -> None:
    folder = saved(project)
    example = folder / "tests/example.py"
    example.write_text(example.read_text() + "raise SystemExit(3)\n")
    failed = project.run("skills", "test", "say-hello")
    assert failed.code == 1
    assert "default:say-hello failed" in failed.err
    assert json.loads((folder / "tests/outcome.json").read_text())["passed"] is False
    assert "its last test failed" in project.run("skills", "promote", "say-hello").err
    example.unlink()
    none = project.run("skills", "test", "say-hello")
    assert "no example" in none.err
    unknown = project.run("skills", "test", "say-helo")
    assert "did you mean say-hello?" in unknown.err


def test_skills_of_all_agents_are_curated_with_uses_and_changed_tools(project: Project, text: Path) -> None:
    nothing = succeeded(project.run("skills", "curate"))
    assert (nothing.out, "the community has no skills" in nothing.err) == ("", True)
    saved(project)
    succeeded(project.run("skills", "test", "say-hello"))
    succeeded(project.run("skills", "promote", "say-hello"))
    folder = project.directory / ".satchel/skills/default/say-hello"
    succeeded(project.run("skills", "remove", "default:say-hello", "--yes"))
    assert not folder.exists()
    use = "from skills.community import say_hello\nresult = await say_hello()"
    succeeded(project.run("run", "-", stdin=use))
    text.write_text("Something else.")
    succeeded(project.run("refresh"))

    curated = succeeded(project.run("skills", "curate"))

    assert curated.out.split()[:4] == ["say-hello", "enabled", "2", "0"]
    assert "good.echo: its definition has changed" in curated.out
    assert "satchel skills remove community:NAME" in curated.err
    (skill,) = succeeded(project.run("skills", "curate", "--json")).json["skills"]
    assert (skill["skill"], skill["uses"], skill["failures"]) == ("community:say-hello", 2, 0)
    assert (skill["tested"], skill["saved_by"]) == (True, "default")
    assert skill["findings"] == {"good.echo": "changed"}
    succeeded(project.run("skills", "remove", "community:say-hello", "--yes"))
    assert succeeded(project.run("skills", "curate", "--json")).json["skills"] == []
