"""The examples of agents: each can read, write and call what its file says, and nothing else."""

import os
import shutil
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from satchel import Satchel, open_satchel
from tests.projects import Project
from tests.servers import raw

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

EXAMPLES = Path(__file__).parents[2] / "examples/agents"
OWN = """
import os
name = {name!r}
if os.path.isdir("/mnt/memory"):
    open("/mnt/memory/mine.md", "w").write("memory of " + name)
open("/workspace/mine.md", "w").write("workspace of " + name)
open("/mnt/tasks/current_task.yaml", "w").write("id: " + name)
"""
OTHERS = """
import os
found = {{}}
for name in {names!r}:
    place = f"/mnt/agents/{{name}}"
    can = []
    for path in ("memory/mine.md", "workspace/mine.md", "tasks/current_task.yaml"):
        try:
            can.append("read " + open(f"{{place}}/{{path}}").read())
        except OSError:
            pass
    try:
        open(f"{{place}}/memory/from_{name}.md", "w").close()
        can.append("write")
    except OSError:
        pass
    found[name] = can
result = found
"""
OTHERS_IN_TYPESCRIPT = """
const found: Record<string, string[]> = {{}};
for (const name of {names!r}) {{
  found[name] = [];
  for (const path of ["memory/mine.md", "workspace/mine.md", "tasks/current_task.yaml"]) {{
    try {{
      found[name].push("read " + await Deno.readTextFile(`/mnt/agents/${{name}}/${{path}}`));
    }} catch {{ /* it may not */ }}
  }}
  try {{
    await Deno.writeTextFile(`/mnt/agents/${{name}}/memory/ts_{name}.md`, "");
    found[name].push("write");
  }} catch {{ /* it may not */ }}
}}
export const result = found;
"""
CALLS = """
from satchel_runtime import call_tool

async def can_call(server):
    try:
        await call_tool(server, "echo", {"text": "x"})
        return True
    except PermissionError:
        return False

result = [server for server in ("github", "slack") if await can_call(server)]
"""
GRANTS: dict[str, dict[str, dict[str, list[str]]]] = {
    "supervisor": {
        "supervisor": {"worker_a": ["read memory of worker_a"], "worker_b": ["read memory of worker_b"]},
        "worker_a": {},
        "worker_b": {},
    },
    "collaborating": {
        "researcher": {"writer": ["read memory of writer"]},
        "writer": {"researcher": ["read memory of researcher", "write"]},
    },
    "isolated": {"acme": {}, "globex": {}},
}
CAN_CALL = {
    "supervisor": [],
    "worker_a": ["github"],
    "worker_b": ["slack"],
    "researcher": ["github"],
    "writer": ["slack"],
    "acme": ["github"],
    "globex": ["github", "slack"],
    "default": ["github", "slack"],
}


def test_every_example_is_tried_here() -> None:
    assert {file.stem for file in EXAMPLES.glob("*.yaml")} == set(GRANTS)


@pytest.fixture(params=GRANTS)
def example(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
async def satchel(tmp_path: Path, example: str) -> AsyncGenerator[Satchel]:
    project = Project(tmp_path / "project", {"github": raw("good"), "slack": raw("good")})
    shutil.copy(EXAMPLES / f"{example}.yaml", project.directory / "satchel.yaml")
    async with open_satchel(project.directory, environment=dict(os.environ)) as satchel:
        yield satchel


async def result_of(satchel: Satchel, agent: str, code: str, language: str = "python") -> Any:
    done = await satchel.execute(code, agent=agent, language=language, timeout=60)
    assert done.exit_code == 0, (done.stderr, done.reason)
    return done.result


async def test_programs_reach_the_memory_of_others_exactly_as_the_example_says(
    satchel: Satchel, example: str
) -> None:
    agents = [*GRANTS[example], "default"]
    assert sorted(satchel.agents.names()) == sorted(agents)
    for name in agents:
        await result_of(satchel, name, OWN.format(name=name))

    for name in agents:
        others = [other for other in agents if other != name]
        expected = {other: GRANTS[example].get(name, {}).get(other, []) for other in others}
        for language, code in (("python", OTHERS), ("typescript", OTHERS_IN_TYPESCRIPT)):
            assert await result_of(satchel, name, code.format(names=others, name=name), language) == expected

    for name in agents:
        told = (await satchel.agents.show(name)).may_read
        assert {other: "write" in can for other, can in GRANTS[example].get(name, {}).items()} == told


async def test_each_agent_calls_what_the_example_allows(satchel: Satchel, example: str) -> None:
    for name in (*GRANTS[example], "default"):
        assert await result_of(satchel, name, CALLS) == CAN_CALL[name], name


@pytest.mark.parametrize("example", ["isolated"], indirect=True)
async def test_an_agent_without_a_memory_has_none(satchel: Satchel) -> None:
    code = "import os\nresult = os.path.exists('/mnt/memory')"
    assert await result_of(satchel, "acme", code)
    assert not await result_of(satchel, "globex", code)
