"""Programs in the box: what they can do there, what they are given, and what their callers are told."""

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Any

import anyio
import pytest

from satchel.errors import SandboxError
from satchel.model import Json
from satchel.sandbox.backends import USER
from satchel.sandbox.backends.bubblewrap.boxes import Bubblewrap
from satchel.sandbox.limits import Limits
from satchel.sandbox.running.home import LocalHome
from satchel.sandbox.sandbox import Answer, Door, Grants, Outcome, Program, Shown
from satchel_runtime import ToolError
from tests.sandbox.helpers import (
    ECHO,
    descriptors_of_this_process,
    echo,
    groups_of_this_process,
    make_home,
    memory_of,
    processes_with,
    wait_until_none_has,
)
from tests.upstream.helpers import until

pytestmark = pytest.mark.anyio

LIMITS = Limits(seconds=20)
WAIT = 40  # seconds; only a hang reaches it


class Box:
    """A sandbox and a workspace for programs in it."""

    def __init__(self, directory: Path, grants: Grants | None = None) -> None:
        self.sandbox = Bubblewrap(grants)
        self.workspace = make_home(directory)

    async def run(self, code: str, answer: Answer = echo, **limits: Any) -> Outcome:
        program = Program(code=dedent(code))
        with anyio.fail_after(WAIT):
            return await self.sandbox.run(
                program, self.workspace, Door(answer=answer), replace(LIMITS, **limits)
            )

    async def result(self, code: str, **more: Any) -> Any:
        """The `result` of a program that is expected to succeed."""
        outcome = await self.run(code, **more)
        assert outcome.exit_code == 0, outcome
        return outcome.result


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    box = Box(tmp_path_factory.mktemp("box"))
    yield box
    anyio.run(box.sandbox.aclose)


# Ends


async def test_what_a_program_prints_and_its_result_are_returned(box: Box) -> None:
    outcome = await box.run(
        """
        import sys
        print("to stdout", "ü")
        print("to stderr", file=sys.stderr)
        result = {"a": [1, None, "ü"], "args": sys.argv, "name": __name__}
        """
    )
    assert (outcome.exit_code, outcome.ended, outcome.detail) == (0, None, None)
    assert outcome.stdout.text == "to stdout ü\n"
    assert outcome.stderr.text == "to stderr\n"
    assert outcome.has_result
    assert outcome.result == {"a": [1, None, "ü"], "args": ["/program/main.py"], "name": "__main__"}
    assert 0 < outcome.seconds < 20


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "exit_code", "stderr"),
    [
        ("import sys; sys.exit(3)", 3, ""),
        ("raise SystemExit", 0, ""),
        ("exit_code = 0; raise SystemExit('no paper')", 1, "no paper\n"),
        ("import sys; sys.exit(256 + 5)", 5, ""),
        ("import os; os._exit(9)", 9, ""),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", 128 + 15, ""),
        ("await __import__('asyncio').sleep(0); raise SystemExit(4)", 4, ""),
    ],
)
async def test_the_exit_code_is_the_programs_own(box: Box, code: str, exit_code: int, stderr: str) -> None:
    outcome = await box.run(code)
    assert (outcome.exit_code, outcome.stderr.text, outcome.ended) == (exit_code, stderr, None)


@pytest.mark.slow
async def test_a_failed_program_has_no_result_and_one_that_sets_none_has_none(box: Box) -> None:
    assert not (await box.run("result = 1; raise SystemExit(1)")).has_result
    outcome = await box.run("print(1)")
    assert (outcome.has_result, outcome.result, outcome.result_size) == (False, None, 0)
    assert (await box.run("result = None")).has_result


@pytest.mark.slow
@pytest.mark.parametrize("value", ["{1, 2}", "float('nan')", "object()", "[float('inf')]"])
async def test_a_result_that_is_no_json_is_left_out_and_the_program_told(box: Box, value: str) -> None:
    outcome = await box.run(f"result = {value}")
    assert (outcome.exit_code, outcome.has_result) == (0, False)
    assert outcome.stderr.text.startswith("`result` was not returned, because it is not JSON")


