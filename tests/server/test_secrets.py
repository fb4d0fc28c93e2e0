"""No secret of the configuration is in an answer, a log, the journal or the sandbox, whatever goes wrong."""

import os
import sys
from collections.abc import Awaitable
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError

from tests.server.helpers import (
    ERAS,
    Era,
    Served,
    connected,
    serving,
)
from tests.servers import http_server, raw

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

LEAKY = Path(__file__).with_name("leaky.py")
LEAKING = (
    "leaky.show",
    "leaky.refuse",
    "leaky.ask",
    "leaky.page",
    "leaky.crash",
    "leaky.nonsense",
    "leaky.unknown",
    "broken_line.refuse",
    "broken_line.crash",
)
MARK = f"canary-{os.urandom(6).hex()}"
"""What every secret begins with."""

USERS: tuple[tuple[str, Era], ...] = (
    ("code", "auto"),
    ("search", "auto"),
    ("direct", "legacy"),
    ("code", "legacy"),
)
SETTINGS: dict[str, Any] = {
    "mode": "code",
    "servers": {"timeout": 10, "startup_timeout": 10},
    "agents": {"default": {}, **{mode: {"mode": mode} for mode in ("code", "search", "direct")}},
    "search": {"embeddings": "http://127.0.0.1:9/v1", "model": "any", "api_key": "${SEARCH_KEY}"},
}
LOOK = """
import os
mark = "can" + {rest!r}
found = [f"variable {{name}}" for name, value in os.environ.items() if mark in value]
skipped = ("/usr", "/lib", "/lib64", "/bin", "/sys")
for top, folders, files in os.walk("/", followlinks=False):
    paths = [(folder, os.path.join(top, folder)) for folder in folders]
    folders[:] = [folder for folder, path in paths if not path.startswith(skipped) and "/lib/" not in path]
    if mark in top:
        found.append(top)
    for name in files:
        path = os.path.join(top, name)
        try:
            with open(path, "rb") as file:
                if mark.encode() in file.read(4_000_000):
                    found.append(path)
        except OSError:
            pass
print(sorted(os.environ), found)
"""
FAILING = """
from satchel_runtime import call, list_servers, search_tools

for server, tool in (
    ("leaky", "show"), ("leaky", "refuse"), ("leaky", "crash"), ("leaky", "nonsense"), ("leaky", "echo"),
    ("leaky", "ask"), ("leaky", "page"), ("broken_line", "refuse"), ("broken_header", "any"),
    ("starting", "any"), ("refusing", "any"), ("remote", "any"), ("guarded", "any"),
):
    try:
        print(server, tool, await call(server, tool, {}))
    except Exception as error:
        print(server, tool, type(error).__name__, error, getattr(error, "__dict__", ""))
print(await list_servers(), await search_tools("echo"))
"""


def leaky(how: str, secret: str) -> dict[str, Any]:
    return {"command": sys.executable, "args": ["-I", str(LEAKY), how], "env": {"API_TOKEN": secret}}


def secret(name: str) -> str:
    return f"{MARK}-{name}"


ENVIRONMENT = {
    "SEARCH_KEY": secret("search"),
    "CRM_KEY": secret("variable"),
    "PLAIN": secret("plain"),
    "PGPASSWORD": secret("unused"),
    "FROM_FILE": secret("file") + "\n",
}


