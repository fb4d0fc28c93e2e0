"""What the tests of sandboxes share: a home with real wrappers, an answer, and a look at what runs."""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from satchel.model import Json
from satchel.sandbox.backends import BUBBLEWRAP
from satchel.sandbox.running import cgroups
from satchel.sandbox.running import home as homes
from satchel.sandbox.running.home import LocalHome
from satchel.sandbox.running.processes import descendants
from satchel.sandbox.sandbox import About, Door, Shown
from tests.codegen.helpers import generate_tree, make_servers

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOLS = [
    {"name": "echo", "description": "Return the text.", "inputSchema": TEXT, "outputSchema": TEXT},
    {"name": "fail", "description": "Fail.", "inputSchema": TEXT},
]
GONE = 60  # seconds in which whatever was killed must be gone


def make_home(directory: Path, about: About = BUBBLEWRAP) -> LocalHome:
    """An agent's directories, and wrappers for `demo.echo` and `demo.fail`."""
    code_api = directory / "code-api"
    if not code_api.exists():
        generate_tree(code_api, make_servers({"demo": TOOLS}), languages=("python",))
    agents = directory / "agents"
    shown = Shown(code_api=code_api / "python", memory=agents / "default/memory")
    return homes.make_home(agents, "default", shown, about)


def memory_of(home: LocalHome) -> Path:
    assert home.memory is not None
    return home.memory


async def echo(method: str, params: Json) -> Any:
    """Return the arguments of every call."""
    return params["arguments"]


ECHO = Door(answer=echo)
"""A door that does so."""


@dataclass(frozen=True, kw_only=True)
class Traces:
    """What programs could leave behind on the host."""

    descriptors: int
    processes: frozenset[int]
    groups: frozenset[str]
    mounts: str

    def has_nothing_beyond(self, before: "Traces") -> bool:
        """What was there before, of other tests, may go meanwhile; nothing may have come."""
        return (
            self.descriptors <= before.descriptors
            and self.processes <= before.processes
            and self.groups <= before.groups
            and self.mounts == before.mounts
        )


def traces() -> Traces:
    """Of this process."""
    return Traces(
        descriptors=descriptors_of_this_process(),
        processes=frozenset(descendants(os.getpid())),
        groups=frozenset(groups_of_this_process()),
        mounts=Path("/proc/self/mountinfo").read_text(),
    )


def descriptors_of_this_process() -> int:
    return len(os.listdir("/proc/self/fd"))


def groups_of_this_process() -> set[str]:
    return {path.name for path in own_groups(cgroups.find_parents())}


def own_groups(parents: cgroups.Parents | None) -> set[Path]:
    """The control groups that this process has made, and those in them."""
    return {
        Path(place, name)
        for directory in (parents.directories.values() if parents is not None else ())
        for place, names, _ in os.walk(directory)  # others' groups may go meanwhile
        for name in names
        if name.startswith(f"satchel-{os.getpid()}-")
    }


def processes_with(token: str) -> list[str]:
    """The command lines of the living processes that have a token in them, or in their environment."""
    found: list[str] = []
    for path in Path("/proc").iterdir():
        if path.name.isdigit() and path.name != str(os.getpid()):
            try:
                texts = [(path / name).read_bytes() for name in ("cmdline", "environ")]
            except OSError:
                continue
            if any(token.encode() in text for text in texts):
                found.append(texts[0].replace(b"\0", b" ").decode("utf-8", "replace"))
    return found


def wait_until_none_has(token: str) -> None:
    deadline = time.monotonic() + GONE
    while processes := processes_with(token):
        assert time.monotonic() < deadline, processes
        time.sleep(0.02)
