"""Boxes that are prepared: every program has a fresh one, whatever became of those before it.

What a box keeps from a program is in `hostile/`, which runs on these boxes as well. Here is what is new with
them: that nothing goes from one to the next, that they are there and go away, and that they may be killed.
"""

import asyncio
import os
import shutil
import signal
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from textwrap import dedent
from typing import Any

import anyio
import pytest

from satchel.languages import ProgramLanguage
from satchel.model import Json
from satchel.sandbox.backends import BUBBLEWRAP
from satchel.sandbox.backends.bubblewrap import boxes as bubblewrap
from satchel.sandbox.backends.bubblewrap import ready as pool
from satchel.sandbox.backends.bubblewrap.boxes import Bubblewrap
from satchel.sandbox.backends.bubblewrap.ready import ReadyBoxes, Way
from satchel.sandbox.limits import MIB, Limits
from satchel.sandbox.running.directories import make_memory
from satchel.sandbox.running.home import LocalHome, clear
from satchel.sandbox.running.processes import descendants
from satchel.sandbox.sandbox import Answer, Door, Grants, OtherMemory, Outcome, Program
from tests.sandbox.helpers import ECHO, echo, groups_of_this_process, make_home, memory_of, traces
from tests.upstream.helpers import alive, until

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

LIMITS = Limits(seconds=20)
WAIT = 50  # seconds; only a hang reaches it


class Ground:
    """A pool, and a workspace for programs in it."""

    def __init__(
        self, directory: Path, grants: Grants | None = None, *, use_cgroups: bool = True, **options: Any
    ) -> None:
        given: dict[str, Any] = {"size": 2, **options}
        self.pool = ReadyBoxes(Bubblewrap(grants, use_cgroups=use_cgroups), directory / "agents", **given)
        self.workspace = make_home(directory)

    async def run(
        self,
        code: str,
        answer: Answer = echo,
        *,
        language: ProgramLanguage = "python",
        workspace: LocalHome | None = None,
        **limits: Any,
    ) -> Outcome:
        program = Program(code=dedent(code), language=language)
        with anyio.fail_after(WAIT):
            return await self.pool.run(
                program, workspace or self.workspace, Door(answer=answer), replace(LIMITS, **limits)
            )

    async def result(self, code: str, answer: Answer = echo, **more: Any) -> Any:
        """The `result` of a program that is expected to succeed."""
        outcome = await self.run(code, answer, **more)
        assert (outcome.exit_code, outcome.ended) == (0, None), outcome
        return outcome.result

    async def warm(self, language: ProgramLanguage = "python") -> list[int]:
        """Have boxes ready for such programs. The zygote, then the first process of each box."""
        await self.run({"bash": "true", "typescript": "0"}.get(language, "pass"), language=language)
        await self.settle()
        return self.pool.processes()

    async def settle(self) -> None:
        with anyio.fail_after(WAIT):
            await self.pool.settle()

    async def runs_as_ever(self) -> None:
        """Programs run, and there are boxes for the next ones, made as before."""
        for number in range(3):
            assert await self.result(f"result = {number} * 7") == number * 7
        await self.settle()
        assert (self.pool.way, self.pool.refusal) == ("zygote", "")
        assert len(self.pool.processes()) == 3
        assert await self.is_taken_from(self.pool.processes()[1:])

    async def is_taken_from(self, boxes: list[int], code: str = "", **more: Any) -> bool:
        """Whether the next program runs in one of these."""
        name = f"mark-{os.urandom(4).hex()}"
        found: list[int] = []

        async def answer(method: str, params: Json) -> None:
            below = {box: descendants(box) for box in boxes}
            zygotes = [box for box in boxes if set(below[box]) & set(boxes)]
            found.extend(box for box in boxes if box not in zygotes and name in map(name_of, below[box]))

        await self.result(
            f"""
            import ctypes
            ctypes.CDLL(None).prctl(15, {name.encode()!r}, 0, 0, 0)
            await call_mcp_tool("x", {{}})
            {code}
            """,
            answer,
            **more,
        )
        return len(found) == 1


@asynccontextmanager
async def opened(directory: Path, grants: Grants | None = None, **options: Any) -> AsyncGenerator[Ground]:
    """A pool that leaves nothing behind."""
    before = traces()
    ground = Ground(directory, grants, **options)
    try:
        yield ground
    finally:
        try:
            with anyio.fail_after(WAIT):
                await ground.pool.aclose()
            assert ground.pool.processes() == []
            await until(lambda: traces().has_nothing_beyond(before))
        finally:  # whatever went wrong is no other test's matter
            kill(*traces().processes - before.processes)


