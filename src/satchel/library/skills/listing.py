"""The skills of folders, listed again only when something in these folders has changed.

For what runs for long, and for several threads at once. A caller that lists once uses `finding.py`.
"""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from satchel.library.skills.changes import Look, Stamp, Watch, open_watch, stamp_of
from satchel.library.skills.finding import find_skills
from satchel.library.sources import Source
from satchel.model import Skill

_MOST = 8  # listings that are kept: one for each agent that asks


class _Listing(NamedTuple):
    roots: list[Stamp | None]
    look: Look | None  # None for the first time: a caller that asks once has no use for it
    skills: list[Skill]


class Listings:
    """A listing, and the marks that show that it is still current."""

    def __init__(self, open_watch: Callable[[], Watch | None] = open_watch) -> None:
        self._lock = threading.Lock()
        self._new_watch = open_watch
        self._listings: dict[tuple[tuple[Source, ...], Path | None], _Listing] = {}
        self._watch: Watch | None = None

    def find(self, found_in: tuple[Source, ...], cache: Path | None) -> list[Skill]:
        """As `find_skills`; the very same list, which nobody may change, as long as it holds."""
        key = found_in, cache
        with self._lock:
            # The folders above the roots are not watched: somebody may have put others in their place.
            roots = [stamp_of(str(source.root)) for source in found_in]
            known = self._listings.pop(key, None)
            if known is None or known.look is None or known.roots != roots or not known.look.is_same():
                look = None if known is None else Look(self._open_watch())
                known = _Listing(roots, look, find_skills(found_in, cache, look))
            self._listings[key] = known
            while len(self._listings) > _MOST:
                del self._listings[next(iter(self._listings))]  # the one that was asked for longest ago
            return known.skills

    def _open_watch(self) -> Watch | None:
        """One for all listings, as a user has few; another one after a change."""
        if self._watch is not None and self._watch.is_over():
            self._watch.close()
            self._watch = None
        self._watch = self._watch or self._new_watch()
        return self._watch
