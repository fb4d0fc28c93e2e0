"""run, executions, show-execution, audit and bridge, as real processes with a real sandbox."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from satchel import open_satchel
from satchel.cli.parser import build_parser
from satchel_runtime.local import connect_to_bridge
from tests.cli.test_generate import run_on_terminal
from tests.projects import Outcome, Project
from tests.sandbox.trial.test_trial import without_namespaces
from tests.servers import raw
from tests.upstream.helpers import alive, heed_interrupts, lines, until

pytestmark = pytest.mark.e2e


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Its server has been listed; here, because this process has loaded the SDK already."""
    project = Project(tmp_path / "project", {"good": raw("good", log=tmp_path / "log")})

    async def refresh() -> None:
        async with open_satchel(project.directory) as satchel:
            await satchel.servers.refresh()

    anyio.run(refresh)
    return project


def run(project: Project, program: str, *options: str, **more: str) -> Outcome:
    return project.run("run", "-", *options, stdin=program, environment=more)


def newest(project: Project) -> str:
    return project.run("executions", "--limit", "1", "--json").json["executions"][0]["id"]


def test_a_programs_output_code_and_files_are_its_own_and_the_rest_goes_to_standard_error(
    project: Project,
) -> None:
    file = project.directory / "program.py"
    file.write_text(
        "import sys\n"
        "from servers.good import add\n"
        "print('sum', (await add(a=2, b=3))['sum'])\n"
        "print('\\x1b[31mraw', end='')\n"
        "print('to stderr', file=sys.stderr)\n"
        "open('table.csv', 'w').write('1,2')\n"
        "result = {'sum': 5}\n"
    )
    outcome = project.run("run", "program.py")
    assert (outcome.code, outcome.out) == (0, "sum 5\n\x1b[31mraw\n")
    assert outcome.err.splitlines() == [
        "to stderr",
        "wrote .satchel/agents/default/workspace/table.csv, 3 bytes",
        'result: {"sum": 5}',
    ]
    assert (project.directory / ".satchel/agents/default/workspace/table.csv").read_text() == "1,2"
    outcome = project.run("run", "program.py", "--json")
    assert outcome.err == ""
    assert outcome.json["stdout"] == "sum 5\n\x1b[31mraw"
    assert outcome.json["result"] == {"sum": 5}
    assert [use["status"] for use in outcome.json["tools_called"]] == ["ok"]


def test_a_program_that_fails_leaves_its_code_its_calls_and_where_to_read_on(project: Project) -> None:
    program = (
        "from servers.good import echo, fail\n"
        "await echo(text='a' * 20_000)\n"
        "try:\n"
        "    await fail(message='no\\x1b[31m luck')\n"
        "except Exception:\n"
        "    raise SystemExit(7)\n"
    )
    outcome = run(project, program, "--description", "try my luck")
    identity = newest(project)
    assert (outcome.code, outcome.out) == (7, "")
    first, echo, fail, last = outcome.err.splitlines()
    assert first == "calls already made (of those denied or refused, nothing was sent):"
    assert echo.startswith("  good__echo  ok  ")
    assert fail.startswith("  good__fail  error  ") and "luck" in fail
    assert last.startswith("exit code 7 after ") and last.endswith(f"; satchel show-execution {identity}")
    shown = project.run("show-execution", identity[:4])
    assert shown.code == 0
    assert "  ended        exit 7 after " in shown.out
    assert "  description  try my luck\n" in shown.out
    assert "\n  1  from servers.good import echo, fail\n" in shown.out
    calls = shown.out.partition("\ncalls:\n")[2].splitlines()
    assert [line.split()[2:4] for line in calls] == [["good.echo", "ok"], ["good.fail", "error"]]
    read = shown.out.partition("\nread:\n")[2].partition("\ncalls:\n")[0].splitlines()
    assert [line.split() for line in read if line] == [["good.echo", "untrusted"], ["good.fail", "untrusted"]]
    assert all(line.startswith("  +") for line in calls)
    assert "20 KiB → " in calls[0]
    assert "\x1b" not in shown.out
    value = project.run("show-execution", identity, "--json").json
    assert (value["id"], value["state"], value["program"]) == (identity, "done", program)
    assert value["outcome"]["exit_code"] == 7
    assert [call["tool"] for call in value["calls"]] == ["echo", "fail"]
    assert value["outcome"]["reads"] == [
        {"name": f"good.{tool}", "labels": ["untrusted"], "server": "good", "what": tool}
        for tool in ("echo", "fail")
    ]