def name_of(process: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{process}/comm").read_text().strip()
    return ""


def has_more_than(before: set[int]) -> bool:
    return bool(set(descendants(os.getpid())) - before)


def denos_in(box: int) -> list[int]:
    return [process for process in descendants(box) if name_of(process) == "deno"]


def kill(*processes: int) -> None:
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


async def kill_and_wait(victims: list[int], doomed: list[int]) -> None:
    """Kill them; what they take with them is gone as well, before this returns."""
    kill(*victims)
    await until(lambda: not any(map(alive, (*victims, *doomed))))


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """For the whole module, so that one pool can serve many tests."""
    return "asyncio"


@pytest.fixture(scope="module", params=["zygote", pytest.param("bubblewrap", marks=pytest.mark.slow)])
async def shared_ground(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Ground]:
    ground = Ground(tmp_path_factory.mktemp("pool"), size=3, idle=600, way=request.param)
    await ground.warm()
    yield ground
    await ground.pool.aclose()


@pytest.fixture
async def ground(shared_ground: Ground) -> AsyncGenerator[Ground]:
    """For tests of programs, which do nothing to the pool; with boxes by either maker."""
    yield shared_ground
    await shared_ground.settle()


MOMENTS = pytest.mark.parametrize(
    "step", [3, pytest.param(1, marks=pytest.mark.long)], ids=["every third moment", "every moment"]
)


def by_either_maker(names: Sequence[str]) -> pytest.MarkDecorator:
    """Each with a zygote, and some with bubblewrap, which takes longer; `make long` does the rest."""
    left = [() if number % 4 == 0 else (pytest.mark.long,) for number in range(len(names))]
    rows = [pytest.param("zygote", name) for name in names]
    rows += [pytest.param("bubblewrap", name, marks=marks) for name, marks in zip(names, left, strict=True)]
    return pytest.mark.parametrize(
        ("shared_ground", "name"), rows, indirect=["shared_ground"], scope="module"
    )


# A prepared box, and a fresh one for every program


async def test_a_program_runs_in_a_box_that_was_ready_and_has_it_for_itself(ground: Ground) -> None:
    before = await ground.warm()
    boxes = before[-3:]
    assert await ground.is_taken_from(boxes)
    await ground.settle()
    after = ground.pool.processes()
    assert len(after) == len(before)
    assert len(set(before) - set(after)) == 1


@dataclass(frozen=True, kw_only=True)
class Mess:
    """What a program does, and how another would see it: an expression that is true where it was done."""

    code: str
    seen: str
    imports: str = ""


MESSES = {
    "files in /tmp": Mess(code='open("/tmp/left", "w").close()', seen='bool(os.listdir("/tmp"))'),
    "files in /dev/shm": Mess(code='open("/dev/shm/left", "w").close()', seen='bool(os.listdir("/dev/shm"))'),
    "variables of the environment": Mess(
        code='os.environ["LEFT"] = os.environ["PATH"] = "left"',
        seen='"LEFT" in os.environ or os.environ["PATH"] == "left"',
    ),
    "another umask": Mess(code="os.umask(0o111)", seen="os.umask(0o077) == 0o111"),
    "another directory": Mess(code='os.chdir("/tmp")', seen='os.getcwd() != "/workspace"'),
    "other builtins": Mess(
        code="import builtins\nbuiltins.len = lambda value: 7\nbuiltins.left = 1",
        seen='len([]) == 7 or "left" in dir(__builtins__)',
    ),
    "another json": Mess(
        imports="import json",
        code='json.dumps = json.loads = lambda *a, **k: "left"',
        seen='json.dumps(1) == "left"',
    ),
    "another asyncio": Mess(
        imports="import asyncio",
        code="asyncio.sleep = asyncio.run = asyncio.get_running_loop = None",
        seen="asyncio.sleep is None or asyncio.run is None",
    ),
    "another runtime": Mess(
        imports="import satchel_runtime, satchel_runtime.channel as channel",
        code="satchel_runtime.call_mcp_tool = channel.Channel._send = None",
        seen="satchel_runtime.call_mcp_tool is None or channel.Channel._send is None",
    ),
    "another guest": Mess(
        imports="from satchel_guest import run",
        code='run.tell_end = run.leave = None\nrun.left = "left"',
        seen='hasattr(run, "left")',
    ),
    "modules of its own": Mess(
        imports="import sys, types",
        code='sys.modules["decimal"] = sys.modules["left"] = types.ModuleType("left")',
        seen='"left" in sys.modules or __import__("decimal").__name__ == "left"',
    ),
    "a path of its own": Mess(
        imports="import sys",
        code='sys.path.insert(0, "/tmp/left")\nsys.meta_path.clear()\nsys.dont_write_bytecode = False',
        seen='"/tmp/left" in sys.path or not sys.meta_path',
    ),
    "a tracer": Mess(
        imports="import sys, threading",
        code="sys.setrecursionlimit(500)\nsys.excepthook = None\nthreading.setprofile(print)",
        seen="sys.getrecursionlimit() == 500 or sys.excepthook is None",
    ),
    "a daemon": Mess(
        code="""
import time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(60)
    os._exit(0)
os.wait()
""",
        seen="any(is_there(pid) for pid in range(1, 100) if pid not in (1, os.getpid(), os.getppid()))",
    ),
    "a thread": Mess(
        imports="import threading, time",
        code="threading.Thread(target=time.sleep, args=(60,)).start()",
        seen="threading.active_count() > 1",
    ),
    "handlers of signals": Mess(
        imports="import signal",
        code="""
for number in (signal.SIGTERM, signal.SIGCHLD, signal.SIGUSR1):
    signal.signal(number, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
""",
        seen="signal.getsignal(signal.SIGUSR1) == signal.SIG_IGN or signal.pthread_sigmask(0, []) != set()",
    ),
    "other limits": Mess(
        imports="import resource",
        code="""
resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, 1 << 20))
os.nice(5)
""",
        seen="resource.getrlimit(resource.RLIMIT_NOFILE)[1] == 100 or os.nice(0) == 5",
    ),
    "a random state": Mess(
        imports="import random",
        code="random.seed(7)\nstate = random.getstate()",
        seen="random.getstate() == random.Random(7).getstate()",
    ),
    "open files": Mess(
        code='held = [os.open("/workspace", os.O_RDONLY) for number in range(20)]',
        seen="sum(can(os.fstat, number) for number in range(256)) > 10",
    ),
    "a locale": Mess(
        imports="import locale, time",
        code='os.environ["TZ"] = "Asia/Tokyo"\ntime.tzset()\nlocale.setlocale(locale.LC_ALL, "C")',
        seen='time.tzname[0] == "JST" or locale.setlocale(locale.LC_CTYPE) == "C"',
    ),
    "a caught exception and garbage": Mess(
        imports="import gc, sys",
        code="gc.disable()\ngc.set_threshold(1)\nsys.setswitchinterval(1)",
        seen="not gc.isenabled() or gc.get_threshold()[0] == 1 or sys.getswitchinterval() == 1",
    ),
    "a name of itself": Mess(
        imports="import ctypes",
        code='ctypes.CDLL(None).prctl(15, b"left", 0, 0, 0)',
        seen="ctypes.CDLL(None).prctl(16, name, 0, 0, 0) or name.value == b'left'",
    ),
}
LOOK = """
import ctypes, os
name = ctypes.create_string_buffer(16)
def can(action, *arguments):
    try:
        action(*arguments)
    except OSError:
        return False
    return True
def is_there(pid):
    return can(os.kill, pid, 0)
"""


@by_either_maker([*MESSES])
async def test_the_next_program_finds_nothing_of_one_that_left(name: str, ground: Ground) -> None:
    mess = MESSES[name]
    look = f"{LOOK}{mess.imports}\nseen = bool({mess.seen})\n"
    told = "print(seen, flush=True)\nos._exit(0)\n"  # as long as it is able to tell at all
    first = await ground.run(LOOK + mess.imports + "\n" + mess.code + "\n" + look + told)
    assert first.stdout.text == "True\n", first
    for _ in range(4):  # of which the boxes were ready at that time, and were made after it
        assert (await ground.run(look + told)).stdout.text == "False\n"
    await ground.settle()


async def test_a_program_that_changes_the_files_beside_it_changes_nobody_elses(ground: Ground) -> None:
    change = """
        import os
        for name in ("main.py", "json.py", "servers", "left"):
            for change in (os.unlink, lambda path: open(path, "w").write("left")):
                try:
                    change(f"/program/{name}")
                except OSError:
                    pass
        """
    assert (await ground.run(change)).exit_code == 0
    look = "import os, json, servers.demo\nresult = [sorted(os.listdir('/program')), open(__file__).read()]"
    for _ in range(4):
        beside, text = await ground.result(look)
        assert beside == ["helpers", "main.py", "servers", "skills", "tools"]
        assert text == look


async def test_programs_at_once_do_not_see_each_other(ground: Ground) -> None:
    await ground.warm()
    arrived, both = [0], anyio.Event()

    async def meet(method: str, params: Json) -> None:
        arrived[0] += 1
        if arrived[0] % 2 == 0:
            both.set()
        await both.wait()

    code = """
        import os, socket, time
        name = {name!r}
        open(f"/tmp/{{name}}", "w").close()
        open(f"/dev/shm/{{name}}", "w").close()
        for _ in range({processes}):
            if os.fork() == 0:
                time.sleep(60)
                os._exit(0)
        await call_mcp_tool("meet", {{}})
        def is_there(action, *arguments):
            try:
                action(*arguments)
            except OSError:
                return False
            return True
        result = [
            os.listdir("/tmp"),
            os.listdir("/dev/shm"),
            sum(is_there(os.kill, pid, 0) for pid in range(1, 200)),
            os.listdir("/dev/pts"),
            socket.gethostname(),
        ]
        await call_mcp_tool("meet", {{}})
        """
    results: dict[int, Any] = {}

    async def run(number: int) -> None:
        name = "one" if number == 1 else "two"
        results[number] = await ground.result(code.format(name=name, processes=number), meet)

    async with anyio.create_task_group() as tasks:
        for number in (1, 2):
            tasks.start_soon(run, number)
    first = results[1][2] - 1  # the box's own, and the program
    assert results == {
        1: [["one"], ["one"], first + 1, [], "sandbox"],
        2: [["two"], ["two"], first + 2, [], "sandbox"],
    }


async def test_what_is_random_is_another_in_every_box(ground: Ground) -> None:
    code = """
        import os, random, secrets, ssl, tempfile, uuid
        with tempfile.NamedTemporaryFile() as file:
            name = file.name
        result = [
            os.urandom(8).hex(), random.random(), random.Random().random(), secrets.token_hex(),
            ssl.RAND_bytes(8).hex(), name, str(uuid.uuid4()), str(uuid.uuid1()), id(object()),
        ]
        """
    rows = [await ground.result(code) for _ in range(4)]
    for kind in zip(*(row[:-1] for row in rows), strict=True):
        assert len(set(kind)) == 4, kind


@pytest.mark.slow
async def test_thirty_programs_at_once_each_have_their_own_outcome(ground: Ground) -> None:
    results: dict[int, Any] = {}

    async def run(number: int) -> None:
        results[number] = await ground.result(
            f"""
            from servers.demo import echo
            open("/tmp/{number}", "w").close()
            result = [int((await echo(text="{number}")).text), __import__("os").listdir("/tmp")]
            """
        )

    async with anyio.create_task_group() as tasks:
        for number in range(30):
            tasks.start_soon(run, number)
    assert results == {number: [number, [str(number)]] for number in range(30)}


# As in a box that is made for one program

SAME = {
    "prints": "import sys\nprint('ü', 1)\nprint('error', file=sys.stderr)\nresult = {'a': [None, 'ü']}",
    "fails": "def f():\n    1 / 0\n\nf()",
    "fails in a call": "from servers.demo import fail\nawait fail(text='x')",
    "is no program": "x = = 1",
    "is no text": "x = '\ud800'",
    "exits": "import atexit, sys\natexit.register(print, 'bye')\nsys.exit(300)",
    "leaves": "import os\nos._exit(9)",
    "is killed": "import os\nos.kill(os.getpid(), 9)",
    "crashes": "import ctypes\nctypes.string_at(0)",
    "takes too long": "import time\nprint('begun', flush=True)\ntime.sleep(60)",
    "returns what is no JSON": "result = {1, 2}",
    "reads its input": "import sys\nresult = [sys.stdin.read(), sys.stdin.isatty(), sys.stdout.isatty()]",
    "waits at the top": "import asyncio\nresult = await asyncio.gather(asyncio.sleep(0, 1))",
    "looks at itself": """
import asyncio, gc, json, locale, os, resource, signal, socket, sys, threading, time
def limit(name):
    return resource.getrlimit(getattr(resource, name))
result = {
    "names": sorted(globals()),
    "argv": sys.argv,
    "path": sys.path,
    "flags": repr(sys.flags),
    "name": [__name__, __file__, __doc__ if "__doc__" in globals() else ""],
    "environ": dict(os.environ),
    "ids": [os.getuid(), os.getgid(), os.getgroups(), os.getppid(), os.getcwd()],
    "umask": os.umask(0),
    "limits": {name: limit(name) for name in dir(resource) if name.startswith("RLIMIT_")},
    "signals": {number: str(signal.getsignal(number)) for number in signal.valid_signals()},
    "blocked": sorted(signal.pthread_sigmask(0, [])),
    "nice": os.nice(0),
    "host": socket.gethostname(),
    "streams": [str(stream) for stream in (sys.stdin, sys.stdout, sys.stderr)],
    "encodings": [sys.getfilesystemencoding(), locale.getpreferredencoding(), sys.stdout.errors],
    "collector": [gc.isenabled(), gc.get_threshold()],
    "threads": [threading.active_count(), threading.current_thread().name, sys.getrecursionlimit()],
    "loop": [type(asyncio.get_event_loop_policy()).__name__],
    "random": hash("") == 0,
    "tmp": [os.statvfs(place).f_blocks for place in ("/tmp", "/dev/shm")],
    "program": sorted(os.listdir("/program")),
    "executable": [sys.executable, sys.prefix, sys.base_prefix],
    "time": time.tzname,
}
""",
}


@pytest.mark.slow
@by_either_maker([*SAME])
async def test_all_is_as_in_a_box_that_is_made_for_one_program_that(
    name: str, ground: Ground, tmp_path: Path
) -> None:
    program = Program(code=SAME[name])
    limits = replace(LIMITS, memory=256 * MIB, seconds=5 if name == "takes too long" else 20)
    await ground.pool.run(Program(code="pass"), ground.workspace, ECHO, limits)
    await ground.settle()  # now there are boxes with these limits
    outcomes: list[Outcome] = []

    async def run(sandbox: ReadyBoxes | Bubblewrap) -> None:
        outcomes.append(replace(await sandbox.run(program, ground.workspace, ECHO, limits), seconds=0))

    async with anyio.create_task_group() as tasks:
        for sandbox in (ground.pool._boxes, ground.pool, ground.pool):
            tasks.start_soon(run, sandbox)
    await ground.settle()
    assert outcomes == [outcomes[0]] * 3


# How many there are


async def test_boxes_are_made_anew_after_an_answer_and_not_before(tmp_path: Path) -> None:
    async with opened(tmp_path) as ground:
        zygote, *boxes = await ground.warm()
        during: list[list[int]] = []

        async def answer(method: str, params: Json) -> None:
            await anyio.sleep(0.15)
            during.append(ground.pool.processes())

        await ground.result('await call_mcp_tool("x", {})', answer)
        assert during == [[zygote, boxes[1]]]
        await ground.settle()
        after = ground.pool.processes()
        assert after[:2] == [zygote, boxes[1]]
        assert len(after) == 3


@pytest.mark.slow
async def test_a_pool_of_none_prepares_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path, size=0) as ground:
        before = descendants(os.getpid())
        for _ in range(2):
            assert await ground.warm() == []
        await anyio.sleep(0.1)
        assert descendants(os.getpid()) == before


