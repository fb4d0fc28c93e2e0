"""The rule of docs/security.md: each request that a program or a client can send is bounded, cheap, or apart.

Its tables are read here. Whatever can be asked has a row, and whatever has a row is sent here at its worst,
by real programs and over the real door, while a ticker in the same event loop notes how long it was held up.
"""

import json
import os
import re
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from bench.flooding import SEND, entries

from satchel import Satchel, open_satchel
from satchel.config.settings import HttpSettings
from satchel.model import Caller, ExecutionRequest
from satchel.server.mcp_http import Door, open_door
from satchel.server.surface import Surface
from satchel.support.waiting import background
from satchel.toolset.own_tools import OWN_TOOLS
from satchel.verbs.requests import _METHODS
from tests.projects import Project
from tests.server.helpers import bearer, initialize
from tests.servers import raw
from tests.test_docs import rows, section

pytestmark = pytest.mark.anyio

HELD_UP = 1.0
"""Seconds of processor time that the event loop may be held up at once. The worst step is to take 0.2."""
TEXT = "x" * 1_000_000


def documented(heading: str) -> set[str]:
    """What the table under a heading has rows for."""
    text = section("docs/security.md", heading)
    names = [re.findall(r"^`([^`]+)`$", cells[0]) for cells in rows(text)]
    return {name for found in names for name in found}


# Whatever can be asked has a row


def test_every_request_of_programs_has_a_row() -> None:
    assert documented("Requests of programs") == set(_METHODS)
    assert documented("Requests of programs") == set(REQUESTS)


def test_whatever_else_programs_do_has_a_row() -> None:
    assert documented("What else programs make it do") == set(PROGRAMS)


async def test_every_request_of_clients_has_a_row(tmp_path: Path) -> None:
    async with open_satchel(Project(tmp_path / "project", {}).directory) as satchel:
        methods = {"initialize", *Surface(satchel).server._request_handlers} - {"tools/call"}
    own = {f"tools/call {tool.name}" for tool in OWN_TOOLS}
    assert documented("Requests of MCP clients") == methods | own
    assert documented("Requests of MCP clients") == {*MESSAGES, "initialize"}


async def test_every_route_has_a_row(tmp_path: Path) -> None:
    async with (
        open_satchel(Project(tmp_path / "project", {}).directory) as satchel,
        opened_door(satchel) as door,
    ):
        assert documented("Requests over HTTP") == {route.path for route in door.routes}


# Whatever has a row is sent at its worst

ASK = (
    SEND
    + """
def read(size):
    data = b""
    while len(data) < size:
        data += os.read(bridge, size - len(data)) or sys.exit("closed")
    return data
def receive():
    return read(int.from_bytes(read(4), "big"))
number = 0
def ask(method, **params):
    global number
    number += 1
    send({"id": number, "method": method, "params": params})
def wait():
    for _ in range(number):
        receive()
"""
)
VALUES = """
filler = (b"{}," * 149_900)[:-1]
number = 3
for each in (1, 2, 3):
    send(b'{"id":%d,"method":"METHOD","params":{PARAMS,"arguments":{"text":"x","a":[%b]}}}' % (each, filler))
wait()
"""


def with_values(method: str, params: str) -> str:
    """Requests with as many values as a frame may have."""
    return VALUES.replace("METHOD", method).replace("PARAMS", params)


