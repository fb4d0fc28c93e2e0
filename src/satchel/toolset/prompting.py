"""The system prompt of the loop, for the loop itself and for the people who want to read it."""

from collections.abc import Sequence
from datetime import date

from satchel.context.agent import agent_system
from satchel.toolset.levels import FLAT, ROUTER, Level, entered
from satchel.toolset.toolset import Toolset
from satchel.verbs.satchel import Satchel


def instructions_for(
    satchel: Satchel,
    toolset: Toolset,
    memory: str,
    *,
    delegates: Sequence[str] = (),
    can_ask: bool = False,
    plain: bool = False,
) -> str:
    """What a model of the loop is told with these tools."""
    configuration = satchel.configuration
    return agent_system(
        agent=toolset.agent,
        level=toolset.level.name,
        sections=toolset.sections(plain=plain),
        memory=toolset.hidden(memory),
        instructions=satchel.project.agent(toolset.agent).instructions.strip(),
        delegates=delegates,
        can_ask=can_ask,
        has_skills=bool(satchel.skills.told(toolset.agent)),
        today=date.today(),
        templates=None if plain else configuration.paths.project / configuration.settings.templates.path,
    )


def level_of(satchel: Satchel, agent: str, number: int | None, skill: str | None) -> Level:
    """The router, or the specialist of a skill; without a number where a conversation would begin."""
    if skill is not None:
        found = satchel.skills.find(skill, agent)
        return entered(ROUTER, satchel.packages.context(found, agent))
    if number is None:
        return Toolset(satchel, agent=agent).first_level
    return ROUTER if number == 1 else FLAT


def level_within(satchel: Satchel, agent: str, first: Level, stack: Sequence[str]) -> Level:
    """The level in the context of these skills. Those that are gone or disabled meanwhile are left."""
    level = first
    known = {skill.identity: skill for skill in satchel.skills.used(agent)}
    for identity in stack:
        if identity not in known:
            break
        below = ROUTER if level.name == "flat" else level
        level = entered(below, satchel.packages.context(known[identity], agent))
    return level
