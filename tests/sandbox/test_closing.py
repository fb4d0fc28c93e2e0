"""What ends while something else begins, and what is closed while something still ends."""

import asyncio
import json
import os
import signal
import struct
import sys
from collections.abc import AsyncGenerator, Coroutine, Generator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from satchel.errors import ClosedError, SandboxError
from satchel.model import Json
from satchel.sandbox.backends.bubblewrap import zygote as zygotes
from satchel.sandbox.backends.bubblewrap.boxes import Bubblewrap
from satchel.sandbox.backends.bubblewrap.ready import ReadyBoxes
from satchel.sandbox.bridge.local import open_bridge
from satchel.sandbox.jobs import Job
from satchel.sandbox.limits import Limits
from satchel.sandbox.running.box import Box
from satchel.sandbox.running.disk import alone
from satchel.sandbox.running.processes import descendants
from satchel.sandbox.sandbox import Program, Session
from tests.sandbox.backends.bubblewrap.test_ready import LIMITS, Ground, kill_and_wait, opened
from tests.sandbox.helpers import ECHO, echo, make_home
from tests.sandbox.running.test_sessions import Place
from tests.upstream.helpers import alive, until

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

WAIT = 60  # seconds; only a hang reaches it


class Held:
    """The removal of boxes, which begins and then waits until it may go on."""

    def __init__(self) -> None:
        self.begun, self.go_on = asyncio.Event(), asyncio.Event()
        self.removed: list[Box] = []

    async def until_begun(self) -> None:
        with anyio.fail_after(WAIT):
            await self.begun.wait()

    async def is_awaited_by(self, closing: Coroutine[Any, Any, None]) -> None:
        """Whoever closes everything waits for what is being removed."""
        task = asyncio.create_task(closing)
        await asyncio.wait([task], timeout=0.2)
        assert not task.done()
        self.go_on.set()
        with anyio.fail_after(WAIT):
            await task
        assert self.removed


@contextmanager
def held(pool: ReadyBoxes, process: int | None = None) -> Generator[Held]:
    """Hold the removal of the box with this first process, or of all of them."""
    held = Held()
    remove = pool._boxes.remove

    async def wait_and_remove(box: Box) -> None:
        if process in (None, box.started.process.pid):
            held.begun.set()
            await held.go_on.wait()
        await remove(box)
        held.removed.append(box)

    pool._boxes.remove = wait_and_remove
    try:
        yield held
    finally:
        held.go_on.set()


async def begin_to_empty(ground: Ground, held: Held) -> None:
    """As if the only stock had not been used for long, until the removal of its box has begun."""
    (stock,) = ground.pool._stocks.values()
    idle, ground.pool._idle = ground.pool._idle, 0
    ground.pool._rest(stock)
    await held.until_begun()
    ground.pool._idle = idle


# A pool


async def test_a_program_that_begins_while_a_pool_is_emptied_runs_to_its_end(tmp_path: Path) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def answer(method: str, params: Json) -> None:
        begun.set()
        await go_on.wait()

    async with opened(tmp_path, size=1) as ground:
        zygote, ready = await ground.warm()
        with held(ground.pool, ready) as removal:
            await begin_to_empty(ground, removal)
            code = 'await call_mcp_tool("x", {})\nresult = 7'
            program = asyncio.create_task(ground.result(code, answer))
            with anyio.fail_after(WAIT):
                await begun.wait()
            removal.go_on.set()
            await until(lambda: not alive(zygote))
            go_on.set()
            assert await program == 7


async def test_boxes_that_are_prepared_while_a_pool_is_emptied_are_kept(tmp_path: Path) -> None:
    async with opened(tmp_path, size=1) as ground:
        zygote, ready = await ground.warm()
        prepare = ground.pool._prepare
        prepared, put = asyncio.Event(), asyncio.Event()

        async def prepare_and_wait(stock: Any, job: Job) -> Box:
            box = await prepare(stock, job)
            prepared.set()
            await put.wait()
            return box

        with held(ground.pool, ready) as removal:
            await begin_to_empty(ground, removal)
            ground.pool._prepare = prepare_and_wait
            assert await ground.result("result = 7") == 7
            with anyio.fail_after(WAIT):
                await prepared.wait()
            removal.go_on.set()
            await until(lambda: not alive(zygote))
            put.set()
            await ground.settle()
            assert len(ground.pool.processes()) == 2
            assert not set(ground.pool.processes()) & {zygote, ready}


