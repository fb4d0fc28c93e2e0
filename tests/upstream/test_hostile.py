"""Servers that mean harm: what they send costs them their own connection, and nothing else."""

import json
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp_types import JSONRPCError, JSONRPCResponse

from satchel import open_satchel
from satchel.errors import ServerFailedError, ToolError
from satchel.upstream.pool import open_pool
from satchel.upstream.stdio import MAX_MESSAGE, read_message
from tests.projects import Project
from tests.servers import raw
from tests.upstream.helpers import QUICK, call, entry

pytestmark = pytest.mark.anyio

SCRIPT = """
import json, sys
answers = json.loads(sys.argv[1])
def send(message): print(json.dumps(message), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message: continue
    method, identity = message["method"], message["id"]
    if method == "initialize":
        send({"jsonrpc": "2.0", "id": identity, "result": {"protocolVersion": "2025-11-25",
              "capabilities": {"tools": {}, "prompts": {}, "resources": {}},
              "serverInfo": {"name": "hostile", "version": "1"}}})
    elif method in answers:
        send({"jsonrpc": "2.0", "id": identity, "result": answers[method]})
    else:
        send({"jsonrpc": "2.0", "id": identity, "error": {"code": -32601, "message": "no"}})
"""


def hostile(**answers: Any) -> dict[str, Any]:
    """A server that answers each method (`tools_list` for tools/list) with what it is told to."""
    methods: dict[str, Any] = {name.replace("_", "/", 1): answer for name, answer in answers.items()}
    for kind in ("tools", "prompts", "resources"):
        methods.setdefault(f"{kind}/list", {kind: []})
    return {"command": sys.executable, "args": ["-I", "-c", SCRIPT, json.dumps(methods)]}


ODD: list[dict[str, Any]] = [
    {"prompts_list": {"prompts": [{"name": "x", "arguments": 5}]}},
    {"prompts_list": {"prompts": [{"name": "x", "arguments": ["y", {"name": {}, "description": 5}]}]}},
    {"prompts_list": {"prompts": 5}},
    {"resources_list": {"resources": [{"uri": "x:y", "mimeType": {}, "size": "big", "name": []}]}},
    {"tools_list": {"tools": [{"name": "t", "inputSchema": {"required": 5, "properties": 7}}]}},
    {"tools_list": {"tools": [{"name": "\ud800\x1b", "inputSchema": {}, "title": [], "description": {}}]}},
    {"tools_list": {"tools": {"not": "a list"}}},
    {"tools_list": {}},
]


@pytest.mark.slow
@pytest.mark.parametrize("answers", ODD)
async def test_an_odd_listing_breaks_neither_the_catalog_nor_the_next_process(
    tmp_path: Path, answers: dict[str, Any]
) -> None:
    project = Project(tmp_path, {"hostile": hostile(**answers), "good": raw("good")})
    for _ in range(2):
        async with open_satchel(project.directory) as satchel:
            await satchel.servers.refresh()
            assert (await satchel.call("good.echo", {"text": "x"})).text == "x"
            assert len(satchel.list_servers()["servers"]) == 2


@pytest.mark.slow
async def test_a_schema_that_would_take_years_to_check_is_left_to_the_server(tmp_path: Path) -> None:
    steps: dict[str, Any] = {
        f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n - 1}"}, {"$ref": f"#/$defs/d{n - 1}"}]}
        for n in range(1, 40)
    }
    schema: dict[str, Any] = {"type": "object", "$defs": {"d0": {}, **steps}, "$ref": "#/$defs/d39"}
    answers: dict[str, Any] = {
        "tools_list": {"tools": [{"name": "t", "inputSchema": schema}]},
        "tools_call": {"content": []},
    }
    project = Project(tmp_path, {"hostile": hostile(**answers)})
    with anyio.fail_after(60):
        async with open_satchel(project.directory) as satchel:
            assert not (await satchel.call("hostile.t", {"a": 1})).is_error


@pytest.mark.slow
async def test_a_flood_of_questions_ends_the_connection(tmp_path: Path) -> None:
    code = (
        "import sys, json\n"
        "first = json.loads(sys.stdin.readline())\n"
        "n = 0\n"
        "while True:\n"
        "    n += 1\n"
        "    print(json.dumps({'jsonrpc': '2.0', 'id': n, 'method': 'ping'}), flush=True)\n"
    )
    good = entry("good", raw("good"), tmp_path)
    async with open_pool(QUICK) as pool:
        with pytest.raises(ServerFailedError, match="questions at once"):
            await pool.list_server(
                entry("flood", {"command": sys.executable, "args": ["-c", code]}, tmp_path)
            )
        assert (await pool.send(good, call("good", "echo", {"text": "x"}))).text == "x"


