"""Paths as programs and models write them, and what they lead to."""

import pytest

from satchel.support.program_paths import seen_at


@pytest.mark.parametrize(
    ("path", "whole"),
    [
        ("servers/slack/a.py", "/mnt/code-api/servers/slack/a.py"),
        ("./tools", "/mnt/code-api/tools"),
        ("/workspace/skills/a", "/mnt/extras/a"),
        ("memory/core_memories.json", "/mnt/memory/core_memories.json"),
        ("tasks/current_task.yaml", "/mnt/tasks/current_task.yaml"),
        ("agents/b/memory/learned_patterns.md", "/mnt/agents/b/memory/learned_patterns.md"),
        ("/massgen_workspace/servers/slack", "/mnt/code-api/servers/slack"),
        ("/massgen_workspace/skills/community", "/mnt/extras/community"),
        ("/massgen_workspace/agents/a/workspace", "/massgen_workspace/agents/a/workspace"),
        ("massgen_workspace/servers", "/workspace/massgen_workspace/servers"),
        ("notes.md", "/workspace/notes.md"),
        ("/mnt/skills/x", "/mnt/skills/x"),
        ("/workspace", "/workspace"),
        ("/tmp/servers", "/tmp/servers"),
    ],
)
def test_a_path_is_followed_through_the_links_of_a_box(path: str, whole: str) -> None:
    assert seen_at(path, skills="/mnt/extras") == whole
