"""However Satchel ends, no child survives it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers import raw
from tests.upstream.helpers import alive, heed_interrupts, lines, until

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

PROGRAM = """
import sys, anyio, json
from pathlib import Path
from satchel.config.entries import read_entry
from satchel.config.settings import ServersSettings
from satchel.upstream.pool import open_pool

async def main():
    async with open_pool(ServersSettings()) as pool:
        for name, written in json.loads(sys.argv[1]).items():
            await pool.list_server(read_entry(name, written, Path(sys.argv[2]) / "x.json"))
        print("ready", flush=True)
        await anyio.sleep_forever()

anyio.run(main)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
async def test_children_and_grandchildren_die_with_satchel(tmp_path: Path, number: signal.Signals) -> None:
    import json

    pids = tmp_path / "pids"
    servers = {"parent": raw("grandchildren", pids=pids), "stubborn": raw("stubborn")}
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, json.dumps(servers), str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        preexec_fn=heed_interrupts,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        await until(lambda: len(lines(pids)) == 2)
        grandchildren = [int(line) for line in lines(pids)]
        children = _children_of(process.pid)
        assert len(children) >= 3  # both servers and the guardian
        process.send_signal(number)
        process.wait(timeout=30)
        await until(lambda: not any(alive(child) for child in [*children, *grandchildren]))
    finally:
        process.kill()
        process.wait()
        process.stdout.close()  # pyright: ignore[reportOptionalMemberAccess]


async def test_the_guardian_is_not_ended_by_a_signal_to_the_terminals_group(tmp_path: Path) -> None:
    from satchel.upstream.processes import Children

    children = Children()
    children.watch()
    guardian = children._guardian
    assert guardian is not None
    try:
        assert os.getsid(guardian.pid) != os.getsid(0)
    finally:
        children.close()
    assert guardian.returncode == 0


def _children_of(process: int) -> list[int]:
    found: list[int] = []
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((directory / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue
        if parent == process:
            found.append(int(directory.name))
    return found
