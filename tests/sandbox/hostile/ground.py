"""Where hostile programs run: in a box that is looked after, and outside of it, to see that they are hostile.

Every run in the box is followed by the same questions: did it end in time, is anything left of it (a process,
a descriptor, a control group, a mount, a file), and does the next program run as if nothing had been. Several
workers do this at once, so only what belongs to this process and this box is looked at.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import anyio

from satchel.model import Json
from satchel.sandbox.backends import BUBBLEWRAP
from satchel.sandbox.backends.bubblewrap.boxes import Bubblewrap
from satchel.sandbox.backends.bubblewrap.ready import ReadyBoxes
from satchel.sandbox.backends.bubblewrap.ready import Way as Maker
from satchel.sandbox.limits import MIB, Limits
from satchel.sandbox.running import cgroups
from satchel.sandbox.running.home import LocalHome, make_home
from satchel.sandbox.running.processes import descendants
from satchel.sandbox.sandbox import Answer, Door, Grants, Outcome, Program, Shown
from tests.sandbox.helpers import own_groups

Way = Literal["cold", "pool", "bubblewrap", "session"]
"""How programs get their box: made for them, prepared by a zygote or by bubblewrap, or kept for a session."""
OWNER = BUBBLEWRAP.owner
LIMITS = Limits(seconds=20, cpu_seconds=20, memory=512 * MIB, disk=64 * MIB, file_size=64 * MIB)
"""For programs that are expected to end by themselves, on a machine that has other things to do."""
SHORT = replace(LIMITS, seconds=1.0)
"""For programs that are expected to be ended."""
LATE = 15.0  # seconds that an end may come late where others have the processor; what evades it runs for 60
_SETTLE = 30.0  # seconds for the kernel to take away what was killed

TRY = """\
import ctypes, errno, json, os, sys
outcomes = {}
def attempt(name, action, *arguments):
    try:
        value = action(*arguments)
    except OSError as error:
        outcomes[name] = errno.errorcode.get(error.errno, type(error).__name__)
    except BaseException as error:
        outcomes[name] = type(error).__name__
    else:
        outcomes[name] = value if isinstance(value, (str, list, dict)) else "done"
def libc(name, *arguments):
    function = getattr(ctypes.CDLL(None, use_errno=True), name)
    function.restype = ctypes.c_long if name in ("syscall", "ptrace", "process_vm_readv") else ctypes.c_int
    value = function(*(ctypes.c_long(a) if isinstance(a, int) else a for a in arguments))
    if value == -1:
        raise OSError(ctypes.get_errno(), name)
    return value
