"""The MCP conformance suite: what Satchel has to pass of it, what it doesn't and why, and how it is run.

The suite is run over HTTP, against a Satchel in mode `direct` with one server, tests/servers/conformance.py.
It calls tools and prompts by their own names, which Satchel knows as long as no other server has them.
"""

import json
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx2
from anyio.abc import ByteStream, SocketAttribute
from anyio.streams.buffered import BufferedByteReceiveStream

from tests.clients.serving import NODE_MODULES, Address

Json = dict[str, Any]

SUITE = NODE_MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
SUITE_SECONDS = 240
SCENARIO_MILLISECONDS = 60_000
LARGEST_HEAD = 64 * 1024
GONE = (anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError, anyio.ClosedResourceError)

IN_BOTH = {
    "completion-complete",
    "dns-rebinding-protection",
    "json-schema-2020-12",
    "prompts-get-embedded-resource",
    "prompts-get-simple",
    "prompts-get-with-args",
    "prompts-get-with-image",
    "prompts-list",
    "resources-list",
    "resources-read-binary",
    "resources-read-text",
    "resources-templates-read",
    "server-sse-multiple-streams",
    "tools-call-audio",
    "tools-call-embedded-resource",
    "tools-call-error",
    "tools-call-image",
    "tools-call-mixed-content",
    "tools-call-simple-text",
    "tools-call-with-progress",
    "tools-list",
}
SCENARIOS: dict[str, set[str]] = {
    "2025-11-25": IN_BOTH
    | {
        "elicitation-sep1034-defaults",
        "elicitation-sep1330-enums",
        "logging-set-level",
        "ping",
        "resources-subscribe",
        "resources-unsubscribe",
        "server-initialize",
        "server-session-lifecycle",
        "server-sse-polling",
        "tools-call-elicitation",
        "tools-call-sampling",
        "tools-call-with-logging",
    },
    "2026-07-28": IN_BOTH
    | {
        "caching",
        "http-custom-header-server-validation",
        "http-header-validation",
        "input-required-result-basic-elicitation",
        "input-required-result-basic-list-roots",
        "input-required-result-basic-sampling",
        "input-required-result-capability-check",
        "input-required-result-ignore-extra-params",
        "input-required-result-missing-input-response",
        "input-required-result-multi-round",
        "input-required-result-multiple-input-requests",
        "input-required-result-non-tool-request",
        "input-required-result-request-state",
        "input-required-result-result-type",
        "input-required-result-tampered-state",
        "input-required-result-unsupported-methods",
        "input-required-result-validate-input",
        "sep-2164-resource-not-found",
        "server-stateless",
    },
}
"""What is run for each version of the protocol."""

NOTHING_TO_RESUME = "a request ends with its connection: there is nothing to come back for"
EXCUSED: dict[str, dict[str, str]] = {
    "json-schema-2020-12": {
        "json-schema-2020-12-tool-found": "it looks for the name that the server gave; ours is prefixed",
    },
    "server-sse-polling": {
        "server-sse-priming-event": NOTHING_TO_RESUME,
        "server-sse-retry-field": NOTHING_TO_RESUME,
    },
}
"""Checks of a scenario that don't pass, and why they don't apply."""

EXTENSIONS: dict[str, set[str]] = {
    "io.modelcontextprotocol/skills": {
        "sep-2640-skills-directory",
        "sep-2640-skills-enumeration",
        "sep-2640-skills-manifest",
    },
}
"""What is run besides: extensions that Satchel offers, to clients of the version that has extensions."""

OTHER_EXTENSIONS: dict[str, set[str]] = {
    "io.modelcontextprotocol/tasks": {
        "tasks-capability-negotiation",
        "tasks-dispatch-and-envelope",
        "tasks-lifecycle",
        "tasks-mrtr-composition",
        "tasks-mrtr-input",
        "tasks-request-headers",
        "tasks-request-state-removal",
        "tasks-required-task-error",
        "tasks-status-notifications",
        "tasks-wire-fields",
    },
}
"""What is not run, because it is of an extension that Satchel doesn't offer."""


