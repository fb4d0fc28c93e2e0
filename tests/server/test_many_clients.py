"""Many clients at once, and clients and Satchels that are killed in the middle of something."""

import os
import random
import signal
import subprocess
import sys
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from satchel.model import ExecutionRecord
from tests.projects import Project
from tests.sandbox.helpers import processes_with, wait_until_none_has
from tests.server.helpers import (
    ERAS,
    WAIT,
    Era,
    Served,
    call,
    connected,
    connected_over_stdio,
    execute,
    own_environment,
    recorded,
    run,
    serving,
    text_of,
    wait_for,
    wait_until,
    write_settings,
)
from tests.servers import raw

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
AGENTS = ("default", "alice", "bob", "carol")
CLIENTS = 32
SETTINGS: dict[str, Any] = {
    "mode": "code",
    "agents": {**{name: {} for name in AGENTS}, "strict": {"enforce_allowed_tools": True}},
    "code_execution": {"timeout": 60, "sandbox": {"prepared": 1}},
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    directory = tmp_path_factory.mktemp("many")
    with serving(directory, {"work": raw("good", log=directory / "log")}, SETTINGS) as opened:
        yield opened


# At once

MAKE = """
import os
from servers.work import echo
from satchel_runtime import call_tool

name, agent = {name!r}, {agent!r}
mine = f"{{agent}}-{{name}}.txt"
with open(mine, "w") as file:
    file.write(name)
texts = [(await echo(text=f"{{name}} {{number}}")).text for number in range(5)]
assert texts == [f"{{name}} {{number}}" for number in range(5)], texts
others = [file for file in os.listdir(".") if file.endswith(".txt")]
assert all(file.startswith(f"{{agent}}-") for file in others), others
kept = name
print(name, open(mine).read())
"""
LOOK = """
assert kept == {name!r}, kept
assert open({agent!r} + "-" + {name!r} + ".txt").read() == kept
print("kept", kept)
"""


async def use(url: str, token: str, agent: str, era: Era, number: int) -> None:
    name = f"client {number}"
    async with connected(url, token, era, name=name, read_timeout=200) as client:
        names = {"name": name, "agent": agent}
        is_session = number % 3 == 0
        first = await execute(client, MAKE.format(**names), **({"session": "new"} if is_session else {}))
        assert (first["exit_code"], first["stdout"]) == (0, f"{name} {name}\n"), first
        assert [tool["status"] for tool in first["tools_called"]] == ["ok"] * 5
        if is_session:
            assert await run(client, LOOK.format(**names), session=first["session"]) == f"kept {name}\n"
        assert await run(client, MAKE.format(**names)) == f"{name} {name}\n"
        failed = await execute(client, f"raise ValueError({name!r})")
        assert failed["exit_code"] == 1 and f"ValueError: {name}" in failed["stderr"]


@pytest.mark.timeout(300)
async def test_32_clients_of_both_eras_and_several_agents_get_what_is_theirs(served: Served) -> None:
    tokens = {agent: served.token(agent) for agent in AGENTS}
    with anyio.fail_after(240):
        async with anyio.create_task_group() as tasks:
            for number in range(CLIENTS):
                agent, era = AGENTS[number % 4], ERAS[number // 4 % 2]
                tasks.start_soon(use, served.url, tokens[agent], agent, era, number)
    executions, calls = await anyio.to_thread.run_sync(served.recorded)
    made = {record.id: record.agent for record in executions if "kept = name" in record.program}
    assert len(made) == 2 * CLIENTS
    for record in executions:
        if record.id in made:
            assert "name, agent = 'client " in record.program and f", {record.agent!r}\n" in record.program
    of_them = [record for record in calls if record.execution in made]
    assert len(of_them) == 10 * CLIENTS
    assert all(made[str(record.execution)] == record.agent for record in of_them)


async def test_a_skill_that_one_client_reads_is_none_of_another_of_the_same_name(served: Served) -> None:
    """Neither is kept to what the other has read, nor can it rid the other of that."""
    for name, tools in {"narrow": "work.add", "free": ""}.items():
        folder = served.project.directory / "skills" / "public" / name
        folder.mkdir(parents=True)
        head = f"name: {name}\ndescription: x\n" + (f"allowed-tools: {tools}\n" if tools else "")
        (folder / "SKILL.md").write_text(f"---\n{head}---\n")

    async def may_echo(client: Client) -> bool:
        code = "from servers.work import echo\nawait echo(text='x')"
        return (await execute(client, code))["exit_code"] == 0

    token = served.token("strict")
    async with (
        connected(served.url, token, "legacy", name="same") as first,
        connected(served.url, token, "legacy", name="same") as second,
    ):
        await first.call_tool("view_skill", {"name": "narrow"})
        assert not await may_echo(first)
        assert await may_echo(second)
        await second.call_tool("view_skill", {"name": "free"})
        assert not await may_echo(first)


async def test_an_agent_that_opens_many_sessions_ends_none_of_another(served: Served) -> None:
    async with (
        connected(served.url, served.token("alice"), "auto") as client,
        connected(served.url, served.token("carol"), "auto") as other,
    ):
        handle = (await execute(client, "kept = 'of alice'", session="new"))["session"]
        for _ in range(17):
            await execute(other, "pass", session="new")
        answer = await call(client, "execute_code", code="print(kept)", session=handle)
        assert not answer.is_error, text_of(answer)


@pytest.mark.parametrize("era", ERAS)
async def test_a_session_of_another_agent_is_as_if_it_did_not_exist(served: Served, era: Era) -> None:
    async with connected(served.url, served.token("alice"), era) as client:
        handle = (await execute(client, "secret = 'of alice'", session="new"))["session"]
        async with connected(served.url, served.token("bob"), era) as other:
            foreign = await call(other, "execute_code", code="print(secret)", session=handle)
            unknown = await call(other, "execute_code", code="print(secret)", session="session-" + "0" * 16)
        assert foreign.is_error and unknown.is_error
        assert "of alice" not in text_of(foreign)
        assert text_of(foreign).replace(handle, "") == text_of(unknown).replace("session-" + "0" * 16, "")
        assert await run(client, "print(secret)", session=handle) == "of alice\n"


# Killed and cancelled


def unique() -> str:
    """What the arguments of a process in the box are found by."""
    return f"{random.randrange(10**9, 10**10)}.25"


def endless(mark: str) -> str:
    """A program with a process below it, that waits for a tool."""
    return (
        f"import subprocess\nsubprocess.Popen(['sleep', '{mark}'])\n"
        "from servers.work import sleep\nawait sleep(seconds=90)"
    )


def runs(mark: str) -> bool:
    return any(line.startswith(f"sleep {mark}") for line in processes_with(mark))


def execution_with(project: Project, mark: str) -> ExecutionRecord:
    return next(record for record in recorded(project)[0] if mark in record.program)


def has_ended(project: Project, mark: str) -> bool:
    return execution_with(project, mark).state != "running"


def check_cancelled(project: Project, mark: str) -> None:
    """It is over, in the box and in the journal, and the server was told."""
    wait_for(lambda: not runs(mark))
    wait_for(lambda: has_ended(project, mark))
    outcome = execution_with(project, mark).outcome
    assert outcome is not None
    assert (outcome["ended"], outcome["exit_code"]) == ("cancelled", 130)


def start_client(
    era: Era, *arguments: str, environment: Mapping[str, str], token: str = ""
) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.server.endless_client", era, *arguments],
        cwd=ROOT,
        env=dict(environment),
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # what it says when Satchel is gone
    )
    assert process.stdin is not None
    process.stdin.write(f"{token}\n".encode())
    process.stdin.close()
    return process


@pytest.mark.parametrize("era", ERAS)
def test_a_program_ends_when_its_client_over_http_is_killed(served: Served, era: Era) -> None:
    mark, environment = unique(), {**os.environ, "HOME": str(served.home)}
    client = start_client(
        era, "http", served.url, endless(mark), environment=environment, token=served.token("alice")
    )
    try:
        wait_for(lambda: runs(mark))
    finally:
        client.kill()
        client.wait(WAIT)
    check_cancelled(served.project, mark)


@pytest.mark.parametrize("era", ERAS)
def test_a_program_ends_when_its_client_over_stdio_is_killed(tmp_path: Path, era: Era) -> None:
    token = f"killed-{os.urandom(8).hex()}"
    project = Project(tmp_path / token, {"work": raw("good", log=tmp_path / token / "log")})
    write_settings(project, SETTINGS)
    mark = unique()
    client = start_client(
        era, "stdio", str(project.directory), endless(mark), environment=own_environment(tmp_path / "home")
    )
    try:
        wait_for(lambda: runs(mark))
    finally:
        client.kill()
        client.wait(WAIT)
    wait_until_none_has(token)  # Satchel, its servers and its boxes
    check_cancelled(project, mark)


async def cancel_in_the_middle(client: Client, mark: str) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(execute, client, endless(mark))
        await wait_until(lambda: runs(mark))
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("era", ERAS)
async def test_a_program_ends_when_its_client_cancels_it_and_the_next_one_runs(
    served: Served, era: Era
) -> None:
    mark = unique()
    async with connected(served.url, served.token("bob"), era) as client:
        await cancel_in_the_middle(client, mark)
        await anyio.to_thread.run_sync(check_cancelled, served.project, mark)
        assert await run(client, "print('next')") == "next\n"


@pytest.mark.parametrize("era", ERAS)
async def test_a_program_ends_when_its_client_over_stdio_cancels_it(tmp_path: Path, era: Era) -> None:
    project = Project(tmp_path / "project", {"work": raw("good")})
    write_settings(project, SETTINGS)
    mark = unique()
    async with connected_over_stdio(project, own_environment(tmp_path / "home"), era) as client:
        await cancel_in_the_middle(client, mark)
        await anyio.to_thread.run_sync(check_cancelled, project, mark)
        assert await run(client, "print('next')") == "next\n"


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_satchel_that_is_ended_leaves_no_process_behind(tmp_path: Path, how: signal.Signals) -> None:
    token = f"ended-{os.urandom(8).hex()}"
    directory = tmp_path / token
    servers = {
        "work": raw("good", log=directory / "log"),
        "family": raw("grandchildren", pids=directory / "pids"),
    }
    with serving(directory, servers, SETTINGS) as served:
        environment = {**os.environ, "HOME": str(served.home)}
        marks = [unique() for _ in ERAS]
        clients = [
            start_client(
                era, "http", served.url, endless(mark), environment=environment, token=served.token()
            )
            for era, mark in zip(ERAS, marks, strict=True)
        ]
        try:
            wait_for(lambda: all(map(runs, marks)) and (directory / "pids").exists())
            served.process.send_signal(how)
            served.process.wait(WAIT)
        finally:
            for client in clients:
                client.kill()
                client.wait(WAIT)
        if how is signal.SIGTERM:
            assert served.process.returncode == 0, served.said
            assert "Traceback" not in served.said
        wait_until_none_has(token)
        wait_for(lambda: not any(map(runs, marks)))
        for pid in (directory / "pids").read_text().split():
            wait_for(lambda pid=pid: not Path("/proc", pid).exists())
