"""What happens around a program that runs, for the sake of what it has read and of what it remembers.

Files carry text from one program to the next. So a program that sees files which a stranger may have had a
hand in has read them; where a program can write that has read something untrusted is marked; and what it has
written to memories is credited only once all that it has read is known.
"""

import logging
import os
import secrets
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from satchel.config import Configuration
from satchel.config.agents import may_read
from satchel.config.settings import find_agent
from satchel.errors import SatchelError
from satchel.library.memory.glance import Glance
from satchel.library.memory.marks import TASKS, WORKSPACE, is_marked, last_writer, mark, note_writer
from satchel.library.memory.memory import Began, Memory, Sight
from satchel.library.memory.places import (
    COMPLETED_TASKS,
    agent_directory,
    memory_of,
    standing_of,
    tasks_of,
)
from satchel.library.saved.marks import marked_skills
from satchel.library.sources import saved_root
from satchel.model import UNTRUSTED, Caller, Reads, Source, Writer, others_memory, others_notes
from satchel.support.charging import apart
from satchel.support.files import PATIENCE
from satchel.support.waiting import to_the_end
from satchel.verbs.programs.tracing import Tracing, tracing_of

logger = logging.getLogger(__name__)

_UNTRUSTED = frozenset({UNTRUSTED})
_FEW = 3  # memories that are looked at without a thread


@dataclass(kw_only=True)
class _Kept:
    """An agent's memory that the program sees. `own` is the directory of that agent."""

    agent: str
    is_own: bool  # of the agent whose program it is
    writable: bool
    own: Path
    memory: Memory
    began: Began | None = None
    last_writer: int | None = None

    def source(self, is_untrusted: bool) -> Source:
        labels = _UNTRUSTED if is_untrusted else frozenset[str]()
        return Source(what="memory", labels=labels) if self.is_own else others_memory(self.agent, labels)

    def is_suspect(self, patience: float) -> bool:
        """Whether somebody who had read something untrusted could write to it since this program began.

        Without patience, nothing in it has changed. What the program has written itself is not meant, as far
        as that can be told apart.
        """
        if last_writer(self.own) != self.last_writer:
            return True
        if not patience:
            return False
        try:
            began = self.began
            return self.memory.sight().is_doubtful if began is None else self.memory.is_mixed(began)
        except SatchelError:  # a program has closed it; what has run must be answered even so
            return True

    def sight(self) -> Sight:
        """What the program sees. In doubt, as where another agent has just closed its memory, the worst."""
        try:
            return self.memory.sight()
        except SatchelError:
            return Sight(is_empty=False, is_doubtful=True, is_busy=True)


async def _do(work: Callable[[float], None], *, is_quick: bool) -> None:
    """Work that waits so many seconds for locks: at once where it is quick and needs to wait for none.

    Otherwise in a thread, which takes longer to begin than most memories to look at.
    """
    if is_quick:
        with suppress(SatchelError):
            work(0)
            return
    await to_the_end(apart(work, PATIENCE))


