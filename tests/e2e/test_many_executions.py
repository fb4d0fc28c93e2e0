"""Many programs, good, hostile and crashing, sixteen at a time: each ends right, and nothing piles up."""

import base64
import gc
import os
import runpy
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from satchel import Satchel, open_satchel
from satchel.model import Execution
from satchel.sandbox.backends.bubblewrap.ready import ReadyBoxes
from tests.projects import Project
from tests.sandbox.helpers import processes_with, wait_until_none_has
from tests.sandbox.helpers import traces as traces_of_this_process
from tests.scale import scaled
from tests.servers import HERE, raw
from tests.upstream.helpers import lines, until

EXECUTIONS = scaled(40, 200)
AT_ONCE = 16
PIXEL = base64.b64decode(runpy.run_path(str(HERE / "raw.py"))["PIXEL"])
GROWTH = 20 * 1024  # KiB that the second half may end above the first
POOLED = 4  # descriptors of the journal, which opens and closes connections as it needs them
WAIT = 60 + 3 * EXECUTIONS  # seconds; only a hang reaches it
MARK = "SATCHEL_TEST_MARK"

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.e2e,
    pytest.mark.long,
    pytest.mark.timeout(120 + 4 * EXECUTIONS),
]


@dataclass(frozen=True)
class Case:
    code: str
    is_expected: Callable[[Execution], bool]
    timeout: float = 40


def ended(*words: str) -> Callable[[Execution], bool]:
    return lambda execution: execution.ended in words and execution.exit_code != 0


def statuses(execution: Execution) -> list[str]:
    return [use.status for use in execution.tools_called]


CASES = {
    "prints": Case("print('x' * 100)", lambda execution: execution.stdout == "x" * 100 + "\n"),
    "calls": Case(
        """
import asyncio
from servers.good import add
result = sum(one.sum for one in await asyncio.gather(*(add(a=n, b=n) for n in range(30))))
""",
        lambda execution: execution.result == 870 and len(execution.tools_called) == 30,
    ),
    "gets much": Case(
        'result = len((await call_mcp_tool("big.big", {"bytes": 2_000_000}))["text"])',
        lambda execution: execution.result == 2_000_000,
    ),
    "gets files": Case(
        'import os\nimage = await call_mcp_tool("media.image")\nresult = os.stat(image["path"]).st_size',
        lambda execution: execution.result == len(PIXEL),
    ),
    "fails": Case("1 / 0", lambda execution: execution.exit_code == 1 and "ZeroDivision" in execution.stderr),
    "crashes": Case("import ctypes\nctypes.string_at(0)", lambda execution: execution.exit_code == 128 + 11),
    "exits": Case("import os\nos._exit(7)", lambda execution: execution.exit_code == 7),
    "hangs": Case("import time\ntime.sleep(600)", ended("timeout"), timeout=1),
    "hangs in a call": Case(
        'await call_mcp_tool("good.sleep", {"seconds": 600})',
        # Among so many, its time may be over before it has called.
        lambda execution: execution.ended == "timeout" and statuses(execution) in (["cancelled"], []),
        timeout=2,
    ),
    "burns": Case("while True: pass", ended("timeout", "cpu"), timeout=2),
    "takes all memory": Case("x = [bytearray(1 << 20) for _ in range(10_000)]", ended("memory")),
    "forks without end": Case(
        "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
        ended("timeout", "cpu"),
        timeout=2,
    ),
    "prints without end": Case(
        "while True: print('x' * 10_000)", ended("output", "timeout", "cpu"), timeout=5
    ),
    "breaks the protocol": Case(
        "import os, satchel_guest, time\nos.write(satchel_guest.bridge, b'\\xff' * 8)\ntime.sleep(600)",
        ended("protocol"),
    ),
    "floods the bridge": Case(
        """
import os, satchel_guest
body = b'{"id":%d,"method":"search_tools","params":{"query":"x"}}'
for number in range(1, 100_000):
    frame = body % number
    os.write(satchel_guest.bridge, len(frame).to_bytes(4, "big") + frame)
""",
        ended("calls", "calls_in_flight", "protocol", "timeout"),
        timeout=5,
    ),
    "leaves daemons": Case(
        """
import os, time
for _ in range(5):
    if os.fork() == 0:
        os.setsid()
        time.sleep(600)
""",
        lambda execution: execution.exit_code == 0,
    ),
}


