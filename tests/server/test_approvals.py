"""Approvals and MCP clients of both protocol generations: who is asked, and that no client decides."""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest

from satchel.config.agents import Mode
from satchel.errors import SatchelError
from tests.projects import Project
from tests.server.clients_helpers import CLIENT_ERAS, MODERN, Person, client_of, served
from tests.servers import raw
from tests.upstream.helpers import until

# Slow: servers are processes, and programs run in boxes.
pytestmark = [pytest.mark.anyio, pytest.mark.slow]

WAIT = 60  # seconds; only a hang reaches it
SETTINGS = """
approvals: {{ wait: {wait}, trust_clients: [{trusted}] }}
agents: {{ default: {{ approve: [noting] }} }}
"""


@pytest.fixture(name="notes")
def notes_fixture(tmp_path: Path) -> Callable[[], list[str]]:
    return lambda: (tmp_path / "calls").read_text().split() if (tmp_path / "calls").exists() else []


def project_of(directory: Path, *, wait: str = "0s", trusted: str = "") -> Project:
    project = Project(directory / "project", {"noting": raw("notes", calls=directory / "calls")})
    (project.directory / "satchel.yaml").write_text(SETTINGS.format(wait=wait, trusted=trusted))
    return project


def answering(content: Any, action: Any = "accept") -> Person:
    async def answer(params: Any) -> types.ElicitResult:
        return types.ElicitResult(action=action, content=content)

    return Person(answer=answer)


def said(result: Any) -> str:
    return "\n".join(block.text for block in result.content if block.type == "text")


@CLIENT_ERAS
async def test_the_person_of_a_trusted_client_is_asked(
    tmp_path: Path, notes: Callable[[], list[str]], client_era: str
) -> None:
    person = answering({"agree": True})
    project = project_of(tmp_path, wait="60s", trusted="tester")
    async with (
        served(project, mode="direct") as here,
        client_of(here.surface, client_era, person=person) as client,
    ):
        result = await client.call_tool("noting__note", {"number": "1"})
    assert (result.is_error, notes()) == (False, ["1"]), said(result)
    (question,) = person.questions
    assert "wants to call noting.note" in question
    assert '| number = "1"' in question


@CLIENT_ERAS
@pytest.mark.parametrize(
    "person", [answering({"agree": False}), answering(None, "decline")], ids=["no", "declined"]
)
async def test_a_no_in_a_trusted_client_is_a_no(
    tmp_path: Path, notes: Callable[[], list[str]], client_era: str, person: Person
) -> None:
    project = project_of(tmp_path, wait="60s", trusted="tester")
    async with (
        served(project, mode="direct") as here,
        client_of(here.surface, client_era, person=person) as client,
    ):
        result = await client.call_tool("noting__note", {"number": "1"})
    assert (result.is_error, notes()) == (True, [])
    assert "a person said no" in said(result)


@CLIENT_ERAS
@pytest.mark.parametrize("mode", ["direct", "code", "search"])
async def test_a_client_that_is_not_trusted_is_not_asked_whatever_it_would_say(
    tmp_path: Path, notes: Callable[[], list[str]], client_era: str, mode: Mode
) -> None:
    person = answering({"agree": True})
    project = project_of(tmp_path, trusted="somebody")
    async with (
        served(project, mode=mode) as here,
        client_of(here.surface, client_era, person=person) as client,
    ):
        if mode == "direct":
            result = await client.call_tool("noting__note", {"number": "1"})
        elif mode == "search":
            result = await client.call_tool(
                "call_tool", {"name": "noting__note", "arguments": {"number": "1"}}
            )
        else:
            code = 'await call_mcp_tool("noting.note", {"number": "1"})'
            result = await client.call_tool("execute_code", {"code": code})
        (approval,) = await here.satchel.approvals.list_all()
    assert (approval.state, approval.client, person.asked, notes()) == ("waiting", "tester", [], [])
    assert "waits for a person to agree" in said(result) or "a person has to agree" in said(result)


async def test_a_client_resumes_what_a_different_one_began(
    tmp_path: Path, notes: Callable[[], list[str]]
) -> None:
    async with served(project_of(tmp_path), mode="code") as here:
        async with client_of(here.surface, MODERN) as first:
            code = 'await call_mcp_tool("noting.note", {"number": "1"})\nprint("done")'
            stopped = await first.call_tool("execute_code", {"code": code})
        assert not stopped.is_error
        structured: Any = stopped.structured_content
        (waiting,) = structured["waiting"]
        approval = await here.satchel.approvals.find(waiting["approval"])
        await here.satchel.approvals.allow(approval, by="ada")
        assert notes() == []  # deciding runs nothing by itself
        async with client_of(here.surface, MODERN, name="other") as second:
            for _ in range(2):
                done = await second.call_tool("execute_code", {"resume": structured["resume"]})
                assert "done" in said(done)
    assert notes() == ["1"]