@pytest.mark.slow
async def test_a_pool_that_nobody_uses_shrinks_until_no_process_is_left(tmp_path: Path) -> None:
    async with opened(tmp_path) as ground:
        stages = 1  # a namespace with the directories is kept, by a descriptor
        before = traces()
        before = replace(before, descriptors=before.descriptors + stages)
        assert len(await ground.warm()) == 3
        ground.pool._idle = 0.2
        assert await ground.result("result = 0") == 0
        await until(lambda: len(ground.pool.processes()) == 2)
        assert await ground.result("result = 1") == 1
        await until(lambda: ground.pool.processes() == [])
        # The groups around those of all boxes stay while the pool is open.
        common = frozenset(group for group in traces().groups if "-all" in group)
        before = replace(before, groups=before.groups | common)
        await until(lambda: replace(traces(), mounts=before.mounts).has_nothing_beyond(before))
        ground.pool._idle = 60
        assert await ground.result("result = 2") == 2
        await ground.settle()
        assert len(ground.pool.processes()) == 3


@pytest.mark.slow
async def test_a_session_outlives_the_boxes_that_nobody_uses(tmp_path: Path) -> None:
    async with opened(tmp_path, idle=0.02) as ground:
        await ground.warm()
        session = await ground.pool.open_session("python", ground.workspace, LIMITS)
        try:
            assert (await session.run(Program(code="x = 7"), ECHO, LIMITS)).exit_code == 0
            await anyio.sleep(0.3)  # in which boxes that nobody uses, and their zygote, would go
            outcome = await session.run(Program(code="result = x"), ECHO, LIMITS)
            assert (outcome.result, outcome.ended) == (7, None), outcome
        finally:
            await session.aclose()


