"""What a program can send through its bridge: whatever breaks a rule ends that program, and nothing else.

It does not use the runtime: it writes bytes to the descriptor, as a program that wants to do harm would.
"""

import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import Any, cast

import anyio
import pytest

from satchel.catalog import Snapshot
from satchel.config.settings import Settings
from satchel.errors import NotAllowedError, NotFoundError
from satchel.model import Call, Caller, CallResult, Json, Tool
from satchel.sandbox.limits import MIB
from satchel.verbs.privacy.boundary import Privacy
from satchel.verbs.requests import ProgramVerbs, Reach, Requests
from tests.fakes import make_tool
from tests.sandbox.hostile.ground import LIMITS, SHORT, Box
from tests.upstream.helpers import until

BRIDGE = """\
import json, os, socket, sys, time
bridge = sys.modules["satchel_guest"].bridge
def frame(body):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    return len(body).to_bytes(4, "big") + body
def send(*bodies):
    data = memoryview(b"".join(map(frame, bodies)))
    while data:
        data = data[os.write(bridge, data):]
def receive():
    def read(size):
        data = b""
        while len(data) < size:
            data += os.read(bridge, size - len(data)) or sys.exit("closed")
        return data
    return json.loads(read(int.from_bytes(read(4), "big")))
def ask(number, method="call_tool", **params):
    return {"id": number, "method": method, "params": params}
"""
WAIT = "\ntime.sleep(8)\n"


async def echo(method: str, params: Json) -> Any:
    return [method, params]


async def agree(method: str, params: Json) -> bool:
    return True


BREACHES = {
    "a request of another protocol": 'os.write(bridge, b"GET / HTTP/1.1\\r\\nHost: satchel\\r\\n\\r\\n")',
    "a frame of two gigabytes": 'os.write(bridge, b"\\x7f\\xff\\xff\\xff")',
    "a frame beyond the limit": 'os.write(bridge, (9 * 1024 * 1024).to_bytes(4, "big"))',
    "an empty frame": 'send(b"")',
    "a frame that is no JSON": 'send(b"{")',
    "a frame that is no text": 'send(b"\\xff\\xfe")',
    "a list": "send([])",
    "a number": "send(1)",
    "nothing": "send(None)",
    "a nest of a million lists": 'send(b"[" * 1_000_000)',
    "a nest of a million objects": "send(b'{\"a\":' * 1_000_000)",
    "a nest in a request": (
        'send(b\'{"id":1,"method":"x","params":{"a":\' + b"[" * 100_000 + b"]" * 100_000 + b"}}")'
    ),
    "a number without end": 'send(b"9" * 1_000_000)',
    "an id of a million digits": ('send(b\'{"method":"x","params":{},"id":\' + b"9" * 1_000_000 + b"}")'),
    "no number": 'send(b\'{"id":1,"method":"x","params":{"a":NaN}}\')',
    "an infinite number": 'send(b\'{"id":1,"method":"x","params":{"a":-Infinity}}\')',
    "a number that becomes infinite": 'send(b\'{"id":1,"method":"x","params":{"a":1e999}}\')',
    "no method": 'send({"id": 1, "params": {}})',
    "a method that is no text": 'send({"id": 1, "method": 5, "params": {}})',
    "no params": 'send({"id": 1, "method": "x"})',
    "params that are a list": 'send({"id": 1, "method": "x", "params": []})',
    "an answer": 'send({"id": 1, "result": {}})',
    "the same id twice": "send(ask(1), ask(1))",
    "an id that is smaller": "send(ask(5), ask(4))",
    "an id that is zero": "send(ask(0))",
    "an id that is negative": "send(ask(-1))",
    "an id that is true": "send(ask(True))",
    "an id with a fraction": "send(ask(1.5))",
    "an id that is a text": 'send(ask("1"))',
    "an id that is nothing": "send(ask(None))",
    "a message that nobody knows": 'send({"method": "stop", "params": {}})',
    "its begin again": 'send({"method": "begin", "params": {}})',
    "two ends": 'send(*2 * [{"method": "end", "params": {"result": 1}}])',
    "more than it may": "for number in range(1, 100): send(ask(number, text='x' * 1_000_000))",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BREACHES)
