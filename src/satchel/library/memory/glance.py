"""Whether a memory is so small that looking at it takes no more than a moment, and has stayed as it was.

For the event loop, which reads nothing that is large: programs lay there what they like.
"""

import os
import stat
from pathlib import Path

_MOST_NAMES = 20
_LARGEST = 4 * 1024  # bytes of all files together: of YAML, more would take longer than a moment
_LARGEST_KNOWN = 32 * 1024  # bytes of what is known of them

Glance = tuple[tuple[str, int, int, int], ...]
"""The names, each with what changes when the file does."""


def glance(directory: Path, standing: Path) -> Glance | None:
    """What is in a memory, by names; None where it is not that small, or has anything but plain files."""
    found: list[tuple[str, int, int, int]] = []
    size = 0
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                status = entry.stat(follow_symlinks=False)
                size += status.st_size
                found.append((entry.name, status.st_ino, status.st_ctime_ns, status.st_size))
                if len(found) > _MOST_NAMES or size > _LARGEST or not stat.S_ISREG(status.st_mode):
                    return None
        if os.stat(standing).st_size > _LARGEST_KNOWN:
            return None
    except FileNotFoundError:  # nothing is known yet, or nothing is there
        pass
    except OSError:
        return None
    return tuple(sorted(found))
