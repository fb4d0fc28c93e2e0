"""The TypeScript guest: real Deno processes, with a host that this test plays."""

import json
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import anyio
import pytest
from deno import find_deno_bin

from satchel.model import Json
from satchel.sandbox.bridge.local import open_bridge
from satchel.sandbox.jobs import job_of
from satchel.sandbox.limits import Limits
from satchel.sandbox.sandbox import Grants, Program
from tests.codegen.helpers import generate_tree, make_servers, run_deno
from tests.sandbox.guest.test_channel import Host

pytestmark = pytest.mark.slow
WAIT = 30  # seconds; only a hang reaches it
GUEST = Path(__file__).parents[3] / "src/satchel/sandbox/guest/typescript"
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOLS = {"google-drive": [{"name": "get_document", "inputSchema": TEXT, "outputSchema": TEXT}]}
Answer = Callable[[Json], Json]


@dataclass(kw_only=True)
class Run:
    """What came of a process: what it printed, what it asked, and what it said about its end."""

    code: int = 0
    stdout: str = ""
    stderr: str = ""
    requests: list[Json] = field(default_factory=list[Json])
    ends: list[Json] = field(default_factory=list[Json])

    @property
    def end(self) -> Json | None:
        return self.ends[-1] if self.ends else None


class Box:
    """The directories of a box, without a box: what is absolute in the flags lies below a directory here."""

    def __init__(self, directory: Path, tree: Path) -> None:
        self.directory = directory
        self.program = directory / "program"
        self.workspace = directory / "workspace"
        self.program.mkdir(parents=True)
        self.workspace.mkdir()
        for name in ("servers", "helpers"):
            (self.program / name).symlink_to(tree / name)
        (self.program / "satchel-runtime").symlink_to(GUEST / "satchel-runtime")
        shutil.copy(GUEST / "satchel-guest/program.json", self.program / "deno.json")

    @property
    def environment(self) -> dict[str, str]:
        return {"DENO_DIR": str(self.directory / "deno"), "NO_COLOR": "1", "HOME": str(self.workspace)}

    def flags(self, kind: str) -> list[str]:
        job = job_of(Program(code="", language="typescript", check=kind == "check"), Grants())
        listed = [part for part in job.command if part.startswith("--")]
        replaced = {"/program": self.program, "/workspace": self.workspace, "/opt/satchel": GUEST}
        return [self._here(flag, replaced) for flag in listed]

    def _here(self, flag: str, replaced: dict[str, Path]) -> str:
        name, _, value = flag.partition("=")
        parts = value.split(",")
        for old, new in replaced.items():
            parts = [str(new) + part.removeprefix(old) if part.startswith(old) else part for part in parts]
        return f"{name}={','.join(parts)}" if value else name

    def check(self, text: str) -> subprocess.CompletedProcess[str]:
        file = self.program / "main.ts"
        file.write_text(text)
        return subprocess.run(
            [find_deno_bin(), "check", *self.flags("check"), str(file)],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=WAIT,
            check=False,
        )

    def start(self) -> "Guest":
        return Guest(self)


class Guest:
    """A process that is ready to run a program."""

    def __init__(self, box: Box) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            command = [find_deno_bin(), "run", *box.flags("run"), str(GUEST / "satchel-guest/run.ts")]
            self.process = subprocess.Popen(
                [*command, str(theirs.fileno()), str(box.program / "main.ts")],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=box.workspace,
                env=box.environment,
                pass_fds=[theirs.fileno()],
            )
        self.host = Host(ours)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()
        self.host.close()

    def finish(self) -> Run:
        stdout, stderr = self.process.communicate(timeout=WAIT)
        return Run(code=self.process.returncode, stdout=stdout.decode(), stderr=stderr.decode())


def echo(request: Json) -> Json:
    return {"result": request["params"].get("arguments")}


def fail_with(kind: str, message: str, **names: str) -> Answer:
    return lambda _: {"error": {"kind": kind, "message": message, **names}}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("guest") / "tree"
    generate_tree(place, make_servers(TOOLS), languages=["typescript"])
    return place / "typescript"


