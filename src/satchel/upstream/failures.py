"""Foreign failures, classified once: every failure of a server becomes one of Satchel's errors."""

import json
import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from urllib.parse import urlsplit

import httpx2
from mcp import MCPError
from mcp_types import CONNECTION_CLOSED, PARSE_ERROR, REQUEST_TIMEOUT

from satchel.config import Target
from satchel.errors import (
    NeedsAuthorizationError,
    NeedsSetupError,
    SatchelError,
    ServerError,
    ServerFailedError,
)
from satchel.names import in_shell
from satchel.upstream.redacting import redact
from satchel.upstream.stdio import Child

_OLD_SDK = re.compile(
    r"No module named 'mcp\.|'Server' object has no attribute|cannot import name .* from 'mcp"
)
_NO_MODULE = re.compile(r"ModuleNotFoundError: No module named '(\w+)'")
_INSTALL = {
    "npx": "install Node.js (Debian, Ubuntu: apt-get install nodejs npm)",
    "node": "install Node.js (Debian, Ubuntu: apt-get install nodejs)",
    "uvx": "install uv (pip install uv)",
    "uv": "install uv (pip install uv)",
    "docker": "install Docker, or choose another way to run this server",
}
_CUSTOM_HOST = "satchel.upstream.custom_host"
_SHOWN_LINES = 12
_SEARCHED_LINES = 40  # for why it ended: older ones are about something else
# Lines that say where to read on, and not what went wrong.
_POINTER = re.compile(
    r"(?i)complete log of this run|^see '?\w+ .*--help|^run '.+ --help'|for more (?:information|details)"
    r"|^usage:|^npm (?:notice|warn)|^node\.js v\d|^at .+:\d+|^\^+$"
)
_RAISED = re.compile(r"(?:\w+\.)*(?:[A-Z]\w*)?(?:Error|Exception)(?::| \[|$)")
_ERROR = re.compile(
    r"(?i)\berror\b|\berr!|\bfatal\b|\bfailed\b|\bcannot\b|\bcan't\b|not found|denied|refused"
)
_CODE_ALONE = re.compile(
    r"(?i)npm err(?:!|or) (?:code|errno|syscall|path|dest)\b"
)  # the sentence comes after it
# How the SDK says that it could not read an answer: with the first and the last of its bytes.
_UNREADABLE = re.compile(r"(?s)Failed to parse (?:JSON response|SSE message): .*?Invalid JSON: ([^\[\n]*)")


def first_leaf(error: BaseException) -> BaseException:
    """The first real error inside exception groups."""
    inner: tuple[BaseException, ...] = getattr(error, "exceptions", ())
    return first_leaf(inner[0]) if inner else error


def classify(
    error: BaseException, target: Target, *, child: Child | None, status: int | None, startup_timeout: float
) -> ServerError:
    """Why a connection could not be had, or was lost."""
    error = first_leaf(error)
    if isinstance(error, ServerError):
        return error
    if status is not None and target.transport != "stdio":
        return refused(target, status)
    if (
        isinstance(error, OSError)
        and not isinstance(error, TimeoutError)
        and child is None
        and target.command
    ):
        return _cannot_start(error, target)
    stderr = tail(child, target)
    if child is not None and child.excess:
        return ServerFailedError(target.name, redact(child.excess, target.secrets), stderr=stderr)
    if isinstance(error, TimeoutError) or (isinstance(error, MCPError) and error.code == REQUEST_TIMEOUT):
        return _silent(target, startup_timeout, stderr)
    if child is not None and _is_closed(error, child):
        return _exited(child, target, stderr)
    if target.transport != "stdio":
        return _unreachable(error, target)
    said = redact(describe(error), target.secrets)
    return ServerFailedError(target.name, f"broke the protocol: {said}", stderr=stderr)


def refused(target: Target, status: int) -> ServerError:
    """The meaning of an HTTP status for the whole server."""
    if status in (401, 403):
        return needs_authorization(target, status)
    hint = "check its url" + ("; an older server may want type: sse" if status in (404, 405) else "")
    return ServerFailedError(target.name, f"{place(target)} answered HTTP {status}", hint=hint)


def needs_authorization(target: Target, status: int | None = 401) -> NeedsAuthorizationError:
    return NeedsAuthorizationError(
        target.name,
        f"{place(target)} wants a login" + (f" (HTTP {status})" if status else ""),
        hint=f"satchel auth {in_shell(target.name)}, or put its token into the entry's headers",
    )


def tail(child: Child | None, target: Target, lines: int = _SHOWN_LINES) -> list[str]:
    """The last lines of standard error, without the secrets that the entry gave the server."""
    if child is None:
        return []
    return list(child.stderr)[-lines:]


def place(target: Target) -> str:
    """Where a remote server is, without what its url may carry in user, query or fragment."""
    parts = urlsplit(target.url)
    host = (parts.hostname or "") + (f":{parts.port}" if parts.port else "")
    return redact(f"{parts.scheme}://{host}{parts.path}", target.secrets)


