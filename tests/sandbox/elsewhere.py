"""A backend of another place, as a worker on another machine would be.

It gets copies of what Satchel shows, keeps agents' files in a directory of its own, and has a clock of its
own. Its homes are not those of local sandboxes, so that a caller who asks for more than `Home` has fails.
"""

import filecmp
import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from satchel.config.settings import SandboxSettings
from satchel.languages import ProgramLanguage
from satchel.model import Json
from satchel.sandbox.backends import BUBBLEWRAP, Backend
from satchel.sandbox.backends.bubblewrap.boxes import Bubblewrap
from satchel.sandbox.backends.bubblewrap.ready import ReadyBoxes
from satchel.sandbox.limits import Limits
from satchel.sandbox.running.budget import Budget
from satchel.sandbox.sandbox import Door, Grants, Home, Outcome, Program, Session, Shown

AHEAD = 1_000_000.0  # seconds of its clock


@dataclass(frozen=True, kw_only=True)
class DistantHome:
    """A home on that machine."""

    there: Home

    async def save(self, ending: str, content: bytes) -> str:
        return await self.there.save(ending, content)

    async def now(self) -> float:
        return await self.there.now() + AHEAD

    async def changed_since(self, time: float) -> tuple[Json, ...]:
        return await self.there.changed_since(time - AHEAD)

    async def names(self) -> frozenset[str]:
        return await self.there.names()

    async def clear(self) -> None:
        await self.there.clear()


class Elsewhere:
    """Runs programs in boxes, for a Satchel whose files it can't see."""

    about = replace(BUBBLEWRAP, is_here=False)

    def __init__(self, grants: Grants, budget: Budget | None = None) -> None:
        self._place = TemporaryDirectory(prefix="satchel-elsewhere-")
        self.agents = Path(self._place.name) / "agents"
        self._boxes = ReadyBoxes(Bubblewrap(grants, budget=budget), self.agents, size=0)

    async def home(self, agent: str, shown: Shown, *, writable: bool = True) -> DistantHome:
        copied = replace(
            _copied(shown, Path(self._place.name) / "shown"),
            memory=None if shown.memory is None else self.agents / agent / "memory",
            others={
                name: replace(other, path=self.agents / name / "memory")
                for name, other in shown.others.items()
            },
        )
        return DistantHome(there=await self._boxes.home(agent, copied, writable=writable))

    async def run(self, program: Program, home: Home, door: Door, limits: Limits) -> Outcome:
        return await self._boxes.run(program, _there(home), door, limits)

    async def open_session(self, language: ProgramLanguage, home: Home, limits: Limits) -> Session:
        return await self._boxes.open_session(language, _there(home), limits)

    async def aclose(self) -> None:
        await self._boxes.aclose()
        self._place.cleanup()


def _there(home: Home) -> Home:
    assert isinstance(home, DistantHome)
    return home.there


def _copied(shown: Shown, place: Path) -> Shown:
    """The same on that machine, brought up to date in place: sessions that are open see it, too."""
    copies = {path: place / str(path).lstrip("/") for path in (shown.code_api, *shown.skills.values())}
    if shown.modules is not None:
        copies[shown.modules] = place / str(shown.modules).lstrip("/")
    for source, target in copies.items():
        _bring_up_to_date(source, target)
    return replace(
        shown,
        code_api=copies[shown.code_api],
        skills={category: copies[path] for category, path in shown.skills.items()},
        modules=None if shown.modules is None else copies[shown.modules],
    )


def _bring_up_to_date(source: Path, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    wanted = set(os.listdir(source))
    for name in set(os.listdir(target)) - wanted:
        gone = target / name
        shutil.rmtree(gone) if gone.is_dir() else gone.unlink()
    for name in wanted:
        if (source / name).is_dir():
            _bring_up_to_date(source / name, target / name)
        elif not (target / name).exists() or not filecmp.cmp(source / name, target / name):
            shutil.copy2(source / name, target / name)


def _open(settings: SandboxSettings, grants: Grants, agents: Path, budget: Budget | None) -> Elsewhere:
    return Elsewhere(grants, budget)


BACKEND = Backend(about=BUBBLEWRAP, open=_open)
