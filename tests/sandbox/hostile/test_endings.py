"""However a program ends, or tries not to: there is a word for it, in time, and nothing stays behind."""

import os
import signal
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
import pytest

from satchel.sandbox.limits import Ended
from tests.sandbox.hostile.ground import LIMITS, SHORT, Box, run_outside

ENDLESS = {
    "loops": "while True: pass",
    "loops and ignores every signal": """
import signal
for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, signal.SIG_IGN)
while True: pass
""",
    "catches whatever is raised": """
while True:
    try:
        while True: pass
    except BaseException:
        pass
""",
    "computes one number": "9 ** 9 ** 9",
    "matches one expression": "import re\nre.match('(a+)+$', 'a' * 64 + 'b')",
    "sums without end": "sum(iter(int, 1))",
    "sleeps": "import time\ntime.sleep(10 ** 9)",
    "waits for a thread": "import threading\nthreading.Event().wait()",
    "waits in asyncio": "import asyncio\nawait asyncio.Event().wait()",
    "waits for an answer that nobody sends": """
import os, sys
while True:
    os.read(sys.modules["satchel_guest"].bridge, 1)
    os.set_blocking(sys.modules["satchel_guest"].bridge, True)
""",
    "stops itself": "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
    "stops the first process": "import os, signal, time\nos.kill(1, signal.SIGSTOP)\ntime.sleep(60)",
    "waits at exit": "import atexit, time\natexit.register(time.sleep, 60)",
    "waits in a result": """
import time
class Slow(dict):
    def items(self):
        time.sleep(60)
result = Slow(a=1)
""",
    "leaves daemons": """
import os, time
for number in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(600)
        os._exit(0)
time.sleep(600)
""",
    "forks away from whoever looks": """
import os, time
while True:
    if os.fork():
        os._exit(0) if os.getpid() > 2 else time.sleep(600)
    os.setsid()
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ENDLESS)
async def test_a_program_is_ended_at_its_time_that(name: str, box: Box) -> None:
    if name == "waits at exit" and box.way == "session":
        pytest.skip("a session goes on, and does nothing at the end of a program")
    outcome = await box.run(ENDLESS[name], SHORT)
    assert (outcome.ended, outcome.exit_code) == ("timeout", 137), outcome
    assert outcome.seconds >= SHORT.seconds


@dataclass(frozen=True, kw_only=True)
class End:
    """How a program ends by itself."""

    code: str
    exit_code: int = 0
    ended: Ended | None = None
    stdout: str = ""
    error: str = ""  # part of what it prints as an error


ENDS = {
    "leaves at once": End(code="import os\nprint('x', flush=True)\nos._exit(3)", exit_code=3, stdout="x\n"),
    "leaves at once, as if all were well": End(code="import os\nresult = 1\nos._exit(0)"),
    "exits": End(code="import sys\nsys.exit(7)", exit_code=7),
    "exits with a text": End(code="import sys\nsys.exit('enough')", exit_code=1, error="enough"),
    "exits with a number beyond all": End(code="import sys\nsys.exit(2 ** 70 + 5)", exit_code=5),
    "aborts": End(code="import os\nos.abort()", exit_code=128 + signal.SIGABRT),
    "reads where nothing is": End(code="import ctypes\nctypes.string_at(0)", exit_code=128 + signal.SIGSEGV),
    "overflows the stack of C": End(
        code="""
import sys, threading
sys.setrecursionlimit(10 ** 9)
threading.stack_size(1 << 16)
def recurse(value):
    return sorted([value], key=recurse)
recurse(0)
""",
        exit_code=128 + signal.SIGSEGV,
    ),
    "recurses": End(code="def f(): f()\nf()", exit_code=1, error="RecursionError"),
    "raises an error that can't be told": End(
        code="""
class Mean(Exception):
    def __str__(self):
        raise SystemExit(0)
    __repr__ = __str__
raise Mean
""",
        exit_code=1,
        error="Mean",
    ),
    "raises what is no error": End(code="raise KeyboardInterrupt", exit_code=130),
    "is no program": End(code="def", exit_code=1, error="SyntaxError"),
    "is no text": End(code="x = '\ud800'", exit_code=1, error="Error"),
    "has a NUL": End(code="x = 1\0", exit_code=1, error="Error"),
    "is nested too deep to be read": End(code="(" * 50_000, exit_code=1, error="Error"),
    "closes its streams": End(
        code="import os\nfor n in (0, 1, 2): os.close(n)\nprint('x', flush=True)", exit_code=1
    ),
    "replaces its streams": End(code="import sys\nsys.stdout = sys.stderr = None\nprint('x')"),
    "closes every descriptor": End(code="import os\nos.closerange(0, 1024)"),
    "reads its input": End(code="import sys\nprint(repr(sys.stdin.read()))", stdout="''\n"),
    "kills itself": End(code="import os\nos.kill(os.getpid(), 9)", exit_code=137, ended="killed"),
    "kills all others": End(
        code="""
import os
for pid in (-1, 1, os.getppid()):
    try:
        os.kill(pid, 9)
    except OSError as error:
        print(error.strerror)
""",
        stdout="No such process\n",
    ),
    "leaves a daemon": End(
        code="""
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(600)
    os._exit(0)
os.wait()
print("left")
""",
        stdout="left\n",
    ),
    "leaves a child with its output": End(
        code="import subprocess\nsubprocess.Popen(['sleep', '600'])\nprint('left')", stdout="left\n"
    ),
    "leaves threads": End(
        code="import threading, time\nthreading.Thread(target=time.sleep, args=(600,)).start()"
    ),
    "leaves timers and locks": End(
        code="""
import ctypes, fcntl, os
libc = ctypes.CDLL(None)
held = [libc.timerfd_create(1, 0) for number in range(50)]
assert min(held) > 0
assert libc.inotify_init() == -1  # it could see what the machine opens
for path in ("/workspace", "/mnt/code-api", "/usr/bin", "/opt/satchel/python"):
    fcntl.flock(os.open(path, os.O_RDONLY), fcntl.LOCK_EX)
"""
    ),
    "opens terminals": End(
        code="import os\nheld = [os.openpty() for number in range(100)]",
        exit_code=1,
        error="No such file or directory",
    ),
    "passes descriptors to itself without end": End(
        code="""
import os, socket
one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
directory = os.open("/", os.O_RDONLY)
one.setblocking(False)
try:
    while True:
        socket.send_fds(one, [b"x"], [directory, one.fileno(), other.fileno()])
except OSError:
    pass
try:
    os.open("../../etc/passwd", os.O_RDONLY, dir_fd=directory)
except FileNotFoundError:
    print("nothing above")
""",
        stdout="nothing above\n",
    ),
    "starts a program with arguments beyond all": End(
        code="import os\nos.execve('/bin/true', ['x' * 100_000] * 100, {})",
        exit_code=1,
        error="Argument list too long",
    ),
    "lowers its limits and forks": End(
        code="""
import os, resource
resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
os.fork()
""",
        exit_code=1,
        ended="processes",
    ),
    "takes every name from the interpreter": End(
        code="import builtins, sys\nvars(builtins).clear()\nsys.modules.clear()", exit_code=1
    ),
}


@pytest.mark.parametrize("name", ENDS)
async def test_there_is_an_end_to_a_program_that(name: str, box: Box) -> None:
    end = ENDS[name]
    outcome = await box.run(end.code)
    assert (outcome.exit_code, outcome.ended) == (end.exit_code, end.ended), outcome
    assert outcome.stdout.text == end.stdout
    assert end.error in outcome.stderr.text
    assert not outcome.has_result


@pytest.mark.slow
async def test_a_program_can_be_ended_while_its_box_is_being_made(box: Box) -> None:
    await box.settle(None, LIMITS)
    before = box.traces()
    for step in range(24):
        outcome = await box.run_only("import time\ntime.sleep(60)", replace(LIMITS, seconds=0.002 * step))
        assert outcome.ended == "timeout"
        with anyio.move_on_after(0.002 * step):
            await box.run_only("import time\ntime.sleep(60)")
    await box.see_that_nothing_is_left(before)


def test_outside_a_daemon_outlives_its_program(outside: Path) -> None:
    code = """
import os, time
if daemon := os.fork():
    print(daemon)
else:
    os.setsid()
    os.closerange(0, 3)
    time.sleep(30)
"""
    daemon = int(run_outside(code, outside).stdout)
    os.kill(daemon, signal.SIGKILL)


WEIRD = {
    "bytes that are no text": (b"\xff\xfe\x80", "\ufffd\ufffd\ufffd"),
    "zeros": (b"a\x00b", "a\0b"),
    "escapes of a terminal": (b"\x1b]0;title\x07\x1b[2J", "\x1b]0;title\x07\x1b[2J"),
    "half a character": (b"\xe2\x82", "\ufffd"),
    "a surrogate": (b"\xed\xa0\x80", "\ufffd\ufffd\ufffd"),
    "what looks like a frame": (b'\x00\x00\x00\x02{}{"method":"end"}', '\0\0\0\x02{}{"method":"end"}'),
}


@pytest.mark.parametrize("name", WEIRD)
async def test_output_is_data_when_it_is(name: str, box: Box) -> None:
    written, shown = WEIRD[name]
    outcome = await box.run(f"import os\nos.write(1, {written!r})")
    assert outcome.stdout.text == shown
    assert (outcome.exit_code, outcome.has_result) == (0, False)
