"""run, sh and bridge: the tools for a program in the sandbox, and for scripts outside of it."""

import argparse
import json
import os
import shlex
import signal
import socket
import stat
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from satchel.cli import output
from satchel.cli.running import paths_of, run_with_servers, waits
from satchel.errors import ArgumentError, SandboxError, ServerError
from satchel.languages import language_of_file
from satchel.model import (
    LONGEST_PROGRAM,
    CallBegan,
    Event,
    Execution,
    Output,
    PersonAsked,
    ProgramBegins,
    ProgramWaits,
    ServerFailed,
    ServerListed,
    ServerListing,
)
from satchel.names import count
from satchel.verbs.offline import trouble

if TYPE_CHECKING:
    from satchel.verbs.satchel import Satchel

_MOST_FILES = 10
_RUN_HINT = "satchel run FILE, or satchel run - to read standard input"


def run_command(options: argparse.Namespace) -> int:
    code = _read_program(options.file)
    language = options.language or language_of_file(Path(options.file).suffix)
    return _execute(options, code, language=language, check=options.check)


def shell_command(options: argparse.Namespace) -> int:
    words: list[str] = options.command
    command = words[0] if len(words) == 1 else shlex.join(words) if words else _read_program("-")
    try:
        command.encode()
    except UnicodeEncodeError as error:
        raise ArgumentError("the command is not UTF-8", hint="write it to a file, in UTF-8") from error
    return _execute(options, command, language="bash")


def resume_execution(options: argparse.Namespace, execution: str, agent: str) -> int:
    """Run a program again that had stopped for a person, as `satchel run` would."""
    given = {"agent": agent, "description": "", "timeout": None, "json": False}
    options = argparse.Namespace(**(vars(options) | given))
    return _execute(options, "", language=None, resume=execution)


def _execute(
    options: argparse.Namespace,
    code: str,
    *,
    language: str | None,
    check: bool = False,
    resume: str | None = None,
) -> int:
    progress = _Progress(live=not options.json)
    signals: list[int] = [signal.SIGINT]

    async def run(satchel: "Satchel") -> Execution | None:
        warning = satchel.executions.warning()
        if warning is not None:
            output.note(output.styled("warning: ", "yellow") + warning)
        progress.begin()
        try:
            with ended_by_signals(signals):
                return await satchel.execute(
                    code,
                    language=language,
                    check=check,
                    timeout=options.timeout,
                    agent=options.agent,
                    description=options.description,
                    resume=resume,
                    tell=progress.hear,
                )
        finally:
            progress.clear()
        return None

    try:
        execution = run_with_servers(options, run)
    except KeyboardInterrupt:
        execution = None
    if execution is None:
        if not options.json:
            _show_printed(progress.printed, progress.shown)
        output.note("interrupted; satchel executions shows what the program had done")
        return 128 + signals[-1]
    for error in progress.failures:
        output.note(f"not available: {trouble(error)}")
    if options.json:
        output.show_json(execution.as_json())
    else:
        _show_printed({"stdout": execution.stdout, "stderr": execution.stderr}, progress.shown)
        _show(execution, paths_of(options).state / "agents" / options.agent / "workspace")
    return execution.exit_code


@contextmanager
def ended_by_signals(received: list[int]) -> Generator[None]:
    """Signals that would end this process end the block, as Ctrl-C does: what was printed is kept."""
    # Help and wrong usage need not wait for these.
    import asyncio

    import anyio

    loop = asyncio.get_running_loop()
    # What nohup ignores stays ignored. Signals come to the main thread only.
    is_main = threading.current_thread() is threading.main_thread()
    wanted = (signal.SIGTERM, signal.SIGHUP) if is_main else ()
    heeded = [each for each in wanted if signal.getsignal(each) is signal.SIG_DFL]
    with anyio.CancelScope() as scope:

        def give_up(number: int) -> None:
            received.append(number)
            scope.cancel()

        for number in heeded:
            loop.add_signal_handler(number, give_up, number)
        try:
            yield
        finally:
            for number in heeded:
                loop.remove_signal_handler(number)


