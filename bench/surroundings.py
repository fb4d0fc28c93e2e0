"""Where a benchmark runs: a home directory of its own, and servers that are the same everywhere."""

import json
import os
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PYTHON = sys.executable
_PASSED_ON = ("LANG", "LC_ALL", "PATH", "TERM", "TZ", "USER")

Entry = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Home:
    """A user with one project and nothing else. `environment` is what a process of that user sees."""

    project: Path
    environment: Mapping[str, str]

    def configure(self, servers: Mapping[str, Entry]) -> None:
        file = self.project / "extensions_config.json"
        file.write_text(json.dumps({"mcpServers": dict(servers)}, indent=2), encoding="utf-8")


@contextmanager
def temporary_home() -> Generator[Home]:
    with TemporaryDirectory(prefix="satchel-bench-") as name:
        home = Path(name).resolve()
        project = home / "project"
        project.mkdir()
        own = {
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home / "config"),
            "XDG_CACHE_HOME": str(home / "cache"),
            "XDG_DATA_HOME": str(home / "data"),
        }
        passed = {variable: os.environ[variable] for variable in _PASSED_ON if variable in os.environ}
        yield Home(project=project, environment=passed | own)


def raw_server(behaviour: str, *options: str) -> Entry:
    """A server of the tests: standard library only, a few milliseconds to start."""
    script = ROOT / "tests" / "servers" / "raw.py"
    return {"command": PYTHON, "args": ["-I", "-S", str(script), behaviour, *options]}


def example_server(name: str) -> Entry:
    """An example server, built on the SDK. It keeps its state in the home it is started in."""
    script = ROOT / "examples" / "servers" / f"{name}.py"
    return {
        "command": PYTHON,
        "args": [str(script)],
        "env": {"SATCHEL_EXAMPLES_STATE": "${HOME}/examples-state"},
    }


def installed_server(environment: str, name: str, *arguments: str) -> Entry | None:
    """A public server that `make setup` installed; None where it is absent."""
    program = ROOT / ".servers" / environment / "bin" / name
    return {"command": str(program), "args": list(arguments)} if program.exists() else None


def cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