async def test_a_program_is_ended_that_sends(name: str, box: Box) -> None:
    outcome = await box.run(BRIDGE + BREACHES[name] + WAIT, replace(LIMITS, sent=5_000_000), agree)
    assert (outcome.ended, outcome.exit_code) == ("protocol", 137), outcome
    assert outcome.detail and outcome.detail.startswith("it sent ")
    assert len(outcome.detail) < 300
    assert not outcome.has_result


HARMLESS = {
    "half a frame": 'os.write(bridge, b"\\x00\\x00\\x01\\x00{")',
    "half a length": 'os.write(bridge, b"\\x00\\x00")',
    "its frames byte by byte": """
for byte in frame(ask(1)):
    os.write(bridge, bytes([byte]))
assert receive()["id"] == 1
""",
    "ids with gaps": "send(ask(7), ask(10 ** 99))\nassert receive()['id'] + receive()['id'] == 7 + 10 ** 99",
    "keys twice": """
send(b'{"id":9,"id":1,"method":"x","method":"y","params":{}}')
assert receive()["result"][0] == "y"
""",
    "a nest that is deep, but not too deep": """
nest = b"[" * 64 + b"]" * 64
send(b'{"id":1,"method":"x","params":{"a":' + nest + b"}}")
assert json.dumps(receive()["result"][1]["a"]).encode() == nest
""",
    "texts that are no texts": """
send(b'{"id":1,"method":"x","params":{"a":"\\\\ud800\\\\u0000"}}')
assert receive()["result"][1]["a"] == "\\ud800\\0"
""",
    "nothing, and closes it": "os.close(bridge)",
    "nothing, and closes half of it": "socket.socket(fileno=os.dup(bridge)).shutdown(socket.SHUT_WR)",
    "an end that lies": 'send({"method": "end", "params": {"ended": ["memory"], "exit_code": 9}})',
}


@pytest.mark.parametrize("name", HARMLESS)
async def test_a_program_may_send(name: str, box: Box) -> None:
    # Of a session the host must hear the end, and can't where the program spoke in between.
    is_lost = box.way == "session" and name in ("half a frame", "half a length", "an end that lies")
    outcome = await box.run(BRIDGE + HARMLESS[name], SHORT if is_lost else LIMITS, echo)
    if is_lost:
        ends = [("timeout", 137), ("protocol", 137), (None, 9)]
        assert (outcome.ended, outcome.exit_code) in ends, outcome
        return
    assert (outcome.ended, outcome.exit_code) == (None, 0), outcome
    assert not outcome.has_result


@pytest.mark.parametrize("depth", [64, 900, 940, 970, 980, 990, 1_000])
async def test_a_result_as_deep_as_a_frame_may_be_is_returned_or_refused(depth: int, box: Box) -> None:
    nest = "[" * depth + "]" * depth
    code = f"""send(b'{{"method":"end","params":{{"result":{nest}}}}}')"""
    outcome = await box.run(BRIDGE + code, LIMITS)
    assert outcome.ended in (None, "protocol")
    if box.way != "session":  # which then has two ends, and only one of them is heard
        assert depth > 64 or json.dumps(outcome.result) == nest, outcome


async def test_what_a_forked_process_leaves_is_not_the_result_of_the_program(box: Box) -> None:
    outcome = await box.run("""
import os
result = "child"
if os.fork():
    os.wait()
    result = "parent"
""")
    assert (outcome.ended, outcome.result) == (None, "parent"), outcome