def test_what_was_read_before_a_program_began_is_shown_with_it(project: Project) -> None:
    (project.directory / "satchel.yaml").write_text("trusted: [good]\n")
    program = """
from satchel import open_satchel
import anyio
async def main():
    async with open_satchel() as satchel:
        first = await satchel.execute('await call_mcp_tool("good.add", {"a": 1, "b": 1})', session="new")
        await satchel.execute("print(1)", session=first.session)
anyio.run(main)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=project.directory, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    shown = project.run("show-execution", newest(project)).out
    assert "\nread:\n  good.add    before it began\n" in shown, shown


def test_a_limit_ends_with_137_and_the_reason_and_executions_has_it(project: Project) -> None:
    outcome = run(project, "# wait\nimport time\ntime.sleep(60)", "--timeout", "0.5")
    assert (outcome.code, outcome.out) == (137, "")
    assert outcome.err.startswith("ended: timeout: it ran longer than 0.5 s")
    run(project, "print('x' * 30_000)\nresult = 'y' * 20_000")
    listed = project.run("executions").out.splitlines()
    assert [line.split()[4:6] for line in listed] == [["exit", "0"], ["timeout,", "exit"]]
    assert listed[1].endswith("0 calls  wait")
    (one,) = project.run("executions", "--limit", "1").out.splitlines()
    assert one.split() == listed[0].split()
    assert project.run("executions", "--agent", "nobody").err == (
        "no executions are recorded that fit these options\n"
    )


def test_what_was_left_out_is_said(project: Project) -> None:
    outcome = run(project, "print('x' * 30_000)\nresult = 'y' * 20_000")
    assert outcome.code == 0
    assert "characters left out" in outcome.out
    assert "stdout was too long: 20,001 characters left out; " in outcome.err
    assert "result was too long: it has 20,002 characters; " in outcome.err
    assert "satchel show-execution " in outcome.err


@pytest.mark.parametrize(
    ("arguments", "stdin", "said"),
    [
        (["missing.py"], "", "missing.py can't be read: No such file"),
        (["."], "", "can't be read: Is a directory"),
        (["/dev/zero"], "", "/dev/zero can't be read: it is a device"),
        (["long.py"], "", "long.py has more than 4,194,304 bytes; at most 1,048,576 characters"),
        (["-"], "#" * (4 * 1024 * 1024 + 1), "standard input has more than 4,194,304 bytes"),
        (["latin.py"], "", "latin.py is not UTF-8: byte 8 can't be read"),
        (["-", "--agent", "stranger"], "print(1)", "unknown agent 'stranger'"),
    ],
)
def test_what_cannot_be_run_ends_with_2_and_a_hint(
    project: Project, arguments: list[str], stdin: str, said: str
) -> None:
    (project.directory / "latin.py").write_bytes(b"print('\xe9')")
    (project.directory / "program.ts").write_text("console.log(1)")
    with open(project.directory / "long.py", "wb") as stream:
        stream.truncate(1 << 40)
    outcome = project.run("run", *arguments, stdin=stdin)
    assert (outcome.code, outcome.out) == (2, "")
    assert said in outcome.err
    assert "hint: " in outcome.err


def test_a_time_out_above_the_highest_is_cut_and_told(project: Project) -> None:
    outcome = project.run("run", "-", "--timeout", "9999", stdin="print(1)")
    assert (outcome.code, outcome.out) == (0, "1\n")
    assert "timeout 9999 s is more than max_timeout allows: it had 120 s" in outcome.err


def test_a_program_can_come_through_a_pipe(project: Project) -> None:
    os.mkfifo(project.directory / "pipe")
    with subprocess.Popen(["sh", "-c", "echo 'print(7)' > pipe"], cwd=project.directory):
        assert project.run("run", "pipe").out == "7\n"


def test_programs_are_not_run_where_they_could_change_a_servers_code(project: Project) -> None:
    (project.directory / "srv").mkdir()
    (project.directory / "srv/server.py").touch()
    settings = "code_execution: {sandbox: {allow_write: [srv]}}"
    (project.directory / "satchel.yaml").write_text(settings)
    assert run(project, "print('ran')").out == "ran\n"
    project.write({**project.read(), "own": {"command": sys.executable, "args": ["srv/server.py"]}})
    outcome = run(project, "print('ran')")
    assert (outcome.code, outcome.out) == (5, "")
    assert "srv/server.py, which runs outside of the sandbox" in outcome.err


def test_state_that_came_with_the_repository_is_neither_used_nor_recommended(project: Project) -> None:
    (project.directory / ".satchel/code-api/python").mkdir(parents=True)
    (project.directory / ".satchel/satchel.db").touch()
    commands = (
        ["run", "-"],
        ["call", "good.count"],
        ["generate"],
        ["executions"],
        ["audit"],
        ["bridge", "--socket", "socket"],
    )
    for command in commands:
        outcome = project.run(*command)
        assert (outcome.code, outcome.out) == (3, "")
        assert ".satchel: was not made by Satchel for you" in outcome.err
        assert "hint: look at it, then move it away: mv .satchel .satchel-old" in outcome.err


def test_a_call_is_made_as_the_agent_that_is_named(project: Project) -> None:
    (project.directory / "satchel.yaml").write_text("agents: {careful: {deny: ['good.add']}}")
    assert project.run("call", "good.add", "a=1", "b=2").code == 0
    refused = project.run("call", "good.add", "a=1", "b=2", "--agent", "careful")
    assert (refused.code, refused.out) == (1, "")
    assert "agent 'careful' may not call 'good.add'" in refused.err
    unknown = project.run("call", "good.count", "--agent", "stranger")
    assert unknown.code == 2
    assert "unknown agent 'stranger'" in unknown.err


@pytest.mark.anyio
async def test_what_a_bridge_saved_goes_with_it(tmp_path: Path) -> None:
    project = Project(tmp_path / "project", {"media": raw("media")})
    async with open_satchel(project.directory) as satchel:
        async with satchel.executions.bridge(tmp_path / "socket") as address:
            channel = await anyio.to_thread.run_sync(connect_to_bridge, address)
            saved = json.dumps(await channel.request("call_tool", {"name": "media.image", "arguments": {}}))
            os.close(channel._descriptor)
            (file,) = re.findall(r'"(/[^"]*/satchel-results-[^"]*)"', saved)
            assert Path(file).stat().st_size > 0
        assert not Path(file).parent.exists()


@pytest.mark.anyio
async def test_an_interrupt_ends_it_with_130_and_leaves_nothing_running(
    project: Project, tmp_path: Path
) -> None:
    program = "from servers.good import sleep\nprint('begun')\nawait sleep(seconds=120)"
    (project.directory / "program.py").write_text(program)
    process = subprocess.Popen(
        project.command("run", "program.py"),
        cwd=project.directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_interrupts,
    )
    await until(lambda: any("tools/call sleep" in line for line in lines(tmp_path / "log")), 60)
    below = descendants(process.pid)
    assert len(below) >= 3  # the server, the box, the program
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, "begun\n")
    assert err == "interrupted; satchel executions shows what the program had done\n"
    await until(lambda: not any(map(alive, below)))
    assert project.run("executions").out.split()[4:6] == ["cancelled,", "exit"]
    (call,) = project.run("audit", "--json").json["calls"]
    assert call["status"] == "cancelled"


FIVE_LINES = 'for i in range(5): print("line", i)\n'
LINES = "".join(f"line {i}\n" for i in range(5))


def test_what_was_printed_before_the_time_was_over_is_shown_and_recorded(project: Project) -> None:
    outcome = run(project, FIVE_LINES + "while True: pass", "--timeout", "2")
    assert (outcome.code, outcome.out) == (137, LINES)
    assert project.run("show-execution", newest(project), "--json").json["outcome"]["stdout"] == LINES


@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["interrupted", "terminated"])
async def test_what_was_printed_before_a_signal_is_shown_and_recorded(
    project: Project, number: signal.Signals
) -> None:
    program = FIVE_LINES + "open('printed', 'w')\nwhile True: pass"
    (project.directory / "program.py").write_text(program)
    process = subprocess.Popen(
        project.command("run", "program.py"),
        cwd=project.directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_interrupts,
    )
    await until((project.directory / ".satchel/agents/default/workspace/printed").exists, 60)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (128 + number, LINES)
    assert err == "interrupted; satchel executions shows what the program had done\n"
    outcome = project.run("show-execution", newest(project), "--json").json["outcome"]
    assert (outcome["ended"], outcome["stdout"]) == ("cancelled", LINES)


def descendants(process: int) -> list[int]:
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [number for child in map(int, children) for number in (child, *descendants(child))]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="user namespaces are Linux's")
def test_where_programs_cannot_be_isolated_none_is_run(project: Project) -> None:
    """The kernel really refuses: the command runs in a user namespace that may not have others."""
    done = subprocess.run(
        without_namespaces(project.command("run", "-")),
        cwd=project.directory,
        input="print('ran')",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (5, "")
    assert done.stderr.startswith(
        "error: the sandbox can't be made here: bwrap: Creating new namespace failed"
    )
    assert "hint: user namespaces are switched off: sysctl user.max_user_namespaces=" in done.stderr


def test_without_isolation_that_is_announced_on_every_start(project: Project) -> None:
    (project.directory / "satchel.yaml").write_text("code_execution: {sandbox: {backend: process}}")
    for options in ([], ["--json"]):
        outcome = run(project, "print('ran')", *options)
        assert outcome.code == 0
        assert outcome.err.startswith("warning: programs run without isolation")


def test_without_isolation_a_file_that_was_written_is_told_where_it_is(project: Project) -> None:
    (project.directory / "satchel.yaml").write_text("code_execution: {sandbox: {backend: process}}")
    outcome = run(project, "open('table.csv', 'w').write('a,b')")
    assert "wrote .satchel/agents/default/workspace/table.csv, 3 bytes" in outcome.err.splitlines()


def test_audit_has_every_call_the_newest_last(project: Project) -> None:
    (project.directory / "satchel.yaml").write_text("agents: {careful: {deny: ['good.add']}}")
    assert project.run("call", "good.echo", "text=hello").code == 0
    program = "from servers.good import add, count\nawait count()\nawait add(a=1, b=1)"
    outcome = run(project, program, "--agent", "careful")
    assert outcome.code == 1
    assert "PermissionError" in outcome.err
    rows = [line.split() for line in project.run("audit").out.splitlines()]
    assert [row[2:5] for row in rows] == [
        ["default", "good.echo", "ok"],
        ["careful", "good.count", "ok"],
        ["careful", "good.add", "denied"],
    ]
    identity = newest(project)
    assert identity not in rows[0] and identity in rows[1] and identity in rows[2]

    def found(*options: str) -> list[str]:
        return [call["tool"] for call in project.run("audit", "--json", *options).json["calls"]]

    assert found("--limit", "2") == ["count", "add"]
    assert found("--tool", "good__echo", "--since", "1h") == ["echo"]
    assert found("--agent", "careful", "--server", "good", "--tool", "add") == ["add"]
    later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    assert found("--since", later) == []


def test_without_a_journal_there_is_nothing_to_show_and_none_is_made(tmp_path: Path) -> None:
    project = Project(tmp_path / "project", {})
    for command in ("executions", "audit"):
        outcome = project.run(command)
        assert (outcome.code, outcome.out) == (0, "")
        assert outcome.err.endswith(" recorded yet\n")
    outcome = project.run("show-execution", "abc")
    assert outcome.code == 2
    assert "unknown execution 'abc'" in outcome.err
    assert "hint: satchel executions" in outcome.err
    assert not (project.directory / ".satchel").exists()


@pytest.mark.parametrize(
    ("text", "ago"),
    [("45s", 45), ("30m", 1800), ("2h", 7200), ("7d", 7 * 86400), ("1w", 7 * 86400)],
)
def test_since_takes_how_long_ago_it_was(text: str, ago: float) -> None:
    given = build_parser("audit").parse_args(["audit", "--since", text]).since
    assert abs((datetime.now(UTC) - given).total_seconds() - ago) < 10


def test_since_takes_dates_and_times_and_without_a_zone_means_here() -> None:
    def since(text: str) -> datetime:
        return build_parser("audit").parse_args(["audit", "--since", text]).since

    assert since("2026-03-04T05:06:07Z") == datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
    assert since("2026-03-04") == datetime(2026, 3, 4).astimezone()


@pytest.mark.parametrize("text", ["", "yesterday", "5", "-2h", "99999999999d", "2026-13-01", "0001-01-01"])
def test_since_refuses_what_is_no_time(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        build_parser("audit").parse_args(["audit", f"--since={text}"])
    assert ended.value.code == 2
    assert "2026-11-16T09:30" in capsys.readouterr().err


@pytest.mark.slow
def test_on_a_terminal_progress_is_shown_and_what_a_program_prints_cannot_steer_it(project: Project) -> None:
    (project.directory / "program.py").write_text(
        "import time\n"
        "from servers.good import count\n"
        "await count()\n"
        "time.sleep(2.5)\n"
        "print('\\x1b]0;owned\\x07')\n"
    )
    master, slave = pty.openpty()
    process = subprocess.Popen(
        project.command("run", "program.py"),
        cwd=project.directory,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(slave)
    shown = run_on_terminal(process, master)
    assert process.returncode == 0
    assert " s  1 call  good.count" in shown
    assert shown.rpartition("\r\x1b[K")[2] == "\ufffd]0;owned\ufffd\r\n"


@pytest.mark.slow
def test_on_a_terminal_output_is_shown_while_the_program_runs(project: Project) -> None:
    """It waits for a file that is made once its first lines were seen."""
    (project.directory / "program.py").write_text(
        "import os, sys, time\n"
        "print('first\\nseco', end='', flush=True)\n"
        "while not os.path.exists('seen'): time.sleep(0.01)\n"
        "print('nd')\n"
        "print('problem', file=sys.stderr)\n"
        "print('last', end='')\n"
    )
    master, slave = pty.openpty()
    process = subprocess.Popen(
        project.command("run", "program.py", "--timeout", "60"),
        cwd=project.directory,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(slave)
    shown = b""
    while not shown.endswith(b"first\r\nseco"):
        shown += os.read(master, 65536)
    (project.directory / ".satchel/agents/default/workspace/seen").touch()
    shown = shown.rpartition(b"\x1b[K")[2] + run_on_terminal(process, master).encode()
    assert process.returncode == 0
    printed = shown.partition(b"\x1b[2mwrote")[0]
    lines = b"first\r\nsecond\r\n"  # two pipes have no order
    assert printed in (lines + b"problem\r\nlast\r\n", lines + b"lastproblem\r\n")


def test_listing_servers_imports_nothing_of_this(project: Project) -> None:
    code = (
        "import sys\n"
        "from satchel.cli.main import main\n"
        "main(['list'])\n"
        "ours = ('satchel.' + name for name in ('sandbox', 'store', 'records', 'execute'))\n"
        "heavy = ('sqlalchemy', 'mcp', *ours)\n"
        "sys.exit(' '.join(name for name in sys.modules if name.startswith(heavy)) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=project.directory, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "1 server, 8 tools\n")


# The bridge, but for what scripts do with it: tests/e2e/test_bridge_for_scripts.py


def test_a_bridge_for_an_unknown_agent_is_refused(project: Project) -> None:
    outcome = project.run("bridge", "--agent", "stranger", "--socket", "bridge.sock")
    assert (outcome.code, outcome.out) == (2, "")
    assert "unknown agent 'stranger'" in outcome.err


def test_a_place_that_others_could_have_prepared_is_refused(project: Project, tmp_path: Path) -> None:
    runtime = tmp_path / "runtime"
    runtime.mkdir()
    place = runtime / "satchel"
    place.mkdir(mode=0o755)
    for said in ("is open to others", "is not a directory"):
        outcome = project.run("bridge", environment={"XDG_RUNTIME_DIR": str(runtime)})
        assert (outcome.code, outcome.out) == (5, "")
        assert f"{place} {said}" in outcome.err
        assert "hint: " in outcome.err
        if not place.is_symlink():
            place.rename(runtime / "elsewhere")
            place.symlink_to(runtime / "elsewhere")


def test_a_socket_that_is_in_use_is_not_taken_over_but_one_left_behind_is(
    project: Project, tmp_path: Path
) -> None:
    command = project.command("bridge", "--socket", str(tmp_path / "socket"))
    for ended_by in (signal.SIGKILL, signal.SIGTERM):
        process = subprocess.Popen(command, cwd=project.directory, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        try:
            assert process.stdout.readline().startswith("export SATCHEL_BRIDGE='")
            outcome = project.run("bridge", "--socket", str(tmp_path / "socket"))
            assert outcome.code == 2
            assert "another bridge is open at" in outcome.err
        finally:
            process.send_signal(ended_by)
            process.communicate(timeout=30)
    assert process.returncode == 0
    assert not (tmp_path / "socket").exists()


def test_a_failed_call_by_a_wire_name_is_told_without_a_stray_dot(tmp_path: Path) -> None:
    program = (
        "from satchel_runtime import call_mcp_tool\n"
        "try:\n    await call_mcp_tool('github__create_issue', {})\n"
        "except Exception as error:\n    print(error)\n"
    )
    outcome = Project(tmp_path, {"good": raw("good")}).run("run", "-", stdin=program)
    assert outcome.out.startswith("github__create_issue: unknown tool"), outcome.err
