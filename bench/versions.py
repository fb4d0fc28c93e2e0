"""This checkout beside another one, in turn and on the same machine: has anything become slower?

    python -m bench.versions DIRECTORY      the other checkout, with its src/

Prints the median of each and their ratio. Each version has a home of its own, so that neither reads what the
other has cached.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RAW = ROOT / "tests" / "servers" / "raw.py"
SERVERS = 75
LIMIT = 1.05

_WARM = """
import sys, time
from statistics import median
import anyio
from satchel import open_satchel

async def main():
    async with open_satchel(sys.argv[1]) as satchel:
        for _ in range(5):
            await satchel.execute("print(1)")
        times = []
        for _ in range(60):
            await anyio.sleep(0.05)  # in which the next box is made ready
            began = time.perf_counter()
            await satchel.execute("print(1)")
            times.append(time.perf_counter() - began)
        print(median(times) * 1000)
        code = '''
import time
from servers.s0 import echo
await echo(text="x")
began = time.perf_counter()
for _ in range(400):
    await echo(text="x")
result = (time.perf_counter() - began) / 400 * 1000
'''
        print(median([(await satchel.execute(code)).result for _ in range(5)]))

anyio.run(main)
"""


@dataclass(frozen=True)
class Version:
    """A checkout, and where it runs."""

    name: str
    source: Path
    home: Path

    @property
    def project(self) -> Path:
        return self.home / "project"

    def prepare(self) -> None:
        self.project.mkdir(parents=True)
        server = {"command": sys.executable, "args": [str(RAW), "good"]}
        servers = {f"s{number}": server for number in range(SERVERS)}
        (self.project / "extensions_config.json").write_text(json.dumps({"mcpServers": servers}))
        self.run("-m", "satchel", "refresh")

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "HOME": str(self.home), "PYTHONPATH": str(self.source)}

    def run(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.project,
            env=self.environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout


def timed(*arguments: str) -> Callable[[Version], list[float]]:
    def measure(version: Version) -> list[float]:
        began = time.perf_counter()
        version.run(*arguments)
        return [(time.perf_counter() - began) * 1000]

    return measure


def inside(version: Version) -> list[float]:
    """(a warm execution of print(1), one call from inside a program)."""
    return [float(line) for line in version.run("-c", _WARM, str(version.project)).split()]


def over_stdio(version: Version) -> list[float]:
    """(the first tools/list of a new process, one of a process that runs)."""
    process = subprocess.Popen(
        [sys.executable, "-m", "satchel", "serve"],
        cwd=version.project,
        env=version.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    stdin, stdout = process.stdin, process.stdout
    assert stdin is not None and stdout is not None

    def ask(number: int, method: str, params: dict[str, Any]) -> None:
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        stdin.write(json.dumps(message) + "\n")
        stdin.flush()
        while json.loads(stdout.readline()).get("id") != number:
            pass

    try:
        began = time.perf_counter()
        client = {"name": "bench", "version": "1"}
        ask(1, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
        stdin.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        ask(2, "tools/list", {})
        first = time.perf_counter() - began
        times: list[float] = []
        for number in range(3, 33):
            began = time.perf_counter()
            ask(number, "tools/list", {})
            times.append(time.perf_counter() - began)
        return [first * 1000, median(times) * 1000]
    finally:
        process.kill()
        process.wait()


MEASURES: tuple[tuple[tuple[str, ...], Callable[[Version], list[float]], int], ...] = (
    ((f"satchel list --json, {SERVERS} servers",), timed("-m", "satchel", "list", "--json"), 25),
    (("satchel search",), timed("-m", "satchel", "search", "add two numbers"), 15),
    (("satchel call",), timed("-m", "satchel", "call", "s0.echo", "text=x"), 25),
    (("warm execute('print(1)')", "nested call"), inside, 7),
    (("first tools/list over stdio", "tools/list over stdio"), over_stdio, 9),
)


def main(other: Path) -> int:
    with TemporaryDirectory() as directory:
        versions = (
            Version("before", other.resolve() / "src", Path(directory) / "before"),
            Version("now", ROOT / "src", Path(directory) / "now"),
        )
        for version in versions:
            version.prepare()
        print(f"{'':36} {'before':>9} {'now':>9}  ratio")
        for names, measure, rounds in MEASURES:
            found: dict[str, list[list[float]]] = {version.name: [] for version in versions}
            for turn in range(rounds):
                for version in versions[:: 1 if turn % 2 else -1]:
                    found[version.name].append(measure(version))
            for place, name in enumerate(names):
                before, now = (median(row[place] for row in found[key]) for key in ("before", "now"))
                verdict = "" if now <= LIMIT * before else "  slower"
                print(f"{name:36} {before:6.1f} ms {now:6.1f} ms  {now / before:.2f} ×{verdict}")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
