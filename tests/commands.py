"""`satchel` as a process of its own that need not load its modules first.

Loading the SDK is most of what a command does, and tests run hundreds of them. So a server loads it once, and
forks for each command: what it forks has a directory, an environment, standard streams and an exit code of
its own, as what a shell starts. With `-c`, it is a program that uses Satchel, as with `python -c`. What
Python reads when it starts can't be changed that way.

    python -m tests.commands SOCKET
"""

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, NoReturn

_MODULES = (
    "satchel.cli.main",
    "satchel.app",
    "satchel.upstream.pool",
    "satchel.store.store",
    "satchel.verbs.executions",
    "satchel.server.mcp_http",
    "satchel.server.stdio",
)
_FORKED = Path(__file__).with_name("forked.py")


def run_command(
    arguments: Sequence[str], *, directory: Path, environment: Mapping[str, str], stdin: str, timeout: float
) -> tuple[int, str, str]:
    """Exit code (negative for a signal), standard output and standard error."""
    with contextlib.ExitStack() as stack:
        streams = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
        streams[0].write(stdin.encode())
        streams[0].seek(0)
        connection = stack.enter_context(socket.socket(socket.AF_UNIX))
        connection.connect(_server().place)
        connection.settimeout(timeout)
        request = json.dumps([list(arguments), str(directory), dict(environment)]).encode()
        numbers = [stream.fileno() for stream in streams]
        socket.send_fds(connection, [len(request).to_bytes(4, "big")], numbers)
        connection.sendall(request)
        answers = stack.enter_context(connection.makefile())
        process = int(answers.readline())
        try:
            code = int(answers.readline())
        except TimeoutError:
            os.kill(process, signal.SIGKILL)
            raise subprocess.TimeoutExpired(list(arguments), timeout) from None
        return code, _text(streams[1]), _text(streams[2])


def forked_command(arguments: Sequence[str]) -> list[str]:
    """A command for clients that start processes: it passes signals on to Satchel, and ends as that does."""
    return [sys.executable, "-I", "-S", str(_FORKED), _server().place, *arguments]


def _text(stream: IO[bytes]) -> str:
    stream.seek(0)
    return stream.read().decode()


class _Server:
    """Ends with this process, which holds the other end of its standard input."""

    def __init__(self) -> None:
        self.place = str(Path(tempfile.mkdtemp(prefix="satchel-commands-"), "socket"))
        command = [sys.executable, "-m", "tests.commands", self.place]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"


@cache
def _server() -> _Server:
    return _Server()


def serve(place: Path) -> None:
    """Fork for each connection, until standard input ends."""
    for module in _MODULES:
        import_module(module)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place))
        listener.listen()
        os.write(1, b"ready\n")
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those who wait for a command
        while sys.stdin not in select.select([listener, sys.stdin], [], [])[0]:
            connection, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                _attend(connection)
                os._exit(0)
            connection.close()
    place.unlink()
    place.parent.rmdir()


def _attend(connection: socket.socket) -> None:
    """Fork once more, and tell how that ends: somebody has to wait for it."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    size, streams, _, _ = socket.recv_fds(connection, 4, 3)
    with connection.makefile("rb") as stream:
        request = stream.read(int.from_bytes(size, "big"))
    process = os.fork()
    if process == 0:
        connection.close()
        arguments, directory, environment = json.loads(request)
        _become(arguments, directory, environment, streams)
    connection.sendall(f"{process}\n".encode())
    ended = os.pidfd_open(process) if sys.platform == "linux" else None
    if ended is not None and connection in select.select([connection, ended], [], [])[0]:
        os.kill(process, signal.SIGKILL)  # whoever asked for it is gone
    _, status = os.waitpid(process, 0)
    with contextlib.suppress(OSError):
        connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())


def _become(
    arguments: list[str], directory: str, environment: dict[str, str], streams: Sequence[int]
) -> NoReturn:
    """The command itself."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace")
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["satchel", *arguments]
    code: object = 1
    try:
        if arguments[:1] == ["-c"]:
            exec(arguments[1], {"__name__": "__main__"})  # noqa: S102  a program of a test
            raise SystemExit
        import_module("satchel.cli.main").run()
    except SystemExit as end:
        code = end.code or 0
    except BaseException:  # noqa: BLE001  as Python does it at its end
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 1)


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
