"""A project whose agents remember things, for these tests."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from satchel.config import Configuration, find_paths, read_configuration
from satchel.model import UNTRUSTED, Caller, Reads, Source
from satchel.verbs.memory.command import MemoryCommand
from satchel.verbs.memory.memories import Memories

STRANGERS = Source(server="web", what="get_page", labels=frozenset({UNTRUSTED}))
AGENTS: dict[str, Any] = {
    "default": {"memory": {"allow_read_from": ["reader"], "allow_write_to": ["worker"]}},
    "reader": {},
    "worker": {},
    "secret": {},
    "off": {"memory": {"enabled": False}},
}


class Remembering(Memories):
    """Memories of a new project, with the settings as they are at the moment."""

    def __init__(self, directory: Path, settings: Mapping[str, Any] | None = None) -> None:
        self.project = directory / "project"
        self.project.mkdir(parents=True)
        self.configure(settings or {"agents": AGENTS})
        super().__init__(self.read_configuration)

    def configure(self, settings: Mapping[str, Any]) -> None:
        (self.project / "satchel.yaml").write_text(json.dumps(settings))

    def read_configuration(self) -> Configuration:
        return read_configuration(find_paths(config=self.project))

    def directory(self, agent: str = "default") -> Path:
        return self.project / ".satchel" / "agents" / agent / "memory"

    def write(self, file: str, text: str, agent: str = "default") -> None:
        """As a program does, of which nobody knows what it had read."""
        self.read_configuration().paths.prepare_state()
        path = self.directory(agent) / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    async def ask(self, command: str, caller: Caller | None = None, /, **arguments: object) -> str:
        """What a model is told that has read nothing so far, unless the caller says otherwise."""
        given: dict[str, Any] = {**arguments}
        asked = MemoryCommand(command=command, **given)
        return await self.tool.run(asked, caller or conversation())


def conversation(agent: str = "default", *sources: Source, **more: Any) -> Caller:
    reads = Reads()
    reads.add(*sources)
    return Caller(agent=agent, reads=reads, conversation="c1", **more)


def reads_of(caller: Caller) -> Reads:
    assert caller.reads is not None
    return caller.reads
