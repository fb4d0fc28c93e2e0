"""The gaps of the sandbox on this machine, by its control groups and Satchel's user."""

from collections.abc import Iterator, Mapping

_LIMITS = "satchel docs security, 'Limits'"


def gaps(groups: Mapping[str, int], *, is_root: bool) -> Iterator[str]:
    """Each as a sentence without its full stop. `groups` has the version of control groups by controller."""
    if "memory" not in groups:
        yield "memory that the kernel holds for a program, such as buffers of sockets, does not count"
    if "cpuacct" not in groups:
        yield "the processor time of very short processes that nobody waits for does not count"
    if "cpu" not in groups:
        yield "a program has as large a share of the processor as others have"
    if not is_root:
        yield "of a deleted file that no process has open, only what is mapped counts as disk space"


def remedy_of(groups: Mapping[str, int]) -> str:
    """The remedies that a person has for them."""
    if "memory" in groups:
        return f"see {_LIMITS}"
    return f"have a control group of version 2 with memory, pids and cpu delegated to you; see {_LIMITS}"