def memory() -> int:
    """Of this process, in KiB."""
    gc.collect()
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1])


def traces() -> tuple[int, int, int]:
    """(descriptors, processes below this one, control groups), of which only the numbers stay the same."""
    found = traces_of_this_process()
    return found.descriptors, len(found.processes), len(found.groups)


async def settle(satchel: Satchel) -> None:
    """Boxes are made ready and groups removed in the background: until they are."""
    for sandbox in satchel.executions._runner()._sandboxes.values():
        assert isinstance(sandbox, ReadyBoxes)
        await sandbox.settle()


async def run_some(satchel: Satchel, count: int) -> list[str]:
    """Run that many, of all cases in turn; those that did not end as they should."""
    waiting = [name for _, name in zip(range(count), list(CASES) * count, strict=False)]
    wrong: list[str] = []

    async def work() -> None:
        while waiting:
            name = waiting.pop()
            execution = await satchel.execute(CASES[name].code, timeout=CASES[name].timeout)
            if not CASES[name].is_expected(execution):
                wrong.append(f"{name}: {execution}")

    async with anyio.create_task_group() as tasks:
        for _ in range(AT_ONCE):
            tasks.start_soon(work)
    return wrong


async def test_many_programs_at_once_end_as_they_should_and_leave_nothing(tmp_path: Path) -> None:
    token = f"many-{os.urandom(8).hex()}"
    log = tmp_path / "log"
    servers = {"good": raw("good", log=log), "big": raw("big"), "media": raw("media")}
    project = Project(tmp_path / "project", servers)
    limits = "cpu_seconds: 10, memory_mb: 200, disk_mb: 64, processes: 32"
    settings = f"code_execution: {{ timeout: 40, sandbox: {{ {limits}, allow_env: [{MARK}] }} }}\n"
    (project.directory / "satchel.yaml").write_text(settings)
    environment = {**os.environ, MARK: token}
    with anyio.fail_after(WAIT):
        async with open_satchel(project.directory, environment=environment) as satchel:
            assert await run_some(satchel, len(CASES)) == []
            await settle(satchel)
            before = traces()
            half = max(EXECUTIONS // 2, AT_ONCE)
            assert await run_some(satchel, half) == []
            after_first = memory()
            assert await run_some(satchel, half) == []
            growth = memory() - after_first
            assert growth < GROWTH, f"{growth} KiB more after {half} executions"
            alone = await satchel.execute(CASES["hangs in a call"].code, timeout=4.5)
            assert (alone.ended, statuses(alone)) == ("timeout", ["cancelled"])
            await settle(satchel)
            boxes = [line for line in processes_with(token) if "bwrap" in line or "/program/main.py" in line]
            assert boxes == []
            most = (before[0] + POOLED, *before[1:])
            await until(lambda: all(now <= then for now, then in zip(traces(), most, strict=True)))
            records = await satchel.journal.executions(limit=10 * EXECUTIONS + 100)
            assert len(records) == len(CASES) + 2 * half + 1
            assert {record.state for record in records} == {"done"}
            calls = await satchel.journal.calls(limit=1_000_000)
            hung = [call.status for call in calls if (call.server, call.tool) == ("good", "sleep")]
            assert set(hung) == {"cancelled"}
            assert len(hung) >= sum(line.startswith("tools/call sleep") for line in lines(log)) > 0
    wait_until_none_has(token)
