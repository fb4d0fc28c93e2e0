"""The host's end of the bridge, with a program of this process at the other end of a real socket."""

import asyncio
import json
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from satchel.errors import ArgumentError, NotAllowedError, ToolError
from satchel.model import Json
from satchel.sandbox.bridge import bridge as bridge_module
from satchel.sandbox.bridge.bridge import START, Bridge
from satchel.sandbox.bridge.frames import decode, encode
from satchel.sandbox.limits import Limits
from satchel.sandbox.sandbox import Answer
from satchel.support.charging import Host, Share, apart
from tests.upstream.helpers import until

pytestmark = pytest.mark.anyio

WAIT = 60  # seconds; only a hang reaches it
SOON = 0.3  # seconds for what must not happen


class Program:
    """The other end: what a runtime could send, and anything else."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def send(self, *frames: Any) -> None:
        """Frames, or bytes as they are."""
        for frame in frames:
            self._writer.write(frame if isinstance(frame, bytes) else encode(frame))
        await self._writer.drain()

    async def receive(self) -> Json:
        with anyio.fail_after(WAIT):
            size = int.from_bytes(await self._reader.readexactly(4), "big")
            return decode(await self._reader.readexactly(size))

    async def is_cut_off(self) -> bool:
        with anyio.fail_after(WAIT):
            try:
                while await self._reader.read(65536):
                    pass
            except ConnectionError:
                pass
            return True

    def close(self) -> None:
        self._writer.close()


class Ends(list[tuple[str, str | None]]):
    """Why the execution was ended, as often as it was."""

    def note(self, ended: str, detail: str | None) -> None:
        self.append((ended, detail))


async def echo(method: str, params: Json) -> Any:
    return {"method": method, **params}


@asynccontextmanager
async def bridged(
    answer: Answer = echo, limits: Limits | None = None, share: Share | None = None
) -> AsyncGenerator[tuple[Program, Bridge, Ends]]:
    ours, theirs = socket.socketpair()
    ends = Ends()
    bridge = Bridge(answer, limits or Limits(), ends.note, share=share)
    await asyncio.get_running_loop().create_unix_connection(lambda: bridge, sock=ours)
    program = Program(*await asyncio.open_unix_connection(sock=theirs))
    try:
        await program.send({"method": "ready", "params": {}})
        assert encode(await program.receive()) == START
        await program.send({"method": "begin", "params": {}})
        yield program, bridge, ends
    finally:
        await bridge.end()
        program.close()


def call(number: Any, method: str = "call_tool", **params: Any) -> Json:
    return {"id": number, "method": method, "params": params}


# Requests


async def test_a_request_is_answered_under_its_id() -> None:
    async with bridged() as (program, _, ends):
        await program.send(call(1, "list_servers", a=1), call(5, "call_tool", b="ü"))
        answers = [await program.receive(), await program.receive()]
        assert sorted(answers, key=lambda answer: answer["id"]) == [
            {"id": 1, "result": {"method": "list_servers", "a": 1}},
            {"id": 5, "result": {"method": "call_tool", "b": "ü"}},
        ]
        assert ends == []


async def test_answers_are_sent_as_they_come_not_in_the_order_of_the_requests() -> None:
    second_is_done = anyio.Event()

    async def answer(method: str, params: Json) -> Any:
        if method == "first":
            await second_is_done.wait()
        return method

    async with bridged(answer) as (program, _, _):
        await program.send(call(1, "first"), call(2, "second"))
        assert (await program.receive())["id"] == 2
        second_is_done.set()
        assert (await program.receive())["id"] == 1


async def test_a_request_under_way_is_cancelled_when_all_is_over() -> None:
    began, cancelled = anyio.Event(), anyio.Event()

    async def answer(method: str, params: Json) -> Any:
        began.set()
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.set()

    with anyio.fail_after(WAIT):
        async with bridged(answer) as (program, _, _):
            await program.send(call(1))
            await began.wait()
        assert cancelled.is_set()


@pytest.mark.parametrize(
    ("raised", "error"),
    [
        (
            NotAllowedError("reader", "drive.get"),
            {"kind": "permission", "message": "agent 'reader' may not call 'drive.get'"},
        ),
        (
            ToolError("drive", "get", "no paper", kind="tool", hint="buy some"),
            {"kind": "tool", "server": "drive", "tool": "get", "message": "no paper"},
        ),
        (
            ArgumentError("'limit' is wrong", hint="use 5"),
            {"kind": "request", "message": "'limit' is wrong; use 5"},
        ),
        (ArgumentError("'limit' is wrong"), {"kind": "request", "message": "'limit' is wrong"}),
        (KeyError("oops"), {"kind": "internal", "message": "Satchel failed: KeyError: 'oops'"}),
    ],
)
async def test_an_error_is_told_by_its_kind_and_the_program_goes_on(raised: Exception, error: Json) -> None:
    async def answer(method: str, params: Json) -> Any:
        if method == "fail":
            raise raised
        return "fine"

    async with bridged(answer) as (program, _, ends):
        await program.send(call(1, "fail"))
        assert await program.receive() == {"id": 1, "error": error}
        await program.send(call(2))
        assert await program.receive() == {"id": 2, "result": "fine"}
        assert ends == []


async def test_an_answer_that_can_not_be_sent_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridge_module, "_LARGEST_ANSWER", 1_000)

    async def answer(method: str, params: Json) -> Any:
        return {"set": {1, 2}, "large": "x" * 2_000}[method]

    async with bridged(answer) as (program, _, ends):
        await program.send(call(1, "set"))
        told = (await program.receive())["error"]
        assert told["kind"] == "internal"
        assert "set is not JSON serializable" in told["message"]
        await program.send(call(2, "large"))
        told = (await program.receive())["error"]
        assert told["kind"] == "limit"
        assert "at most 1,000" in told["message"]
        assert ends == []


# What breaks a rule

NESTED: Any = json.loads("[" * 600 + "]" * 600)


@pytest.mark.parametrize(
    "number", ["1", 1.0, True, None, [], {}, 0, -1, NESTED], ids=lambda value: str(value)[:9]
)
async def test_an_id_that_is_no_positive_number_ends_the_execution(number: Any) -> None:
    async with bridged() as (program, _, ends):
        await program.send(call(number))
        assert await program.is_cut_off()
        ((ended, detail),) = ends
        assert ended == "protocol"
        told = "nested too deep" if isinstance(number, list) and number else "an id that does not count up"
        assert told in (detail or "")


@pytest.mark.parametrize("number", [2, 1])
async def test_an_id_that_was_used_or_passed_ends_the_execution(number: int) -> None:
    calls: list[Any] = []

    async def answer(method: str, params: Json) -> Any:
        calls.append(params["n"])

    async with bridged(answer) as (program, _, ends):
        await program.send(call(2, n="first"))
        await program.receive()
        await program.send(call(number, n="second"))
        assert await program.is_cut_off()
        assert [ended for ended, _ in ends] == ["protocol"]
    assert calls == ["first"]


@pytest.mark.parametrize(
    ("frame", "detail"),
    [
        ({"id": 1, "params": {}}, "without a method and params"),
        ({"id": 1, "method": 5, "params": {}}, "without a method and params"),
        ({"id": 1, "method": "call_tool"}, "without a method and params"),
        ({"id": 1, "method": "call_tool", "params": []}, "without a method and params"),
        ({"method": "shutdown", "params": {}}, "a message that nobody expects: 'shutdown'"),
        (b"\x00\x00\x00\x02[]", "a frame that is not an object"),
        (b"\x00\x00\x00\x02{]", "a frame that is not JSON"),
        (b"\xff\xff\xff\xff", "a frame of 4,294,967,295 bytes"),
        (b"GET / HTTP/1.1\r\n\r\n", "a frame of 1,195,725,856 bytes"),
    ],
)
async def test_what_is_no_request_ends_the_execution_and_says_why(frame: Any, detail: str) -> None:
    async with bridged() as (program, _, ends):
        await program.send(frame)
        assert await program.is_cut_off()
        ((ended, told),) = ends
        assert ended == "protocol"
        assert detail in (told or "")


@pytest.mark.parametrize("word", ["ready", "begin"])
async def test_a_program_that_begins_or_ends_twice_is_ended(word: str) -> None:
    async with bridged() as (program, bridge, ends):
        await program.send(call(1))
        await program.receive()
        assert bridge.begun
        await program.send({"method": word, "params": {}})
        assert await program.is_cut_off()
        assert ends[0][0] == "protocol"
    async with bridged() as (program, bridge, ends):
        await program.send({"method": "end", "params": {}}, {"method": "end", "params": {"result": 1}})
        assert await program.is_cut_off()
        assert (ends[0][0], bridge.last_word) == ("protocol", {})


async def test_nothing_is_begun_before_the_box_says_that_it_is_ready() -> None:
    ours, theirs = socket.socketpair()
    bridge = Bridge(echo, Limits(), Ends().note)
    await asyncio.get_running_loop().create_unix_connection(lambda: bridge, sock=ours)
    theirs.setblocking(False)
    with pytest.raises(BlockingIOError):
        theirs.recv(1)
    theirs.send(encode({"method": "ready", "params": {}}))
    await asyncio.sleep(0.05)
    assert theirs.recv(100) == START
    assert not bridge.begun  # but only told to
    await bridge.end()
    theirs.close()


async def test_nothing_after_a_broken_rule_is_done() -> None:
    calls: list[Any] = []

    async def answer(method: str, params: Json) -> Any:
        calls.append(params["n"])

    async with bridged(answer) as (program, _, ends):
        await program.send(encode(call(1, n=1)) + encode(call(1, n=2)) + encode(call(3, n=3)))
        assert await program.is_cut_off()
        assert len(ends) == 1
    assert set(calls) <= {1}


async def test_more_than_may_be_sent_in_all_ends_the_execution() -> None:
    async with bridged(limits=Limits(sent=10_000)) as (program, _, ends):
        for number in range(1, 4):
            await program.send(call(number, text="x" * 3_000))
            await program.receive()
        assert ends == []
        await program.send(call(4, text="x" * 3_000))
        assert await program.is_cut_off()
        assert ends == [("protocol", "it sent more than 10,000 bytes through the bridge")]


# Limits of calls


async def test_calls_beyond_the_limit_are_answered_with_an_error_and_never_made() -> None:
    made: list[Any] = []

    async def answer(method: str, params: Json) -> Any:
        made.append(method)

    async with bridged(answer, Limits(calls=2)) as (program, _, ends):
        await program.send(*(call(number) for number in (1, 2, 3)), call(4, "list_servers"))
        answers = {row["id"]: row for row in [await program.receive() for _ in range(4)]}
        assert answers[3]["error"]["kind"] == "limit"
        assert "may make 2 calls" in answers[3]["error"]["message"]
        assert answers[4] == {"id": 4, "result": None}
        assert ends == []
    assert sorted(made) == ["call_tool", "call_tool", "list_servers"]


async def test_a_program_that_goes_on_calling_beyond_the_limit_is_ended() -> None:
    async with bridged(limits=Limits(calls=20)) as (program, _, ends):
        await program.send(*(call(number) for number in range(1, 121)))
        for _ in range(120):
            await program.receive()
        assert ends == []
        await program.send(call(121))
        assert await program.is_cut_off()
        assert ends == [("calls", None)]


async def test_a_program_that_asks_for_other_things_without_end_is_ended() -> None:
    async with bridged(limits=Limits(calls=2)) as (program, _, ends):
        await program.send(*(call(number, "search_tools") for number in range(1, 21)))
        for _ in range(20):
            await program.receive()
        assert ends == []
        await program.send(call(21, "search_tools"))
        assert await program.is_cut_off()
        assert ends == [("calls", None)]


async def test_calls_take_turns_so_that_only_so_many_are_under_way() -> None:
    under_way = most = 0
    full, go = anyio.Event(), anyio.Event()

    async def answer(method: str, params: Json) -> Any:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        if under_way == 3:
            full.set()
        await go.wait()
        under_way -= 1

    async with bridged(answer, Limits(calls_in_flight=3)) as (program, _, ends):
        await program.send(*(call(number) for number in range(1, 11)))
        with anyio.fail_after(WAIT):
            await full.wait()
        go.set()
        assert {(await program.receive())["id"] for _ in range(10)} == set(range(1, 11))
        assert most == 3
        assert ends == []


async def test_a_flood_of_calls_ends_the_execution() -> None:
    async def answer(method: str, params: Json) -> Any:
        await anyio.sleep_forever()

    async with bridged(answer, Limits(calls_in_flight=2)) as (program, _, ends):
        await program.send(*(call(number) for number in range(1, 41)))
        with pytest.raises(TimeoutError), anyio.fail_after(SOON):
            await program.receive()
        assert ends == []
        await program.send(call(41))
        assert await program.is_cut_off()
        assert ends == [("calls_in_flight", None)]


async def test_a_program_that_does_not_read_its_answers_gets_to_ask_no_more_until_it_does() -> None:
    made = 0

    async def answer(method: str, params: Json) -> Any:
        nonlocal made
        made += 1
        return "x" * 20_000

    count = 400
    requests = [call(number, text="x" * 20_000) for number in range(1, count + 1)]
    async with bridged(answer) as (program, _, ends):
        answered: set[int] = set()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(program.send, *requests)
            await until(lambda: made > 0)
            with anyio.move_on_after(SOON):
                while made < count:  # noqa: ASYNC110  nothing tells when it stays as it is
                    await anyio.sleep(0.01)
            assert 0 < made < count // 2
            answered |= {(await program.receive())["id"] for _ in range(count)}
        assert answered == set(range(1, count + 1))
        assert ends == []


# What requests cost


def raw(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


def many_values(number: int) -> bytes:
    """450 kB that take thirty megabytes once they are read."""
    filler = (b"{}," * 149_900)[:-1]
    return raw(b'{"id":%d,"method":"call_tool","params":{"a":[%b]}}' % (number, filler))


@pytest.mark.slow
async def test_requests_are_held_by_what_they_take_in_memory() -> None:
    begun: list[int] = []
    go_on = anyio.Event()

    async def answer(method: str, params: Json) -> Any:
        begun.append(len(params["a"]))
        await go_on.wait()

    async with bridged(answer) as (program, bridge, ends), anyio.create_task_group() as tasks:

        async def send() -> None:
            for number in range(1, 21):
                await program.send(many_values(number))

        tasks.start_soon(send)
        await until(lambda: len(begun) >= 2)
        await anyio.sleep(SOON)
        assert len(begun) == 2 and bridge._held < 70_000_000  # and not all twenty: nine megabytes as frames
        go_on.set()
        await until(lambda: len(begun) == 20)
        for _ in range(20):
            await program.receive()
        assert ends == [] and bridge._held == 0


async def test_all_programs_of_an_agent_hold_only_so_much_together() -> None:
    host = Host()
    begun: list[str] = []
    go_on = anyio.Event()

    async def answer(method: str, params: Json) -> Any:
        begun.append(method)
        await go_on.wait()

    async with (
        bridged(answer, share=host.share("agent")) as (one, _, _),
        bridged(answer, share=host.share("agent")) as (two, _, _),
        bridged(answer, share=host.share("agent")) as (three, _, _),
        bridged(answer, share=host.share("other")) as (other, _, _),
        anyio.create_task_group() as tasks,
    ):
        for program in (one, two):
            for number in (1, 2):
                tasks.start_soon(program.send, many_values(number))
        await until(lambda: len(begun) >= 3)
        assert host.share("agent").is_full
        await three.send(call(1, "a third program's"))
        await other.send(call(1, "another agent's"))
        await until(lambda: "another agent's" in begun)
        await anyio.sleep(SOON)
        assert "a third program's" not in begun
        go_on.set()
        await until(lambda: "a third program's" in begun)
        for program in (one, one, two, two, three, other):
            await program.receive()
    assert not host.share("agent")._held


async def test_what_a_program_that_was_cut_off_held_is_held_no_more() -> None:
    share = Host().share("agent")

    async def answer(method: str, params: Json) -> Any:
        await anyio.sleep_forever()

    async with bridged(answer, Limits(calls_in_flight=1), share) as (program, _, _):
        await program.send(*(call(number, x="y" * 1000) for number in range(1, 10)))
        await until(lambda: share._held > 9_000)
    assert share._held == 0


def compute() -> None:
    """For a moment."""
    for _ in range(200_000):
        pass


@pytest.mark.parametrize("place", ["the event loop", "a thread"])
async def test_the_time_that_its_requests_take_is_charged_to_a_program(place: str) -> None:
    async def answer(method: str, params: Json) -> Any:
        if place == "a thread":
            await apart(compute)
        else:
            compute()

    async with bridged(answer, Limits(cpu_seconds=0.2), Host().share("agent")) as (program, _, ends):
        with anyio.fail_after(WAIT):
            for number in range(1, 1_000):
                try:
                    await program.send(call(number, "semantic_search"))
                    await program.receive()
                except (asyncio.IncompleteReadError, ConnectionError):
                    break
        assert ends == [
            ("cpu", "its requests took more than 0.2 s of Satchel's processor time (cpu_seconds)")
        ]


async def test_answers_that_nobody_reads_pile_up_only_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridge_module, "_MOST_UNREAD", 2_000_000)
    at_once = anyio.Event()
    begun: list[str] = []

    async def answer(method: str, params: Json) -> Any:
        begun.append(method)
        await at_once.wait()
        return "x" * 600_000

    async with bridged(answer) as (program, bridge, ends):
        await program.send(*(call(number) for number in range(1, 11)))
        await until(lambda: len(begun) == 10)
        at_once.set()
        await until(lambda: not bridge._tasks)
        answers = [await program.receive() for _ in range(10)]
        kinds = [each["error"]["kind"] if "error" in each else "result" for each in answers]
        assert kinds.count("result") >= 3 and kinds.count("limit") >= 5, kinds
        assert ends == []


# The end


@pytest.mark.parametrize(
    ("word", "result"),
    [
        ({}, (False, None, 0)),
        ({"result": None}, (True, None, 4)),
        ({"result": {"a": "ü"}}, (True, {"a": "ü"}, 10)),
        ({"result": "x" * 98}, (True, "x" * 98, 100)),
        ({"result": "x" * 99}, (False, None, 101)),
    ],
)
async def test_the_result_is_what_the_program_said_last_unless_it_is_too_large(
    word: Json, result: tuple[bool, Any, int]
) -> None:
    async with bridged(limits=Limits(result=100)) as (program, bridge, _):
        assert bridge.result == (False, None, 0)
        await program.send({"method": "end", "params": word}, call(1))
        await program.receive()
        assert bridge.result == result


async def test_the_last_word_of_a_program_that_left_its_answers_unread_is_heard() -> None:
    made: list[str] = []

    async def answer(method: str, params: Json) -> Any:
        made.append(method)
        return "x" * 4_000_000

    async with bridged(answer) as (program, bridge, ends):
        await program.send(call(1, "first"))
        transport = bridge._transport
        assert transport is not None
        await until(lambda: not transport.is_reading())  # the host waits for the program to read
        await program.send({"method": "end", "params": {"result": "heard"}}, call(2, "too late"))
        program.close()
        with anyio.fail_after(WAIT):
            await bridge.closed
        assert bridge.result == (True, "heard", 7)
        assert made == ["first"]
        assert ends == []


async def test_a_program_that_is_gone_is_noticed_and_its_answers_are_dropped() -> None:
    go = anyio.Event()

    async def answer(method: str, params: Json) -> Any:
        await go.wait()
        return "x" * 100_000

    async with bridged(answer) as (program, bridge, ends):
        await program.send(call(1), call(2))
        program.close()
        with anyio.fail_after(WAIT):
            await bridge.closed
        go.set()
        await anyio.lowlevel.checkpoint()
        assert ends == []


async def test_a_program_that_reads_no_more_is_not_listened_to_for_as_long_as_it_sends() -> None:
    ours, theirs = socket.socketpair()
    ends = Ends()
    bridge = Bridge(echo, Limits(sent=20_000_000), ends.note)
    frame = encode(call(1_000, a=[{}] * 20_000))  # which takes longer to read than to send
    frames = b"".join(frame.replace(b"1000", b"%d" % number) for number in range(1_000, 1_500))

    def send() -> None:
        with suppress(OSError):  # nobody listens any more
            theirs.sendall(encode({"method": "ready", "params": {}}) + frames)

    with theirs:
        theirs.shutdown(socket.SHUT_RD)  # so that the first answer can't be sent
        await asyncio.get_running_loop().create_unix_connection(lambda: bridge, sock=ours)
        with anyio.fail_after(WAIT):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(anyio.to_thread.run_sync, send)
                await bridge.closed
        await bridge.end()
    assert ends == []