@pytest.mark.slow
async def test_a_program_outlives_the_boxes_that_nobody_uses(tmp_path: Path) -> None:
    async with opened(tmp_path, idle=0.02) as ground:
        await ground.warm()
        assert await ground.result("import time\ntime.sleep(0.3)\nresult = 7") == 7


@pytest.mark.slow
async def test_only_a_few_workspaces_have_boxes_ready_and_all_of_them_programs(tmp_path: Path) -> None:
    async with opened(tmp_path, size=1) as ground:
        for number in range(11):
            workspace = make_home(tmp_path / str(number))
            assert await ground.result(f"result = {number}", workspace=workspace) == number
            await ground.settle()
        assert len(ground.pool.processes()) == 2 * 8
        assert await ground.result("result = 7", workspace=make_home(tmp_path / "0")) == 7


@pytest.mark.slow
async def test_a_session_outlives_the_boxes_of_a_workspace_that_had_to_make_room(tmp_path: Path) -> None:
    async with opened(tmp_path, size=1) as ground:
        await ground.warm()
        session = await ground.pool.open_session("python", ground.workspace, LIMITS)
        try:
            await session.run(Program(code="x = 7"), ECHO, LIMITS)
            for number in range(10):
                await ground.run("pass", workspace=make_home(tmp_path / str(number)))
                await ground.settle()
            outcome = await session.run(Program(code="result = x"), ECHO, LIMITS)
            assert (outcome.result, outcome.ended) == (7, None), outcome
        finally:
            await session.aclose()


