"""Programs of a session that want to go on when they have ended: between two of them nothing is to happen."""

import ctypes
import os
import socket
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import anyio
import pytest

from satchel.errors import SandboxError
from satchel.model import Json
from satchel.sandbox.backends.bubblewrap.boxes import Bubblewrap
from satchel.sandbox.backends.bubblewrap.ready import ReadyBoxes
from satchel.sandbox.running.disk import alone, measure, tidy
from satchel.sandbox.running.home import LocalHome
from satchel.sandbox.running.processes import descendants
from satchel.sandbox.running.session import BoxSession
from satchel.sandbox.sandbox import Door, Program
from tests.sandbox.helpers import make_home
from tests.sandbox.hostile.ground import LIMITS, nothing_to_ask

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
WAIT = 60  # seconds; only a hang reaches it
PRELUDE = """
import ctypes, os, signal, struct, threading, time
libc = ctypes.CDLL(None, use_errno=True)
def work():
    while True:
        sum(range(1000))
"""


@pytest.fixture(params=["cgroups", "watch"])
async def pool(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[ReadyBoxes]:
    pool = ReadyBoxes(Bubblewrap(use_cgroups=request.param == "cgroups"), tmp_path / "agents", size=1)
    yield pool
    await pool.aclose()


@pytest.fixture
def workspace(tmp_path: Path) -> LocalHome:
    return make_home(tmp_path)


async def run(session: BoxSession, code: str) -> Any:
    with anyio.fail_after(WAIT):
        return await session.run(Program(code=code), Door(answer=nothing_to_ask), LIMITS)


AWAKE = {
    "leaves threads of a process whose first one has ended": """
if os.fork() == 0:
    threading.Thread(target=work).start()
    time.sleep(0.05)
    libc.syscall(60 if os.uname().machine == "x86_64" else 93, 0)
time.sleep(0.2)
""",
    "has a timer wake it": """
threading.Thread(target=work, daemon=True).start()
event = struct.pack("QiiQQQQQQ", 0, int(signal.SIGCONT), 0, 0, 0, 0, 0, 0, 0)
timer = ctypes.c_void_p()
assert libc.timer_create(1, event, ctypes.byref(timer)) == 0
assert libc.timer_settime(timer, 0, struct.pack("qqqq", 0, 50_000_000, 0, 50_000_000), None) == 0
""",
    "has its alarm wake it": """
signal.signal(signal.SIGALRM, lambda *_: None)
def wake():
    while True:
        os.kill(os.getppid() if os.getppid() > 1 else os.getpid(), signal.SIGCONT)
other = os.fork()
if other == 0:
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
    wake()
threading.Thread(target=work, daemon=True).start()
""",
}


@pytest.mark.parametrize("name", AWAKE)
async def test_a_session_ends_or_stands_still_when_a_program(
    name: str, pool: ReadyBoxes, workspace: LocalHome
) -> None:
    session = await pool.open_session("python", workspace, LIMITS)
    first = session._box.started.process.pid
    await run(session, PRELUDE + AWAKE[name])
    with anyio.fail_after(WAIT):
        used = await _until_it_stands_still(first)
    assert session.is_alive or not name.startswith("leaves") or used < 1
    await session.aclose()
    assert not Path(f"/proc/{first}").exists() or _state(first) == "Z"


# A descriptor may be watched under many numbers, also when these are closed again.
WATCHES = """
import os, select
kept = globals().setdefault("kept", [])
polls = globals().setdefault("polls", [])
kept.append(os.eventfd(0))
polls.append(select.epoll())
for watched in kept:
    for number in range(100, 250):
        os.dup2(watched, number)
        polls[-1].register(number)
        os.close(number)
"""


async def test_short_programs_do_not_add_up_what_the_kernel_watches(
    pool: ReadyBoxes, workspace: LocalHome
) -> None:
    session = await pool.open_session("python", workspace, LIMITS)
    with pytest.raises(SandboxError, match=r"kernel watch more than [\d,]+ descriptors"):
        for _ in range(45):  # the last ones add 7,000 each
            await run(session, WATCHES)
    assert not session.is_alive
    await session.aclose()


async def _until_it_stands_still(first: int) -> float:
    """Wait for half a second without work. How many seconds of work there were before."""
    while True:
        used = _used([first, *descendants(first)])
        await anyio.sleep(0.5)  # in which whatever runs would have been seen to
        if _used([first, *descendants(first)]) <= used + 0.02:
            return used


def _used(processes: list[int]) -> float:
    ticks = 0
    for process in processes:
        try:
            fields = Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            continue
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _state(process: int) -> str:
    return Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()[0].decode()


async def test_what_is_sent_between_two_programs_is_not_the_second_ones(
    pool: ReadyBoxes, workspace: LocalHome
) -> None:
    asked: list[str] = []

    async def answer(method: str, params: Json) -> Any:
        asked.append(method)

    session = await pool.open_session("python", workspace, LIMITS)
    first = await run(session, "import satchel_guest\nresult = satchel_guest.bridge")
    # As whoever evades being stopped would: the frames are there before the next program begins.
    inside = os.pidfd_open(descendants(session._box.started.process.pid)[-1])
    copied = _copy(inside, first.result)
    os.close(inside)
    with socket.socket(fileno=copied) as way:
        call = b'{"id":77,"method":"call_tool","params":{"name":"x"}}'
        lie = b'{"method":"end","params":{"exit_code":0,"result":"a lie"}}'
        way.sendall(b"".join(len(part).to_bytes(4, "big") + part for part in (call, lie)))
    with anyio.fail_after(WAIT):
        outcome = await session.run(Program(code="result = 'the truth'"), Door(answer=answer), LIMITS)
    assert (outcome.ended, outcome.has_result, asked) == ("protocol", False, []), outcome
    assert outcome.detail == "something was sent between two programs of the session"
    assert not session.is_alive


def _copy(process: int, descriptor: int) -> int:
    """A descriptor of another process, as nobody in a box can have it."""
    libc = ctypes.CDLL(None, use_errno=True)
    copied = libc.syscall(438, process, descriptor, 0)
    if copied < 0:
        raise OSError(ctypes.get_errno(), "pidfd_getfd")
    return copied


async def test_nobody_tidies_up_while_a_session_is_open(pool: ReadyBoxes, workspace: LocalHome) -> None:
    session = await pool.open_session("python", workspace, LIMITS)
    await run(session, "x = 1")
    with alone(workspace.files.parent) as is_alone:
        assert not is_alone
    await session.aclose()
    with alone(workspace.files.parent) as is_alone:
        assert is_alone


def test_tidying_up_changes_no_file_that_a_link_leads_to(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    victim.chmod(0o400)
    folder = tmp_path / "victims"
    folder.mkdir()
    (folder / "kept").write_text("kept")
    folder.chmod(0o500)
    home = tmp_path / "agent"
    deep = home / "workspace"
    deep.mkdir(parents=True)
    place = deep
    for _ in range(90):
        place = place / "d"
    os.makedirs(place)
    (place / "file").write_text("x")
    (place / "link").symlink_to(victim)
    (place / "folder").symlink_to(folder)
    (place / "closed").mkdir(mode=0)
    tidy(deep)
    assert (victim.read_text(), victim.stat().st_mode & 0o777) == ("untouched", 0o400)
    assert (folder.stat().st_mode & 0o777, os.listdir(folder)) == (0o500, ["kept"])
    assert not list(home.glob(".removed-*"))
    assert measure([deep], 1000).whole


def test_the_blocks_that_a_directory_keeps_are_counted(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    before = measure([tmp_path], 1000).size
    for number in range(2000):
        (folder / f"{'n' * 200}{number}").touch()
    for file in folder.iterdir():
        file.unlink()
    assert measure([tmp_path], 1000).size == folder.stat().st_blocks * 512 >= before