@pytest.fixture
def box(tmp_path: Path, tree: Path) -> Box:
    return Box(tmp_path / "box", tree)


def run(box: Box, *texts: str, session: bool = False, answer: Answer = echo) -> Run:
    """Run a program, or a session of several."""
    waiting = list(texts)
    requests: list[Json] = []
    begun: list[Json] = []
    ends: list[Json] = []
    with box.start() as guest:
        assert guest.host.receive() == {"method": "ready", "params": {}}

        def serve() -> None:
            with suppress(EOFError, OSError):
                start_next()
                while True:
                    take(guest.host.receive())

        def start_next() -> None:
            if waiting:
                guest.host.send({"program": waiting.pop(0), **({"session": True} if session else {})})
            else:
                guest.host.close()

        def take(frame: Json) -> None:
            if "id" in frame:
                requests.append(frame)
                guest.host.answer(frame, **answer(frame))
            elif frame["method"] == "begin":
                assert not begun
                begun.append(frame["params"])
            else:
                assert begun
                assert frame["method"] == "end"
                ends.append(frame["params"])
                if session:
                    start_next()

        serving = threading.Thread(target=serve, daemon=True)
        serving.start()
        done = guest.finish()
        serving.join(WAIT)
    done.requests, done.ends = requests, ends
    return done


# Starting


def test_a_program_that_is_already_there_runs_after_an_empty_start(box: Box) -> None:
    (box.program / "main.ts").write_text("console.log('there', Deno.args.length);")
    with box.start() as guest:
        assert guest.host.receive() == {"method": "ready", "params": {}}
        guest.host.send({})
        assert guest.finish() == Run(stdout="there 0\n")


def test_a_host_that_goes_before_the_start_leaves_nothing_running(box: Box) -> None:
    with box.start() as guest:
        guest.host.receive()
        guest.host.close()
        assert guest.finish() == Run(code=125)


def test_what_is_printed_arrives_whole_and_without_colours(box: Box) -> None:
    done = run(
        box, 'console.log("grüße 🎉", { a: [1] });\nconsole.error("oops");\nconsole.log("x".repeat(300_000));'
    )
    assert (done.code, done.stderr) == (0, "oops\n")
    assert done.stdout == f"grüße 🎉 {{ a: [ 1 ] }}\n{'x' * 300_000}\n"


# Imports and calls


def test_wrappers_helpers_and_the_runtime_are_imported_by_every_spelling(box: Box) -> None:
    done = run(
        box,
        """
import { getDocument } from "./servers/google-drive";
import { getDocument as second } from "servers/google-drive";
import { getDocument as third } from "./servers/google-drive/getDocument.ts";
import { callMCPTool as byHelper } from "./helpers/callMCPTool";
import { callMCPTool as byHelperToo } from "helpers/callMCPTool";
import { callMCPTool as byRuntime, callTool, ToolError } from "satchel-runtime";
import type { JsonOrText } from "./helpers/types";
import { join } from "path";
const any: JsonOrText = await callMCPTool("a__b", { a: 1, b: undefined });
export const result = [
  await getDocument({ text: "wrapped" }), await callTool("a", "b", { n: null }), any, join("a", "b"),
  second === getDocument, third === getDocument, byHelper === byHelperToo, byHelper === byRuntime,
  byRuntime === callMCPTool, typeof ToolError,
];
""",
    )
    assert (done.code, done.stderr) == (0, "")
    values = [{"text": "wrapped"}, {"n": None}, {"a": 1}, "a/b", True, True, True, True, True, "function"]
    assert done.ends == [{"result": values}]
    assert [request["id"] for request in done.requests] == [1, 2, 3]
    assert done.requests[1] == {
        "id": 2,
        "method": "call_tool",
        "params": {"server": "google-drive", "tool": "get_document", "arguments": {"text": "wrapped"}},
    }