async def test_a_zygote_that_can_not_be_launched_leaves_no_descriptor(tmp_path: Path) -> None:
    boxes, before = Bubblewrap(), len(os.listdir("/proc/self/fd"))

    async def launch(*arguments: Any, **options: Any) -> Any:
        raise SandboxError("bwrap can't be started")

    boxes.launch = launch
    with pytest.raises(SandboxError, match="can't be started"):
        await zygotes.open_zygote(boxes, make_home(tmp_path), LIMITS)
    assert len(os.listdir("/proc/self/fd")) == before


def test_an_event_loop_that_closes_while_a_box_is_removed_leaves_no_descriptor(tmp_path: Path) -> None:
    boxes, before = Bubblewrap(), len(os.listdir("/proc/self/fd"))

    async def begin_to_remove() -> None:
        box = await boxes.make(boxes.job(Program(code="")), make_home(tmp_path), LIMITS)
        removing = asyncio.create_task(boxes.remove(box))
        await asyncio.sleep(0)  # it has begun
        await asyncio.sleep(0)
        assert not removing.done()

    asyncio.run(begin_to_remove())
    asyncio.run(boxes.aclose())
    assert len(os.listdir("/proc/self/fd")) == before


async def test_a_pool_that_is_closed_waits_until_it_is_empty(tmp_path: Path) -> None:
    async with opened(tmp_path, size=1) as ground:
        _, ready = await ground.warm()
        with held(ground.pool, ready) as removal:
            await begin_to_empty(ground, removal)
            await removal.is_awaited_by(ground.pool.aclose())


async def test_boxes_that_have_ended_may_be_taken_out_while_others_are(tmp_path: Path) -> None:
    async with opened(tmp_path, size=2) as ground:
        _, *ready = await ground.warm()
        (stock,) = ground.pool._stocks.values()
        await kill_and_wait(ready, [])
        with held(ground.pool) as removal:
            burying = asyncio.create_task(ground.pool._bury(stock))
            await removal.until_begun()
            taking = asyncio.create_task(ground.pool._take(stock, ground.pool._boxes.job(Program(code=""))))
            await asyncio.sleep(0)
            assert not list(stock.boxes())
            removal.go_on.set()
            with anyio.fail_after(WAIT):
                assert await taking is None
                await burying
        assert len(removal.removed) == 2


async def test_a_box_whose_removal_is_given_up_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path, size=1) as ground:
        await ground.warm()
        (stock,) = ground.pool._stocks.values()
        box = stock.ready["python"].popleft()
        wait, begun, go_on = box.started.process.wait, asyncio.Event(), asyncio.Event()

        async def wait_longer() -> int:
            begun.set()
            await go_on.wait()
            return await wait()

        monkeypatch.setattr(box.started.process, "wait", wait_longer)
        removing = asyncio.create_task(ground.pool._boxes.remove(box))
        with anyio.fail_after(WAIT):
            await begun.wait()
        for _ in range(3):
            removing.cancel()
            await asyncio.sleep(0)
        go_on.set()
        with anyio.fail_after(WAIT), pytest.raises(asyncio.CancelledError):
            await removing
        assert box.started.is_closed


async def test_a_zygote_that_hangs_is_retired_once_however_many_wait_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path, size=1) as ground:
        zygote, ready = await ground.warm()
        (stock,) = ground.pool._stocks.values()
        await kill_and_wait([ready], [])
        for process in (zygote, *descendants(zygote)):
            os.kill(process, signal.SIGSTOP)
        monkeypatch.setattr(zygotes, "_PATIENCE", 0.5)
        results = await asyncio.gather(*(ground.result(f"result = {number}") for number in range(3)))
        assert results == [0, 1, 2]
        assert [each and each.pid for each in stock.retired] == [zygote]
        monkeypatch.undo()
        await ground.settle()
        assert zygote in ground.pool.processes()  # others may still be in its boxes


# Sessions


def is_in_use(ground: Ground) -> bool:
    with alone(ground.workspace.files.parent) as is_alone:
        return not is_alone


@pytest.mark.parametrize("times", [1, 3])
async def test_a_session_whose_caller_gives_up_while_it_ends_leaves_nothing(
    tmp_path: Path, times: int
) -> None:
    async with opened(tmp_path, size=0) as ground:
        session = await ground.pool.open_session("python", ground.workspace, LIMITS)
        (stock,) = ground.pool._stocks.values()
        with held(ground.pool) as removal:
            code = "import os\nos._exit(3)"
            program = asyncio.create_task(session.run(Program(code=code), ECHO, LIMITS))
            await removal.until_begun()
            assert (is_in_use(ground), stock.running) == (True, 1)
            for _ in range(times):
                program.cancel()
                await asyncio.sleep(0)
            removal.go_on.set()
            with anyio.fail_after(WAIT), pytest.raises(asyncio.CancelledError):
                await program
            assert (is_in_use(ground), stock.running, len(removal.removed)) == (False, 0, 1)


