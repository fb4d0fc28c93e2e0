"""Whether programs can be isolated here, by isolating one: the real box, a tiny program, a look from outside.

Says what it found and what to do about it. Knows neither how that is shown nor what else a machine needs.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from satchel.config.settings import CodeExecutionSettings, SandboxSettings
from satchel.errors import SandboxError
from satchel.model import Json
from satchel.sandbox.backends import BACKENDS
from satchel.sandbox.choose import check_memories, limits_of, open_sandbox, read_grants
from satchel.sandbox.limits import MIB, Limits
from satchel.sandbox.programs import find_bwrap, find_program
from satchel.sandbox.remedies import remedy
from satchel.sandbox.running.processes import descendants, most_watched_descriptors
from satchel.sandbox.running.watch import DISK_INTERVAL, INTERVAL
from satchel.sandbox.sandbox import Door, Grants, OtherMemory, Outcome, Program, Shown
from satchel.sandbox.trial.gaps import gaps, remedy_of
from satchel.support.installing import how_to_install

_PROGRAM = Path(__file__).with_name("program.py")
_SECONDS = 20
_NAMESPACES = ("user", "pid", "net", "mnt", "ipc", "uts")
_OPEN_ISSUE = "don't run programs here, and report this as a fault of Satchel"
# name → (what for, the extra that brings it, where the default installation does not)
_ADDED_PROGRAMS = {
    "rg": ("programs can run it", None),
    "ast-grep": ("programs can run it", None),
    "deno": ("programs can be written in TypeScript", "typescript"),
    "ty": ("the types of Python programs can be checked", "check"),
}


@dataclass(frozen=True, kw_only=True)
class Check:
    """One thing that was tried. Whatever is not ok has a next step."""

    name: str
    level: Literal["ok", "note", "warning", "error"]
    message: str
    next_step: str | None = None


@dataclass(frozen=True, kw_only=True)
class Seen:
    """A running program as the host sees it."""

    shared: tuple[str, ...]  # namespaces that it has in common with us
    has_filter: bool
    has_capabilities: bool
    groups: Mapping[str, int]  # controller → version of the control groups that hold it


async def try_sandbox(
    settings: CodeExecutionSettings,
    project: Path,
    private: Sequence[Path],
    environment: Mapping[str, str],
    code: Sequence[Path] = (),
    memories: Mapping[str, Path] | None = None,
) -> list[Check]:
    """Everything about running programs here. The check `sandbox` tells whether they can be.

    `memories` are those that people keep in directories of their own, by agent.
    """
    sandbox, checks = settings.sandbox, list[Check]()
    try:
        grants = read_grants(sandbox, project, private, environment, code)
        checks += _granted(sandbox, grants)
        check_memories(memories or {}, grants, private, code)
    except SandboxError as error:
        checks.append(Check(name="grants", level="error", message=error.message, next_step=error.hint))
        sandbox = replace(sandbox, allow_read=(), allow_write=(), python_env=None)
    if (warning := BACKENDS[sandbox.backend].about.warning) is not None:
        step = "sandbox.backend: bubblewrap in satchel.yaml"
        return [Check(name="sandbox", level="warning", message=warning, next_step=step), *checks]
    limits = replace(limits_of(settings, None), seconds=_SECONDS)
    try:
        trials, prepared = await _run(sandbox, project, private, environment, limits)
    except SandboxError as error:
        return [_failed(error.message, error.hint), *checks]
    for outcome, seen in trials:
        if seen is None or not outcome.has_result:
            reason = (outcome.detail or outcome.stderr.text).strip().rpartition("\n")[2]
            failure = f"a trial of the sandbox failed, exit code {outcome.exit_code}: {reason[:300]}"
            return [_failed(failure, remedy(reason)), *checks]
    (outcome, seen), *others = [(outcome, seen) for outcome, seen in trials if seen is not None]
    isolation = list(_isolation(outcome.result, seen))
    for other, seen_there in others:  # what is prepared must be as tight; where it is not, that is told
        faults = [check for check in _isolation(other.result, seen_there) if check.level != "ok"]
        isolation = faults or isolation
    limits = limits_of(settings, None)
    return [*isolation, prepared, *_limits(limits, seen.groups), *_added(outcome.result), *checks]


async def _run(
    settings: SandboxSettings,
    project: Path,
    private: Sequence[Path],
    environment: Mapping[str, str],
    limits: Limits,
) -> tuple[list[tuple[Outcome, Seen | None]], Check]:
    """The outcome of a program in a new box, and in a prepared one if there is one."""
    from satchel.sandbox.backends.bubblewrap.ready import ReadyBoxes  # on Linux only

    seen: list[Seen] = []
    trials: list[tuple[Outcome, Seen | None]] = []

    async def answer(method: str, params: Json) -> Any:
        seen.append(look(params["process"], params["device"]))

    program, door = Program(code=_PROGRAM.read_text()), Door(answer=answer)
    with TemporaryDirectory(prefix="satchel-trial-") as directory:
        agents = Path(directory) / "agents"
        box = open_sandbox(settings, project, private, environment, agents=agents)
        assert isinstance(box, ReadyBoxes)
        try:
            code_api = Path(directory) / "code-api"
            code_api.mkdir()
            others = {"other": OtherMemory(path=agents / "other/memory")}
            shown = Shown(code_api=code_api, memory=agents / "trial/memory", others=others)
            home = await box.home("trial", shown)
            for _ in range(2 if settings.prepared else 1):
                seen.clear()
                outcome = await box.run(program, home, door, limits)
                trials.append((outcome, seen[0] if seen else None))
                await box.settle()
            return trials, _prepared(settings.prepared, box.way, box.refusal)
        finally:
            await box.aclose()


def _prepared(size: int, way: str, refusal: str) -> Check:
    """How quickly programs start, and why not sooner."""
    if not size:
        return Check(
            name="start",
            level="note",
            message="every program waits for its box to be made",
            next_step="set sandbox.prepared in satchel.yaml to how many boxes are to be kept ready",
        )
    if way == "zygote":
        return Check(name="start", level="ok", message=f"programs start in one of {size} prepared boxes")
    return Check(
        name="start",
        level="note",
        message=f"programs start in one of {size} prepared boxes, but new ones take longer: {refusal}",
        next_step="nothing has to be done; many programs at once start later than they could",
    )


def look(process: int, device: int) -> Seen:
    """Look at the process that descends from us, and has this number and this /tmp in its own namespaces."""
    for candidate in descendants(os.getpid()):
        status = _status(candidate)
        if status.get("NSpid", "").split()[-1:] == [str(process)] and _temporary(candidate) == device:
            return Seen(
                shared=tuple(name for name in _NAMESPACES if _namespace(candidate, name) in _namespaces()),
                has_filter=status.get("Seccomp") == "2",
                has_capabilities=int(status.get("CapEff", "0"), 16) != 0,
                groups=_groups(candidate),
            )
    raise SandboxError("the program in the box is not among our processes", hint="is /proc mounted?")


def _temporary(process: int) -> int | None:
    try:
        return os.stat(Path(f"/proc/{process}/root", "tmp")).st_dev
    except OSError:
        return None


def _namespaces() -> set[str]:
    return {_namespace(os.getpid(), name) for name in _NAMESPACES}


def _namespace(process: int, name: str) -> str:
    try:
        return os.readlink(f"/proc/{process}/ns/{name}")
    except OSError:
        return f"{name} of {process}"  # closed to us, as only that of another can be


def _status(process: int) -> dict[str, str]:
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return {}
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def _groups(process: int) -> dict[str, int]:
    """The controllers of the groups that Satchel has put a process into."""
    rows = [line.split(":", 2) for line in Path(f"/proc/{process}/cgroup").read_text().splitlines()]
    held = [(number, names, path) for number, names, path in rows if "/satchel-" in path]
    for number, _, path in held:
        if number == "0":
            return {"memory": 2, "pids": 2, "cpuacct": 2, **({"cpu": 2} if _shares_processor(path) else {})}
    return {name: 1 for _, names, _ in held for name in names.split(",")}


def _shares_processor(group: str) -> bool:
    """Whether a group of version 2 has a weight of its own; that controller may not be passed on."""
    return Path(f"/sys/fs/cgroup{group}/cpu.weight").exists()


def _failed(reason: str, step: str | None) -> Check:
    """If isolation is possible, its absence is a fault; otherwise nothing can be done about it."""
    return Check(
        name="sandbox",
        level="error" if sys.platform.startswith("linux") else "warning",
        message=reason,
        next_step=(step or remedy(reason)).removesuffix("; see satchel doctor"),
    )


def _isolation(tried: Json, seen: Seen) -> Iterator[Check]:
    where = _bubblewrap()
    faults = [f"shares the host's {name} namespace" for name in seen.shared]
    faults += ["has capabilities"] if seen.has_capabilities else []
    faults += ["can write outside of its workspace"] if not tried["write_outside"] else []
    if faults:
        yield Check(
            name="sandbox",
            level="error",
            message=f"a program in the box of {where} {', '.join(faults)}",
            next_step=_OPEN_ISSUE,
        )
    elif tried["write_inside"]:
        reason = f"a program can't write to its own directories ({tried['write_inside']})"
        yield Check(
            name="sandbox", level="error", message=reason, next_step="check the file system of the project"
        )
    else:
        yield Check(
            name="sandbox", level="ok", message=f"{where} isolates programs: own namespaces, no capabilities"
        )
    refused = {name: tried[name] for name in ("socket", "unshare")}
    if seen.has_filter and all(refused.values()):
        words = " and ".join(f"{name}() ({error})" for name, error in refused.items())
        yield Check(name="seccomp", level="ok", message=f"the filter is active, and refuses {words}")
    else:
        open_ones = [f"{name}()" for name, error in refused.items() if not error]
        message = f"the filter does not hold: {' and '.join(open_ones) or 'the kernel shows none'}"
        yield Check(name="seccomp", level="error", message=message, next_step=_OPEN_ISSUE)
    if "net" not in seen.shared and tried["socket"]:
        yield Check(name="network", level="ok", message="none: programs reach the outside only through tools")
    else:
        yield Check(name="network", level="error", message="programs have one", next_step=_OPEN_ISSUE)


def _bubblewrap() -> str:
    path = find_bwrap()
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return path
    return f"{done.stdout.strip()} at {path}"


def _limits(limits: Limits, groups: Mapping[str, int]) -> Iterator[Check]:
    """Which layer enforces which limit: what a person has to know who relies on one."""
    memory, watched = f"{limits.memory // MIB} MiB", f"every {INTERVAL * 1000:.0f} ms"
    if "memory" in groups:
        message = f"{memory} for all its processes, enforced by a control group (version {groups['memory']})"
        yield Check(name="memory", level="ok", message=message)
    else:
        yield Check(
            name="memory",
            level="note",
            message=f"{memory} for each process, enforced by the kernel (RLIMIT_AS); for all together watched"
            f" {watched}, so that a program can use more for that long",
            next_step="set memory_mb lower where that matters: no control group can be made here",
        )
    layer = "a control group" if "pids" in groups else "the kernel (RLIMIT_NPROC)"
    yield Check(name="processes", level="ok", message=f"{limits.processes}, enforced by {layer}")
    counter = "by a control group" if "cpuacct" in groups else "from /proc"
    yield Check(
        name="cpu",
        level="ok",
        message=f"{limits.cpu_seconds:g} s, counted {counter} and watched {watched};"
        " for each process also by the kernel (RLIMIT_CPU)",
    )
    yield Check(
        name="files",
        level="ok",
        message=f"{limits.open_files} open ones and {limits.file_size // MIB} MiB for one, enforced by the"
        f" kernel (RLIMIT); /tmp {limits.temporary // MIB} MiB, a file system of its own; workspace"
        f" {limits.disk // MIB} MiB, and {most_watched_descriptors():,} descriptors that the kernel watches"
        f" (epoll; fs.epoll.max_user_watches has them for all programs), watched every"
        f" {DISK_INTERVAL * 1000:.0f} ms",
    )
    yield Check(
        name="the rest",
        level="ok",
        message=f"{limits.seconds:g} s, {limits.output // MIB} MiB of output and {limits.calls:,} calls,"
        " counted by Satchel itself",
    )
    if missing := list(gaps(groups, is_root=os.geteuid() == 0)):
        message = "; ".join(missing)
        yield Check(name="not kept", level="note", message=message, next_step=remedy_of(groups))


def _added(tried: Json) -> Iterator[Check]:
    for name, (use, extra) in _ADDED_PROGRAMS.items():
        if name in tried["programs"]:
            yield Check(name=name, level="ok", message=f"{use}; it is {find_program(name)}")
        else:
            message = f"not found; with it {use}"
            yield Check(name=name, level="note", message=message, next_step=how_to_install(extra))


def _granted(settings: SandboxSettings, grants: Grants) -> Iterator[Check]:
    seen = [f"can read {path}" for path in grants.read] + [f"can write {path}" for path in grants.write]
    seen += [f"have {name}" for name in grants.environment]
    seen += [f"import from {grants.python_env}"] if grants.python_env else []
    if seen:
        yield Check(name="grants", level="ok", message=f"programs {', '.join(seen)}")
    for name in settings.allow_env:
        if name not in grants.environment:
            yield Check(
                name="grants",
                level="note",
                message=f"allow_env has {name}, which is not set",
                next_step=f"export {name}=…, or remove it from satchel.yaml",
            )
