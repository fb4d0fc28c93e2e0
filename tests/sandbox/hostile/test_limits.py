"""What a program may use: whichever way it goes beyond, it is stopped, and told which limit it was.

With control groups the kernel stops it; without, the watch does. Outside, the same programs are not stopped.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import anyio
import pytest

from satchel.errors import SandboxError
from satchel.model import Json
from satchel.sandbox.limits import MIB, Ended, Limits
from tests.sandbox.helpers import memory_of
from tests.sandbox.hostile.ground import LIMITS, Box, run_outside

SMALL = replace(LIMITS, memory=128 * MIB, disk=16 * MIB, file_size=64 * MIB, files=500, processes=16)
TWO_FILES = replace(SMALL, file_size=12 * MIB)


@dataclass(frozen=True, kw_only=True)
class Excess:
    """A program that takes too much; with `outside`, what it prints where nobody stops it."""

    code: str
    ended: Ended
    limits: Limits = SMALL
    outside: str = ""
    keeps_it: bool = False
    """Whether it is still there a while later: what nobody holds any more needs no stopping."""


EXCESSES = {
    "forks": Excess(
        code="import os\nwhile True:\n    os.fork()",
        ended="processes",
    ),
    "forks children that wait": Excess(
        code="""
import os, time
for number in range(100):
    if os.fork() == 0:
        time.sleep(1)
        os._exit(0)
print("100 children")
""",
        ended="processes",
        outside="100 children\n",
    ),
    "starts threads": Excess(
        code="""
import threading
held = threading.Event()
for number in range(100):
    threading.Thread(target=held.wait).start()
held.set()
print("100 threads")
""",
        ended="processes",
        outside="100 threads\n",
    ),
    "fills a list": Excess(
        code="held = [bytearray(1_000_000) for number in range(200)]\nprint('200 MB')",
        ended="memory",
        outside="200 MB\n",
    ),
    "takes memory in many processes, each below the limit": Excess(
        code="""
import os, time
for number in range(5):
    if os.fork() == 0:
        held = bytearray(50_000_000)
        held[::4096] = b"x" * len(held[::4096])
        time.sleep(8)
""",
        ended="memory",
        keeps_it=True,
    ),
    "takes memory in processes that nobody may look into": Excess(
        code="""
import ctypes, os, time
PR_SET_DUMPABLE = 4
for number in range(5):
    if os.fork() == 0:
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
        held = bytearray(50_000_000)
        held[::4096] = b"x" * len(held[::4096])
        time.sleep(8)
""",
        ended="memory",
        keeps_it=True,
    ),
    "takes memory that processes share": Excess(
        code="""
import mmap, os, time
for number in range(5):
    held = mmap.mmap(-1, 50_000_000)
    held[::4096] = b"x" * len(held[::4096])
    if os.fork() == 0:
        time.sleep(8)
    held.close()
""",
        ended="memory",
        keeps_it=True,
    ),
    "maps more than there is": Excess(
        code="import mmap\nmmap.mmap(-1, 2_000_000_000)\nprint('200 MB')",
        ended="memory",
        outside="200 MB\n",
    ),
    "fills /tmp": Excess(
        code="""
import os, tempfile
with tempfile.TemporaryDirectory() as directory, open(directory + "/x", "wb") as file:
    for number in range(30):
        file.write(bytes(1_000_000))
print("30 MB")
""",
        ended="disk",
        outside="30 MB\n",
    ),
    "fills /dev/shm": Excess(
        code="""
import os
with open(f"/dev/shm/satchel-test-{os.getpid()}", "wb") as file:
    os.unlink(file.name)
    for number in range(30):
        file.write(bytes(1_000_000))
print("30 MB")
""",
        ended="disk",
        outside="30 MB\n",
    ),
    "fills the workspace": Excess(
        code="""
import time
for number in range(3):
    with open(f"{number}", "wb") as file:
        file.write(bytes(10_000_000))
print("30 MB")
""",
        ended="disk",
        limits=TWO_FILES,
        keeps_it=True,
        outside="30 MB\n",
    ),
    "fills the memory directory": Excess(
        code="""
import time
for number in range(3):
    with open(f"/mnt/memory/{number}", "wb") as file:
        file.write(bytes(10_000_000))
""",
        ended="disk",
        keeps_it=True,
        limits=TWO_FILES,
    ),
    "fills files that it has unlinked": Excess(
        code="""
import os, time
held = []
for number in range(3):
    held.append(open("x", "wb"))
    os.unlink("x")
    held[-1].write(bytes(10_000_000))
""",
        ended="disk",
        keeps_it=True,
        limits=TWO_FILES,
    ),
    "fills files that it has unlinked, closed and mapped": Excess(
        code="""
