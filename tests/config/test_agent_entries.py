"""Agents are added to satchel.yaml and removed from it by lines; nothing else of the file changes."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from satchel.config import Paths, find_paths
from satchel.config.agent_entries import add_agent, remove_agent
from satchel.config.settings import read_settings
from satchel.errors import ArgumentError, ConfigError, ConflictError

# Each with what stands before and after the lines of a new agent.
LAYOUTS = [
    ("", ""),
    ("# only a comment\n", ""),
    ("mode: code\n", ""),
    ("agents:\n  a: {}\n", ""),
    ("agents:\n  a: {}\n", "\n# about the mode\nmode: code\n"),
    ("agents:\n    a:\n        allow: [x]   # all of x\n        # of a\n    # at the end\n", "# below\n"),
    ("agents: # mine\n  'a': &same {allow: [x]}\n  b: *same\n", "mode: code\n"),
    ("agents:\r\n  a: {}\r\n", "mode: code\r\n"),
    ("\ufeffagents:\n  a: {}\n", ""),
    ("massgen:\n  agents:\n    a: {}\n", "  execution_mode: code\n"),
    ("agents:\n  a:\n    instructions: |\n      # not a comment\n\n      the end\n", "\nmode: code\n"),
]
VALUES = {"model": "openai:gpt-4o", "deny": ('a"b.*', "c"), "instructions": "Be kind.\nÄ: #1"}


def paths_of(directory: Path, text: str | None) -> Paths:
    if text is not None:
        (directory / "satchel.yaml").write_bytes(text.encode())
    return find_paths(config=directory, environment={"HOME": str(directory)})


@pytest.mark.parametrize(("before", "after"), LAYOUTS)
def test_an_agent_is_added_by_lines_and_removed_by_the_same(tmp_path: Path, before: str, after: str) -> None:
    file = tmp_path / "satchel.yaml"
    paths = paths_of(tmp_path, before + after)
    known = {name for name in read_settings(file).agents if name != "default"}

    added = add_agent(paths, "worker.1", VALUES)

    text = file.read_bytes().decode()
    assert text.startswith(before)
    assert text.endswith(after)
    assert (added.model, added.deny, added.instructions) == tuple(VALUES.values())
    settings = read_settings(file)
    assert settings.agents["worker.1"] == added
    assert set(settings.agents) == {*known, "worker.1"}

    assert remove_agent(paths, "worker.1")
    assert file.read_bytes() == (before + after).encode()


def test_a_project_without_settings_gets_a_file(tmp_path: Path) -> None:
    add_agent(paths_of(tmp_path, None), "on", {})

    assert (tmp_path / "satchel.yaml").read_text() == 'agents:\n  "on": {}\n'
    assert "on" in read_settings(tmp_path / "satchel.yaml").agents


@pytest.mark.parametrize(
    ("text", "reason", "shown"),
    [
        ("agents: {a: {}}\n", "'agents' is written in braces", "w:\n  model: x:y"),
        ("agents:\n- id: a\n", "'agents' is a list", "- id: w\n  model: x:y"),
        ("{mode: code}\n", "the file is written in braces", "w:\n  model: x:y"),
        ("clients: &a {}\nagents: *a\n", "'agents' is an alias", "w:\n  model: x:y"),
        ("mode: code\n...\n", "its lines can't be told apart", "w:\n  model: x:y"),
        ("agents:\n  a:\n    instructions: |+\n      x\n\n", "its lines can't be told apart", "w:\n  model"),
    ],
)
def test_where_lines_are_not_enough_the_file_stays_and_the_lines_to_write_are_told(
    tmp_path: Path, text: str, reason: str, shown: str
) -> None:
    with pytest.raises(ArgumentError) as caught:
        add_agent(paths_of(tmp_path, text), "w", {"model": "x:y"})

    assert f"because {reason}" in caught.value.message
    assert caught.value.message.split("yourself:\n")[1].startswith(shown)
    assert (tmp_path / "satchel.yaml").read_text() == text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("mode: code\nagents: {a: {}}\n", "satchel.yaml:2: "),
        ("agents:\n- id: b\n- id: a\n", "satchel.yaml:3: "),
        ("agents:\n  ? a\n  : {}\n  ? b\n  : {}\n", "satchel.yaml:2: "),
        ("agents:\n  a: &same {}\n  b: *same\n", "satchel.yaml:2: "),
    ],
)
def test_an_agent_that_can_not_be_removed_by_lines_is_told_with_its_line(
    tmp_path: Path, text: str, told: str
) -> None:
    with pytest.raises(ArgumentError, match="can't be removed") as caught:
        remove_agent(paths_of(tmp_path, text), "a")

    assert caught.value.message.startswith(told)
    assert (tmp_path / "satchel.yaml").read_text() == text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("agents:\n  a: {}\n  # of b\n  b: {}\n", "agents:\n  # of b\n  b: {}\n"),
        (
            "agents:\n  b: {}\n\n  a:\n    deny: [x]\n    # of a\n\nmode: code\n",
            "agents:\n  b: {}\n\n\nmode: code\n",
        ),
        ("mode: code\n\nagents:\n  a: {}\n", "mode: code\n"),
        ("massgen:\n  agents:\n    a: {}\n", "massgen:\n"),
    ],
)
def test_an_agent_is_removed_with_its_own_lines_only(tmp_path: Path, text: str, left: str) -> None:
    assert remove_agent(paths_of(tmp_path, text), "a")

    assert (tmp_path / "satchel.yaml").read_text() == left


def test_an_agent_that_is_there_is_not_added_again_and_one_that_is_not_is_not_removed(tmp_path: Path) -> None:
    paths = paths_of(tmp_path, "agents: [{id: a}]\n")

    with pytest.raises(ConflictError, match="has an agent 'a' already"):
        add_agent(paths, "a", {})
    assert not remove_agent(paths, "b")


def test_what_the_settings_would_refuse_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    paths = paths_of(tmp_path, "agents: {}\n")
    with pytest.raises(ArgumentError, match="can't be that of a directory"):
        add_agent(paths, "..", {})  # nor is a person told to write it

    paths = paths_of(tmp_path, "mode: code\n")
    with pytest.raises(ArgumentError, match="names no provider"):
        add_agent(paths, "a", {"model": "gpt-4o"})
    with pytest.raises(ArgumentError, match="can't be that of a directory"):
        add_agent(paths, "../a", {})
    assert (tmp_path / "satchel.yaml").read_text() == "mode: code\n"


def test_a_file_that_can_not_be_used_is_not_written_to(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"satchel\.yaml:1: .*mdoe"):
        add_agent(paths_of(tmp_path, "mdoe: code\n"), "a", {})
    assert (tmp_path / "satchel.yaml").read_text() == "mdoe: code\n"


def test_a_file_behind_a_link_is_written_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/mine.yaml").write_text("mode: code\n")
    (tmp_path / "satchel.yaml").symlink_to("kept/mine.yaml")

    add_agent(paths_of(tmp_path, None), "a", {})

    assert (tmp_path / "satchel.yaml").is_symlink()
    assert (tmp_path / "kept/mine.yaml").read_text() == "mode: code\n\nagents:\n  a: {}\n"


def test_many_that_add_agents_at_once_lose_none(tmp_path: Path) -> None:
    paths = paths_of(tmp_path, "# ours\nmode: code\n")
    names = [f"agent_{number}" for number in range(16)]

    def add(name: str) -> None:
        add_agent(paths, name, {"allow": ("x.*",)})

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(add, names))

    assert set(read_settings(tmp_path / "satchel.yaml").agents) == set(names)
    assert (tmp_path / "satchel.yaml").read_text().startswith("# ours\nmode: code\n")
