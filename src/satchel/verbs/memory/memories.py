"""The memories of a project's agents: what people do with them, and what a model is told.

What a model does through its tool is in `model_tool.py`. Reading and writing is done in threads.
"""

import logging
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING

from satchel.codegen.text import readable
from satchel.config import Configuration, find_paths, read_configuration
from satchel.config.agents import AgentSettings, may_read
from satchel.config.settings import find_agent
from satchel.errors import ArgumentError, SatchelError
from satchel.library.memory.places import CORE
from satchel.model import Entry, FoundLine, Json, Reads, Remembered, ToldMemory, Writer
from satchel.store.journal import Journal
from satchel.support.charging import apart
from satchel.verbs.memory.model_tool import MemoryTool
from satchel.verbs.memory.opening import is_there, open_memory
from satchel.verbs.programs.tracing import traced_texts

if TYPE_CHECKING:
    from satchel.library.memory.memory import Memory
    from satchel.verbs.memory.importing import PlannedImport

__all__ = ["CORE", "Memories", "open_memories", "readable"]

logger = logging.getLogger(__name__)

PERSON = Writer(kind="person")
_MOST_FOUND = 50


class Memories:
    """Memories as one project has them. Each verb names the agent whose memory it is."""

    def __init__(self, configuration: Callable[[], Configuration], journal: Journal | None = None) -> None:
        self._configuration = configuration
        self._journal = journal
        self.tool = MemoryTool(self.of, self.others, configuration)
        """What a model does with its memory."""

    # Which

    def is_on(self, agent: str) -> bool:
        return self._settings(agent).memory.enabled

    def of(self, agent: str) -> "Memory":
        """The memory of an agent that has one. It is for threads."""
        return open_memory(self._configuration(), agent)

    def others(self, agent: str) -> dict[str, bool]:
        """The agents whose memory this one may read, each with whether it may write to it."""
        found = may_read(self._configuration().settings.agents, agent)
        return {other: writable for other, writable in found.items() if self.is_on(other)}

    def _settings(self, agent: str) -> AgentSettings:
        return find_agent(self._configuration().settings, agent)

    # Looking

    async def entries(self, agent: str = "default") -> Remembered:
        """All that is remembered, file by file, and what is wrong with files."""
        return await apart(self.of(agent).read)

    async def entry(self, key: str, agent: str = "default") -> Entry:
        """One entry by its key, `file:line`, or the beginning of its digest."""
        from satchel.library.memory.entries import meant  # as in `open_memory`

        return meant(key, (await self.entries(agent)).entries)

    async def search(self, query: str, agent: str = "default", *, limit: int = 10) -> list[FoundLine]:
        """The lines that fit, best first."""
        if not 1 <= limit <= _MOST_FOUND:
            raise ArgumentError(f"limit is {limit}", argument="limit", hint=f"1 to {_MOST_FOUND}")
        return await apart(self.of(agent).search, query, limit)

    # Changing

    async def add(
        self,
        content: str,
        agent: str = "default",
        *,
        topic: str | None = None,
        file: str = CORE,
        read_only: bool = False,
    ) -> Entry:
        """Remember something, as a person; only people change it if it is `read_only`."""
        memory = self.of(agent)
        return await apart(lambda: memory.add(content, PERSON, topic=topic, file=file, read_only=read_only))

    async def edit(self, key: str, content: str, agent: str = "default") -> Entry:
        """Give an entry another text."""
        return await apart(self.of(agent).edit, key, content, PERSON)

    async def forget(self, key: str, agent: str = "default") -> None:
        """Remove an entry."""
        await apart(self.of(agent).forget, key, PERSON)

    def content_of(self, entry: Entry) -> str:
        """The text of an entry that `edit` replaces."""
        from satchel.library.memory.entries import content_of  # as in `open_memory`

        return content_of(entry)

    async def export(self, agent: str = "default") -> Json:
        """All entries, as plain data that can be imported."""
        from satchel.library.memory.entries import content_of  # as in `open_memory`

        found = await self.entries(agent)
        entries = [
            {"file": entry.file, "topic": entry.key, "content": content_of(entry), **(entry.value or {})}
            | ({"waiting": True} if entry.is_waiting else {})
            for entry in found.entries
        ]
        return {"satchel_memory": 1, "agent": agent, "entries": entries}

    async def plan_import(self, path: Path, agent: str = "default") -> "PlannedImport":
        """What an import would do; `agent` gets what names no agent of the project. Nothing is written."""
        from satchel.verbs.memory.importing import planned_import  # few import anything

        self.of(agent)
        known = dict.fromkeys(("default", *self._configuration().settings.agents))
        return await apart(planned_import, path, [*filter(self.is_on, known)], agent, self.of)

    async def import_planned(self, planned: "PlannedImport", *, is_reviewed: bool = False) -> dict[str, int]:
        """Do it; how many entries were written, by agent. They wait unless a person has reviewed them."""
        from satchel.verbs.memory.importing import carry_out  # as above

        return await apart(lambda: carry_out(planned, self.of, is_reviewed=is_reviewed))

    # Reviewing

    async def waiting(self, agent: str = "default") -> tuple[Entry, ...]:
        """The entries that are in no prompt until a person has reviewed them."""
        return tuple(entry for entry in (await self.entries(agent)).entries if entry.is_waiting)

    async def approve(self, digests: Collection[str], agent: str = "default") -> int:
        """Have waiting entries shown to models, as they are now; how many that were."""
        return await apart(self.of(agent).approve, digests)

    async def reject(self, digests: Collection[str], agent: str = "default") -> int:
        """Remove waiting entries; how many that were."""
        return await apart(self.of(agent).reject, digests)

    # Telling

    def prompt(
        self, agent: str = "default", *, look: str = "", budget: int | None = None, plain: bool = False
    ) -> ToldMemory:
        """The text for a model, within a budget in tokens. `look` says how it sees the rest. Reads files."""
        configuration, settings = self._configuration(), self._settings(agent)
        if not is_there(configuration, agent):
            return ToldMemory()
        try:
            remembered = open_memory(configuration, agent).read()
        except (SatchelError, OSError) as error:  # a conversation must begin even so
            logger.warning("the memory of agent %s can't be read: %s", agent, error)
            return ToldMemory()
        if not remembered.entries:
            return ToldMemory()
        # Imported late: what only looks at a memory needs no templates.
        from satchel.context.memory import memory_system

        project, folder = configuration.paths.project, configuration.settings.templates.path
        return memory_system(
            remembered,
            budget=settings.memory.budget if budget is None else budget,
            look=look,
            templates=None if plain else project / folder,
        )

    def hear(self, agent: str, reads: Reads) -> None:
        """Note for a conversation that its model is told of a memory, or of skills that programs saved."""
        reads.begin_with(*traced_texts(self._configuration(), agent))

    def record(self, told: ToldMemory, agent: str, conversation: str | None = None) -> None:
        """Note in the journal, soon after, what a model was told."""
        if told.text and self._journal is not None:
            self._journal.told_memory(told, agent=agent, conversation=conversation)


def open_memories(config: Path | None = None) -> Memories:
    """The memories of the project that `config` names, or of the nearest one. Nothing is started."""
    configuration = read_configuration(find_paths(config=config))
    return Memories(lambda: configuration)
