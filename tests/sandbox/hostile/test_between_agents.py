"""Three agents with every combination of grants: a program reaches what it is granted, and nothing else.

Each program tries every way to every directory of the others, and tells what it got. What it changed is seen
from outside: the directories of the others are as they were, but for a memory that it may write to.
"""

import itertools
import json
import os
import stat
import time
from collections.abc import AsyncGenerator, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, get_args

import anyio
import pytest

from satchel.errors import SandboxError
from satchel.languages import ProgramLanguage
from satchel.sandbox.backends import BUBBLEWRAP
from satchel.sandbox.backends.bubblewrap.boxes import Bubblewrap
from satchel.sandbox.backends.bubblewrap.ready import ReadyBoxes
from satchel.sandbox.limits import MIB, Limits
from satchel.sandbox.running.disk import empty
from satchel.sandbox.running.home import LocalHome, changed_files, make_home, write_result
from satchel.sandbox.sandbox import Door, OtherMemory, Outcome, Program, Shown
from tests.sandbox.hostile.ground import OWNER, nothing_to_ask

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

Right = Literal["none", "read", "write"]
RIGHTS: tuple[Right, ...] = get_args(Right)
AGENTS = ("a", "b", "c")
THINGS = ("workspace", "memory", "tasks", "skills")
LIMITS = Limits(seconds=60, cpu_seconds=60, memory=512 * MIB, result=1_000_000)
DOOR = Door(answer=nothing_to_ask)
WAIT = 120  # seconds; only a hang reaches it

