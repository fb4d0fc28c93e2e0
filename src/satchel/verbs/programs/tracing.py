"""Where a program can leave what it has read, and where it finds what others left, for the rules of `flows`.

Only where there are rules, and `flows.files` is `track`: files carry data from one program to the next, and a
rule must not be evaded by two programs in place of one.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from satchel.config import Configuration
from satchel.config.agents import may_read
from satchel.library.memory.marks import TASKS, WORKSPACE
from satchel.library.memory.places import agent_directory
from satchel.library.memory.traces import MEMORY, SKILLS, forget, trace, traced
from satchel.model import Caller, Source

GRANTED = "granted"
COMMUNITY = "community"
_OWN = (WORKSPACE, TASKS, MEMORY, SKILLS)
_Place = tuple[Path, str]


@dataclass(frozen=True, kw_only=True)
class Tracing:
    """The places of one program."""

    written: tuple[_Place, ...]
    seen: tuple[_Place, ...]
    _noted: set[Source] = field(default_factory=set[Source])

    def note(self, *sources: Source) -> None:
        """Note what it is about to read wherever it could write it down."""
        new = [source for source in sources if source not in self._noted]
        if new:
            for own, place in self.written:
                trace(own, place, new)
            self._noted.update(new)

    def note_again(self, sources: Iterable[Source]) -> None:
        """The same for all of it: a place may have been cleared meanwhile."""
        self._noted.clear()
        self.note(*sources)

    def look(self) -> tuple[Source, ...]:
        """What it may have found by now."""
        return tuple(dict.fromkeys(source for own, place in self.seen for source in traced(own, place)))

    def has_traced(self, own: Path, place: str) -> bool:
        return bool(traced(own, place))


def is_tracking(configuration: Configuration) -> bool:
    flows = configuration.settings.flows
    return bool(flows.rules) and flows.files == "track"


def tracing_of(configuration: Configuration, caller: Caller) -> Tracing | None:
    """The places of a program of the caller; None where nothing is to be traced."""
    if not is_tracking(configuration):
        return None
    own, state = agent_directory(configuration.paths, caller.agent), configuration.paths.state
    others = may_read(configuration.settings.agents, caller.agent)
    memories = [(agent_directory(configuration.paths, other), writes) for other, writes in others.items()]
    written = [(own, place) for place in (WORKSPACE, TASKS)]  # results may be saved there for it
    if not caller.read_only:
        written += [(own, MEMORY), *((directory, MEMORY) for directory, writes in memories if writes)]
        if configuration.settings.code_execution.sandbox.allow_write:
            written.append((state, GRANTED))
    seen = [(own, place) for place in _OWN]
    seen += [(directory, MEMORY) for directory, _ in memories]
    seen += [(state, GRANTED), (state, COMMUNITY)]
    return Tracing(written=tuple(written), seen=tuple(seen))


def trace_skill(configuration: Configuration, caller: Caller, *, for_all: bool = False) -> None:
    """Note that a program saves a skill, and so what it has read, for its agent or for all."""
    if not is_tracking(configuration) or caller.reads is None:
        return
    own = agent_directory(configuration.paths, caller.agent)
    sources = caller.reads.sources
    trace(own, SKILLS, sources)
    if for_all:
        trace(configuration.paths.state, COMMUNITY, dict.fromkeys((*sources, *traced(own, SKILLS))))


def traced_memory(configuration: Configuration, agent: str) -> tuple[Source, ...]:
    """What those had read that could write to an agent's memory."""
    if not is_tracking(configuration):
        return ()
    return traced(agent_directory(configuration.paths, agent), MEMORY)


def traced_texts(configuration: Configuration, agent: str) -> tuple[Source, ...]:
    """What those had read that could write what the agent's model is told or looks at: memory and skills."""
    if not is_tracking(configuration):
        return ()
    own = agent_directory(configuration.paths, agent)
    places = ((own, MEMORY), (own, SKILLS), (configuration.paths.state, COMMUNITY))
    return tuple(dict.fromkeys(source for place in places for source in traced(*place)))


def trace_outcome(configuration: Configuration, agent: str, reads: Iterable[Source]) -> None:
    """Note that what a model said is about to be written to an agent's tasks and memory."""
    if is_tracking(configuration):
        own = agent_directory(configuration.paths, agent)
        for place in (TASKS, MEMORY):
            trace(own, place, reads)


def trace_memory(configuration: Configuration, agent: str, caller: Caller) -> None:
    """Note that the caller is about to write to an agent's memory."""
    if is_tracking(configuration) and caller.reads is not None:
        trace(agent_directory(configuration.paths, agent), MEMORY, caller.reads.sources)


def traced_files(configuration: Configuration, agent: str) -> dict[str, tuple[Source, ...]]:
    """What is noted of an agent's places, by place."""
    own, state = agent_directory(configuration.paths, agent), configuration.paths.state
    places = [(own, place) for place in _OWN] + [(state, GRANTED), (state, COMMUNITY)]
    found = {place: traced(directory, place) for directory, place in places}
    return {place: sources for place, sources in found.items() if sources}


def forget_files(configuration: Configuration, agent: str) -> None:
    """Forget what is noted of an agent's places, and of those that all agents share."""
    own, state = agent_directory(configuration.paths, agent), configuration.paths.state
    for place in _OWN:
        forget(own, place)
    for place in (GRANTED, COMMUNITY):
        forget(state, place)