def test_the_type_checker_knows_what_a_program_imports_and_has_without_an_import(box: Box) -> None:
    fine = box.check(
        """
import { getDocument } from "./servers/google-drive";
import { ToolError } from "satchel-runtime";
import { callMCPTool as helper } from "helpers/callMCPTool";
const text: string = (await getDocument({ text: "x" })).text;
globalThis.result = [text, await callMCPTool<number>("a__b", { x: 1 }), helper, ToolError];
"""
    )
    assert (fine.returncode, fine.stderr) == (0, "")
    assert box.check('console.log(await callMCPTool("a__b"));').returncode == 0
    wrong = box.check(
        'import { getDocument } from "./servers/google-drive";\nawait getDocument({ txet: 1 });'
    )
    assert wrong.returncode == 1
    assert "'txet' does not exist in type" in wrong.stderr


@pytest.mark.parametrize("name", ["https://deno.land/std/path/mod.ts", "npm:chalk", "jsr:@std/path", "chalk"])
def test_what_would_be_downloaded_is_refused_with_a_hint(box: Box, name: str) -> None:
    done = run(box, f'\nimport x from "{name}";\nx();')
    assert done.code == 1
    assert "main.ts:2:15" in done.stderr
    assert "hint: nothing can be downloaded here" in done.stderr


def test_many_calls_are_in_flight_and_each_gets_its_own_answer(box: Box) -> None:
    held: list[Json] = []
    with box.start() as guest:
        guest.host.receive()
        text = "Promise.all(Array.from({ length: 50 }, (_, n) => callMCPTool('a__b', { n })))"
        guest.host.send({"program": f"export const result = (await {text}).map((row) => row.n);"})
        assert guest.host.receive() == {"method": "begin", "params": {}}
        held = [guest.host.receive() for _ in range(50)]
        for request in reversed(held):
            guest.host.answer(request, request["params"]["arguments"])
        assert guest.host.receive() == {"method": "end", "params": {"result": list(range(50))}}
        assert guest.finish().code == 0


def test_large_requests_and_answers_pass(box: Box) -> None:
    call = "await callMCPTool('a__b', { text: 'ü'.repeat(3_000_000) })"
    done = run(box, f"console.log(({call}).text.length);")
    assert (done.stdout, done.stderr) == ("3000000\n", "")


def test_what_is_not_json_is_not_sent(box: Box) -> None:
    done = run(
        box,
        """
export const result: string[] = [];
for (const value of [1n, NaN, () => 1, new Map(), new Uint8Array(2)]) {
  await callMCPTool("a__b", { value }).catch((error) => result.push(`${error}`));
}
""",
    )
    assert done.requests == []
    assert [row.partition(" is not")[0].partition(" are not")[0] for row in done.ends[0]["result"]] == [
        "TypeError: a bigint",
        "TypeError: NaN",
        "TypeError: a function",
        "TypeError: a Map",
        "TypeError: bytes",
    ]


def test_a_connection_that_closes_fails_what_is_waiting_and_what_comes_after(box: Box) -> None:
    with box.start() as guest:
        guest.host.receive()
        attempt = 'await callMCPTool("a__b").catch((error) => console.log(`${error}`));\n'
        guest.host.send({"program": attempt * 2})
        assert guest.host.receive() == {"method": "begin", "params": {}}
        guest.host.receive()
        guest.host.close()
        done = guest.finish()
    assert done.code == 0
    assert done.stdout.splitlines() == [
        "NotConnectedError: the connection to Satchel was closed",
        "NotConnectedError: the connection to Satchel is closed",
    ]


# Errors


def test_errors_of_calls_can_be_caught_and_told_apart(box: Box) -> None:
    text = """
import { PermissionError, ToolError } from "satchel-runtime";
try {
  await callMCPTool("a__b");
} catch (error) {
  globalThis.result = error instanceof ToolError
    ? [error.name, error.server, error.tool, error.reason, error.kind, error.message]
    : [error instanceof PermissionError, error.message];
}
"""
    failed = run(box, text, answer=fail_with("timeout", "too slow", server="a", tool="b"))
    assert failed.end == {"result": ["ToolError", "a", "b", "too slow", "timeout", "a.b: too slow"]}
    nameless = run(box, text, answer=fail_with("request", "what?"))
    assert nameless.end == {"result": ["ToolError", "", "", "what?", "request", "what?"]}
    refused = run(box, text, answer=fail_with("permission", "may not"))
    assert refused.end == {"result": [True, "may not"]}


