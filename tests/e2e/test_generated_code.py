"""Generate wrappers, then use them from ordinary programs, against the real example servers."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream
from deno import find_deno_bin

from satchel import Satchel, open_satchel
from satchel_runtime import ToolError
from tests.e2e.bridge import answer
from tests.projects import Project
from tests.servers import raw

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
WAIT = 90
LONGEST_LINE = 1 << 20

HEAD = """
import asyncio
import sys
from pathlib import Path

TREE = Path(__file__).parent / ".satchel/code-api/python"
sys.path.insert(0, str(TREE))

import satchel_runtime
from satchel import open_satchel
from tests.e2e.bridge import Bridge, runtime_directory

assert runtime_directory() == TREE
"""

REPORT = """
from satchel_runtime import ToolError
from servers import salesforce, slack
from servers.google_drive import get_document, list_documents, prompts, resources
from servers.google_drive.get_document import Document


async def main() -> None:
    async with open_satchel() as satchel:
        satchel_runtime.connect(Bridge(satchel))
        found = await list_documents(folder="Finance/Quarterly Reports", query="Quarterly")
        newest = max(found.documents, key=lambda document: document.modified_at)
        doc = await get_document(document_id=newest.id)
        assert isinstance(doc, Document)
        print(doc.title == doc["title"] == doc.get("title") == newest.title, doc.title)
        findings = [line for line in doc.content.splitlines() if line.startswith("Finding:")]
        deal, note = await asyncio.gather(
            salesforce.get_record(object_type="Opportunity", record_id="OPP-001"),
            salesforce.add_note(record_id="OPP-001", title=f"Findings of {doc.id}", body=str(findings)),
        )
        print(deal.fields["name"])
        print(note.title)
        message = await slack.post_message(channel="sales", text=f"{len(findings)} findings")
        print(message.channel, message.text, message.thread_ts, message.reactions)
        try:
            await get_document(document_id="doc-999")
        except ToolError as error:
            print(error.server, error.tool, error.kind)
        try:
            await satchel_runtime.call_tool("slack", "post_message", {"chanel": "sales"})
        except ToolError as error:
            print(error.kind, error.message)
        again = await satchel_runtime.call_mcp_tool("google_drive__get_document", {"document_id": doc.id})
        print(type(again) is dict, again == doc)
        print((await resources.read("drive://about")).text.splitlines()[0])
        print((await resources.read(f"drive://documents/{doc.id}")).text == doc.content)
        prompt = await prompts.summarise_document(document_id=doc.id, audience="the board")
        print("for the board" in prompt.text, prompt.messages[0].role)
        print("the account team" in (await prompts.summarise_document(document_id=doc.id)).text)


asyncio.run(main())
"""

BLOCKING = """
from anyio.from_thread import start_blocking_portal
from servers.google_drive.sync import get_document, list_documents

with start_blocking_portal() as portal, portal.wrap_async_context_manager(open_satchel()) as satchel:
    satchel_runtime.connect(Bridge(satchel, portal))
    found = list_documents(folder="Finance/Quarterly Reports", query="Quarterly")
    doc = get_document(document_id=max(found.documents, key=lambda document: document.modified_at).id)
    print(doc.title, doc["title"] == doc.title)
"""

TYPESCRIPT = """
import { getDocument, listDocuments } from "TREE/servers/google-drive/index.ts";
import * as prompts from "TREE/servers/google-drive/prompts.ts";
import * as resources from "TREE/servers/google-drive/resources.ts";
import { postMessage } from "TREE/servers/slack/index.ts";
import { callMCPTool, connect, ToolError } from "TREE/satchel-runtime/index.ts";

interface Reply { id: number; result?: unknown; error?: { [key: string]: string } }
const waiting = new Map<number, (reply: Reply) => void>();
let last = 0;

function say(message: object) {
  Deno.stdout.writeSync(new TextEncoder().encode(JSON.stringify(message) + "\\n"));
}

async function listen() {
  let rest = "";
  for await (const part of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + part).split("\\n");
    rest = lines.pop() ?? "";
    for (const reply of lines.map((line) => JSON.parse(line) as Reply)) waiting.get(reply.id)?.(reply);
  }
}

connect({
  request(method, params) {
    const id = ++last;
    say({ id, method, params });
    return new Promise((resolve, reject) => {
      waiting.set(id, ({ result, error }) => {
        if (error) reject(new ToolError(error.server, error.tool, error.message, error.kind));
        else resolve(result);
      });
    });
  },
});
listen();

