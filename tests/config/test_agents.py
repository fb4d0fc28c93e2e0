"""The settings of agents: names, and grants on each other's memory."""

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
