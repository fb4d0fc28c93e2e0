"""The errors a program can catch. An unauthorised call raises the builtin PermissionError.

Exception
├── ToolError                a call failed; carries server, tool, message and kind
│   ├── WrongCallError       there is no such tool, or its arguments don't fit; also a ValueError
│   └── UnavailableError     the server can't be used; also a RuntimeError
└── NotConnectedError        nothing carries this program's calls to Satchel; also a RuntimeError
"""


class ToolError(Exception):
    """A call that failed.

    `kind` is tool (it reported an error), arguments (they don't fit; nothing was sent), not_found, server
    (it can't be used), timeout, connection, protocol, input, limit, request or internal.
    """

    def __init__(self, server: str, tool: str, message: str, kind: str = "tool") -> None:
        place = f"{server}.{tool}" if server else tool
        super().__init__(f"{place}: {message}" if tool else message)
        self.server = server
        self.tool = tool
        self.message = message
        self.kind = kind

    def __reduce__(self) -> tuple[type["ToolError"], tuple[str, str, str, str]]:
        return type(self), (self.server, self.tool, self.message, self.kind)


class WrongCallError(ToolError, ValueError):
    """A tool that doesn't exist, or arguments that don't fit it. Nothing was sent."""


class UnavailableError(ToolError, RuntimeError):
    """A tool of a server that can't be used."""


class NotConnectedError(RuntimeError):
    """There is no connection to Satchel."""


_KINDS = {"arguments": WrongCallError, "not_found": WrongCallError, "server": UnavailableError}


def tool_error(server: str, tool: str, message: str, kind: str) -> ToolError:
    """The error of that kind."""
    return _KINDS.get(kind, ToolError)(server, tool, message, kind)


for _error in (ToolError, WrongCallError, UnavailableError, NotConnectedError):
    _error.__module__ = "satchel_runtime"  # what tracebacks show is what can be imported
