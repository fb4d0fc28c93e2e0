"""Agents' files in the box: their own, the memories of others as they are granted, and nothing else."""

import json
import os
import shutil
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from satchel import Satchel, open_satchel
from satchel.errors import NotFoundError, SandboxError
from tests.projects import Project

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

TIMES = "code_execution: { timeout: 60, max_timeout: 60 }\n"
LINKS = """
import os
places = [
    *(f"/workspace/{name}" for name in os.listdir("/workspace")),
    *(os.path.join(place, name) for place, _, names in os.walk("/massgen_workspace") for name in names),
    *(os.path.join(place, name) for place, names, _ in os.walk("/massgen_workspace") for name in names),
]
result = [sorted(p for p in places if os.path.exists(p)), [p for p in places if not os.path.exists(p)]]
"""
SHARED = [f"/massgen_workspace/{name}" for name in ("agents", "servers", "skills", "tools")]


@pytest.fixture
def project(tmp_path: Path, own_home: Path) -> Path:
    return Project(tmp_path / "project", {}).directory


def settings(project: Path, text: str) -> None:
    (project / "satchel.yaml").write_text(TIMES + text)


@pytest.fixture
async def satchel(project: Path) -> AsyncGenerator[Satchel]:
    settings(
        project, "agents: { agent_a: { memory: { allow_read_from: [agent_b] } }, agent_b: {}, agent_c: {} }"
    )
    async with open_satchel(project, environment=dict(os.environ)) as satchel:
        yield satchel


async def result(satchel: Satchel, code: str, agent: str = "agent_a", **more: Any) -> Any:
    done = await satchel.execute(code, agent=agent, **more)
    assert done.exit_code == 0, (done.stderr, done.reason)
    return done.result


async def test_no_link_dangles_whatever_the_settings_say(satchel: Satchel, project: Path) -> None:
    own = [f"/massgen_workspace/agents/agent_a{name}" for name in ("", "/memory", "/tasks", "/workspace")]
    other = [f"/massgen_workspace/agents/agent_b{name}" for name in ("", "/memory")]
    linked = [f"/workspace/{name}" for name in ("agents", "memory", "servers", "skills", "tasks", "tools")]
    assert await result(satchel, LINKS) == [sorted([*SHARED, *own, *other, *linked]), []]

    settings(project, "agents: { agent_a: { memory: { enabled: false } } }")
    own.remove("/massgen_workspace/agents/agent_a/memory")
    linked.remove("/workspace/memory")
    assert await result(satchel, LINKS) == [sorted([*SHARED, *own, *linked]), []]
    assert await result(satchel, "import os; result = sorted(os.listdir('/mnt'))") == [
        *("agents", "code-api", "skills", "tasks")
    ]


async def test_an_agent_finds_its_memory_and_its_tasks_from_its_first_program_on(
    satchel: Satchel, project: Path
) -> None:
    look = """
import json, os
result = {
    "memory": {name: open(f"memory/{name}").read() for name in os.listdir("memory")},
    "tasks": os.listdir("tasks/completed_tasks"),
}
open("tasks/current_task.yaml", "w").write("id: 1\\n")
open("memory/notes.md", "a").write("noted\\n")
"""
    kept = {
        "core_memories.json": "[]\n",
        "task_history.json": "[]\n",
        "learned_patterns.md": "",
        "preferences.yaml": "{}\n",
    }
    assert await result(satchel, look, "agent_c") == {"memory": kept, "tasks": []}
    agent = project / ".satchel/agents/agent_c"
    assert (agent / "tasks/current_task.yaml").read_text() == "id: 1\n"
    (agent / "memory/core_memories.json").write_text('[{"topic": "kept"}]')
    (agent / "memory/preferences.yaml").unlink()
    again = (await result(satchel, look, "agent_c"))["memory"]
    assert again == {**kept, "core_memories.json": '[{"topic": "kept"}]', "notes.md": "noted\n"}


