"""For root: the mount namespaces in which programs' user can reach what a box is made of."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from satchel.errors import SandboxError

PLACE = "/tmp"  # in the namespace only: there on every machine, and never part of a box
_PROGRAM = Path(__file__).with_name("root_mounts_program.py")


class RootMounts:
    """One namespace, kept as a descriptor. `sources` are what lies in it, by name."""

    def __init__(self, sources: Mapping[str, Path]) -> None:
        self._sources = dict(sources)
        rows = [f"{name}={path}" for name, path in sources.items()]
        with subprocess.Popen(
            [sys.executable, "-I", "-S", str(_PROGRAM), PLACE, *rows],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd="/",
            start_new_session=True,
        ) as helper:
            assert helper.stdout is not None and helper.stderr is not None
            if helper.stdout.readline() != b"ready\n":
                reason = helper.stderr.read().decode("utf-8", "replace").strip()
                raise SandboxError(
                    f"the directories of a box can't be mounted: {reason}",
                    hint="run Satchel as an ordinary user; see satchel doctor",
                )
            self.descriptor = os.open(f"/proc/{helper.pid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)

    def place_of(self, name: str) -> str:
        """Where it lies in the namespace."""
        assert name in self._sources
        return f"{PLACE}/{name}"

    def close(self) -> None:
        os.close(self.descriptor)