import mmap, os, time
held = []
for number in range(3):
    with open("x", "w+b") as file:
        file.write(bytes(10_000_000))
        file.flush()
        held.append(mmap.mmap(file.fileno(), 10_000_000))
    os.unlink("x")
""",
        ended="disk",
        keeps_it=True,
        limits=TWO_FILES,
    ),
    "fills such files in a process whose first thread has ended": Excess(
        code="""
import ctypes, os, threading, time
libc = ctypes.CDLL(None)
libc.mmap.argtypes = [ctypes.c_void_p, *[ctypes.c_size_t] * 5]
def fill():
    for number in range(3):
        with open("x", "w+b", buffering=0) as file:
            file.write(bytes(10_000_000))
            libc.mmap(None, 10_000_000, 1, 1, file.fileno(), 0)  # Python's own would keep the file open
        os.unlink("x")
    time.sleep(8)
    os._exit(0)
threading.Thread(target=fill).start()
libc.syscall({"x86_64": 60, "aarch64": 93}[os.uname().machine], 0)
""",
        ended="disk",
        limits=TWO_FILES,
    ),
    "fills files behind a path that is too long": Excess(
        code="""
import os, time
for number in range(20):
    os.mkdir("d" * 250)
    os.chdir("d" * 250)
for number in range(3):
    with open(f"{number}", "wb") as file:
        file.write(bytes(10_000_000))
""",
        ended="disk",
        keeps_it=True,
        limits=TWO_FILES,
    ),
    "fills files in a directory that it has closed": Excess(
        code="""
import os, time
os.mkdir("closed")
held = [open(f"closed/{number}", "wb") for number in range(3)]
os.chmod("closed", 0)
for file in held:
    file.write(bytes(10_000_000))
""",
        ended="disk",
        keeps_it=True,
        limits=TWO_FILES,
    ),
    "reserves space without writing": Excess(
        code="""
import os, time
for number in range(3):
    with open(f"{number}", "wb") as file:
        os.posix_fallocate(file.fileno(), 0, 10_000_000)
""",
        ended="disk",
        keeps_it=True,
        limits=TWO_FILES,
    ),
    "makes a million files": Excess(
        code="""
for number in range(1_000_000):
    open(f"{number}", "x").close()
""",
        ended="disk",
    ),
    "makes directories in directories": Excess(
        code="""
import os, time
for number in range(2_000):
    os.mkdir("d")
    os.chdir("d")
""",
        ended="disk",
        keeps_it=True,
        limits=replace(SMALL, files=100_000),
    ),
    "makes a file of a petabyte": Excess(
        code="import os\nos.truncate(os.open('x', os.O_CREAT | os.O_RDWR), 2 ** 50)",
        ended="file_size",
    ),
    "makes a large file": Excess(
        code="""
with open("/tmp/x", "wb") as file:
    for number in range(20):
        file.write(bytes(1_000_000))
""",
        ended="file_size",
        limits=TWO_FILES,
    ),
    "opens files": Excess(
        code="held = [open('/dev/null') for number in range(300)]\nprint('300 files')",
        ended="open_files",
        outside="300 files\n",
    ),
    "has the kernel watch descriptors, of which a user has only so many": Excess(
        code="""
import os, select, time
for number in range(8):
    if os.fork() == 0:
        watched = [os.eventfd(0) for number in range(120)]
        polls = [select.epoll() for number in range(110)]
        for poll in polls:
            for descriptor in watched:
                poll.register(descriptor)
        time.sleep(60)
""",
        ended="open_files",
        keeps_it=True,
    ),
    "has it watch one descriptor under many numbers": Excess(
        code="""
import os, select
watched = [os.eventfd(0) for number in range(50)]
polls = [select.epoll() for number in range(30)]
for poll in polls:
    for descriptor in watched:
        for number in range(100, 200):
            poll.register(os.dup2(descriptor, number))
            os.close(number)
""",
        ended="open_files",
        keeps_it=True,
    ),
    "computes": Excess(
        code="while True:\n    pass",
        ended="cpu",
        limits=replace(SMALL, cpu_seconds=0.5),
    ),
    "computes in several processes, and in children of theirs": Excess(
        code="""
import os
os.fork()
while True:
    if os.fork() == 0:
        sum(range(300_000))
        os._exit(0)
    os.wait()
""",
        ended="cpu",
        limits=replace(SMALL, cpu_seconds=0.5),
    ),
    "prints": Excess(
        code="import os\nwhile True:\n    os.write(1, b'x' * 65536)",
        ended="output",
        limits=replace(SMALL, output=8 * MIB),
    ),
    "prints errors": Excess(
        code="import sys\nwhile True:\n    print('x' * 1_000, file=sys.stderr)",
        ended="output",
        limits=replace(SMALL, output=8 * MIB),
    ),
    "makes calls": Excess(
        code="""