def test_an_uncaught_error_shows_only_lines_of_the_program(box: Box) -> None:
    text = """import { getDocument } from "./servers/google-drive";
async function read(text: string): Promise<string> {
  return (await getDocument({ text })).text;
}
await read("x");
"""
    done = run(box, text, answer=fail_with("tool", "no paper", server="google-drive", tool="get_document"))
    assert (done.code, done.stdout, done.ends) == (1, "", [])
    assert done.stderr.splitlines() == [
        "ToolError: google-drive.get_document: no paper",
        "    at async read (main.ts:3:11)",
        "    at main.ts:5:1",
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            'function f() {\n  throw new TypeError("outer", { cause: new Error("inner") });\n}\nf();',
            "TypeError: outer\n    at f (main.ts:2:9)\n    at main.ts:4:1\n"
            "Caused by: Error: inner\n    at f (main.ts:2:41)\n    at main.ts:4:1\n",
        ),
        (
            'throw new AggregateError([new Error("a"), "b"], "many");',
            "AggregateError: many\n    at main.ts:1:7\n"
            '    Error: a\n        at main.ts:1:27\n    Uncaught "b"\n',
        ),
        ("throw { a: 1 };", "Uncaught { a: 1 }\n"),
        (
            "const a: number = 1;\nlet b = ;",
            "SyntaxError: Expression expected\n  |\n2 | let b = ;\n  |         ~\n    at main.ts:2:9\n",
        ),
        ('Promise.reject(new Error("late"));\nawait 1;', "Error: late\n    at main.ts:1:16\n"),
        (
            'setTimeout(() => { throw new Error("later"); }, 1);',
            "Error: later\n    at Timeout._onTimeout (main.ts:1:26)\n",
        ),
        (
            'import { nope } from "./servers/google-drive";\nnope();',
            "SyntaxError: The requested module './servers/google-drive' does not provide an export named"
            " 'nope' at main.ts:1:10\nhint: there are getDocument\n",
        ),
        (
            'import { x } from "./servers/nope";\nx();',
            'TypeError: Module not found "servers/nope".\n    at main.ts:1:19\n',
        ),
        (
            'await fetch("http://example.com");',
            'NotCapable: Requires net access to "example.com:80"\n    at main.ts:1:7\n',
        ),
        (
            'new Deno.Command("/bin/ls").outputSync();',
            'NotCapable: Requires run access to "/bin/ls"\n    at main.ts:1:29\n',
        ),
    ],
    ids=["cause", "several", "no error", "syntax", "rejection", "timer", "export", "module", "net", "run"],
)
def test_an_error_is_told_as_its_author_should_read_it(box: Box, text: str, told: str) -> None:
    done = run(box, text)
    assert done.stderr == told
    assert (done.code, done.ends) == (1, [])


def test_an_error_that_can_not_be_told_is_still_an_error(box: Box) -> None:
    done = run(box, "throw { get message() { throw 1; }, stack: '' };")
    assert (done.code, done.stderr) == (1, "Error\n")
    done = run(box, "String.prototype.split = null!; throw new TypeError('plain');")
    assert (done.code, done.stderr) == (1, "TypeError: plain\n")


def test_waiting_for_what_never_comes_is_an_error_and_no_hang(box: Box) -> None:
    done = run(box, 'await callMCPTool("a__b");\nawait new Promise(() => {});')
    assert done.code == 1
    assert "Top-level await promise never resolved" in done.stderr
    assert "main.ts:2:1" in done.stderr


