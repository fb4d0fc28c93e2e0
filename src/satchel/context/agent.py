"""The whole system prompt of Satchel's own loop: one template with sections, which a project can change.

What stays the same comes first and what changes with the day last, so that providers' caches stay good.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

from satchel.context.budget import tokens_at_most
from satchel.context.prompts import render

TEMPLATE = "agent_system.jinja"
_SECTION = re.compile(r"^<([a-z_]+)>.*?^</\1>$|^<([a-z_]+)>[^\n]*</\2>$", re.MULTILINE | re.DOTALL)


def agent_system(
    *,
    agent: str,
    level: str,
    sections: Mapping[str, str],
    memory: str,
    instructions: str,
    delegates: Sequence[str],
    can_ask: bool,
    has_skills: bool,
    today: date,
    templates: Path | None = None,
) -> str:
    """What a model is told that works in the loop. `sections` are those of the toolset."""
    variables = {
        "agent": agent,
        "level": level,
        **sections,
        "memory": memory,
        "instructions": instructions,
        "delegates": list(delegates),
        "can_ask": can_ask,
        "has_skills": has_skills,
        "date": today.isoformat(),
    }
    text = render(TEMPLATE, variables, templates)
    return re.sub(r"\n{3,}", "\n\n", text)


def costs(text: str) -> list[tuple[str, int]]:
    """Each section with the tokens that it takes at most; what stands in none is `text`."""
    found: list[tuple[str, int]] = []
    rest: list[str] = []
    end = 0
    for match in _SECTION.finditer(text):
        rest.append(text[end : match.start()])
        found.append((match[1] or match[2], tokens_at_most(match[0])))
        end = match.end()
    rest.append(text[end:])
    outside = "".join(rest).strip()
    return [*([("text", tokens_at_most(outside))] if outside else []), *found]
