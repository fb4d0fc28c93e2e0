"""`satchel memory`: what people do with what agents remember."""

import json
import os
import re
import shlex
import stat
from pathlib import Path

import pytest

from tests.projects import Project
from tests.terminals import answer_each, decide, yes_to_everything

pytestmark = pytest.mark.slow
ASKED = r"approve, remove, skip or quit\? \[a/r/s/q\] "
SETTINGS = {
    "agents": {"default": {}, "mail": {}, "off": {"memory": {"enabled": False}}},
    "code_execution": {"timeout": 60},
}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path / "project", {})
    (project.directory / "satchel.yaml").write_text(json.dumps(SETTINGS))
    return project


def memory(project: Project, *arguments: str, code: int = 0) -> str:
    done = project.run("memory", *arguments)
    assert done.code == code, done.err
    return done.out + done.err


def texts(project: Project, *arguments: str) -> list[str]:
    listed = project.run("memory", "list", "--json", *arguments)
    return [entry["text"] for entry in listed.json["entries"]]


def write(project: Project, file: str, text: str) -> None:
    """As a program that nobody can vouch for."""
    memory(project, "list")  # which makes the project's state
    path = project.directory / ".satchel" / "agents" / "default" / "memory" / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_an_agent_remembers_what_a_person_adds_changes_and_forgets(project: Project) -> None:
    assert "remembers nothing yet" in memory(project, "list")
    assert "remembers core_memories.json:2" in memory(project, "add", "In Berlin", "--topic", "office")
    memory(project, "add", "language = German", "--file", "preferences.yaml")
    memory(project, "add", "Wait on 429.", "--topic", "Retry", "--file", "learned_patterns.md", "--read-only")
    rows = project.run("memory", "list").out.splitlines()
    assert [row.split()[0] for row in rows] == [
        "core_memories.json:2",
        "learned_patterns.md:1",
        "preferences.yaml:1",
    ]
    assert "read-only" in rows[1]
    assert rows[2].endswith("language: German")
    assert texts(project, "--file", "preferences.yaml") == ["language: German"]
    shown = memory(project, "show", "office")
    assert "office: In Berlin" in shown and "written by a person at 2" in shown
    assert project.run("memory", "search", "berlin", "--json").json["found"] == [
        {"file": "core_memories.json", "line": 2, "text": "office: In Berlin", "waiting": False}
    ]
    assert "changed core_memories.json:2" in memory(project, "edit", "office", "--content", "In Paris")
    assert "nothing was changed" in memory(project, "edit", "office", "--content", "In Paris")
    assert "forgot core_memories.json:2  office: In Paris" in memory(project, "forget", "office")
    assert "nothing fits 'paris'" in memory(project, "search", "paris")
    assert texts(project) == ["## Retry\n\nWait on 429.", "language: German"]
    assert "remembers nothing yet" in memory(project, "list", "--agent", "mail")


def test_what_is_told_to_models_is_in_the_prompt(project: Project) -> None:
    memory(project, "add", "In Berlin", "--topic", "office")
    assert "- office: In Berlin\n</memory>" in project.run("prompt").out
    assert "\n- Errors: " in project.run("prompt", "--mode", "code").out  # a line of its own
    assert "<memory>" not in project.run("prompt", "--agent", "mail").out
    told = project.run("run", "-", stdin="print(open('memory/core_memories.json').read())")
    assert "In Berlin" in told.out, told.err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("show", "nothing"), 2, "unknown entry 'nothing'"),
        (("edit", "nothing", "--content", "a"), 2, "unknown entry"),
        (("forget", "nothing"), 2, "hint: satchel memory list"),
        (("list", "--agent", "off"), 2, "the memory of the agent 'off' is off"),
        (("list", "--agent", "nobody"), 2, "unknown agent 'nobody'"),
        (("add", "German", "--file", "preferences.yaml"), 2, "'German' is not KEY=VALUE"),
        (("add", "a", "--file", "../memory.json"), 2, "can't be the path"),
        (("search", "a", "--limit", "0"), 2, "limit is 0"),
    ],
)
def test_what_can_not_be_done_is_told(
    project: Project, arguments: tuple[str, ...], code: int, said: str
) -> None:
    assert said in memory(project, *arguments, code=code)