@pytest.mark.slow
@pytest.mark.parametrize("calls", ["", 'await call_mcp_tool("demo.echo", {"text": "x"})'])
async def test_a_large_result_arrives_whole_also_after_calls(box: Box, calls: str) -> None:
    outcome = await box.run(f"{calls}\nresult = 'x' * 3_000_000", result=4_000_000)
    assert (outcome.exit_code, outcome.stderr.text) == (0, "")
    assert outcome.result == "x" * 3_000_000


@pytest.mark.slow
@pytest.mark.parametrize("size", [10, 3_000_000])
async def test_a_result_arrives_although_a_large_answer_was_never_read(box: Box, size: int) -> None:
    async def answer(method: str, params: Json) -> Any:
        await anyio.sleep(0.3)
        return "x" * 4_000_000

    outcome = await box.run(
        f"""
        import asyncio, time

        async def main():
            try:
                await asyncio.wait_for(call_mcp_tool("demo.echo", {{"text": "x"}}), 0.1)
            except TimeoutError:
                print("gave up")

        asyncio.run(main())
        time.sleep(0.6)
        result = "x" * {size}
        """,
        answer,
        result=4_000_000,
    )
    assert (outcome.exit_code, outcome.stdout.text, outcome.stderr.text) == (0, "gave up\n", "")
    assert outcome.result == "x" * size


@pytest.mark.slow
@pytest.mark.parametrize(
    ("error", "failure", "ended"),
    [
        ('RuntimeError("can\'t start new thread")', "MemoryError", "processes"),
        ("ValueError(7)", "MemoryError", "memory"),
        ("ValueError(7)", "ImportError", None),
    ],
)
async def test_a_program_whose_error_can_not_be_told_ends_whatever_threads_it_has_left(
    box: Box, error: str, failure: str, ended: str | None
) -> None:
    """As when there is no memory left to load what tells it."""
    outcome = await box.run(
        f"""
        import sys, threading
        class Finder:
            def find_spec(self, name, path=None, target=None):
                if name == "satchel_guest.telling":
                    raise {failure}
        sys.modules.pop("satchel_guest.telling", None)
        vars(sys.modules["satchel_guest"]).pop("telling", None)
        sys.meta_path.insert(0, Finder())
        threading.Thread(target=threading.Event().wait).start()
        raise {error}
        """
    )
    assert (outcome.exit_code, outcome.ended) == (1, ended)
    assert outcome.stderr.text == f"{error.partition('(')[0]}\n"


@pytest.mark.slow
async def test_threads_left_running_do_not_keep_a_program_and_its_last_wishes_are_done(box: Box) -> None:
    outcome = await box.run(
        """
        import atexit, threading, time
        threading.Thread(target=time.sleep, args=(60,)).start()
        atexit.register(print, "bye")
        print("hello")
        """
    )
    assert (outcome.stdout.text, outcome.exit_code) == ("hello\nbye\n", 0)
    assert outcome.seconds < 10


# Tracebacks


async def test_a_traceback_has_the_programs_own_lines_and_nothing_else(box: Box) -> None:
    async def fail(method: str, params: Json) -> Any:
        raise KeyError("oops")

    outcome = await box.run(
        """
        from servers.demo import echo

        async def outer():
            await inner()

        async def inner():
            await echo(text="x")

        await outer()
        """,
        fail,
    )
    assert outcome.exit_code == 1
    files = [line.strip() for line in outcome.stderr.text.splitlines() if line.strip().startswith("File")]
    assert files == [
        'File "main.py", line 10, in <module>',
        'File "main.py", line 5, in outer',
        'File "main.py", line 8, in inner',
    ]
    assert '    await echo(text="x")' in outcome.stderr.text
    assert outcome.stderr.text.endswith("satchel_runtime.ToolError: Satchel failed: KeyError: 'oops'\n")


