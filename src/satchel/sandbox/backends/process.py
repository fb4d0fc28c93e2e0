"""Programs as ordinary processes: no isolation at all. Used only where the configuration names it.

The limits of time, output and calls hold, and those that the kernel keeps for one process. Everything else of
this machine is open to the program, with the rights of the person who runs Satchel.
"""

import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from satchel.errors import SandboxError
from satchel.languages import PROGRAMS, ProgramLanguage
from satchel.sandbox.backends import PROCESS
from satchel.sandbox.jobs import Job, job_of
from satchel.sandbox.limits import Limits
from satchel.sandbox.running.box import Box
from satchel.sandbox.running.home import LocalHome, local, make_home
from satchel.sandbox.running.session import BoxSession
from satchel.sandbox.running.supervise import Spawned, Started, kill_group, supervise
from satchel.sandbox.running.watch import Watch
from satchel.sandbox.sandbox import Door, Grants, Home, Outcome, Program, Shown
from satchel.support.waiting import to_the_end

_GUESTS = Path(__file__).parents[1] / "guest"
_PATH = f"import sys; sys.path.insert(0, {str(_GUESTS / 'python')!r})"
_BOOT = f"{_PATH}; from satchel_guest.run import start; start()"


class UnprotectedProcess:
    """Runs every program as a child of this process."""

    about = PROCESS

    def __init__(self, agents: Path, grants: Grants | None = None) -> None:
        self._agents = agents  # where homes are made
        self._grants = grants or Grants()
        self._folders: dict[int, TemporaryDirectory[str]] = {}  # of programs, by process

    async def home(self, agent: str, shown: Shown, *, writable: bool = True) -> LocalHome:
        return make_home(self._agents, agent, shown, self.about, writable=writable)

    async def run(self, program: Program, home: Home, door: Door, limits: Limits) -> Outcome:
        own = local(home)
        box = self._make(program, own, limits)
        try:
            watch = await self.watch(box, own, limits)
            return await supervise(box.started, door, limits, watch)
        finally:
            await self.remove(box)

    async def open_session(self, language: ProgramLanguage, home: Home, limits: Limits) -> BoxSession:
        program, own = Program(code="", language=language), local(home)
        box = self._make(program, own, limits)
        return BoxSession(self, box, job_of(program, self._grants), own)

    async def watch(self, box: Box, home: LocalHome, limits: Limits) -> Watch:
        watch = Watch(limits, None, home.filled, isolated=False)
        await watch.look_before()
        return watch

    async def remove(self, box: Box) -> None:
        await to_the_end(self._remove(box))

    async def _remove(self, box: Box) -> None:
        if not box.started.is_closed:
            await box.started.give_up()
        if (folder := self._folders.pop(box.started.process.pid, None)) is not None:
            folder.cleanup()

    async def aclose(self) -> None:
        pass

    def _make(self, program: Program, home: LocalHome, limits: Limits) -> Box:
        job = job_of(program, self._grants)
        if job.speaks:  # a guest of its own, which lies where only a box has it
            raise SandboxError(
                f"programs in {PROGRAMS[program.language].title} run in the sandbox only",
                hint="sandbox.backend: bubblewrap, or Python",
            )
        folder = TemporaryDirectory(prefix="satchel-program-")
        file = Path(folder.name) / job.file
        file.write_bytes(program.code.encode("utf-8", "surrogatepass"))
        for name in ("servers", "tools", "helpers"):
            os.symlink(home.shown.code_api / name, Path(folder.name) / name)
        if home.shown.modules is not None:
            os.symlink(home.shown.modules, Path(folder.name) / "skills")
        started = self._start(job, file, home, limits)
        self._folders[started.process.pid] = folder
        return Box(started=started, group=None, has_program=True)

    def _start(self, job: Job, file: Path, home: LocalHome, limits: Limits) -> Started:
        ours, theirs = socket.socketpair()
        stdout, stdout_inside = os.pipe()
        stderr, stderr_inside = os.pipe()
        python = self._grants.python_env / "bin" / "python" if self._grants.python_env else sys.executable
        # Memory and processes are the person's own here: a limit would hit what else they run.
        numbers = [int(limits.cpu_seconds), -1, -1, -1, limits.open_files, limits.file_size]
        bridge = str(theirs.fileno())
        command = [str(python), "-I", "-X", "utf8", "-c", _BOOT, bridge, str(file), "", ""]
        try:
            process = subprocess.Popen(
                [*command, *map(str, numbers), *job.command],
                stdin=subprocess.DEVNULL,
                stdout=stdout_inside,
                stderr=stderr_inside,
                pass_fds=[theirs.fileno()],
                cwd=home.files,
                env={
                    "PATH": os.environ.get("PATH", os.defpath),
                    "HOME": str(home.files),
                    "LANG": "C.UTF-8",
                    **self._grants.environment,
                },
                start_new_session=True,
            )
        finally:
            theirs.close()
            for descriptor in (stdout_inside, stderr_inside):
                os.close(descriptor)
        return Started(
            process=Spawned(process),
            bridge=ours,
            stdout=stdout,
            stderr=stderr,
            kill=_Killer(process).kill,
        )


class _Killer:
    """Ends what can be found of a program. What has left its group and its parent is not, without a box."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._is_over = False

    def kill(self) -> None:
        process = self._process
        if process.returncode is None:
            kill_group(process)
        elif not self._is_over:
            # What it left in its group keeps the group's number from being given away. Later it may be.
            self._is_over = True
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
