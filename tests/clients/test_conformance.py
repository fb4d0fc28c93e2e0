"""The suite by which MCP servers are judged, against Satchel."""

import sys
from pathlib import Path

import pytest

from tests.clients.conformance import (
    EXCUSED,
    EXTENSIONS,
    OTHER_EXTENSIONS,
    SCENARIOS,
    SUITE_SECONDS,
    Json,
    ask,
    authorized,
    extensions_of,
    known_scenarios,
    run_suite,
)
from tests.clients.serving import ROOT, listed_project, listening, node
from tests.library.skill_files import make_skill
from tests.projects import Project
from tests.servers.conformance import TOOLS

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

UPSTREAM = ROOT / "tests" / "servers" / "conformance.py"
CAN_BE_ASKED: Json = {"elicitation": {}}
REPORT = """---
name: a-report
description: >
  Writes reports: quarterly ones, and others.

  Use it when somebody asks for figures in prose.
license: Apache-2.0
allowed-tools: Read, conformance.test_simple_text
metadata:
  author: somebody
  version: "1.0"
  numbers: [1, 2.5, true, null]
---

# Reports

See references/deeper/tables.md.
"""


@pytest.mark.timeout(SUITE_SECONDS + 60)
@pytest.mark.parametrize("version", SCENARIOS)
async def test_every_scenario_passes_but_for_what_is_excused(version: str, tmp_path: Path) -> None:
    runtime = node()
    server = {"command": sys.executable, "args": [str(UPSTREAM)]}
    project = await listed_project(tmp_path / "project", "direct", {"conformance": server})
    give_skills(project)
    async with listening(project) as address, authorized(address) as url:
        # The server is started for clients that can be asked; the suite waits less than that takes.
        await ask(address, "tools/call", CAN_BE_ASKED, name="test_simple_text", arguments={})
        checks = await run_suite(runtime, url, version, tmp_path / "results")
        tools = (await ask(address, "tools/list"))["tools"]
        offered = (await ask(address, "server/discover"))["capabilities"].get("extensions", {})
    assert {check.scenario for check in checks} == SCENARIOS[version] | extensions_of(version)
    excused = {
        (scenario, name)
        for scenario, names in EXCUSED.items()
        if scenario in SCENARIOS[version]
        for name in names
    }
    troubles = {(check.scenario, check.name): check.message for check in checks if not check.passed}
    unexpected = [f"{': '.join(key)}: {troubles[key]}" for key in troubles.keys() - excused]
    assert not unexpected, "\n".join(sorted(unexpected))
    assert not excused - troubles.keys(), "excused, and passes"
    # What was excused for its name, or because it is of an extension.
    name = "json_schema_2020_12_tool"
    schemas = {tool["name"]: tool["inputSchema"] for tool in tools}
    assert schemas[f"conformance__{name}"] == TOOLS[name].tool.input_schema
    assert offered.keys() == EXTENSIONS.keys()
    assert not OTHER_EXTENSIONS.keys() & offered.keys()
    # Of extensions, nothing was passed over.
    names = extensions_of(version)
    assert {check.status for check in checks if check.scenario in names} == ({"SUCCESS"} if names else set())


def give_skills(project: Project) -> None:
    """One with folders in it, which sorts first and is the one that is looked into, and two others."""
    folder = project.directory / "skills" / "public"
    for name in ("a-report", "spreadsheets", "translation"):
        make_skill(folder / name, description=f"Does what is known as {name}: as one expects")
    make_skill(project.directory / "skills" / "custom" / "review")
    file = folder / "a-report" / "references" / "deeper" / "tables.md"
    file.parent.mkdir(parents=True)
    file.write_text("# Tables\n")
    (folder / "a-report" / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n\0")
    (folder / "a-report" / "SKILL.md").write_text(REPORT)


async def test_every_scenario_of_the_suite_is_run_or_of_an_extension() -> None:
    every = (*SCENARIOS.values(), *EXTENSIONS.values(), *OTHER_EXTENSIONS.values())
    assert await known_scenarios(node()) == set().union(*every)