@pytest.mark.slow
async def test_a_syntax_error_names_its_line(box: Box) -> None:
    outcome = await box.run("x = 1\ny = = 2\n")
    assert outcome.exit_code == 1
    assert outcome.stderr.text.splitlines()[0].strip() == 'File "main.py", line 2'
    assert "y = = 2" in outcome.stderr.text
    assert outcome.stderr.text.endswith("SyntaxError: invalid syntax\n")
    assert "/program" not in outcome.stderr.text


@pytest.mark.slow
async def test_an_exception_group_and_its_causes_have_the_programs_own_lines_as_well(box: Box) -> None:
    outcome = await box.run(
        """
        import asyncio

        async def one():
            try:
                {}["missing"]
            except KeyError as error:
                raise ValueError("one") from error

        async with asyncio.TaskGroup() as group:
            group.create_task(one())
        """
    )
    text = outcome.stderr.text
    assert outcome.exit_code == 1
    assert 'File "main.py", line 10, in <module>' in text
    assert 'File "main.py", line 6, in one' in text
    assert 'File "main.py", line 8, in one' in text
    assert "KeyError: 'missing'" in text
    assert "ValueError: one" in text
    assert all('"main.py"' in line for line in text.splitlines() if "File" in line)


@pytest.mark.slow
async def test_lines_of_a_module_in_the_workspace_are_the_programs_own(box: Box) -> None:
    await box.run('open("/workspace/mine.py", "w").write("def broken():\\n    1 / 0\\n")')
    outcome = await box.run("import mine\nmine.broken()")
    assert 'File "/workspace/mine.py", line 2, in broken' in outcome.stderr.text


def places(outcome: Outcome) -> list[str]:
    """The lines of a traceback that name a file."""
    return [line.strip() for line in outcome.stderr.text.splitlines() if line.strip().startswith("File")]


