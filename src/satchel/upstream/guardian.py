"""Kills what a Satchel process leaves behind, however that process ends.

Runs as a process of its own (`python -I -S guardian.py OWNER`) with a pipe to its Satchel as standard input.
Every stdio server carries the owner's mark in its environment, and so do all of its descendants. When the
pipe closes without the word `done`, Satchel is gone, by kill -9 if need be: everything that bears the mark
is killed. Where there is no /proc, the process groups that were reported as `+group` are.

Standard library only; `sweep` is also what an orderly stop uses to catch what left its process group.
"""

import os
import signal
import sys
from contextlib import suppress

MARK = "SATCHEL_PROCESS"


def marked(owner: str) -> list[int]:
    """The processes whose environment bears `owner`'s mark."""
    prefix = f"{MARK}={owner}".encode()
    found: list[int] = []
    try:
        names = os.listdir("/proc")
    except FileNotFoundError:
        return found
    for name in names:
        if not name.isdigit() or int(name) == os.getpid():
            continue
        with suppress(OSError), open(f"/proc/{name}/environ", "rb") as stream:
            if any(variable.startswith(prefix) for variable in stream.read().split(b"\0")):
                found.append(int(name))
    return found


def sweep(owner: str) -> int:
    """Kill everything that bears the mark, and what it started meanwhile; tell how many there were."""
    killed = 0
    for _ in range(20):
        processes = marked(owner)
        if not processes:
            break
        for process in processes:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
                killed += 1
    return killed


def _watch(owner: str) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    groups: set[int] = set()
    for line in sys.stdin:
        word = line.strip()
        if word == "done":
            return
        if word[:1] == "+":
            groups.add(int(word[1:]))
        elif word[:1] == "-":
            groups.discard(int(word[1:]))
    for group in groups:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
    sweep(owner)


if __name__ == "__main__":
    _watch(sys.argv[1])