async def test_the_programs_of_the_specification_run_as_they_are_written(
    satchel: Satchel, project: Path
) -> None:
    own = """
import json
with open("memory/core_memories.json") as f:
    memories = json.load(f)
    memories.append({"topic": "performance", "content": "Database optimization: add an index first."})
with open("memory/core_memories.json", "w") as f:
    json.dump(memories, f, indent=1)
with open("memory/task_history.json", "w") as f:
    json.dump([{"description": "A Website for the bakery"}, {"description": "Sort mail"}], f)
"""
    await result(satchel, own)
    pattern = "open('/massgen_workspace/agents/agent_b/memory/learned_patterns.md', 'w').write('# Be brief')"
    await result(satchel, pattern, "agent_b")
    other = """
import json

# Read another agent's learned patterns (if permitted)
with open("/massgen_workspace/agents/agent_b/memory/learned_patterns.md") as f:
    other_agent_patterns = f.read()

# Load own task history
with open("memory/task_history.json") as f:
    history = json.load(f)

# Find similar past tasks
similar_tasks = [
    task for task in history
    if "website" in task["description"].lower()
]
result = [other_agent_patterns, similar_tasks]
"""
    assert await result(satchel, other) == [
        "# Be brief",
        [{"description": "A Website for the bakery"}],
    ]
    typescript = """
const path = '/massgen_workspace/agents/agent_b/memory/learned_patterns.md';
const history = JSON.parse(await Deno.readTextFile('memory/task_history.json'));
await Deno.writeTextFile('/massgen_workspace/agents/agent_a/tasks/current_task.yaml', 'id: 2');
const task = await Deno.readTextFile('tasks/current_task.yaml');
export const result = [await Deno.readTextFile(path), history.length, task];
"""
    assert await result(satchel, typescript, language="typescript") == ["# Be brief", 2, "id: 2"]
    found = await satchel.execute('rg "database optimization" memory/ -i', agent="agent_a", language="bash")
    assert (found.exit_code, "add an index first" in found.stdout) == (0, True), found
    searched = await satchel.execute('rg "document" servers/ tools/', agent="agent_a", language="bash")
    assert (searched.exit_code, searched.stderr) == (1, "")  # nothing is found, and no link dangles


READ = """
import os
try:
    found = open("/mnt/agents/agent_b/memory/notes.md").read()
except OSError as error:
    found = type(error).__name__
try:
    open("/mnt/agents/agent_b/memory/notes.md", "a").close()
    found += ", may write"
except OSError as error:
    pass
result = found
"""


def granted(grants: str) -> str:
    return f"agents: {{ agent_a: {{ memory: {{ {grants} }} }}, agent_b: {{}}, agent_c: {{}} }}"


async def test_a_changed_grant_holds_from_the_next_program_on_and_ends_sessions(
    satchel: Satchel, project: Path
) -> None:
    await result(satchel, "open('memory/notes.md', 'w').write('of b')", "agent_b")
    for language in ("python", "typescript"):  # boxes are prepared for both
        await satchel.execute("result = 1", agent="agent_a", language=language)
    expected = {
        "allow_read_from: [agent_b]": "of b",
        "allow_write_to: [agent_b]": "of b, may write",
        "allow_read_from: [agent_c]": "FileNotFoundError",
        "allow_read_from: ['*']": "of b",
        "": "FileNotFoundError",
    }
    session: str | None = None
    for grants, seen in expected.items():
        settings(project, granted(grants))
        if session is not None:
            with pytest.raises(NotFoundError) as ended:
                await satchel.execute(READ, agent="agent_a", session=session)
            assert "what it may do with the memory of agents has changed" in str(ended.value.hint)
        assert await result(satchel, READ) == seen
        assert await result(satchel, READ) == seen  # in a box that was prepared, where there is any
        opened = await satchel.execute("kept = 1", agent="agent_a", session="new")
        session = opened.session
        assert await result(satchel, READ, session=session) == seen


