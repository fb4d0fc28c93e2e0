"""Programs without isolation: what they are given and which limits hold all the same."""

import asyncio
import os
import sys
from dataclasses import replace
from pathlib import Path
from socket import socket
from textwrap import dedent
from typing import Any

import anyio
import pytest

from satchel.sandbox.backends import PROCESS
from satchel.sandbox.backends.process import UnprotectedProcess
from satchel.sandbox.bridge.bridge import Bridge
from satchel.sandbox.limits import Limits
from satchel.sandbox.sandbox import Grants, Outcome, Program
from tests.sandbox.helpers import ECHO, make_home, processes_with, traces, wait_until_none_has

pytestmark = pytest.mark.anyio

LIMITS = Limits(seconds=20)
WAIT = 40  # seconds; only a hang reaches it
CHILDREN = """
import subprocess
command = ["sh", "-c", "echo; exec sleep 60"]
for more in ({}, {"start_new_session": %s}):
    subprocess.Popen(command, stdout=subprocess.PIPE, **more).stdout.readline()
print("started", flush=True)
"""


async def run(directory: Path, code: str, grants: Grants | None = None, **limits: Any) -> Outcome:
    workspace = make_home(directory, PROCESS)
    with anyio.fail_after(WAIT):
        return await UnprotectedProcess(directory / "agents", grants).run(
            Program(code=dedent(code)), workspace, ECHO, replace(LIMITS, **limits)
        )


async def test_a_program_runs_in_its_workspace_and_calls_tools(tmp_path: Path) -> None:
    outcome = await run(
        tmp_path,
        """
        import asyncio, os
        from servers.demo import echo
        texts = [one.text for one in await asyncio.gather(*(echo(text=str(n)) for n in range(20)))]
        open("file", "w").write("here")
        print(os.getcwd())
        result = [texts == [str(n) for n in range(20)], sorted(os.environ)]
        """,
        Grants(environment={"TOKEN": "t"}),
    )
    assert (outcome.exit_code, outcome.stderr.text) == (0, "")
    files = tmp_path / "agents/default/workspace"
    assert outcome.stdout.text == f"{files}\n"
    assert (files / "file").read_text() == "here"
    assert outcome.result[0] is True
    assert set(outcome.result[1]) <= {"PATH", "HOME", "LANG", "TOKEN", "LC_CTYPE"}


async def test_links_lead_to_where_things_are_and_follow_a_change_of_the_backend(tmp_path: Path) -> None:
    make_home(tmp_path)  # as programs in a box find it
    outcome = await run(
        tmp_path,
        """
        import os
        open("memory/note", "w").write("kept")
        open("tasks/current_task.yaml", "w").write("id: 1")
        result = [sorted(os.listdir(".")), os.path.exists("servers/demo"), os.path.isdir("tools")]
        """,
    )
    assert outcome.result == [["memory", "servers", "tasks", "tools"], True, True], outcome.stderr.text
    agent = tmp_path / "agents/default"
    assert (agent / "memory/note").read_text() == "kept"
    assert (agent / "tasks/current_task.yaml").read_text() == "id: 1"
    make_home(tmp_path)
    assert os.readlink(agent / "workspace/memory") == "/mnt/memory"


@pytest.mark.slow
async def test_an_environment_that_is_granted_is_what_programs_run_on(tmp_path: Path) -> None:
    (tmp_path / "env/bin").mkdir(parents=True)
    (tmp_path / "env/bin/python").symlink_to(os.path.realpath(sys.executable))
    outcome = await run(tmp_path, "import sys; result = sys.executable", Grants(python_env=tmp_path / "env"))
    assert outcome.result == str(tmp_path / "env/bin/python")


@pytest.mark.slow
async def test_the_exit_code_and_the_programs_own_lines_are_told(tmp_path: Path) -> None:
    outcome = await run(tmp_path, "from servers.demo import echo\nawait echo(text={1, 2})")
    assert outcome.exit_code == 1
    files = [line.strip() for line in outcome.stderr.text.splitlines() if line.strip().startswith("File")]
    assert files == ['File "main.py", line 2, in <module>']
    assert outcome.stderr.text.endswith("TypeError: Object of type set is not JSON serializable\n")


