"""A project directory for tests, and the `satchel` command run in it as a real process."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.commands import forked_command, run_command


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Project:
    """A directory with an extensions_config.json."""

    def __init__(self, directory: Path, servers: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        if servers is not None:
            self.write(servers)

    @property
    def file(self) -> Path:
        return self.directory / "extensions_config.json"

    def write(self, servers: Mapping[str, Mapping[str, Any]]) -> None:
        self.file.write_text(json.dumps({"mcpServers": servers}, indent=2))

    def read(self) -> dict[str, Any]:
        return json.loads(self.file.read_text())["mcpServers"]

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "satchel", *arguments]

    def forked_command(self, *arguments: str) -> list[str]:
        """The same, with its modules loaded already."""
        return forked_command(arguments)

    def run(
        self,
        *arguments: str,
        stdin: str = "",
        environment: Mapping[str, str] | None = None,
        timeout: float = 60,
    ) -> Outcome:
        """Run a command, with its modules loaded already."""
        whole = {**os.environ, **(environment or {})}
        return Outcome(
            *run_command(arguments, directory=self.directory, environment=whole, stdin=stdin, timeout=timeout)
        )

    def run_anew(
        self, *arguments: str, environment: Mapping[str, str] | None = None, timeout: float = 60
    ) -> Outcome:
        """Run a command as a shell does, from the start of Python on."""
        done = subprocess.run(
            self.command(*arguments),
            cwd=self.directory,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **(environment or {})},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)