"""
"""What programs begin with that try many things: `attempt` notes what came of each."""
TELL = "\nprint(json.dumps(outcomes))\n"


@dataclass(frozen=True, kw_only=True)
class Traces:
    """What a program could leave behind on the host."""

    descriptors: int
    children: frozenset[int]
    groups: frozenset[str]
    mounts: str
    inside: frozenset[int]
    files: frozenset[str]


async def nothing_to_ask(method: str, params: Json) -> Any:
    raise AssertionError(f"a program asked for {method} with {params}")


class Box:
    """A sandbox with one agent's workspace."""

    def __init__(self, home: Path, mark: str, *, use_cgroups: bool, way: Way = "cold") -> None:
        self.home = home
        self.use_cgroups = use_cgroups
        self.way = way
        self.workspace = self.make_workspace("agent")
        self._mark = mark
        self._parents = cgroups.find_parents()
        boxes = Bubblewrap(Grants(environment={"MARK": mark}), use_cgroups=use_cgroups)
        maker: Maker = "bubblewrap" if way == "bubblewrap" else "zygote"
        self._pool = None if way == "cold" else ReadyBoxes(boxes, home / "agents", size=2, way=maker)
        self._sandbox = self._pool or boxes
        self._ready_for: object = None  # the kind of program that boxes are certainly ready for

    def make_workspace(self, agent: str) -> LocalHome:
        code_api = self.home / "code-api"
        code_api.mkdir(parents=True, exist_ok=True)
        agents = self.home / "agents"
        shown = Shown(code_api=code_api, memory=agents / agent / "memory")
        return make_home(agents, agent, shown, BUBBLEWRAP)

    def clear(self) -> None:
        """Remove what programs wrote, however deep it lies and whatever its modes are."""
        # Those of other agents too: the next test may use the same names.
        agents = [*(self.home / "agents").iterdir()]
        directories = [agent / name for agent in agents for name in ("workspace", "memory", "tasks")]
        entries = [entry for directory in directories for entry in os.scandir(directory)]
        closed = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
        if closed:  # never a link: it would be followed, to wherever a program has it lead
            subprocess.run(["chmod", "-R", "u+rwX", "--", *closed], stderr=subprocess.DEVNULL, check=False)
        if entries:
            subprocess.run(["rm", "-rf", "--", *(entry.path for entry in entries)], check=True)

    async def close(self) -> None:
        await self._sandbox.aclose()

    async def run(
        self,
        code: str,
        limits: Limits = LIMITS,
        answer: Answer = nothing_to_ask,
        workspace: LocalHome | None = None,
    ) -> Outcome:
        """Run a program, see that nothing is left of it, and that another one runs after it."""
        await self.settle(workspace, limits)
        before = self.traces()
        outcome = await self.run_only(code, limits, answer, workspace)
        assert outcome.seconds <= limits.seconds + LATE, (outcome.seconds, limits.seconds)
        await self.see_that_nothing_is_left(before)
        following = await self.run_only("print(6 * 7)", workspace=workspace)
        assert (following.stdout.text, following.exit_code, following.ended) == ("42\n", 0, None), following
        if self._pool is not None:
            await self._pool.settle()
            self._ready_for = ("python", workspace or self.workspace, LIMITS)
        return outcome

    async def run_only(
        self,
        code: str,
        limits: Limits = LIMITS,
        answer: Answer = nothing_to_ask,
        workspace: LocalHome | None = None,
    ) -> Outcome:
        program, workspace = Program(code=code), workspace or self.workspace
        self._ready_for = None
        with anyio.fail_after(limits.seconds + 30):
            if self._pool is None or self.way != "session":
                return await self._sandbox.run(program, workspace, Door(answer=answer), limits)
            session = await self._pool.open_session("python", workspace, limits)
            try:
                return await session.run(program, Door(answer=answer), limits)
            finally:
                await session.aclose()

    async def settle(self, workspace: LocalHome | None, limits: Limits) -> None:
        """What is kept ready for such programs is there, and is no trace of the next one."""
        if self._pool is not None:
            if self._ready_for != ("python", workspace or self.workspace, limits):
                await self.run_only("pass", limits, workspace=workspace)
            await self._pool.settle()

    async def attempts(self, code: str, limits: Limits = LIMITS, answer: Answer = nothing_to_ask) -> Json:
        """Run a program that uses `attempt`; what came of each."""
        outcome = await self.run(TRY + code + TELL, replace(limits, kept_output=1_000_000), answer)
        assert outcome.exit_code == 0, outcome
        return json.loads(outcome.stdout.text)

    def traces(self) -> Traces:
        kept = self._kept()
        groups = {str(path) for path in own_groups(self._parents) if not kept & _members(path)}
        return Traces(
            descriptors=len(os.listdir("/proc/self/fd")),
            children=frozenset(descendants(os.getpid())) - kept,
            groups=frozenset(groups),
            mounts=Path("/proc/self/mountinfo").read_text(),
            inside=frozenset(filter(self._is_inside, _all_processes())) - kept,
            files=frozenset(_files_of_programs()),
        )

    def _kept(self) -> frozenset[int]:
        """The processes of boxes that wait for a program."""
        roots = self._pool.processes() if self._pool is not None else []
        return frozenset(roots).union(*(descendants(root) for root in roots))

    async def see_that_nothing_is_left(self, before: Traces) -> None:
        if self._pool is not None:
            await self._pool.settle()
        deadline = time.monotonic() + _SETTLE
        while not _is_nothing_left(now := self.traces(), before):
            if time.monotonic() > deadline:
                break
            await anyio.sleep(0.01)  # the kernel does not tell
        assert _is_nothing_left(now, before), f"something is left of a program: {now} and not {before}"

    def _is_inside(self, process: int) -> bool:
        """Whether a process is one of this box: by its name, its environment or what it sees."""
        place = Path(f"/proc/{process}")
        for name in ("cmdline", "environ"):
            try:
                if self._mark.encode() in (place / name).read_bytes():
                    return True
            except OSError:
                pass
        try:
            return (place / "root" / "workspace").samefile(self.workspace.files)
        except OSError:
            return False


def _is_nothing_left(now: Traces, before: Traces) -> bool:
    """What was there before, of other tests, may go meanwhile; nothing may have come."""
    return (
        now.descriptors <= before.descriptors
        and now.children <= before.children
        and now.groups <= before.groups
        and now.mounts == before.mounts
        and now.inside <= before.inside
        and now.files <= before.files
    )


def _members(group: Path) -> set[int]:
    try:
        return set(map(int, (group / "cgroup.procs").read_text().split()))
    except OSError:
        return set()


def _all_processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _files_of_programs() -> set[str]:
    """What lies where everybody may write and belongs to the user that programs run as: nothing, ever."""
    found: set[str] = set()
    for directory in ("/tmp", "/var/tmp", "/dev/shm", "/run/lock"):
        try:
            with os.scandir(directory) as entries:
                for entry in entries:
                    try:
                        if OWNER is not None and entry.stat(follow_symlinks=False).st_uid == OWNER:
                            found.add(entry.path)
                    except OSError:
                        pass
        except OSError:
            pass
    return found


def run_outside(
    code: str,
    directory: Path,
    *,
    timeout: float = 20,
    environment: Mapping[str, str] | None = None,
    prepare: Callable[[], None] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run the same program as an ordinary process."""
    file = directory / "main.py"
    file.write_text(code, encoding="utf-8")
    return subprocess.run(
        [sys.executable, str(file)],
        cwd=directory,
        env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout,
        start_new_session=True,
        preexec_fn=prepare,
        check=False,
    )


def attempts_outside(code: str, directory: Path, environment: Mapping[str, str] | None = None) -> Json:
    done = run_outside(TRY + code + TELL, directory, environment=environment)
    assert done.returncode == 0, done
    return json.loads(done.stdout)


def expect(outcomes: Json, allowed: Collection[str]) -> None:
    """Every attempt came to one of these."""
    others = {name: outcome for name, outcome in outcomes.items() if outcome not in allowed}
    assert outcomes and not others, others