@pytest.mark.slow
async def test_a_traceback_has_no_lines_of_libraries_and_nothing_that_they_have_caught_themselves(
    box: Box,
) -> None:
    outcome = await box.run("import json\njson.loads('{')")
    assert places(outcome) == ['File "main.py", line 2, in <module>']
    assert outcome.stderr.text.splitlines()[-1].startswith("json.decoder.JSONDecodeError: Expecting")
    outcome = await box.run(
        """
        import functools, operator
        try:
            functools.reduce(operator.truediv, [1, 0])
        except ZeroDivisionError:
            {}["missing"]
        """
    )
    assert places(outcome) == ['File "main.py", line 4, in <module>', 'File "main.py", line 6, in <module>']
    assert "ZeroDivisionError: division by zero" in outcome.stderr.text  # which the program has seen


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [
        "import urllib.request\nurllib.request.urlopen('http://example.com')",
        "import socket\nsocket.create_connection(('192.0.2.1', 80))",
        "import asyncio\nawait asyncio.open_connection('example.com', 80)",
        "import asyncio\nawait asyncio.wait_for(asyncio.open_connection('192.0.2.1', 80), 9)",
        "import asyncio\nasync with asyncio.TaskGroup() as group: group.create_task("
        "asyncio.open_connection('192.0.2.1', 80))",
    ],
)
async def test_a_program_that_wants_a_network_is_told_that_there_is_none(box: Box, code: str) -> None:
    outcome = await box.run(code)
    text = outcome.stderr.text
    assert outcome.exit_code == 1
    assert text.endswith("\nhint: there is no network here: programs reach the outside through tools\n")
    assert 'File "main.py", line 2, in <module>' in text
    assert all('"main.py"' in line for line in text.splitlines() if "File" in line)
    assert "During handling" not in text
    assert len(text) < 500


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "hint"),
    [
        ("from servers.demo import ech", "did you mean echo?"),
        ("from servers.demo.sync import ehco", "did you mean echo?"),
        ("from servers.demo import rename", "there are echo, fail"),
        ("from servers.dmeo import echo", "did you mean servers.demo?"),
        ("import servers.demo.ech", "did you mean servers.demo.echo?"),
        ("from servers import Demoo", "did you mean demo?"),
        ("import servers.calendar", "there are demo"),
        ("from server.demo import echo", "did you mean servers?"),
        ("from satchel_runtime import serch_tools", "did you mean search_tools?"),
        ("from skills.report import report", "nothing is in skills yet"),
        ("from servers.demo import echo\nawait echo(txet='x')", "did you mean text?"),
        ("from servers.demo.sync import echo\necho(txet='x')", "did you mean text?"),
        ("from servers import demo as d\nawait d.echo(number=1)", "it takes text"),
        ("from servers.demo import echo\nawait echo('x')", "name its arguments: text"),
        ("from servers.demo import Echo", "did you mean echo?"),
        ("import demo", "did you mean servers.demo?"),
        ("from servers.my-demo import echo", "did you mean servers.demo?"),
        ("from tools.web import navigate", "nothing is in tools yet"),
        ("echo(text='x')", "write from servers.demo import echo"),
        ("demo__echo(text='x')", "write from servers.demo import echo"),
        ("await demoEcho(text='x')", "write from servers.demo import echo"),
        ("demo.echo(text='x')", "write from servers import demo"),
        ("raise toolError", "write from satchel_runtime import ToolError"),
    ],
)
async def test_a_name_that_does_not_exist_is_told_with_the_closest_ones(
    box: Box, code: str, hint: str
) -> None:
    outcome = await box.run(code)
    assert outcome.exit_code == 1
    assert outcome.stderr.text.splitlines()[-1] == f"hint: {hint}"
    assert len(places(outcome)) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [
        "from json import lods",
        "def echo(text): pass\necho(txet='x')",
        "nowhere()",
        "raise ImportError",
        "raise TypeError('echo() got an unexpected keyword argument')",
        "import sys\nsys.modules['servers.odd'] = None\nf = lambda: 1\nf.__name__ = 'g'\nf(x=1)",
    ],
)
async def test_other_errors_are_told_as_they_are(box: Box, code: str) -> None:
    outcome = await box.run(code)
    assert outcome.exit_code == 1
    assert "hint:" not in outcome.stderr.text
    assert "Error" in outcome.stderr.text.splitlines()[-1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "hint"),
    [
        ("import requests", "there is no network here: programs reach the outside through tools"),
        ("import pandas", "pandas is not installed here; import Python's own modules, servers"),
        ("open('/etc/passwd')", "a program sees /workspace, /mnt and /tmp, and what"),
        ("open('/home/me/notes')", "a program sees /workspace, /mnt and /tmp, and what"),
        ("open('/etc/x', 'w')", "only /workspace, /mnt/memory, /mnt/tasks, /tmp can be written to"),
        (
            "open('servers/demo/echo.py', 'w')",
            "only /workspace, /mnt/memory, /mnt/tasks, /tmp can be written to",
        ),
        ("open('servers/Demo/Echo.py')", "did you mean servers/demo/echo.py?"),
        ("open('/mnt/code-api/servers/demo/Echo.py')", "did you mean servers/demo/echo.py?"),
        ("import { echo } from './servers/demo'", "TypeScript needs language 'typescript'"),
    ],
)
async def test_what_a_box_does_not_have_is_told_with_what_it_has(box: Box, code: str, hint: str) -> None:
    outcome = await box.run(code)
    assert outcome.exit_code == 1
    assert outcome.stderr.text.splitlines()[-1].startswith(f"hint: {hint}")


