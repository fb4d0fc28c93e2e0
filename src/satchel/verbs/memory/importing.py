"""Importing memories: what would be new to which agent, and doing it."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from satchel.library.memory.importing.applying import compare, writer_of
from satchel.library.memory.importing.reading import read_import
from satchel.library.memory.places import CORE
from satchel.model import Comparison, Entry, ImportPlan, Json, Writer

if TYPE_CHECKING:
    from satchel.library.memory.memory import Memory

_PERSON = Writer(kind="person")


@dataclass(frozen=True, kw_only=True)
class PlannedImport:
    """What was read, and what of it each agent does not have yet."""

    plan: ImportPlan
    agents: Mapping[str, Comparison]

    @property
    def count(self) -> int:
        """How many entries would be written."""
        return sum(len(each.new) + len(each.changed) for each in self.agents.values())


def planned_import(
    path: Path, agents: Collection[str], agent: str, open_memory: "Callable[[str], Memory]"
) -> PlannedImport:
    """Compare what is at `path` with what `agents` remember; `agent` gets what names none of them."""
    plan = read_import(path, agents=agents, default_agent=agent)
    found = {
        name: compare(items, [entry.value or {} for entry in _facts(open_memory(name))])
        for name, items in plan.items.items()
    }
    return PlannedImport(plan=plan, agents=found)


def carry_out(
    planned: PlannedImport, open_memory: "Callable[[str], Memory]", *, is_reviewed: bool
) -> dict[str, int]:
    """Write what was planned; how many entries that were, by agent."""
    writer = writer_of(planned.plan, is_reviewed=is_reviewed)
    written: dict[str, int] = {}
    for agent, comparison in planned.agents.items():
        memory = open_memory(agent)
        here = {entry.value["id"]: entry for entry in _facts(memory) if entry.value and "id" in entry.value}
        replaced: list[Json] = []
        for item in comparison.changed:
            before = here.get(item["id"])
            if before is not None and not before.read_only:
                memory.forget(before.digest, _PERSON)
                replaced.append(item)
        if items := [*comparison.new, *replaced]:
            written[agent], _ = memory.add_all(items, writer)
    return written


def _facts(memory: "Memory") -> list[Entry]:
    return [entry for entry in memory.read().entries if entry.file == CORE]
