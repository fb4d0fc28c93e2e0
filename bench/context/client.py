"""An MCP client over stdio in as few lines as the protocol needs, so that little but the server is timed."""

import json
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from types import TracebackType
from typing import Any

from satchel.model import Json

PROTOCOL = "2025-11-25"
LONGEST = 180  # seconds that a process may live


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a call returned, and how long that took."""

    text: str
    structured: Any
    seconds: float


class Client:
    """A server process and the conversation with it. `instructions` are what it said at the beginning."""

    def __init__(self, command: Sequence[str], directory: Path, environment: Mapping[str, str]) -> None:
        self._command = command
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  closed with the process
        self._process = subprocess.Popen(
            command,
            cwd=directory,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
        )
        self._requests = 0
        self._end = Timer(LONGEST, self._process.kill)
        self._end.daemon = True
        self._end.start()
        self.instructions = ""

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._end.cancel()
        self._process.stdout.close()
        self._stderr.close()

    def initialize(self) -> None:
        answer = self.ask(
            "initialize",
            protocolVersion=PROTOCOL,
            capabilities={},
            clientInfo={"name": "satchel-bench", "version": "1"},
        )
        self.instructions = answer.get("instructions") or ""
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def tools(self) -> list[Json]:
        answer = self.ask("tools/list")
        if answer.get("nextCursor"):
            raise RuntimeError(f"{self._command[0]} lists its tools in pages")
        return answer["tools"]

    def call(self, name: str, arguments: Json) -> Answer:
        began = time.perf_counter()
        answer = self.ask("tools/call", name=name, arguments=arguments)
        seconds = time.perf_counter() - began
        text = "\n".join(part["text"] for part in answer["content"] if part["type"] == "text")
        if answer.get("isError"):
            raise RuntimeError(f"{name} failed: {text}")
        return Answer(text=text, structured=answer.get("structuredContent"), seconds=seconds)

    def ask(self, method: str, **parameters: Any) -> Json:
        self._requests += 1
        number = self._requests
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": parameters})
        while True:
            message = self._receive()
            if message.get("id") != number or "method" in message:
                continue
            if "error" in message:
                raise RuntimeError(f"{method} failed: {message['error']}")
            return message["result"]

    def _send(self, message: Json) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def _receive(self) -> Json:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            code = self._process.wait()
            self._stderr.seek(0)
            last = self._stderr.read().decode("utf-8", "replace")[-1000:]
            raise RuntimeError(f"{' '.join(self._command)} ended with {code}: {last}")
        return json.loads(line)
