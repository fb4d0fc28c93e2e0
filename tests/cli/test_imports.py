"""What a command loads before it does anything: nothing of a model's library, unless a model is asked."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.server.helpers import WAIT, initialize
from tests.trino import PERSONA, trino_project

pytestmark = pytest.mark.slow

HEAVY = {"pydantic_ai", "openai", "anthropic", "google", "prompt_toolkit", "genai_prices", "rich"}
_IMPORTED = re.compile(r"^import time:.*\|\s*([\w.]+)$", re.MULTILINE)


VIEW = {"name": "view_skill", "arguments": {"name": "trino-debug"}}
COMMANDS = (["list"], ["serve"], ["skills", "list"], ["conversations", "list"])


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_nothing_of_a_models_library_is_loaded_without_the_loop(tmp_path: Path, command: list[str]) -> None:
    project = trino_project(tmp_path / "project", {"agents": {"default": {"model": "openai:gpt-5-mini"}}})
    view = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": VIEW}).encode()
    ready = b'{"jsonrpc": "2.0", "method": "notifications/initialized"}'
    with (tmp_path / "stderr").open("wb+") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-X", "importtime", "-m", "satchel", *command],
            cwd=project.directory,
            env={"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
        )
        assert process.stdin is not None and process.stdout is not None
        with process:
            if command == ["serve"]:
                process.stdin.write(b"\n".join((initialize(), ready, view, b"")))
                process.stdin.flush()
                answers = process.stdout.readline(), process.stdout.readline()
                assert PERSONA.encode() in answers[-1], "it has served"
            process.communicate(timeout=WAIT)
        stderr.seek(0)
        said = stderr.read().decode()
    assert process.returncode == 0, said[-2000:]
    packages = {name.partition(".")[0] for name in _IMPORTED.findall(said)}
    assert "satchel" in packages and not packages & HEAVY
