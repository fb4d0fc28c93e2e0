"""The errors Satchel raises, and nothing else.

    SatchelError                     everything below; `hint` says what to do next
    ├── ConfigError                  a configuration file can't be used; carries file, line and key
    ├── NotFoundError                no such server, tool, resource or prompt; carries the closest names
    ├── ArgumentError                arguments that don't fit the tool's schema; nothing was sent
    ├── ConflictError                something of that name is there already; carries it
    ├── ServerError                  one server can't be used; carries its name
    │   ├── NeedsSetupError          a variable, url or command is missing: a person has to act
    │   │   └── NeedsApprovalError   a person has to approve what a plugin brought
    │   ├── NeedsAuthorizationError  the server wants a login
    │   └── ServerFailedError        it did not start, died or broke the protocol; carries its last words
    ├── ToolError                    a call failed; carries server, tool and kind
    ├── NotAllowedError              the agent may not call that tool; carries agent and tool
    ├── ModelError                   a model could not be asked; what was done until then is kept
    ├── UndecidedError               a person has not decided on the call yet; nothing was sent
    ├── SandboxError                 programs can't be run here; nothing was run
    ├── JournalError                 the journal can't be read or written; nothing was sent
    └── ClosedError                  this Satchel has been closed; nothing was sent

Programming mistakes are builtins (ValueError, TypeError). `exit_code` is what the command line ends with.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Self


class SatchelError(Exception):
    """Base of all errors that a person or a model is meant to read."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def copy(self, *, hint: str | None = None) -> Self:
        """A copy of the same error, to be raised in another task; with a different hint if one is given."""
        twin = type(self).__new__(type(self), *self.args)
        twin.__dict__.update(self.__dict__)
        twin.hint = hint or self.hint
        return twin


class ConfigError(SatchelError):
    """A configuration file, or one value in it, can't be used.

    `brief` is the reason without the place and without the value, which may be a secret.
    """

    exit_code = 3

    def __init__(
        self,
        message: str,
        *,
        file: Path | None = None,
        line: int | None = None,
        key: str | None = None,
        brief: str = "",
        hint: str | None = None,
    ) -> None:
        place = "" if file is None else f"{file}:{line}: " if line else f"{file}: "
        super().__init__(place + message, hint=hint)
        self.reason = message  # without the place
        self.brief = brief or message
        self.file = file
        self.line = line
        self.key = key


class NotFoundError(SatchelError):
    """A name that the catalog does not have."""

    exit_code = 2

    def __init__(self, kind: str, name: str, *, closest: Sequence[str] = (), hint: str | None = None) -> None:
        if closest and hint is None:
            hint = "did you mean " + " or ".join(closest) + "?"
        super().__init__(f"unknown {kind} '{name}'", hint=hint)
        self.kind = kind
        self.name = name
        self.closest = tuple(closest)


class ArgumentError(SatchelError):
    """Arguments that don't fit. Raised before anything is sent."""

    exit_code = 2

    def __init__(self, message: str, *, argument: str | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.argument = argument


class ConflictError(SatchelError):
    """Something of that name is there already, and is not overwritten."""

    exit_code = 2

    def __init__(self, message: str, *, name: str, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.name = name


class ServerError(SatchelError):
    """One server can't be used; no other is affected. `state` is what it is listed as.

    `brief` is the reason without the place in a file: what models and programs are told.
    """

    exit_code = 4
    state: Literal["failed", "needs setup", "needs approval", "needs authorization"] = "failed"

    def __init__(self, server: str, message: str, *, brief: str = "", hint: str | None = None) -> None:
        super().__init__(f"{server}: {message}", hint=hint)
        self.server = server
        self.reason = message
        self.brief = brief or message


class NeedsSetupError(ServerError):
    """Something that only a person can supply is missing."""

    state = "needs setup"


class NeedsApprovalError(NeedsSetupError):
    """A person has to approve, on this machine, what a plugin's entry would start, contact or read."""

    state = "needs approval"


class NeedsAuthorizationError(ServerError):
    """The server answers only after a login."""

    state = "needs authorization"


class ServerFailedError(ServerError):
    """The server did not start, died, or broke the protocol."""

    def __init__(
        self, server: str, message: str, *, stderr: Sequence[str] = (), hint: str | None = None
    ) -> None:
        super().__init__(server, message, hint=hint)
        self.stderr = tuple(stderr)


class ToolError(SatchelError):
    """A call that failed.

    `kind` is one of: `tool` (the tool itself reported an error), `protocol` (the server answered with a
    protocol error), `timeout`, `connection` (the server went away in the middle of the call), `input`
    (the tool asked for input that nobody here can give).
    """

    def __init__(
        self,
        server: str,
        tool: str,
        message: str,
        *,
        kind: str,
        stderr: Sequence[str] = (),
        hint: str | None = None,
        code: int | None = None,
        data: object = None,
    ) -> None:
        super().__init__(f"{server}.{tool}: {message}" if server else f"{tool}: {message}", hint=hint)
        self.code = code  # of a protocol error, with what the server sent besides
        self.data = data
        self.server = server
        self.tool = tool
        self.reason = message
        self.kind = kind
        self.stderr = tuple(stderr)


class NotAllowedError(SatchelError):
    """A call that the agent's permissions refuse. Nothing was sent."""

    def __init__(self, agent: str, tool: str, *, why: str = "", hint: str | None = None) -> None:
        super().__init__(f"agent '{agent}' may not call '{tool}'{why and f': {why}'}", hint=hint)
        self.agent = agent
        self.tool = tool


class UndecidedError(SatchelError):
    """A call that a person has to agree to, and nobody has decided yet. Nothing was sent."""

    exit_code = 6

    def __init__(self, approval: str, tool: str, *, hint: str | None = None) -> None:
        super().__init__(f"'{tool}' waits for a person to agree (approval {approval})", hint=hint)
        self.approval = approval
        self.tool = tool


class ModelError(SatchelError):
    """A model gave no answer: its provider refused, failed or could not be reached."""

    def __init__(self, model: str, message: str, *, hint: str | None = None) -> None:
        super().__init__(f"{model}: {message}", hint=hint)
        self.model = model
        self.reason = message


class SandboxError(SatchelError):
    """A program can't be run as safely as was asked for, so it was not run."""

    exit_code = 5


class JournalError(SatchelError):
    """What happens can't be recorded, so it does not happen."""


class ClosedError(SatchelError):
    """It came after the end of Satchel, or in the middle of it."""

    def __init__(self) -> None:
        super().__init__("this Satchel has been closed", hint="call within the block of open_satchel")
