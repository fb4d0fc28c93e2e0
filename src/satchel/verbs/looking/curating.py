"""The skills of the community with how they fare, so that a person can take out the bad ones.

Uses are counted in the journal: programs that import a skill. A skill that a model only reads leaves no trace
that could be counted.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from satchel.library.saved.naming import names_of
from satchel.library.saved.uses import imported_skills
from satchel.library.skills.finding import skills_of
from satchel.library.sources import COMMUNITY
from satchel.model import ExecutionRecord, Skill
from satchel.support.charging import apart
from satchel.verbs.satchel import Satchel
from satchel.verbs.saved_skills import Checked

if TYPE_CHECKING:
    from satchel.library.saved.saved import Finding

MOST = 2_000  # executions that are looked through


@dataclass(frozen=True, kw_only=True)
class Curated:
    """A skill of the community. Without code to import, its uses can't be counted."""

    skill: Skill
    saved_by: str | None = None  # the agent
    tested: bool = False  # its last test passed, and it has not changed since
    uses: int | None = None  # programs that import it
    failures: int = 0  # of these, that failed for any reason
    last_used: str | None = None
    findings: "dict[str, Finding]"


@dataclass(frozen=True, kw_only=True)
class Curation:
    """All of them, the most doubtful first, and how far back the journal was read."""

    skills: tuple[Curated, ...]
    executions: int
    since: str | None  # when the oldest of them began


async def curate(satchel: Satchel) -> Curation:
    """How the skills of the community fare. Nothing is started."""
    configuration = satchel.project.follow()
    paths, settings = configuration.paths, configuration.settings
    has_journal = settings.database is not None or paths.database.exists()  # reading makes none
    records = await satchel.journal.executions(limit=MOST) if has_journal else []

    def work() -> tuple[Curated, ...]:
        checked = satchel.saved_skills.check()
        skills = [skill for skill in skills_of(paths, settings.skills) if skill.category == COMMUNITY]
        return _curated(skills, checked, records)

    return Curation(
        skills=await apart(work),
        executions=len(records),
        since=records[-1].started_at if records else None,
    )


def _curated(
    skills: Sequence[Skill], checked: Sequence[Checked], records: Sequence[ExecutionRecord]
) -> tuple[Curated, ...]:
    imported = [(record, imported_skills(record.program)) for record in records]
    saved = {each.skill.folder: each for each in checked if each.skill.category == COMMUNITY}
    own = {(each.skill.category, each.skill.name) for each in checked}
    found: list[Curated] = []
    for skill in skills:
        known = saved.get(skill.folder)
        if known is None:
            found.append(Curated(skill=skill, findings={}))
            continue
        module = names_of(known.skill.name, known.skill.language).module
        # An agent's own skill of that name is what its programs import.
        users = [
            record
            for record, words in imported
            if module in words and (record.agent, known.skill.name) not in own
        ]
        found.append(
            Curated(
                skill=skill,
                saved_by=known.skill.agent,
                tested=(known.skill.tested or {}).get("passed") is True,
                uses=len(users),
                failures=_failures(users),
                last_used=users[0].started_at if users else None,
                findings=known.findings,
            )
        )
    return tuple(sorted(found, key=_doubt))


def _failures(records: Collection[ExecutionRecord]) -> int:
    return sum(
        record.state == "interrupted" or bool((record.outcome or {}).get("exit_code")) for record in records
    )


def _doubt(curated: Curated) -> tuple[bool, float, int, str]:
    uses = curated.uses or 0
    return not curated.findings, -curated.failures / max(uses, 1), uses, curated.skill.name
