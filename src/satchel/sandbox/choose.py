"""From settings to a sandbox: which backend, what programs are granted, what they may use."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from satchel.config.settings import CodeExecutionSettings, SandboxSettings
from satchel.errors import ArgumentError, SandboxError
from satchel.sandbox.backends import BACKENDS
from satchel.sandbox.limits import MIB, Limits
from satchel.sandbox.running.budget import Budget
from satchel.sandbox.sandbox import Grants, Sandbox, packages_of
from satchel.support.program_paths import AGENTS, CODE_API, MEMORY, SHARED, TASKS

_HINT = "correct code_execution.sandbox in satchel.yaml"
_MACHINE = ("/dev", "/proc", "/sys", "/usr", "/bin", "/lib", "/lib64", "/etc")
_TAKEN = ("/workspace", "/program", "/opt/satchel", *_MACHINE)
_TAKEN_INSIDE = (CODE_API, MEMORY, TASKS, AGENTS, "/mnt/skills", "/mnt/plugins", SHARED)
_OWN_CODE = (Path(sys.prefix), Path(sys.base_prefix), Path(__file__).parents[1])


def open_sandbox(
    settings: SandboxSettings,
    project: Path,
    private: Sequence[Path],
    environment: Mapping[str, str],
    code: Sequence[Path] = (),
    *,
    agents: Path,
    budget: Budget | None = None,
) -> Sandbox:
    """The sandbox that the settings name. `private` is what no program may be given, `code` what none may
    write to, `agents` where agents' own files lie if they are on this machine, `budget` what it has to keep
    to together with others."""
    grants = read_grants(settings, project, private, environment, code)
    return BACKENDS[settings.backend].open(settings, grants, agents, budget)


def warning_of(settings: SandboxSettings) -> str | None:
    """The warning for a person about the backend in the settings."""
    return BACKENDS[settings.backend].about.warning


def read_grants(
    settings: SandboxSettings,
    project: Path,
    private: Sequence[Path],
    environment: Mapping[str, str],
    code: Sequence[Path] = (),
) -> Grants:
    """The paths that programs may see beyond their workspace; refuses one that opens more than it says."""
    read = [_granted("allow_read", text, project) for text in settings.allow_read]
    write = [_granted("allow_write", text, project) for text in settings.allow_write]
    python_env = _python_env(settings.python_env, project) if settings.python_env else None
    packages = [packages_of(python_env).resolve()] if python_env else []
    for path in packages:
        _refuse_taken("python_env", path)
    for path in (*read, *write, *packages):
        for secret in private:
            if any(_overlap(path, place) for place in _places(secret)):
                raise SandboxError(
                    f"{path} would let programs at {secret}, which is Satchel's own", hint=_HINT
                )
    for path in write:
        if not path.is_dir():
            raise SandboxError(
                f"allow_write: {path} is a file; it must be a directory", hint="name the directory it is in"
            )
        # A program could put a link where the next one's directory is about to be mounted, or a module.
        for other in (*read, *write, *([python_env] if python_env else []), *packages):
            if other is not path and _overlap(path, other):
                raise SandboxError(
                    f"{other} and {path} lie in each other, and one can be written to", hint=_HINT
                )
        for file in (*code, *_OWN_CODE):
            if any(_overlap(path, place) for place in _places(file)):
                raise SandboxError(
                    f"allow_write: through {path} programs could change {file}, which runs outside of the"
                    " sandbox",
                    hint="name a directory that has data only",
                )
    return Grants(
        read=tuple(read),
        write=tuple(write),
        environment={name: environment[name] for name in settings.allow_env if name in environment},
        python_env=python_env,
    )


def check_memories(
    memories: Mapping[str, Path], grants: Grants, private: Sequence[Path], code: Sequence[Path] = ()
) -> None:
    """Refuse a memory, which its agent's programs can write to, that lies where it opens more than it says.

    `memories` are those that people keep in directories of their own, by agent.
    """
    packages = [grants.python_env, packages_of(grants.python_env)] if grants.python_env is not None else []
    for agent, memory in memories.items():
        others = [
            (path, f"the memory of agent '{other}'") for other, path in memories.items() if other != agent
        ]
        shared = [
            (path, "which programs of all agents see") for path in (*grants.read, *grants.write, *packages)
        ]
        ours = [(path, "which is Satchel's own") for path in private]
        run = [(path, "which runs outside of the sandbox") for path in (*code, *_OWN_CODE)]
        machine = [(Path(place), "which is the machine's own") for place in _MACHINE]
        for other, what in (*ours, *others, *shared, *run, *machine):
            if any(_overlap(one, two) for one in _places(memory) for two in _places(other)):
                raise SandboxError(
                    f"agents.{agent}.memory.path: {memory} and {other}, {what}, lie in each other",
                    hint="name a directory that has nothing but this memory",
                )


def _overlap(one: Path, other: Path) -> bool:
    return one.is_relative_to(other) or other.is_relative_to(one)


def _places(path: Path, most_links: int = 40) -> Iterator[Path]:
    """The target of a path, and every link on the way: replacing one of them changes the target."""
    path = Path(os.path.abspath(path))
    yield Path(os.path.realpath(path))
    for step in (path, *path.parents):
        if step.is_symlink() and most_links:
            directory = Path(os.path.realpath(step.parent))
            yield directory / step.name
            yield from _places(directory / os.readlink(step), most_links - 1)


def _granted(key: str, text: str, project: Path) -> Path:
    path = (project / os.path.expanduser(text)).resolve()
    if not path.exists():
        raise SandboxError(f"{key}: {path} does not exist", hint=_HINT)
    _refuse_taken(key, path)
    return path


def _refuse_taken(key: str, path: Path) -> None:
    taken = [Path(place) for place in (*_TAKEN, *_TAKEN_INSIDE)]
    inside = any(path.is_relative_to(place) for place in taken)
    around = any(place.is_relative_to(path) for place in (*taken, Path("/tmp")))
    if inside or around:
        raise SandboxError(
            f"{key}: {path} can't be mounted where the box has something of its own",
            hint="name a directory of your own, or a link that leads to one elsewhere",
        )


def _python_env(text: str, project: Path) -> Path:
    path = (project / os.path.expanduser(text)).resolve()
    if not packages_of(path).is_dir():
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise SandboxError(
            f"python_env: {path} is not a virtual environment for Python {version}, on which programs run",
            hint=f"make one: {sys.executable} -m venv {path}",
        )
    return path


def limits_of(settings: CodeExecutionSettings, timeout: float | None) -> Limits:
    """The limits of one execution; `timeout` is what its caller asks for, and gets up to the maximum."""
    asked = settings.timeout if timeout is None else timeout
    if not asked > 0:
        raise ArgumentError(
            f"timeout is {asked:g}; it can be up to {settings.max_timeout:g} s",
            argument="timeout",
            hint="code_execution.max_timeout in satchel.yaml sets how much can be asked for",
        )
    seconds = min(asked, settings.max_timeout)
    sandbox = settings.sandbox
    return Limits(
        seconds=seconds,
        cpu_seconds=sandbox.cpu_seconds,
        memory=sandbox.memory_mb * MIB,
        processes=sandbox.processes,
        open_files=sandbox.open_files,
        file_size=sandbox.disk_mb * MIB,
        disk=sandbox.disk_mb * MIB,
        kept_output=settings.max_output_chars,
        result=settings.max_output_chars,
        calls=sandbox.max_calls,
        calls_in_flight=sandbox.max_calls_in_flight,
    )


def capped(asked: float | None, limits: Limits) -> str | None:
    """The note for the caller if a program got less time than it asked for."""
    if asked is None or asked <= limits.seconds:
        return None
    return f"timeout {asked:g} s is more than max_timeout allows: it had {limits.seconds:g} s"
