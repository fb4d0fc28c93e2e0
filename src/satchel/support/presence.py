"""Which processes are there now, and what they do: each holds the lock of a file that says so.

The kernel lets go of a lock however its process ends, so a file whose lock is free is about nobody.
"""

import fcntl
import json
import os
import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from satchel.support.files import is_locked, private_directory, read_small

_LONGEST = 64 * 1024  # bytes


@contextmanager
def announced(directory: Path, facts: Mapping[str, Any]) -> Generator[None]:
    """Be found in `directory` with these facts, for the length of the block, if it can be written to."""
    descriptor: int | None = None
    file = directory / f"{os.getpid()}.json"
    with suppress(OSError):
        private_directory(directory)
        descriptor = _locked_file(file)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        os.write(descriptor, json.dumps({"process": os.getpid(), "since": now, **facts}).encode())
    try:
        yield
    finally:
        if descriptor is not None:
            with suppress(OSError):
                file.unlink()
            os.close(descriptor)


def present(directory: Path) -> list[dict[str, Any]]:
    """The facts of every process that is there, the longest first. Files of others are removed."""
    found: list[dict[str, Any]] = []
    for file in directory.glob("*.json"):
        with suppress(OSError, ValueError):
            if is_locked(file):
                found.append(json.loads(read_small(file, _LONGEST)))
            else:
                file.unlink()
    return sorted(found, key=lambda facts: str(facts.get("since")))


def parent_name() -> str:
    """The name of the program that started this process; empty if that can't be known."""
    with suppress(OSError):
        words = Path(f"/proc/{os.getppid()}/cmdline").read_bytes().split(b"\0")
        name = os.path.basename(words[0]).decode("utf-8", "replace")
        script = os.path.basename(words[1]).decode("utf-8", "replace") if len(words) > 1 else ""
        is_runner = re.fullmatch(r"node|python[\d.]*|deno|bun", name) and not script.startswith("-")
        return script if is_runner and script else name
    return ""


def _locked_file(file: Path) -> int:
    """The descriptor of a new file with its lock. Somebody may remove it before it is locked."""
    while True:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return descriptor
        os.close(descriptor)