@pytest.mark.slow
async def test_a_message_beyond_the_limit_ends_the_connection(tmp_path: Path) -> None:
    server = entry("big", raw("big"), tmp_path)
    async with open_pool(QUICK) as pool:
        with pytest.raises(Exception, match="MiB"):
            await pool.send(server, call("big", "big", {"bytes": MAX_MESSAGE}))


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'{"jsonrpc": "1.0", "id": 1, "result": {}}',
        b'{"jsonrpc": "2.0", "id": true, "result": {}}',
        b'{"jsonrpc": "2.0", "id": 1, "result": []}',
        b'{"jsonrpc": "2.0", "id": 1, "error": 5}',
        b'{"jsonrpc": "2.0", "id": 1, "error": {"code": "x"}}',
        b'{"jsonrpc": "2.0", "method": 5}',
        b'{"jsonrpc": "2.0", "method": "x", "params": []}',
        b"[" * 100_000,
        b'{"jsonrpc": "2.0", "id": ' + b"9" * 5000 + b', "result": {}}',
        b"\xff\xfe",
    ],
)
def test_what_is_no_message_is_none(line: bytes) -> None:
    assert read_message(line) is None


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        (rb"\ud800", "\ufffd"),
        (rb"\uDFFF", "\ufffd"),
        (rb"\ud83d\ude00", "\U0001f600"),
        (rb"\ud83d\ud83d\ude00\ude00", "\ufffd\U0001f600\ufffd"),
        (rb"\\ud800", r"\ud800"),
        (rb"\\\ud800", "\\\ufffd"),
        (b"\xed\xa0\x80", "\ufffd"),
        (b"\xff", "\ufffd"),
    ],
)
def test_half_a_surrogate_pair_is_read_as_a_character_that_can_be_written(sent: bytes, read: str) -> None:
    message = read_message(b'{"jsonrpc": "2.0", "id": 1, "result": {"a%b": ["%b"]}}' % (sent, sent))
    assert isinstance(message, JSONRPCResponse)
    assert message.result == {f"a{read}": [read]}
    message.model_dump_json()


NESTED = "[" * 100_000 + "]" * 100_000
TOO_DEEP = [
    f'{{"jsonrpc": "2.0", "id": 7, "result": {{"a": {NESTED}}}}}',
    f'{{"id": 7, "jsonrpc": "2.0", "error": {NESTED}}}',
    f'{{"result": {{"id": 8, "a": {NESTED}}}, "jsonrpc": "2.0", "id": 7}}',
    f'{{"jsonrpc":"2.0","result":{{"a":{NESTED}}},"id":7}}',
    f'{{"result":{NESTED}, "id":7, "jsonrpc":"2.0"}} ',
    '{"jsonrpc": "2.0", "id": 7, "result": {"a": ' + "[" * 199 + "]" * 199 + "}}",
]


@pytest.mark.parametrize("line", TOO_DEEP, ids=range(len(TOO_DEEP)))
def test_an_answer_that_is_nested_too_deeply_is_an_error_for_whoever_waits_for_it(line: str) -> None:
    message = read_message(line.encode())
    assert isinstance(message, JSONRPCError)
    assert message.id == 7
    assert "nested more than 200 levels deep" in message.error.message


@pytest.mark.parametrize(
    "line",
    [
        f'{{"jsonrpc": "2.0", "id": 7, "method": "x", "params": {{"a": {NESTED}}}}}',
        f'{{"jsonrpc": "2.0", "method": "x", "params": {{"a": {NESTED}, "id": 7}}}}',
        f'{{"method": "x", "params": {NESTED}, "id": 7}}',
    ],
    ids=range(3),
)
def test_another_message_that_is_nested_too_deeply_is_none(line: str) -> None:
    assert read_message(line.encode()) is None


@pytest.mark.slow
async def test_a_call_whose_result_is_nested_too_deeply_fails_at_once(tmp_path: Path) -> None:
    server = entry("deep", raw("deep"), tmp_path)
    async with open_pool(QUICK) as pool:
        assert (await pool.send(server, call("deep", "deep", {"levels": 200}))).has_structured
        for levels in (201, 256, 5_000, 100_000):
            for last in (False, True):
                with anyio.fail_after(60), pytest.raises(ToolError, match="nested more than 200 levels"):
                    await pool.send(server, call("deep", "deep", {"levels": levels, "last": last}))
        assert (await pool.send(server, call("deep", "echo", {"text": "x"}))).text == "x"


def test_messages_of_every_kind_are_read() -> None:
    values: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "id": "a", "method": "x", "params": {"a": None}},
        {"jsonrpc": "2.0", "method": "notifications/x", "params": {}},
        {"jsonrpc": "2.0", "id": 1, "result": {"a": [1, None]}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -1, "message": "m", "data": {"x": 1}}},
    ]
    for value in values:
        message = read_message(json.dumps(value).encode())
        assert message is not None
        assert json.loads(message.model_dump_json(by_alias=True, exclude_unset=True)) == {
            **value,
            **({"params": value.get("params")} if "method" in value else {}),
        }
