"""The snippets of docs/ that tests/test_docs.py leaves: each is run or read, and shows what comes."""

import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from satchel.config.settings import Settings, read_settings
from tests.projects import Project
from tests.servers import raw
from tests.terminals import answer_each
from tests.test_docs import DOCS, blocks, run_in_shell, session
from tests.test_docs import examples as examples  # a fixture

KNOWN = {
    "agents": {"console": 2, "json": 2, "markdown": 1, "python": 3},
    "configuration": {"json": 1},
    "connecting": {"console": 1, "toml": 1},
    "plugins": {"console": 1, "json": 1, "python": 1},
    "privacy": {"python": 1},  # tests/verbs/privacy/test_boundary.py
    "programs": {"python": 5, "ts": 1},
    "python": {"python": 5},
    "search": {"console": 1, "python": 1},
    "serving": {"jinja": 1},
    "skills": {"console": 2, "json": 1, "python": 2},
    "wrappers": {"python": 2, "ts": 2},
}
"""The blocks of code that a test runs or reads, here, in test_docs.py or beside their subject.

Blocks of YAML need no row: they are settings, and are all read."""
ON_CONDITION = {"unusable.json", "get_document.md", "everything", "tools/"}  # in the picture of the tree
TIMES = r"\b\d{4}-\d\d-\d\d[ T][\d:+]+"


def test_every_block_of_code_in_the_docs_is_known_to_a_test() -> None:
    found = {
        page.stem: dict(Counter(re.findall(r"^```(?!yaml$)(\w+)$", page.read_text(), re.MULTILINE)))
        for page in sorted(DOCS.glob("*.md"))
    }
    assert {page: kinds for page, kinds in found.items() if kinds} == KNOWN


@pytest.mark.parametrize(
    "page", [page.stem for page in sorted(DOCS.glob("*.md")) if "\n```yaml\n" in page.read_text()]
)
def test_the_settings_in_the_docs_are_read_as_they_stand(page: str, tmp_path: Path) -> None:
    fields = set(vars(Settings()))
    for number, block in enumerate(blocks(f"docs/{page}.md", "yaml")):
        if not set(yaml.safe_load(block)) <= fields:
            assert block.startswith("editor:")  # a file of preferences
            continue
        file = tmp_path / f"{number}.yaml"
        file.write_text(block)
        assert read_settings(file)


@pytest.mark.slow
def test_what_agents_list_and_memory_review_show_is_in_the_page_on_agents(tmp_path: Path) -> None:
    listed, reviewed = (output for _, output in session(DOCS.joinpath("agents.md").read_text()))
    project = Project(tmp_path / "project", {"github": raw("good")})
    agents = {
        "supervisor": {"memory": {"allow_read_from": ["worker_a"]}},
        "worker_a": {"model": "openai:gpt-4o", "allow": ["github.*"], "deny": ["github.delete_*"]},
    }
    (project.directory / "satchel.yaml").write_text(json.dumps({"agents": agents}))
    project.run("memory", "add", "Ask for half.", "--topic", "Limits", "--file", "learned_patterns.md")
    program = """
        from servers.github import echo
        await echo(text="a stranger's words")
        with open("memory/learned_patterns.md", "a") as stream:
            stream.write("\\n## Retry\\n\\nWait a minute on 429.\\n\\n## More\\n\\nRead this.\\n")
    """
    for agent in ("worker_a", "default"):
        done = project.run(
            "run", "--agent", agent, "-", stdin=re.sub("^ {8}", "", program, flags=re.MULTILINE)
        )
        assert done.code == 0, done.err

    def plain(text: str) -> list[str]:
        text = re.sub(r"[\d.]+ (B|KiB|MiB)\b", "SIZE", re.sub(TIMES, "TIME", text))
        text = re.sub(r"\b[0-9a-f]{12}\b", "ID", text)
        text = re.sub(r"learned_patterns.md:\d+", "LINE", text.replace("github.get_issue", "github.echo"))
        return [" ".join(line.split()) for line in re.sub(r"\x1b\[\d*m", "", text).splitlines()]

    assert plain(project.run("agents", "list").out) == plain(listed)
    program_and_words = [str(Path(sys.executable).with_name("satchel")), "memory", "review"]
    _, said = answer_each(program_and_words, project.directory, r"\[a/r/s/q\] ", "a", "q")
    assert " ".join(plain(said)).startswith(" ".join(plain(reviewed)))  # a narrow terminal has more lines