AWAIT = "hint: write await echo(…)"
BLOCKING = ", or from servers.demo.sync import echo, which needs none"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("print(echo(text='x'))", ["main.py:2: echo(…) was never awaited: nothing was called", AWAIT]),
        ("x = echo(text='x')", ["echo(…) was never awaited: nothing was called", AWAIT + BLOCKING]),
        ("echo(text='x')", ["main.py:2: echo(…) was never awaited: nothing was called", AWAIT]),
        (
            "def f():\n    echo(text='x')\nf()",
            ["main.py:3: echo(…) was never awaited: nothing was called", AWAIT],
        ),
    ],
)
async def test_a_call_that_was_not_awaited_is_told_where_the_program_went_on(
    box: Box, code: str, told: list[str]
) -> None:
    outcome = await box.run(f"from servers.demo import echo\n{code}")
    assert outcome.exit_code == 0
    assert outcome.stderr.text.splitlines() == told


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [
        "x = echo(text='x')\nx['text']",
        "echo(text='x').text",
        "x = echo(text='x')\nfor y in x: pass",
        "x = echo(text='x')\nlen(x)",
        "async def f():\n    x = echo(text='x')\n    'a' in x\nawait f()",
        "import json\nx = echo(text='x')\njson.dumps(x)",
    ],
)
async def test_an_error_about_a_call_that_was_not_awaited_is_told_with_what_to_write(
    box: Box, code: str
) -> None:
    outcome = await box.run(f"from servers.demo import echo\n{code}")
    lines = outcome.stderr.text.splitlines()
    assert outcome.exit_code == 1
    assert [line for line in lines if "hint" in line] == [AWAIT + BLOCKING], lines
    assert "never awaited" not in outcome.stderr.text
    assert "/mnt/" not in outcome.stderr.text


@pytest.mark.slow
async def test_names_of_skills_are_told_as_well(box: Box, tmp_path: Path) -> None:
    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "__init__.py").write_text("")
    (modules / "create_report.py").write_text("def create_report(title): return {}[title]\n")
    for file in (modules, *modules.iterdir()):
        file.chmod(0o755)
    tmp_path.chmod(0o755)
    workspace = replace(box.workspace, shown=replace(box.workspace.shown, modules=modules))
    told: list[str] = []
    for code in (
        "from skills.create_reprt import create_report",
        "from skills.create_report import createReport",
        "from skills.create_report import create_report\ncreate_report(titel='x')",
    ):
        with anyio.fail_after(WAIT):
            outcome = await box.sandbox.run(Program(code=code), workspace, ECHO, LIMITS)
        told.append(outcome.stderr.text.splitlines()[-1])
    assert told == [
        "hint: did you mean skills.create_report?",
        "hint: did you mean create_report?",
        "hint: did you mean title?",
    ]
    code = "from skills.create_report import create_report\ncreate_report('x')"
    with anyio.fail_after(WAIT):
        outcome = await box.sandbox.run(Program(code=code), workspace, ECHO, LIMITS)
    assert places(outcome)[1] == 'File "skills/create_report.py", line 1, in create_report'


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [
        "class Odd(Exception):\n    def __str__(self): raise ValueError\nraise Odd",
        "raise KeyboardInterrupt",
        "def deep(): deep()\ndeep()",
        "import sys\nsys.stderr = None\nraise ValueError",
    ],
)
async def test_an_error_that_is_hard_to_tell_ends_the_program_all_the_same(box: Box, code: str) -> None:
    outcome = await box.run(code)
    assert outcome.exit_code == (130 if "Interrupt" in code else 1)
    assert outcome.ended is None


# Calls


