"""The host's side of a zygote: a process in a box that makes other boxes, each within a few milliseconds.

What it does in there is in `guest/python/satchel_guest/zygote.py`. It makes boxes for one workspace, with the
same grants and limits, and runs no program itself.
"""

import array
import json
import os
import signal
import socket
import subprocess
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryFile

import anyio

from satchel.sandbox.backends.bubblewrap.boxes import Bubblewrap, make_pair, make_pipe
from satchel.sandbox.backends.bubblewrap.contents import DENO_LINKS, LINKS, packages_in, zygote_command
from satchel.sandbox.bridge.bridge import is_readable
from satchel.sandbox.jobs import BRIDGE, DENO, Job
from satchel.sandbox.limits import Limits
from satchel.sandbox.remedies import NotBegunError, refusal
from satchel.sandbox.running.box import Box
from satchel.sandbox.running.budget import of_zygote
from satchel.sandbox.running.cgroups import Group
from satchel.sandbox.running.home import LocalHome
from satchel.sandbox.running.supervise import Started, kill_group, readable
from satchel.support.waiting import to_the_end

_PATIENCE = 20.0  # seconds for what takes milliseconds, on a machine that is busy
_LONGEST_WORD = 1024


class Zygote:
    """Makes boxes until it is closed, or somebody kills it."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        control: socket.socket,
        boxes: Bubblewrap,
        limits: Limits,
        *,
        agent: str,
        group: Group | None,
    ) -> None:
        self._process = process
        self._control = control
        self._boxes = boxes
        self._limits = limits
        self._agent = agent
        self._group = group
        self._held = boxes.budget.hold(agent, process.pid, group, lambda: kill_group(process))

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    async def make(self, job: Job) -> Box:
        """A box, ready in a moment. SandboxError where none can be made, TimeoutError where it hangs."""
        group = self._boxes.make_group(self._agent, self._limits)
        try:
            started = await self._make(job, group)
            held = self._boxes.budget.hold(self._agent, started.process.pid, group, started.kill)
            return Box(started=started, group=group, has_program=False, lingers=True, held=held)
        except OSError as error:  # no descriptors left, or the group has been taken away
            await self._boxes.remove_group(group)
            if isinstance(error, TimeoutError):
                raise
            raise NotBegunError(f"a box can't be made: {error}", hint="try again") from error
        except BaseException:
            await self._boxes.remove_group(group)
            raise

    async def _make(self, job: Job, group: Group | None) -> Started:
        with ExitStack() as kept:  # until it is certain that there is a box at the other end
            with ExitStack() as given:
                bridge, bridge_inside = make_pair(kept, given, socket.SOCK_STREAM)
                ear, ear_inside = make_pair(kept, given, socket.SOCK_SEQPACKET)
                stdout, stdout_inside = make_pipe(kept, given)
                stderr, stderr_inside = make_pipe(kept, given)
                groups = [_opened(file, given) for file in group.join_files] if group is not None else []
                ends = [bridge_inside.fileno(), stdout_inside, stderr_inside, ear_inside.fileno(), *groups]
                command = [*job.command, str(BRIDGE), f"/program/{job.file}"] if job.speaks else []
                await self._ask({"limits": job.limits(self._limits), "command": command}, ends)
            process = await _first_process(ear)
            kept.pop_all()
        return Started(
            process=process,
            bridge=bridge,
            stdout=stdout,
            stderr=stderr,
            kill=process.kill,
        )

    async def _ask(self, request: dict[str, object], ends: list[int]) -> None:
        attached = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", ends))]
        with anyio.fail_after(_PATIENCE):
            while True:
                try:
                    self._control.sendmsg([json.dumps(request).encode()], attached)
                    return
                except BlockingIOError:  # it has more to do than it can take
                    await anyio.sleep(0.002)
                except OSError as error:
                    raise NotBegunError(f"the zygote has gone: {error.strerror}") from error

    async def aclose(self) -> None:
        """End it, and every box that it has made."""
        self._held.drop()
        kill_group(self._process)
        self._control.close()
        await to_the_end(self._wait())
        await to_the_end(self._boxes.remove_group(self._group))

    async def _wait(self) -> None:
        if self._process.poll() is None:
            descriptor = os.pidfd_open(self._process.pid)
            try:
                await readable(descriptor)
            finally:
                os.close(descriptor)
        self._process.wait()


async def open_zygote(boxes: Bubblewrap, home: LocalHome, limits: Limits) -> Zygote:
    """Start one, and wait until it can make boxes."""
    control, control_inside = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    control.setblocking(False)
    group = boxes.make_group(home.agent, of_zygote())
    with control_inside, TemporaryFile() as errors:
        try:
            process = await boxes.launch(
                "zygote",
                zygote_command(control_inside.fileno()),
                home,
                limits,
                job=Job(file=""),
                group=group,
                streams=(subprocess.DEVNULL, errors.fileno()),
                passed=[control_inside.fileno()],
            )
        except BaseException:
            control.close()
            await boxes.remove_group(group)
            raise
        zygote = Zygote(process, control, boxes, limits, agent=home.agent, group=group)
        settings = {
            "temporary": limits.temporary,
            "files": limits.files,
            "links": LINKS,
            "deno_links": DENO_LINKS,
            "deno": DENO,
            "packages": packages_in(boxes.grants),
        }
        try:
            control.send(json.dumps(settings).encode())
            control.send(boxes.filter)
            control_inside.close()
            with anyio.fail_after(_PATIENCE):
                await readable(control.fileno())
            if not control.recv(_LONGEST_WORD):
                raise ConnectionError
        except (OSError, TimeoutError) as error:
            await zygote.aclose()
            errors.seek(0)
            raise refusal(errors.read().decode("utf-8", "replace")) from error
        except BaseException:
            await zygote.aclose()
            raise
    return zygote


class _FirstProcess:
    """The first process of a box that a zygote has made. When it ends, all that is in the box does.

    It says how the program has ended when nothing else is left in the box: what it has still to do, which is
    to take the namespaces apart, nobody has to wait for.
    """

    def __init__(self, descriptor: int, ear: socket.socket) -> None:
        self.pid = _number_of(descriptor)
        self._descriptor = descriptor
        self._ear: socket.socket | None = ear
        self._code: int | None = None
        self._is_closed = False

    def poll(self) -> int | None:
        if self._ear is not None:
            try:
                word = self._ear.recv(_LONGEST_WORD)
            except BlockingIOError:
                return None
            except OSError:
                word = b""
            self._ear.close()
            self._ear = None
            if word.startswith(b"ended "):
                self._code = int(word[6:])
        if self._code is None and self._ear is None and is_readable(self._descriptor):
            self._code = -signal.SIGKILL  # it has said nothing
        return self._code

    async def wait(self) -> int:
        while (code := self.poll()) is None:
            await readable(self._descriptor if self._ear is None else self._ear.fileno())
        return code

    def kill(self) -> None:
        if not self._is_closed:  # or the descriptor may be another box's by now
            with suppress(ProcessLookupError, PermissionError):
                signal.pidfd_send_signal(self._descriptor, signal.SIGKILL)

    def close(self) -> None:
        self._is_closed = True
        if self._ear is not None:
            self._ear.close()
        os.close(self._descriptor)


async def _first_process(ear: socket.socket) -> _FirstProcess:
    """Hear from the new box, which hands over its first process, or says why there is none."""
    ear.setblocking(False)
    with anyio.fail_after(_PATIENCE):
        await readable(ear.fileno())
    word, descriptors, _, _ = socket.recv_fds(ear, _LONGEST_WORD, 1)
    if not descriptors:
        raise NotBegunError(word.decode("utf-8", "replace") or "the box ended before it was made")
    return _FirstProcess(descriptors[0], ear)


def _number_of(descriptor: int) -> int:
    rows = Path(f"/proc/self/fdinfo/{descriptor}").read_text().splitlines()
    return next(int(row.partition(":")[2]) for row in rows if row.startswith("Pid:"))


def _opened(file: Path, given: ExitStack) -> int:
    descriptor = os.open(file, os.O_WRONLY | os.O_CLOEXEC)
    given.callback(os.close, descriptor)
    return descriptor
