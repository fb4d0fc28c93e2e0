"""skills lint, scan, install, pack."""

import argparse
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from satchel.cli import output
from satchel.cli.skills import _project, _skills
from satchel.errors import ArgumentError, ConflictError, NotFoundError
from satchel.library.install.archives import ENDING, pack
from satchel.library.install.install import install
from satchel.library.install.origins import folder_members
from satchel.library.install.scan import Finding, check_scan_rules, scan
from satchel.library.skills.directory import FILE
from satchel.library.skills.finding import find_skills
from satchel.library.skills.lint import check_rules, lint
from satchel.library.sources import Source
from satchel.library.state import named_skill
from satchel.model import Skill
from satchel.names import count
from satchel.support.files import write_atomically

_STYLES = {"error": "red", "critical": "red", "warning": "yellow", "note": "dim"}


def lint_command(options: argparse.Namespace) -> int:
    results = [(skill, lint(skill, options.profile)) for skill in _targets(options)]
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
    output.show(f"{count(len(results), 'skill')} checked by the rules of {options.profile}, {verdict}")
    return 1 if errors else 0


def scan_command(options: argparse.Namespace) -> int:
    check_scan_rules(options.accept)
    results = [(skill, _unaccepted(skill, options.accept)) for skill in _targets(options)]
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
            output.show(_line(finding, skill.folder))
    verdict = count(sum(len(findings) for _, findings in results), "finding")
    output.show(f"{count(len(results), 'skill')} looked through, {verdict}, {critical} critical")
    return 1 if critical else 0


def install_command(options: argparse.Namespace) -> int:
    paths, settings = _project(options)
    done = install(
        options.source,
        paths.project / Path(settings.path).expanduser(),
        allow=options.allow,
        accept=options.accept,
        reference=options.ref,
        folder=options.path,
        on_finding=lambda finding: output.note(_line(finding)),
    )
    (skill,) = [skill for skill in _skills(paths, settings) if skill.folder == done.folder] or [None]
    if options.json:
        findings = [asdict(finding) for finding in done.findings]
        value = {"name": done.name, "folder": str(done.folder), **done.record, "findings": findings}
        output.show_json({**value, "inner": {name: str(folder) for name, folder in done.inner.items()}})
        return 0
    for name, folder in {done.name: done.folder, **done.inner}.items():
        output.show(f"custom:{name}  {output.from_here(folder)}")
    if done.record["kind"] == "git":
        output.note(f"as of commit {done.record['commit'][:12]}; what is not committed was left out")
    if skill is not None and not skill.enabled:
        output.note(f"it is disabled; satchel skills enable {skill.identity} switches it on")
    return 0


def pack_command(options: argparse.Namespace) -> int:
    check_rules(options.allow)
    folder = options.folder.expanduser().resolve()
    if not folder.is_dir():
        raise ArgumentError(f"{folder} is no folder", hint=f"a skill is a folder with a {FILE}")
    faults = [
        fault for fault in lint(folder) if fault.severity == "error" and fault.rule not in options.allow
    ]
    if faults:
        hint = f"mend it, or waive the rule with --allow {faults[0].rule}"
        raise ArgumentError(f"{FILE}: {faults[0]}", hint=hint)
    name = folder.name
    target = (options.output or Path(f"{name}{ENDING}")).expanduser().absolute()
    if target.suffix != ENDING:
        raise ArgumentError(f"{target.name} does not end in {ENDING}")
    if os.path.lexists(target) and not options.force:
        raise ConflictError(f"{target} is there already", name=target.name, hint="--force writes over it")
    members = [member for member in folder_members(folder) if folder / member.path != target]
    try:
        write_atomically(target, pack(members, name), mode=0o644)
    except OSError as error:
        raise ArgumentError(
            f"{target} can't be written: {error.strerror or error}", hint="name another place with --output"
        ) from error
    output.show(str(target))
    output.note(f"packed {count(len(members), 'file')}")
    return 0


def _targets(options: argparse.Namespace) -> list[Skill]:
    """The skills that were named, those in the folders that were, or all there are."""
    paths, settings = _project(options)
    known = _skills(paths, settings)
    if not options.targets:
        return known
    found: list[Skill] = []
    for target in options.targets:
        folder = Path(target).expanduser()
        is_path = (
            os.sep in target or target.startswith(".") or (folder.is_dir() and target not in _names(known))
        )
        found += _in_folder(folder) if is_path else [named_skill(target, known)]
    return found


def _names(skills: Sequence[Skill]) -> set[str]:
    return {skill.name for skill in skills} | {skill.identity for skill in skills}


def _in_folder(folder: Path) -> list[Skill]:
    """The skill that a folder is, with those in it."""
    absolute = folder.absolute()
    category = "folder"
    found = find_skills([Source(root=absolute, category=category)])
    if os.path.lexists(absolute / FILE):
        above = find_skills([Source(root=absolute.parent, category=category)])
        found = [skill for skill in above if skill.folder.is_relative_to(absolute)]
    if not found:
        raise NotFoundError("skill", str(folder), hint=f"there is no {FILE} below that folder")
    return found


def _unaccepted(skill: Skill, accept: Sequence[str]) -> list[Finding]:
    return [finding for finding in scan(skill.folder) if finding.rule not in accept]


def _severity(severity: str) -> str:
    return output.styled(severity, _STYLES[severity])


def _line(finding: Finding, folder: Path | None = None) -> str:
    file = finding.file if folder is None else output.from_here(folder / finding.file)
    return f"{file}:{finding.line}: {_severity(finding.severity)}: {finding.text} [{finding.rule}]"