@pytest.mark.parametrize("mode", ["direct", "code", "search"])
async def test_no_client_can_decide(tmp_path: Path, notes: Callable[[], list[str]], mode: Mode) -> None:
    async with served(project_of(tmp_path), mode=mode) as here, client_of(here.surface, MODERN) as client:
        with pytest.raises(SatchelError):
            await here.satchel.call("noting.note", {"number": "1"})
        (approval,) = await here.satchel.approvals.list_all()
        tools = (await client.list_tools()).tools
        assert not [tool.name for tool in tools if "approv" in tool.model_dump_json().lower()]
        for name in (
            "approvals",
            "approve",
            "allow",
            "satchel approvals allow",
            "approvals__allow",
            "decide",
        ):
            result = await client.call_tool(name, {"id": approval.id, "agree": True, "by": "me"})
            assert result.is_error
        for arguments in (
            {"code": "", "resume": approval.id},
            {"resume": "x", "agree": True, "approval": approval.id},
        ):
            result = await client.call_tool("execute_code", arguments)
            assert result.is_error
        (after,) = await here.satchel.approvals.list_all()
    assert (after, notes()) == (approval, [])


ATTEMPTS = """
import subprocess
identity = {identity!r}
said = []
for method in ("approve", "allow", "decide", "approvals", "approvals.allow", "call_tool"):
    try:
        said.append(call_mcp_tool(f"satchel.{{method}}", {{"id": identity, "agree": True}}))
    except Exception as error:
        said.append(type(error).__name__)
for command in (
    f"yes | satchel approvals allow {{identity}}",
    f"yes | python -m satchel approvals allow {{identity}}",
    f"script -qc 'satchel approvals allow {{identity}}' /dev/null",
    "cat /dev/tty",
    "find / -name 'satchel.db*' -o -name 'sealing.key' -o -name 'satchel.yaml' 2>/dev/null",
):
    done = subprocess.run(command, shell=True, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    said.append(done.stdout.strip())
    assert "approved" not in done.stdout + done.stderr, command
assert not said[-1], said
print("tried")
"""


async def test_no_program_can_decide(tmp_path: Path, notes: Callable[[], list[str]]) -> None:
    async with served(project_of(tmp_path), mode="code") as here:
        with pytest.raises(SatchelError):
            await here.satchel.call("noting.note", {"number": "1"})
        (approval,) = await here.satchel.approvals.list_all()
        with anyio.fail_after(WAIT):
            execution = await here.satchel.execute(ATTEMPTS.format(identity=approval.id), timeout=60)
        assert (execution.stdout, execution.exit_code) == ("tried\n", 0), execution
        (after,) = await here.satchel.approvals.list_all()
    assert (after, notes()) == (approval, [])


async def test_a_notice_is_sent_without_the_arguments(tmp_path: Path) -> None:
    notice = tmp_path / "notice"
    project = project_of(tmp_path, wait="60s")
    settings = project.directory / "satchel.yaml"
    text = settings.read_text().replace("wait:", f'notify: "tee {notice}", wait:')
    settings.write_text(text)
    async with served(project, mode="direct") as here, anyio.create_task_group() as tasks:

        async def call() -> None:
            await here.satchel.call("noting.note", {"number": "a secret"})

        tasks.start_soon(call)
        await until(lambda: notice.exists() and notice.read_text().endswith("}"), WAIT)
        (approval,) = await here.satchel.approvals.list_all()
        assert approval.id in notice.read_text()
        assert "secret" not in notice.read_text()
        await here.satchel.approvals.allow(await here.satchel.approvals.find(approval.id), by="ada")


class Listener(HTTPServer):
    """A web server that keeps what it is sent, and answers with a status."""

    def __init__(self, status: int) -> None:
        super().__init__(("127.0.0.1", 0), Posted)
        self.status = status
        self.posts: list[tuple[str, str | None, bytes]] = []


class Posted(BaseHTTPRequestHandler):
    server: Listener  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.posts.append((self.path, self.headers["Content-Type"], body))
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.mark.parametrize("status", [200, 500])
async def test_an_address_is_told_without_the_arguments_and_its_answer_decides_nothing(
    tmp_path: Path, notes: Callable[[], list[str]], status: int
) -> None:
    project = project_of(tmp_path, wait="60s")
    settings = project.directory / "satchel.yaml"
    waited: list[str] = []
    with Listener(status) as listener:
        threading.Thread(target=listener.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{listener.server_port}/told?team=red"
        settings.write_text(settings.read_text().replace("wait:", f'notify: "{address}", wait:'))
        async with served(project, mode="direct") as here, anyio.create_task_group() as tasks:

            async def call() -> None:
                await here.satchel.call("noting.note", {"number": "secret"})

            tasks.start_soon(call)
            await until(lambda: bool(listener.posts), WAIT)
            (approval,) = await here.satchel.approvals.list_all()
            assert (approval.state, notes()) == ("waiting", [])
            waited.append(approval.id)
            await here.satchel.approvals.allow(await here.satchel.approvals.find(approval.id), by="ada")
        listener.shutdown()
    ((path, kind, body),) = listener.posts
    told = json.loads(body)
    assert (path, kind) == ("/told?team=red", "application/json")
    assert [told["approval"]] == waited
    assert (told["tool"], told["rules"]) == ("note", ["agents.default.approve"])
    assert b"secret" not in body
    assert notes() == ["secret"]
