"""`satchel call` does nothing twice."""

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from tests.projects import Project
from tests.servers import raw

COUNTING = dedent("""
    import sys
    counts = {"configuration": 0, "tool": 0, "arguments": 0}

    def heed(event, arguments):
        if event == "open" and str(arguments[0]).endswith("extensions_config.json"):
            counts["configuration"] += 1

    sys.addaudithook(heed)
    from satchel.calls import arguments
    from satchel.catalog.snapshot import Snapshot

    def counted(name, function):
        def count(*given):
            counts[name] += 1
            return function(*given)
        return count

    Snapshot.tool = counted("tool", Snapshot.tool)
    arguments.check_call = counted("arguments", arguments.check_call)
    from satchel.cli.main import main
    code = main(["call", "good.echo", "text=x"])
    print(code, counts)
""")


@pytest.mark.slow
def test_files_are_read_the_tool_found_and_arguments_checked_once(tmp_path: Path) -> None:
    project = Project(tmp_path, {"good": raw("good")})
    project.run("refresh")
    done = subprocess.run(
        [sys.executable, "-c", COUNTING],
        cwd=project.directory,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "0 {'configuration': 1, 'tool': 1, 'arguments': 1}"
