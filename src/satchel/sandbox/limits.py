"""The limits of an execution, and the words for the limit that ended it."""

from dataclasses import dataclass
from typing import Literal

Ended = Literal[
    "timeout",  # wall time
    "cpu",
    "memory",
    "processes",
    "open_files",
    "file_size",
    "disk",  # the workspace and the private /tmp
    "output",
    "calls",
    "calls_in_flight",
    "protocol",  # what came through the bridge was not what a runtime sends
    "check",  # its types don't fit, so it was not run
    "killed",  # by something that is not Satchel
    "interrupted",  # the machine that it ran on was lost
    "diverged",  # run again, it took a different way than the first time
    "approval",  # a person has not decided on one of its calls; it may be run again when one has
]
KILLED = 128 + 9  # the exit code of a program that a limit ended
MIB = 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of one execution, all processes of the program together unless it says otherwise."""

    seconds: float = 30
    cpu_seconds: float = 30
    memory: int = 1024 * MIB
    processes: int = 64
    open_files: int = 256  # of one process
    file_size: int = 512 * MIB  # of one file
    disk: int = 512 * MIB
    files: int = 100_000  # in the workspace
    output: int = 64 * MIB  # read and thrown away beyond what is kept
    kept_output: int = 10_000  # characters
    kept_errors: int = 2_000
    result: int = 10_000  # characters of `result` as JSON
    calls: int = 1_000
    calls_in_flight: int = 50
    frame: int = 8 * MIB  # of one request
    sent: int = 256 * MIB  # of all requests together

    @property
    def of_box(self) -> "Limits":
        """Those that a box is made with; the others are kept from outside."""
        return Limits(
            cpu_seconds=self.cpu_seconds,
            memory=self.memory,
            processes=self.processes,
            open_files=self.open_files,
            file_size=self.file_size,
            disk=self.disk,
            files=self.files,
        )

    @property
    def temporary(self) -> int:
        """The size of the private /tmp."""
        return min(self.disk, 256 * MIB)


@dataclass(frozen=True, kw_only=True)
class Totals:
    """The limits for all programs of one Satchel together. The defaults are too high to matter."""

    memory: int = 1 << 60
    processes: int = 1 << 20
    programs: int = 64  # at once
    reserve: int = 0  # of these, for agents of which none runs
    sessions: int = 128
    agent_sessions: int = 16
    patience: float = 30  # seconds that a program may wait for its place

    @property
    def resting_memory(self) -> int:
        """The memory that sessions may hold between programs: the other half stays free for programs."""
        return self.memory // 2

    def reason(self, ended: Ended) -> str:
        """Why a program was ended that had not reached a limit of its own."""
        amount = (
            f"{self.processes:,} processes and threads (total.processes)"
            if ended == "processes"
            else f"{self.memory // MIB} MiB of memory (total.memory_mb)"
        )
        return f"all programs together reached {amount}; run fewer at once, or use less in each"


def reason_of(ended: Ended, limits: Limits) -> str:
    """The effect of a limit, with its value and how to raise it."""
    texts: dict[Ended, str] = {
        "timeout": f"it ran longer than {limits.seconds:g} s; ask for a longer timeout, or do less at once",
        "cpu": f"it used more than {limits.cpu_seconds:g} s of processor time (cpu_seconds)",
        "memory": f"it used more than {limits.memory // MIB} MiB of memory (memory_mb)",
        "processes": f"it wanted more than {limits.processes} processes and threads (processes)",
        "open_files": f"a process wanted more than {limits.open_files} open files (open_files)",
        "file_size": f"a file grew beyond {limits.file_size // MIB} MiB (disk_mb)",
        "disk": f"its files took more than {limits.disk // MIB} MiB in the workspace,"
        f" {limits.temporary // MIB} MiB in /tmp, or were more than {limits.files:,} (disk_mb)",
        "output": f"it printed more than {limits.output // MIB} MiB; print less, or write to a file",
        "calls": f"it made more than {limits.calls:,} calls (max_calls)",
        "calls_in_flight": f"it had more than {most_waiting(limits):,} calls waiting at once"
        " (max_calls_in_flight); await some before making more",
        "protocol": "it sent data through the bridge that the runtime does not send",
        "check": "its types don't fit; nothing was run",
        "killed": "it was killed from outside, or by the kernel",
        "interrupted": "the worker that ran it was lost; the journal has the calls that were made",
        "diverged": "it took a different way than the first time",
        "approval": "a call waits for a person to agree",
    }
    return texts[ended]


def most_waiting(limits: Limits) -> int:
    """How many calls may wait for their turn: beyond that it is a flood."""
    return 20 * limits.calls_in_flight
