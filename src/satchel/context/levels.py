"""The texts of the router and of specialists, by templates that a project can replace.

The text of a skill is inserted and never rendered: braces in it are nothing but braces.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from satchel.codegen.text import one_line
from satchel.context.prompts import render
from satchel.model import Json, Resource, Skill, SkillContext

ROUTER_TEMPLATE = "base_router_prompt.jinja2"
SPECIALIST_TEMPLATE = "level_2_skill_prompt.jinja2"
_LONGEST = 1024  # characters of a description
_LONGEST_SENTENCE = 200
_END_OF_SENTENCE = re.compile(r"(?<=[.;:])\s")


@dataclass(frozen=True, kw_only=True)
class Row:
    """A skill, tool or resource as the templates show it."""

    name: str = ""
    uri: str = ""
    description: str = ""


def router_prompt(
    *,
    skills: Sequence[Skill],
    more_skills: int,
    tools: Sequence[Json],
    resources: Sequence[Resource],
    templates: Path | None = None,
) -> str:
    """What the router is told: of every skill its name and description, of none its text."""
    variables = {
        "skills": [Row(name=_text(skill.name), description=_short(skill.description)) for skill in skills],
        "more_skills": more_skills,
        "universal_tools": _tools(tools),
        "global_resources": _resources(resources),
    }
    return render(ROUTER_TEMPLATE, variables, templates)


def specialist_prompt(
    context: SkillContext,
    *,
    scoped: Sequence[Json],
    universal: Sequence[Json],
    resources: Sequence[Resource],
    templates: Path | None = None,
) -> str:
    """What a specialist is told: the text of its skill, then its tools and resources."""
    own = {(resource.server, resource.uri) for resource in context.resources}
    variables = {
        "skill_persona_text": context.persona,
        "scoped_tools": _tools(scoped),
        "universal_tools": _tools(universal),
        "scoped_resources": _resources(context.resources),
        "global_resources": _resources([each for each in resources if (each.server, each.uri) not in own]),
        "missing": [_text(row) for row in context.missing],
    }
    return render(SPECIALIST_TEMPLATE, variables, templates)


def _tools(definitions: Sequence[Mapping[str, object]]) -> list[Row]:
    """A sentence about each; the whole description comes with its definition."""
    return [
        Row(name=_text(str(tool["name"])), description=_text(_sentence(str(tool.get("description") or ""))))
        for tool in definitions
    ]


def _resources(resources: Sequence[Resource]) -> list[Row]:
    return [
        Row(name=_text(each.name), uri=_text(each.uri), description=_short(each.description or each.name))
        for each in resources
    ]


def _sentence(text: str) -> str:
    return _END_OF_SENTENCE.split(one_line(text), maxsplit=1)[0].rstrip(";:")[:_LONGEST_SENTENCE]


def _short(text: str) -> str:
    line = one_line(text)
    return _text(line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…")


def _text(text: str) -> str:
    return escape(one_line(text), quote=False)