def describe(error: BaseException) -> str:
    if isinstance(error, MCPError):
        unreadable = _UNREADABLE.match(error.message) if error.code == PARSE_ERROR else None
        said = f"the answer can't be read: {unreadable[1].strip()}" if unreadable else error.message
        return f"{said} (code {error.code})"
    if isinstance(error, SatchelError):
        return error.message
    first = str(error).strip().splitlines()
    return f"{type(error).__name__}: {first[0]}" if first else type(error).__name__


def _is_closed(error: BaseException, child: Child) -> bool:
    """Whether the connection is gone. Servers use the code for errors of their own, and then say which."""
    if not isinstance(error, MCPError) or error.code != CONNECTION_CLOSED:
        return False
    return child.has_ended or error.message == "Connection closed"


def _cannot_start(error: OSError, target: Target) -> ServerError:
    command, directory = (redact(str(part), target.secrets) for part in (target.command, target.cwd))
    if not target.cwd.is_dir():
        return NeedsSetupError(
            target.name, f"working directory {directory} does not exist", hint="fix its cwd"
        )
    if not isinstance(error, FileNotFoundError):
        hint = f"chmod +x {command}, or name the interpreter as the command"
        reason = error.strerror or str(error)
        return _no_command(target, f"command '{command}' can't be executed: {reason}", hint)
    hint = _INSTALL.get(target.command) or _apart(target) or "check the spelling, or write the whole path"
    if "/" not in target.command and not shutil.which(target.command):
        return _no_command(target, f"command '{command}' is not on the PATH", hint)
    return _no_command(target, f"command '{command}' was not found", hint)


def _no_command(target: Target, message: str, hint: str) -> NeedsSetupError:
    """Of a whole command line in the place of the command, its arguments are for people alone."""
    first, *more = target.command.split(maxsplit=1) or [""]
    brief = f"command '{redact(first, target.secrets)} …' can't be started" if more else message
    return NeedsSetupError(target.name, message, brief=brief, hint=hint)


def _apart(target: Target) -> str | None:
    """For a whole command line in the place of the command: how it is written."""
    try:
        command, *arguments = shlex.split(target.command)
    except ValueError:  # nothing but spaces, or a quote that is never closed
        return None
    if not arguments:
        return None
    said = json.dumps([*arguments, *target.args], ensure_ascii=False)
    return redact(f'write "command": {json.dumps(command)}, "args": {said}', target.secrets)


def _silent(target: Target, startup_timeout: float, stderr: list[str]) -> ServerFailedError:
    return ServerFailedError(
        target.name,
        f"did not answer within {startup_timeout:g} s",
        stderr=stderr,
        hint="if it only starts slowly, raise its startup_timeout, or that of servers in satchel.yaml",
    )


def _exited(child: Child, target: Target, stderr: list[str]) -> ServerFailedError:
    code = child.exit_code
    if code is None or child.stopped:
        message = "closed the connection"
    elif code < 0:
        message = f"was ended by signal {-code}"
    else:
        message = f"exited with code {code}"
    # Our own host of custom tools ends with its reasons, after tracebacks.
    searched = 1 if _CUSTOM_HOST in target.args else _SEARCHED_LINES
    if said := most_telling(list(child.stderr)[-searched:]):
        message += f": {said}"
    hints = [line.removeprefix("hint:").strip() for line in stderr if line.startswith("hint:")]
    hint = f"satchel doctor {in_shell(target.name)} shows more"
    if hints:
        hint = hints[-1]
    elif lacking := _NO_MODULE.search(message):
        hint = _without_module(lacking[1])
    if any(_OLD_SDK.search(line) for line in child.stderr):
        hint = "it was written for version 1 of the MCP SDK: run it with 'mcp<2' (uvx --with 'mcp<2' …)"
    return ServerFailedError(target.name, message, stderr=stderr, hint=hint)


def _without_module(name: str) -> str:
    """Of a server in Python: the interpreter that its command names lacks a package, and where one has it."""
    here = f", such as {sys.executable}" if name == "mcp" else ""  # a dependency of Satchel's own
    return f"the Python that starts it has no '{name}': install it there, or write another into command{here}"


def most_telling(lines: Sequence[str]) -> str:
    """The line that says what went wrong: the last exception, else the first error, else the last one."""
    lines = [line.strip() for line in lines if line.strip() and not line.startswith("hint:")]
    telling = [line for line in lines if not _POINTER.search(line)]
    raised = [line for line in telling if _RAISED.match(line)]
    errors = [line for line in telling if _ERROR.search(line) and not _CODE_ALONE.match(line)]
    return next(iter([*raised[-1:], *errors[:1], *telling[-1:], *lines[-1:]]), "")


def _unreachable(error: BaseException, target: Target) -> ServerError:
    if isinstance(error, httpx2.HTTPStatusError):
        return refused(target, error.response.status_code)
    if isinstance(error, httpx2.TransportError):
        reason = redact(str(error).strip(), target.secrets) or type(error).__name__
        return ServerFailedError(
            target.name, f"{place(target)} can't be reached: {reason}", hint="check its url, and that it runs"
        )
    return ServerFailedError(target.name, f"{place(target)}: {redact(describe(error), target.secrets)}")
