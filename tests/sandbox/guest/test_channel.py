"""The runtime's connection over a socket, with a host that this test plays."""

import asyncio
import json
import random
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from satchel_runtime import NotConnectedError, ToolError
from satchel_runtime.channel import Channel

WAIT = 60  # seconds; only a hang reaches it
MEGABYTE = 1 << 20
GUEST = Path(__file__).parents[3] / "src/satchel/sandbox/guest/python"
Json = dict[str, Any]


class Host:
    """The other end. Everything it does blocks, and nothing for ever."""

    def __init__(self, way: socket.socket) -> None:
        way.settimeout(WAIT)
        self._way = way

    def receive(self) -> Json:
        return json.loads(self._exactly(int.from_bytes(self._exactly(4), "big")))

    def answer(self, request: Json, result: Any = None, **more: Any) -> None:
        self.send({"id": request["id"], **(more or {"result": result})})

    def send(self, frame: Json) -> None:
        body = json.dumps(frame).encode()
        self._way.sendall(len(body).to_bytes(4, "big") + body)

    def close(self) -> None:
        self._way.close()

    def _exactly(self, count: int) -> bytes:
        data = bytearray()
        while len(data) < count:
            part = self._way.recv(min(count - len(data), MEGABYTE))
            if not part:
                raise EOFError
            data += part
        return bytes(data)


