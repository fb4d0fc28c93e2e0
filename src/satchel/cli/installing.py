"""skills lint, scan, install, pack."""

import argparse
from dataclasses import asdict
from pathlib import Path

from satchel.cli import output
from satchel.cli.skills import library_of
from satchel.names import count
from satchel.verbs.skill_library import Finding, pack_skill

_STYLES = {"error": "red", "critical": "red", "warning": "yellow", "note": "dim"}


def lint_command(options: argparse.Namespace) -> int:
    results = library_of(options).lint(options.targets, options.profile)
    errors = sum(fault.severity == "error" for _, faults in results for fault in faults)
    if options.json:
        listed = [
            {"skill": skill.identity, "file": str(skill.file), **asdict(fault)}
            for skill, faults in results
            for fault in faults
        ]
        output.show_json({"profile": options.profile, "checked": len(results), "findings": listed})
        return 1 if errors else 0
    for skill, faults in results:
        for fault in faults:
            place = f"{output.from_here(skill.file)}:{fault.line}"
            output.show(f"{place}: {_severity(fault.severity)}: {fault.text} [{fault.rule}]")
    faulty = sum(any(fault.severity == "error" for fault in faults) for _, faults in results)
    verdict = f"{faulty} with errors" if faulty else "no errors"
    output.note(f"{count(len(results), 'skill')} checked by the rules of {options.profile}, {verdict}")
    return 1 if errors else 0


def scan_command(options: argparse.Namespace) -> int:
    results = library_of(options).scan(options.targets, options.accept)
    critical = sum(finding.severity == "critical" for _, findings in results for finding in findings)
    if options.json:
        listed = [
            {"skill": skill.identity, **asdict(finding)}
            for skill, findings in results
            for finding in findings
        ]
        output.show_json({"checked": len(results), "findings": listed})
        return 1 if critical else 0
    for skill, findings in results:
        for finding in findings:
            output.show(finding_line(finding, skill.folder))
    verdict = count(sum(len(findings) for _, findings in results), "finding")
    output.note(f"{count(len(results), 'skill')} looked through, {verdict}, {critical} critical")
    return 1 if critical else 0


def install_command(options: argparse.Namespace) -> int:
    added = library_of(options).install(
        options.source,
        allow=options.allow,
        accept=options.accept,
        reference=options.ref,
        folder=options.path,
        on_finding=lambda finding: output.note(finding_line(finding)),
    )
    done, skill = added.installed, added.skill
    if options.json:
        findings = [asdict(finding) for finding in done.findings]
        value = {"name": done.name, "folder": str(done.folder), **done.record, "findings": findings}
        output.show_json({**value, "inner": {name: str(folder) for name, folder in done.inner.items()}})
        return 0
    for name, folder in {done.name: done.folder, **done.inner}.items():
        output.show(f"custom:{name}  {output.from_here(folder)}")
    if done.record["kind"] == "git":
        output.note(f"as of commit {done.record['commit'][:12]}; uncommitted changes were left out")
    if skill is not None and not skill.enabled:
        output.note(f"it is disabled; satchel skills enable {skill.identity} switches it on")
    return 0


def pack_command(options: argparse.Namespace) -> int:
    packed = pack_skill(options.folder, options.output, allow=options.allow, force=options.force)
    output.show(str(packed.file))
    output.note(f"packed {count(packed.file_count, 'file')}")
    return 0


def _severity(severity: str) -> str:
    return output.styled(severity, _STYLES[severity])


def finding_line(finding: Finding, folder: Path | None = None) -> str:
    file = finding.file if folder is None else output.from_here(folder / finding.file)
    return f"{file}:{finding.line}: {_severity(finding.severity)}: {finding.text} [{finding.rule}]"