def make_requests() -> Requests:
    """As for a real program. The agent may call demo.ask, and not demo.forbidden."""
    tools = {tool.wire_name: tool for tool in (make_tool({"name": "ask"}), make_tool({"name": "forbidden"}))}

    async def find_tool(name: str) -> Tool:
        if name not in tools:
            raise NotFoundError("tool", name)
        return tools[name]

    async def call_tool(call: Call) -> CallResult:
        if call.what.name == "forbidden":
            raise NotAllowedError(call.caller.agent, call.what.qualified_name)
        return CallResult(content=({"type": "text", "text": "answer"},))

    async def refuse(*asked: object) -> Json:
        raise NotFoundError("skill", str(asked[0]))

    async def save(ending: str, content: bytes) -> str:
        raise AssertionError((ending, content))

    verbs = ProgramVerbs(
        servers=cast("Any", NoServers()),
        tools=cast("Any", NoServers()),
        save_skill=refuse,
        promote_skill=refuse,
        privacy=Privacy(Settings),
    )
    reach = Reach(find_tool=find_tool, call=call_tool)
    return Requests(verbs, reach, Caller(agent="agent", execution="e"), save=save)


class NoServers:
    """The verbs of a project without servers."""

    def known(self) -> Snapshot:
        return Snapshot(())

    def list_all(self) -> Json:
        return {}

    async def find(self, *words: object, **options: object) -> Json:
        return {}

    async def read(self, tool: Tool, **options: object) -> Json:
        return {}

    async def find_everything(self, *words: object, **options: object) -> list[Json]:
        return []


async def test_a_program_calls_only_what_it_may(box: Box) -> None:
    requests = make_requests()
    names = ["demo__ask", "demo__forbidden", "../demo__ask", "demo__as\u212a", "demo.ask\0", "execute_code"]
    names += ["", "__init__"]
    outcome = await box.run(
        f"""{BRIDGE}
for number, name in enumerate({names!r}, 1):
    send(ask(number, name=name, arguments={{}}))
    answer = receive()
    print(name.encode(), answer.get("result") or answer["error"]["kind"])
""",
        LIMITS,
        requests.answer,
    )
    said = [line.rpartition(" ")[2] for line in outcome.stdout.text.splitlines()]
    assert said == ["answer", "permission", *["not_found"] * 4, "request", "not_found"]
    assert [use.status for use in requests.made][:3] == ["ok", "denied", "refused"]


async def test_what_makes_no_sense_is_refused_with_an_error_and_not_a_failure(box: Box) -> None:
    outcome = await box.run(
        f"""{BRIDGE}
methods = ["call_tool", "list_servers", "search_tools", "semantic_search", "describe_tool",
           "read_resource", "get_prompt", "reveal", "hide", "end", "begin", "answer", "_answer", "__class__",
           "aclose", "../x", "", "x" * 100_000]
values = [None, 0, -1, 1.5, True, 10 ** 400, "", "x" * 10_000, "\\ud800", [], [[]], {{}}, {{"a": None}}]
keys = ["name", "server", "tool", "arguments", "query", "limit", "offset", "detail", "uri", "text"]
number = 0
kinds = set()
for method in methods:
    for value in values:
        for params in ({{key: value for key in keys}}, {{"name": "demo__ask", "arguments": value}}, {{}}):
            number += 1
            send(ask(number, method, **params))
            answer = receive()
            assert answer["id"] == number
            if "error" in answer:
                kinds.add(answer["error"]["kind"])
                assert len(answer["error"]["message"]) < 30_000
print(sorted(kinds))
""",
        LIMITS,
        make_requests().answer,
    )
    assert outcome.exit_code == 0, outcome
    assert "internal" not in outcome.stdout.text


async def test_answers_go_to_the_program_that_asked(box: Box) -> None:
    async def answer(method: str, params: Json) -> Any:
        await anyio.sleep(params["seconds"])
        return params["secret"]

    found: dict[str, str] = {}

    async def run(secret: str) -> None:
        code = f"""{BRIDGE}
send(*(ask(number, secret={secret!r} + str(number), seconds=0.3 / number) for number in range(1, 6)))
print(sorted((answer["id"], answer["result"]) for answer in (receive() for number in range(5))))
"""
        found[secret] = (await box.run_only(code, LIMITS, answer)).stdout.text

    async with anyio.create_task_group() as tasks:
        for secret in ("a", "b", "c"):
            tasks.start_soon(run, secret)
    for secret, printed in found.items():
        assert printed == f"{[(number, f'{secret}{number}') for number in range(1, 6)]}\n"


