"""The one way out of a program. The host sets a connection; tests set one of their own (see `testing`)."""

import os
import sys
import threading
from typing import Any, Protocol

from satchel_runtime.errors import NotConnectedError


class Connection(Protocol):
    """Carries requests to Satchel. Raises ToolError for what fails, PermissionError for what is refused."""

    async def request(self, method: str, params: dict[str, Any]) -> Any: ...

    def request_blocking(self, method: str, params: dict[str, Any]) -> Any: ...


_current: Connection | None = None
_finding = threading.Lock()  # two threads whose first calls coincide must not make two connections


def connect(connection: Connection | None) -> None:
    """Send everything from now on through `connection`."""
    global _current
    _current = connection


def connection() -> Connection:
    """The connection in use. In the box there is always one; elsewhere `satchel bridge` offers one."""
    if _current is None:
        with _finding:
            if _current is None:
                connect(_find())
    assert _current is not None
    return _current


def _find() -> Connection:
    guest = sys.modules.get("satchel_guest")
    if guest is not None and hasattr(guest, "bridge"):
        from satchel_runtime.channel import channel_over  # programs that call nothing don't need it

        return channel_over(guest.bridge)
    if address := os.environ.get("SATCHEL_BRIDGE"):
        from satchel_runtime.local import connect_to_bridge  # for scripts outside of a box

        return connect_to_bridge(address)
    raise NotConnectedError(
        "this program is not connected to Satchel. Run it with: satchel run FILE; or start satchel bridge"
        " and set SATCHEL_BRIDGE; or, to try it without servers:"
        " from satchel_runtime.testing import Answers; satchel_runtime.connect(Answers({...}))"
    )