@asynccontextmanager
async def placed(directory: Path) -> AsyncGenerator[Place]:
    place = Place(directory)
    try:
        yield place
    finally:
        with anyio.fail_after(WAIT):
            await place.sessions.aclose()
            await place.pool.aclose()


async def test_sessions_that_are_closed_wait_for_one_that_nobody_used(tmp_path: Path) -> None:
    async with placed(tmp_path) as place:
        with held(place.pool) as removal:
            place.idle = 0
            handle = await place.open()
            await removal.until_begun()
            assert not place.is_open(handle)
            await removal.is_awaited_by(place.sessions.aclose())


async def test_sessions_that_are_closed_wait_for_one_that_was_found_dead(tmp_path: Path) -> None:
    async with placed(tmp_path) as place:
        handle = await place.open()
        await place.run(handle, "x = 1")
        with held(place.pool) as removal:
            place.sessions.find(handle, "ann").kept.is_alive = False
            assert not place.is_open(handle)
            await removal.until_begun()
            await removal.is_awaited_by(place.sessions.aclose())


async def test_a_session_that_is_made_while_all_are_closed_is_closed_as_well(tmp_path: Path) -> None:
    async with placed(tmp_path) as place:
        made, go_on = asyncio.Event(), asyncio.Event()
        kept: list[Session] = []

        async def make() -> Session:
            kept.append(await place.make())
            made.set()
            await go_on.wait()
            return kept[0]

        opening = asyncio.create_task(place.sessions.open("ann", "python", make))
        with anyio.fail_after(WAIT):
            await made.wait()
            await place.sessions.aclose()
            go_on.set()
            with pytest.raises(ClosedError):
                await opening
        assert not kept[0].is_alive
        with pytest.raises(ClosedError):
            await place.sessions.open("ann", "python", make)
        assert len(kept) == 1


async def test_a_session_ends_though_whoever_ends_it_gives_up(tmp_path: Path) -> None:
    async with placed(tmp_path) as place:
        handle = await place.open()
        await place.run(handle, "x = 1")
        (stock,) = place.pool._stocks.values()
        ending = asyncio.create_task(place.sessions.end(handle, "ann"))
        await asyncio.sleep(0)
        ending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await ending
        assert not place.is_open(handle)
        await place.sessions.aclose()
        assert stock.running == 0


# The bridge for scripts

SCRIPT = """
import json, socket, struct, sys
token, _, path = sys.argv[1].partition("@")
way = socket.socket(socket.AF_UNIX)
way.connect(path)
def send(**frame):
    data = json.dumps(frame).encode()
    way.sendall(struct.pack(">I", len(data)) + data)
send(method="hello", params={"token": token})
way.recv(100)
send(id=1, method="call_tool", params={})
way.recv(100)
"""


@pytest.mark.parametrize("is_killed", [True, False])
async def test_the_calls_of_a_script_end_with_it_and_the_bridge_waits_for_them(
    tmp_path: Path, is_killed: bool
) -> None:
    called, cancelled, may_end = asyncio.Event(), asyncio.Event(), asyncio.Event()
    ended: list[str] = []

    async def answer(method: str, params: Json) -> None:
        called.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
            await may_end.wait()  # a server is told, which takes a while, and nobody cancels that
            for _ in range(10):
                await asyncio.sleep(0)
            ended.append(method)

    async with AsyncExitStack() as scripts:
        async with open_bridge(tmp_path / "socket", answer, Limits(), print) as address:
            process = await anyio.open_process([sys.executable, "-c", SCRIPT, address])
            script = await scripts.enter_async_context(process)
            try:
                with anyio.fail_after(WAIT):
                    await called.wait()
                    if is_killed:
                        script.kill()
                        await cancelled.wait()
            finally:
                may_end.set()
        assert ended == ["call_tool"]


async def test_a_script_that_says_who_it_is_after_the_bridge_was_closed_is_not_served(tmp_path: Path) -> None:
    async with open_bridge(tmp_path / "socket", echo, Limits(), print) as address:
        token, _, path = address.partition("@")
        stream = await anyio.connect_unix(path)
        await asyncio.sleep(0.1)  # it has been accepted
    hello = json.dumps({"method": "hello", "params": {"token": token}}).encode()
    async with stream:
        with anyio.fail_after(WAIT), pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
            await stream.send(struct.pack(">I", len(hello)) + hello)
            await stream.receive()
