"""Trees in temporary directories, what is in them, and a program that generates them in other processes.

python -m tests.codegen.trees write OUTPUT RECORDS VERSION     generate a version of the catalog
python -m tests.codegen.trees kill OUTPUT RECORDS FROM TO      … killed before every single change it makes
"""

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from satchel.codegen.generate import generate
from satchel.codegen.tree import Files, Written
from satchel.languages import LANGUAGES, Language
from satchel.model import Server
from tests.codegen.helpers import make_servers

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
Content = bytes | str | None
"""What a file holds, `→ target` of a link, None of an empty folder."""


def tool(name: str, description: str = "Do it.") -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": TEXT}


VERSIONS: dict[str, dict[str, list[dict[str, Any]]]] = {
    "none": {},
    "first": {
        "alpha": [tool("get"), tool("put"), tool("drop")],
        "beta": [tool("one"), tool("two")],
        "gone": [tool("last")],
    },
    "second": {
        "alpha": [tool("get", "Do it in another way."), tool("put"), tool("fresh")],
        "beta": [tool("one"), tool("two")],
        "late": [tool("first")],
    },
}


def servers_of(version: str) -> list[Server]:
    return make_servers(VERSIONS[version])


def support(language: Language) -> Mapping[str, Files]:
    """A small stand-in for the runtime."""
    return {"": {"README.md": f"# {language}\n".encode()}, "helpers": {"call": b"call\n"}}


class Place:
    """A directory to generate to, and the records of what was."""

    def __init__(self, directory: Path) -> None:
        self.output = directory / "code-api"
        self.records = directory / "records"

    @property
    def python(self) -> Path:
        return self.output / "python"

    @property
    def typescript(self) -> Path:
        return self.output / "typescript"

    def generate(
        self, servers: Sequence[Server], *, languages: Iterable[Language] = ("python",), **options: Any
    ) -> Written:
        """Bring the tree up to date; the outcome of the last language."""
        options = {"support": support, **options}
        return generate(self.output, servers, records=self.records, languages=languages, **options)[-1]

    @property
    def record(self) -> Path:
        """The record of the one tree that there is."""
        (file,) = self.records.glob("*.json")
        return file


def contents(root: Path) -> dict[str, Content]:
    """Everything below a directory, by its path from there."""
    found: dict[str, Content] = {}
    for place, folders, names in os.walk(root):
        here = Path(place)
        for path in [here / name for name in [*names, *folders]]:
            key = path.relative_to(root).as_posix()
            if path.is_symlink():
                found[key] = f"→ {path.readlink()}"
            elif path.is_file():
                found[key] = path.read_bytes()
            elif not any(path.iterdir()):
                found[key] = None
    return found


def marks(root: Path) -> dict[str, tuple[int, int]]:
    """The inode and time of every file: what changes when it is written anew."""
    return {
        path.relative_to(root).as_posix(): ((status := path.lstat()).st_ino, status.st_mtime_ns)
        for path in root.rglob("*")
        if not path.is_dir()
    }


def changed(before: Mapping[str, object], after: Mapping[str, object]) -> set[str]:
    """The paths that are in only one of the two, or in both and not the same."""
    return {path for path in {*before, *after} if before.get(path, 0) != after.get(path, 0)}


def damage(root: Path, *right: Mapping[str, Content]) -> list[str]:
    """The files that are as in none of the trees that they may be from; what lies aside does not count."""
    return [
        path
        for path, content in contents(root).items()
        if content is not None
        and ".satchel-new" not in Path(path).parts
        and not any(tree.get(path) == content for tree in right)
    ]


def fresh(directory: Path, version: str) -> dict[str, Content]:
    """The tree as an undisturbed run writes it."""
    place = Place(directory)
    place.generate(servers_of(version), languages=LANGUAGES)
    return contents(place.output)


def main(task: str, output: str, records: str, *versions: str) -> None:
    def run(version: str) -> list[Written]:
        return generate(Path(output), servers_of(version), records=Path(records), support=support)

    if task == "write":
        run(versions[0])
    else:
        step, *both = versions
        print(json.dumps(_kill_everywhere(Path(output), Path(records), both, run, int(step))))


def _kill_everywhere(
    output: Path, records: Path, versions: Sequence[str], run: Callable[[str], list[Written]], step: int
) -> dict[str, Any]:
    """One run for each change that a run makes to the disk (or each `step`th), killed just before it."""
    before, after = versions
    old, new = (fresh(output.parent / f"right-{version}", version) for version in (before, after))
    if before != "none":
        run(before)
    kept = [(place, place.with_name(place.name + "-kept")) for place in (output, records)]
    for place, copy in kept:
        place.mkdir(parents=True, exist_ok=True)
        shutil.copytree(place, copy)
    change, kills, troubles = 1, 0, list[str]()
    while True:
        for place, copy in kept:
            shutil.rmtree(place)
            shutil.copytree(copy, place)
        if not _is_killed(lambda: run(after), output.parent, change):
            return {"kills": kills, "troubles": troubles}
        troubles += [f"change {change}: {path} is not whole" for path in damage(output, old, new)]
        outcomes = run(after)
        troubles += [f"change {change}: {path} is wrong" for path in changed(contents(output), new)]
        troubles += [f"change {change}: {path} is foreign" for each in outcomes for path in each.foreign]
        kills, change = kills + 1, change + step


def _is_killed(work: Callable[[], object], directory: Path, moment: int) -> bool:
    """Run it in a child that kills itself when it is about to change something for the n-th time."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    changes = 0

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal changes
        changing = event in ("os.rename", "os.mkdir", "os.rmdir", "os.remove")
        changing = changing or (event == "open" and bool(arguments[2] & (os.O_WRONLY | os.O_RDWR)))
        if changing and str(arguments[0]).startswith(str(directory)):
            changes += 1
            if changes == moment:
                os.kill(os.getpid(), signal.SIGKILL)

    try:
        sys.addaudithook(watch)
        work()
    finally:
        os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
