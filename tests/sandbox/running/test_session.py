"""Programs of a session: what one leaves, the next has; between two of them nothing runs."""

import os
import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from textwrap import dedent
from typing import Any, TypeVar

import anyio
import pytest

from satchel.errors import SandboxError
from satchel.languages import ProgramLanguage
from satchel.model import Json
from satchel.sandbox.backends.bubblewrap.boxes import Bubblewrap
from satchel.sandbox.backends.bubblewrap.ready import ReadyBoxes
from satchel.sandbox.limits import MIB, Limits
from satchel.sandbox.running.processes import descendants
from satchel.sandbox.running.session import BoxSession
from satchel.sandbox.sandbox import Answer, Door, Outcome, Program
from satchel.support.threads import Aside, FairThreads
from tests.sandbox.helpers import echo, make_home
from tests.upstream.helpers import alive, until

pytestmark = pytest.mark.anyio

Result = TypeVar("Result")
LIMITS = Limits(seconds=20)
WAIT = 50  # seconds; only a hang reaches it


def none_is_alive(processes: list[int]) -> bool:
    return not any(map(alive, processes))


class Talk:
    """A session, one program after the other."""

    def __init__(self, session: BoxSession, language: ProgramLanguage, limits: Limits) -> None:
        self.session = session
        self._language: ProgramLanguage = language
        self._limits = limits

    async def run(self, code: str, answer: Answer = echo, **limits: Any) -> Outcome:
        program = Program(code=dedent(code), language=self._language)
        with anyio.fail_after(WAIT):
            return await self.session.run(program, Door(answer=answer), replace(self._limits, **limits))

    async def says(self, code: str, answer: Answer = echo, **limits: Any) -> str:
        """What a program prints that is expected to succeed."""
        outcome = await self.run(code, answer, **limits)
        assert (outcome.exit_code, outcome.ended, outcome.stderr.text) == (0, None, ""), outcome
        assert self.session.is_alive
        return outcome.stdout.text

    async def result(self, code: str, answer: Answer = echo, **limits: Any) -> Any:
        outcome = await self.run(code, answer, **limits)
        assert (outcome.exit_code, outcome.ended, outcome.has_result) == (0, None, True), outcome
        return outcome.result

    @property
    def processes(self) -> list[int]:
        first = self.session._box.started.process.pid
        return [first, *descendants(first)]


class Place:
    """Where sessions come from."""

    def __init__(self, directory: Path) -> None:
        self.pool = ReadyBoxes(Bubblewrap(), directory / "agents", size=1)
        self.workspace = make_home(directory)
        self._open: list[BoxSession] = []

    async def talk(self, language: ProgramLanguage = "python", **limits: Any) -> Talk:
        allowed = replace(LIMITS, **limits)
        session = await self.pool.open_session(language, self.workspace, allowed)
        self._open.append(session)
        return Talk(session, language, allowed)

    async def close_all(self) -> None:
        for session in self._open:
            await session.aclose()
        self._open.clear()


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """For the whole module, so that one pool can serve its tests."""
    return "asyncio"


@pytest.fixture(scope="module")
async def shared_place(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Place]:
    place = Place(tmp_path_factory.mktemp("sessions"))
    yield place
    await place.pool.aclose()


@pytest.fixture
async def place(shared_place: Place) -> AsyncGenerator[Place]:
    yield shared_place
    await shared_place.close_all()


@pytest.fixture
async def python(place: Place) -> Talk:
    return await place.talk()


@pytest.fixture
async def typescript(place: Place) -> Talk:
    return await place.talk("typescript")


# What lives on


async def test_what_a_program_names_the_next_one_has(python: Talk) -> None:
    await python.says(
        """
        import json as j, math
        from servers.demo import echo
        x, items = 1, [1, 2]
        def twice(value): return value * x
        class Account:
            total = 0
            def add(self, value):
                self.total += value
                return self
        account = Account().add(5)
        """
    )
    assert await python.result("x = 21; items.append(3); result = [twice(2), items, j.dumps(x)]") == [
        42,
        [1, 2, 3],
        "21",
    ]
    assert await python.result(
        "result = [account.add(2).total, math.floor(2.5), isinstance(account, Account)]"
    ) == [
        7,
        2,
        True,
    ]
    assert await python.result("result = (await echo(text='still imported')).text") == "still imported"
    assert await python.says("del x\nprint('x' in globals(), __name__)") == "False __main__\n"