def test_the_process_ends_by_itself_once_nothing_is_left_to_do(box: Box) -> None:
    text = """
async function main() {
  await new Promise((resolve) => setTimeout(resolve, 50));
  globalThis.result = await callMCPTool("a__b", { x: 1 });
}
main();
"""
    assert run(box, text).end == {"result": {"x": 1}}


@pytest.mark.parametrize(
    ("error", "ended"),
    [
        ("Object.assign(new Error('full'), { code: 'ENOSPC' })", "disk"),
        ("Object.assign(new Error('many'), { code: 'EMFILE' })", "open_files"),
        ("Object.assign(new Error('big'), { code: 'EFBIG' })", "file_size"),
        ("new Error('File too large (os error 27): writefile')", "file_size"),
        ("new RangeError('Array buffer allocation failed')", "memory"),
    ],
)
def test_an_error_about_a_limit_says_which(box: Box, error: str, ended: str) -> None:
    done = run(box, f"throw {error};")
    assert (done.code, done.ends) == (1, [{"ended": ended}])


def test_a_call_too_many_ends_a_program_that_does_not_catch_it(box: Box) -> None:
    done = run(box, 'await callMCPTool("a__b");', answer=fail_with("limit", "no more"))
    assert (done.code, done.ends) == (1, [{"ended": "calls"}])
    caught = run(box, 'await callMCPTool("a__b").catch(() => 0);', answer=fail_with("limit", "no more"))
    assert (caught.code, caught.ends) == (0, [])


# Exit codes and results


def test_the_exit_code_is_the_program_s(box: Box) -> None:
    assert run(box, "globalThis.result = 1; Deno.exit(3);") == Run(code=3)
    assert run(box, "export const result = 1; Deno.exitCode = 4;") == Run(code=4)
    done = run(box, 'import process from "node:process";\nglobalThis.result = 5;\nprocess.exit(0);')
    assert (done.code, done.ends) == (0, [{"result": 5}])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("export const result = { a: [1.5, true, null, 'ü'], b: undefined };", {"a": [1.5, True, None, "ü"]}),
        ("export const result = null;", None),
        ("export let result = 1;\nsetTimeout(() => { result = 2; }, 1);", 2),
        ("globalThis.result = 'text';", "text"),
        ("result = new Date(0);", "1970-01-01T00:00:00.000Z"),
        ("if (import.meta.main) { globalThis.result = 'main'; }", "main"),
        ("export const result = 'x'.repeat(7_000_000);", "x" * 7_000_000),
    ],
    ids=["nested", "null", "late", "global", "bare", "main", "large"],
)
def test_a_result_is_sent_as_json(box: Box, text: str, value: Any) -> None:
    done = run(box, text)
    assert (done.code, done.stderr) == (0, "")
    assert done.ends == [{"result": value}]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("export const result = () => 1;", "because it is not JSON: a function is not JSON serializable\n"),
        ("export const result = [{ a: 1n }];", "because it is not JSON: a bigint is not JSON serializable\n"),
        ("export const result = { a: NaN };", "because it is not JSON: NaN is not JSON serializable\n"),
        ("const a: unknown[] = [];\na.push(a);\nexport const result = a;", "not JSON: Converting circular"),
        ("export const result = new Set([1]);", "not JSON: a Set is not JSON serializable; Array.from"),
        ("export const result = 'x'.repeat(9_000_000);", "it has 9,000,002 bytes\n"),
    ],
    ids=["function", "bigint", "nan", "cycle", "set", "size"],
)
def test_a_result_that_can_not_be_sent_is_told(box: Box, text: str, told: str) -> None:
    done = run(box, text)
    assert (done.code, done.ends) == (0, [])
    assert done.stderr.startswith("`result` was not returned")
    assert told in done.stderr


def test_no_result_sends_nothing(box: Box) -> None:
    assert run(box, "export const other = 1;") == Run()