class Around:
    """One program, on behalf of `caller`. `session` are the reads of the session that it runs in.

    Its own begin with what was read before, in its conversation: the model that wrote it had seen that.
    `owner` is the user that programs run as, where it is not Satchel's. Where `is_here` is false, they run on
    another machine: what they remember stays there, and no prompt has it.
    """

    def __init__(
        self,
        configuration: Configuration,
        caller: Caller,
        session: Reads | None = None,
        *,
        owner: int | None = None,
        is_here: bool = True,
        execution: str | None = None,
    ) -> None:
        self._paths = configuration.paths
        self._session = session
        outer = tuple(each for each in (session, caller.reads) if each is not None)
        tracing = self._tracing = tracing_of(configuration, caller)
        self._reads = Reads(
            within=outer,
            on_untrusted=self._note,
            on_read=None if tracing is None else tracing.note,
            look=None if tracing is None else tracing.look,
        )
        if caller.reads is not None:
            self._reads.begin_with(*caller.reads.sources)
        self.caller = replace(caller, execution=execution or secrets.token_hex(6), reads=self._reads)
        self._own = agent_directory(configuration.paths, caller.agent)
        self._memories = tuple(_memories(configuration, caller, owner)) if is_here else ()
        self._is_noted = False
        self._seen: tuple[Glance | None, ...] = ()

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """While the program runs: its turn has come, and no other program of its session runs."""
        if self._session is not None:
            self._reads.begin_with(*self._session.sources)
        try:
            self._seen = self._glance()
            await _do(self._begin, is_quick=None not in self._seen)
            yield
        finally:
            await _do(self._end, is_quick=None not in self._seen and self._glance() == self._seen)

    def _glance(self) -> tuple[Glance | None, ...]:
        if len(self._memories) > _FEW:
            return (None,)
        return tuple(kept.memory.glance() for kept in self._memories)

    def _begin(self, patience: float) -> None:
        """Nothing is looked at before it is known who else may write to it."""
        if self._tracing is not None:
            self._reads.begin_with(*self._tracing.look())
            self._note_again(self._tracing)
        self._reads.add(*self._files())
        for kept in self._memories:
            if kept.began is not None:
                continue  # at the first attempt
            kept.last_writer = last_writer(kept.own)
            if kept.is_own and kept.writable:
                kept.began = kept.memory.begin(self.caller.execution, patience=patience)
                is_untrusted = is_there = kept.began.is_doubtful
                agents = kept.began.agents
            else:
                sight = kept.sight()
                is_untrusted = sight.is_doubtful or (sight.is_busy and not kept.is_own)
                is_there = is_untrusted or not (sight.is_empty or kept.is_own)
                agents = sight.agents
                if kept.writable:
                    kept.began = kept.memory.begin(self.caller.execution, patience=patience)
            if is_there:
                self._reads.add(kept.source(is_untrusted))
            if kept.is_own:
                self._reads.add(*map(others_notes, sorted(agents)))
        self._mark_if_untrusted()

    def _end(self, patience: float) -> None:
        """Changes without a known writer wait; if anything fails, all changes wait."""
        try:
            if self._tracing is not None:
                own = self._reads.own
                self._reads.begin_with(*(source for source in self._tracing.look() if source not in own))
                self._note_again(self._tracing)
            if not self._reads.is_untrusted:  # it may have seen what other programs wrote meanwhile
                self._reads.add(*self._files())
                self._reads.add(*(kept.source(True) for kept in self._memories if kept.is_suspect(patience)))
            self._is_noted = False
            self._mark_if_untrusted()  # again: the workspace may have been cleared just before it began
        finally:
            for kept in self._memories:
                self._credit(kept, patience)

    def _credit(self, kept: "_Kept", patience: float) -> None:
        if kept.began is None:
            return
        writer = Writer(
            kind="model",
            agent=None if kept.is_own else self.caller.agent,
            execution=self.caller.execution,
            conversation=self.caller.conversation,
            reads=self._reads.sources,
        )
        try:
            kept.memory.end(kept.began, writer, patience=patience)
        except SatchelError as error:
            if not patience:
                raise  # and try again in a thread
            kept.memory.abandon(kept.began)
            logger.warning("what agent %s was to remember waits for review: %s", kept.agent, error.message)
        kept.began = None

    # What it has read

    def _note_again(self, tracing: Tracing) -> None:
        """A program that only reads writes down nothing of what had been read before."""
        tracing.note_again(self._reads.own if self.caller.read_only else self._reads.sources)

    def _has_traces(self, place: str) -> bool:
        """Whether it is known in detail who had a hand in a place: those sources are counted instead."""
        return self._tracing is not None and self._tracing.has_traced(self._own, place)

    def _files(self) -> Iterator[Source]:
        """The files that the program sees, as far as strangers may have had a hand in them."""
        if is_marked(self._own, WORKSPACE) and not self._has_traces(WORKSPACE):
            yield Source(what="workspace", labels=_UNTRUSTED)
        if (
            is_marked(self._own, TASKS)
            and not self._has_traces(TASKS)
            and _has_tasks(tasks_of(self._paths, self.caller.agent))
        ):
            yield Source(what="tasks", labels=_UNTRUSTED)
        for name in marked_skills(saved_root(self._paths), self.caller.agent):
            yield Source(what=f"skill {name}", labels=_UNTRUSTED)

    def _note(self, source: Source) -> None:
        """Results that are large are written to the workspace, even for a program that can't write there."""
        if source.server:
            self._mark(source)

    def _mark_if_untrusted(self) -> None:
        if self._reads.is_untrusted and not self.caller.read_only:
            self._mark()

    def _mark(self, *coming: Source) -> None:
        """Note that what the program writes may be a stranger's words from now on."""
        for place in (WORKSPACE, TASKS):
            if not is_marked(self._own, place):
                read = (*self._reads.sources, *coming)
                untrusted = [source.name for source in read if UNTRUSTED in source.labels]
                mark(self._own, place, self.caller.execution or "", untrusted)
        if not self._is_noted:
            self._is_noted = True
            for kept in self._memories:
                if kept.writable:
                    note_writer(kept.own)


def _memories(configuration: Configuration, caller: Caller, owner: int | None) -> Iterator[_Kept]:
    """The memories that the agent's programs see: those of others, and then its own."""
    settings, paths = configuration.settings, configuration.paths
    seen = {**may_read(settings.agents, caller.agent), caller.agent: True}
    for agent, writable in seen.items():
        memory = find_agent(settings, agent).memory
        if memory.enabled:
            yield _Kept(
                agent=agent,
                is_own=agent == caller.agent,
                own=agent_directory(paths, agent),
                memory=Memory(memory_of(paths, memory, agent), standing_of(paths, agent), owner=owner),
                writable=writable and not caller.read_only,
            )


def _has_tasks(directory: Path) -> bool:
    """Whether there is anything but the folder that is made for them; names may carry words, too."""
    try:
        with os.scandir(directory) as entries:
            names = [entry.name for entry in islice(entries, 2)]
        return bool(names) and (names != [COMPLETED_TASKS] or bool(os.listdir(directory / COMPLETED_TASKS)))
    except FileNotFoundError:
        return False
    except OSError:
        return True
