"""Checks a program's types in a box of its own, before it runs in another."""

from dataclasses import replace
from typing import Any

from satchel.errors import SandboxError
from satchel.languages import with_wrappers
from satchel.model import Json
from satchel.sandbox.checking.findings import describe, read_findings
from satchel.sandbox.checking.model import Finding
from satchel.sandbox.limits import Limits, reason_of
from satchel.sandbox.running.capture import Captured
from satchel.sandbox.sandbox import Door, Home, Outcome, Program, Sandbox
from satchel.support.charging import apart

_MOST_OUTPUT = 1024 * 1024  # characters of what the checker says


async def check_program(sandbox: Sandbox, program: Program, home: Home, limits: Limits) -> Outcome | None:
    """The outcome of a program whose types don't fit; None if they do."""
    patient = replace(limits, kept_output=_MOST_OUTPUT, kept_errors=_MOST_OUTPUT)
    checked = await sandbox.run(replace(program, check=True), home, Door(answer=_nothing_to_ask), patient)
    if checked.ended is not None:
        raise SandboxError(f"the types could not be checked: {checked.detail}", hint="run it without check")
    language = with_wrappers(program.language)
    assert language is not None, "the shell has no types"

    modules = {name.removesuffix(".py") for name in await home.names()}

    def read() -> tuple[Finding, ...]:
        return read_findings(
            language,
            program.code,
            stdout=checked.stdout.text,
            stderr=checked.stderr.text,
            exit_code=checked.exit_code,
            local=modules,
        )

    findings = await apart(read)
    if not findings:
        return None
    return Outcome(
        exit_code=1,
        stdout=Captured(text=""),
        stderr=Captured(text=describe(language, program.code, findings) + "\n"),
        seconds=checked.seconds,
        ended="check",
        detail=reason_of("check", limits),
    )


async def _nothing_to_ask(method: str, params: Json) -> Any:
    raise SandboxError("a check calls nothing")