PYTHON = """
import ctypes, json, mmap, os
given = json.loads(GIVEN)
read, wrote = set(), set()
libc = ctypes.CDLL(None, use_errno=True)
count = 0

def attempt(action, *arguments, **more):
    try:
        return action(*arguments, **more)
    except (OSError, ValueError):
        return None

def see(path, **more):
    descriptor = attempt(os.open, path, os.O_RDONLY, **more)
    if descriptor is not None:
        text = attempt(os.read, descriptor, 100) or b""
        os.close(descriptor)
        if text.startswith(b"of "):
            read.add(text.decode())

def new():
    global count
    count += 1
    return f"links/{count}"

def exchange(one, other):
    if libc.renameat2(-100, one.encode(), -100, other.encode(), 2) == -1:
        raise OSError("exchange")

def write_mapped(path, mode):
    with open(path, mode) as file, mmap.mmap(file.fileno(), 0, mmap.MAP_SHARED) as view:
        view[:1] = b"X"

os.makedirs("links", exist_ok=True)
mine = "links/mine"
for agent, thing, place, is_linked in given["places"]:
    ways_there = [place]
    if is_linked:
        ways_there.append(new())
        os.symlink(place if place.startswith("/") else f"../{place}", ways_there[-1])
    for way in ways_there:
        see(f"{way}/secret")
        for name in ("secret", "doomed"):
            for take in (os.link, os.rename):
                kept = new()
                attempt(take, f"{way}/{name}", kept)
                see(kept)
        folder = attempt(os.open, way, os.O_RDONLY | os.O_DIRECTORY)
        if folder is not None:
            see("secret", dir_fd=folder)
            for path in given["around"]:
                see(path, dir_fd=folder)
            os.close(folder)
        if not os.path.exists(mine):
            open(mine, "w").close()
        ways = {
            "new": lambda: open(f"{way}/new", "w").close(),
            "append": lambda: open(f"{way}/secret", "a").close(),
            "truncate": lambda: os.truncate(f"{way}/mapped", 1000),
            "map": lambda: write_mapped(f"{way}/mapped", "r+b"),
            "map what is open to read": lambda: write_mapped(f"{way}/mapped", "rb"),
            "folder": lambda: os.mkdir(f"{way}/{new()[6:]}"),
            "link to": lambda: os.symlink("/workspace", f"{way}/{new()[6:]}"),
            "link in": lambda: os.link(mine, f"{way}/linked"),
            "move in": lambda: os.rename(mine, f"{way}/moved"),
            "exchange": lambda: exchange(mine, f"{way}/secret"),
            "rename": lambda: os.rename(f"{way}/doomed", f"{way}/renamed"),
            "remove": lambda: os.unlink(f"{way}/renamed"),
            "mode": lambda: os.chmod(f"{way}/secret", 0o666),
            "mode of all": lambda: os.chmod(way, 0o750),
            "time": lambda: os.utime(f"{way}/secret"),
        }
        for name, action in ways.items():
            try:
                action()
            except (OSError, ValueError):
                pass
            else:
                wrote.add((agent, thing, name))
for descriptor in range(256):  # left over, of those who made the box
    for path in given["around"]:
        see(path, dir_fd=descriptor)
result = [sorted(read), sorted(wrote)]
"""
TYPESCRIPT = """
const given = JSON.parse(GIVEN);
const read = new Set<string>(), wrote = new Set<string>();
let count = 0;

function see(path: string) {
  try {
    const text = Deno.readTextFileSync(path);
    if (text.startsWith("of ")) read.add(text);
  } catch { /* out of reach */ }
}

const fresh = () => `links/${++count}`;
Deno.mkdirSync("links", { recursive: true });
const mine = "links/mine";
for (const [agent, thing, place, isLinked] of given.places) {
  const waysThere = [place];
  if (isLinked) {
    waysThere.push(fresh());
    try {
      Deno.symlinkSync(place.startsWith("/") ? place : `../${place}`, waysThere[1]);
    } catch { /* not allowed here */ }
  }
  for (const way of waysThere) {
    see(`${way}/secret`);
    for (const name of ["secret", "doomed"]) {
      for (const take of [Deno.linkSync, Deno.renameSync]) {
        const kept = fresh();
        try {
          take(`${way}/${name}`, kept);
        } catch { /* refused */ }
        see(kept);
      }
    }
    if (place.startsWith("/mnt")) for (const path of given.around) see(`${way}/${path}`);
    Deno.writeTextFileSync(mine, "");
    const ways: Record<string, () => void> = {
      "new": () => Deno.writeTextFileSync(`${way}/new`, ""),
      "append": () => Deno.writeTextFileSync(`${way}/secret`, "", { append: true, create: false }),
      "truncate": () => Deno.truncateSync(`${way}/mapped`, 1000),
      "folder": () => Deno.mkdirSync(`${way}/${fresh().slice(6)}`),
      "link in": () => Deno.linkSync(mine, `${way}/linked`),
      "move in": () => Deno.renameSync(mine, `${way}/moved`),
      "rename": () => Deno.renameSync(`${way}/doomed`, `${way}/renamed`),
      "remove": () => Deno.removeSync(`${way}/renamed`),
      "mode": () => Deno.chmodSync(`${way}/secret`, 0o666),
      "time": () => Deno.utimeSync(`${way}/secret`, 1, 1),
    };
    for (const [name, action] of Object.entries(ways)) {
      try {
        action();
        wrote.add(JSON.stringify([agent, thing, name]));
      } catch { /* refused */ }
    }
  }
}
export const result = [[...read].sort(), [...wrote].sort().map((row) => JSON.parse(row))];
"""
PROGRAMS: Mapping[ProgramLanguage, str] = {"python": PYTHON, "typescript": TYPESCRIPT}
_BOTH = {"new", "append", "truncate", "folder", "rename", "remove", "mode", "time"}
WAYS_IN: Mapping[ProgramLanguage, set[str]] = {
    "python": {*_BOTH, "map", "link to", "mode of all"},
    "typescript": _BOTH,
}
"""What a program can do to a memory that it may write to. Nothing is linked or moved between two mounts."""