def test_what_a_program_replaces_it_replaces_for_itself(box: Box) -> None:
    done = run(
        box,
        """
const { log } = console;
const names = "get set then push split filter replace encode decode subarray exec".split(" ");
for (const type of [Object, Array, String, Map, Uint8Array, Promise, TextEncoder, TextDecoder, RegExp]) {
  const prototype = type.prototype as unknown as Record<string, unknown>;
  for (const name of names) {
    if (Object.hasOwn(prototype, name)) prototype[name] = () => { throw new Error(name); };
  }
}
Object.assign(Object.prototype, { error: "polluted", result: "polluted", id: 7 });
JSON.stringify = JSON.parse = () => "replaced";
Reflect.apply = Object.hasOwn = () => { throw new Error("replaced"); };
Deno.exit = () => { throw new Error("replaced"); };
const row = await callMCPTool("a__b", { x: 1 });
log(row.x);
export const result = row;
""",
    )
    assert (done.code, done.stdout, done.stderr) == (0, "1\n", "")
    assert done.ends == [{"result": {"x": 1}}]


# Sessions


def test_what_a_program_of_a_session_declares_the_next_one_has_and_can_declare_again(box: Box) -> None:
    done = run(
        box,
        "const x: number = 1;\nclass Row {}\nlet count = 0;",
        "interface Shape { a: string }\nconst x = { a: `\nconst ${7}` } satisfies Shape;",
        "let x = x.a.trim();",
        "const x = [x];",
        "console.log(x, typeof Row, ++count);",
        session=True,
    )
    assert (done.code, done.stdout, done.stderr) == (0, '[ "const 7" ] function 1\n', "")
    assert done.ends == [{"exit_code": 0}] * 5


def test_a_session_imports_and_exports_as_a_module_does(box: Box) -> None:
    done = run(
        box,
        """import { getDocument } from "./servers/google-drive";
import * as runtime from "satchel-runtime";
import path, {
  join as joined,
  type ParsedPath,
} from "node:path";
export const text = "import { not } from 'here'"; // import x from "y"
export default function named() { return 1; }
export { text as other };
export type Name = string;
export interface Shape { name: Name }
const result = [(await getDocument({ text })).text === text, typeof runtime.ToolError, joined("a", "b"),
  typeof path.join, named(), import.meta.main, import.meta.url.endsWith("/program/main.ts")];
throw new Error(`line ${14}`);
""",
        "export default { a: 1, b: 2 };\n"
        'console.log((await import("./servers/google-drive")).getDocument === getDocument);',
        "enum Colour { Red, Green }\nconsole.log(Colour.Green, await callMCPTool('a__b', { x: 1 }), result);",
        session=True,
    )
    assert done.stderr == "Error: line 14\n    at main.ts:14:7\n"
    values = '[ true, "function", "a/b", "function", 1, true, true ]'
    assert " ".join(done.stdout.split()) == f"true 1 {{ x: 1 }} {values}"
    assert [end["exit_code"] for end in done.ends] == [1, 0, 0]


def test_a_session_returns_only_the_result_of_the_program_that_set_it(box: Box) -> None:
    done = run(
        box,
        "globalThis.result = true;",
        "console.log(result);",
        "globalThis.result = true;",
        "let result = [1];",
        "function f() { const result = 5; return result; }\nf();",
        "result = [2];",
        "export const result = () => 1;",
        "const result = null;",
        session=True,
    )
    assert done.ends == [
        {"exit_code": 0, "result": True},
        {"exit_code": 0},
        {"exit_code": 0, "result": True},
        {"exit_code": 0, "result": [1]},
        {"exit_code": 0},
        {"exit_code": 0, "result": [2]},
        {"exit_code": 0},
        {"exit_code": 0, "result": None},
    ]
    assert (
        done.stderr
        == "`result` was not returned, because it is not JSON: a function is not JSON serializable\n"
    )


