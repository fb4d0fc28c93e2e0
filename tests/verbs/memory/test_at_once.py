"""Executions of one agent and the command line, which write to its memory at the same time."""

import json
import os
from pathlib import Path

import anyio
import pytest

from satchel import Satchel, open_satchel
from tests.projects import Project

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

EXECUTIONS = 32
COMMANDS = 6
# A program that shares a file appends to it, as with any other file, or has one of its own.
PROGRAM = """
import json, os
with open("memory/journal.md", "a") as shared:
    shared.write("# NAME\\n\\n" + "text of NAME. " * 100 + "\\n")
with open("memory/NAME.new", "w") as stream:
    json.dump([{"topic": "NAME", "content": "a fact of NAME"}], stream)
os.replace("memory/NAME.new", "memory/NAME.json")
"""


async def test_many_executions_and_the_command_line_lose_nothing(tmp_path: Path) -> None:
    project = Project(tmp_path / "project", {})
    names = [f"p{number}" for number in range(EXECUTIONS)]
    environment = {**os.environ, "HOME": str(tmp_path / "home")}
    exits: list[int] = []

    async def remember(satchel: Satchel, name: str) -> None:
        exits.append((await satchel.execute(PROGRAM.replace("NAME", name))).exit_code)

    async def add(number: int) -> None:
        command = project.command("memory", "add", f"said {number}", "--topic", f"c{number}")
        done = await anyio.run_process(command, cwd=project.directory, env=environment)
        exits.append(done.returncode)

    async with open_satchel(project.directory, environment=environment) as satchel:
        async with anyio.create_task_group() as tasks:
            for name in names:
                tasks.start_soon(remember, satchel, name)
            for number in range(COMMANDS):
                tasks.start_soon(add, number)
        remembered = await satchel.memory.entries()
        told = satchel.memory.prompt("default")

    assert exits == [0] * (EXECUTIONS + COMMANDS)
    assert remembered.problems == ()
    keys = [entry.text.partition(":")[0] for entry in remembered.entries if entry.kind == "core"]
    assert sorted(keys) == sorted(f"c{number}" for number in range(COMMANDS))
    own = project.directory / ".satchel/agents/default/memory"
    for name in names:
        assert json.loads((own / f"{name}.json").read_text()) == [
            {"topic": name, "content": f"a fact of {name}"}
        ]
    shared = (own / "journal.md").read_text()
    assert all(f"# {name}\n\n{f'text of {name}. ' * 100}\n" in shared for name in names)
    # What a person says is told, whatever programs do meanwhile.
    assert not any(entry.is_waiting for entry in remembered.entries if entry.kind == "core")
    assert all(f"said {number}" in told.text for number in range(COMMANDS))