async def test_nothing_that_a_session_has_open_outlives_the_grant(satchel: Satchel, project: Path) -> None:
    settings(project, granted("allow_write_to: [agent_b]"))
    keep = """
import mmap, os, threading, time
place = "/mnt/agents/agent_b/memory"
folder = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
log = open(place + "/log", "w+b", buffering=0)
log.write(b"." * 4096)
view = mmap.mmap(log.fileno(), 4096)
os.chdir(place)

def go_on():
    while True:
        log.write(b".")
        view[0:1] = b"x"
        time.sleep(0.01)

threading.Thread(target=go_on, daemon=True).start()
if os.fork() == 0:
    go_on()
"""
    opened = await satchel.execute(keep, agent="agent_a", session="new")
    assert opened.session is not None, opened.stderr
    again = "open(os.open('log', os.O_RDWR | os.O_APPEND, dir_fd=folder), 'w').write('again')"
    await result(satchel, again, session=opened.session)

    settings(project, granted(""))
    log = project / ".satchel/agents/agent_b/memory/log"
    before = log.read_bytes()  # between two programs all processes of a session stand still
    assert b"again" in before
    with pytest.raises(NotFoundError, match="unknown session"):
        await result(satchel, again, session=opened.session)
    fresh = "import os; result = [os.path.exists('/mnt/agents/agent_b'), os.listdir('/mnt/agents')]"
    assert await result(satchel, fresh, session="new") == [False, []]
    assert log.read_bytes() == before


async def test_a_memory_can_be_a_directory_that_people_keep(satchel: Satchel, project: Path) -> None:
    notes = project / "notes/of-a"
    if os.geteuid() != 0:  # root's programs run as another user, to whom Satchel gives nothing that is yours
        notes.mkdir(parents=True)
        (notes / "facts.md").write_text("mine")
    reads = "agent_b: { memory: { allow_read_from: [agent_a] } }"
    settings(project, f"agents: {{ agent_a: {{ memory: {{ path: notes/of-a }} }}, {reads} }}")
    await result(satchel, "open('memory/seen', 'w').write('from inside')")
    assert (notes / "seen").read_text() == "from inside"
    assert json.loads((notes / "core_memories.json").read_text()) == []
    assert not (project / ".satchel/agents/agent_a/memory").exists()
    assert (
        await result(satchel, "result = open('/mnt/agents/agent_a/memory/seen').read()", "agent_b")
        == "from inside"
    )
    settings(
        project, "agents: { agent_a: { memory: { path: .satchel/agents/agent_b/memory } }, agent_b: {} }"
    )
    with pytest.raises(SandboxError, match=r"agents\.agent_a\.memory\.path: .*Satchel's own"):
        await satchel.execute("1", agent="agent_b")


async def test_a_memory_in_the_place_of_another_is_noticed(satchel: Satchel, project: Path) -> None:
    read = "result = open('/mnt/agents/agent_b/memory/learned_patterns.md').read()"
    for _ in range(2):
        assert await result(satchel, read) == ""
    memory = project / ".satchel/agents/agent_b/memory"
    shutil.rmtree(memory)
    await result(satchel, "open('memory/learned_patterns.md', 'w').write('# New')", "agent_b")
    assert await result(satchel, read) == "# New"


async def test_clearing_a_workspace_keeps_memory_and_tasks(satchel: Satchel, project: Path) -> None:
    await result(satchel, "[open(path, 'w').close() for path in ('left', 'memory/m', 'tasks/t')]")
    async with open_satchel(project, environment=dict(os.environ)) as other:
        for one in (satchel, other):
            await result(one, "1")
        await satchel.executions.clear_workspace("agent_a")
        look = "import os; result = [os.path.exists(path) for path in ('left', 'memory/m', 'tasks/t')]"
        for one in (satchel, other):
            assert await result(one, look) == [False, True, True]
            assert (await result(one, LINKS))[1] == []
