"""The settings of agents: names, and grants on each other's memory."""

import json
from pathlib import Path

import pytest

from satchel.config.agents import may_read
from satchel.config.settings import read_settings
from satchel.errors import ConfigError


def read(directory: Path, text: str):
    file = directory / "satchel.yaml"
    file.write_text(text)
    return read_settings(file)


def test_a_grant_on_the_memory_of_an_agent_that_does_not_exist_is_an_error_with_its_line(
    tmp_path: Path,
) -> None:
    with pytest.raises(ConfigError) as caught:
        read(
            tmp_path,
            "agents:\n  a:\n    memory:\n      allow_read_from:\n        - b\n        - deflaut\n  b: {}\n",
        )

    assert caught.value.line == 6
    assert "there is no agent 'deflaut'" in str(caught.value)
    assert "did you mean 'default'?" in (caught.value.hint or "")


def test_an_agent_needs_no_grant_on_its_own_memory(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is the agent itself"):
        read(tmp_path, "agents: {a: {memory: {allow_write_to: [a]}}}")


def test_who_may_write_may_read_too(tmp_path: Path) -> None:
    text = """
agents:
  supervisor: { memory: { allow_read_from: ["*"], allow_write_to: [a] } }
  a: { memory: { allow_read_from: [default] } }
  b: {}
"""
    agents = read(tmp_path, text).agents

    assert may_read(agents, "supervisor") == {"default": False, "a": True, "b": False}
    assert may_read(agents, "a") == {"default": False}
    assert may_read(agents, "b") == {}
    assert may_read(agents, "default") == {}


@pytest.mark.parametrize("key", ["allow", "deny", "approve", "universal_tools", "global_resources"])
@pytest.mark.parametrize(
    "pattern", ["", " drive.*", "drive.\x07", "!drive", "drive.{get,list}_*", "[a-z]*", "a|b"]
)
def test_text_that_is_not_a_pattern_is_an_error_with_its_line(tmp_path: Path, key: str, pattern: str) -> None:
    with pytest.raises(ConfigError, match="is not a pattern") as caught:
        read(tmp_path, f"agents:\n  a:\n    {key}:\n    - drive.*\n    - {json.dumps(pattern)}\n")

    assert caught.value.line == 5
    assert caught.value.key == f"agents.a.{key}.1"
    assert "server.tool" in (caught.value.hint or "")


def test_addresses_in_patterns_may_have_any_characters(tmp_path: Path) -> None:
    patterns = [
        "notes.resource:note://{id}",
        "notes.resource:file:///a[1]|b",
        "mcp__plugin_a_b__*",
        "destructive",
    ]
    agents = read(tmp_path, f"agents: {{a: {{deny: {json.dumps(patterns)}}}}}").agents

    assert agents["a"].deny == tuple(patterns)


@pytest.mark.parametrize("model", ["gpt-4o", "", ":gpt-4o", "openai:", "open ai:gpt"])
def test_a_model_without_a_provider_is_an_error_with_a_hint(tmp_path: Path, model: str) -> None:
    with pytest.raises(ConfigError, match="names no provider") as caught:
        read(tmp_path, f"agents:\n  a:\n    model: {json.dumps(model)}\n")

    assert caught.value.line == 3
    assert "write the provider before the model: openai:" in (caught.value.hint or "")


@pytest.mark.parametrize("limit", ["requests: -1", "tokens: 0", "cost: -0.5", "seconds: .inf"])
def test_limits_are_more_than_nothing(tmp_path: Path, limit: str) -> None:
    with pytest.raises(ConfigError, match="must") as caught:
        read(tmp_path, f"agents:\n  a:\n    limits:\n      {limit}\n")

    assert caught.value.line == 4
