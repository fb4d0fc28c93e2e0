"""Many servers, some of them broken, and servers that come and go while Satchel is served."""

import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.session import IncomingMessage
from mcp_types import ToolListChangedNotification

from tests.projects import Project
from tests.server.helpers import (
    ERAS,
    WAIT,
    Era,
    Served,
    call,
    connected,
    connected_over_stdio,
    own_environment,
    run,
    serving,
    text_of,
    write_servers,
    write_settings,
)
from tests.servers import raw

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

GOOD = 71
BROKEN: dict[str, dict[str, Any]] = {
    "missing": {"command": "no-such-command-anywhere"},
    "crashing": raw("crash_start"),
    "hanging": raw("hang") | {"startup_timeout": 300},
    "unset": raw("good") | {"env": {"KEY": "${SATCHEL_TEST_NO_SUCH_VARIABLE}"}},
}
SOON = 60.0
"""Seconds in which a list must be there on a slow machine; a server that hangs is given 300."""
QUIET = 2.5
"""Seconds in which nothing must be told; changes are looked for every second."""


def good(number: int) -> dict[str, Any]:
    return raw("named", name=f"service {number}", instructions=f"Service number {number}.")


def many() -> dict[str, dict[str, Any]]:
    names = [f"service-{number}" for number in range(GOOD)]
    return {**BROKEN, **{name: good(number) for number, name in enumerate(names)}}


async def names_of(client: Client) -> list[str]:
    return [tool.name for tool in (await client.list_tools(cache_mode="refresh")).tools]


async def until_shown(client: Client, tool: str) -> None:
    with anyio.fail_after(WAIT):
        while tool not in await names_of(client):  # noqa: ASYNC110  another process finds out
            await anyio.sleep(0.1)


async def wait_until_listed(client: Client) -> dict[str, Any]:
    """Until all that can be listed are; the hanging one is not awaited."""
    with anyio.fail_after(120):
        while True:
            answer = await call(client, "list_servers")
            assert answer.structured_content is not None
            servers = {server["name"]: server for server in answer.structured_content["servers"]}
            listed = [name for name, server in servers.items() if server["tool_count"]]
            if len(listed) >= GOOD:
                return servers
            await anyio.sleep(0.1)


PROGRAM = """
from servers import service_0, service_35, service_70

print((await service_0.echo(text="a")).text, (await service_35.add(a=1, b=2)).sum)
print((await service_70.echo(text="z")).text)
"""


@pytest.mark.timeout(400)  # it starts 75 processes
async def test_71_of_75_servers_work_and_nobody_waits_for_the_four_that_do_not(tmp_path: Path) -> None:
    with serving(tmp_path, many()) as served:
        token = served.token()
        for era in ERAS:  # nothing is known of any server yet
            began = time.monotonic()
            async with connected(served.url, token, era) as client:
                await client.list_tools()
            assert time.monotonic() - began < SOON
        async with (
            connected(served.url, token, "auto") as modern,
            connected(served.url, token, "legacy") as old,
        ):
            servers = await wait_until_listed(modern)
            assert len(servers) == GOOD + len(BROKEN)
            states = {name: servers[name]["state"] for name in BROKEN}
            assert states["missing"] == states["unset"] == "needs setup"
            assert states["crashing"] == "failed"
            began = time.monotonic()
            for client in (modern, old):
                found = await call(client, "search_tools", query="select:service-7.echo,service-70.add")
                assert found.structured_content is not None
                chosen = [(tool["server"], tool["short_name"]) for tool in found.structured_content["tools"]]
                assert chosen == [("service-7", "echo"), ("service-70", "add")]
                assert await run(client, PROGRAM) == "a 3\nz\n"
            # None of it waits for the server that hangs, but for the first few seconds of its life.
            assert time.monotonic() - began < 2 * SOON
            began = time.monotonic()
            answer = await call(modern, "no_such_tool_at_all", text="x")
            assert answer.is_error and "no_such_tool_at_all" in text_of(answer)
            assert time.monotonic() - began < SOON


# Changes


class Told:
    """How often a client has been told that its tools are others."""

    def __init__(self) -> None:
        self.count = 0
        self.event = anyio.Event()

    def note(self) -> None:
        self.count += 1
        self.event.set()
        self.event = anyio.Event()

    async def more_than(self, before: int) -> None:
        with anyio.fail_after(WAIT):
            while self.count <= before:
                await self.event.wait()


@asynccontextmanager
async def listening(served: Served, era: Era, agent: str = "default") -> AsyncGenerator[tuple[Client, Told]]:
    """A client that has been shown its tools, and hears of changes in the way of its era."""
    told = Told()

    async def hear(message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification) and era == "legacy":
            told.note()

    async with connected(served.url, served.token(agent), era, message_handler=hear) as client:
        await client.list_tools()
        if era == "legacy":
            yield client, told
            return

        async def listen(*, task_status: anyio.abc.TaskStatus[None]) -> None:
            async with client.listen(tools_list_changed=True) as changes:
                task_status.started()
                async for _ in changes:
                    told.note()

        async with anyio.create_task_group() as tasks:
            await tasks.start(listen)
            yield client, told
            tasks.cancel_scope.cancel()