class Ground:
    """Three agents, each with something in every directory that the others may want."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.agents = directory / "agents"
        self.sandbox = ReadyBoxes(Bubblewrap(), self.agents, size=1)
        (directory / "code-api").mkdir()
        for agent in AGENTS:
            (directory / "skills" / agent).mkdir(parents=True)
            self.home(agent)

    def home(
        self, agent: str, rights: Mapping[str, Right] | None = None, *, writable: bool = True
    ) -> LocalHome:
        """An agent's, with rights to the memories of others."""
        others = {
            other: OtherMemory(path=self.agents / other / "memory", writable=right == "write")
            for other, right in (rights or {}).items()
            if right != "none"
        }
        shown = Shown(
            code_api=self.directory / "code-api",
            memory=self.agents / agent / "memory",
            kept={"facts.json": b"[]\n"},
            others=others,
            task_folders=("completed_tasks",),
            skills={agent: self.directory / "skills" / agent},
        )
        return make_home(self.agents, agent, shown, BUBBLEWRAP, writable=writable)

    def plant(self) -> None:
        """Put all directories back as they are to be found."""
        for agent in AGENTS:
            for thing in THINGS:
                place = self.place(agent, thing)
                empty(place)
                place.chmod(0o755 if thing == "skills" else 0o700)
                texts = {"secret": f"of {agent}: {thing}", "doomed": "", "mapped": "M" * 4096}
                for name, text in texts.items():
                    (place / name).write_text(text)
                    if OWNER is not None and thing != "skills":
                        os.chown(place / name, OWNER, OWNER)
            self.home(agent)

    def place(self, agent: str, thing: str) -> Path:
        return self.directory / "skills" / agent if thing == "skills" else self.agents / agent / thing

    def seen(self, agent: str) -> dict[str, dict[str, object]]:
        """All that could be changed in an agent's directories, from outside."""
        return {thing: dict(self._seen(self.place(agent, thing))) for thing in THINGS}

    def _seen(self, place: Path) -> Iterator[tuple[str, object]]:
        for path in (place, *sorted(place.rglob("*"))):
            status = path.lstat()
            content = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
            names = (status.st_ino, status.st_nlink, status.st_mode, status.st_uid, status.st_mtime_ns)
            yield str(path.relative_to(place)), (*names, content)

    def inodes(self, agent: str) -> set[int]:
        found = (path.lstat() for thing in THINGS for path in self.place(agent, thing).rglob("*"))
        return {status.st_ino for status in found if stat.S_ISREG(status.st_mode)}

    def told(self, language: ProgramLanguage, agent: str) -> str:
        """The program that tries everything, with all the paths by which others may be reached."""
        wanted = [(other, thing) for other in AGENTS if other != agent for thing in THINGS]
        bases = ["/mnt/agents", "/massgen_workspace/agents", "agents", "..", "../..", "/mnt"]
        bases += ["/mnt/memory/..", "/mnt/tasks/../..", "/proc/self/cwd/..", str(self.agents)]
        bases += [f"/proc/1/root{self.agents}"]
        linked = ("/mnt/agents", "../..", str(self.agents))
        places = [(o, t, f"{base}/{o}/{t}", base in linked) for o, t in wanted for base in bases]
        places += [(o, t, f"/mnt/agents/{o}/memory/../{t}", False) for o, t in wanted]
        roots = (str(self.directory / "skills"), "/mnt/skills", "/massgen_workspace/skills", "skills")
        for other in {other for other, _ in wanted}:
            places += [(other, "skills", f"{root}/{other}", True) for root in roots]
        up = ["../" * steps + at for steps in range(4) for at in ("", "agents/")]
        around = [f"{base}{other}/{thing}/secret" for other, thing in wanted for base in up]
        given = json.dumps({"places": places, "around": around})
        return PROGRAMS[language].replace("GIVEN", json.dumps(given))

    async def run(
        self, code: str, home: LocalHome, language: ProgramLanguage = "python", *, in_session: bool = False
    ) -> Outcome:
        program = Program(code=code, language=language)
        with anyio.fail_after(WAIT):
            if not in_session:
                return await self.sandbox.run(program, home, DOOR, LIMITS)
            session = await self.sandbox.open_session(language, home, LIMITS)
            try:
                return await session.run(program, DOOR, LIMITS)
            finally:
                await session.aclose()


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def ground(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Ground]:
    ground = Ground(tmp_path_factory.mktemp("ground"))
    yield ground
    await ground.sandbox.aclose()


async def see_that_only_what_is_granted_works(
    ground: Ground, agent: str, home: LocalHome, rights: Mapping[str, Right], **how: Any
) -> None:
    ground.plant()
    others = {other: ground.seen(other) for other in rights}
    language: ProgramLanguage = how.get("language", "python")
    outcome = await ground.run(ground.told(language, agent), home, **how)
    assert (outcome.exit_code, outcome.ended) == (0, None), outcome
    read, wrote = outcome.result
    assert read == [f"of {other}: memory" for other, right in rights.items() if right != "none"]
    ways: dict[tuple[str, str], set[str]] = {}
    for other, thing, name in wrote:
        ways.setdefault((other, thing), set()).add(name)
    may_write = [other for other, right in rights.items() if right == "write"]
    assert ways == {(other, "memory"): WAYS_IN[language] for other in may_write}
    for other, before in others.items():
        after = ground.seen(other)
        changed = {thing for thing in before if before[thing] != after[thing]}
        assert changed == ({"memory"} if other in may_write else set()), (other, rights)
        assert not ground.inodes(other) & ground.inodes(agent)  # no file has a name with both


