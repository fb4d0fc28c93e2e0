"""docs: the pages of the documentation, from a checkout and from a wheel."""

import ast
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import satchel
from tests.projects import Project

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project", {})


def test_every_page_is_listed_with_a_line_about_it(project: Project) -> None:
    rows = [line.split(maxsplit=1) for line in project.run("docs").out.splitlines()]
    assert {row[0] for row in rows} == {page.stem for page in DOCS.glob("*.md")}
    assert all(len(row) == 2 and len(row[1]) > 10 for row in rows)
    assert rows[0][0] == "commands"


@pytest.mark.parametrize("name", ["programs", "docs/programs.md", "Programs"])
def test_a_page_is_shown_as_it_is(project: Project, name: str) -> None:
    assert project.run("docs", name).out == (DOCS / "programs.md").read_text()


def test_a_page_that_does_not_exist_gets_the_closest_name(project: Project) -> None:
    outcome = project.run("docs", "progams")
    assert outcome.code == 2
    assert outcome.err == "error: there is no page 'progams'\nhint: did you mean programs?\n"
    assert "there are commands, configuration, " in project.run("docs", "zzz").err


@pytest.mark.slow
def test_a_wheel_brings_the_pages(tmp_path: Path) -> None:
    """Run from the wheel itself, with nothing of the checkout."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        timeout=120,
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    shown = subprocess.run(
        [sys.executable, "-m", "satchel", "docs", "security"],
        cwd=tmp_path / "installed",  # the first place to import from
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (tmp_path / "installed/satchel/docs/security.md").is_file()
    assert shown.stdout == (DOCS / "security.md").read_text()


def test_messages_name_pages_as_the_command_shows_them() -> None:
    source = Path(satchel.__file__).parent
    named = [
        f"{file.relative_to(source)}: {text}"
        for file in source.rglob("*.py")
        for text in texts(ast.parse(file.read_text(encoding="utf-8")))
        if re.search(r"\bdocs/\w+\.md", text)
    ]
    assert not named, "an installed copy has no docs/; write satchel docs PAGE"


def texts(tree: ast.AST) -> Iterator[str]:
    """All texts but docstrings."""
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare:
            yield node.value
