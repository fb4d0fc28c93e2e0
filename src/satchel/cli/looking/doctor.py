"""doctor: what the checks found, and what to do next."""

import argparse
from collections.abc import Sequence

from satchel.cli import output
from satchel.cli.running import listing_progress, paths_of, run_async, run_with_servers
from satchel.config import ServerEntry
from satchel.config.agents import Mode
from satchel.names import count
from satchel.toolset import Toolset
from satchel.verbs.doctor import Finding, Level, check_machine, check_servers, check_settings
from satchel.verbs.offline import read_catalog
from satchel.verbs.satchel import Satchel

_SIGNS: dict[Level, tuple[str, str]] = {
    "ok": ("ok  ", "green"),
    "note": ("note", "cyan"),
    "warning": ("warn", "yellow"),
    "error": ("FAIL", "red"),
}

_SHORT = 100  # characters of a finding that is repeated


def doctor_command(options: argparse.Namespace) -> int:
    paths = paths_of(options)
    catalog = read_catalog(paths)
    names = [catalog.snapshot.server(name).name for name in options.server]
    findings = [] if names else run_async(lambda: check_machine(paths))
    entries = [catalog.entries[name] for name in names or catalog.entries]
    findings += run_with_servers(options, lambda satchel: _servers(satchel, entries)) if entries else []
    findings += [] if names else run_with_servers(options, _settings)
    if options.json:
        output.show_json({"findings": [vars(finding) for finding in findings]})
    else:
        _show(findings)
    return 4 if any(finding.level == "error" for finding in findings) else 0


def _show(findings: Sequence[Finding]) -> None:
    subject = None
    for finding in findings:
        if finding.subject != subject:
            subject = finding.subject
            output.show(output.styled(subject, "bold"))
        sign, style = _SIGNS[finding.level]
        text = f"  {output.styled(sign, style)}  {finding.check}: {output.clean(finding.message)}"
        output.show_lines(text, indent=" " * 8)
        for line in finding.stderr:
            output.show(f"          | {output.clean(line)}")
        if finding.next_step:
            output.show(f"          → {output.clean(finding.next_step)}")
    bad = [finding for finding in findings if finding.level in ("error", "warning")]
    output.note(f"to do: {count(len(bad), 'finding')}" if bad else "all is well")
    for finding in sorted(bad, key=lambda finding: finding.level):  # errors come before warnings
        sign, style = _SIGNS[finding.level]
        text = output.first_line(f"{finding.subject}, {finding.check}: {finding.message}", _SHORT)
        output.note(f"  {output.styled(sign, style)}  {text}")


async def _servers(satchel: Satchel, entries: Sequence[ServerEntry]) -> list[Finding]:
    with listing_progress() as tell:
        return await check_servers(satchel, entries, tell=tell)


async def _settings(satchel: Satchel) -> list[Finding]:
    def fill_in(agent: str, mode: Mode | None) -> str:
        toolset = Toolset(satchel, agent=agent, mode=mode)
        return toolset.instructions(memory=toolset.memory())

    return await check_settings(satchel, fill_in)