@pytest.fixture
def ends() -> Iterator[tuple[Channel, Host]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield Channel(ours.fileno()), Host(theirs)


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(16) as threads:
        yield threads


def serve(host: Host, work: Callable[[Host], None]) -> threading.Thread:
    """Let a host do its part in a thread. It ends when the channel does."""

    def run() -> None:
        with suppress(EOFError, OSError):
            work(host)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def echo_in_groups(host: Host, *, group: int, count: int) -> None:
    """Answer requests with their own params, a group at a time in any order."""
    chance = random.Random(count)
    for _ in range(count // group):
        requests = [host.receive() for _ in range(group)]
        chance.shuffle(requests)
        for request in requests:
            host.answer(request, request["params"])


async def ask(channel: Channel, *values: Any) -> list[Any]:
    async with asyncio.timeout(WAIT):
        return await asyncio.gather(*(channel.request("call_tool", {"value": value}) for value in values))


def test_a_request_says_its_method_and_params_and_gets_its_answer(ends: tuple[Channel, Host]) -> None:
    channel, host = ends
    seen: list[Json] = []

    def work(host: Host) -> None:
        for answer in ({"a": [1, None]}, "text", None):
            seen.append(host.receive())
            host.answer(seen[-1], answer)

    serve(host, work)
    assert channel.request_blocking("list_servers", {}) == {"a": [1, None]}
    assert asyncio.run(ask(channel, "ü\ud800")) == ["text"]
    assert channel.request_blocking("x", {}) is None
    assert seen[0] == {"id": 1, "method": "list_servers", "params": {}}
    assert seen[1] == {"id": 2, "method": "call_tool", "params": {"value": "ü\ud800"}}


def test_answers_out_of_order_reach_whoever_asked(ends: tuple[Channel, Host]) -> None:
    channel, host = ends
    serve(host, lambda host: echo_in_groups(host, group=50, count=50))
    assert asyncio.run(ask(channel, *range(50))) == [{"value": number} for number in range(50)]


def test_threads_that_block_each_get_their_own_answer(
    ends: tuple[Channel, Host], threads: ThreadPoolExecutor
) -> None:
    channel, host = ends
    serve(host, lambda host: echo_in_groups(host, group=8, count=400))

    # Eight are always waiting, so that every group becomes full.
    def ask_often(number: int) -> list[Any]:
        return [channel.request_blocking("x", {"n": [number, step]}) for step in range(50)]

    assert list(threads.map(ask_often, range(8), timeout=WAIT)) == [
        [{"n": [number, step]} for step in range(50)] for number in range(8)
    ]


def test_two_event_loops_and_a_blocking_thread_share_one_connection(
    ends: tuple[Channel, Host], threads: ThreadPoolExecutor
) -> None:
    channel, host = ends
    serve(host, lambda host: echo_in_groups(host, group=1, count=500))

    def run_loop(first: int) -> list[Any]:
        return asyncio.run(ask(channel, *range(first, first + 200)))

    loops = [threads.submit(run_loop, first) for first in (0, 1_000)]
    blocking = threads.submit(lambda: [channel.request_blocking("x", {"value": n}) for n in range(100)])
    for first, loop in zip((0, 1_000), loops, strict=True):
        assert loop.result(WAIT) == [{"value": number} for number in range(first, first + 200)]
    assert blocking.result(WAIT) == [{"value": number} for number in range(100)]


def test_one_loop_after_another_can_use_it(ends: tuple[Channel, Host]) -> None:
    channel, host = ends
    serve(host, lambda host: echo_in_groups(host, group=1, count=6))
    for number in range(3):
        assert asyncio.run(ask(channel, number)) == [{"value": number}]
        assert channel.request_blocking("x", {"n": number}) == {"n": number}


def test_a_blocking_request_inside_of_a_loop_leaves_the_others_their_answers(
    ends: tuple[Channel, Host],
) -> None:
    channel, host = ends
    serve(host, lambda host: echo_in_groups(host, group=3, count=3))

    async def main() -> list[Any]:
        waiting = [asyncio.create_task(channel.request("x", {"n": number})) for number in (1, 2)]
        await asyncio.sleep(0)
        third = channel.request_blocking("x", {"n": 3})  # takes the answers of all three
        async with asyncio.timeout(WAIT):
            return [*await asyncio.gather(*waiting), third]

    assert asyncio.run(main()) == [{"n": 1}, {"n": 2}, {"n": 3}]


def test_large_requests_of_several_threads_do_not_get_mixed_up(
    ends: tuple[Channel, Host], threads: ThreadPoolExecutor
) -> None:
    channel, host = ends
    serve(host, lambda host: echo_in_groups(host, group=4, count=4))

    def ask_much(letter: str) -> bool:
        return channel.request_blocking("x", {"value": letter * MEGABYTE}) == {"value": letter * MEGABYTE}

    assert list(threads.map(ask_much, "abcd", timeout=WAIT)) == [True] * 4


@pytest.mark.parametrize("blocking", [True, False])
def test_a_large_request_while_the_host_sends_a_large_answer_gets_stuck_nowhere(
    ends: tuple[Channel, Host], threads: ThreadPoolExecutor, blocking: bool
) -> None:
    channel, host = ends
    large = "x" * (3 * MEGABYTE)

    def work(host: Host) -> None:
        first = host.receive()
        host.answer(first, large)  # until this has gone out, nothing more is read
        second = host.receive()
        host.answer(second, len(second["params"]["value"]))

    serve(host, work)
    if blocking:
        first = threads.submit(channel.request_blocking, "x", {})
        second = threads.submit(channel.request_blocking, "x", {"value": large})
        # Whichever was the first to be sent.
        assert {first.result(WAIT) == large, second.result(WAIT) == large} == {True, False}
        return

    async def main() -> list[Any]:
        async with asyncio.timeout(WAIT):
            return [*await asyncio.gather(channel.request("x", {}), channel.request("x", {"value": large}))]

    assert asyncio.run(main()) == [large, len(large)]


def test_a_request_that_was_given_up_does_not_disturb_the_next(ends: tuple[Channel, Host]) -> None:
    channel, host = ends

    def work(host: Host) -> None:
        first, second = host.receive(), host.receive()
        host.answer(first, "late")
        host.send({"id": 4711, "result": "nobody asked"})
        host.answer(second, "fine")

    serve(host, work)

    async def main() -> Any:
        given_up = asyncio.create_task(channel.request("x", {}))
        await asyncio.sleep(0)
        given_up.cancel()
        async with asyncio.timeout(WAIT):
            return await channel.request("x", {})

    assert asyncio.run(main()) == "fine"


# Errors


def test_an_error_is_raised_as_what_it_is(ends: tuple[Channel, Host]) -> None:
    channel, host = ends
    told = {"kind": "timeout", "server": "drive", "tool": "get", "message": "no answer"}

    def work(host: Host) -> None:
        host.answer(host.receive(), error={"kind": "permission", "message": "agent 'x' may not"})
        host.answer(host.receive(), error=told)
        host.answer(host.receive(), error={"kind": "limit", "message": "enough"})

    serve(host, work)
    with pytest.raises(PermissionError, match="agent 'x' may not"):
        channel.request_blocking("x", {})
    with pytest.raises(ToolError, match=r"drive\.get: no answer") as caught:
        channel.request_blocking("x", {})
    assert (caught.value.kind, caught.value.server, caught.value.tool) == ("timeout", "drive", "get")
    with pytest.raises(ToolError, match=r"^enough$") as caught:
        channel.request_blocking("x", {})
    assert caught.value.kind == "limit"


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (float("nan"), ValueError, "Out of range float values are not JSON compliant"),
        (float("inf"), ValueError, "not JSON compliant"),
        ({1, 2}, TypeError, "set is not JSON serializable"),
    ],
)
def test_what_is_no_json_is_refused_before_anything_is_sent(
    ends: tuple[Channel, Host], value: Any, error: type[Exception], message: str
) -> None:
    channel, host = ends
    with pytest.raises(error, match=message):
        channel.request_blocking("call_tool", {"arguments": {"a": value}})
    serve(host, lambda host: host.answer(host.receive(), "fine"))
    assert channel.request_blocking("x", {}) == "fine"