@pytest.mark.slow
async def test_files_environment_and_directory_live_on_as_well(python: Talk) -> None:
    await python.says(
        "import os\nopen('/tmp/kept', 'w').write('text')\nos.environ['A'] = 'b'\nos.chdir('/tmp')"
    )
    assert await python.result("result = [open('kept').read(), os.environ['A'], os.getcwd()]") == [
        "text",
        "b",
        "/tmp",
    ]


async def test_an_error_keeps_what_was_set_before_it(python: Talk) -> None:
    outcome = await python.run("x = 1\nresult = 5\n1 / 0\nx = 2")
    assert (outcome.exit_code, outcome.ended, outcome.has_result) == (1, None, False)
    assert python.session.is_alive
    assert await python.result("result = x") == 1


@pytest.mark.parametrize(
    ("code", "exit_code", "told"),
    [
        ("import sys; sys.exit(3)", 3, ""),
        ("raise SystemExit('no paper')", 1, "no paper\n"),
        ("raise KeyboardInterrupt", 130, "KeyboardInterrupt"),
        ("x = = 1", 1, "SyntaxError"),
        ("def deep(): deep()\ndeep()", 1, "RecursionError"),
        ("x = '\ud800'", 1, "Error"),
        (
            "import asyncio\nasync def f(): raise ValueError(7)\nawait asyncio.create_task(f())",
            1,
            "ValueError: 7",
        ),
    ],
)
async def test_a_session_goes_on_after(python: Talk, code: str, exit_code: int, told: str) -> None:
    await python.says("kept = 7")
    outcome = await python.run(code)
    assert (outcome.exit_code, outcome.ended) == (exit_code, None), outcome
    assert told in outcome.stderr.text
    assert await python.result("result = kept") == 7


async def test_tracebacks_name_the_program_and_the_line_of_each_function(python: Talk) -> None:
    await python.says("\ndef first():\n    return 1 / 0\n")
    outcome = await python.run("def second():\n    first()\n\nsecond()")
    rows = [line.strip() for line in outcome.stderr.text.splitlines()]
    assert [row for row in rows if row.startswith("File")] == [
        'File "main_2.py", line 4, in <module>',
        'File "main_2.py", line 2, in second',
        'File "main.py", line 3, in first',
    ]
    assert {"second()", "first()", "return 1 / 0"} <= set(rows)
    assert rows[-1] == "ZeroDivisionError: division by zero"
    outcome = await python.run("x = 1\ny = = 2\n")
    assert outcome.stderr.text.splitlines()[0].strip() == 'File "main_3.py", line 2'
    outcome = await python.run("second()")
    assert 'File "main_4.py", line 1, in <module>' in outcome.stderr.text
    assert 'File "main.py", line 3, in first' in outcome.stderr.text


async def test_a_result_is_that_of_the_program_that_sets_it(python: Talk) -> None:
    assert await python.result("result = 1") == 1
    assert not (await python.run("print(result)")).has_result
    assert await python.result("result += 1") == 2
    assert await python.result("for result in range(4): pass") == 3
    assert not (await python.run("del result")).has_result
    assert await python.result("result = None") is None
    outcome = await python.run("result = {1}")
    assert (outcome.exit_code, outcome.has_result) == (0, False)
    assert "`result` was not returned, because it is not JSON" in outcome.stderr.text
    assert python.session.is_alive


@pytest.mark.slow
async def test_a_result_whose_own_methods_fail_does_not_end_the_session(python: Talk) -> None:
    outcome = await python.run(
        """
        class Odd(dict):
            def items(self):
                raise KeyError("odd")
        result = Odd(a=1)
        """
    )
    assert not outcome.has_result
    assert "satchel_guest" not in outcome.stderr.text
    assert await python.says("print(1)") == "1\n"


