"""Installing a skill, and removing one, so that at any moment it is there as a whole or not at all.

It is made ready in a hidden folder beside where it will be, on the same file system, and moved in one step.
"""

import json
import os
import re
import shlex
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from satchel.config.paths import lock_of
from satchel.errors import ArgumentError, ConfigError, ConflictError, SatchelError
from satchel.library.install.archives import ENDING, read_archive
from satchel.library.install.aside import aside_in
from satchel.library.install.members import (
    RECORD,
    Member,
    check_path,
    checked,
    refused,
    rooted,
    write_members,
)
from satchel.library.install.origins import entries_of, file_reader, folder_members
from satchel.library.install.repositories import commit_of, is_repository, repository_members
from satchel.library.install.scan import Finding, check_scan_rules, is_accepted, scan
from satchel.library.skills.directory import FILE
from satchel.library.skills.finding import LARGEST, find_skills
from satchel.library.skills.front_matter import read_document
from satchel.library.skills.lint import check_rules, lint, normal_name
from satchel.library.sources import CUSTOM, Source
from satchel.model import Json, Skill, is_object
from satchel.support.files import locked, read_small, write_atomically

_ADDRESS = re.compile(r"(https?|ssh|git):/|[\w.-]+@[\w.-]+:")


@dataclass(frozen=True, kw_only=True)
class Installed:
    """A skill that was installed, and what there is to say of it."""

    name: str
    folder: Path
    record: Json  # origin, digest, and what was waived
    inner: Mapping[str, Path]  # the folders of the skills that are in it, by name
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, kw_only=True)
class _Fetched:
    members: list[Member]
    record: Json = field(default_factory=dict[str, Any])


def install(
    source: Path | bytes,
    skills: Path,
    *,
    allow: Collection[str] = (),
    accept: Collection[str] = (),
    reference: str | None = None,
    folder: str | None = None,
    origin: str = "bytes",
    on_finding: Callable[[Finding], None] = lambda finding: None,
) -> Installed:
    """Install the skill of an archive, a folder or a local repository below `skills`, among the custom ones.

    `allow` waives rules of the lint, `accept` findings of the scan; `reference` and `folder` are for
    repositories and folders that have more than one version or skill. An archive can be given as its bytes,
    and `origin` says then where they are from.
    """
    check_rules(allow)
    check_scan_rules(accept, files_alone=True)
    try:
        fetched = _fetch(source, reference, folder, origin)
        with aside_in(_category(skills)) as aside:
            new = aside / "skill"
            write_members(fetched.members, new)
            name = _checked_name(new, allow)
            inner = _checked_inner(new, allow)
            findings = _scanned(new, accept, on_finding)
            record = {
                **fetched.record,
                "digest": digest_of(new),
                "installed_at": datetime.now(UTC).isoformat(timespec="seconds"),
                "allowed": sorted(allow),
                "accepted": sorted(accept),
            }
            write_atomically(new / RECORD, (json.dumps(record, indent=2) + "\n").encode(), mode=0o644)
            place = _move(new, skills / CUSTOM / name, [name, *inner])
    except OSError as error:
        raise SatchelError(f"nothing was installed: {error.filename}: {error.strerror}") from error
    return Installed(
        name=name,
        folder=place,
        record=record,
        inner={each: place / path for each, path in inner.items()},
        findings=tuple(findings),
    )


def remove(skill: Skill) -> None:
    """Take a skill away, with all that is in its folder."""
    category = skill.folder.parents[skill.relative.count("/")]
    try:
        with aside_in(category) as aside:
            os.rename(skill.folder, aside / "skill")
    except OSError as error:
        raise SatchelError(f"{skill.identity} was not removed: {error.strerror}") from error


def read_record(folder: Path) -> Json | None:
    """The record of a skill's installation; None if it was not installed."""
    try:
        record: object = json.loads(read_small(folder / RECORD, 64 * 1024))
    except (OSError, ValueError, RecursionError):
        return None
    return record if is_object(record) else None


def digest_of(folder: Path) -> str:
    """One digest of all there is: paths, contents, and whether they can be run. Nothing is passed over."""
    total = sha256()
    for entry in sorted(entries_of(folder), key=lambda entry: entry.path):
        content = sha256()
        for chunk in file_reader(folder, entry.path, single=False)() if entry.is_file else ():
            content.update(chunk)
        what = content.hexdigest() if entry.is_file else "not a file"
        line = f"{entry.path}\0{int(entry.executable)}\0{what}\n"
        total.update(line.encode("utf-8", "surrogateescape"))
    return f"sha256:{total.hexdigest()}"


# Where it comes from


