"""The ways to run programs, by the names that the settings have for them.

A backend says what it is without being opened. Opening one imports it, so a command that runs no program
starts without it.
"""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from satchel.config.settings import SandboxSettings
from satchel.errors import SandboxError
from satchel.sandbox.sandbox import About, Grants, Sandbox

if TYPE_CHECKING:
    from satchel.sandbox.running.budget import Budget

USER = 62014  # of programs, where Satchel runs as root: belongs to nobody, and owns only workspaces


@dataclass(frozen=True, kw_only=True)
class Backend:
    """One way to run programs."""

    about: About
    open: Callable[[SandboxSettings, Grants, Path, "Budget | None"], Sandbox]
    """For programs with these grants; an agent's own files lie in that directory, by its name, if they are
    on this machine. All of them together keep to the budget."""


def _open_bubblewrap(
    settings: SandboxSettings, grants: Grants, agents: Path, budget: "Budget | None"
) -> Sandbox:
    if not sys.platform.startswith("linux"):
        raise SandboxError(
            f"programs can be isolated on Linux only, not on {sys.platform}",
            hint="run Satchel on Linux, or in a container or virtual machine with it",
        )
    from satchel.sandbox.backends.bubblewrap import seccomp  # on Linux only

    if not seccomp.is_supported():
        raise SandboxError(
            f"there is no seccomp filter for {os.uname().machine}", hint="use x86_64 or aarch64"
        )
    # Only where programs are run: a command that reads the settings starts without it.
    from satchel.sandbox.backends.bubblewrap.boxes import Bubblewrap
    from satchel.sandbox.backends.bubblewrap.ready import ReadyBoxes

    return ReadyBoxes(Bubblewrap(grants, budget=budget), agents, size=settings.prepared)


def _open_process(
    settings: SandboxSettings, grants: Grants, agents: Path, budget: "Budget | None"
) -> Sandbox:
    from satchel.sandbox.backends.process import UnprotectedProcess  # only where programs are run

    return UnprotectedProcess(agents, grants)


BUBBLEWRAP = About(isolated=True, owner=USER if os.geteuid() == 0 else None)
PROCESS = About(
    isolated=False,
    warning="programs run without isolation: they can read and change everything that you can"
    " (sandbox.backend: process)",
)
BACKENDS: Mapping[str, Backend] = {
    "bubblewrap": Backend(about=BUBBLEWRAP, open=_open_bubblewrap),
    "process": Backend(about=PROCESS, open=_open_process),
}
