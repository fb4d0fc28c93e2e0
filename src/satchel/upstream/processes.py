"""The child processes of one Satchel: marked, in groups of their own, logged, and watched by a guardian."""

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from satchel.config.paths import PROJECTS
from satchel.upstream import guardian
from satchel.upstream.logs import ServerLogs

_PASSED_ON = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER")


class Children:
    """Starts the guardian with the first child and releases it when all were stopped in order."""

    def __init__(self, projects: str = "", logs: ServerLogs | None = None) -> None:
        self._projects = projects
        self.logs = logs or ServerLogs()
        self.owner = f"{os.getpid()}-{secrets.token_hex(8)}"
        self._guardian: subprocess.Popen[str] | None = None
        self._count = 0

    def environment(self, declared: Mapping[str, str]) -> dict[str, str]:
        """The little that every child needs, what is declared for this one, and its mark."""
        self._count += 1
        passed = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        ours = {guardian.MARK: f"{self.owner}-{self._count}."}
        if self._projects:
            ours[PROJECTS] = self._projects
        return passed | dict(declared) | ours

    def watch(self) -> None:
        """Have the guardian running before there is anything to guard."""
        if self._guardian is None or self._guardian.poll() is not None:
            self._guardian = subprocess.Popen(
                [sys.executable, "-I", "-S", str(Path(guardian.__file__)), self.owner],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                text=True,
            )

    def report(self, sign: str, group: int) -> None:
        """Tell the guardian of a process group that began (`+`) or ended (`-`)."""
        self._tell(f"{sign}{group}\n")

    def close(self) -> None:
        """Release the guardian. Children are stopped before this; one that was not is killed by it."""
        self.logs.close()
        process, self._guardian = self._guardian, None
        if process is None:
            return
        assert process.stdin is not None
        if not guardian.marked(self.owner):
            with suppress(OSError):
                process.stdin.write("done\n")
        with suppress(OSError):
            process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=2)

    def _tell(self, text: str) -> None:
        if self._guardian is not None and self._guardian.stdin is not None:
            with suppress(OSError):
                self._guardian.stdin.write(text)
                self._guardian.stdin.flush()


def kill_group(group: int, number: signal.Signals) -> bool:
    """Signal a whole process group; false when it is gone."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