class Heard:
    """Everything that a client was told."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def note(self, what: object) -> None:
        self.texts.append(repr(what))

    async def hear(self, asked: Awaitable[object]) -> None:
        try:
            with anyio.fail_after(40):
                self.note(await asked)
        except MCPError as error:
            self.note((error.code, error.message, error.data))

    def leaks(self) -> list[str]:
        return [
            text[max(0, text.find(MARK) - 200) : text.find(MARK) + 60] for text in self.texts if MARK in text
        ]


async def use_everything(client: Client, mode: str, heard: Heard) -> None:
    async def told(progress: float, total: float | None, message: str | None) -> None:
        heard.note((progress, total, message))

    async def call(name: str, arguments: dict[str, Any]) -> None:
        await heard.hear(client.call_tool(name, arguments, progress_callback=told))

    heard.note((client.instructions, client.server_info, client.server_capabilities))
    await heard.hear(client.list_tools())
    if mode == "code":
        await call("list_servers", {})
        await call("search_tools", {"query": "whatever has the secret", "detail": "full"})
        await call("execute_code", {"code": FAILING})
        await call(
            "execute_code", {"code": "import os\nprint(dict(os.environ))\nraise ValueError(os.environ)"}
        )
        await call("leaky__refuse", {})
    elif mode == "search":
        others = ("starting", "refusing", "remote", "guarded", "broken_start", "broken_header", "unknown")
        for name in (*LEAKING, *(f"{server}.any" for server in others)):
            await call("call_tool", {"name": name, "arguments": {}})
    else:
        await heard.hear(client.list_resources())
        await heard.hear(client.list_resource_templates())
        await heard.hear(client.list_prompts())
        await heard.hear(client.read_resource("leaky://told"))
        await heard.hear(client.read_resource("leaky://another"))
        await heard.hear(client.get_prompt("leaky__told"))
        await heard.hear(client.get_prompt("leaky__unknown"))
        for name in (*LEAKING, "starting.any"):
            await call(name.replace(".", "__"), {})


def files_with(directory: Path, *, but: tuple[str, ...]) -> list[Path]:
    found: list[Path] = []
    for place, _, names in os.walk(directory):
        for path in (Path(place, name) for name in names):
            with suppress(FileNotFoundError):  # a program or the journal may take it away meanwhile
                if path.is_symlink() or not path.is_file() or {*path.parts} & {*but}:
                    continue
                if MARK.encode() in path.read_bytes():
                    found.append(path)
    return found


def leaks_of(served: Served, heard: Heard) -> dict[str, object]:
    """Where secrets can be found, of all the places where there must be none."""
    found: dict[str, object] = {
        "answers": heard.leaks(),
        "log": [line for line in served.lines if MARK in line],
        "journal and workspaces": files_with(served.project.directory / ".satchel", but=()),
        "cache and data": files_with(served.home, but=("planted",)),
    }
    return {place: leaks for place, leaks in found.items() if leaks}


async def test_no_secret_is_told_whatever_fails(tmp_path: Path) -> None:
    async with (
        http_server("http", token=secret("guarded")) as guarded,
        http_server("http", status=500) as broken,
    ):
        servers: dict[str, Any] = {
            "leaky": leaky("call", "${CRM_KEY}"),
            "starting": leaky("start", secret("written")),
            "broken_line": leaky("call", "${FROM_FILE}"),
            "broken_start": leaky("start", "${FROM_FILE}"),
            "broken_header": {"url": guarded, "headers": {"Authorization": "Bearer ${FROM_FILE}"}},
            "refusing": leaky("initialize", "${CRM_KEY}"),
            "remote": {
                "url": f"{broken}?key=${{CRM_KEY}}",
                "headers": {"Authorization": f"Bearer {secret('header')}", "X-Key": "${CRM_KEY}"},
            },
            "guarded": {"url": guarded, "headers": {"Authorization": f"Bearer {secret('wrong')}"}},
            "work": raw("resources") | {"env": {"API_TOKEN": "${CRM_KEY}", "PLAIN": "${PLAIN}"}},
        }
        with serving(tmp_path, servers, SETTINGS, environment=ENVIRONMENT, before=["--verbose"]) as served:
            planted = served.home / ".local" / "share" / "satchel" / "credentials" / "planted"
            planted.mkdir(parents=True, mode=0o700)
            (planted / "token.json").write_text(secret("oauth"))
            heard = Heard()
            for agent, era in USERS:
                token = await anyio.to_thread.run_sync(served.token, agent)
                async with connected(served.url, token, era) as client:
                    await use_everything(client, agent, heard)
            assert "***" in str(heard.texts)  # something has really been told, and redacted
            assert leaks_of(served, heard) == {}
            for server in ("starting", "broken_start", "broken_header"):
                doctor = await anyio.to_thread.run_sync(served.run, "doctor", server)
                assert MARK not in doctor.out + doctor.err


@pytest.mark.parametrize("era", ERAS)
async def test_a_program_finds_no_secret_however_it_looks(tmp_path: Path, era: Era) -> None:
    given = {"API_TOKEN": secret("written"), "B": "${CRM_KEY}"}
    servers: dict[str, Any] = {"work": raw("good") | {"env": given}}
    with serving(tmp_path, servers, SETTINGS, environment=ENVIRONMENT) as served:
        token = await anyio.to_thread.run_sync(served.token)
        heard = Heard()
        async with connected(served.url, token, era) as client:
            await heard.hear(client.call_tool("execute_code", {"code": LOOK.format(rest=MARK[3:])}))
            shell = (
                "cat /proc/*/environ /proc/*/cmdline /workspace/.* /mnt/*/* 2>/dev/null | head -c 9000; env"
            )
            code = f"import subprocess\nprint(subprocess.run(['sh', '-c', {shell!r}], capture_output=True))"
            await heard.hear(client.call_tool("execute_code", {"code": code}))
        assert leaks_of(served, heard) == {}
        assert "PATH" in heard.texts[0], heard.texts  # it has really looked
        assert token not in str(heard.texts)


@pytest.mark.parametrize(
    "database", ["postgresql://user:{0}@127.0.0.1:9/journal", "nonsense://user:{0}@host/x"]
)
async def test_the_address_of_a_database_that_cannot_be_had_is_told_to_nobody(
    tmp_path: Path, database: str
) -> None:
    settings = {**SETTINGS, "database": "${DATABASE_URL}"}
    environment = {**ENVIRONMENT, "DATABASE_URL": database.format(secret("database"))}
    with serving(
        tmp_path, {"work": raw("good")}, settings, environment=environment, before=["--verbose"]
    ) as served:
        heard = Heard()
        for agent, name, arguments in (
            ("default", "execute_code", {"code": "print(1)"}),
            ("direct", "work__echo", {"text": "x"}),
        ):
            token = await anyio.to_thread.run_sync(served.token, agent)
            async with connected(served.url, token, "auto") as client:
                await heard.hear(client.call_tool(name, arguments))
        assert leaks_of(served, heard) == {}