async def test_what_one_program_prints_is_not_in_the_output_of_another(python: Talk) -> None:
    for number in range(5):
        assert await python.says(f"print('{number}' * 3000)") == f"{number}" * 3000 + "\n"
    assert await python.says("import sys\nsys.stdout.write('no end of line')") == "no end of line"
    assert await python.says("pass") == ""


@pytest.mark.slow
async def test_what_a_thread_prints_is_in_the_output_of_the_program_that_runs_then(python: Talk) -> None:
    await python.says(
        """
        import threading
        go_on, done = threading.Event(), threading.Event()
        def work():
            go_on.wait()
            print("from the thread", flush=True)
            done.set()
        threading.Thread(target=work).start()
        """
    )
    assert await python.says("print('second')") == "second\n"
    assert await python.says("go_on.set(); done.wait(); print('third')") == "from the thread\nthird\n"


# Awaits


async def test_programs_await_on_one_loop_and_what_waits_on_it_is_kept(python: Talk) -> None:
    await python.says(
        """
        import asyncio
        loop = asyncio.get_running_loop()
        queue, lock, event = asyncio.Queue(), asyncio.Lock(), asyncio.Event()
        await queue.put("first")
        await lock.acquire()
        """
    )
    await python.says("print(end='')")  # one without a loop in between
    result = await python.result(
        """
        same = asyncio.get_running_loop() is loop
        loop.call_later(0.01, event.set)
        await asyncio.wait_for(event.wait(), 20)
        result = [same, await queue.get(), lock.locked()]
        """
    )
    assert result == [True, "first", True]


@pytest.mark.slow
async def test_tasks_that_are_left_are_cancelled_at_the_end_of_their_program(python: Talk) -> None:
    await python.says(
        """
        import asyncio
        seen = []
        async def work():
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                seen.append("cancelled")
                raise
        task = asyncio.create_task(work())
        await asyncio.sleep(0)
        """
    )
    assert await python.result("result = [seen, task.cancelled()]") == [["cancelled"], True]
    assert await python.result("import asyncio\nresult = await asyncio.sleep(0, 'on')") == "on"


# Nothing runs between two programs


def ticks_of(processes: list[int]) -> int:
    """The processor time that they have used, threads and those that were waited for included."""
    used = 0
    for process in processes:
        with suppress(OSError):
            used += sum(
                map(int, Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()[11:15])
            )
    return used