from satchel_runtime import call_mcp_tool
while True:
    await call_mcp_tool("a__b", {})
""",
        ended="calls",
        limits=replace(SMALL, calls=20),
    ),
    "makes calls that it knows to be too many": Excess(
        code="""
from satchel_runtime import call_mcp_tool
while True:
    try:
        await call_mcp_tool("a__b", {})
    except Exception:
        pass
""",
        ended="calls",
        limits=replace(SMALL, calls=20),
    ),
    "searches": Excess(
        code="""
from satchel_runtime import search_tools
while True:
    await search_tools("x")
""",
        ended="calls",
        limits=replace(SMALL, calls=20),
    ),
    "makes calls at once": Excess(
        code="""
import asyncio
from satchel_runtime import call_mcp_tool
await asyncio.gather(*(call_mcp_tool("a__wait", {}) for number in range(100)))
""",
        ended="calls_in_flight",
        limits=replace(SMALL, calls_in_flight=2),
    ),
}


async def answer(method: str, params: Json) -> Json:
    if params.get("name") == "a__wait":
        await anyio.sleep_forever()
    return {}


@pytest.mark.slow
@pytest.mark.parametrize("name", EXCESSES)
async def test_a_program_is_stopped_that(name: str, box: Box, outside: Path) -> None:
    excess = EXCESSES[name]
    more = "\nimport time\ntime.sleep(8)" if excess.keeps_it else ""
    outcome = await box.run(excess.code + more, excess.limits, answer)
    assert outcome.ended == excess.ended, outcome
    assert outcome.exit_code != 0
    assert outcome.detail
    assert not outcome.has_result
    if excess.outside:
        done = run_outside(excess.code, outside)
        assert (done.stdout, done.returncode) == (excess.outside, 0), done


MAPPINGS = """
import ctypes, os, time
map_page = ctypes.CDLL(None).mmap
map_page.argtypes = [ctypes.c_void_p, *[ctypes.c_size_t] * 5]
file = os.open("/usr/bin/env", os.O_RDONLY)
for number in range({mappings}):
    map_page(None, 4096, 1, 2, file, 4096 * (number % 2))
for number in range({forks}):
    if os.fork() == 0:
        time.sleep(20)
        os._exit(0)
"""
"""A program that takes long to look at: mappings are cheap, and each child has them all."""
MANY = MAPPINGS.format(mappings=60_000, forks=24)
WIDE = replace(SMALL, memory=1024 * MIB, processes=40)


@pytest.mark.slow
@pytest.mark.parametrize("is_unlinked", [False, True], ids=["named", "unlinked"])
async def test_what_is_written_is_seen_though_there_is_much_to_look_at(is_unlinked: bool, box: Box) -> None:
    await box.settle(None, WIDE)
    outcome = await box.run_only(
        MANY
        + f"""
held = []
for number in range(100):
    held.append(open(f"{{number}}", "wb"))
    if {is_unlinked}:
        os.unlink(held[-1].name)
    held[-1].write(bytes(4_000_000))
    held[-1].flush()
    with open("/mnt/memory/written", "w") as file:
        print(number + 1, file=file)
    time.sleep(0.1)
time.sleep(5)
""",
        WIDE,
    )
    # Without control groups the mappings themselves may be more memory than there is to look at.
    assert outcome.ended == "disk" or (outcome.ended == "memory" and not box.use_cgroups), outcome
    assert outcome.detail
    counted = memory_of(box.workspace) / "written"
    written = int(counted.read_text() or 0) if counted.exists() else 0
    assert written * 4_000_000 < 200 * MIB  # of 400: the machine may be busy
    box.clear()  # no program begins where so much is left
    await box.run("pass", WIDE)  # whose end takes the group along if that was not empty in time


@pytest.mark.slow
async def test_programs_with_much_to_look_at_do_not_keep_another_agent_waiting(box: Box) -> None:
    if box.way != "pool":
        pytest.skip("the same threads look at every kind of box")
    other = box.make_workspace("other")
    for number in range(300):  # so many that they are measured in a thread
        (other.files / f"{number}").touch()
    for workspace in (None, other):
        await box.settle(workspace, WIDE)
    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(box.run_only, MANY + "time.sleep(15)", WIDE)
        for _ in range(20):
            with anyio.fail_after(6):  # a tenth of a second, or nine where all threads are taken
                outcome = await box.run_only("print(1)", WIDE, workspace=other)
            assert outcome.stdout.text == "1\n", outcome
            await anyio.sleep(0.1)
    await box.run("pass", WIDE)


@pytest.mark.slow
async def test_a_workspace_that_is_too_full_already_does_not_hide_what_comes_on_top(box: Box) -> None:
    # More than TWO_FILES allows, so that only growth can tell; less than twice that, so that programs begin.
    planted = await box.run("""
