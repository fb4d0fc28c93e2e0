"""Calls that work without `await` as well as with it.

Where an event loop runs, blocking would keep it from everything else it does, so a call of a tool is a
coroutine there, as always. Elsewhere nothing could await it: it blocks, and gives its value. That value can
be awaited as well, because what calls it may be about to start a loop: `asyncio.run(call_mcp_tool(…))`.
"""

import functools
import sys
from collections.abc import Callable, Coroutine, Generator
from typing import Any, ParamSpec, cast

from satchel_runtime import blocking_calls
from satchel_runtime.loading import blocking

P = ParamSpec("P")


def both_ways(function: Callable[P, Coroutine[Any, Any, Any]]) -> Callable[P, Any]:
    """A coroutine where an event loop runs, so that calls can be made at once; elsewhere the value."""
    wait = at_once(function)

    @functools.wraps(function)
    def call(*arguments: P.args, **keywords: P.kwargs) -> Any:
        if is_looping() or blocking_calls.is_active():
            return function(*arguments, **keywords)
        return wait(*arguments, **keywords)

    return call


def at_once(function: Callable[P, Coroutine[Any, Any, Any]]) -> Callable[P, Any]:
    """Always the value, for what nobody needs several of at once."""
    wait = blocking(function)

    @functools.wraps(function)
    def call(*arguments: P.args, **keywords: P.kwargs) -> Any:
        return awaitable(wait(*arguments, **keywords))

    return call


def is_looping() -> bool:
    """Whether an event loop runs in this thread. One that was never imported doesn't."""
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and asyncio._get_running_loop() is not None


def awaitable(value: Any) -> Any:
    """A JSON value as one of a kind that can be awaited as well; None and numbers stay as they are."""
    kind = _KINDS.get(cast(Any, type(value)))
    return value if kind is None else kind(value)


class _Fetched:
    """Makes a value a coroutine that has ended, which `asyncio.run` and `asyncio.gather` accept as well."""

    __slots__ = ()

    def __await__(self) -> Generator[None, None, Any]:
        yield from ()
        return self

    def send(self, value: Any) -> Any:
        raise StopIteration(self)

    def throw(self, kind: Any, value: Any = None, trace: Any = None) -> Any:
        raise kind if value is None else value

    def close(self) -> None:
        pass


class _Object(_Fetched, dict[str, Any]):
    __slots__ = ()
    __hash__: Any = object.__hash__  # by which `asyncio.gather` tells coroutines apart


class _List(_Fetched, list[Any]):
    __slots__ = ()
    __hash__: Any = object.__hash__


class _Text(_Fetched, str):
    __slots__ = ()


_KINDS: dict[type, Callable[[Any], Any]] = cast(Any, {dict: _Object, list: _List, str: _Text})
