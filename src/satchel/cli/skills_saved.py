"""skills save, test, check, curate, promote: programs that worked, kept for the next ones."""

import argparse
import sys
from typing import TYPE_CHECKING

from satchel.cli import output
from satchel.cli.looking.journal import when
from satchel.cli.running import run_with_servers
from satchel.model import Json
from satchel.names import count
from satchel.verbs.satchel import Satchel
from satchel.verbs.saved_skills import Checked
from satchel.verbs.skill_tests import Tested

if TYPE_CHECKING:
    from satchel.verbs.looking.curating import Curated

_SAYS = {
    "changed": "its definition has changed",
    "gone": "the tool no longer exists",
    "not listed": "its server has not been listed yet; satchel refresh lists it",
}


def save_command(options: argparse.Namespace) -> int:
    async def save(satchel: Satchel) -> Json:
        record = await satchel.journal.execution(options.execution)
        return await satchel.saved_skills.save_program(
            record,
            options.name,
            description=options.description,
            example=options.example.read_text(encoding="utf-8") if options.example else "",
            agent=options.agent,
        )

    saved = run_with_servers(options, save)
    if options.json:
        output.show_json(saved)
        return 0
    output.show(f"saved as {saved['name']}: {saved['signature']}")
    output.show(f"import it in a program: {saved['import']}")
    return 0


def test_command(options: argparse.Namespace) -> int:
    way = "recorded" if options.recorded else "record" if options.record else "live"

    async def test(satchel: Satchel) -> Tested:
        return await satchel.skill_tests.run(
            options.name, agent=options.agent, way=way, timeout=options.timeout
        )

    tested = run_with_servers(options, test)
    if options.json:
        missing = list(tested.missing)
        report = {"skill": tested.skill.identity, "passed": tested.passed, "missing": missing}
        output.show_json({**report, "execution": tested.execution.as_json()})
        return 0 if tested.passed else 1
    _show(tested)
    return 0 if tested.passed else 1


def _show(tested: Tested) -> None:
    execution = tested.execution
    if execution.stdout:
        output.show_result(execution.stdout)
        sys.stdout.flush()  # before what follows on the other stream
    if execution.stderr:
        output.note(execution.stderr.removesuffix("\n"))
    if execution.ended:
        output.note(f"ended: {execution.ended}: {execution.reason or ''}")
    for name in tested.missing:
        output.note(f"not in the recording: {output.first_line(name)}")
    calls = count(len(execution.tools_called), "call")
    seconds = execution.duration_ms / 1000
    word = "passed" if tested.passed else "failed"
    output.note(
        f"{tested.skill.identity} {word}: {calls}, {seconds:.1f} s; satchel show-execution {execution.id}"
    )


def check_command(options: argparse.Namespace) -> int:
    """Without starting anything: by the definitions as they were last listed."""

    async def check(satchel: Satchel) -> list[Checked]:
        return satchel.saved_skills.check()

    checked = run_with_servers(options, check)
    stale = [each for each in checked if each.findings]
    if options.json:
        listed = [
            {"skill": each.skill.identity, "tools": len(each.skill.tools), "findings": dict(each.findings)}
            for each in checked
        ]
        output.show_json({"skills": listed})
    else:
        for each in stale:
            output.show(output.styled(each.skill.identity, "bold"))
            output.show_table(
                [(tool, _SAYS[finding]) for tool, finding in each.findings.items()], indent="  "
            )
        total = count(len(checked), "saved skill")
        output.show(f"{total}, {len(stale)} to look at" if stale else f"{total}, all as they were saved")
    return 1 if any(finding != "not listed" for each in stale for finding in each.findings.values()) else 0


def curate_command(options: argparse.Namespace) -> int:
    """Without starting anything: by the journal, and the definitions as they were last listed."""
    from satchel.verbs.looking.curating import Curation, curate  # no other command needs it

    curation: Curation = run_with_servers(options, curate)
    if options.json:
        output.show_json(
            {
                "skills": [_curated_json(curated) for curated in curation.skills],
                "executions": curation.executions,
                "since": curation.since,
            }
        )
        return 0
    output.show_table(
        [_curated_row(curated) for curated in curation.skills],
        headings=("skill", "state", "uses", "failed", "last used", "saved by", "its tools"),
        optional=("saved by",),
        styles={"state": {"enabled": "green", "disabled": "dim", "untested": "yellow"}},
    )
    if not curation.skills:
        output.note("the community has no skills")
        return 0
    since = f" since {when(curation.since)}" if curation.since else ""
    output.note(
        f"uses are programs that import the skill, in {count(curation.executions, 'execution')}{since}; "
        "a failed program is not always its skill's fault"
    )
    output.note(
        "hint: satchel skills show community:NAME shows one, satchel skills remove community:NAME deletes it"
    )
    return 0


def _curated_row(curated: "Curated") -> tuple[str, ...]:
    state = "disabled" if not curated.skill.enabled else "enabled" if curated.tested else "untested"
    if curated.uses is None:
        return curated.skill.name, "instructions", "-", "-", "-", "-", ""
    tools = "; ".join(f"{tool}: {_SAYS[finding]}" for tool, finding in curated.findings.items())
    return (
        curated.skill.name,
        state,
        str(curated.uses),
        str(curated.failures),
        when(curated.last_used) if curated.last_used else "never",
        curated.saved_by or "-",
        tools or "as they were",
    )


def _curated_json(curated: "Curated") -> Json:
    return {
        "skill": curated.skill.identity,
        "folder": str(curated.skill.folder),
        "enabled": curated.skill.enabled,
        "tested": curated.tested,
        "saved_by": curated.saved_by,
        "uses": curated.uses,
        "failures": curated.failures,
        "last_used": curated.last_used,
        "findings": dict(curated.findings),
    }


def promote_command(options: argparse.Namespace) -> int:
    async def promote(satchel: Satchel) -> str:
        saved = await satchel.saved_skills.promote(options.name, agent=options.agent, force=options.force)
        return saved.name

    name = run_with_servers(options, promote)
    output.note(f"community:{name} is enabled: programs of all agents can import it")
    return 0