def test_an_error_leaves_a_session_as_it_is(box: Box) -> None:
    done = run(
        box,
        "const x = 1;",
        "const y = 2;\nlet broken = ;",
        "const a = 1;\nconst a = 2;",
        "async function f() {\n  await 1;\n  throw new TypeError('late');\n}\nf();",
        "null.x;",
        "throw 5;",
        "await new Promise(() => {});",
        'import { x } from "npm:chalk";',
        'import { getDocument } from "./servers/google-drive";\nawait getDocument({ text: "x" });',
        "console.log(x, typeof y);",
        session=True,
        answer=fail_with("limit", "no more"),
    )
    assert [end["exit_code"] for end in done.ends] == [0, 1, 1, 1, 1, 1, 1, 1, 1, 0]
    assert [end.get("ended") for end in done.ends if "ended" in end] == ["calls"]
    assert done.stdout == "1 undefined\n"
    for told in (
        "SyntaxError: Expression expected\n  |\n2 | let broken = ;",
        "SyntaxError: Identifier 'a' has already been declared\n    at main.ts:2:7\n",
        "TypeError: late\n    at f (main.ts:3:9)\n",
        "TypeError: Cannot read properties of null (reading 'x')\n    at main.ts:1:6\n",
        "Uncaught 5\n",
        "Error: Top-level await promise never resolved\n",
        "hint: nothing can be downloaded here",
        "ToolError: no more\n    at main.ts:2:1\n",
    ):
        assert told in done.stderr


def test_what_a_program_of_a_session_left_running_belongs_to_it(box: Box) -> None:
    later = "setTimeout(async () => console.log((await callMCPTool('a__b', { x: 1 })).x), 20);"
    done = run(box, later, "console.log('second'); Deno.exitCode = 3;", "console.log('third');", session=True)
    assert done.stdout.splitlines() == ["1", "second", "third"]
    assert [end["exit_code"] for end in done.ends] == [0, 3, 0]


def test_a_program_that_exits_ends_its_session(box: Box) -> None:
    done = run(box, "const x = 1;", "globalThis.result = x; Deno.exit(0);", "unreached", session=True)
    assert (done.code, done.ends) == (0, [{"exit_code": 0}])
    assert run(box, "Deno.exit(4);", session=True).code == 4


# Outside of the box


@pytest.fixture
def script(tree: Path) -> Iterator[Path]:
    file = tree / "script.ts"
    file.write_text(
        'import { callMCPTool, listServers } from "satchel-runtime";\n'
        "try {\n"
        '  console.log(JSON.stringify(await Promise.all([callMCPTool("a.b", { x: 1 }), listServers()])));\n'
        "} catch (error) {\n"
        "  console.log(`${error}`);\n"
        "}\n"
    )
    yield file
    file.unlink()


@pytest.mark.anyio
async def test_a_script_outside_of_the_box_finds_the_bridge_by_its_variable(
    script: Path, tmp_path: Path
) -> None:
    async def answer(method: str, params: Json) -> Any:
        return [method, params]

    async def said(address: str) -> str:
        command = [find_deno_bin(), "run", "--no-prompt", "--quiet", "--allow-all", str(script)]
        environment = {
            **os.environ,
            "SATCHEL_BRIDGE": address,
            "NO_COLOR": "1",
            "DENO_DIR": str(tmp_path / "deno"),
        }
        with anyio.fail_after(WAIT):
            done = await anyio.run_process(command, env=environment, check=False)
        return done.stdout.decode().strip()

    path = tmp_path / "socket"
    async with open_bridge(path, answer, Limits(), lambda _: None) as address:
        assert json.loads(await said(address)) == [
            ["call_tool", {"name": "a.b", "arguments": {"x": 1}}],
            ["list_servers", {}],
        ]
        assert await said(f"wrong@{path}") == (
            f"NotConnectedError: the bridge at {path} did not accept the token in SATCHEL_BRIDGE"
        )
    assert f"NotConnectedError: no bridge answers at {path}: " in await said(f"x@{path}")


def test_without_a_bridge_a_script_is_told_what_to_do(script: Path, tree: Path) -> None:
    done = run_deno(tree, "run", "--no-prompt", "--quiet", str(script))
    assert done.stdout.startswith(
        "NotConnectedError: this program is not connected to Satchel. Run it with: satchel run"
    )
