"""The one way out of a program. The host sets a connection; tests set one of their own (see `testing`)."""

from typing import Any, Protocol

from satchel_runtime.errors import NotConnectedError


class Connection(Protocol):
    """Carries requests to Satchel. Raises ToolError for what fails, PermissionError for what is refused."""

    async def request(self, method: str, params: dict[str, Any]) -> Any: ...

    def request_blocking(self, method: str, params: dict[str, Any]) -> Any: ...


_current: Connection | None = None


def connect(connection: Connection | None) -> None:
    """Send everything from now on through `connection`."""
    global _current
    _current = connection


def connection() -> Connection:
    """The connection in use."""
    if _current is None:
        raise NotConnectedError(
            "this program is not connected to Satchel; to try it without servers: "
            "from satchel_runtime.testing import Answers; satchel_runtime.connect(Answers({...}))"
        )
    return _current