def _read_program(name: str) -> str:
    try:
        if name == "-":
            if sys.stdin.isatty():
                output.note("type the program, then Ctrl-D")
            return _read_at_most(sys.stdin.buffer, "on standard input")
        mode = os.stat(name).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode) or stat.S_ISDIR(mode)):
            raise ArgumentError(f"the program {name} can't be read: it is a device", hint=_RUN_HINT)
        with open(name, "rb") as stream:  # which refuses a directory
            return _read_at_most(stream, name)
    except UnicodeDecodeError as error:
        raise ArgumentError(
            f"the program in {name} is not UTF-8: byte {error.start + 1} can't be read",
            hint="save it as UTF-8",
        ) from error
    except OSError as error:
        raise ArgumentError(
            f"the program {name} can't be read: {error.strerror}",
            hint=_RUN_HINT,
        ) from error


def _read_at_most(stream: BinaryIO, name: str) -> str:
    """A program, or ArgumentError once it is longer than any: what is read may have no end."""
    most = 4 * LONGEST_PROGRAM  # bytes of the longest one, if every character has four
    data = stream.read(most + 1)
    if len(data) > most:
        raise ArgumentError(
            f"the program {name} has more than {most:,} bytes;"
            f" at most {LONGEST_PROGRAM:,} characters are taken",
            hint="read data from a file in the workspace",
        )
    return data.decode()


def _show_printed(printed: dict[str, str], shown: dict[str, str]) -> None:
    """The program's output as its own, as far as it was not shown while it ran."""
    same = {name: os.path.commonprefix([text, shown[name]]) for name, text in printed.items()}  # noqa: RUF071
    if rest := printed["stdout"][len(same["stdout"]) :]:
        output.show_result(rest)
        sys.stdout.flush()  # before what follows on the other stream
    if rest := printed["stderr"][len(same["stderr"]) :]:
        output.note(rest.removesuffix("\n"))


def _show(execution: Execution, workspace: Path) -> None:
    """Satchel's remarks about a program, on standard error."""
    failed = execution.exit_code != 0
    if execution.ended:
        output.note(output.styled(f"ended: {execution.ended}: ", "red") + (execution.reason or ""))
    elif execution.reason:
        _note(execution.reason)
    if failed and execution.tools_called:
        _note("calls already made (of those denied or refused, nothing was sent):")
        for use in execution.tools_called:
            error = f"  {output.first_line(use.error)}" if use.error else ""
            _note(f"  {use.tool}  {use.status}  {use.ms:.0f} ms{error}")
    for file in execution.files[:_MOST_FILES]:
        _note(f"wrote {_on_one_line(_on_host(file['path'], workspace))}, {count(file['size'], 'byte')}")
    if len(execution.files) > _MOST_FILES:
        _note(f"wrote {len(execution.files) - _MOST_FILES} more files to {output.from_here(workspace)}")
    for name, left_out in execution.truncated.items():
        _note(f"{name} was too long: {_left_out(name, left_out)}; write to a file, or raise max_output_chars")
    if execution.has_result:
        output.note(output.styled("result: ", "dim") + json.dumps(execution.result, ensure_ascii=False))
    if failed or execution.truncated:
        seconds = execution.duration_ms / 1000
        _note(f"exit code {execution.exit_code} after {seconds:.1f} s; satchel show-execution {execution.id}")


def _note(text: str) -> None:
    output.note(output.styled(text, "dim"))


def _left_out(name: str, characters: int) -> str:
    return f"it has {characters:,} characters" if name == "result" else f"{characters:,} characters left out"


def _on_host(path: str, workspace: Path) -> str:
    """A file as the person finds it; without isolation, that is where the program found it."""
    inside = path.removeprefix("/workspace/")
    return output.from_here(Path(path)) if inside == path else f"{output.from_here(workspace)}/{inside}"


