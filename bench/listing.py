"""`satchel list --json` with every server cached and none running.

The yardstick is what no command of this kind can do without: an interpreter with json, sqlite3 and argparse.
"""

import json
import shutil
import subprocess
from pathlib import Path

from bench.programs import run_in_turn
from bench.rows import Row, Skipped
from bench.surroundings import PYTHON, ROOT, Home, temporary_home
from satchel.catalog import Catalog
from satchel.config import find_paths, read_configuration
from satchel.model import Listing

DATA = ROOT.parent / "shared" / "data" / "realtools"
ROUNDS = 31
LIMIT = 5.0
SATCHEL = str(Path(PYTHON).parent / "satchel")


def measure_list() -> list[Row]:
    if not DATA.is_dir():
        raise Skipped(f"the recorded tools of public servers are not in ../{DATA.relative_to(ROOT.parent)}")
    with temporary_home() as home:
        trace = home.project / "started"
        servers, tools = _fill_cache(home, trace)
        programs = {
            "yardstick": [PYTHON, "-c", "import json, sqlite3, argparse"],
            "script": [SATCHEL, "list", "--json"],
            "module": [PYTHON, "-m", "satchel", "list", "--json"],
            "nothing": [PYTHON, "-c", ""],
        }
        _check_answer(home, programs["script"], servers, tools)
        times = run_in_turn(programs, rounds=ROUNDS, directory=home.project, environment=home.environment)
        started, how = _started(home, programs["script"], trace)
    yardstick, script, module = times["yardstick"], times["script"], times["module"]
    low, high = script.spread(yardstick)
    return [
        Row(
            name="list",
            compared=f"satchel list --json, {servers} servers and {tools} tools cached,"
            " to python -c 'import json, sqlite3, argparse'",
            value=script.wall / yardstick.wall,
            limit=LIMIT,
            notes=(
                f"satchel {script.wall:.0f} ms, python -m satchel {module.wall:.0f} ms, so the console script"
                f" is {script.wall - module.wall:+.0f} ms of it; yardstick {yardstick.wall:.0f} ms, bare"
                f" interpreter {times['nothing'].wall:.0f} ms; medians of {ROUNDS}",
                f"the middle half of the rounds lies between {low:.2f} × and {high:.2f} ×",
                f"by CPU instead of wall time, {script.cpu / yardstick.cpu:.2f} ×:"
                f" {script.cpu:.0f} ms to {yardstick.cpu:.0f} ms",
            ),
        ),
        Row(
            name="list: starts",
            compared=f"processes that satchel list --json starts, by {how}",
            value=started,
            limit=0,
            unit="",
        ),
    ]


def _fill_cache(home: Home, trace: Path) -> tuple[int, int]:
    """Record every server as if it had been listed. Starting one would leave the file `trace`."""
    recorded = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(DATA.glob("*.json"))]
    entry = {"command": "touch", "args": [str(trace)], "env": {"TOKEN": "${BENCH_TOKEN:-none}"}}
    home.configure({server["server"]: entry for server in recorded})
    paths = find_paths(config=home.project, environment=home.environment)
    catalog = Catalog(read_configuration(paths), home.environment)
    for server in recorded:
        about = server["initialize"]
        listing = Listing(
            tools=tuple(server["tools"]),
            instructions=about.get("instructions"),
            implementation=about["serverInfo"]["name"],
            version=about["serverInfo"].get("version", ""),
            protocol_version=about["protocolVersion"],
        )
        catalog.record(catalog.entries[server["server"]], listing)
    return len(recorded), sum(len(server["tools"]) for server in recorded)


def _check_answer(home: Home, command: list[str], servers: int, tools: int) -> None:
    answer = json.loads(
        subprocess.run(
            command, cwd=home.project, env=dict(home.environment), capture_output=True, check=True
        ).stdout
    )
    listed = [server for server in answer["servers"] if server["state"] == "listed"]
    if (len(listed), answer["total_tools"]) != (servers, tools):
        raise RuntimeError(f"{len(listed)} servers and {answer['total_tools']} tools were listed")


def _started(home: Home, command: list[str], trace: Path) -> tuple[int, str]:
    """How many processes the command starts, and how that was found out."""
    if shutil.which("strace") is None:
        return int(trace.exists()), "the file a server would leave"
    log = home.project / "strace"
    calls = "trace=execve,execveat,fork,vfork,clone,clone3"
    subprocess.run(
        ["strace", "-f", "-qq", "-e", calls, "-o", str(log), *command],
        cwd=home.project,
        env=dict(home.environment),
        stdout=subprocess.DEVNULL,
        check=True,
    )
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    forks = [line for line in lines if "CLONE_THREAD" not in line and "execve" not in line]
    programs = [line for line in lines if "execve" in line and line.endswith("= 0")][1:]  # the first is ours
    return max(len(forks), len(programs), int(trace.exists())), "strace"