SAVING = """
code = "def report(order):\\n    return " + "+".join(["(order)"] * 10_000) + "\\n"
for each in range(5):
    ask("save_skill", name=f"report-{each}", code=code, description="Counts things.")
wait()
"""
REQUESTS: Mapping[str, str] = {
    "call_tool": with_values("call_tool", '"name":"raw__echo"')
    + """
text = b"," * 8_000_000
send(b'{"id":4,"method":"call_tool","params":{"name":"raw__echo","arguments":{"text":"%b"}}}' % text)
receive()
number = 10
for each in range(20):
    ask("call_tool", name=f"mani.tool_{each:05}x", arguments={})
for each in range(8):
    ask("call_tool", name="big__big", arguments={"bytes": 4_000_000})
for each in range(28):
    receive()
""",
    "list_servers": with_values("list_servers", '"a":1')
    + """
for _ in range(30):
    ask("list_servers")
    receive()
""",
    "search_tools": """
for each in range(20):
    query = f"do the numbre {each}, and then number all of its things " * 30
    ask("search_tools", query=query, limit=50, detail="full")
wait()
""",
    "semantic_search": """
import random
words = [f"word{each}" for each in range(20000)]
for place in ("none", "texts"):
    os.makedirs(f"/mnt/memory/{place}", exist_ok=True)
for each in range(2000):
    with open(f"/mnt/memory/none/{each}", "wb") as file:
        file.write(bytes(1))
for each in range(200):
    with open(f"/mnt/memory/texts/{each}.md", "w") as file:
        file.write(" ".join(random.choices(words, k=1900)))
os.rename("/mnt/memory/none", "/mnt/memory/zzz")
for each in range(3):
    with open("/mnt/memory/texts/0.md", "a") as file:
        file.write(f" {each}")
    ask("semantic_search", query=f"word{each} of things", limit=50)
    receive()
""",
    "describe_tool": """
for each in range(20):
    ask("describe_tool", name=f"many.tool_{each:05}")
    ask("describe_tool", name=f"mani.tool_{each:05}x")
wait()
""",
    "read_resource": """
for each in range(50):
    ask("read_resource", server="memos", uri="memo://" + "a/" * 900)
wait()
""",
    "get_prompt": with_values("get_prompt", '"server":"memos","name":"ask"')
    + """
given = {f"{each}": "" for each in range(280_000)}
for each in (4, 5, 6):
    params = {"server": "memos", "name": "ask", "arguments": given}
    send({"id": each, "method": "get_prompt", "params": params})
    receive()
""",
    "reveal": """
for each in range(5):
    ask("reveal", text="PERSON_ksn2vr " * 280_000)
    receive()
""",
    "hide": """
for each in range(5):
    ask("hide", text=f"{each}" + "anna " * 800_000)
    receive()
""",
    "save_skill": SAVING,
    "promote_skill": SAVING + "for each in range(5): ask('promote_skill', name=f'report-{each}')\n",
}
PROGRAMS: Mapping[str, str] = {
    "start": "# from servers import a, b, c\n" * 34_000,
    "output": "import os\nfor _ in range(900): os.write(1, b'x' * 65536)\n",
    "files": """
import os
for place in range(10):
    os.makedirs(f"files/{place}", exist_ok=True)
    for number in range(300):
        open(f"files/{place}/{number}", "wb").close()
""",
    "result": "result = [{}] * 145_000\n",
    "check": "".join(f"number_{each}: int = 'text'\n" for each in range(2_000)),
}


@pytest.mark.slow
@pytest.mark.parametrize("method", REQUESTS)
async def test_no_request_of_a_program_holds_up_the_event_loop(satchel: Satchel, method: str) -> None:
    async with ticking() as ticker:
        ended = await satchel.execute(ASK + REQUESTS[method], agent="hostile")
    assert ended.ended in (None, "cpu"), ended
    assert ended.exit_code == 0 or ended.ended, ended
    assert ticker.worst < HELD_UP


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
async def test_nothing_else_that_a_program_does_holds_up_the_event_loop(satchel: Satchel, name: str) -> None:
    request = ExecutionRequest(code=PROGRAMS[name], check=name == "check")
    async with ticking() as ticker:
        ended = await satchel.executions.run(request, Caller(agent="hostile"))
    assert ended.ended in (None, "check"), ended
    assert ticker.worst < HELD_UP


PARTS = "skill://" + "a/" * 400_000
MANY = {str(each): "" for each in range(280_000)}
MESSAGES: Mapping[str, list[dict[str, Any]]] = {
    "server/discover": [{"_meta": {"a": TEXT}}],
    "ping": [{"_meta": {"a": TEXT}}],
    "tools/list": [{}, {"cursor": TEXT}],
    "tools/call list_servers": [{}],
    "tools/call search_tools": [
        {"query": TEXT},
        {"query": f"{'do the numbre, ' * 5_000}", "detail": "full", "limit": 50},
        {"query": "select:" + "mani.tool_00001x," * 5_000},
    ],
    "tools/call execute_code": [{"code": "print(1)", "description": TEXT}, {"code": TEXT + TEXT}],
    "tools/call execute_code_readonly": [{"code": "print(1)"}],
    "tools/call call_tool": [{"name": TEXT, "arguments": {}}, {"name": "mani.tool_00001x"}],
    "tools/call search_skills": [{"query": TEXT}, {"query": "what the skill says " * 5_000}],
    "tools/call view_skill": [{"name": TEXT}, {"name": "/mnt/skills/public/large"}],
    "tools/call read_file": [
        {"path": "/mnt/skills/" + "a/" * 400_000},
        {"path": "/mnt/skills/public/large/data"},
    ],
    "tools/call read_resource": [
        {"uri": PARTS},
        {"uri": "skill://public/large/data"},
        {"uri": "memo://" + TEXT, "server": TEXT},
    ],
    "tools/call leave_skill": [{"summary": TEXT}],
    "tools/call memory": [
        {"command": "search", "query": TEXT},
        {"command": "view", "path": "/memories/" + "a/" * 400_000},
        {"command": "create", "path": "large.md", "file_text": TEXT},
        {"command": "str_replace", "path": "core_memories.json", "old_str": TEXT, "new_str": TEXT},
    ],
    "resources/list": [{}],
    "resources/templates/list": [{}],
    "resources/read": [{"uri": PARTS}, {"uri": "skill://public/large/data"}, {"uri": "memo://" + TEXT}],
    "resources/directory/read": [{"uri": PARTS}, {"uri": "skill://public/large"}],
    "resources/subscribe": [{"uri": PARTS}, {"uri": "memo://" + TEXT}],
    "resources/unsubscribe": [{"uri": PARTS}],
    "subscriptions/listen": [{"notifications": {"resourceSubscriptions": [PARTS] * 5}}],
    "prompts/list": [{}],
    "prompts/get": [
        {"name": TEXT},
        {"name": "ask", "arguments": {"a": TEXT}},
        {"name": "ask", "arguments": MANY},
    ],
    "completion/complete": [
        {"ref": {"type": "ref/prompt", "name": TEXT}, "argument": {"name": "a", "value": TEXT}},
        {
            "ref": {"type": "ref/prompt", "name": "memos__ask"},
            "argument": {"name": "a", "value": "x"},
            "context": {"arguments": MANY},
        },
    ],
    "logging/setLevel": [{"level": TEXT}],
    "skills/list": [{}, {"cursor": TEXT}],
    "skills/get": [{"uri": PARTS}, {"uri": "skill://public/large/SKILL.md"}],
}


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["code", "direct"])
async def test_no_request_of_a_client_holds_up_the_event_loop(satchel: Satchel, mode: Any) -> None:
    worst: dict[str, float] = {}
    async with opened_door(satchel, mode) as door, talking(door) as client:
        for name, every in MESSAGES.items():
            method, _, tool = name.partition(" ")
            for params in every:
                asked = {"name": tool, "arguments": params} if tool else params
                message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": asked}
                body = json.dumps(message).encode()
                async with ticking() as ticker:
                    # What is followed goes on: only its begin is of interest.
                    with anyio.move_on_after(1 if method == "subscriptions/listen" else 60):
                        await client.post("/mcp", content=body)
                worst[name] = max(ticker.worst, worst.get(name, 0.0))
        async with ticking() as ticker:
            await client.post("/mcp", content=initialize())
            await client.get("/health")
        worst["initialize"] = ticker.worst
    assert max(worst.values()) < HELD_UP, worst