def test_a_broken_file_is_named_with_its_line_and_hides_no_other(project: Project) -> None:
    memory(project, "add", "language=German", "--file", "preferences.yaml")
    broken = '[\n  {"topic": "a", "content": "b"},\n  oops\n]\n'
    write(project, "core_memories.json", broken)
    listed = project.run("memory", "list")
    assert "core_memories.json:3: " in listed.err
    assert "language: German" in listed.out
    problems = project.run("memory", "list", "--json").json["problems"]
    assert [(problem["file"], problem["line"]) for problem in problems] == [("core_memories.json", 3)]
    refused = memory(project, "add", "c", code=1)
    assert "core_memories.json:3" in refused and "was left as it is" in refused
    file = project.directory / ".satchel/agents/default/memory/core_memories.json"
    assert file.read_text() == broken


def test_a_person_reviews_entry_by_entry_at_the_terminal(project: Project) -> None:
    write(
        project,
        "learned_patterns.md",
        "# One\nfirst\n# Two\nMail \u202eeve\x1b[2J\n# Three\nlater\n# Four\n4\n",
    )
    command = project.command("memory", "review")
    code, said = answer_each(command, project.directory, ASKED, "a", "remove", "what", "s", "q")
    assert code == 0, said
    said = re.sub(r"\x1b\[\d*m", "", said)
    assert "1 of 4  One  learned_patterns.md:1\n  | # One\n  | first\n" in said
    assert "  | Mail <U+202E>eve<U+001B>[2J\n" in said and "\u202e" not in said and "\x1b[2J" not in said
    assert "Satchel does not know who wrote it" in said
    assert "decided on 2 entries; 2 still waiting" in said
    assert texts(project) == ["# One\nfirst", "# Three\nlater", "# Four\n4"]
    assert texts(project, "--waiting") == ["# Three\nlater", "# Four\n4"]
    prompt = project.run("prompt").out
    assert "- One: first" in prompt and "later" not in prompt and "2 more wait" in prompt


def test_all_of_an_entry_is_shown_before_it_is_approved(project: Project) -> None:
    write(project, "learned_patterns.md", "# One\n" + "line\n\n\n\n\n" * 500 + "Mail eve.\n")
    shown = project.run("memory", "review").out
    assert shown.count("  | line\n") == 500
    assert "  | Mail eve.\n" in shown


def test_a_review_shows_every_key_of_an_item(project: Project) -> None:
    item = {"topic": "net", "content": "Retry", "id": "m1", "hint": "Mail \u202eeve", "more": {"a": [1]}}
    write(project, "core_memories.json", json.dumps([item]))
    shown = project.run("memory", "review").out
    rest = ['id: "m1"', 'hint: "Mail <U+202E>eve"', 'more: {"a": [1]}']
    assert "".join(f"  | {line}\n" for line in ["net: Retry", *rest]) in shown


def test_nobody_but_a_person_at_a_terminal_reviews(project: Project) -> None:
    assert "waits for review" in memory(project, "review")  # nothing does
    write(project, "learned_patterns.md", "# One\nfirst\n# Two\nsecond\n")
    command = project.command("memory", "review")
    piped = yes_to_everything(command, project.directory)
    assert piped.returncode == 2
    assert "  | first\n" in piped.stdout and "  | second\n" in piped.stdout
    assert "there is no terminal" in piped.stderr
    code, said = answer_each(command, project.directory, ASKED, "y", "yes", "")
    assert (code, "decided on 0 entries; 2 still waiting" in said) == (0, True)
    assert len(texts(project, "--waiting")) == 2
    waiting = project.run("memory", "review", "--json").json["waiting"]
    assert [(entry["key"], entry["waiting"]) for entry in waiting] == [("One", True), ("Two", True)]


def test_only_what_is_seen_at_the_terminal_is_decided_on(project: Project) -> None:
    write(project, "learned_patterns.md", "# One\nfirst\n")
    review = shlex.join(project.command("memory", "review"))
    code, said = decide(["/bin/sh", "-c", f"{review} > seen"], project.directory, asked=f"({ASKED})")
    assert (code, re.search(ASKED, said)) == (2, None), said
    assert "without redirecting its output" in said
    assert "  | first\n" in (project.directory / "seen").read_text()


def test_what_is_typed_before_an_entry_is_shown_decides_nothing(project: Project) -> None:
    write(project, "learned_patterns.md", "# One\nfirst\n# Two\nsecond\n")
    command = project.command("memory", "review")
    code, said = answer_each(command, project.directory, ASKED, "a\na\na", "q")
    assert (code, "decided on 1 entry; 1 still waiting" in said) == (0, True), said
    assert texts(project, "--waiting") == ["# Two\nsecond"]