async def test_calls_can_be_awaited_at_the_top_gathered_and_made_from_threads(box: Box) -> None:
    result = await box.result(
        """
        import asyncio
        from concurrent.futures import ThreadPoolExecutor
        from servers.demo import echo
        from servers.demo.sync import echo as echo_now
        result = [(await echo(text="awaited")).text]
        gathered = await asyncio.gather(*(echo(text=str(number)) for number in range(200)))
        result.append([one.text for one in gathered] == [str(number) for number in range(200)])
        result.append(echo_now(text="blocking inside of a loop").text)
        with ThreadPoolExecutor(8) as threads:
            texts = [one.text for one in threads.map(lambda n: echo_now(text=str(n)), range(100))]
        result.append(texts == [str(number) for number in range(100)])
        """
    )
    assert result == ["awaited", True, "blocking inside of a loop", True]


@pytest.mark.slow
async def test_a_program_can_run_loops_of_its_own_or_none_at_all(box: Box) -> None:
    result = await box.result(
        """
        import asyncio
        from servers.demo import echo
        from servers.demo.sync import echo as echo_now

        async def main(text):
            return (await echo(text=text)).text

        result = [asyncio.run(main("first")), echo_now(text="blocking").text, asyncio.run(main("second"))]
        """
    )
    assert result == ["first", "blocking", "second"]


@pytest.mark.slow
async def test_threads_whose_first_calls_coincide_do_not_disturb_each_other(box: Box) -> None:
    result = await box.result(
        """
        import sys
        from concurrent.futures import ThreadPoolExecutor
        from servers.demo.sync import echo
        sys.setswitchinterval(1e-6)
        with ThreadPoolExecutor(10) as threads:
            result = sorted(int(one.text) for one in threads.map(lambda n: echo(text=str(n)), range(64)))
        """
    )
    assert result == list(range(64))


@pytest.mark.slow
async def test_a_program_can_have_as_many_threads_as_it_may(box: Box) -> None:
    result = await box.result(
        """
        import threading
        done = threading.Event()
        threads = [threading.Thread(target=done.wait) for _ in range(50)]
        for thread in threads:
            thread.start()
        done.set()
        result = len(threads)
        """
    )
    assert result == 50


@pytest.mark.slow
async def test_a_call_of_a_process_that_the_program_forked_is_refused(box: Box) -> None:
    outcome = await box.run(
        """
        import os
        from servers.demo.sync import echo
        echo(text="x")
        if os.fork() == 0:
            try:
                echo(text="from the child")
            except Exception as error:
                print(type(error).__name__, error, flush=True)
            os._exit(0)
        os.wait()
        result = echo(text="y").text
        """
    )
    assert outcome.stdout.text.startswith("NotConnectedError only the program's first process can call tools")
    assert outcome.result == "y"


@pytest.mark.slow
async def test_calls_beyond_the_limit_are_an_error_of_the_program(box: Box) -> None:
    outcome = await box.run(
        """
        from servers.demo import echo
        for number in range(4):
            await echo(text="x")
        """,
        calls=3,
    )
    assert (outcome.exit_code, outcome.ended) == (1, "calls")
    assert "may make 3 calls" in outcome.stderr.text
    assert "more than 3 calls" in (outcome.detail or "")


# What a program sees


async def test_files_stay_in_the_workspace_and_the_memory_and_nowhere_else(box: Box) -> None:
    await box.result(
        """
        for path in ("/workspace/kept", "/mnt/memory/remembered", "/tmp/lost", "relative"):
            with open(path, "w") as file:
                file.write("text")
        """
    )
    result = await box.result(
        """
        import os
        paths = ("/workspace/kept", "/mnt/memory/remembered", "relative", "/workspace/memory/remembered")
        result = [*map(os.path.exists, paths), os.listdir("/tmp"), os.getcwd()]
        """
    )
    assert result == [True, True, True, True, [], "/workspace"]
    assert (box.workspace.files / "kept").read_text() == "text"
    assert (memory_of(box.workspace) / "remembered").read_text() == "text"


