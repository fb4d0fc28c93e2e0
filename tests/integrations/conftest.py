"""One Satchel for the tests of a framework, on a project with real servers."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
import yaml

from satchel import Satchel, open_satchel
from tests.projects import Project
from tests.servers import raw

ROOT = Path(__file__).resolve().parents[2]
ODD_NAMES = """
def take(self: str, config: str, run_manager: str, callbacks: str, type: str, input: str) -> list[str]:
    \"\"\"Return what it is given: names that a framework may want for itself.\"\"\"
    return [self, config, run_manager, callbacks, type, input]
"""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out of the fast suite what has no fast tests: every worker would import the frameworks."""
    is_of_framework = collection_path.name in ("test_langchain.py", "test_pydantic_ai.py")
    return True if is_of_framework and "not slow" in config.option.markexpr else None


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """For the whole module, so that one Satchel can serve its tests."""
    return "asyncio"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the server `good` was sent."""
    return tmp_path_factory.mktemp("logs") / "log"


@pytest.fixture(scope="module")
async def satchel(tmp_path_factory: pytest.TempPathFactory, log: Path) -> AsyncGenerator[Satchel]:
    """Its servers are listed: `good`, `media`, and a custom tool with odd parameters."""
    directory = tmp_path_factory.mktemp("integrations")
    settings = {
        "custom_tools": {"odd.take": "oddities:take"},
        "agents": {"default": {}, "reader": {"allow": ["good"], "deny": ["*.fail"]}},
    }
    (directory / "oddities.py").write_text(ODD_NAMES)
    servers = {"good": raw("good", log=log), "media": raw("media", instructions="Look at images.")}
    async with opened(directory, servers, settings) as satchel:
        await satchel.servers.refresh()
        yield satchel


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    """A copy of the examples."""
    ignored = shutil.ignore_patterns(".satchel", "__pycache__")
    return Path(shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=ignored))


def run_documented(examples: Path, heading: str, *, before: str = "", after: str) -> str:
    """What the program under a heading of docs/python.md prints, with a line before it and one at its end."""
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8").split(f"## {heading}\n")[1]
    (block,) = re.findall(r"^```python\n(.*?)^```$", text.split("\n## ")[0], re.MULTILINE | re.DOTALL)
    lines = [before, *block.splitlines(), f"    {after}"]
    code = "\n".join(
        ["import anyio", "async def main():", *(f"    {line}" for line in lines), "anyio.run(main)"]
    )
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=examples,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def opened(directory: Path, servers: dict[str, Any], settings: dict[str, Any] | None = None) -> Any:
    project = Project(directory, servers)
    (directory / "satchel.yaml").write_text(yaml.safe_dump(settings or {}))
    return open_satchel(project.directory, environment={**os.environ, "HOME": str(directory / "home")})