BUSY = {
    "a thread": """
import threading
def burn():
    global count
    while True:
        count += 1
count = 0
threading.Thread(target=burn, daemon=True).start()
""",
    "a process": """
import os
if os.fork() == 0:
    while True:
        pass
""",
    "processes that fork": """
import os, time
def breed():
    while True:
        if os.fork():
            os._exit(0)
        os.setsid()
        time.sleep(0.002)
for _ in range(3):
    if os.fork() == 0:
        breed()
""",
    "a process that ignores every signal": """
import os, signal
if os.fork() == 0:
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    while True:
        pass
""",
    "another program": """
import subprocess
subprocess.Popen(["bash", "-c", "while true; do :; done"])
""",
    "a thread of a process whose first thread has ended": """
import ctypes, os, threading, time
if os.fork() == 0:
    def burn():
        while True:
            pass
    threading.Thread(target=burn).start()
    ctypes.CDLL(None).syscall(60 if os.uname().machine == "x86_64" else 93, 0)
time.sleep(0.1)
""",
    "a timer": """
import signal
def again(*_):
    global count
    count += 1
count = 0
signal.signal(signal.SIGALRM, again)
signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BUSY)
async def test_between_two_programs_there_does_not_run(name: str, python: Talk) -> None:
    await python.run(BUSY[name] + "\nimport time\ntime.sleep(0.1)\n")
    processes = python.processes
    before = ticks_of(processes)
    await anyio.sleep(0.6)  # in which whatever runs would use time that is seen
    if python.processes != processes:
        with anyio.fail_after(WAIT):
            while python.session.is_alive:  # noqa: ASYNC110  it is looked at from time to time
                await anyio.sleep(0.05)
    if not python.session.is_alive:  # what does not stand still is ended, which is as good
        await until(lambda: not any(map(alive, python.processes[1:])))
        return
    assert ticks_of(processes) - before <= 1  # of a hundredth of a second
    assert await python.says("print('on')", seconds=10) == "on\n"


@pytest.mark.slow
async def test_threads_and_processes_go_on_with_the_next_program(python: Talk) -> None:
    await python.says(
        """
        import mmap, os, threading, time
        shared, count = mmap.mmap(-1, 8), 0
        def work():
            global count
            while True:
                count += 1
                time.sleep(0.0001)
        threading.Thread(target=work, daemon=True).start()
        if os.fork() == 0:
            while True:
                shared[0] = (shared[0] + 1) % 256
        while not (count and shared[0]):
            time.sleep(0.001)
        """
    )
    processes = python.processes
    before = ticks_of(processes)
    await anyio.sleep(0.5)  # in which whatever runs would use time that is seen
    assert ticks_of(processes) - before <= 1
    assert await python.result(
        """
        now, deadline = [count, shared[0]], time.monotonic() + 15
        while (count == now[0] or shared[0] == now[1]) and time.monotonic() < deadline:
            time.sleep(0.001)
        result = [count > now[0], shared[0] != now[1]]
        """
    ) == [True, True]


# Calls


async def test_programs_call_tools_one_after_the_other(python: Talk) -> None:
    asked: list[Any] = []

    async def answer(method: str, params: Json) -> Any:
        asked.append(params["arguments"]["text"])
        return params["arguments"]

    for turn in range(3):
        code = f"""
            import asyncio
            from servers.demo import echo
            from servers.demo.sync import echo as echo_now
            first = await asyncio.gather(*(echo(text=f"{turn}-{{n}}") for n in range(5)))
            result = [one.text for one in first] + [echo_now(text="{turn}-now").text]
            """
        texts = [f"{turn}-{number}" for number in range(5)] + [f"{turn}-now"]
        assert await python.result(code, answer) == texts
        assert sorted(asked) == sorted(texts)
        asked.clear()


@pytest.mark.slow
async def test_a_call_that_is_under_way_when_its_program_ends_fails_and_harms_no_later_one(
    python: Talk,
) -> None:
    ends: list[str] = []
    begun = anyio.Event()

    async def never(method: str, params: Json) -> Any:
        if params["arguments"]["text"] == "has it begun?":
            await begun.wait()
            return params["arguments"]
        begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            ends.append("cancelled")

    await python.says(
        """
        import threading, time
        from servers.demo.sync import echo
        caught = []
        def work():
            try:
                echo(text="never answered")
            except Exception as error:
                caught.append([type(error).__name__, error.kind, str(error)])
        thread = threading.Thread(target=work)
        thread.start()
        echo(text="has it begun?")
        """,
        never,
    )
    assert ends == ["cancelled"]
    result = await python.result("thread.join(15); result = [caught, echo(text='later').text]")
    assert result == [
        [["ToolError", "connection", "the program that asked for this has ended"]],
        "later",
    ]


@pytest.mark.slow
async def test_a_call_that_a_thread_makes_belongs_to_the_program_that_runs_then(python: Talk) -> None:
    heard: dict[int, list[str]] = {1: [], 2: []}

    def answer_of(turn: int) -> Answer:
        async def answer(method: str, params: Json) -> Any:
            heard[turn].append(params["arguments"]["text"])
            return params["arguments"]

        return answer

    await python.says(
        """
        import threading, time
        from servers.demo.sync import echo
        is_over, number = False, 0
        def work():
            global number
            while not is_over:
                try:
                    echo(text=str(number))
                except Exception:
                    pass  # its program had ended
                number += 1
                time.sleep(0.01)
        thread = threading.Thread(target=work)
        thread.start()
        def make_more(least):
            deadline = time.monotonic() + 15
            while number < least and time.monotonic() < deadline:
                time.sleep(0.01)
        make_more(3)
        """,
        answer_of(1),
    )
    count = len(heard[1])
    await anyio.sleep(0.2)
    assert len(heard[1]) == count > 2
    # One of them may have been under way when the first program ended.
    await python.says("make_more(number + 4); is_over = True; thread.join()", answer_of(2))
    assert len(heard[2]) > 2
    assert len(heard[1]) == count


# Limits


@pytest.mark.slow
async def test_limits_of_calls_and_output_count_for_each_program(python: Talk) -> None:
    code = "from servers.demo import echo\nfor n in range(3): await echo(text='x')"
    for _ in range(3):
        await python.says(code, calls=3)
        assert len(await python.says("print('x' * 1_000)", output=1_500)) == 1_001
    outcome = await python.run(code, calls=2)
    assert (outcome.exit_code, outcome.ended) == (1, "calls")
    assert python.session.is_alive
    outcome = await python.run("print('x' * 10_000, flush=True)\nimport time\ntime.sleep(9)", output=1_500)
    assert (outcome.exit_code, outcome.ended) == (137, "output")
    assert not python.session.is_alive


@pytest.mark.slow
async def test_processor_time_counts_for_the_session_as_a_whole(place: Place) -> None:
    talk = await place.talk(cpu_seconds=1)
    burn = "import time\nend = time.process_time() + 0.4\nwhile time.process_time() < end: pass"
    for _ in range(2):
        await talk.says(burn)
    outcome = await talk.run(burn)
    assert (outcome.exit_code, outcome.ended) == (137, "cpu"), outcome


@pytest.mark.slow
async def test_processes_and_memory_count_for_each_program(place: Place) -> None:
    talk = await place.talk(processes=8, memory=256 * MIB)
    many = """
        import threading
        wait = threading.Event()
        for _ in range(30):
            threading.Thread(target=wait.wait).start()
        """
    outcome = await talk.run(many)
    assert (outcome.exit_code, outcome.ended) == (1, "processes")
    await talk.says("wait.set()")
    outcome = await talk.run("1 / 0")
    assert (outcome.exit_code, outcome.ended) == (1, None)
    for _ in range(4):
        await talk.says("held = bytearray(100 << 20)")


# Ends


ENDS = {
    "the time is over": ("import time\ntime.sleep(60)", "timeout", 137),
    "it takes all memory": ("held = []\nwhile True: held.append(bytearray(1 << 24))", None, None),
    "it leaves": ("import os\nprint('bye', flush=True)\nos._exit(9)", None, 9),
    "it crashes": ("import ctypes\nctypes.string_at(0)", None, 128 + signal.SIGSEGV),
    "it kills itself": ("import os\nos.kill(os.getpid(), 9)", "killed", 137),
    "it becomes another program": ("import os\nos.execv('/bin/true', ['true'])", None, 0),
    "it closes every descriptor": ("import os\nos.closerange(0, 256)", None, 0),
    "it speaks for itself": (
        "import os, satchel_guest, time\nos.write(satchel_guest.bridge, b'\\xff' * 9)\ntime.sleep(9)",
        "protocol",
        137,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ENDS)
async def test_a_session_is_over_when(name: str, place: Place) -> None:
    talk = await place.talk(memory=128 * MIB)
    code, ended, exit_code = ENDS[name]
    await talk.says("x = 1")
    processes = talk.processes
    outcome = await talk.run(code, seconds=1 if ended == "timeout" else 20)
    if name == "it takes all memory":
        assert (outcome.ended, talk.session.is_alive) in (("memory", False), ("memory", True)), outcome
        if talk.session.is_alive:  # the interpreter noticed itself, and an error ends no session
            assert outcome.exit_code == 1
            assert await talk.says("held = None; print(x)") == "1\n"
        return
    assert (outcome.ended, outcome.exit_code) == (ended, exit_code), outcome
    assert not talk.session.is_alive
    await until(lambda: not any(map(alive, processes)))


@pytest.mark.slow
@pytest.mark.parametrize("when", ["between", "during"])
@pytest.mark.parametrize("who", ["the first", "the last", "all"])
async def test_a_session_that_is_killed_says_so(who: str, when: str, place: Place) -> None:
    talk = await place.talk()
    await talk.says("x = 1")
    victims = {"the first": talk.processes[:1], "the last": talk.processes[-1:], "all": talk.processes}[who]

    def kill() -> None:
        for victim in victims:
            with suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)

    async def answer(method: str, params: Json) -> Any:
        kill()
        await anyio.sleep_forever()

    if when == "between":
        kill()
    try:
        outcome = await talk.run("await call_mcp_tool('x', {})\nprint(x)", answer)
        assert (outcome.ended, outcome.exit_code) == ("killed", 137), outcome
    except SandboxError as error:  # it was noticed before anything was run
        assert when == "between"
        assert "it was killed" in error.message
    assert not talk.session.is_alive


@pytest.mark.slow
async def test_a_caller_that_gives_up_ends_the_session_unless_nothing_has_begun(place: Place) -> None:
    talk = await place.talk()
    for step in range(12):
        talk = await place.talk()
        await talk.says("x = 1")
        processes = talk.processes
        with anyio.move_on_after(0.002 * step) as scope:
            await talk.run("x = 2\nimport time\ntime.sleep(60)")
        assert scope.cancelled_caught
        if talk.session.is_alive:
            assert await talk.says("print(x)") == "1\n"
        else:
            await until(partial(none_is_alive, processes))
    assert not talk.session.is_alive  # by then it had begun


@pytest.mark.slow
async def test_a_session_that_is_closed_while_a_program_runs_ends_that_at_once(place: Place) -> None:
    talk = await place.talk()
    await talk.says("x = 1")
    begun = anyio.Event()

    async def answer(method: str, params: Json) -> Any:
        begun.set()
        await anyio.sleep_forever()

    async def run() -> None:
        outcome = await talk.run("await call_mcp_tool('x', {})", answer)
        assert (outcome.ended, outcome.exit_code) == ("killed", 137), outcome

    with anyio.fail_after(WAIT):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            await begun.wait()
            await talk.session.aclose()


# TypeScript


@pytest.mark.slow
async def test_in_typescript_what_a_program_declares_the_next_one_has(typescript: Talk) -> None:
    await typescript.says(
        """
        import { callMCPTool as call } from "satchel-runtime";
        import * as path from "node:path";
        interface Row { id: number; title?: string }
        type Rows = Row[];
        const rows: Rows = [{ id: 1 }];
        let count: number = 1;
        function twice<T extends number>(value: T): number { return value * 2; }
        class Account {
          total: number;
          constructor(total: number = 0) { this.total = total; }
          add(n: number): this { this.total += n; return this; }
        }
        const account = new Account(5);
        export const kept = "exported";
        """
    )
    assert await typescript.result(
        """
        rows.push({ id: 2 } satisfies Row);
        count = twice(21);
        const result = [rows.length, count, account.add(2).total, kept, path.basename("/a/b")];
        """
    ) == [2, 42, 7, "exported", "b"]
    assert await typescript.result(
        "const rows: string = 'again';\nlet kept = 1;\nconst result = [rows, kept];"
    ) == [
        "again",
        1,
    ]
    code = 'const result = (await call("demo.echo", { text: "still imported" }) as any).text;'
    assert await typescript.result(code) == "still imported"


@pytest.mark.slow
async def test_in_typescript_a_name_can_be_declared_again_wherever_it_stands_in_a_line(
    typescript: Talk,
) -> None:
    await typescript.says("const a = 1; const b = 2;")
    assert await typescript.result("const b = 3;\nconst a = 4; const result = [a, b];") == [4, 3]
    assert await typescript.result("let b = 5; const a = 6;\nconst result = [a, b];") == [6, 5]


@pytest.mark.slow
async def test_in_typescript_what_is_imported_beside_an_enum_is_kept_as_well(typescript: Talk) -> None:
    """An enum is more than a type: it takes a compiler, which leaves out imports that are not used yet."""
    await typescript.says(
        """
        import * as path from "node:path";
        enum Colour { Red, Green = 5 }
        class Account { constructor(public total: number = 0) {} }
        """
    )
    code = 'const result = [Colour.Green, new Account(3).total, path.basename("/a/b")];'
    assert await typescript.result(code) == [5, 3, "b"]


@pytest.mark.slow
async def test_in_typescript_an_error_keeps_what_was_set_before_it(typescript: Talk) -> None:
    outcome = await typescript.run("let x = 1;\nconst y: number = 2;\n\nthrow new Error('odd');\nx = 3;")
    assert (outcome.exit_code, outcome.ended) == (1, None)
    assert outcome.stderr.text.splitlines() == ["Error: odd", "    at main.ts:4:7"]
    for code in (
        "const = 1;",
        "Promise.reject(new Error('unhandled'));",
        "null!.x;",
        "await new Promise(() => {});",
    ):
        outcome = await typescript.run(code)
        assert (outcome.exit_code, outcome.ended) == (1, None), (code, outcome)
        assert typescript.session.is_alive
    assert await typescript.result("const result = [x, y];") == [1, 2]


@pytest.mark.slow
async def test_in_typescript_a_result_is_that_of_the_program_that_sets_it(typescript: Talk) -> None:
    assert await typescript.result("const result = 1;") == 1
    assert not (await typescript.run("console.log(result);")).has_result
    assert await typescript.result("result = { a: [null] };") == {"a": [None]}
    assert await typescript.result("export const result = 3;") == 3
    assert not (await typescript.run("let other = result;")).has_result


@pytest.mark.slow
async def test_in_typescript_tools_are_called_in_each_program(typescript: Talk) -> None:
    for turn in range(3):
        code = f"""
            const ask = (n: number) => callMCPTool("demo.echo", {{ text: `{turn}-${{n}}` }});
            const texts = await Promise.all([0, 1, 2].map(ask));
            const result = texts.map((one: any) => one.text);
            """
        assert await typescript.result(code) == [f"{turn}-{number}" for number in range(3)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [
        "setInterval(() => count++, 1);",
        "new Worker('data:text/javascript,while(true);', { type: 'module' });",
        "const spin = () => { count++; queueMicrotask(() => setTimeout(spin)); }; spin();",
    ],
)
async def test_in_typescript_nothing_runs_between_two_programs(typescript: Talk, code: str) -> None:
    await typescript.says("let count = 0;")
    # A timer keeps a program from ending, as always in Deno; so it has to be cleared, or time ends it.
    outcome = await typescript.run(code, seconds=1)
    if not typescript.session.is_alive:
        assert outcome.ended == "timeout"
        return
    processes = typescript.processes
    before = ticks_of(processes)
    await anyio.sleep(0.5)  # in which whatever runs would use time that is seen
    assert ticks_of(processes) - before <= 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "ended", "exit_code"),
    [
        ("Deno.exit(3);", None, 3),
        ("while (true);", "timeout", 137),
        ("await new Promise(() => setInterval(() => {}, 100));", "timeout", 137),
        ("Deno.kill(Deno.pid, 'SIGKILL');", None, None),
    ],
)
async def test_in_typescript_a_session_is_over_with(
    typescript: Talk, code: str, ended: str | None, exit_code: int | None
) -> None:
    await typescript.says("const x = 1;")
    outcome = await typescript.run(code, seconds=2 if ended == "timeout" else LIMITS.seconds)
    if exit_code is None:  # Deno does not let it
        assert outcome.exit_code != 0
        return
    assert (outcome.ended, outcome.exit_code) == (ended, exit_code), outcome
    assert not typescript.session.is_alive


async def test_a_session_with_many_processes_is_stopped_and_woken_in_its_agents_thread(
    python: Talk, place: Place
) -> None:
    agents: list[str] = []

    class Noted(FairThreads):
        async def run(self, agent: str, work: Callable[[], Result]) -> Result:
            agents.append(agent)
            return await super().run(agent, work)

    home = str(place.workspace.files.parent)
    python.session._aside = Aside(Noted(1, "test-session"), home, moment=0)
    assert await python.says("print(1)") == "1\n"
    assert await python.says("print(2)") == "2\n"
    # To wake it, and twice at least to stop it. On the event loop, all other agents would wait for that.
    assert set(agents) == {home} and len(agents) >= 5, agents