import os
for number in range(2):
    with open(f"{number}", "wb") as file:
        file.write(bytes(10_000_000))
for number in range(12):
    os.makedirs(f"d{number}/" + "d/" * 50)
""")
    assert planted.exit_code == 0, planted
    larger = "import time\nwith open('0', 'ab') as file:\n    file.write(bytes(1_000_000))\ntime.sleep(8)"
    more = "import os, time\nos.mkdir('e')\ntime.sleep(8)"
    assert (await box.run_only(larger, TWO_FILES)).ended == "disk"
    assert (await box.run(more, TWO_FILES)).ended == "disk"


@pytest.mark.slow
async def test_programs_do_not_fill_a_workspace_further_and_further(box: Box) -> None:
    fills = """
import os, time
for number in range(60):
    with open(f"{time.monotonic_ns()}", "wb") as file:
        file.write(bytes(1 << 20))
time.sleep(8)
"""
    with pytest.raises(SandboxError, match="more than 2 times what they may") as refused:
        for _ in range(20):  # of which each writes before anybody looks
            assert (await box.run_only(fills, SMALL)).ended == "disk"
    places = " and ".join(map(str, box.workspace.own))
    assert refused.value.hint == f"delete files in {places}, or run satchel agents clear-workspace agent"
    for path in box.workspace.files.iterdir():
        if path.is_file() and not path.is_symlink():
            path.unlink()
    assert (await box.run_only("print(1)", SMALL)).stdout.text == "1\n"


@pytest.mark.slow
async def test_a_workspace_that_is_too_full_can_be_tidied_up(box: Box) -> None:
    full = await box.run("for number in range(600):\n    open(f'{number}', 'x').close()", LIMITS)
    assert full.exit_code == 0
    tidied = await box.run(
        "import os, time\ntime.sleep(0.5)\nfor number in range(600):\n    os.unlink(f'{number}')\n", SMALL
    )
    assert (tidied.exit_code, tidied.ended) == (0, None), tidied


KERNEL_MEMORY = {
    "in the buffers of sockets": """
import os, socket, time
for number in range(8):
    if os.fork() == 0:
        held = []
        try:
            while True:
                pair = socket.socketpair()
                held.append(pair)
                for end in pair:
                    end.setblocking(False)
                    try:
                        while True:
                            end.send(bytes(100_000))
                    except BlockingIOError:
                        pass
        except OSError:
            time.sleep(8)
time.sleep(8)
""",
    "in empty files": """
import os
for number in range(10_000_000):
    os.close(os.open(f"/tmp/{number:0200}", os.O_CREAT))
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNEL_MEMORY)
async def test_with_control_groups_memory_of_the_kernel_counts_as_well(name: str, box: Box) -> None:
    if not box.use_cgroups:
        pytest.skip("only control groups see memory that the kernel holds for a program")
    outcome = await box.run(KERNEL_MEMORY[name], replace(SMALL, disk=256 * MIB))
    assert outcome.ended in ("memory", "disk"), outcome  # files are counted as well


@pytest.mark.slow
async def test_output_without_end_is_cut_and_the_host_does_not_grow(box: Box) -> None:
    before = _resident()
    outcome = await box.run("print('x' * 50_000_000)", replace(LIMITS, kept_output=1_000))
    assert (outcome.exit_code, outcome.ended) == (0, None)
    assert outcome.stdout.omitted == 50_000_001 - 1_000
    assert len(outcome.stdout.text) < 1_100
    assert "characters left out" in outcome.stdout.text
    assert _resident() - before < 20 * MIB


async def test_a_program_beyond_its_limits_does_not_disturb_another(box: Box) -> None:
    found: dict[str, str] = {}

    async def run(name: str, code: str, limits: Limits) -> None:
        outcome = await box.run_only(code, limits)
        found[name] = outcome.ended or outcome.stdout.text

    await box.settle(None, SMALL)
    before = box.traces()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run, "bomb", EXCESSES["forks children that wait"].code, SMALL)
        tasks.start_soon(run, "hog", "held = bytearray(200_000_000)", SMALL)
        tasks.start_soon(run, "good", "import os\nos.fork() or os._exit(0)\nos.wait()\nprint(42)", SMALL)
    assert found == {"bomb": "processes", "hog": "memory", "good": "42\n"}
    await box.see_that_nothing_is_left(before)


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
