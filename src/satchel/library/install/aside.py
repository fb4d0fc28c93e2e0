"""Hidden folders beside what is installed, in which it is made ready or taken away.

Whoever works in such a folder holds its lock; one that nobody holds is left from a process that was killed,
and the next one to install or remove something takes it away.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from satchel.config.paths import lock_of
from satchel.support.files import locked

ASIDE = ".satchel-"  # how their names begin


@contextmanager
def aside_in(category: Path) -> Generator[Path]:
    """A folder of our own in `category`, which is gone afterwards with all that is still in it.

    Programs see the folder, and could hold its lock. So what is locked while we work is a mark of its name,
    in a place of Satchel's own.
    """
    marks = lock_of(category)
    with locked(marks):
        _sweep(category, marks)
        aside = Path(tempfile.mkdtemp(prefix=ASIDE, dir=category))
        mark = marks / aside.name
        mark.mkdir()
        descriptor = _locked_now(mark)
    try:
        yield aside
    finally:
        shutil.rmtree(aside, ignore_errors=True)
        with suppress(OSError):
            mark.rmdir()
        os.close(descriptor)


def _sweep(category: Path, marks: Path) -> None:
    """Take away what processes have left that were killed."""
    for name in {name for place in (category, marks) for name in os.listdir(place) if name.startswith(ASIDE)}:
        mark = marks / name
        with suppress(OSError):  # one that is at work, or that is not a folder
            mark.mkdir(exist_ok=True)
            descriptor = _locked_now(mark)
            try:
                shutil.rmtree(category / name, ignore_errors=True)
                mark.rmdir()
            finally:
                os.close(descriptor)


def _locked_now(directory: Path) -> int:
    """The descriptor that holds the lock of a directory; BlockingIOError if another one does."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
