"""What has been read: on behalf of an execution, a session or a conversation, and whether to trust it."""

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field

UNTRUSTED = "untrusted"
"""The label of content that strangers may have written."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """Something that was read: a server's tool, resource or prompt, or the files of an agent."""

    server: str = ""  # empty for files
    what: str  # `get_document`, `resource:file:///a`, `prompt:greet`; of files `memory of b`, `workspace`
    labels: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        return f"{self.server}.{self.what}" if self.server else self.what


@dataclass(frozen=True, kw_only=True, eq=False)
class Reads:
    """All that has been read so far, in order. It only grows, and threads may use it.

    `within` are those of everyone who hears what is read here: of the session that a program runs in, of the
    conversation that its output goes to.
    """

    within: tuple["Reads", ...] = ()
    _sources: dict[Source, None] = field(default_factory=dict[Source, None], init=False)
    _changing: threading.Lock = field(default_factory=threading.Lock, init=False)

    def add(self, *sources: Source) -> None:
        with self._changing:
            self._sources.update(dict.fromkeys(sources))
        for outer in self.within:
            outer.add(*sources)

    @property
    def sources(self) -> tuple[Source, ...]:
        with self._changing:
            return tuple(self._sources)

    @property
    def labels(self) -> frozenset[str]:
        return labels_of(self.sources)

    @property
    def is_untrusted(self) -> bool:
        return UNTRUSTED in self.labels


def labels_of(sources: Iterable[Source]) -> frozenset[str]:
    return frozenset(label for source in sources for label in source.labels)
