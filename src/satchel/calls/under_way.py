"""The calls that were sent and have no answer yet, by those who hear what is read.

For the link of flows: what a call returns may still change what is known of its reader.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from weakref import WeakKeyDictionary

import anyio

from satchel.model import Reads


class UnderWay:
    """Calls that were sent and not answered."""

    def __init__(self) -> None:
        self._calls: WeakKeyDictionary[Reads, dict[anyio.Event, str]] = WeakKeyDictionary()

    @contextmanager
    def reading(self, reads: Reads, server: str) -> Generator[None]:
        """While something is read from a server."""
        done = anyio.Event()
        heard = tuple(reads.around)
        for each in heard:
            self._calls.setdefault(each, {})[done] = server
        try:
            yield
        finally:
            for each in heard:
                self._calls[each].pop(done, None)
            done.set()

    async def wait(self, reads: Reads, matters: Callable[[str], bool], seconds: float) -> None:
        """Until what is under way now has been answered, as far as its server matters; but no longer."""
        waited = {
            done
            for each in reads.around
            for done, server in self._calls.get(each, {}).items()
            if matters(server)
        }
        with anyio.move_on_after(seconds):
            for done in waited:
                await done.wait()
