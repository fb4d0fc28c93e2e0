"""Programs that are to do the same in both languages: what is promised of one is promised of the other.

Written against the servers of tests/servers: `good` is raw("good"), `memos` raw("resources"), `media`
raw("media"), with SETTINGS as satchel.yaml and SECRET_OF_HOST=secret in Satchel's environment. Left out is
what the languages must do differently: starting processes, which Deno has no permission for, and numbers
beyond 2**53.
"""

from dataclasses import dataclass, field
from textwrap import dedent
from typing import Any, Final

SETTINGS: Final = """
code_execution:
  timeout: 20
  max_timeout: 40
  sandbox: { max_calls: 30, memory_mb: 512 }
agents:
  default: {}
  reader: { allow: ["good"], deny: ["*.add"] }
"""
NONE: Final = "no result"
"""In place of a result, where there is to be none."""


@dataclass(frozen=True, kw_only=True)
class Both:
    """A program in both languages, and what is to come of it. None is for what is not looked at."""

    name: str
    python: str
    typescript: str
    stdout: str | None = ""
    result: Any = NONE
    exit_code: int | None = 0
    ended: str | None = None
    stderr: tuple[str, ...] | None = ()
    """Parts of it, in either language; it is empty where there are none here nor for one of them."""
    python_stderr: tuple[str, ...] = ()
    typescript_stderr: tuple[str, ...] = ()
    tools_called: tuple[tuple[str, str], ...] | None = ()
    """(tool, status) in order."""
    files: tuple[tuple[str, int], ...] | None = None
    """(path, size) of those that are reported."""
    truncated: tuple[str, ...] = ()
    agent: str = "default"
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    """Further arguments of `execute`."""

    def __post_init__(self) -> None:
        for name in ("python", "typescript"):
            object.__setattr__(self, name, dedent(getattr(self, name)).lstrip("\n"))