class _Progress:
    """What is going on, on a terminal: servers that are listed and the program's calls in one line, and above
    it what the program prints."""

    def __init__(self, *, live: bool) -> None:
        self._live = {"stdout": live and sys.stdout.isatty(), "stderr": live and sys.stderr.isatty()}
        self.printed = {"stdout": "", "stderr": ""}  # bounded by those who tell
        self.shown = {"stdout": "", "stderr": ""}
        self._line = output.ProgressLine()
        self._began = time.monotonic()
        self._listing: dict[str, None] = {}
        self._ahead = 0  # programs that run while this one waits
        self._calls = 0
        self._latest = ""
        self.failures: list[ServerError] = []

    def begin(self) -> None:
        self._line.keep_updating(self._text)

    def hear(self, event: Event) -> None:
        if isinstance(event, ServerListing):
            self._listing[event.server] = None
        elif isinstance(event, ServerListed):
            self._listing.pop(event.server.name, None)
        elif isinstance(event, ServerFailed):
            self._listing.pop(event.server, None)
            self.failures.append(event.error)
        elif isinstance(event, Output):
            self.printed[event.stream] += event.text
            if self._live[event.stream]:
                self.shown[event.stream] += event.text
                self._line.give_way(event.text, errors=event.stream == "stderr")
        elif isinstance(event, PersonAsked):
            self._line.give_way(waits(event), errors=True)
        elif isinstance(event, CallBegan):
            self._calls += 1
            self._latest = event.tool
        elif isinstance(event, (ProgramWaits, ProgramBegins)):
            self._ahead = event.running if isinstance(event, ProgramWaits) else 0

    def _text(self) -> str:
        seconds = time.monotonic() - self._began
        if self._ahead:
            return f"waiting for a free place  {seconds:.0f} s  {count(self._ahead, 'program')} running"
        if self._listing:
            return f"listing servers  {seconds:.0f} s  {', '.join(self._listing)}"
        return f"running  {seconds:.0f} s  {count(self._calls, 'call')}  {self._latest}"

    def clear(self) -> None:
        self._line.clear()


def bridge_command(options: argparse.Namespace) -> int:
    path = _private_place() if options.socket is None else Path(os.path.expanduser(options.socket)).absolute()
    _refuse_taken(path)
    paths = paths_of(options)
    tree = paths.state / "code-api" / "python"
    if tree.is_dir():
        paths.prepare_state()  # scripts are told to import from there: it has to be ours

    async def serve(satchel: "Satchel") -> None:
        async with satchel.executions.bridge(path, agent=options.agent, report=output.note) as address:
            quoted = address.replace("'", "'\"'\"'")
            output.show(f"export SATCHEL_BRIDGE='{quoted}'")
            sys.stdout.flush()  # a pipe's reader waits for it
            output.note(f"scripts with this variable call tools as agent '{options.agent}'; Ctrl-C ends it")
            if tree.is_dir():
                output.note(
                    f"in another terminal, with it: PYTHONPATH={output.from_here(tree)} python SCRIPT"
                )
            else:
                output.note("hint: satchel generate writes the wrappers that scripts import")
            await _until_told_to_end()

    run_with_servers(options, serve)
    return 0


async def _until_told_to_end() -> None:
    import anyio  # help and wrong usage need not wait for it

    # What a shell's background job or nohup ignores stays ignored.
    wanted = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    heeded = [number for number in wanted if signal.getsignal(number) is not signal.SIG_IGN]
    with anyio.open_signal_receiver(*heeded) as signals:
        async for _ in signals:
            return


def _private_place() -> Path:
    """A new socket in a directory that nobody else can enter."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(runtime) and os.path.isdir(runtime) and os.stat(runtime).st_uid == os.geteuid():
        directory = Path(runtime) / "satchel"
    else:
        directory = Path(f"/tmp/satchel-{os.geteuid()}")
    _make_private(directory)
    return directory / f"bridge-{os.getpid()}.sock"


def _make_private(directory: Path) -> None:
    """Make it, or make sure of it: in /tmp anybody could have been there first."""
    hint = "choose another place with --socket"
    try:
        with suppress(FileExistsError):
            directory.mkdir(mode=0o700)
        status = directory.lstat()
    except OSError as error:
        raise SandboxError(f"{directory} can't be made: {error.strerror}", hint=hint) from error
    if not stat.S_ISDIR(status.st_mode):
        raise SandboxError(f"{directory} is not a directory", hint=hint)
    if status.st_uid != os.geteuid():
        raise SandboxError(f"{directory} belongs to another user (uid {status.st_uid})", hint=hint)
    if status.st_mode & 0o077:
        raise SandboxError(f"{directory} is open to others", hint=f"chmod 700 {directory}")


def _refuse_taken(path: Path) -> None:
    """Two bridges can't have one socket; one that a killed bridge left behind is taken over."""
    with socket.socket(socket.AF_UNIX) as trial:
        trial.settimeout(1)
        with suppress(OSError):
            trial.connect(str(path))
            raise ArgumentError(
                f"another bridge is open at {path}", hint="choose another place with --socket"
            )


def _on_one_line(path: object) -> str:
    """A file may be called anything: its name must not pass for a line of ours."""
    return " ".join(str(path).splitlines())
