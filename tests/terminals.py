"""A person at a terminal, for what only a person decides."""

import os
import pty
import re
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

_PATIENCE = 60.0
_STEERING = re.compile(r"\x1b(\[[0-9;?]*[ -/]*[@-~]|\][^\x07]*\x07|[=>])")


def decide(
    command: list[str],
    directory: Path,
    answer: Callable[[str], str] = lambda code: code,
    meanwhile: Callable[[], object] = lambda: None,
    asked: str = r"Type (\w+) to agree",
) -> tuple[int, str]:
    """Run a command in its own terminal; `answer` turns the code that is `asked` for into what is typed."""
    child, terminal = pty.fork()
    if child == 0:  # the new process, which becomes the command
        os.chdir(directory)
        os.execv(command[0], command)
    try:
        said = _until(terminal, asked)
        found = re.search(asked, said)
        if found is not None:
            meanwhile()
            os.write(terminal, f"{answer(found[1])}\n".encode())
        said += _until(terminal, None)
        _, status = os.waitpid(child, 0)
        return os.waitstatus_to_exitcode(status), said.replace("\r\n", "\n")
    finally:
        os.close(terminal)


def answer_each(command: list[str], directory: Path, asked: str, *answers: str) -> tuple[int, str]:
    """The same for a command that asks again and again: each time that it asks, the next answer is typed."""
    child, terminal = pty.fork()
    if child == 0:  # the new process, which becomes the command
        os.chdir(directory)
        os.execv(command[0], command)
    said = ""
    try:
        for answer in answers:
            said += _until(terminal, asked)
            os.write(terminal, f"{answer}\n".encode())
        said += _until(terminal, None)
        _, status = os.waitpid(child, 0)
        return os.waitstatus_to_exitcode(status), said.replace("\r\n", "\n")
    finally:
        os.close(terminal)


def _until(terminal: int, pattern: str | None) -> str:
    """What is written, up to what a pattern describes, or to the end."""
    said, deadline = "", time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        if pattern is not None and re.search(pattern, said):
            return said
        if not select.select([terminal], [], [], 1.0)[0]:
            continue
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # its process has ended
            return said
        if not piece:
            return said
        said += piece.decode("utf-8", "replace")
    raise AssertionError(f"nothing more came after {said!r}")


def yes_to_everything(command: list[str], directory: Path) -> "subprocess.CompletedProcess[str]":
    """Run a command without a terminal, with something that agrees to whatever it is asked."""
    return subprocess.run(
        command,
        cwd=directory,
        input="y\nyes\n" * 100,
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        start_new_session=True,  # without the terminal that the tests may have
        check=False,
    )


class Terminal:
    """A command at a terminal of its own: what it shows is awaited, and keys are typed."""

    def __init__(self, command: list[str], directory: Path, environment: Mapping[str, str]) -> None:
        whole = {**os.environ, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1", **environment}
        self.child, self._terminal = pty.fork()
        if self.child == 0:  # the new process, which becomes the command
            os.chdir(directory)
            os.execve(command[0], command, whole)
        self._seen = ""

    def until(self, pattern: str) -> str:
        """What was shown since the last time, up to what a pattern describes; without steering."""
        deadline = time.monotonic() + _PATIENCE
        while (found := re.search(pattern, self._text)) is None:
            assert time.monotonic() < deadline, f"{pattern!r} did not come after {self._text!r}"
            if select.select([self._terminal], [], [], 1.0)[0]:
                try:
                    piece = os.read(self._terminal, 65536)
                except OSError:  # its process has ended
                    raise AssertionError(f"{pattern!r} never came after {self._text!r}") from None
                self._seen += piece.decode("utf-8", "replace")
        shown, self._seen = self._text[: found.end()], self._text[found.end() :]
        return shown

    @property
    def _text(self) -> str:
        return _STEERING.sub("", self._seen).replace("\r", "")

    def type(self, keys: str) -> None:
        os.write(self._terminal, keys.encode())

    def ended(self) -> tuple[int, str]:
        """Its exit code, and what was shown to the end."""
        self._seen += _until(self._terminal, None)
        _, status = os.waitpid(self.child, 0)
        self.child = 0
        return os.waitstatus_to_exitcode(status), self._text

    def kill(self) -> None:
        if self.child:
            os.kill(self.child, signal.SIGKILL)
            os.waitpid(self.child, 0)
            self.child = 0

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *error: object) -> None:
        self.kill()
        os.close(self._terminal)
