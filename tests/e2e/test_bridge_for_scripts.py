"""A person's own script, outside of the sandbox, calls tools through `satchel bridge`."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.projects import Outcome, Project
from tests.servers import raw
from tests.upstream.helpers import heed_interrupts

pytestmark = pytest.mark.e2e

SCRIPT = """
import asyncio, sys
from servers.good import add, fail
from servers.good.sync import echo
from satchel_runtime import ToolError

async def main():
    sums = await asyncio.gather(*(add(a=number, b=1) for number in range(3)))
    print([answer["sum"] for answer in sums])
    try:
        await fail(message="as asked")
    except ToolError as error:
        print(error.kind, error.message)

print(echo(text="from a script"))
asyncio.run(main())
"""


@contextmanager
def bridge(project: Project, *options: str, **variables: str) -> Generator[tuple[str, list[str]]]:
    """(the address, what it says meanwhile) of a bridge that is ended with Ctrl-C."""
    process = subprocess.Popen(
        project.command("bridge", *options),
        cwd=project.directory,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_interrupts,
    )
    assert process.stdout is not None
    said: list[str] = []
    try:
        line = process.stdout.readline()
        found = re.fullmatch(r"export SATCHEL_BRIDGE='(.+)'\n", line)
        assert found, line or process.communicate(timeout=30)[1]
        yield found[1], said
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        assert (process.returncode, out) == (0, "")
        said += err.splitlines()
    finally:
        process.kill()
        process.communicate(timeout=30)


def run_script(project: Project, address: str) -> Outcome:
    """As a person would: with the wrappers on the path, and nothing of Satchel."""
    done = subprocess.run(
        [sys.executable, "-S", "-c", SCRIPT],
        cwd=project.directory,
        env={"PYTHONPATH": ".satchel/code-api/python", "SATCHEL_BRIDGE": address},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def test_a_script_calls_tools_until_the_bridge_ends(tmp_path: Path) -> None:
    project = Project(tmp_path / "project", {"good": raw("good")})
    assert project.run_anew("generate", "--language", "python").code == 0
    with (
        TemporaryDirectory(prefix="run-") as runtime,  # the path of a socket has to be short
        bridge(project, XDG_RUNTIME_DIR=runtime) as (address, said),
    ):
        token, _, path = address.partition("@")
        assert Path(path).parent == Path(runtime) / "satchel"
        assert Path(path).parent.stat().st_mode & 0o777 == 0o700
        assert Path(path).stat().st_mode & 0o077 == 0
        done = run_script(project, address)
        assert (done.code, done.err) == (0, "")
        assert done.out.splitlines()[1:] == ["[1, 2, 3]", "tool as asked"]
        assert "from a script" in done.out
        wrong = run_script(project, f"{token[::-1]}@{path}")
        assert (wrong.code, wrong.out) == (1, "")
        assert "did not accept the token" in wrong.err
    assert said[0] == "scripts with this variable call tools as agent 'default'; Ctrl-C ends it"
    assert said[1] == "in another terminal, with it: PYTHONPATH=.satchel/code-api/python python SCRIPT"
    assert said[2:] == ["a script was turned away: its token is not the one of this bridge"]
    assert not Path(path).exists()
    late = run_script(project, address)
    assert late.code == 1
    assert "no bridge answers at" in late.err
    audited = [line.split()[3:5] for line in project.run_anew("audit").out.splitlines()]
    assert audited == [["good.echo", "ok"], *3 * [["good.add", "ok"]], ["good.fail", "error"]]


def test_a_script_can_do_no_more_than_the_agent_of_its_bridge(tmp_path: Path) -> None:
    project = Project(tmp_path / "project", {"good": raw("good")})
    (project.directory / "satchel.yaml").write_text("agents: {careful: {deny: ['good.add']}}")
    assert project.run_anew("generate", "--language", "python").code == 0
    socket = tmp_path / "it's here"
    with bridge(project, "--socket", str(socket), "--agent", "careful") as (written, _):
        shell = shutil.which("sh")
        assert shell
        words = [shell, "-c", f"printf %s '{written}'"]
        address = subprocess.run(words, capture_output=True, text=True, timeout=30, check=True).stdout
        assert address.endswith(f"@{socket}")
        done = run_script(project, address)
    assert done.code == 1
    assert done.err.splitlines()[-1] == "PermissionError: agent 'careful' may not call 'good.add'"