PROGRAMS: Final = (
    # Printing
    Both(
        name="prints",
        python="""
            print("a", 1)
            print()
            print("b")
        """,
        typescript="""
            console.log("a", 1);
            console.log();
            console.log("b");
        """,
        stdout="a 1\n\nb\n",
    ),
    Both(
        name="prints any character",
        python='print("grüße 名前 🎉 \\u0001")',
        typescript='console.log("grüße 名前 🎉 \\u0001");',
        stdout="grüße 名前 🎉 \x01\n",
    ),
    Both(
        name="prints to stderr",
        python="""
            import sys
            print("to stdout")
            print("to stderr", file=sys.stderr)
        """,
        typescript="""
            console.log("to stdout");
            console.error("to stderr");
        """,
        stdout="to stdout\n",
        stderr=("to stderr\n",),
    ),
    Both(
        name="prints too much",
        python='print("x" * 30_000)',
        typescript='console.log("x".repeat(30_000));',
        stdout=None,
        truncated=("stdout",),
    ),
    Both(
        name="does nothing",
        python="",
        typescript="",
    ),
    # Results
    Both(
        name="returns an object",
        python='result = {"a": {"b": [1]}}',
        typescript="export const result = { a: { b: [1] } };",
        result={"a": {"b": [1]}},
    ),
    Both(
        name="returns a list",
        python='result = [1, "a", None]',
        typescript='export const result = [1, "a", null];',
        result=[1, "a", None],
    ),
    Both(
        name="returns a text",
        python='result = "grüße 🎉"',
        typescript='export const result = "grüße 🎉";',
        result="grüße 🎉",
    ),
    Both(
        name="returns a number",
        python="result = 1.5",
        typescript="export const result = 1.5;",
        result=1.5,
    ),
    Both(
        name="returns a large whole number",
        python="result = 2**53 - 1",
        typescript="export const result = 2 ** 53 - 1;",
        result=9007199254740991,
    ),
    Both(
        name="returns true",
        python="result = True",
        typescript="export const result = true;",
        result=True,
    ),
    Both(
        name="returns nothing but says so",
        python="result = None",
        typescript="export const result = null;",
        result=None,
    ),
    Both(
        name="returns a lone half of a character",
        python='result = "\\ud83d"',
        typescript='export const result = "\\ud83d";',
        result="\ud83d",
    ),
    Both(
        name="returns what is no JSON",
        python="result = [lambda: 1]",
        typescript="export const result = [() => 1];",
        stderr=("`result` was not returned, because it is not JSON: ",),
    ),
    Both(
        name="returns what is no number",
        python='result = {"a": float("nan")}',
        typescript="export const result = { a: NaN };",
        stderr=("`result` was not returned, because it is not JSON: ",),
    ),
    Both(
        name="returns what contains itself",
        python="""
            result = []
            result.append(result)
        """,
        typescript="""
            export const result: unknown[] = [];
            result.push(result);
        """,
        stderr=("`result` was not returned, because it is not JSON: ", "ircular"),
    ),
    Both(
        name="returns more than is taken",
        python='result = "x" * 9_000_000',
        typescript='export const result = "x".repeat(9_000_000);',
        stderr=("`result` was not returned: it has 9,000,",),
    ),
    Both(
        name="returns more than is shown",
        python='result = "x" * 20_000',
        typescript='export const result = "x".repeat(20_000);',
        truncated=("result",),
    ),
    # How it ends
    Both(
        name="exits with a code",
        python="""
            import sys
            result = 1
            print("before")
            sys.exit(3)
            print("after")
        """,
        typescript="""
            globalThis.result = 1;
            console.log("before");
            Deno.exit(3);
            console.log("after");
        """,
        stdout="before\n",
        exit_code=3,
    ),
    Both(
        name="exits in peace",
        python="""
            import sys
            result = 1
            sys.exit(0)
        """,
        typescript="""
            globalThis.result = 1;
            Deno.exit(0);
        """,
        result=1,
    ),
    Both(
        name="raises",
        python="""
            print("before")
            raise ValueError("no luck")
        """,
        typescript="""
            console.log("before");
            throw new RangeError("no luck");
        """,
        stdout="before\n",
        exit_code=1,
        python_stderr=('File "main.py", line 2', "ValueError: no luck\n"),
        typescript_stderr=("RangeError: no luck\n", "    at main.ts:2:7\n"),
    ),
    Both(
        name="raises because of another error",
        python="""
            try:
                1 / 0
            except ZeroDivisionError as error:
                raise ValueError("outer") from error
        """,
        typescript="""
            try {
              BigInt(0.5);
            } catch (cause) {
              throw new Error("outer", { cause });
            }
        """,
        exit_code=1,
        python_stderr=("ZeroDivisionError", "direct cause", 'File "main.py", line 4', "ValueError: outer\n"),
        typescript_stderr=("Error: outer\n    at main.ts:4:9\nCaused by: RangeError: ",),
    ),
    Both(
        name="raises in a function that another awaits",
        python="""
            async def inner():
                raise ValueError("deep")
            async def outer():
                await inner()
            await outer()
        """,
        typescript="""
            async function inner() {
              await 0;
              throw new Error("deep");
            }
            await inner();
        """,
        exit_code=1,
        stderr=("deep\n",),
        python_stderr=('"main.py", line 2, in inner', '"main.py", line 4, in outer', '"main.py", line 5'),
        typescript_stderr=("at inner (main.ts:3:9)\n", "main.ts:5:1\n"),
    ),
    Both(
        name="is not the language",
        python="""
            x = 1
            y = = 2
        """,
        typescript="""
            const x = 1;
            const y = = 2;
        """,
        exit_code=1,
        python_stderr=('File "main.py", line 2', "SyntaxError: "),
        typescript_stderr=("SyntaxError: ", "at main.ts:2:11\n"),
    ),
    Both(
        name="imports what is not there",
        python="import servers.nobody",
        typescript="""
            import { x } from "./servers/nobody";
            x();
        """,
        exit_code=1,
        python_stderr=("ModuleNotFoundError: No module named 'servers.nobody'",),
        typescript_stderr=('Module not found "servers/nobody"', "main.ts:1:19"),
    ),
    Both(
        name="does not end",
        python="""
            while True:
                pass
        """,
        typescript="""
            while (true) {
              // on and on
            }
        """,
        exit_code=137,
        ended="timeout",
        stderr=None,
        options={"timeout": 1},
    ),
    Both(
        name="waits for ever for a tool",
        python='await call_mcp_tool("good.sleep", {"seconds": 60})',
        typescript='await callMCPTool("good.sleep", { seconds: 60 });',
        exit_code=137,
        ended="timeout",
        stderr=None,
        tools_called=(("good__sleep", "cancelled"),),
        options={"timeout": 5.5},  # the box and the runtime have to have started by then
    ),
    Both(
        name="takes all memory",
        python="""
            held = []
            while True:
                held.append(bytearray(16 << 20))
        """,
        typescript="""
            const held: Uint8Array[] = [];
            while (true) {
              held.push(new Uint8Array(16 << 20).fill(1));
            }
        """,
        exit_code=None,
        ended="memory",
        stderr=None,
    ),
    # Calls
    Both(
        name="calls by a wrapper",
        python="""
            from servers.good import echo
            print((await echo(text="wrapped")).text)
        """,
        typescript="""
            import { echo } from "./servers/good";
            console.log((await echo({ text: "wrapped" })).text);
        """,
        stdout="wrapped\n",
        tools_called=(("good__echo", "ok"),),
    ),
    Both(
        name="calls by one name without an import",
        python="""
            result = [
                await call_mcp_tool("good__echo", {"text": "a"}),
                await call_mcp_tool("good.count", {}) is None,
            ]
        """,
        typescript="""
            globalThis.result = [
              await callMCPTool("good__echo", { text: "a" }),
              await callMCPTool("good.count", {}) === null,
            ];
        """,
        result=[{"text": "a"}, False],
        tools_called=(("good__echo", "ok"), ("good__count", "ok")),
    ),
    Both(
        name="calls by the helper",
        python="""
            from helpers.call_mcp_tool import call_mcp_tool
            result = await call_mcp_tool("good__echo", {"text": "h"})
        """,
        typescript="""
            import { callMCPTool } from "./helpers/callMCPTool";
            export const result = await callMCPTool("good__echo", { text: "h" });
        """,
        result={"text": "h"},
        tools_called=(("good__echo", "ok"),),
    ),
    Both(
        name="calls by two names",
        python="""
            from satchel_runtime import call_tool
            result = await call_tool("good", "add", {"a": 2, "b": 3})
        """,
        typescript="""
            import { callTool } from "satchel-runtime";
            export const result = await callTool("good", "add", { a: 2, b: 3 });
        """,
        result={"sum": 5},
        tools_called=(("good__add", "ok"),),
    ),
    Both(
        name="calls one after the other",
        python="""
            from servers.good import add
            total = 0
            for number in range(1, 6):
                total = (await add(a=total, b=number)).sum
            print(total)
        """,
        typescript="""
            import { add } from "./servers/good";
            let total = 0;
            for (let number = 1; number < 6; number++) {
              total = (await add({ a: total, b: number })).sum;
            }
            console.log(total);
        """,
        stdout="15\n",
        tools_called=(("good__add", "ok"),) * 5,
    ),
    Both(
        name="calls twenty at once and gets their results in order",
        python="""
            import asyncio
            from servers.good import add
            rows = await asyncio.gather(*(add(a=number, b=1) for number in range(20)))
            result = [row.sum for row in rows]
        """,
        typescript="""
            import { add } from "./servers/good";
            const calls = Array.from({ length: 20 }, (_, number) => add({ a: number, b: 1 }));
            export const result = (await Promise.all(calls)).map((row) => row.sum);
        """,
        result=list(range(1, 21)),
        tools_called=(("good__add", "ok"),) * 20,
    ),
    Both(
        name="passes large numbers and any character",
        python=r"""
            from servers.good import add, echo
            sum = (await add(a=9007199254740990, b=1)).sum
            result = [sum, (await echo(text="名前 🎉 \n\t\"")).text]
        """,
        typescript=r"""
            import { add, echo } from "./servers/good";
            const { sum } = await add({ a: 9007199254740990, b: 1 });
            export const result = [sum, (await echo({ text: "名前 🎉 \n\t\"" })).text];
        """,
        result=[9007199254740991, '名前 🎉 \n\t"'],
        tools_called=(("good__add", "ok"), ("good__echo", "ok")),
    ),
    Both(
        name="leaves out an optional argument",
        python="""
            from servers.good import progress
            print(await progress(steps=2))
        """,
        typescript="""
            import { progress } from "./servers/good";
            console.log(await progress({ steps: 2, seconds: undefined }));
        """,
        stdout="2 steps\n",
        tools_called=(("good__progress", "ok"),),
    ),
    Both(
        name="gives null for an argument",
        python="""
            from satchel_runtime import ToolError
            try:
                await call_mcp_tool("good.progress", {"steps": 2, "seconds": None})
            except ToolError as error:
                print(error.kind)
        """,
        typescript="""
            import { ToolError } from "satchel-runtime";
            try {
              await callMCPTool("good.progress", { steps: 2, seconds: null });
            } catch (error) {
              console.log(error instanceof ToolError && error.kind);
            }
        """,
        stdout="arguments\n",
        tools_called=None,
    ),
    Both(
        name="gets a text from a tool that declares no type",
        python='print(await call_mcp_tool("good.sleep", {"seconds": 0}))',
        typescript='console.log(await callMCPTool("good.sleep", { seconds: 0 }));',
        stdout="slept 0 s\n",
        tools_called=(("good__sleep", "ok"),),
    ),
    Both(
        name="gets an image as a file",
        python="""
            image = await call_mcp_tool("media.image")
            result = [image["type"], len(open(image["path"], "rb").read())]
            import os
            os.unlink(image["path"])
        """,
        typescript="""
            const image = await callMCPTool("media.image");
            export const result = [image.type, Deno.readFileSync(image.path).length];
            Deno.removeSync(image.path);
        """,
        result=["image/png", 70],
        tools_called=(("media__image", "ok"),),
    ),
    # Calls that fail
    Both(
        name="catches what a tool reports",
        python="""
            from satchel_runtime import ToolError
            try:
                await call_mcp_tool("good.fail", {"message": "no paper"})
            except ToolError as error:
                result = [error.server, error.tool, error.kind, error.message, str(error)]
        """,
        typescript="""
            import { ToolError } from "satchel-runtime";
            try {
              await callMCPTool("good.fail", { message: "no paper" });
            } catch (error) {
              if (error instanceof ToolError) {
                globalThis.result = [error.server, error.tool, error.kind, error.reason, error.message];
              }
            }
        """,
        result=["good", "fail", "tool", "no paper", "good.fail: no paper"],
        tools_called=(("good__fail", "error"),),
    ),
    Both(
        name="does not catch what a tool reports",
        python="""
            from servers.good import fail
            await fail(message="no paper")
        """,
        typescript="""
            import { fail } from "./servers/good";
            await fail({ message: "no paper" });
        """,
        exit_code=1,
        stderr=("ToolError: good.fail: no paper\n",),
        python_stderr=('File "main.py", line 2',),
        typescript_stderr=("    at main.ts:2:1\n",),
        tools_called=(("good__fail", "error"),),
    ),
    Both(
        name="catches a refusal",
        python="""
            from servers.good import add
            try:
                await add(a=1, b=2)
            except PermissionError as error:
                print(error)
        """,
        typescript="""
            import { add } from "./servers/good";
            import { PermissionError } from "satchel-runtime";
            try {
              await add({ a: 1, b: 2 });
            } catch (error) {
              if (error instanceof PermissionError) console.log(error.message);
            }
        """,
        stdout="agent 'reader' may not call 'good.add'\n",
        tools_called=(("good__add", "denied"),),
        agent="reader",
    ),
    Both(
        name="does not catch a refusal",
        python='await call_mcp_tool("good.add", {"a": 1, "b": 2})',
        typescript='await callMCPTool("good.add", { a: 1, b: 2 });',
        exit_code=1,
        stderr=("PermissionError: agent 'reader' may not call 'good.add'\n",),
        tools_called=(("good__add", "denied"),),
        agent="reader",
    ),
    Both(
        name="calls a tool that is not there",
        python='await call_mcp_tool("good.ehco", {"text": "x"})',
        typescript='await callMCPTool("good.ehco", { text: "x" });',
        exit_code=1,
        stderr=("did you mean good.echo",),
        python_stderr=("satchel_runtime.WrongCallError: ",),
        typescript_stderr=("ToolError: ",),
        tools_called=None,
    ),
    Both(
        name="gives arguments that do not fit",
        python="""
            from satchel_runtime import ToolError
            try:
                await call_mcp_tool("good.echo", {"txet": "x"})
            except ToolError as error:
                print(error.kind, "found" if "unknown argument 'txet'" in error.message else error)
        """,
        typescript="""
            import { ToolError } from "satchel-runtime";
            try {
              await callMCPTool("good.echo", { txet: "x" });
            } catch (error) {
              if (error instanceof ToolError) {
                console.log(error.kind, error.reason.includes("unknown argument 'txet'") ? "found" : error);
              }
            }
        """,
        stdout="arguments found\n",
        tools_called=None,
    ),
    Both(
        name="makes more calls than it may",
        python="""
            for number in range(40):
                await call_mcp_tool("good.echo", {"text": "x"})
        """,
        typescript="""
            for (let number = 0; number < 40; number++) {
              await callMCPTool("good.echo", { text: "x" });
            }
        """,
        exit_code=1,
        ended="calls",
        stderr=("this program may make 30 calls",),
        tools_called=(("good__echo", "ok"),) * 30,
    ),
    # Other verbs
    Both(
        name="lists servers",
        python="""
            from satchel_runtime import list_servers
            servers = (await list_servers())["servers"]
            result = sorted(row["name"] for row in servers)
        """,
        typescript="""
            import { listServers } from "satchel-runtime";
            const { servers } = await listServers();
            export const result = servers.map((row: { name: string }) => row.name).sort();
        """,
        result=["good", "media", "memos"],
    ),
    Both(
        name="searches tools",
        python="""
            from satchel_runtime import search_tools
            found = await search_tools("add numbers", server="good", detail="name", limit=1)
            result = [row["short_name"] for row in found["tools"]]
        """,
        typescript="""
            import { searchTools } from "satchel-runtime";
            const found = await searchTools("add numbers", { server: "good", detail: "name", limit: 1 });
            export const result = found.tools.map((row: { short_name: string }) => row.short_name);
        """,
        result=["add"],
    ),
    Both(
        name="searches tools and what the agent has written down",
        python="""
            from pathlib import Path
            from satchel_runtime import semantic_search
            Path("/mnt/memory/holidays.md").write_text("The office is closed in August.")
            found = await semantic_search("when is the office closed")
            tools = [row for row in await semantic_search("add numbers") if row["kind"] == "tool"]
            result = [found[0]["kind"], found[0]["path"], 0 < found[0]["score"] <= 1, found[0]["text"]]
            result.append(tools[0]["path"].endswith("/add.py"))
        """,
        typescript="""
            import { semanticSearch } from "satchel-runtime";
            await Deno.writeTextFile("/mnt/memory/holidays.md", "The office is closed in August.");
            const [first] = await semanticSearch("when is the office closed", { limit: 5 });
            const found = await semanticSearch("add numbers");
            const tools = found.filter((row: { kind: string }) => row.kind === "tool");
            export const result = [
              first.kind, first.path, first.score > 0 && first.score <= 1, first.text,
              tools[0].path.endsWith("/add.py"),
            ];
        """,
        result=["memory", "/mnt/memory/holidays.md", True, "The office is closed in August.", True],
    ),
    Both(
        name="describes a tool",
        python="""
            from satchel_runtime import describe_tool
            described = await describe_tool("good.add")
            result = described["parameters"]["required"]
        """,
        typescript="""
            import { describeTool } from "satchel-runtime";
            export const result = (await describeTool("good.add")).parameters.required;
        """,
        result=["a", "b"],
    ),
    Both(
        name="reads a resource",
        python="""
            from servers.memos.resources import read
            print((await read("memo://text")).text)
        """,
        typescript="""
            import { read } from "./servers/memos/resources.ts";
            console.log((await read("memo://text")).text);
        """,
        stdout="a text\n",
        tools_called=(("memos.resource:memo://text", "ok"),),
    ),
    Both(
        name="reads a resource that is not there",
        python="""
            from satchel_runtime import ToolError, read_resource
            try:
                await read_resource("memos", "memo://none")
            except ToolError as error:
                print(error.kind)
        """,
        typescript="""
            import { readResource, ToolError } from "satchel-runtime";
            try {
              await readResource("memos", "memo://none");
            } catch (error) {
              if (error instanceof ToolError) console.log(error.kind);
            }
        """,
        stdout="request\n",
        tools_called=(("memos.resource:memo://none", "error"),),
    ),
    Both(
        name="gets a prompt",
        python="""
            from servers.memos.prompts import greet
            print((await greet(who="Ada")).text)
        """,
        typescript="""
            import { greet } from "./servers/memos/prompts.ts";
            console.log((await greet({ who: "Ada" })).text);
        """,
        stdout="Greet Ada in a friendly tone.\n",
        tools_called=(("memos.prompt:greet", "ok"),),
    ),
    # The box
    Both(
        name="writes a file and reads it again",
        python="""
            with open("/workspace/both.txt", "w") as file:
                file.write("hello")
            print(open("both.txt").read())
        """,
        typescript="""
            Deno.writeTextFileSync("/workspace/both.txt", "hello");
            console.log(Deno.readTextFileSync("both.txt"));
        """,
        stdout="hello\n",
        files=(("/workspace/both.txt", 5),),
    ),
    Both(
        name="looks around in the tree of wrappers",
        python="""
            import json
            index = json.load(open("/mnt/code-api/servers/index.json"))
            print(len(index["servers"]))
        """,
        typescript="""
            const text = Deno.readTextFileSync("/mnt/code-api/servers/index.json");
            console.log(JSON.parse(text).servers.length);
        """,
        stdout="3\n",
    ),
    Both(
        name="may not change the tree of wrappers",
        python="""
            try:
                open("/mnt/code-api/servers/x", "w")
            except OSError:
                print("refused")
        """,
        typescript="""
            try {
              Deno.writeTextFileSync("/mnt/code-api/servers/x", "");
            } catch {
              console.log("refused");
            }
        """,
        stdout="refused\n",
    ),
    Both(
        name="has a private directory for temporary files",
        python="""
            import os
            print("there" if os.path.exists("/tmp/left") else "not there")
            open("/tmp/left", "w").close()
        """,
        typescript="""
            import { existsSync } from "node:fs";
            console.log(existsSync("/tmp/left") ? "there" : "not there");
            Deno.writeTextFileSync("/tmp/left", "");
        """,
        stdout="not there\n",
    ),
    Both(
        name="sees no variable of the host",
        python="""
            import os
            result = [os.environ.get("SECRET_OF_HOST"), os.environ["HOME"], os.getcwd()]
        """,
        typescript="""
            export const result = [Deno.env.get("SECRET_OF_HOST") ?? null, Deno.env.get("HOME"), Deno.cwd()];
        """,
        result=[None, "/workspace", "/workspace"],
    ),
    Both(
        name="sees no file of the host",
        python="""
            try:
                open("/etc/passwd")
            except OSError:
                print("refused")
        """,
        typescript="""
            try {
              Deno.readTextFileSync("/etc/passwd");
            } catch {
              console.log("refused");
            }
        """,
        stdout="refused\n",
    ),
    Both(
        name="has no network",
        python="""
            import urllib.request
            try:
                urllib.request.urlopen("http://192.0.2.1", timeout=5)
            except OSError:
                print("refused")
        """,
        typescript="""
            try {
              await fetch("http://192.0.2.1");
            } catch {
              console.log("refused");
            }
        """,
        stdout="refused\n",
    ),
    # What models know from other programs
    Both(
        name="calls by two names",
        python="""
            print(await call_mcp_tool(server="good", tool="add", arguments={"a": 1, "b": 2}))
        """,
        typescript="""
            console.log(JSON.stringify(
              await callMCPTool({ server: "good", tool: "add", arguments: { a: 1, b: 2 } })));
        """,
        stdout=None,
        tools_called=(("good__add", "ok"),),
    ),
    Both(
        name="calls a custom tool by one name",
        python="""
            from satchel_runtime import call_custom_tool
            result = (await call_custom_tool("good.add", a=1, b=2))["sum"]
        """,
        typescript="""
            import { callCustomTool } from "satchel-runtime";
            result = (await callCustomTool("good.add", { a: 1, b: 2 })).sum;
        """,
        result=3,
        tools_called=(("good__add", "ok"),),
    ),
    Both(
        name="searches tools without an import",
        python="""
            found = search_tools(keyword="add two numbers", server="good", detail_level="name-only", limit=1)
            result = found["tools"][0]["name"]
        """,
        typescript="""
            const options = { server: "good", detail_level: "name-only" };
            const found = await search_tools({ keyword: "add two numbers", ...options });
            const same = await searchTools("add two numbers", options);
            result = found.tools[0].name === same.tools[0].name ? found.tools[0].name : same;
        """,
        result="good__add",
    ),
    Both(
        name="searches in some folders only",
        python="""
            from satchel_runtime import semantic_search
            found = semantic_search("add two numbers", search_paths=["servers/good"], top_k=1)
            result = [found[0].path.rpartition(".")[0], found[0].relevance_score == found[0].score,
                      semantic_search("add two numbers", search_paths=["tools/", "memory"])]
        """,
        typescript="""
            import { semanticSearch } from "satchel-runtime";
            const found = await semanticSearch("add numbers", { search_paths: ["servers/good"], top_k: 1 });
            result = [found[0].path.replace(/[.]\\w+$/, ""), found[0].relevance_score === found[0].score,
                      await semanticSearch("add two numbers", { search_paths: ["tools/", "memory"] })];
        """,
        result=["/mnt/code-api/servers/good/add", True, []],
    ),
    Both(
        name="looks into the folder of custom tools where there are none",
        python="""
            import os
            result = "index.json" in os.listdir("tools")
        """,
        typescript="""
            result = [...Deno.readDirSync("tools")].some((entry) => entry.name === "index.json");
        """,
        result=True,
    ),
    # Mistakes that models make
    Both(
        name="forgets to await a result",
        python="""
            from servers.good import add
            total = add(a=1, b=2)
            print(total["sum"])
        """,
        typescript="""
            import { add } from "./servers/good";
            const total = add({ a: 1, b: 2 });
            for (const part of total) console.log(part);
        """,
        exit_code=1,
        stderr=("hint: write await add(…)",),
        tools_called=None,
    ),
    Both(
        name="returns what it has not awaited",
        python="""
            from servers.good import add
            result = add(a=1, b=2)
        """,
        typescript="""
            import { add } from "./servers/good";
            result = add({ a: 1, b: 2 });
        """,
        stderr=("`result` was not returned",),
        python_stderr=("hint: write await add(…)",),
        typescript_stderr=("hint: write result = await …",),
        tools_called=None,
    ),
    Both(
        name="calls a tool without an import",
        python="await add(a=1, b=2)",
        typescript="await add({ a: 1, b: 2 });",
        exit_code=1,
        stderr=("hint: write ",),
        python_stderr=("from servers.good import add",),
        typescript_stderr=('import { add } from "./servers/good"',),
    ),
    Both(
        name="calls a tool by its wire name",
        python="await good__add(a=1, b=2)",
        typescript="await good__add({ a: 1, b: 2 });",
        exit_code=1,
        stderr=("hint: write ",),
        python_stderr=("from servers.good import add",),
        typescript_stderr=('import { add } from "./servers/good"',),
    ),
    Both(
        name="imports a tool in another spelling",
        python="""
            from servers.good import Add
            await Add(a=1, b=2)
        """,
        typescript="""
            import { Add } from "./servers/good";
            await Add({ a: 1, b: 2 });
        """,
        exit_code=1,
        stderr=("hint: did you mean add?",),
    ),
    Both(
        name="imports a server in another spelling",
        python="from servers.Good import add",
        typescript="""
            import { add } from "./servers/Good";
            await add({ a: 1, b: 2 });
        """,
        exit_code=1,
        python_stderr=("hint: did you mean servers.good?",),
        typescript_stderr=('hint: did you mean "./servers/good"?',),
    ),
    Both(
        name="imports a server alone",
        python="from good import add",
        typescript="""
            import { add } from "good";
            await add({ a: 1, b: 2 });
        """,
        exit_code=1,
        python_stderr=("hint: did you mean servers.good?",),
        typescript_stderr=('hint: did you mean "./servers/good"?',),
    ),
    Both(
        name="uses the runtime without an import",
        python="raise ToolError",
        typescript="throw new ToolError();",
        exit_code=1,
        python_stderr=("hint: write from satchel_runtime import ToolError",),
        typescript_stderr=('hint: write import { ToolError } from "satchel-runtime"',),
    ),
    Both(
        name="reads a file of the host",
        python='open("/etc/passwd")',
        typescript='Deno.readTextFileSync("/etc/passwd");',
        exit_code=1,
        stderr=("hint: a program sees /workspace, /mnt and /tmp, and what",),
    ),
    Both(
        name="reads a file that is only in the project",
        python='open("report.csv")',
        typescript='Deno.readTextFileSync("./data/report.csv");',
        exit_code=1,
        stderr=("hint: a program sees /workspace, /mnt and /tmp, and what",),
    ),
    Both(
        name="writes where nothing can be written",
        python='open("/mnt/code-api/x", "w")',
        typescript='Deno.writeTextFileSync("/mnt/code-api/x", "");',
        exit_code=1,
        stderr=("hint: only /workspace, /mnt/memory",),
    ),
    Both(
        name="reads a wrapper by another spelling",
        python='open("servers/Good/Add.py")',
        typescript='Deno.readTextFileSync("servers/Good/Add.ts");',
        exit_code=1,
        stderr=("hint: did you mean servers/good/add.",),
    ),
    Both(
        name="is in the other language",
        python='import { add } from "./servers/good";',
        typescript="from servers.good import add",
        exit_code=1,
        python_stderr=("hint: TypeScript needs language 'typescript'",),
        typescript_stderr=("hint: Python needs language 'python'",),
    ),
)
