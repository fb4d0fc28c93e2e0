"""The process with the peers, which have an environment of their own."""

import json
import os
import subprocess
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from bench.rows import Skipped
from bench.search.data import Tool, words_of
from bench.surroundings import ROOT

PROGRAM = ROOT / "bench" / "peers" / "search.py"


class Answer(NamedTuple):
    """Rankings, and the milliseconds of each query."""

    rankings: list[list[str]]
    milliseconds: list[float]


class Peer:
    """Is started when it is first needed; where it can't be, whatever needs it is skipped."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._tools: Sequence[Tool] = ()

    def load(self, tools: Sequence[Tool]) -> None:
        if tools is self._tools:
            return
        self._ask(
            tools=[
                {
                    "name": f"{tool.server}_{tool.name}",
                    "description": tool.description,
                    "parameters": dict(tool.input_schema),
                    "text": " ".join(words_of(tool.text)),
                }
                for tool in tools
            ]
        )
        self._tools = tools

    def search(self, method: str, queries: Sequence[str]) -> Answer:
        answer = self._ask(method=method, queries=list(queries))
        found: list[list[int]] = answer["rankings"]
        rankings = [[self._tools[place].key for place in places] for places in found]
        return Answer(rankings, answer["ms"])

    def first_search(self, method: str, query: str) -> float:
        """Milliseconds of a query without an index."""
        return self._ask(method=method, first=query)["ms"]

    def memory(self, method: str) -> float:
        """Megabytes that its index keeps."""
        return self._ask(method=method, memory=True)["bytes"] / 1e6

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()

    def _ask(self, **request: Any) -> Any:
        process = self._process = self._process or _start()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"{PROGRAM.name} ended with {process.wait()}")
        answer = json.loads(line)
        if "skipped" in answer:
            raise Skipped(answer["skipped"])
        return answer


@contextmanager
def open_peer() -> Generator[Peer]:
    peer = Peer()
    try:
        yield peer
    finally:
        peer.close()


def _start() -> "subprocess.Popen[str]":
    interpreter = Path(
        os.environ.get("SATCHEL_BENCH_PEERS") or ROOT / ".servers" / "peers" / "bin" / "python"
    )
    if not interpreter.exists():
        raise Skipped(f"there is no {interpreter}; make bench-search installs it")
    return subprocess.Popen(
        [str(interpreter), str(PROGRAM)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"},
    )
