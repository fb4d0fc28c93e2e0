"""The skills that a model is shown: as many as a budget holds, and word of the others.

The first are told in full, those that don't fit by name, the rest as a number. Nothing vanishes without a
trace, and the same skills, budget and order give the same text.
"""

from collections import Counter
from collections.abc import Sequence
from html import escape
from pathlib import Path

from satchel.codegen.text import one_line
from satchel.context.budget import tokens_at_most
from satchel.context.prompts import render
from satchel.model import Skill

TEMPLATE = "skill_system.jinja"
_FOR_NAMES = 0.25  # of the budget, at most, is kept for names while descriptions are filled in
_LONGEST = 1024  # characters of a description
_LEAST = 25  # tokens of any row


def skill_system(
    skills: Sequence[Skill], *, budget: int, base: str = "/mnt/skills", templates: Path | None = None
) -> str:
    """The section about skills: the best first. Empty where there are none.

    What is said besides them is said in any case: a budget below that holds only how many there are.
    """
    if not skills:
        return ""
    left = budget - tokens_at_most(_filled([], [""], len(skills), base, templates))
    names = _names(skills, base)
    costs = [tokens_at_most(f"{name}, ") for name in names]
    by_name = sum(costs)  # of all that are not told in full
    full: dict[int, str] = {}
    for number, skill in enumerate(skills):
        others = by_name - costs[number]
        room = left - min(others, round(budget * _FOR_NAMES))
        if room < _LEAST:
            break
        row = _full_row(skill, base)
        cost = tokens_at_most(row)
        if cost <= room:
            left, by_name = left - cost, others
            full[number] = row
    named: list[str] = []
    for number, (name, cost) in enumerate(zip(names, costs, strict=True)):
        if number not in full and cost <= left:
            left -= cost
            named.append(name)
    return _filled([*full.values()], named, len(skills) - len(full) - len(named), base, templates)


def _filled(full: list[str], names: list[str], more: int, base: str, templates: Path | None) -> str:
    return render(TEMPLATE, {"full": full, "names": names, "more": more, "base": base}, templates)


def _full_row(skill: Skill, base: str) -> str:
    description = skill.description
    if len(description) > _LONGEST:
        description = description[: _LONGEST - 1] + "…"
    place = skill.get_container_file_path(base)
    return (
        f"<skill><name>{_text(skill.name)}</name>"
        f"<description>{_text(description)}</description>"
        f"<location>{_text(place)}</location></skill>\n"
    )


def _names(skills: Sequence[Skill], base: str) -> list[str]:
    """The name of each skill that is listed without details: its place if another skill has the same name."""
    counts = Counter(skill.name for skill in skills)
    return [
        _text(skill.name if counts[skill.name] == 1 else skill.get_container_path(base)) for skill in skills
    ]


def _text(text: str) -> str:
    return escape(one_line(text), quote=False)
