"""Floods: one agent that sends all it can, and a second one beside it that only wants to be answered.

`satchel serve --http` runs as a process, of this checkout or of another one. What floods it is what a hostile
program or client can do; what is measured is what everybody else feels. Uses nothing but the standard
library, so that the clients cost little.
"""

import json
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, cast

from bench.surroundings import PYTHON, ROOT, temporary_home

HOSTILE, OTHER = "hostile", "other"
_SERVERS = {
    "raw": ("good",),
    "big": ("big",),
    "many": ("many_tools", "tools=3000"),
}
SETTINGS: dict[str, Any] = {
    "mode": "code",
    "agents": {"default": {}, HOSTILE: {}, OTHER: {}},
    "code_execution": {"timeout": 30, "sandbox": {"prepared": 2}},
}
PROGRAM = 5  # seconds that one of the hostile agent runs at most
ANSWER = 120.0  # seconds; only a hang reaches it
_URL = re.compile(rb"http://\S+?:(\d+)/mcp")

SEND = """
import asyncio, json, os, random, sys, threading, time
bridge = sys.modules["satchel_guest"].bridge
os.set_blocking(bridge, True)
def send(body):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    data = memoryview(len(body).to_bytes(4, "big") + body)
    while data:
        data = data[os.write(bridge, data):]
"""
"""The beginning of a program that writes to the bridge by itself, as no runtime does."""
_FLOOD = (
    SEND
    + """
def drain():
    while os.read(bridge, 1 << 20):
        pass
def ask(number, method, **params):
    send({"id": number, "method": method, "params": params})
def flood(make):
    threading.Thread(target=drain, daemon=True).start()
    for number in range(1, 900):
        make(number)
    time.sleep(20)
"""
)
_TEXTS = """
words = [f"word{number}" for number in range(20000)]
os.makedirs("/mnt/memory/texts", exist_ok=True)
for number in range(200):
    with open(f"/mnt/memory/texts/{number}.md", "w") as file:
        file.write(" ".join(random.choices(words, k=1900)))
def search(number):
    with open("/mnt/memory/texts/0.md", "a") as file:
        file.write(f" {number}")
    ask(number, "semantic_search", query=f"word{number} of things", limit=5)
"""
PROGRAMS = {
    # 36 MB of frames that would become a gigabyte while their calls wait.
    "frames of small values": _FLOOD
    + """
filler = (b"{}," * 149_990)[:-1]
flood(lambda number: send(
    b'{"id":%d,"method":"call_tool","params":{"name":"raw__sleep","arguments":{"seconds":12,"a":[%b]}}}'
    % (number, filler)
))
""",
    "frames of 8 MiB": _FLOOD
    + """
filler = b"," * 8_388_000
flood(lambda number: send(b'{"id":%d,"method":"list_servers","params":{"a":"%b"}}' % (number, filler)))
""",
    "frames in UTF-16": _FLOOD
    + """
filler = ("{}," * 1_397_000)[:-1]
text = '{"id":1,"x":"\\u0122","method":"list_servers","params":{"a":[' + filler + ']},"y":"\\u0122"}'
body = text.encode("utf-16-le")
flood(lambda number: send(body))
""",
    "semantic searches in files without text": _FLOOD
    + """
os.makedirs("/mnt/memory/none", exist_ok=True)
for number in range(20000):
    with open(f"/mnt/memory/none/{number}", "wb") as file:
        file.write(bytes(1))
flood(lambda number: ask(number, "semantic_search", query=f"x {number}", limit=5))
""",
    "semantic searches in texts that change": _FLOOD + _TEXTS + "flood(search)\n",
    "searches for tools": _FLOOD
    + """
def query(number):
    return f"do the numbre {number} and then number the things of it"
flood(lambda number: ask(number, "search_tools", query=query(number), limit=50, detail="full"))
""",
    "calls of unknown tools": _FLOOD
    + """
flood(lambda number: ask(number, "call_tool", name=f"mani.tool_{number:05}x", arguments={}))
""",
    "output": "import os\nwhile True:\n    os.write(1, b'x' * 65536)\n",
    "large results": """
import asyncio
from satchel_runtime import call_tool
async def one():
    while True:
        await call_tool("big", "big", {"bytes": 3_900_000})
await asyncio.gather(*(one() for _ in range(40)))
""",
    "results that nobody reads": _FLOOD
    + """
for number in range(1, 50):
    ask(number, "call_tool", name="big__big", arguments={"bytes": 12_000_000})
time.sleep(20)
""",
    "files": """
import os
for place in range(20):
    os.makedirs(f"files/{place}", exist_ok=True)
    for number in range(1500):
        with open(f"files/{place}/{number}", "wb"):
            pass
""",
    "skills saved": _FLOOD
    + """
code = "def report(order):\\n    return " + "+".join(["(order)"] * 10_000) + "\\n"
flood(lambda number: ask(
    number, "save_skill", name=f"report-{number % 150}", code=code, description="Counts things."
))
""",
}


