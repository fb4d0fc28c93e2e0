"""What programs are shown of memories, by the settings."""

import os
from pathlib import Path

import pytest

from satchel.config import Configuration, find_paths, read_configuration
from satchel.sandbox.sandbox import OtherMemory, Shown
from satchel.verbs.programs.showing import memory_seen, persons_memories, shown_in_sessions

SETTINGS = """
agents:
  a: { memory: { path: notes/of-a } }
  b: { memory: { path: notes/of-b, enabled: false } }
  c: {}
"""
CHANGED = "what it may do with the memory of agents has changed"


@pytest.fixture
def configuration(tmp_path: Path, own_home: Path) -> Configuration:
    (tmp_path / "satchel.yaml").write_text(SETTINGS)
    return read_configuration(find_paths(config=tmp_path, environment=os.environ))


def test_a_memory_is_where_the_settings_say_or_nowhere(configuration: Configuration, tmp_path: Path) -> None:
    assert memory_seen(configuration, "a") == tmp_path / "notes/of-a"
    assert memory_seen(configuration, "b") is None
    for agent in ("c", "default"):
        assert memory_seen(configuration, agent) == tmp_path / f".satchel/agents/{agent}/memory"
    assert persons_memories(configuration) == {"a": tmp_path / "notes/of-a"}


def test_a_session_is_ended_by_every_change_of_what_it_may_do_with_memories(tmp_path: Path) -> None:
    own, other = tmp_path / "own", tmp_path / "other"
    for directory in (own, other):
        directory.mkdir()
    shown = [
        Shown(code_api=tmp_path),
        Shown(code_api=tmp_path, memory=own),
        Shown(code_api=tmp_path, memory=own, others={"b": OtherMemory(path=other)}),
        Shown(code_api=tmp_path, memory=own, others={"b": OtherMemory(path=other, writable=True)}),
        Shown(code_api=tmp_path, memory=own, others={"c": OtherMemory(path=other)}),
    ]
    found = [shown_in_sessions(each, {"sales": 1}) for each in shown]
    other.rename(tmp_path / "old")
    other.mkdir()
    found.append(shown_in_sessions(shown[2], {}))
    assert len({each[CHANGED] for each in found}) == len(found)
    assert found[0]["the plugin sales was disabled, replaced or removed"] == 1
