"""Paths as a model writes them, and whose memory each is in."""

import re
from dataclasses import dataclass

from satchel.errors import ArgumentError
from satchel.support.program_paths import AGENTS, MEMORY
from satchel.support.text import label

MEMORIES = "/memories"
"""Where Claude's memory tool has them."""
_LONGEST = 1_000  # characters of a path
_IN_OTHERS = re.compile(r"(?:/mnt/|/workspace/|\./)?agents/([^/]+)/memory(?:/(.*))?$")
_IN_OWN = re.compile(r"(?:(/memories)|/mnt/memory|/workspace/memory|(?:\./)?memory)(?:/(.*))?$")


@dataclass(frozen=True, kw_only=True)
class Place:
    """A file or directory of an agent's memory. The empty path is the memory as a whole."""

    agent: str
    root: str  # as the model is told
    path: str

    @property
    def shown(self) -> str:
        return f"{self.root}/{self.path}" if self.path else self.root


def place_of(path: str, agent: str) -> Place:
    """`notes.md`, `memory/notes.md`, `/memories/notes.md`; `/mnt/agents/OTHER/memory/notes.md` of others."""
    if len(path) > _LONGEST:
        raise ArgumentError(f"a path has at most {_LONGEST:,} characters", argument="path")
    if (found := _IN_OTHERS.match(path)) and found[1] != agent:
        return Place(agent=found[1], root=root_of(found[1]), path=_plain(found[2]))
    if found:
        return Place(agent=agent, root=MEMORY, path=_plain(found[2]))
    if found := _IN_OWN.match(path):
        return Place(agent=agent, root=found[1] or MEMORY, path=_plain(found[2]))
    if path.startswith("/"):
        raise ArgumentError(
            f"{label(path)} is not in a memory",
            argument="path",
            hint=f"the memory is {MEMORIES}; that of another agent would be {root_of('NAME')}",
        )
    return Place(agent=agent, root=MEMORIES, path=_plain(path))


def root_of(other: str) -> str:
    """Where an agent finds the memory of another one."""
    return f"{AGENTS}/{other}/memory"


def _plain(path: str | None) -> str:
    """Without empty names and `.`; what else is odd is for the library to refuse."""
    return "/".join(name for name in (path or "").split("/") if name not in ("", "."))