# What a box is made for


async def test_a_box_is_never_used_for_another_workspace(tmp_path: Path) -> None:
    async with opened(tmp_path) as ground:
        other = make_home(tmp_path / "other")
        for number in range(2):
            for workspace in (ground.workspace, other):
                (workspace.files / "whose").write_text(str(workspace.files))
                (memory_of(workspace) / "whose").write_text(str(memory_of(workspace)))
                read = 'result = [open(path + "/whose").read() for path in ("/workspace", "/mnt/memory")]'
                expected = [str(workspace.files), str(memory_of(workspace))]
                assert await ground.result(read, workspace=workspace) == expected, number
                await ground.settle()


@pytest.mark.slow
async def test_a_box_is_never_used_with_other_limits_than_it_was_made_with(tmp_path: Path) -> None:
    async with opened(tmp_path) as ground:
        look = (
            "import resource as r\nresult = [r.getrlimit(r.RLIMIT_NOFILE)[1], r.getrlimit(r.RLIMIT_FSIZE)[1]]"
        )
        for number in (100, 90, 100, 90):
            limits: dict[str, Any] = {"open_files": number, "file_size": number * MIB}
            assert await ground.result(look, **limits) == [number, number * MIB]
            await ground.settle()
        boxes = ground.pool.processes()
        # Time, output and calls are kept from outside: it is the same box.
        assert await ground.is_taken_from(boxes, open_files=90, file_size=90 * MIB, seconds=9, output=1000)


@pytest.mark.slow
async def test_a_directory_in_the_place_of_another_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "granted").mkdir()
    async with opened(tmp_path, Grants(read=(tmp_path / "granted",))) as ground:
        workspace = ground.workspace
        places = [workspace.files, memory_of(workspace), workspace.shown.code_api, tmp_path / "granted"]
        seen = ["/workspace", "/mnt/memory", "/mnt/code-api", str(tmp_path / "granted")]
        look = f"import os\nresult = [os.path.exists(path + '/new') for path in {seen}]"
        expected = [False] * len(places)
        await ground.warm()
        assert await ground.result(look) == expected
        for number, place in enumerate(places):
            await ground.warm()
            shutil.copytree(place, tmp_path / f"new-{number}", symlinks=True)
            (tmp_path / f"new-{number}/new").touch()
            place.rename(tmp_path / f"old-{number}")
            (tmp_path / f"new-{number}").rename(place)
            status = (tmp_path / f"old-{number}").stat()
            os.chown(place, status.st_uid, status.st_gid)
            expected[number] = True
            assert await ground.result(look) == expected


@pytest.mark.slow
async def test_clearing_a_workspace_voids_the_boxes_that_are_ready_for_it(tmp_path: Path) -> None:
    async with opened(tmp_path) as ground:
        boxes = await ground.warm()
        clear(make_home(tmp_path))  # as a different process does
        make_home(tmp_path)
        await ground.warm()
        assert set(ground.pool.processes()) >= set(boxes)  # nobody has taken any of them
        before = ground.pool.processes()
        assert await ground.is_taken_from([box for box in before if box not in boxes])