@pytest.mark.slow
async def test_only_the_workspace_the_memory_the_tasks_and_tmp_can_be_written_to(box: Box) -> None:
    result = await box.result(
        """
        import os
        result = []
        for place in ("/", "/program", "/mnt", "/mnt/code-api", "/mnt/code-api/servers", "/usr", "/etc",
                      "/dev", "/opt/satchel", "/mnt/agents", "/massgen_workspace",
                      "/massgen_workspace/agents", "/massgen_workspace/agents/default", "/workspace",
                      "/mnt/memory", "/mnt/tasks", "/tmp",
                      "/dev/shm"):
            try:
                with open(os.path.join(place, "x"), "w"):
                    result.append(place)
            except OSError:
                pass
        """
    )
    assert result == ["/workspace", "/mnt/memory", "/mnt/tasks", "/tmp", "/dev/shm"]


@pytest.mark.slow
async def test_a_program_searches_the_wrappers_with_the_programs_that_come_with_satchel(box: Box) -> None:
    result = await box.result(
        """
        import subprocess
        def run(*command):
            return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        result = [
            run("rg", "--files-with-matches", "Return the text", "/mnt/code-api/servers/demo"),
            run("ast-grep", "run", "--lang", "python", "--pattern", "await call($$$)", "servers/demo/"),
        ]
        """
    )
    assert "/mnt/code-api/servers/demo/echo.py" in result[0]
    assert any(line.startswith("servers/demo/fail.py:") for line in result[1])


@pytest.mark.slow
async def test_wrappers_come_first_and_files_of_the_workspace_stand_in_for_no_module(box: Box) -> None:
    names = ("json", "satchel_runtime", "helpers", "call_mcp_tool")
    for name in names:
        (box.workspace.files / f"{name}.py").write_text("raise RuntimeError")
    result = await box.result(
        """
        import helpers.call_mcp_tool, json, satchel_runtime, servers.demo
        modules = (json, satchel_runtime, helpers, servers)
        result = [module.__file__ for module in modules if module.__file__.startswith("/workspace")]
        """
    )
    assert result == []
    for name in names:
        (box.workspace.files / f"{name}.py").unlink()


