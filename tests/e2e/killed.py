"""A Satchel that runs programs until it is killed, or until its standard input ends.

    python -m tests.e2e.killed PROJECT NAME

Every call that its programs make has a number that begins with NAME and is used once. Says `ready` when
Satchel is open and nothing has been run yet, and `programs N` when its input has ended and all is closed.
"""

import itertools
import os
import sys
from pathlib import Path

import anyio

from satchel import Satchel, open_satchel

AT_ONCE = 3
ONE_BY_ONE = """
import subprocess
subprocess.Popen(["/bin/sleep", "300"])
for number in range(8):
    await call_mcp_tool("noting.note", {{"number": f"{name}-{{number}}"}})
"""
ALL_AT_ONCE = """
import asyncio
from servers.noting import note
await asyncio.gather(*(note(number=f"{name}-{{number}}") for number in range(30)))
"""
FROM_THREADS = """
from concurrent.futures import ThreadPoolExecutor
from servers.noting.sync import note
with ThreadPoolExecutor(4) as threads:
    list(threads.map(lambda number: note(number=f"{name}-{{number}}"), range(12)))
"""
PROGRAMS = (ONE_BY_ONE, ALL_AT_ONCE, FROM_THREADS)


async def work(satchel: Satchel, name: str, numbers: "itertools.count[int]", stop: anyio.Event) -> None:
    while not stop.is_set():
        number = next(numbers)
        code = PROGRAMS[number % len(PROGRAMS)].format(name=f"{name}-{number}")
        execution = await satchel.execute(code)
        if execution.exit_code != 0:
            raise RuntimeError(f"{execution.ended} {execution.reason} {execution.stderr}")


async def main(project: Path, name: str) -> None:
    numbers = itertools.count()
    stop = anyio.Event()
    async with open_satchel(project) as satchel, anyio.create_task_group() as tasks:
        os.write(1, b"ready\n")
        for _ in range(AT_ONCE):
            tasks.start_soon(work, satchel, name, numbers, stop)
        await anyio.to_thread.run_sync(sys.stdin.buffer.read, abandon_on_cancel=True)
        stop.set()
    os.write(1, f"programs {next(numbers)}\n".encode())


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), sys.argv[2])
