"""Reads a skill's module: its function, and the tools that it calls. Never runs it."""

from dataclasses import dataclass

from satchel.errors import ArgumentError

LONGEST_SIGNATURE = 500
_MOST = 200  # tools that are looked up for a skill
_NOT_TOOLS = frozenset({"resources", "prompts", "example", "sync", "index"})


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One module. `calls` are tools as they are spelled there, such as google_drive.get_document."""

    signature: str
    needs: tuple[str, ...]  # parameters that have to be given
    is_async: bool
    calls: tuple[str, ...]


class Calls:
    """The tools that were found, each once, in the order in which they were."""

    def __init__(self) -> None:
        self._found: dict[str, None] = {}

    def add(self, server: str, tool: str) -> None:
        if server and tool and tool not in _NOT_TOOLS and len(self._found) < _MOST:
            self._found[f"{server}.{tool}"] = None

    def add_name(self, name: str) -> None:
        """One that is spelled in one word, such as google_drive__get_document."""
        if name and len(self._found) < _MOST:
            self._found[name] = None

    def found(self) -> tuple[str, ...]:
        return tuple(self._found)


def missing(function: str, shape: str) -> ArgumentError:
    """For a module without the skill's function, whose definition begins with `shape`."""
    return ArgumentError(
        f"the code does not define a function '{function}', which the skill is called by",
        argument="code",
        hint=f"write it as: {shape}",
    )
