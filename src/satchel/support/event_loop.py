"""An event loop that goes on where the kernel watches no more descriptors for the user.

The kernel counts what it watches (epoll) for a user, and everything that the user runs can take all of it.
Without this, no connection, pipe or process could be waited for from then on.
"""

import asyncio
import selectors
from collections.abc import Mapping
from errno import ENOSPC
from typing import Any


def new_event_loop() -> asyncio.AbstractEventLoop:
    """For `anyio.run`, as `loop_factory`."""
    return asyncio.SelectorEventLoop(Steady())


class Steady(selectors.BaseSelector):
    """The system's best selector, until that is refused one more descriptor; from then on, `poll`.

    `poll` needs nothing of the kernel between two calls. Its cost grows with the number of descriptors:
    0.3 ms for 1,000.
    """

    def __init__(self, first: type[selectors.BaseSelector] = selectors.DefaultSelector) -> None:
        self._inner = first()

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        try:
            return self._inner.register(fileobj, events, data)
        except OSError as error:
            if error.errno != ENOSPC:
                raise
        self._turn_to_poll()
        return self._inner.register(fileobj, events, data)

    def _turn_to_poll(self) -> None:
        refused, self._inner = self._inner, selectors.PollSelector()
        for key in refused.get_map().values():
            self._inner.register(key.fileobj, key.events, key.data)
        refused.close()

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._inner.unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._inner.modify(fileobj, events, data)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        return self._inner.select(timeout)

    def close(self) -> None:
        self._inner.close()

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._inner.get_map()