const found = await listDocuments({ folder: "Finance/Quarterly Reports", query: "Quarterly" });
const newest = found.documents.toSorted((a, b) => a.modified_at.localeCompare(b.modified_at)).at(-1)!;
const [doc, message] = await Promise.all([
  getDocument({ document_id: newest.id }),
  postMessage({ channel: "sales", text: "from TypeScript" }),
]);
let failure = "";
try {
  await getDocument({ document_id: "doc-999" });
} catch (error) {
  if (error instanceof ToolError) failure = `${error.server} ${error.tool} ${error.kind}`;
}
const again = await callMCPTool("google_drive__get_document", { document_id: doc.id });
const about = await resources.read("drive://about");
const prompt = await prompts.summariseDocument({ document_id: doc.id, audience: "the board" });
say({
  title: doc.title,
  channel: message.channel,
  text: message.text,
  failure,
  same: again.content === doc.content,
  about: about.text.split("\\n")[0],
  prompt: prompt.text.includes("for the board"),
});
Deno.exit(0);
"""


def example(name: str, state: Path) -> dict[str, Any]:
    script = ROOT / "examples" / "servers" / f"{name}.py"
    return {
        "command": sys.executable,
        "args": [str(script)],
        "env": {"SATCHEL_EXAMPLES_STATE": str(state)},
    }


def generated(directory: Path, *names: str) -> Project:
    """A project with some of the example servers, listed and generated."""
    servers = {name: example(name.replace("-", "_"), directory / "state") for name in names}
    project = Project(directory / "project", servers)
    outcome = project.run_anew("generate")
    assert outcome.code == 0, outcome.err
    assert f"tools from {len(names)} server" in outcome.err
    return project


def run_script(project: Project, text: str) -> list[str]:
    """`python my_script.py` in the project; what it prints."""
    (project.directory / "my_script.py").write_text(HEAD + text)
    done = subprocess.run(
        [sys.executable, "my_script.py"],
        cwd=project.directory,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=WAIT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_python_script_uses_the_wrappers_of_real_servers(tmp_path: Path) -> None:
    project = generated(tmp_path, "google-drive", "salesforce", "slack")
    lines = run_script(project, REPORT)
    assert lines == [
        "True Q3 2026 Quarterly Report",
        "Meridian Health: framework contract",
        "Findings of doc-006",
        "sales 9 findings None []",
        "google-drive get_document tool",
        "arguments unknown argument 'chanel'",
        "True True",
        "# The drive of Larkfield Systems",
        "True",
        "True user",
        "True",
    ]
    notes = project.run_anew("call", "salesforce.list_notes", "record_id=OPP-001", "--json").json["notes"]
    assert "Findings of doc-006" in [note["title"] for note in notes]


def test_a_blocking_python_script_needs_no_await(tmp_path: Path) -> None:
    lines = run_script(generated(tmp_path, "google-drive"), BLOCKING)
    assert lines == ["Q3 2026 Quarterly Report True"]


async def serve(satchel: Satchel, process: Process) -> dict[str, Any]:
    """Answer the requests of a program, a line each, until it says what it has found."""
    assert process.stdout is not None
    assert process.stdin is not None
    lines = BufferedByteReceiveStream(process.stdout)
    while True:
        message: dict[str, Any] = json.loads(await lines.receive_until(b"\n", LONGEST_LINE))
        if "method" not in message:
            return message
        try:
            reply: dict[str, Any] = {"result": await answer(satchel, message["method"], message["params"])}
        except ToolError as error:
            told = {"server": error.server, "tool": error.tool, "message": error.message, "kind": error.kind}
            reply = {"error": told}
        await process.stdin.send(json.dumps({"id": message["id"], **reply}).encode() + b"\n")


@pytest.mark.anyio
async def test_a_typescript_program_uses_the_wrappers_of_real_servers(tmp_path: Path) -> None:
    project = generated(tmp_path, "google-drive", "slack")
    program = project.directory / "my_program.ts"
    program.write_text(TYPESCRIPT.replace("TREE", "./.satchel/code-api/typescript"))
    found = await run_program(project, tmp_path, "--check", "my_program.ts")
    assert found == {
        "title": "Q3 2026 Quarterly Report",
        "channel": "sales",
        "text": "from TypeScript",
        "failure": "google-drive get_document tool",
        "same": True,
        "about": "# The drive of Larkfield Systems",
        "prompt": True,
    }
    # At the root of the tree its deno.json holds, and folders of servers can be imported.
    short = TYPESCRIPT.replace('"TREE/servers/slack/index.ts"', '"./servers/slack"')
    short = short.replace('"TREE/servers/google-drive/index.ts"', '"./servers/google-drive"')
    short = short.replace('"TREE/satchel-runtime/index.ts"', '"satchel-runtime"').replace("TREE", ".")
    (project.directory / ".satchel/code-api/typescript/my_program.ts").write_text(short)
    again = await run_program(project, tmp_path, ".satchel/code-api/typescript/my_program.ts")
    assert again == found


async def run_program(project: Project, directory: Path, *arguments: str) -> dict[str, Any]:
    environment = {**os.environ, "DENO_DIR": str(directory / "deno"), "DENO_NO_UPDATE_CHECK": "1"}
    command = [find_deno_bin(), "run", "--quiet", "--no-remote", *arguments]
    with anyio.fail_after(WAIT):
        async with (
            open_satchel(project.directory) as satchel,
            await anyio.open_process(command, cwd=project.directory, env=environment, stderr=None) as process,
        ):
            try:
                return await serve(satchel, process)
            finally:
                if process.returncode is None:
                    process.kill()


def test_resources_and_prompts_are_there_where_a_server_has_them(tmp_path: Path) -> None:
    servers = {"memos": raw("resources"), "plain": raw("good"), "none": raw("no_capabilities")}
    project = Project(tmp_path / "project", servers)
    assert project.run_anew("generate").code == 0
    for language, ending in (("python", "py"), ("typescript", "ts")):
        folders = project.directory / ".satchel/code-api" / language / "servers"
        for name in ("resources", "prompts"):
            assert (folders / "memos" / f"{name}.{ending}").exists()
            assert not (folders / "plain" / f"{name}.{ending}").exists()
        assert not (folders / "none").exists()
    lines = run_script(
        project,
        """
from servers.memos import echo, prompts, resources


async def main() -> None:
    async with open_satchel() as satchel:
        satchel_runtime.connect(Bridge(satchel))
        print((await resources.read("memo://text")).text)
        print((await resources.read("memo://note/7")).text)
        print((await resources.read("memo://blob")).contents[0].blob)
        print((await prompts.greet(who="Ada", tone="formal")).text)
        print((await echo(text="hello")).text)
        print([server["name"] for server in satchel.list_servers()["servers"]])


asyncio.run(main())
""",
    )
    assert lines == [
        "a text",
        "note 7",
        "AAEC/w==",
        "Greet Ada in a formal tone.",
        "hello",
        "['memos', 'plain', 'none']",
    ]