AGENTS: dict[str, Any] = {
    "default": {"mode": "direct"},
    "coder": {"mode": "code"},
    "counter": {"mode": "auto"},
    "narrow": {"mode": "direct", "allow": ["first.*"]},
}
SETTINGS: dict[str, Any] = {"auto_threshold": 10, "agents": {**AGENTS, "leaving": {"mode": "direct"}}}
FIRST, SECOND, THIRD = ({name: raw("good")} for name in ("first", "second", "third"))  # each has eight tools


class Audience:
    """Clients of both eras for each agent, all of which listen."""

    def __init__(self, served: Served, stack: AsyncExitStack) -> None:
        self.served = served
        self._stack = stack
        self._members: dict[str, list[tuple[Client, Told]]] = {}

    async def invite(self, agent: str) -> None:
        for era in ERAS:
            member = await self._stack.enter_async_context(listening(self.served, era, agent))
            self._members.setdefault(agent, []).append(member)

    async def sees(self, agent: str, tool: str, *, gone: str = "") -> None:
        for client, _ in self._members[agent]:
            names = await names_of(client)
            assert tool in names and gone not in names

    async def hears(self, servers: Mapping[str, Any], *agents: str) -> None:
        """When these become the servers, those agents are told, and no others."""
        before = self._counts()
        write_servers(self.served.project, servers)
        for agent in agents:
            for (_, told), count in zip(self._members[agent], before[agent], strict=True):
                await told.more_than(count)
        await self.is_quiet(before, agents)

    async def is_quiet(self, before: dict[str, list[int]], but: Sequence[str] = ()) -> None:
        """Nothing says that nothing will come: hence the wait."""
        await anyio.sleep(QUIET)
        counts = self._counts()
        assert {agent for agent in counts if counts[agent] != before[agent]} == set(but)

    async def hears_nothing_of(self, change: Callable[[], object]) -> None:
        before = self._counts()
        change()
        await self.is_quiet(before)

    def _counts(self) -> dict[str, list[int]]:
        return {agent: [told.count for _, told in members] for agent, members in self._members.items()}


async def test_clients_of_both_eras_are_told_when_what_they_are_shown_changes_and_only_then(
    tmp_path: Path,
) -> None:
    async with AsyncExitStack() as stack:
        served = stack.enter_context(serving(tmp_path, FIRST, SETTINGS))
        async with connected(served.url, served.token(), "auto") as client:
            await until_shown(client, "first__echo")
        audience = Audience(served, stack)
        for agent in AGENTS:
            await audience.invite(agent)
        left = await stack.enter_async_context(connected(served.url, served.token("leaving"), "auto"))
        await left.list_tools()

        await audience.hears({**FIRST, **SECOND}, "default", "counter")
        await audience.sees("default", "second__echo")
        await audience.sees("counter", "execute_code", gone="first__echo")  # there are too many now
        await audience.sees("narrow", "first__echo", gone="second__echo")
        await audience.sees("coder", "execute_code", gone="second__echo")
        await audience.hears({**FIRST, **SECOND, **THIRD}, "default")
        await audience.hears_nothing_of(lambda: served.project.file.write_text("{"))
        await audience.sees("default", "third__echo")
        await audience.hears_nothing_of(lambda: served.settings({**SETTINGS, "agents": AGENTS}))
        await audience.hears(FIRST, "default", "counter")
        await audience.sees("counter", "first__echo", gone="execute_code")
        await audience.sees("default", "first__echo", gone="second__echo")


async def test_a_new_server_can_be_used_by_a_program_at_once(tmp_path: Path) -> None:
    with serving(tmp_path, FIRST, {"mode": "code"}) as served:
        async with connected(served.url, served.token(), "auto") as client:
            await client.list_tools()
            write_servers(served.project, {**FIRST, **SECOND})
            program = "from servers.second import echo\nprint((await echo(text='new')).text)"
            assert await run(client, program) == "new\n"


@pytest.mark.parametrize("era", ERAS)
async def test_over_stdio_a_new_server_appears_as_well(tmp_path: Path, era: Era) -> None:
    project = Project(tmp_path / "project", {"first": raw("good")})
    write_settings(project, {"mode": "direct"})
    async with connected_over_stdio(project, own_environment(tmp_path / "home"), era) as client:
        write_servers(project, {"first": raw("good"), "second": raw("good")})
        await until_shown(client, "second__echo")
        assert text_of(await call(client, "second__echo", text="new")) == "new"