@pytest.mark.slow
def test_programs_read_and_write_memories_as_the_page_on_agents_has_it(tmp_path: Path) -> None:
    page = "docs/agents.md"
    history, replacing, _ = blocks(page, "python")
    granting = next(block for block in blocks(page, "yaml") if "writer:" in block)
    project = Project(tmp_path / "project", {})
    (project.directory / "satchel.yaml").write_text(granting)
    project.run("run", "--agent", "writer", "-", stdin="")
    project.run("run", "--agent", "researcher", "-", stdin="")
    core, tasks = blocks(page, "json")
    (preferences,) = (block for block in blocks(page, "yaml") if block.startswith("editor:"))
    state = project.directory / ".satchel/agents"
    for agent, name, text in (
        ("writer", "core_memories.json", core),
        ("writer", "task_history.json", tasks.replace("the reports", "the website")),
        ("writer", "preferences.yaml", preferences),
        ("researcher", "learned_patterns.md", blocks(page, "markdown")[0]),
    ):
        (state / agent / "memory" / name).write_text(text)

    done = project.run(
        "run", "--agent", "writer", "-", stdin=f"{history}\nprint(len(similar), patterns)\n{replacing}"
    )

    assert done.code == 0, done.err
    assert done.out.startswith("1 ## Rate limits")
    entries: list[dict[str, Any]] = project.run("memory", "list", "--agent", "writer", "--json").json[
        "entries"
    ]
    assert len(entries) == 5  # two facts, a task and two preferences
    assert sum("Releases go out on Mondays." in entry["text"] for entry in entries) == 2


@pytest.mark.e2e
def test_the_snippets_of_the_page_on_searching_work(examples: Path) -> None:
    (examples / "program.py").write_text(blocks("docs/search.md", "python")[0])
    done = run_in_shell(examples, "satchel run program.py")
    assert (done.returncode, done.stdout) == (0, "slack__post_message\n"), done.stderr
    github = {"command": "x", "env": {"GITHUB_TOKEN": "${GITHUB_TOKEN}"}}
    (examples / "extensions_config.json").write_text(json.dumps({"mcpServers": {"github": github}}))
    ((command, output),) = session((DOCS / "search.md").read_text())
    shown = run_in_shell(examples, f"env -u GITHUB_TOKEN {command}")
    assert shown.stdout + shown.stderr == output


@pytest.mark.e2e
def test_the_snippets_of_the_page_on_plugins_work(tmp_path: Path) -> None:
    project = Project(tmp_path / "project", {})
    sales = project.directory / "plugins/installed/sales"
    for file, text in (
        (".claude-plugin/plugin.json", '{"name": "sales", "version": "1.2.0"}'),
        (
            "commands/call-prep.md",
            "---\ndescription: Prepares a call.\n---\n\nPrepare the call with $ARGUMENTS.\n",
        ),
    ):
        (sales / file).parent.mkdir(parents=True, exist_ok=True)
        (sales / file).write_text(text)
    (project.directory / "program.py").write_text(blocks("docs/plugins.md", "python")[0])
    done = run_in_shell(project.directory, f"{sys.executable} program.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "sales 1.2.0 0 1 []"
    assert "Prepare the call with Acme Corp." in done.stdout

    project.file.write_text(blocks("docs/plugins.md", "json")[0])
    assert "disabled" in project.run("plugins", "list").out


@pytest.mark.e2e
def test_the_template_in_the_page_on_serving_adds_a_rule(tmp_path: Path) -> None:
    project = Project(tmp_path / "project", {"good": raw("good")})
    project.run("refresh")
    templates = project.directory / "templates"
    templates.mkdir()
    (templates / "code_execution_system.jinja").write_text(blocks("docs/serving.md", "jinja")[0])
    (project.directory / "satchel.yaml").write_text("mode: code\n")
    assert "- Write amounts of money with two decimals." in project.run("prompt").out


@pytest.mark.e2e
def test_the_generated_tree_is_as_the_page_on_wrappers_shows_it(examples: Path) -> None:
    run_in_shell(examples, "satchel generate")
    picture = re.findall(r"^      (\S+)", (DOCS / "wrappers.md").read_text().split("\n\n")[2], re.MULTILINE)
    assert len(picture) > 12
    expected = [path for path in picture if not any(part in path for part in ON_CONDITION)]
    assert [path for path in expected if not (examples / ".satchel/code-api/python" / path).exists()] == []