@dataclass(frozen=True, kw_only=True)
class Check:
    scenario: str
    name: str
    status: str
    message: str

    @property
    def passed(self) -> bool:
        """A warning is a SHOULD that wasn't heeded."""
        return self.status not in ("FAILURE", "WARNING")


def extensions_of(version: str) -> set[str]:
    """The scenarios of extensions for a version of the protocol."""
    return {name for names in EXTENSIONS.values() for name in names} if version >= "2026" else set()


async def known_scenarios(node: str) -> set[str]:
    """Every scenario for servers that the suite has."""
    done = await anyio.run_process([node, str(SUITE), "list", "--server"])
    return set(re.findall(r"^ +- ([\w-]+) \[", done.stdout.decode(), re.MULTILINE))


async def run_suite(node: str, url: str, version: str, directory: Path) -> list[Check]:
    """Run every scenario of this version in one process; then those of extensions, each in its own."""
    command = [node, str(SUITE), "server", "--url", url, "--spec-version", version, "-o", str(directory)]
    command += ["--timeout", str(SCENARIO_MILLISECONDS)]
    with anyio.fail_after(SUITE_SECONDS):
        await anyio.run_process([*command, "--suite", "all"], check=False)
        for name in sorted(extensions_of(version)):
            await anyio.run_process([*command, "--scenario", name, "--force"], check=False)
    return [check for file in sorted(directory.glob("*/checks.json")) for check in read_checks(file)]


def read_checks(file: Path) -> list[Check]:
    """The checks of one scenario, whose directory is named after it and the time."""
    named = re.fullmatch(r"server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z", file.parent.name)
    assert named, file
    return [
        Check(
            scenario=named[1],
            name=check["id"],
            status=check["status"],
            message=check.get("errorMessage") or "",
        )
        for check in json.loads(file.read_text())
    ]


async def ask(address: Address, method: str, capabilities: Json | None = None, **params: Any) -> Json:
    """The answer to one request in the way of 2026-07-28."""
    version = "2026-07-28"
    about = {"protocolVersion": version, "clientCapabilities": capabilities or {}}
    meta = {f"io.modelcontextprotocol/{key}": value for key, value in about.items()}
    headers = {
        "Accept": "application/json, text/event-stream",
        "Authorization": f"Bearer {address.token}",
        "MCP-Protocol-Version": version,
        "Mcp-Method": method,
        **({"Mcp-Name": params["name"]} if "name" in params else {}),
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
    async with httpx2.AsyncClient(timeout=SCENARIO_MILLISECONDS / 1000) as http:
        return (await http.post(address.url, headers=headers, json=body)).json()["result"]


# The suite can't be told a header


@asynccontextmanager
async def authorized(address: Address) -> AsyncGenerator[str]:
    """A port whose requests reach Satchel with its token, and are passed on as they are otherwise."""
    parts = urlsplit(address.url)
    assert parts.hostname and parts.port
    satchel = parts.hostname, parts.port
    header = f"\r\nAuthorization: Bearer {address.token}\r\n\r\n".encode()

    async def connect(client: ByteStream) -> None:
        async with client, await anyio.connect_tcp(*satchel) as server, anyio.create_task_group() as group:
            group.start_soon(pass_answers, server, client, group.cancel_scope)
            await pass_requests(client, server, header, group.cancel_scope)

    listener = await anyio.create_tcp_listener(local_host=satchel[0])
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, connect)
        port = listener.extra(SocketAttribute.local_port)
        yield f"http://{satchel[0]}:{port}{parts.path}"
        group.cancel_scope.cancel()


async def pass_requests(
    client: ByteStream, server: ByteStream, header: bytes, both: anyio.CancelScope
) -> None:
    reading = BufferedByteReceiveStream(client)
    with suppress(*GONE):
        while True:
            head = await reading.receive_until(b"\r\n\r\n", LARGEST_HEAD)
            await server.send(head + header)
            if length := re.search(rb"(?im)^content-length: *(\d+)", head):
                await server.send(await reading.receive_exactly(int(length[1])))
    both.cancel()


async def pass_answers(server: ByteStream, client: ByteStream, both: anyio.CancelScope) -> None:
    with suppress(*GONE):
        while True:
            await client.send(await server.receive())
    both.cancel()
