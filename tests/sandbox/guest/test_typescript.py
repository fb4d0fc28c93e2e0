"""The TypeScript runtime, by programs that Deno runs against a generated tree."""

import json
from pathlib import Path
from typing import Any

import pytest

from satchel.model import Prompt, PromptArgument, Resource
from tests.codegen.helpers import generate_tree, make_server, run_deno

pytestmark = pytest.mark.slow
TEXT = {"type": "string"}
TOOLS: list[dict[str, Any]] = [
    {
        "name": "get_document",
        "inputSchema": {
            "type": "object",
            "properties": {"document_id": TEXT, "from": {"type": ["string", "null"]}, "reply-to": TEXT},
            "required": ["document_id"],
        },
        "outputSchema": {"type": "object", "properties": {"title": TEXT}, "required": ["title"]},
    },
    {
        "name": "count",
        "outputSchema": {
            "type": "object",
            "properties": {"result": {"type": "integer"}},
            "required": ["result"],
        },
    },
    {"name": "call", "inputSchema": {"type": "object", "properties": {"input": TEXT}}},
    {"name": "fail"},
]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("typescript") / "tree"
    drive = make_server(
        "Google Drive",
        TOOLS,
        resources=(Resource(server="Google Drive", uri="doc://{id}", name="doc"),),
        prompts=(
            Prompt(
                server="Google Drive",
                name="code-review",
                arguments=(PromptArgument(name="from", required=True), PromptArgument(name="to")),
            ),
        ),
    )
    generate_tree(place, [drive], languages=["typescript"])
    return place / "typescript"


PRELUDE = """
import { connect, NotConnectedError, PermissionError, ToolError } from "satchel-runtime";

const asked: unknown[] = [];
let answer: unknown = null;
const connection = {
  request(method: string, params: Record<string, unknown>): Promise<unknown> {
    asked.push([method, params]);
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
  },
};
connect(connection);
"""


def run(tree: Path, program: str, *, check: str = "--no-check") -> Any:
    """Run a program at the root of the tree; what its last line prints, as JSON."""
    file = tree / "program.ts"
    file.write_text(PRELUDE + program)
    done = run_deno(tree, "run", check, "--quiet", "--no-remote", "--no-prompt", str(file))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def sent(tool: str, arguments: dict[str, Any]) -> list[Any]:
    return ["call_tool", {"server": "Google Drive", "tool": tool, "arguments": arguments}]


def test_a_wrapper_sends_what_is_given_and_returns_what_comes(tree: Path) -> None:
    program = """
import { getDocument } from "./servers/google-drive";
answer = { title: "Plan", size: 3 };
const first = await getDocument({ document_id: "x" });
const title: string = first.title;
await getDocument({ document_id: "x", from: undefined, "reply-to": "a" });
await getDocument({ document_id: "x", from: null });
console.log(JSON.stringify([title, first, asked]));
"""
    title, first, asked = run(tree, program, check="--check")
    assert title == "Plan"
    assert first == {"title": "Plan", "size": 3}
    assert asked == [
        sent("get_document", {"document_id": "x"}),
        sent("get_document", {"document_id": "x", "reply-to": "a"}),
        sent("get_document", {"document_id": "x", "from": None}),
    ]


def test_a_wrapped_result_is_taken_out_where_there_is_one(tree: Path) -> None:
    program = """
import { count } from "./servers/google-drive/index.ts";
const got: unknown[] = [];
for (answer of [{ result: 3 }, { result: null }, { other: 1 }, 7, "text", null, [1]]) {
  got.push(await count());
}
answer = { result: 4 };
const next: number = (await count()) + 1;
console.log(JSON.stringify([got, next]));
"""
    assert run(tree, program) == [[3, None, {"other": 1}, 7, "text", None, [1]], 5]


def test_a_tool_may_be_called_call(tree: Path) -> None:
    program = """
import { call } from "./servers/google-drive";
answer = [1];
const got = await call({ input: "a" });
console.log(JSON.stringify([got, asked]));
"""
    assert run(tree, program) == [[1], [sent("call", {"input": "a"})]]