@pytest.mark.slow
async def test_calls_in_flight_are_cancelled_when_their_program_is_ended(box: Box) -> None:
    begun, cancelled = [0], [0]

    async def answer(method: str, params: Json) -> None:
        if "begun" in params:
            await until(lambda: begun == [params["begun"]])
            return
        begun[0] += 1
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            cancelled[0] += 1
            raise

    limits = replace(LIMITS, seconds=5)
    await box.run(BRIDGE + "send(*(ask(number) for number in range(1, 20)))" + WAIT, limits, answer)
    assert begun == cancelled == [19]
    leaves = "send(*(ask(number) for number in range(1, 20)), ask(20, begun=38))\nreceive()"
    outcome = await box.run(BRIDGE + leaves, LIMITS, answer)
    assert outcome.exit_code == 0
    assert begun == cancelled == [38]


async def test_descriptors_can_not_be_sent_along(box: Box) -> None:
    async def answer(method: str, params: Json) -> Any:
        raise AssertionError("it was sent")

    outcome = await box.run(
        f"""{BRIDGE}
connection = socket.socket(fileno=os.dup(bridge))
try:
    socket.send_fds(connection, [frame(ask(1))], [os.open("/dev/null", os.O_RDONLY)])
except PermissionError:
    print("refused")
""",
        LIMITS,
        answer,
    )
    assert (outcome.exit_code, outcome.stdout.text) == (0, "refused\n"), outcome


@contextmanager
def growth_of_the_host() -> Generator[list[int]]:
    """The most memory that this process had, beyond what it has now, as a list of one."""

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

    most, is_over, before = [0], Event(), resident()

    def look() -> None:
        while not is_over.wait(0.01):
            most[0] = max(most[0], resident() - before)

    thread = Thread(target=look)
    thread.start()
    try:
        yield most
    finally:
        is_over.set()
        thread.join()


@pytest.mark.slow
async def test_answers_that_are_not_taken_do_not_pile_up(box: Box) -> None:
    async def answer(method: str, params: Json) -> str:
        await anyio.sleep(0.001)
        return "x" * MIB

    code = "send(*(ask(number) for number in range(1, 501)))\ntime.sleep(2)"
    with growth_of_the_host() as most:
        outcome = await box.run(BRIDGE + code, LIMITS, answer)
    assert outcome.exit_code == 0, outcome
    assert most[0] < 200 * MIB


@pytest.mark.slow
async def test_small_values_in_large_frames_do_not_fill_the_host(box: Box) -> None:
    async def answer(method: str, params: Json) -> None:
        await anyio.sleep_forever()

    with growth_of_the_host() as most:
        await box.run(
            f"""{BRIDGE}
for number in range(1, 6):
    send(b'{{"id":%d,"method":"x","params":{{"a":[' % number + b"[]," * 2_700_000 + b"1]}}}}")
time.sleep(1)
""",
            LIMITS,
            answer,
        )
    assert most[0] < 300 * MIB


@pytest.mark.slow
async def test_another_program_is_served_while_one_floods_its_bridge(box: Box) -> None:
    begun = anyio.Event()

    async def note(method: str, params: Json) -> Any:
        begun.set()
        return await echo(method, params)

    async with anyio.create_task_group() as tasks:
        flood = "number = 0\nwhile True:\n    number += 1\n    send(ask(number))"
        tasks.start_soon(box.run_only, BRIDGE + flood, replace(LIMITS, seconds=30, calls=10**7), note)
        with anyio.fail_after(60):
            await begun.wait()
        outcome = await box.run_only(BRIDGE + "send(ask(1, a=2))\nprint(receive()['result'])", LIMITS, echo)
        assert outcome.stdout.text == "['call_tool', {'a': 2}]\n"
        assert outcome.seconds < 15  # long before the flood ends
        tasks.cancel_scope.cancel()