class Failed(Exception):
    """What was not answered, or not with success."""


class Connection:
    """One MCP client over HTTP, as plain as can be."""

    def __init__(self, port: int, token: str) -> None:
        self._port = port
        self._headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        self._http = HTTPConnection("127.0.0.1", port, timeout=ANSWER)
        self._number = 0

    def open(self) -> None:
        """Begin a session."""
        client = {"name": "flood", "version": "1"}
        self.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=client)
        self._post({"jsonrpc": "2.0", "method": "notifications/initialized"}).read()

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        reply = self._post({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        if reply.status != 200:
            raise Failed(f"{method}: {reply.status} {reply.read(300)!r}")
        if session := reply.headers.get("mcp-session-id"):
            self._headers["Mcp-Session-Id"] = session
        body = reply.read()
        for line in [body, *body.splitlines()]:
            text = line.removeprefix(b"data: ")
            if text.startswith(b"{") and (answer := _parsed(text)).get("id") == self._number:
                if "result" not in answer:
                    raise Failed(f"{method}: {str(answer)[:300]}")
                return answer["result"]
        raise Failed(f"{method}: {body[:300]!r}")

    def execute(self, code: str, **more: Any) -> dict[str, Any]:
        return self.ask("tools/call", name="execute_code", arguments={"code": code, **more})

    def get(self, path: str) -> None:
        self._http.request("GET", path)
        self._http.getresponse().read()

    def close(self) -> None:
        self._http.close()

    def _post(self, message: dict[str, Any]) -> Any:
        self._http.request("POST", "/mcp", json.dumps(message), self._headers)
        return self._http.getresponse()


def _parsed(text: bytes) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


@dataclass(frozen=True, kw_only=True)
class Service:
    """A Satchel that listens."""

    port: int
    process: int
    tokens: dict[str, str]

    @contextmanager
    def connected(self, agent: str) -> Generator[Connection]:
        with closing(Connection(self.port, self.tokens[agent])) as connection:
            connection.open()
            yield connection

    def memory(self) -> float:
        """MB that the process holds."""
        status = Path(f"/proc/{self.process}/status").read_text()
        return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1024


def entries() -> dict[str, Any]:
    """Of the servers whose tools flood, as they are configured."""
    raw = str(ROOT / "tests" / "servers" / "raw.py")
    return {
        name: {"command": PYTHON, "args": ["-I", "-S", raw, *arguments]}
        for name, arguments in _SERVERS.items()
    }


@contextmanager
def service(source: Path = ROOT / "src") -> Generator[Service]:
    """One of the checkout whose `src` is given."""
    with temporary_home() as home:
        home.configure(entries())
        (home.project / "satchel.yaml").write_text(json.dumps(SETTINGS))
        environment = {**home.environment, "PYTHONPATH": str(source)}

        def satchel(*arguments: str) -> list[str]:
            return [sys.executable, "-m", "satchel", *arguments]

        def run(*arguments: str) -> str:
            done = subprocess.run(
                satchel(*arguments),
                cwd=home.project,
                env=environment,
                capture_output=True,
                text=True,
                check=True,
            )
            return done.stdout.strip()

        run("refresh")
        tokens = {agent: run("token", agent) for agent in (HOSTILE, OTHER)}
        with subprocess.Popen(
            satchel("serve", "--http", "127.0.0.1:0"),
            cwd=home.project,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        ) as process:
            try:
                port = _port(process)
                yield Service(port=port, process=process.pid, tokens=tokens)
            finally:
                process.terminate()
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:  # which is one of the things that floods do
                    process.kill()


def _port(process: "subprocess.Popen[bytes]") -> int:
    assert process.stderr is not None
    for line in process.stderr:
        if found := _URL.search(line):
            threading.Thread(target=process.stderr.read, daemon=True).start()  # nobody waits to say more
            return int(found[1])
    raise Failed("it does not listen")


# What floods


def _programs(code: str) -> Callable[[Service, threading.Event], None]:
    """One program of the hostile agent after the other."""

    def run(at: Service, over: threading.Event) -> None:
        while not over.is_set():
            with suppress(Failed, OSError, HTTPException), at.connected(HOSTILE) as connection:
                while not over.is_set():
                    connection.execute(code, timeout=PROGRAM)

    return run


def _client_searches(at: Service, over: threading.Event) -> None:
    number = 0
    with at.connected(HOSTILE) as connection:
        while not over.is_set():
            number += 1
            query = f"do the numbre {number} and then number the things of it"
            arguments = {"query": query, "limit": 50, "detail": "full"}
            connection.ask("tools/call", name="search_tools", arguments=arguments)


def _sessions(at: Service, over: threading.Event) -> None:
    while not over.is_set():
        with suppress(Failed, OSError, HTTPException), at.connected(HOSTILE):
            pass


class _Pipe:
    """A connection on which the same is sent again and again, whether or not it is answered."""

    def __init__(self, port: int, beginning: bytes, more: bytes) -> None:
        self._more = more
        self._left = beginning + more
        self._socket = socket.create_connection(("127.0.0.1", port), ANSWER)
        self._socket.setblocking(False)

    def push(self) -> bool:
        """Send what can be sent, and forget what is answered; false once it is closed."""
        try:
            with suppress(BlockingIOError):
                self._left = self._left[self._socket.send(self._left) :] or self._more
            with suppress(BlockingIOError):
                while data := self._socket.recv(1 << 16):
                    pass
                return bool(data)
        except OSError:
            return False
        return True

    def close(self) -> None:
        self._socket.close()


def _pipes(count: int, said: Callable[[Service], tuple[bytes, bytes]]) -> Callable[..., None]:
    """So many connections at once; `said` has what each begins with and what it repeats."""

    def run(at: Service, over: threading.Event) -> None:
        beginning, more = said(at)
        pipes = [_Pipe(at.port, beginning, more) for _ in range(count)]
        while not over.is_set():
            for place, pipe in enumerate(pipes):
                if not pipe.push():
                    pipe.close()
                    pipes[place] = _Pipe(at.port, beginning, more)
            time.sleep(0.01)
        for pipe in pipes:
            pipe.close()

    return run


def _head(line: str, *fields: str) -> bytes:
    return "\r\n".join((f"{line} HTTP/1.1", "Host: localhost", *fields, "", "")).encode()


def _pings(at: Service) -> tuple[bytes, bytes]:
    body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    token, accepted = at.tokens[HOSTILE], "application/json, text/event-stream"
    fields = f"Authorization: Bearer {token}", f"Accept: {accepted}", f"Content-Length: {len(body)}"
    return b"", 20 * (_head("POST /mcp", *fields, "Content-Type: application/json") + body)


_CHUNKED = _head("POST /health", "Transfer-Encoding: chunked"), b"1\r\nx\r\n" * 2800

FLOODS: dict[str, tuple[Callable[[Service, threading.Event], None], int]] = {
    **{name: (_programs(code), 2) for name, code in PROGRAMS.items()},
    "searches of a client": (_client_searches, 8),
    "sessions of a client": (_sessions, 4),
    "small requests of a client": (_pipes(300, _pings), 1),
    "small requests of strangers": (_pipes(300, lambda at: (b"", 90 * _head("GET /health"))), 1),
    "bodies of strangers in chunks of a byte": (_pipes(300, lambda at: _CHUNKED), 1),
}
"""By name: what one of its threads does until it is over, and how many there are."""


@dataclass
class Felt:
    """What others have felt, in seconds, and what the process held, in MB."""

    programs: list[float] = field(default_factory=list[float])
    listings: list[float] = field(default_factory=list[float])
    health: list[float] = field(default_factory=list[float])
    memory: list[float] = field(default_factory=list[float])
    failures: list[str] = field(default_factory=list[str])

    @property
    def worst(self) -> float:
        return max([*self.programs, *self.listings])


def feel(at: Service, seconds: float, flood: str | None = None) -> Felt:
    """What another agent and its clients feel for so long, while there is a flood or none."""
    felt, over = Felt(), threading.Event()
    with ExitStack() as threads:
        if flood is not None:
            work, count = FLOODS[flood]
            for _ in range(count):
                threads.callback(_start(work, at, over).join, ANSWER)
            time.sleep(1.0)  # in which it begins; nothing tells when it has
        until = time.monotonic() + seconds
        probes = [
            _start(_probe, felt, felt.programs, _printing(at), until, 0.1),
            _start(_probe, felt, felt.listings, _listing(at), until, 0.1),
            _start(_probe, felt, felt.health, _health(at), until, 0.02),
        ]
        while any(probe.is_alive() for probe in probes):
            felt.memory.append(at.memory())
            time.sleep(0.05)
        over.set()  # programs end with their time-out
    return felt


def _start(work: Callable[..., None], *arguments: Any) -> threading.Thread:
    thread = threading.Thread(target=work, args=arguments, daemon=True)
    thread.start()
    return thread


def _probe(felt: Felt, times: list[float], ask: Generator[None], until: float, pause: float) -> None:
    with closing(ask):
        while time.monotonic() < until:
            began = time.perf_counter()
            try:
                next(ask)
            except (Failed, OSError, HTTPException) as error:
                felt.failures.append(repr(error)[:300])
                return
            times.append(time.perf_counter() - began)
            time.sleep(pause)


def _printing(at: Service) -> Generator[None]:
    with at.connected(OTHER) as connection:
        while True:
            if "1" not in str(connection.execute("print(1)")["content"]):
                raise Failed("print(1) has printed something else")
            yield


def _listing(at: Service) -> Generator[None]:
    with at.connected(OTHER) as connection:
        while True:
            connection.ask("tools/list")
            yield


def _health(at: Service) -> Generator[None]:
    while True:
        with closing(Connection(at.port, "")) as connection:
            connection.get("/health")
        yield