@pytest.mark.slow
async def test_a_box_is_never_used_with_other_memories_than_it_was_made_with(tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    other, third = tmp_path / "agents/b/memory", tmp_path / "agents/c/memory"
    for memory in (other, third):
        make_memory(tmp_path / "agents", memory, {}, BUBBLEWRAP.owner)
    may: list[dict[str, OtherMemory]] = [
        {},
        {"b": OtherMemory(path=other)},
        {"b": OtherMemory(path=other, writable=True)},
        {"c": OtherMemory(path=third)},
        {"b": OtherMemory(path=third)},
    ]
    look = """
    import os
    result = []
    for agent in os.listdir("/mnt/agents"):
        place = f"/mnt/agents/{agent}/memory"
        result += [[agent, os.stat(place).st_ino, os.access(place, os.W_OK)]]
    """
    async with opened(tmp_path) as ground:
        for others in (*may, *may):
            shown = replace(ground.workspace.shown, others=others)
            workspace = replace(ground.workspace, shown=shown)
            rows = [[name, each.path.stat().st_ino, each.writable] for name, each in others.items()]
            assert await ground.result(look, workspace=workspace) == rows
            await ground.settle()


@pytest.mark.slow
async def test_what_programs_are_granted_is_in_prepared_boxes_too(tmp_path: Path) -> None:
    for name in ("read", "write"):
        (tmp_path / name).mkdir()
    (tmp_path / "read/file").write_text("granted")
    (tmp_path / "write").chmod(0o777)
    grants = Grants(read=(tmp_path / "read",), write=(tmp_path / "write",), environment={"TOKEN": "t"})
    code = f"""
        import os
        open("{tmp_path}/write/" + os.urandom(4).hex(), "w").close()
        result = [os.environ["TOKEN"], open("{tmp_path}/read/file").read(), os.listdir("{tmp_path}")]
        """
    async with opened(tmp_path / "box", grants) as ground:
        for count in range(1, 4):
            token, text, there = await ground.result(code)
            await ground.settle()
            assert (token, text, sorted(there)) == ("t", "granted", ["read", "write"])
            assert len(os.listdir(tmp_path / "write")) == count


# When something is killed


Hit = tuple[list[int], list[int]]
"""Whom to kill, and the first processes that are gone with them."""


def first_of_box(zygote: int, box: int, *_: int) -> Hit:
    return [box], [box]


def all_first(zygote: int, *boxes: int) -> Hit:
    return [*boxes], [*boxes]


def program_in_box(zygote: int, box: int, *_: int) -> Hit:
    return descendants(box)[-1:], [box]


def outer_zygote(zygote: int, *boxes: int) -> Hit:
    return [zygote], [zygote, *boxes]


def inner_zygote(zygote: int, *boxes: int) -> Hit:
    makers = [one for one in descendants(zygote) if boxes[0] in descendants(one)]
    return sorted(makers)[-1:], [zygote, *boxes]  # the one that was started last


def everything(zygote: int, *boxes: int) -> Hit:
    return [zygote, *boxes, *descendants(zygote)], [zygote, *boxes]


VICTIMS: dict[str, Callable[..., Hit]] = {
    "the first process of a box": first_of_box,
    "the first processes of all": all_first,
    "what waits in a box": program_in_box,
    "the zygote": outer_zygote,
    "what makes boxes in the zygote": inner_zygote,
    "everything": everything,
}
QUICK = ("what makes boxes in the zygote",)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in VICTIMS]
)
async def test_programs_run_after_a_kill_of(name: str, tmp_path: Path) -> None:
    async with opened(tmp_path) as ground:
        victims, doomed = VICTIMS[name](*await ground.warm())
        assert victims
        await kill_and_wait(victims, doomed)
        await ground.runs_as_ever()


@pytest.mark.slow
@MOMENTS
@pytest.mark.parametrize("name", VICTIMS)
async def test_programs_run_at_the_very_moment_of_a_kill_of(name: str, step: int, tmp_path: Path) -> None:
    async with opened(tmp_path) as ground:
        for _ in range(0, 6, step):
            kill(*VICTIMS[name](*await ground.warm())[0])
            outcome = await ground.run("result = 7")
            assert outcome.result == 7 or (outcome.ended, outcome.exit_code) == ("killed", 137), outcome
            if len(ground.pool.processes()) > 1:
                await kill_and_wait(*VICTIMS[name](*ground.pool.processes()))
            await ground.settle()
        await ground.runs_as_ever()


@contextmanager
def killing_all_that_is_new(below: int) -> Generator[list[int]]:
    """From a thread: whatever appears below a process is killed at once."""
    known, is_over, killed = set(descendants(below)), threading.Event(), list[int]()

    def work() -> None:
        while not is_over.is_set():
            for process in descendants(below):
                if process not in known:
                    kill(process)
                    known.add(process)
                    killed.append(process)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield killed
    finally:
        is_over.set()
        thread.join()


