"""The example of a skill package: a project with the skill trino-debug, and a server for it."""

import json
from pathlib import Path
from typing import Any

from tests.projects import Project
from tests.servers import raw

RULES = "resource://trino/optimization_rules.md"
GUIDE = "resource://style/guide.md"
PERSONA = "You are a Trino expert. Braces such as {{ query }} and {% raw %} are text."
HEAD = "---\nname: {name}\ndescription: {description}\n---\n\n"


def trino_project(directory: Path, settings: dict[str, Any] | None = None, **options: object) -> Project:
    """A project with the server `lake`, the package `trino-debug` and the plain skill `greeting`."""
    project = Project(directory, {"lake": raw("trino", **options)})
    write_package(directory, "trino-debug", "Debug and optimize slow Trino queries.", PERSONA)
    plain = directory / "skills/public/greeting"
    plain.mkdir(parents=True)
    (plain / "SKILL.md").write_text(
        f"{HEAD.format(name='greeting', description='Greets people.')}Say hello.\n"
    )
    agent = {"universal_tools": ["lake.fetch_url"], "global_resources": [GUIDE], "memory": {"enabled": False}}
    whole = {"mode": "direct", "agents": {"default": agent}, **(settings or {})}
    (directory / "satchel.yaml").write_text(json.dumps(whole))
    return project


def write_package(
    directory: Path,
    name: str,
    description: str,
    persona: str,
    *,
    tools: Any = ("get_explain_plan",),
    resources: Any = (RULES,),
) -> Path:
    folder = directory / "skills/public" / name
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(HEAD.format(name=name, description=description) + persona + "\n")
    (folder / "tools.json").write_text(json.dumps(tools))
    (folder / "resources.json").write_text(json.dumps([{"uri": uri} for uri in resources]))
    return folder
