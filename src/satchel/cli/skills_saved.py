"""skills save, test, check, promote: programs that worked, kept for the next ones."""

import argparse
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from satchel.app import Satchel
from satchel.cli import output
from satchel.cli.running import paths_of, run_async, run_with_servers
from satchel.cli.skills import _project, _skills
from satchel.errors import ArgumentError, NotFoundError
from satchel.languages import Language, with_wrappers
from satchel.model import ExecutionRecord, Json
from satchel.names import count

if TYPE_CHECKING:
    from satchel.library.saved.saved import Finding, SavedSkill
    from satchel.saved_skills import Tested

_SAYS = {
    "changed": "its definition has changed",
    "gone": "there is no such tool any more",
    "not listed": "its server has not been listed yet; satchel refresh lists it",
}


def save_command(options: argparse.Namespace) -> int:
    """A program of the journal as a skill; one that defines no function of the name becomes its body."""
    from satchel.library.saved.code import CODE
    from satchel.library.saved.naming import names_of
    from satchel.library.saved.saving import NewSkill

    async def save(satchel: Satchel) -> Json:
        record = await satchel.records.execution(options.execution)
        if record is None:
            raise NotFoundError("execution", options.execution, hint="satchel executions lists them")
        language = _language(record)
        names = names_of(options.name, language)
        new = NewSkill(
            name=names.skill,
            code=CODE[language].wrap(record.program, names.function),
            description=_description(options, record),
            agent=options.agent or record.agent,
            language=language,
            example=options.example.read_text(encoding="utf-8") if options.example else "",
            execution=record.id,
        )
        return await satchel.saved_skills.save(new)

    saved = run_with_servers(options, save)
    if options.json:
        output.show_json(saved)
        return 0
    output.show(f"saved as {saved['name']}: {saved['signature']}")
    output.show(f"import it in a program: {saved['import']}")
    return 0


def _language(record: ExecutionRecord) -> Language:
    language = with_wrappers(record.language)
    if language is None:
        raise ArgumentError(
            f"execution {record.id} is of the shell", hint="save a program in Python or TypeScript"
        )
    return language


def _description(options: argparse.Namespace, record: ExecutionRecord) -> str:
    description = options.description or record.description
    if not description:
        raise ArgumentError(
            "a skill needs a description, by which it is found", hint='--description "what it does, and when"'
        )
    return description


def test_command(options: argparse.Namespace) -> int:
    way = "recorded" if options.recorded else "record" if options.record else "live"

    async def test(satchel: Satchel) -> "Tested":
        with _saved_ones(satchel, options):
            return await satchel.saved_skills.test(
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


@contextmanager
def _saved_ones(satchel: Satchel, options: argparse.Namespace) -> Generator[None]:
    """A skill that is there, but not as one that this agent saved, is no unknown name: say what it is."""
    from satchel.library.saved.saved import saved_skills

    try:
        yield
    except NotFoundError as error:
        if error.kind != "skill":
            raise
        for saved in saved_skills(satchel.saved_skills.shelf()):
            if options.name == saved.name:
                raise error.copy(hint=f"--agent {saved.category}, which has saved one") from error
        for skill in _skills(*_project(options)):
            if options.name in (skill.name, skill.identity):
                raise ArgumentError(
                    f"{skill.identity} was not saved by an agent: it has instructions, and no code to import",
                    hint="satchel skills save makes a skill of a program that was run",
                ) from error
        hint = f"satchel skills list --category {options.agent} has what that agent saved"
        raise error.copy(hint=error.hint or hint) from error


def _show(tested: "Tested") -> None:
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
    from satchel.app import open_satchel

    async def check() -> "list[tuple[SavedSkill, dict[str, Finding]]]":
        async with open_satchel(paths_of(options)) as satchel:
            return satchel.saved_skills.check()

    checked = run_async(check)
    stale = [(saved, tools) for saved, tools in checked if tools]
    if options.json:
        rows = [
            {"skill": saved.identity, "tools": len(saved.tools), "findings": dict(tools)}
            for saved, tools in checked
        ]
        output.show_json({"skills": rows})
    else:
        for saved, tools in stale:
            output.show(output.styled(saved.identity, "bold"))
            output.show_table([(tool, _SAYS[finding]) for tool, finding in tools.items()], indent="  ")
        total = count(len(checked), "saved skill")
        output.show(f"{total}, {len(stale)} to look at" if stale else f"{total}, all as they were saved")
    return 1 if any(finding != "not listed" for _, tools in stale for finding in tools.values()) else 0


def promote_command(options: argparse.Namespace) -> int:
    async def promote(satchel: Satchel) -> "SavedSkill":
        with _saved_ones(satchel, options):
            return await satchel.saved_skills.promote(options.name, agent=options.agent, force=options.force)

    saved = run_with_servers(options, promote)
    output.note(f"community:{saved.name} is enabled: programs of all agents can import it")
    return 0