@pytest.mark.slow
async def test_nothing_is_said_about_a_network_that_there_may_be(tmp_path: Path) -> None:
    with socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody listens
        code = f"import socket\nsocket.create_connection(('127.0.0.1', {taken.getsockname()[1]}))"
        outcome = await run(tmp_path, code)
    assert outcome.stderr.text.splitlines()[-1] == "ConnectionRefusedError: [Errno 111] Connection refused"


@pytest.mark.slow
async def test_a_program_that_runs_too_long_is_ended_with_all_its_children(tmp_path: Path) -> None:
    token = f"mark-{os.urandom(8).hex()}"
    grants = Grants(environment={"MARK": token})
    outcome = await run(tmp_path, CHILDREN % True + "import time; time.sleep(60)", grants, seconds=5)
    assert (outcome.ended, outcome.exit_code, outcome.stdout.text) == ("timeout", 137, "started\n")
    wait_until_none_has(token)


async def test_what_a_program_left_in_its_group_ends_with_it(tmp_path: Path) -> None:
    token = f"mark-{os.urandom(8).hex()}"
    outcome = await run(tmp_path, CHILDREN % False, Grants(environment={"MARK": token}))
    assert (outcome.exit_code, outcome.stdout.text) == (0, "started\n")
    wait_until_none_has(token)


@pytest.mark.slow
async def test_a_caller_that_gives_up_leaves_no_children(tmp_path: Path) -> None:
    token = f"mark-{os.urandom(8).hex()}"
    async with anyio.create_task_group() as tasks:
        code = CHILDREN % True + "import time; time.sleep(60)"
        tasks.start_soon(run, tmp_path, code, Grants(environment={"MARK": token}))
        with anyio.fail_after(WAIT):
            while len(processes_with(token)) < 3:  # noqa: ASYNC110  other processes set no events
                await anyio.sleep(0.02)
        tasks.cancel_scope.cancel()
    wait_until_none_has(token)


@pytest.mark.slow
async def test_output_without_end_ends_the_program(tmp_path: Path) -> None:
    outcome = await run(tmp_path, "while True: print('x' * 10_000)", output=1_000_000)
    assert (outcome.ended, outcome.exit_code) == ("output", 137)
    assert len(outcome.stdout.text) < 11_000
    assert outcome.stdout.omitted > 900_000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "ended", "limits"),
    [
        ("while True: pass", "cpu", {"cpu_seconds": 1}),
        ("open('large', 'wb').write(b'x' * 2_000_000)", "file_size", {"file_size": 1_000_000}),
        ("files = [open('/dev/null') for _ in range(100)]", "open_files", {"open_files": 50}),
        ("[open(str(n), 'wb').write(b'x' * 9**6) for n in range(9**6)]", "disk", {"disk": 5_000_000}),
    ],
)
async def test_limits_of_one_process_and_of_the_disk_hold(
    tmp_path: Path, code: str, ended: str, limits: dict[str, Any]
) -> None:
    outcome = await run(tmp_path, code, **limits)
    assert outcome.ended == ended, outcome
    assert outcome.exit_code != 0


ESCAPED = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(3)  # and keeps the streams of the program open
    os._exit(0)
os.wait()
"""


@pytest.mark.parametrize("when", ["it ends", "it is removed"])
async def test_a_program_that_is_given_up_when_it_ends_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    sandbox, begun, go_on = UnprotectedProcess(tmp_path / "agents"), asyncio.Event(), asyncio.Event()

    place, verb = (Bridge, "end") if when == "it ends" else (UnprotectedProcess, "watch")
    method = getattr(place, verb)

    async def hold(*arguments: Any) -> Any:
        begun.set()
        await go_on.wait()
        return await method(*arguments)

    monkeypatch.setattr(place, verb, hold)
    before, streams = traces(), streams_of_this_loop()
    running = asyncio.create_task(
        sandbox.run(Program(code=ESCAPED), make_home(tmp_path, PROCESS), ECHO, LIMITS)
    )
    with anyio.fail_after(WAIT):
        await begun.wait()
    for _ in range(3):
        running.cancel()
        await asyncio.sleep(0)
    go_on.set()
    with anyio.fail_after(WAIT), pytest.raises(asyncio.CancelledError):
        await running
    assert not sandbox._folders
    assert traces().has_nothing_beyond(before)
    assert streams_of_this_loop() == streams


def streams_of_this_loop() -> int:
    """How many are read by their number, whatever has that number by now."""
    loop: Any = asyncio.get_running_loop()
    return len(loop._selector.get_map())
