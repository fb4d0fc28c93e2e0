"""What people do with an agent's files: one search over tools, skills and memory, and a clean workspace."""

import re
from pathlib import Path

import pytest

from tests.library.skill_files import make_skill
from tests.projects import Project
from tests.servers import raw

pytestmark = pytest.mark.slow


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path / "project", {"good": raw("good")})
    (project.directory / "satchel.yaml").write_text("agents: {reader: {}}\n")
    make_skill(project.directory / "skills/public/invoices", description="Writes an invoice for an order.")
    code = "open('/mnt/memory/facts.md', 'w').write('The invoice of Meridian is late.')\nopen('left', 'w')"
    for agent in ("default", "reader"):
        done = project.run("run", "-", "--agent", agent, stdin=code)
        assert done.code == 0, done.err
    return project


def test_one_search_finds_skills_and_memory_and_tools(project: Project) -> None:
    found = project.run("search", "invoice", "--in", "skills,memory", "--json").json["found"]
    assert {(row["kind"], row["path"]) for row in found} == {
        ("skill", "/mnt/skills/public/invoices/SKILL.md"),
        ("memory", "/mnt/memory/facts.md"),
    }
    only = project.run("search", "invoice", "--in", "memory", "--agent", "reader")
    row = "memory  /mnt/memory/facts.md:1  The invoice of Meridian is late.\n"
    assert only.out == row
    everything = project.run("search", "echo", "the", "text", "--in", "tools,skills,memory", "--json").json
    assert everything["found"][0]["kind"] == "tool"
    nothing = project.run("search", "zebra", "--in", "memory")
    assert (nothing.code, nothing.out) == (0, "")
    assert "nothing fits" in nothing.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("x", "--in", "tool"), "--in does not know 'tool'"),
        (("--in", "memory"), "--in needs a query"),
        (("x", "--in", "memory", "--server", "good"), "are for searches of tools alone"),
    ],
)
def test_what_a_search_in_kinds_does_not_know_is_told(
    project: Project, arguments: tuple[str, ...], told: str
) -> None:
    refused = project.run("search", *arguments)
    assert refused.code == 2
    assert told in refused.err
    assert "hint: " in refused.err


def test_a_workspace_is_cleared_after_a_yes_for_one_agent(project: Project) -> None:
    agents = project.directory / ".satchel/agents"
    refused = project.run("agents", "clear-workspace", "default")
    assert refused.code == 2
    assert (agents / "default/workspace/left").exists()
    cleared = project.run("agents", "clear-workspace", "default", "--yes")
    assert cleared.code == 0, cleared.err
    assert not (agents / "default/workspace/left").exists()
    assert (agents / "default/memory/facts.md").exists()
    assert (agents / "reader/workspace/left").exists()
    assert project.run("sh", "ls").out.split() == ["agents", "memory", "servers", "skills", "tasks", "tools"]
    assert project.run("agents", "clear-workspace", "nobody", "--yes").code != 0


def test_the_hint_of_a_workspace_that_is_far_too_full_empties_it(project: Project) -> None:
    (project.directory / "satchel.yaml").write_text("code_execution: {sandbox: {disk_mb: 1}}\n")
    left = project.directory / ".satchel/agents/default/workspace/large"
    left.write_bytes(bytes(3 << 20))
    refused = project.run("run", "-", stdin="print(1)")
    assert refused.code != 0
    remedy = re.search(r"hint: .* or run satchel (agents clear-workspace default)\n", refused.err)
    assert remedy, refused.err
    assert project.run(*remedy[1].split(), "--yes").code == 0
    assert not left.exists()
    assert project.run("run", "-", stdin="print(1)").out == "1\n"
