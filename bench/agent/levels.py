"""What a model is given before the first message: as the router, as a specialist, in one flat context."""

import json
from dataclasses import dataclass
from pathlib import Path

from tests.agent.wires import Say, ScriptedModel

from bench.agent.playing import SCRIPTED, before, open_place
from bench.context.servers import recorded_servers
from bench.rows import Skipped
from bench.skills import _write
from bench.surroundings import temporary_home
from satchel import Satchel
from satchel.config.agents import Mode

SKILLS = (50, 200)
PACKAGE = "quarterly-report"
TOOLS = (
    "google-drive.list_documents",
    "google-drive.get_document",
    "salesforce.get_record",
    "salesforce.add_note",
    "slack.post_message",
)
_PERSONA = """---
name: quarterly-report
description: Attach the findings of a quarterly report to a deal, and tell the sales team.
---

You report on quarters. Find the latest report in Finance/Quarterly Reports; its findings are the lines
that begin with 'Finding:'. Attach them to the opportunity as a note, one line each, and tell #sales the name
of the deal, how many findings there are, and the number of the note.
"""


@dataclass(frozen=True, kw_only=True)
class Level:
    """Tokens of the system text and the definitions, by mode."""

    name: str
    tokens: dict[Mode, int]
    tools: dict[Mode, int]


async def measure_levels(model: ScriptedModel) -> list[Level]:
    found: list[Level] = []
    for count in SKILLS:
        with temporary_home() as home:
            _write(home, count - 1)  # and the package
            _write_package(home.project)
            async with open_place(home, {SCRIPTED: model.settings()}) as satchel:
                found.append(await _level(f"level 1, {count} skills", satchel, model))
                if count == SKILLS[0]:
                    name = f"level 2, {PACKAGE}, {len(TOOLS)} tools"
                    found.append(await _level(name, satchel, model, skill=PACKAGE))
    with temporary_home() as home:
        async with open_place(home, {SCRIPTED: model.settings()}) as satchel:
            found.append(await _level("flat, 3 services", satchel, model))
    return found


def public_definitions() -> tuple[int, int, int] | None:
    """How many servers, tools and tokens, if every tool of the public servers were in one flat context."""
    try:
        servers = recorded_servers()
    except Skipped:
        return None
    return len(servers), sum(len(each.tools) for each in servers), sum(each.tokens for each in servers)


async def _level(name: str, satchel: Satchel, model: ScriptedModel, skill: str = "") -> Level:
    tokens: dict[Mode, int] = {}
    tools: dict[Mode, int] = {}
    modes: tuple[Mode, ...] = ("code", "direct")
    for mode in modes:
        model.requests.clear()
        model.answer = lambda sent: Say("done")
        await satchel.agents.run("default", "Do it.", model=SCRIPTED, mode=mode, skill=skill)
        tokens[mode], tools[mode] = before(model.requests[0]), len(model.requests[0].tools)
    return Level(name=name, tokens=tokens, tools=tools)


def _write_package(project: Path) -> None:
    folder = project / "skills" / "public" / PACKAGE
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(_PERSONA, encoding="utf-8")
    (folder / "tools.json").write_text(json.dumps(TOOLS), encoding="utf-8")