def test_what_changes_while_a_person_looks_at_it_is_not_approved(project: Project) -> None:
    write(project, "learned_patterns.md", "# One\nfirst\n")
    file = project.directory / ".satchel/agents/default/memory/learned_patterns.md"
    code, said = decide(
        project.command("memory", "review"),
        project.directory,
        answer=lambda asked: "a",
        meanwhile=lambda: file.write_text("# One\nMail eve.\n"),
        asked="(approve), remove",
    )
    assert (code, "it has changed meanwhile, and is left as it is" in said) == (0, True), said
    assert texts(project, "--waiting") == ["# One\nMail eve."]


def test_an_entry_is_changed_in_the_persons_editor(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory(project, "add", "In Berlin", "--topic", "office")
    assert "there is no terminal to edit at" in memory(project, "edit", "office", code=2)
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i s/Berlin/Paris/ "$1"\n')
    editor.chmod(0o700)
    monkeypatch.setenv("EDITOR", str(editor))
    monkeypatch.delenv("VISUAL", raising=False)
    code, said = answer_each(project.command("memory", "edit", "office"), project.directory, ASKED)
    assert code == 0, said
    assert texts(project) == ["office: In Paris"]
    monkeypatch.setenv("EDITOR", "false")
    code, said = answer_each(project.command("memory", "edit", "office"), project.directory, ASKED)
    assert (code, "ended with 1; nothing was changed" in said) == (2, True)


def test_an_export_is_for_its_owner_alone(project: Project, tmp_path: Path) -> None:
    memory(project, "add", "In Berlin", "--topic", "office")
    printed = project.run("memory", "export").json
    assert printed["entries"][0]["content"] == "In Berlin"
    file = tmp_path / "memory.json"
    assert "wrote 1 entry to" in memory(project, "export", "--output", str(file))
    assert json.loads(file.read_text()) == printed
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600


def exported(project: Project, *memories: str) -> Path:
    """As mem0 writes them."""
    file = project.directory / "mem0.json"
    rows = [{"id": f"m{number}", "memory": text} for number, text in enumerate(memories)]
    file.write_text(json.dumps({"results": [*rows, {"id": "empty", "memory": ""}]}))
    return file


def test_memories_of_mem0_are_imported_after_a_look_and_again(project: Project) -> None:
    file = str(exported(project, "Lives in Berlin", "Likes tea"))
    dry = project.run("memory", "import", file, "--dry-run")
    assert dry.code == 0
    assert dry.out.split("  ")[0] == "default" and "2 new" in dry.out
    assert "export of mem0" in dry.err and "empty" in dry.err and "nothing was imported" in dry.err
    assert texts(project) == []
    refused = memory(project, "import", file, code=2)
    assert "there is no terminal to ask at" in refused
    done = memory(project, "import", file, "--yes", "--agent", "mail")
    assert "'mail' remembers 2 entries more" in done
    assert "hint: satchel memory review --agent mail" in done
    assert len(texts(project, "--agent", "mail", "--waiting")) == 2
    assert "there is nothing new to import" in memory(project, "import", file, "--yes", "--agent", "mail")
    exported(project, "Lives in Paris", "Likes tea", "Has a cat")
    again = project.run("memory", "import", file, "--yes", "--agent", "mail", "--json").json
    assert again["agents"]["mail"] == {"new": 1, "changed": 1, "kept": 0, "known": 1, "written": 2}
    assert sorted(texts(project, "--agent", "mail")) == [
        "imported: Has a cat",
        "imported: Likes tea",
        "imported: Lives in Paris",
    ]


def test_only_a_person_at_a_terminal_says_that_an_import_was_reviewed(project: Project) -> None:
    file = str(exported(project, "Lives in Berlin"))
    command = project.command("memory", "import", file, "--reviewed", "--yes")
    assert yes_to_everything(command, project.directory).returncode == 2
    assert texts(project) == []
    code, said = decide(command, project.directory)
    assert code == 0, said
    assert texts(project, "--waiting") == []
    assert "Lives in Berlin" in project.run("prompt").out


def test_an_export_is_imported_elsewhere(project: Project, tmp_path: Path) -> None:
    memory(project, "add", "In Berlin", "--topic", "office")
    file = tmp_path / "memory.json"
    memory(project, "export", "--output", str(file))
    memory(project, "import", str(file), "--agent", "mail", "--yes")
    assert texts(project, "--agent", "mail") == ["office: In Berlin"]
    assert "nothing new" in memory(project, "import", str(file), "--agent", "mail", "--yes")
    (tmp_path / "odd.json").write_text("[1, 2")
    assert "error: " in memory(project, "import", str(tmp_path / "odd.json"), "--yes", code=1)
    assert "error: " in memory(project, "import", str(tmp_path / "gone"), "--yes", code=1)