def _fetch(source: Path | bytes, reference: str | None, folder: str | None, origin: str) -> _Fetched:
    if isinstance(source, bytes):
        return _Fetched(members=read_archive(source), record={"kind": "archive", "origin": origin})
    path = Path(os.path.expanduser(source)).absolute()
    if _ADDRESS.match(str(source)) and not os.path.exists(path):
        raise _is_elsewhere(str(source))
    if os.path.isdir(path) and is_repository(path):
        commit = commit_of(path, reference or "HEAD")
        members = rooted(repository_members(path, commit, folder), folder, deep=True)
        record: Json = {"kind": "git", "origin": str(path), "commit": commit, "path": folder}
        return _Fetched(members=checked(members), record=record)
    if reference is not None and os.path.exists(path):
        raise refused(f"{path} is not a git repository", hint="--ref is for repositories")
    if os.path.isdir(path):
        members = rooted(folder_members(path), folder, deep=True)
        return _Fetched(members=checked(members), record={"kind": "folder", "origin": str(path)})
    if folder is not None and os.path.exists(path):
        raise refused(f"{path} is not a folder", hint="--path is for folders and repositories")
    return _Fetched(members=read_archive(path), record={"kind": "archive", "origin": str(path)})


def _is_elsewhere(address: str) -> ArgumentError:
    """For an address in the place of a path, which has made one slash of two."""
    address = re.sub(r"^(\w+):/+", r"\1://", address)
    name = re.split("[/:]", address.rstrip("/"))[-1].removesuffix(".git")
    if name.endswith(ENDING):
        hint = f"download it first, then install the file: satchel skills install {name}"
    else:
        hint = (
            f"clone it first, then install the folder: git clone {address} && satchel skills install {name}"
        )
    return refused(f"{address} is not on this machine, and Satchel fetches nothing", hint=hint)


# What it has to be


def _checked_name(folder: Path, allow: Collection[str]) -> str:
    _check_rules_of(folder, FILE, allow)
    name = normal_name(str(read_document(read_small(folder / FILE, LARGEST)).values.get("name") or ""))
    if not name or "/" in name or name.startswith("."):
        raise refused(f"{name!a} can't be the name of a folder", hint=f"change the name in its {FILE}")
    check_path(name)
    return name


def _checked_inner(folder: Path, allow: Collection[str]) -> dict[str, str]:
    """The skills below that of a folder, which are found like any other: their paths from there, by name."""
    found: dict[str, str] = {}
    for skill in find_skills([Source(root=folder.parent, category=CUSTOM)]):
        path = skill.folder.relative_to(folder).as_posix()
        if path != ".":
            _check_rules_of(skill, f"{path}/{skill.file.name}", allow)
        name = normal_name(skill.name)
        if name in found:
            places = f"{found[name]!a} and {path!a}"
            raise refused(f"{places} are both called '{name}'", hint="give one of them another name")
        found[name] = path
    return {name: path for name, path in found.items() if path != "."}


def _check_rules_of(target: Path | Skill, file: str, allow: Collection[str]) -> None:
    faults = [fault for fault in lint(target, folder=None) if fault.severity == "error"]
    broken = [fault for fault in faults if fault.rule not in allow]
    if broken:
        rest = f" (and {len(broken) - 1} more)" if len(broken) > 1 else ""
        # Without these there is nothing to install; a skill in another one is only of no use then.
        fixed = broken[0].rule in ("front-matter", "name-given") and file == FILE
        waiver = "" if fixed else f", or waive the rule with --allow {broken[0].rule}"
        raise refused(f"{file}: {broken[0]}{rest}", hint=f"fix its {FILE}{waiver}")


def _scanned(folder: Path, accept: Collection[str], on_finding: Callable[[Finding], None]) -> list[Finding]:
    findings = scan(folder)
    for finding in findings:
        on_finding(finding)
    critical = [finding for finding in findings if finding.severity == "critical"]
    blocking = [finding for finding in critical if not is_accepted(finding, accept)]
    if blocking:
        rest = f" (and {len(blocking) - 5:,} more)" if len(blocking) > 5 else ""
        names = sorted({finding.accept for finding in blocking})
        options = " ".join(f"--accept {shlex.quote(name)}" for name in names)
        why, them = ("this finding", "it") if len(blocking) == 1 else (f"{len(blocking):,} findings", "them")
        raise ArgumentError(
            f"not installed, because of {why}: {'; '.join(map(str, blocking[:5]))}{rest}",
            hint=f"read {them} first; {options} installs it",
        )
    return findings


# Where it goes


def _category(skills: Path) -> Path:
    """The folder of installed skills, which must not lead elsewhere."""
    category = skills / CUSTOM
    if category.is_symlink():
        raise ConfigError(
            "is a symbolic link, and the installation would be written to its target",
            file=category,
            hint="make it a folder",
        )
    category.mkdir(parents=True, exist_ok=True)
    return category


def _move(new: Path, place: Path, names: Collection[str]) -> Path:
    """`names` are those of the skill and of the skills in it: each is to mean one skill only."""
    with locked(lock_of(place.parent)):
        folded = place.name.casefold()
        taken = [name for name in os.listdir(place.parent) if normal_name(name).casefold() == folded]
        known = {
            normal_name(skill.name) for skill in find_skills([Source(root=place.parent, category=CUSTOM)])
        }
        taken += [name for name in names if name in known]
        if taken:
            raise ConflictError(
                f"there is a skill '{taken[0]}' in {place.parent} already",
                name=taken[0] if taken[0] in names else place.name,
                hint=f"satchel skills remove {CUSTOM}:{taken[0]} removes it",
            )
        os.rename(new, place)
    return place