# What it takes


class Ticker:
    """Notes how long an event loop was held up by what this process did.

    Where others had the processor meanwhile, the time that this process used counts.
    """

    worst = 0.0

    async def tick(self) -> None:
        while True:
            began, used = time.monotonic(), time.process_time()
            await anyio.sleep(0.005)
            taken = min(time.monotonic() - began, time.process_time() - used)
            self.worst = max(self.worst, taken)


@asynccontextmanager
async def ticking() -> AsyncGenerator[Ticker]:
    async with background() as tasks:
        ticker = Ticker()
        tasks.start_soon(ticker.tick)
        await anyio.sleep(0.01)
        yield ticker
        await anyio.sleep(0.01)


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """For the whole module, so that one Satchel can serve its tests."""
    return "asyncio"


@pytest.fixture(scope="module")
async def satchel(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Satchel]:
    directory = tmp_path_factory.mktemp("costs")
    project = Project(directory / "project", {**entries(), "memos": raw("resources")})
    settings = {
        "agents": {"default": {}, "hostile": {"promote_skills": True}},
        "code_execution": {"read_only_tool": True, "timeout": 100, "max_timeout": 100},
    }
    (project.directory / "satchel.yaml").write_text(json.dumps(settings))
    write_skills(project.directory / "skills" / "public")
    async with open_satchel(project.directory, environment={**os.environ, "HOME": str(directory)}) as satchel:
        await satchel.servers.refresh()
        await satchel.execute("print(1)", agent="hostile")
        yield satchel


def write_skills(place: Path) -> None:
    """A hundred, and a large one."""
    for number in range(100):
        (place / f"skill-{number}").mkdir(parents=True)
        text = (
            f"---\nname: skill-{number}\ndescription: What the skill {number} says.\n---\n" + "words " * 2_000
        )
        (place / f"skill-{number}" / "SKILL.md").write_text(text)
    large = place / "large"
    large.mkdir()
    (large / "SKILL.md").write_text("---\nname: large\ndescription: Much.\n---\n" + "x" * 900_000)
    (large / "data").write_text("x" * 15_000_000)
    for number in range(600):
        (large / f"file-{number}").write_text("x")


@asynccontextmanager
async def opened_door(satchel: Satchel, mode: Any = None) -> AsyncGenerator[Door]:
    """As which agent somebody comes in is what they send as their token."""
    async with open_door(
        Surface(satchel, mode=mode), agent_of=str, is_agent=lambda name: True, settings=HttpSettings
    ) as door:
        yield door


@asynccontextmanager
async def talking(door: Door) -> AsyncGenerator[httpx2.AsyncClient]:
    """A client of the hostile agent in a session of its own."""
    headers = {
        **bearer("hostile"),
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    transport = httpx2.ASGITransport(app=door)
    async with httpx2.AsyncClient(
        transport=transport, base_url="http://localhost", headers=headers, timeout=60
    ) as client:
        answer = await client.post("/mcp", content=initialize())
        assert answer.status_code == 200, answer.text
        client.headers["Mcp-Session-Id"] = answer.headers["mcp-session-id"]
        told = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        await client.post("/mcp", content=json.dumps(told).encode())
        yield client
