"""The errors a program can catch. An unauthorised call raises the builtin PermissionError.

Exception
├── ToolError            a call failed; carries server, tool, message and kind
└── NotConnectedError    nothing carries this program's calls to Satchel
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


class NotConnectedError(Exception):
    """There is no connection to Satchel."""


for _error in (ToolError, NotConnectedError):
    _error.__module__ = "satchel_runtime"  # what tracebacks show is what can be imported
