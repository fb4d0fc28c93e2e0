"""Whether the call being made is to block rather than to be awaited. Known per task and per thread."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

_active: ContextVar[bool] = ContextVar("satchel_blocking", default=False)


def is_active() -> bool:
    return _active.get()


@contextmanager
def active() -> Generator[None]:
    token = _active.set(True)
    try:
        yield
    finally:
        _active.reset(token)