def test_errors_can_be_caught_and_told_apart(tree: Path) -> None:
    program = """
import { fail } from "./servers/google-drive";
const caught: unknown[] = [];
const failure = new ToolError("Google Drive", "fail", "no luck", "timeout");
for (answer of [failure, new PermissionError("not allowed")]) {
  try {
    await fail();
  } catch (error) {
    if (error instanceof ToolError) {
      caught.push([error.name, error.server, error.tool, error.reason, error.kind, error.message]);
    } else if (error instanceof PermissionError) {
      caught.push([error.name, error.message]);
    }
  }
}
console.log(JSON.stringify(caught));
"""
    assert run(tree, program) == [
        ["ToolError", "Google Drive", "fail", "no luck", "timeout", "Google Drive.fail: no luck"],
        ["PermissionError", "not allowed"],
    ]


def test_without_a_connection_every_call_is_rejected_with_a_hint(tree: Path) -> None:
    program = """
import { fail } from "./servers/google-drive";
import { callTool, callMCPTool, listServers } from "satchel-runtime";
connect(null);
const calls = [() => fail(), () => callTool("a", "b"), () => callMCPTool("a__b"), () => listServers()];
const told: unknown[] = [];
for (const call of calls) {
  let promise: Promise<unknown>;
  try {
    promise = call();
  } catch {
    told.push("thrown, not rejected");
    continue;
  }
  const error = await promise.catch((error) => error);
  told.push(error instanceof NotConnectedError && error.message.includes("connect("));
}
console.log(JSON.stringify(told));
"""
    assert run(tree, program) == [True, True, True, True]


def test_verbs_helpers_resources_and_prompts_send_their_requests(tree: Path) -> None:
    program = """
import { callMCPTool } from "./helpers/callMCPTool";
import type { JsonOrText } from "./helpers/types";
import { callTool, describeTool, listServers, saveSkill, searchTools } from "satchel-runtime";
import { read } from "./servers/google-drive/resources.ts";
import { codeReview } from "./servers/google-drive/prompts.ts";
import { CATALOG_HASH, SERVER } from "./servers/google-drive/version.ts";
const any: JsonOrText = await callMCPTool("a__b", { x: 1, y: undefined });
await callTool("a", "b", { x: null });
await listServers();
await searchTools("find", { limit: 3 });
await describeTool("a.b");
await saveSkill("n", "c", "d", { example: "e" });
answer = { contents: [{ uri: "u", text: "one" }, { uri: "v", blob: "AA==" }] };
const resource = await read("doc://1");
answer = { messages: [{ role: "user", content: { type: "text", text: "hello" } }] };
const prompt = await codeReview({ from: "a", to: undefined });
console.log(JSON.stringify([asked, resource.text, prompt.text, any, SERVER, CATALOG_HASH.length]));
"""
    asked, *rest = run(tree, program, check="--check")
    assert asked == [
        ["call_tool", {"name": "a__b", "arguments": {"x": 1}}],
        ["call_tool", {"server": "a", "tool": "b", "arguments": {"x": None}}],
        ["list_servers", {}],
        ["search_tools", {"query": "find", "limit": 3}],
        ["describe_tool", {"name": "a.b"}],
        [
            "save_skill",
            {"language": "typescript", "example": "e", "name": "n", "code": "c", "description": "d"},
        ],
        ["read_resource", {"server": "Google Drive", "uri": "doc://1"}],
        ["get_prompt", {"server": "Google Drive", "name": "code-review", "arguments": {"from": "a"}}],
    ]
    assert rest == ["one", "hello", None, "Google Drive", 64]


def test_resources_and_prompts_of_another_shape_have_no_text_and_survive(tree: Path) -> None:
    program = """
import { getPrompt, readResource } from "satchel-runtime";
const texts: string[] = [];
for (const wrong of [null, 3, "text", ["text"], [null], [{ text: 3 }], { a: 1 }]) {
  answer = { contents: wrong };
  texts.push((await readResource("a", "b")).text);
  answer = { messages: wrong };
  texts.push((await getPrompt("a", "b")).text);
  answer = { messages: [{ role: "user", content: wrong }] };
  texts.push((await getPrompt("a", "b")).text);
}
answer = null;
texts.push((await readResource("a", "b")).text, (await getPrompt("a", "b")).text);
console.log(JSON.stringify(texts));
"""
    assert run(tree, program) == [""] * 23


def test_a_server_exports_its_tools_and_nothing_else(tree: Path) -> None:
    program = """
import * as server from "./servers/google-drive";

const names = Object.keys(server).sort();
console.log(JSON.stringify(names));
"""
    assert run(tree, program) == ["call", "count", "fail", "getDocument"]
