"""What the JSON files of a skill package say, and what can't be used of them."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from satchel.library.skills.packages import is_package, package_of
from satchel.model import Package, PackagePart, Skill
from tests.library.skill_files import make_skill


def skill(folder: Path) -> Skill:
    make_skill(folder)
    return Skill(
        name="demo", folder=folder, file=folder / "SKILL.md", category="public", relative=folder.name
    )


def read(folder: Path, **files: Any) -> Package:
    made = skill(folder)
    for name, content in files.items():
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / f"{name}.json").write_text(text)
    package = package_of(made)
    assert package is not None
    return package


def names(parts: tuple[PackagePart, ...]) -> list[str]:
    return [part.label for part in parts]


def test_a_skill_without_such_a_file_is_no_package(tmp_path: Path) -> None:
    plain = skill(tmp_path / "demo")
    assert not is_package(plain) and package_of(plain) is None


def test_each_of_the_three_files_makes_a_package(tmp_path: Path) -> None:
    for kind in ("tools", "resources", "prompts"):
        assert read(tmp_path / kind, **{kind: []}) == Package()


@pytest.mark.parametrize(
    "written",
    [
        ["plan", "lake.drop"],
        {"tools": ["plan", "lake.drop"]},
        [{"name": "plan", "inputSchema": {}}, {"name": "drop", "server": "lake"}],
        [{"type": "function", "function": {"name": "plan"}}, {"name": "lake.drop"}],
    ],
)
def test_tools_are_read_in_every_form_that_people_write(tmp_path: Path, written: Any) -> None:
    assert names(read(tmp_path / "demo", tools=written).tools) == ["plan", "lake.drop"]


def test_resources_are_known_by_their_addresses(tmp_path: Path) -> None:
    package = read(
        tmp_path / "demo", resources=[{"uri": "memo://a", "name": "A"}, {"uriTemplate": "memo://{b}"}]
    )
    assert names(package.resources) == ["memo://a", "memo://{b}"]


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ('["plan",', "tools.json:1: not valid JSON"),
        ('{"name": "plan"}', "tools.json: it has to be a list"),
        ('["plan", {"title": "x"}]', "tools.json: entry 2 has no 'name'"),
        ('["plan", 5]', "tools.json: entry 2 has no 'name'"),
        ("[" * 100_000, "tools.json: not valid JSON"),
        ("[" + "9" * 10_000 + "]", "tools.json: not valid JSON"),
        ('["' + "x" * 300_000 + '"]', "tools.json: more than 256 KiB"),
        (json.dumps([f"t{number}" for number in range(201)]), "only the first 200 of 201"),
        ('["a\\u0000b"]', "tools.json: entry 1 has no 'name'"),
    ],
)
def test_what_cannot_be_used_is_named_and_costs_only_itself(
    tmp_path: Path, written: str, problem: str
) -> None:
    package = read(tmp_path / "demo", tools=written, resources=[{"uri": "memo://a"}])
    assert any(problem in each for each in package.problems), package.problems
    assert names(package.resources) == ["memo://a"]


def test_a_file_that_is_not_text_is_named(tmp_path: Path) -> None:
    made = skill(tmp_path / "demo")
    (made.folder / "tools.json").write_bytes(b'["\xff"]')
    package = package_of(made)
    assert package is not None and package.problems == ("tools.json: not UTF-8",)


def test_no_link_is_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text('["stolen"]')
    made = skill(tmp_path / "demo")
    (made.folder / "tools.json").symlink_to(secret)
    assert not is_package(made)
    os.link(secret, made.folder / "resources.json")
    package = package_of(made)
    assert package is not None and package.resources == () and "hard link" in package.problems[0]