@pytest.mark.parametrize("is_own", [True, pytest.param(False, marks=pytest.mark.long)], ids=["own", "others"])
@pytest.mark.parametrize("agent", AGENTS)
async def test_exactly_what_is_granted_works_in_prepared_boxes_and_sessions_of_both_languages(
    ground: Ground, agent: str, is_own: bool
) -> None:
    """All combinations are somebody's own; `make long` tries each with every agent."""
    others = [other for other in AGENTS if other != agent]
    for number, each in enumerate(itertools.product(RIGHTS, RIGHTS)):
        if (number % len(AGENTS) == AGENTS.index(agent)) != is_own:
            continue
        rights = dict(zip(others, each, strict=True))
        home = ground.home(agent, rights)
        await ground.run("pass", home)
        await ground.sandbox.settle()  # the next is prepared
        await see_that_only_what_is_granted_works(ground, agent, home, rights)
        if is_own:
            await see_that_only_what_is_granted_works(ground, agent, home, rights, in_session=True)
            await see_that_only_what_is_granted_works(ground, agent, home, rights, language="typescript")


async def test_a_program_that_may_only_read_writes_to_nothing_whatever_is_granted(ground: Ground) -> None:
    ground.plant()
    home = ground.home("a", {"b": "write", "c": "read"}, writable=False)
    before = {agent: ground.seen(agent) for agent in AGENTS}
    code = """
import os
result = []
for place in ("/workspace", "/mnt/memory", "/mnt/tasks", "/mnt/agents/b/memory", "/mnt/agents/c/memory"):
    for action in (lambda: open(place + "/new", "w"), lambda: open(place + "/secret", "r+"),
                   lambda: os.chmod(place, 0o777), lambda: os.unlink(place + "/doomed")):
        try:
            action()
            result.append(place)
        except OSError:
            pass
result.append(open("/mnt/agents/b/memory/secret").read())
"""
    outcome = await ground.run(code, home)
    assert outcome.result == ["of b: memory"], outcome
    assert {agent: ground.seen(agent) for agent in AGENTS} == before


SWAP = """
import os, time
OUTSIDE = "OUTSIDE_"
until = time.monotonic() + 2
names = ["/workspace/.results", "/workspace/memory", "/workspace/agents", "/mnt/memory/facts.json",
         "/mnt/memory/notes", "/mnt/tasks/completed_tasks", "/mnt/agents/b/memory/facts.json",
         "/mnt/agents/b/memory/notes"]
rounds = 0
while time.monotonic() < until:
    rounds += 1
    for name in names:
        for swap in (lambda: os.rmdir(name), lambda: os.unlink(name), lambda: os.symlink(OUTSIDE, name),
                     lambda: os.rename(name, name + "-away"), lambda: os.unlink(name), lambda: os.mkdir(name),
                     lambda: os.symlink(OUTSIDE + "/secret", name), lambda: os.unlink(name + "-away")):
            try:
                swap()
            except OSError:
                pass
print(rounds)
"""


async def test_links_that_are_swapped_while_boxes_are_made_lead_nobody_outside(
    ground: Ground, tmp_path: Path
) -> None:
    """A program of `a`, which may write to the memory of `b`, against boxes of both and Satchel itself."""
    ground.plant()
    (tmp_path / "secret").write_text("of the host")
    if OWNER is not None:
        os.chown(tmp_path, OWNER, OWNER)  # so that only the way there protects it
        os.chown(tmp_path / "secret", OWNER, OWNER)
    before = {path.name: (path.read_bytes(), path.lstat().st_mtime_ns) for path in tmp_path.iterdir()}
    attacker = ground.home("a", {"b": "write"})
    look = """
import os
found = []
for place, folders, files in os.walk("/mnt", followlinks=True):
    for name in files:
        try:
            found.append(open(os.path.join(place, name)).read(100))
        except OSError:
            pass
result = [text for text in found if "of the host" in text]
"""
    ended = anyio.Event()

    async def attack() -> None:
        outcome = await ground.run(SWAP.replace("OUTSIDE_", str(tmp_path)), attacker)
        assert outcome.exit_code == 0 and int(outcome.stdout.text) > 3, outcome
        ended.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(attack)
        looked = 0
        while not ended.is_set() or looked < 3:
            for agent in ("a", "b"):
                try:
                    home = ground.home(agent, {"c": "read"})
                    changed_files(home, 0)
                    write_result(home, f"{time.monotonic_ns()}.txt", b"a result")
                except (SandboxError, OSError):
                    pass  # the program is in its own way
            outcome = await ground.run(look, ground.home("b", {"a": "read"}))
            assert (outcome.exit_code, outcome.result) == (0, []), outcome
            looked += 1
    assert {p.name: (p.read_bytes(), p.lstat().st_mtime_ns) for p in tmp_path.iterdir()} == before
