"""Which process a row belongs to, and whether that process is gone.

What a process that was killed had begun would otherwise be under way for ever. In doubt, it is not gone.
"""

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Self

_MACHINE_IDS = ("/etc/machine-id", "/var/lib/dbus/machine-id")


@dataclass(frozen=True, kw_only=True)
class Owner:
    """A process, told apart from every other that ever had its number."""

    host: (
        str  # where the number means the same: the machine's name and id, and the namespace of its processes
    )
    process: int
    started: int | None  # in the kernel's ticks since the boot, where there is /proc
    boot: str | None

    @cached_property
    def text(self) -> str:
        return json.dumps([self.host, self.process, self.started, self.boot])

    @classmethod
    def from_text(cls, text: str) -> Self:
        host, process, started, boot = json.loads(text)
        if type(process) is not int:
            raise ValueError(f"{process!r} is not the number of a process")
        return cls(host=host, process=process, started=started, boot=boot)


def current_owner() -> Owner:
    """This process; after a fork, the child."""
    return _describe(os.getpid())


def is_gone_by_text(text: str) -> bool:
    """The same for an owner as a row has it. One that can't be read may be anybody."""
    try:
        return is_gone(Owner.from_text(text))
    except (ValueError, TypeError, OverflowError, RecursionError):
        return False


def is_gone(owner: Owner) -> bool:
    """Whether that process has certainly ended. Of another host, nothing is certain."""
    here = current_owner()
    if owner.host != here.host:
        return False
    if owner.boot != here.boot:
        return True
    status = _read_status(owner.process)
    if status is None:
        return not _exists(owner.process)
    state, started = status
    return state in "ZX" or started != owner.started  # a zombie only waits for its parent to look


@lru_cache(maxsize=1)
def _describe(process: int) -> Owner:
    status = _read_status(process)
    return Owner(
        host=os.uname().nodename + _read_machine() + _read_namespace(),
        process=process,
        started=status[1] if status else None,
        boot=_read_boot(),
    )


def _read_status(process: int) -> tuple[str, int] | None:
    """The state of a process and when it started, where that can be read."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()  # before it is the program's name, which may hold anything
    return fields[0], int(fields[19])


def _read_machine(places: Sequence[str] = _MACHINE_IDS) -> str:
    """Machines may share a name, and number their first namespace alike."""
    for place in places:
        with suppress(OSError, ValueError):
            return " " + Path(place).read_text().strip()
    return ""


def _read_namespace() -> str:
    """Containers may share a name and a kernel, but then number their processes apart."""
    try:
        return " " + os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _read_boot() -> str | None:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None


def _exists(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # it is someone else's
    return True
