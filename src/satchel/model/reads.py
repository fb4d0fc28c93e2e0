"""What has been read: on behalf of an execution, a session or a conversation, and whether to trust it."""

import secrets
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

UNTRUSTED = "untrusted"
"""The label of content that strangers may have written."""
SENSITIVE = "sensitive"
"""The label of content that the settings call confidential."""
PRIVATE = "private"
"""The label of personal data."""
MOST_SOURCES = 100
"""So many are named; of all others only the servers and the labels are kept."""
_LONGEST_NAME = 200  # characters: an address may have any number


@dataclass(frozen=True, kw_only=True)
class Source:
    """Something that was read: a server's tool, resource or prompt, or the files of an agent."""

    server: str = ""  # empty for files
    what: str  # `get_document`, `resource:file:///a`, `prompt:greet`; of files `memory of b`, `workspace`
    labels: frozenset[str] = frozenset()
    is_cut: bool = False  # `what` does not say all that was read there
    agent: str = ""  # that wrote it, of files of others

    @property
    def name(self) -> str:
        return f"{self.server}.{self.what}" if self.server else self.what


@dataclass(frozen=True, kw_only=True, eq=False)
class Reads:
    """All that has been read so far, in order. It only grows, up to a bound, and threads may use it.

    `within` are those of everyone who hears what is read here: of the session that a program runs in, of the
    conversation that its output goes to. `on_untrusted` is called before something untrusted is read, and
    `on_read` before anything is, so that whatever must be noted then is noted in time; they may refuse by
    raising. `look` tells what has come since to where the reader sees it: files that others wrote.
    """

    within: tuple["Reads", ...] = ()
    on_untrusted: Callable[[Source], None] | None = None
    on_read: Callable[[Source], None] | None = None
    look: Callable[[], Iterable[Source]] | None = None
    _before: dict[Source, None] = field(default_factory=dict[Source, None], init=False)
    _own: dict[Source, None] = field(default_factory=dict[Source, None], init=False)
    # Of those that are not named, the labels by server.
    _left_out: dict[str, set[str]] = field(default_factory=dict[str, set[str]], init=False)
    _labels: set[str] = field(default_factory=set[str], init=False)
    _changing: threading.Lock = field(default_factory=threading.Lock, init=False)

    def add(self, *sources: Source) -> None:
        """Note what is being read now."""
        for source in sources:
            if self.on_read is not None:
                self.on_read(source)
            if self.on_untrusted is not None and UNTRUSTED in source.labels:
                self.on_untrusted(source)
        self._take(self._own, sources)

    def begin_with(self, *sources: Source) -> None:
        """Note what others had read before this began."""
        self._take(self._before, sources)

    def _take(self, taken: dict[Source, None], sources: Iterable[Source]) -> None:
        sources = tuple(map(_short, sources))
        for outer in self.within:
            outer.add(*sources)
        with self._changing:
            for source in sources:
                self._labels.update(source.labels)
                if source in taken or len(taken) < MOST_SOURCES:
                    taken[source] = None
                else:
                    self._left_out.setdefault(source.server, set()).update(source.labels)

    @property
    def before(self) -> tuple[Source, ...]:
        """What others had read before this began."""
        with self._changing:
            return tuple(self._before)

    @property
    def own(self) -> tuple[Source, ...]:
        """What was read since; of each server, the last one stands for all that are not named."""
        with self._changing:
            others = (
                Source(server=server, what="others", labels=frozenset(labels), is_cut=True)
                for server, labels in self._left_out.items()
            )
            return (*self._own, *others)

    @property
    def sources(self) -> tuple[Source, ...]:
        return tuple(dict.fromkeys((*self.before, *self.own)))

    @property
    def around(self) -> Iterator["Reads"]:
        """These, and those of everyone who hears of them."""
        yield self
        for outer in self.within:
            yield from outer.around

    @property
    def labels(self) -> frozenset[str]:
        with self._changing:
            return frozenset(self._labels)

    @property
    def is_untrusted(self) -> bool:
        return UNTRUSTED in self._labels


@dataclass(frozen=True, kw_only=True, eq=False)
class Conversation:
    """What passes between a model and Satchel. Whatever was read in it may be in the model's next words."""

    id: str = field(default_factory=lambda: secrets.token_hex(6))
    reads: Reads = field(default_factory=Reads)


def others_memory(agent: str, labels: frozenset[str] = frozenset()) -> Source:
    """The memory of another agent, as something that was read."""
    return Source(what=f"memory of {agent}", labels=labels, agent=agent)


def others_notes(agent: str) -> Source:
    """What another agent wrote in the memory of the one that reads. Whether to trust it, that memory says."""
    return Source(what=f"notes of {agent}", agent=agent)


def labels_of(sources: Iterable[Source]) -> frozenset[str]:
    return frozenset(label for source in sources for label in source.labels)


def _short(source: Source) -> Source:
    if len(source.what) <= _LONGEST_NAME:
        return source
    what = f"{source.what[:_LONGEST_NAME]}…"
    return replace(source, what=what, is_cut=True)
