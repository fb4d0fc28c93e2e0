"""What happens around a program that runs, for the sake of what it may have read.

Files carry text from one program to the next. So a program that sees files which a stranger may have had a
hand in has read them, and where a program can write that has read something untrusted is marked.
"""

import os
import secrets
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace

from satchel.config import Configuration
from satchel.library.memory.marks import TASKS, WORKSPACE, is_marked, mark
from satchel.library.memory.places import agent_directory, tasks_of
from satchel.model import UNTRUSTED, Caller, Reads, Source

_UNTRUSTED = frozenset({UNTRUSTED})


class Around:
    """One program, on behalf of `caller`. `session` are the reads of the session that it runs in.

    Its own begin with what was read before, in its conversation: the model that wrote it had seen that.
    """

    def __init__(self, configuration: Configuration, caller: Caller, session: Reads | None = None) -> None:
        self._paths = configuration.paths
        self._session = session
        outer = tuple(each for each in (session, caller.reads) if each is not None)
        self._reads = Reads(within=outer, on_untrusted=self._note)
        if caller.reads is not None:
            self._reads.begin_with(*caller.reads.sources)
        self.caller = replace(caller, execution=secrets.token_hex(6), reads=self._reads)
        self._own = agent_directory(configuration.paths, caller.agent)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """While the program runs: its turn has come, and no other program of its session runs."""
        if self._session is not None:
            self._reads.begin_with(*self._session.sources)
        self._reads.add(*self._files())
        self._mark_if_untrusted()
        try:
            yield
        finally:
            if not self._reads.is_untrusted:  # this one may have seen what other programs wrote meanwhile
                self._reads.add(*self._files())
            self._mark_if_untrusted()  # the workspace may have been cleared a moment before it began

    def _mark_if_untrusted(self) -> None:
        if self._reads.is_untrusted and not self.caller.read_only:
            self._mark()

    def _files(self) -> Iterator[Source]:
        """The files that the program sees, as far as strangers may have had a hand in them."""
        if is_marked(self._own, WORKSPACE):
            yield Source(what="workspace", labels=_UNTRUSTED)
        if is_marked(self._own, TASKS) and _has_entries(str(tasks_of(self._paths, self.caller.agent))):
            yield Source(what="tasks", labels=_UNTRUSTED)

    def _note(self, source: Source) -> None:
        """Results that are large are written to the workspace, even for a program that can't write there."""
        if source.server:
            self._mark(source)

    def _mark(self, *coming: Source) -> None:
        """Note that the files of the agent may be a stranger's words from now on."""
        for place in (WORKSPACE, TASKS):
            if not is_marked(self._own, place):
                untrusted = [
                    each.name for each in (*self._reads.sources, *coming) if UNTRUSTED in each.labels
                ]
                mark(self._own, place, self.caller.execution or "", untrusted)


def _has_entries(directory: str) -> bool:
    try:
        with os.scandir(directory) as entries:
            return next(entries, None) is not None
    except OSError:
        return False  # there is none
