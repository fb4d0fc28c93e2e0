"""The commands that run a program in its box and check its types, by language."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from satchel.errors import SandboxError
from satchel.languages import Language, ProgramLanguage
from satchel.sandbox.checking.findings import check_command
from satchel.sandbox.checking.model import Places
from satchel.sandbox.limits import Limits
from satchel.sandbox.programs import find_program
from satchel.sandbox.sandbox import Grants, Program, packages_of
from satchel.support.installing import how_to_install

DENO = "/opt/satchel/bin/deno"  # in the box
BRIDGE = 3  # the descriptor of the bridge, in a box that a zygote has made
_ENVIRONMENT = (
    *("/usr/bin/env", "NO_COLOR=1", "DENO_DIR=/tmp/deno", "DENO_NO_UPDATE_CHECK=1"),
    "XDG_CONFIG_HOME=/dev/null",  # else settings in the workspace, which programs can write, would count
    "DENO_WEBGPU_BACKEND=none",  # each of them loads libraries, as variables and files of the program say
)
# What a program may read and change. Nothing by which Deno, or a library, decides what to load is among it.
_DENO_VARIABLES = ("HOME", "LANG", "NO_COLOR", "PATH", "PWD", "PYTHONDONTWRITEBYTECODE", "TMPDIR", "TZ")
_DENO_WRITES = "/program,/workspace,/mnt/memory,/mnt/tasks,/mnt/agents,/massgen_workspace,/tmp,/dev/null"
_DENO_READS = "/mnt,/opt/satchel,/dev/zero,/dev/random,/dev/urandom"
_NAME = re.compile(r"\w+", re.ASCII)  # else it would be a pattern, or several names
_EXTRAS = {"deno": "typescript", "ty": "check"}


@dataclass(frozen=True, kw_only=True)
class Job:
    """One way to run a program. Without a command the guest's own Python runs it."""

    file: str  # what the program is called, in /program
    command: tuple[str, ...] = ()
    guest: Language = "python"  # which a box has to be prepared with; Python's starts any other command
    speaks: bool = False  # the command is a guest of its own: it says when it is ready
    is_deno: bool = False  # which reserves much more address space than it uses, and must know what it is

    def limits(self, limits: Limits) -> list[int]:
        """Those that the kernel keeps, in the order in which the guest takes them."""
        # Threads reserve more than they use, and V8 far more: what it really takes is watched.
        data, space = (-1, -1) if self.is_deno else (limits.memory, 8 * limits.memory)
        numbers = (
            limits.cpu_seconds,
            data,
            space,
            limits.processes,
            limits.open_files,
            limits.file_size,
        )
        return [int(number) for number in numbers]


def job_of(program: Program, grants: Grants) -> Job:
    """A command that runs a program, or checks it."""
    return JOBS[program.language](program, grants)


def _python(program: Program, grants: Grants) -> Job:
    if not program.check:
        return Job(file="main.py")
    _require("ty", "the types of a program can't be checked")
    packages = str(packages_of(grants.python_env)) if grants.python_env is not None else ""
    *command, _ = check_command("python", Places(packages=packages))
    return Job(file="main.py", command=(*_ENVIRONMENT, *command))


def _typescript(program: Program, grants: Grants) -> Job:
    _require("deno", "programs in TypeScript can't be run")
    if program.check:
        *command, _ = check_command("typescript")
        return Job(file="main.ts", command=(*_ENVIRONMENT, *command), is_deno=True)
    return Job(
        file="main.ts", command=(*_ENVIRONMENT, *_deno(grants)), guest="typescript", speaks=True, is_deno=True
    )


def _bash(program: Program, grants: Grants) -> Job:
    return Job(file="main.sh", command=("/bin/bash",))


JOBS: Mapping[ProgramLanguage, Callable[[Program, Grants], Job]] = {
    "python": _python,
    "typescript": _typescript,
    "bash": _bash,
}


def _deno(grants: Grants) -> tuple[str, ...]:
    """Deno's own permissions are a second layer; the box is the wall."""
    write = ",".join((_DENO_WRITES, *map(str, grants.write)))
    read = ",".join((write, _DENO_READS, *map(str, grants.read)))
    variables = ",".join((*_DENO_VARIABLES, *filter(_NAME.fullmatch, grants.environment)))
    return (
        *(DENO, "run", "--config=/program/deno.json", "--no-remote", "--no-npm", "--no-lock", "--no-prompt"),
        *("--no-code-cache", "--cached-only", "--quiet", f"--allow-read={read}", f"--allow-write={write}"),
        *(f"--allow-env={variables}", "--ignore-env"),  # others are not there, and can't be set
        "--allow-sys=inspector",  # which evaluates the programs of a session
        "/opt/satchel/typescript/satchel-guest/run.ts",
    )


def _require(name: str, otherwise: str) -> None:
    if find_program(name) is None:
        raise SandboxError(
            f"{name} is not installed, and without it {otherwise}",
            hint=how_to_install(_EXTRAS[name]),
        )
