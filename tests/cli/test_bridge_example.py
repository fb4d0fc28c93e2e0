"""The example of `satchel bridge` in the docs, pasted into a shell."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.projects import Project
from tests.servers import raw

pytestmark = pytest.mark.e2e

_DOCS = Path(__file__).parents[2] / "docs/commands.md"


def test_the_example_of_the_bridge_works_as_it_is_written_and_keeps_the_token_to_itself(
    tmp_path: Path,
) -> None:
    section = _DOCS.read_text().partition("\n## satchel bridge\n")[2]
    example = next(
        block for block in re.findall(r"(?:^    .*\n)+", section, re.MULTILINE) if "umask" in block
    )
    project = Project(tmp_path / "project", {"good": raw("good")})
    (project.directory / "script.py").write_text(
        "from servers.good import echo\nimport asyncio, os\n"
        "print(asyncio.run(echo(text='by the bridge')), oct(os.stat('bridge.env').st_mode))\n"
    )
    (project.directory / "bridge.env").write_text("false\n")  # from another time, for all to read
    (project.directory / "bridge.env").chmod(0o644)

    done = subprocess.run(
        ["sh", "-e", "-c", example],
        cwd=project.directory,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert "by the bridge" in done.stdout, done.stderr
    assert "0o100600" in done.stdout
    assert done.returncode == 0