@pytest.mark.slow
async def test_boxes_that_are_killed_while_they_are_made_end_no_program_and_change_no_way(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as ground:
        zygote, *boxes = await ground.warm()
        await kill_and_wait(boxes, boxes)
        begun, go_on = anyio.Event(), anyio.Event()

        async def answer(method: str, params: Json) -> None:
            begun.set()
            await go_on.wait()

        async def run() -> None:
            assert await ground.result('await call_mcp_tool("x", {})\nresult = 7', answer) == 7

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            with anyio.fail_after(WAIT):
                await begun.wait()
            with killing_all_that_is_new(zygote) as killed:
                outcomes: list[Outcome] = []
                for _ in range(5):
                    outcomes.append(await ground.run("result = 1"))
                    await ground.settle()
                # Where this machine is busy, a kill comes when a program has begun; not every time.
                assert {outcome.ended for outcome in outcomes} <= {None, "killed"}
                assert any(outcome.result == 1 for outcome in outcomes)
            assert killed
            go_on.set()
        await ground.runs_as_ever()


@pytest.mark.slow
@MOMENTS
async def test_a_zygote_that_is_killed_while_it_starts_is_replaced(tmp_path: Path, step: int) -> None:
    async with opened(tmp_path) as ground:
        for moment in range(0, 12, step):
            before = set(descendants(os.getpid()))
            await ground.run("pass")
            await until(partial(has_more_than, before))
            await anyio.sleep(0.015 * moment)
            await kill_and_wait(list(set(descendants(os.getpid())) - before), [])
            assert await ground.result("result = 7") == 7
            await ground.settle()
            await kill_and_wait(ground.pool.processes(), [])
        await ground.runs_as_ever()


@pytest.mark.slow
async def test_a_program_whose_zygote_is_killed_is_told_to_be_killed_and_not_run_twice(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as ground:
        zygote, *_ = await ground.warm()
        calls: list[str] = []

        async def answer(method: str, params: Json) -> None:
            calls.append(method)
            kill(zygote)
            await anyio.sleep_forever()

        outcome = await ground.run('await call_mcp_tool("x", {})', answer)
        assert (outcome.ended, outcome.exit_code) == ("killed", 137)
        assert outcome.detail == "it was killed from outside, or by the kernel"
        assert calls == ["call_tool"]
        await ground.runs_as_ever()


@pytest.mark.slow
@pytest.mark.parametrize("language", ["python", "typescript", "bash"])
async def test_a_box_that_is_killed_when_it_is_handed_out_has_run_nothing_and_another_one_does(
    tmp_path: Path, language: ProgramLanguage
) -> None:
    """It takes the program, but does not get to it: the kill comes between the two."""
    async with opened(tmp_path) as ground:
        _, *boxes = await ground.warm(language)
        for process in (each for box in boxes for each in (box, *descendants(box))):
            os.kill(process, signal.SIGSTOP)
        outcomes: list[Outcome] = []

        async def run() -> None:
            code = {"python": "print(7)", "typescript": "console.log(7)", "bash": "echo 7"}[language]
            outcomes.append(await ground.run(code, language=language))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            await anyio.sleep(0.2)
            assert outcomes == []
            await kill_and_wait(boxes, boxes)
        assert [(outcome.ended, outcome.stdout.text) for outcome in outcomes] == [(None, "7\n")]


@pytest.mark.slow
async def test_boxes_of_bubblewrap_may_be_killed_as_well(tmp_path: Path) -> None:
    async with opened(tmp_path, way="bubblewrap") as ground:
        for _ in range(3):
            boxes = await ground.warm()
            inside = descendants(boxes[1])[-1:]
            await kill_and_wait([boxes[0], *inside], boxes)
            assert await ground.result("result = 8") == 8


# Where a zygote is refused


async def test_where_boxes_in_boxes_are_refused_bubblewrap_prepares_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The kernel really refuses: bubblewrap lets nobody in the zygote's box have namespaces of their own."""
    options_of = bubblewrap.options_of

    def without_namespaces(kind: Any, *given: Any, **more: Any) -> list[str]:
        options = options_of(kind, *given, **more)
        return [*options, "--disable-userns"] if kind == "zygote" else options

    monkeypatch.setattr(bubblewrap, "options_of", without_namespaces)
    async with opened(tmp_path) as ground:
        assert (ground.pool.way, ground.pool.refusal) == ("zygote", "")
        boxes = await ground.warm()
        assert ground.pool.way == "bubblewrap"
        assert "[Errno 28]" in ground.pool.refusal  # no more namespaces
        assert ground.pool.refusal in caplog.text
        assert await ground.is_taken_from(boxes[-2:])
        await ground.settle()
        assert await ground.is_taken_from(ground.pool.processes()[-2:])


@pytest.mark.slow
async def test_without_control_groups_there_are_prepared_boxes_as_well(tmp_path: Path) -> None:
    async with opened(tmp_path, use_cgroups=False) as ground:
        assert ground.pool._boxes.budget.groups_of("default") is None
        _, *boxes = await ground.warm()
        assert await ground.is_taken_from(boxes)
        await ground.warm()
        outcome = await ground.run("held = [bytearray(1 << 20) for _ in range(10_000)]")
        assert outcome.ended == "memory"
        await ground.runs_as_ever()


# Ends


@pytest.mark.slow
@MOMENTS
async def test_a_pool_that_is_closed_leaves_nothing_at_any_time(tmp_path: Path, step: int) -> None:
    for moment in range(0, 6, step):
        async with opened(tmp_path) as ground:
            await ground.run("pass")
            await anyio.sleep(0.03 * moment)  # then it is closed, whatever it is doing


@pytest.mark.slow
async def test_a_pool_that_is_closed_while_programs_run_leaves_nothing(tmp_path: Path) -> None:
    begun = anyio.Event()

    async def answer(method: str, params: Json) -> None:
        begun.set()
        await anyio.sleep_forever()

    before = traces()
    async with opened(tmp_path) as ground:
        await ground.warm()

        async def run() -> None:
            with suppress(Exception):
                await ground.run('await call_mcp_tool("x", {})', answer, seconds=5)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            with anyio.fail_after(WAIT):
                await begun.wait()
            await ground.pool.aclose()
    await anyio.sleep(0.3)  # in which one that does not know that it is closed would make boxes
    after = traces()
    await ground.pool.aclose()
    assert after.has_nothing_beyond(before), after


@pytest.mark.slow
@MOMENTS
async def test_a_caller_that_gives_up_at_any_moment_leaves_nothing(tmp_path: Path, step: int) -> None:
    others, groups = set(descendants(os.getpid())), len(groups_of_this_process())
    async with opened(tmp_path) as ground:
        await ground.warm()
        for moment in range(0, 40, step):
            with anyio.move_on_after(0.0005 * moment):
                await ground.run("import time\ntime.sleep(60)")
            if moment % 4 == 0:
                await ground.settle()
            if moment % 10 == 5:  # no box is ready: it gives up while one is being made
                kill(*ground.pool.processes()[1:])
        await ground.runs_as_ever()
        await ground.settle()
        kept = set(ground.pool.processes())
        kept |= {process for root in kept for process in descendants(root)}
        await until(lambda: set(descendants(os.getpid())) <= kept | others)
        assert len(groups_of_this_process()) <= groups + len(kept)


@pytest.mark.slow
@MOMENTS
async def test_a_caller_that_gives_up_before_any_box_is_ready_leaves_nothing(
    tmp_path: Path, step: int
) -> None:
    for moment in range(0, 10, step):
        async with opened(tmp_path) as ground:
            with anyio.move_on_after(0.015 * moment):
                await ground.run("import time\ntime.sleep(60)")


@pytest.mark.slow
async def test_whoever_runs_one_program_and_goes_does_not_wait_for_boxes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`satchel run` runs one program and goes: it must not wait for boxes that nobody will use."""
    monkeypatch.setattr(pool, "_PAUSE", 60.0)  # of which nothing is waited for
    async with opened(tmp_path) as ground:
        await ground.run("pass")
        assert ground.pool.processes() == []  # it is about to begin with them
        ran = asyncio.get_running_loop().time()
        await ground.pool.aclose()
        assert asyncio.get_running_loop().time() - ran < 30


# Other languages


@pytest.mark.slow
async def test_one_box_is_ready_for_typescript_once_there_was_a_program(tmp_path: Path) -> None:
    async with opened(tmp_path) as ground:
        _, *boxes = await ground.warm()
        assert len(boxes) == 2
        _, *boxes = await ground.warm("typescript")
        assert len(boxes) == 3
        denos = [box for box in boxes if denos_in(box)]
        assert len(denos) == 1
        during: list[list[int]] = []

        async def answer(method: str, params: Json) -> Any:
            during.append(ground.pool.processes())
            return params["arguments"]

        code = 'export const result: unknown = await callMCPTool("demo.echo", { text: "x" });'
        assert await ground.result(code, answer, language="typescript") == {"text": "x"}
        assert denos[0] not in during[0]
        await ground.settle()
        assert len(ground.pool.processes()) == 4


@pytest.mark.slow
async def test_the_next_program_in_typescript_finds_nothing_of_the_one_before(tmp_path: Path) -> None:
    mess = """
        (globalThis as any).left = 1;
        (Array.prototype as any).left = 1;
        JSON.stringify = () => "left";
        Deno.writeTextFileSync("/tmp/left", "x");
        Deno.env.set("LEFT", "x");
        Deno.chdir("/tmp");
        for (const name of ["main.ts", "deno.json", "left"]) {
          try { Deno.removeSync(`/program/${name}`); } catch {}
          try { Deno.writeTextFileSync(`/program/${name}`, "left"); } catch {}
        }
        try { Deno.removeSync("/program/satchel-runtime"); } catch {}
        console.log("done");
        """
    look = """
        import { callMCPTool } from "satchel-runtime";
        await callMCPTool("demo.echo", { text: "x" });
        const there = [...Deno.readDirSync("/tmp")].map((file) => file.name).filter((name) => name != "deno");
        console.log(JSON.stringify([
          "left" in globalThis, "left" in [], there, Deno.env.get("LEFT") ?? null, Deno.cwd(),
          [...Deno.readDirSync("/program")].map((entry) => entry.name).sort(),
        ]));
        """
    beside = ["deno.json", "helpers", "main.ts", "satchel-runtime", "servers", "skills", "tools"]
    expected = f'[false,false,[],null,"/workspace",{beside}]\n'.replace("'", '"').replace(", ", ",")
    async with opened(tmp_path) as ground:
        await ground.warm("typescript")
        for code in (look, mess, look, mess, look):
            outcome = await ground.run(code, language="typescript")
            assert (outcome.exit_code, outcome.stderr.text) == (0, ""), outcome
            assert outcome.stdout.text == ("done\n" if code is mess else expected)
            await ground.settle()


@pytest.mark.slow
@MOMENTS
async def test_a_deno_that_is_killed_while_it_waits_or_starts_is_replaced(tmp_path: Path, step: int) -> None:
    async with opened(tmp_path) as ground:
        for moment in range(0, 6, step):
            await ground.warm("typescript")
            (box,) = ground.pool.processes()[1:]
            await kill_and_wait(denos_in(box) if moment % 2 else [box], [box])
            outcome = await ground.run("console.log(6 * 7)", language="typescript")
            assert outcome.stdout.text == "42\n", outcome
            with anyio.move_on_after(0.05 * moment):
                await ground.settle()
            boxes = ground.pool.processes()[1:]
            await kill_and_wait([deno for box in boxes for deno in denos_in(box)], boxes)
        outcome = await ground.run("console.log(6 * 7)", language="typescript")
        assert outcome.stdout.text == "42\n", outcome


async def test_the_shell_runs_in_a_box_that_was_ready(tmp_path: Path) -> None:
    async with opened(tmp_path) as ground:
        _, *boxes = await ground.warm()
        script = "echo $0 $((6 * 7)); echo error >&2; ls /tmp; pwd; ls servers/ /proc | head -n 3; exit 3"
        outcome = await ground.run(script, language="bash")
        assert outcome.exit_code == 3
        assert outcome.stdout.text.splitlines()[:2] == ["/program/main.sh 42", "/workspace"]
        await ground.settle()
        assert len(set(boxes) - set(ground.pool.processes())) == 1


@pytest.mark.slow
@pytest.mark.parametrize("way", ["zygote", "bubblewrap"])
async def test_the_shell_has_the_signals_of_a_shell(way: Way, tmp_path: Path) -> None:
    """Python ignores some for itself, and nohup another; what is started must not inherit that."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        async with opened(tmp_path, way=way) as ground:
            for _ in range(2):  # in a box of its own, then in a prepared one
                outcome = await ground.run("yes | head -n 1; trap", language="bash")
                assert (outcome.stdout.text, outcome.stderr.text) == ("y\n", "")
                await ground.settle()
    finally:
        signal.signal(signal.SIGHUP, before)
