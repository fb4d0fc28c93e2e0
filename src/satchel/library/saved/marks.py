"""Marks in the folders of saved skills: a program saved it that had read something untrusted.

Whoever imports such a skill reads what a stranger may have worded. A mark is a hidden file, written in one
step with the skill. What a person saves, or gives to all agents, has none.
"""

import json
import os
from collections.abc import Iterable
from pathlib import Path

from satchel.library.sources import COMMUNITY
from satchel.model import UNTRUSTED, Source

_MARK = ".untrusted.json"


def mark_for(reads: Iterable[Source]) -> dict[str, bytes]:
    """The file that marks a skill, if what was read before it was saved asks for one."""
    untrusted = [source.name for source in reads if UNTRUSTED in source.labels]
    return {_MARK: json.dumps({"reads": untrusted}).encode()} if untrusted else {}


def mark_in(folder: Path) -> dict[str, bytes]:
    """The mark of a skill that is copied."""
    file = folder / _MARK
    return {_MARK: b"{}"} if os.path.lexists(file) else {}


def marked_skills(root: Path, agent: str) -> list[str]:
    """The names of those skills that agents saved, that this one may import, and that are marked."""
    return sorted({name for category in (agent, COMMUNITY) for name in _marked(f"{root}/{category}")})


def _marked(place: str) -> list[str]:
    try:
        with os.scandir(place) as entries:
            return [entry.name for entry in entries if os.path.lexists(f"{entry.path}/{_MARK}")]
    except FileNotFoundError:
        return []
    except OSError:
        return ["that can't be read"]
