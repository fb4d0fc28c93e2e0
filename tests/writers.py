"""Processes that write at once, and a reader who is there meanwhile."""

import subprocess
import sys
import time
from collections.abc import Callable, Sequence

ROUNDS = 10
_WAIT = 100  # seconds; only a hang reaches it


def start_writer(program: str, *arguments: str) -> "subprocess.Popen[bytes]":
    """A Python program that reads a line of its input before each of its rounds, and may print at its end."""
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


def read_meanwhile(
    writers: Sequence["subprocess.Popen[bytes]"], read: Callable[[], object]
) -> tuple[int, list[bytes]]:
    """Read all the while that writers write; how many different things were read, and what writers printed.

    A round begins when what the one before wrote has been seen: on a busy machine writers would else come to
    their end before the reader has a turn.
    """
    seen = {read()}
    for _ in range(ROUNDS):
        before, deadline = read(), time.monotonic() + _WAIT
        for writer in writers:
            assert writer.stdin is not None
            writer.stdin.write(b"go\n")
            writer.stdin.flush()
        while (now := read()) == before:
            assert time.monotonic() < deadline, "nothing was written"
        seen |= {before, now}
    while any(writer.poll() is None for writer in writers):
        seen.add(read())
    printed = [writer.communicate(timeout=_WAIT)[0] for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * len(writers)
    return len(seen), printed