def test_a_connection_that_closes_ends_every_request_with_an_error(
    ends: tuple[Channel, Host], threads: ThreadPoolExecutor
) -> None:
    channel, host = ends
    waiting = [threads.submit(channel.request_blocking, "x", {}) for _ in range(3)]
    looped = threads.submit(lambda: asyncio.run(ask(channel, 1)))
    for _ in range(4):
        host.receive()
    host.close()
    for request in (*waiting, looped):
        with pytest.raises(NotConnectedError, match="closed"):
            request.result(WAIT)
    with pytest.raises(NotConnectedError, match="closed"):
        channel.request_blocking("x", {})
    with pytest.raises(NotConnectedError, match="closed"):
        asyncio.run(ask(channel, 1))


def test_a_connection_that_closed_unnoticed_is_told_to_the_next_request(ends: tuple[Channel, Host]) -> None:
    channel, host = ends
    host.close()
    with pytest.raises(NotConnectedError, match="closed"):
        channel.request_blocking("x", {})


def test_a_host_that_goes_without_reading_is_told_as_closed(
    ends: tuple[Channel, Host], threads: ThreadPoolExecutor
) -> None:
    channel, host = ends
    small = threads.submit(channel.request_blocking, "x", {})
    host._exactly(1)  # the rest is never read, so the kernel resets the connection
    host.close()
    with pytest.raises(NotConnectedError, match="closed"):
        small.result(WAIT)


def test_a_host_that_goes_in_the_middle_of_a_large_request_is_told_as_closed(
    ends: tuple[Channel, Host], threads: ThreadPoolExecutor
) -> None:
    channel, host = ends
    large = threads.submit(channel.request_blocking, "x", {"value": "x" * (8 * MEGABYTE)})
    host._exactly(MEGABYTE)
    host.close()
    with pytest.raises(NotConnectedError, match="closed"):
        large.result(WAIT)


def test_a_process_that_the_program_forked_can_not_use_its_connection() -> None:
    code = f"""
import os, socket, sys
sys.path.insert(0, {str(GUEST)!r})
from satchel_runtime import NotConnectedError
from satchel_runtime.channel import Channel
ours, theirs = socket.socketpair()
channel = Channel(ours.fileno())
if os.fork() == 0:
    try:
        channel.request_blocking("x", {{}})
    except NotConnectedError as error:
        print(error, flush=True)
    os._exit(0)
os.wait()
theirs.setblocking(False)
try:
    theirs.recv(1)
except BlockingIOError:
    print("nothing was sent")
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=WAIT, check=True
    )
    assert done.stdout.splitlines() == [
        "only the program's first process can call tools, not one that it forked",
        "nothing was sent",
    ]


def test_threads_whose_first_calls_coincide_share_one_connection() -> None:
    """Each would count its requests from one, and the host ends a program that uses a number twice."""
    code = f"""
import socket, sys, threading
sys.path.insert(0, {str(GUEST)!r})
import satchel_guest
ours, theirs = socket.socketpair()
satchel_guest.bridge = ours.fileno()
from satchel_runtime import connection
assert "satchel_runtime.channel" not in sys.modules  # while it is imported, all threads are on their way
sys.setswitchinterval(1e-6)
start = threading.Barrier(16)
found = []
def find():
    start.wait()
    found.append(connection())
threads = [threading.Thread(target=find) for _ in range(16)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(found), len(set(map(id, found))))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=WAIT, check=True
    )
    assert done.stdout == "16 1\n"