async def test_what_is_granted_is_there_and_nothing_else_is(tmp_path: Path) -> None:
    for name in ("read", "write", "other", "env"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(f"in {name}")
    os.chmod(tmp_path / "write", 0o777)  # programs run as another user, if root runs Satchel
    packages = tmp_path / f"env/lib/python3.{sys.version_info.minor}/site-packages"
    packages.mkdir(parents=True)
    (packages / "of_the_environment.py").write_text("VALUE = 'imported'\n")
    grants = Grants(
        read=(tmp_path / "read",),
        write=(tmp_path / "write",),
        environment={"TOKEN": "t", "HOME": "/elsewhere"},
        python_env=tmp_path / "env",
    )
    box = Box(tmp_path / "box", grants)
    result = await box.result(
        f"""
        import importlib.util, os
        from of_the_environment import VALUE
        root = {str(tmp_path)!r}
        def attempt(name, mode):
            try:
                with open(f"{{root}}/{{name}}/file", mode) as file:
                    return file.read() if mode == "r" else file.write("changed")
            except OSError as error:
                return type(error).__name__
        result = [
            VALUE, os.listdir(root), dict(os.environ), importlib.util.find_spec("anyio"),
            attempt("read", "r"), attempt("write", "r"), attempt("other", "r"), attempt("read", "w"),
        ]
        with open(f"{{root}}/write/new", "w") as file:
            file.write("of a program")
        """
    )
    await box.sandbox.aclose()
    value, there, environment, satchels_own, *attempts = result
    assert value == "imported"
    assert sorted(there) == ["env", "read", "write"]
    assert satchels_own is None
    assert environment == {
        "TOKEN": "t",
        "HOME": "/workspace",
        "PATH": "/opt/satchel/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "TMPDIR": "/tmp",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PWD": "/workspace",
    }
    assert attempts == ["in read", "in write", "FileNotFoundError", "OSError"]
    assert (tmp_path / "write/new").read_text() == "of a program"
    assert (tmp_path / "read/file").read_text() == "in read"


@pytest.mark.slow
async def test_programs_at_once_do_not_see_each_other(box: Box) -> None:
    outcomes: list[Outcome] = []

    async def run(number: int) -> None:
        outcomes.append(
            await box.run(
                f"""
                import os, time
                open("/tmp/{number}", "w")
                time.sleep(0.3)
                result = [os.listdir("/tmp"), os.getpid()]
                """
            )
        )

    async with anyio.create_task_group() as tasks:
        for number in range(3):
            tasks.start_soon(run, number)
    assert sorted(outcome.result[0] for outcome in outcomes) == [["0"], ["1"], ["2"]]
    assert all(outcome.result[1] <= 3 for outcome in outcomes)


async def test_values_of_variables_are_not_in_the_list_of_processes(tmp_path: Path) -> None:
    secret = f"secret-{os.urandom(8).hex()}"
    box = Box(tmp_path, Grants(environment={"TOKEN": secret}))
    found: list[bool] = []

    async def answer(method: str, params: Json) -> Any:
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                found.append(secret.encode() in path.read_bytes())

    result = await box.result(
        "import os\nawait call_mcp_tool('demo.echo', {})\nresult = os.environ['TOKEN']", answer=answer
    )
    assert result == secret
    assert found and not any(found)
    await box.sandbox.aclose()


# When the caller gives up, and when there is no box


async def test_a_caller_that_gives_up_leaves_nothing_behind(tmp_path: Path) -> None:
    token = f"mark-{os.urandom(8).hex()}"
    box = Box(tmp_path, Grants(environment={"MARK": token}))
    await box.result("result = 1")
    descriptors, groups = descriptors_of_this_process(), groups_of_this_process()
    asked = anyio.Event()

    async def answer(method: str, params: Json) -> Any:
        asked.set()
        await anyio.sleep_forever()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(
            box.run,
            """
            import os, subprocess, sys
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
            await call_mcp_tool("demo.echo", {"text": "x"})
            """,
            answer,
        )
        with anyio.fail_after(WAIT):
            await asked.wait()
        assert processes_with(token)
        tasks.cancel_scope.cancel()
    await box.sandbox.settle()
    assert groups_of_this_process() <= groups
    wait_until_none_has(token)
    await until(lambda: descriptors_of_this_process() <= descriptors)
    await box.sandbox.aclose()


@pytest.mark.slow
async def test_something_that_has_gone_from_the_host_is_told_before_anything_runs(tmp_path: Path) -> None:
    box = Box(tmp_path)
    missing = replace(box.workspace, shown=Shown(code_api=tmp_path / "missing"))
    with anyio.fail_after(WAIT), pytest.raises(SandboxError) as caught:
        await box.sandbox.run(Program(code="print(1)"), missing, ECHO, LIMITS)
    assert caught.value.hint
    await box.sandbox.aclose()


@pytest.mark.slow
async def test_without_control_groups_programs_run_as_well(tmp_path: Path) -> None:
    sandbox = Bubblewrap(use_cgroups=False)
    assert sandbox.budget.groups_of("default") is None
    workspace: LocalHome = make_home(tmp_path)
    outcome = await sandbox.run(Program(code="result = 6 * 7"), workspace, ECHO, LIMITS)
    assert outcome.result == 42
    await sandbox.aclose()


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only for root are programs another user")
async def test_programs_of_root_are_a_user_that_owns_nothing(box: Box) -> None:
    result = await box.result('import os; result = [os.getuid(), os.getgroups()]; open("mine", "w")')
    assert result == [65534, []]
    assert (box.workspace.files / "mine").stat().st_uid == USER


def test_a_tool_error_can_be_told_from_its_text() -> None:
    """What the tracebacks above end with is what programs import."""
    assert f"{ToolError.__module__}.{ToolError.__name__}" == "satchel_runtime.ToolError"
