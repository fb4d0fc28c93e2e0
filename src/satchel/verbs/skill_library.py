"""The verbs for the skills of a project as people keep them: listed, installed, removed, switched, checked.

They work on files, and nothing is opened or started. What agents see of skills is in `verbs/skills.py`.
"""

import os
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from satchel.config import Paths, find_paths
from satchel.config.settings import SkillsSettings, find_agent, read_settings
from satchel.errors import ArgumentError, ConflictError, NotFoundError, SatchelError
from satchel.library.install.archives import ENDING
from satchel.library.install.archives import pack as pack_members
from satchel.library.install.install import Installed, digest_of, install, read_record, remove
from satchel.library.install.origins import entries_of, folder_members
from satchel.library.install.scan import Finding, check_scan_rules, is_accepted, scan
from satchel.library.plugins.listing import list_plugins
from satchel.library.skills.directory import FILE
from satchel.library.skills.files import BASE
from satchel.library.skills.finding import find_skills, skills_of
from satchel.library.skills.lint import Fault, Profile, check_rules, lint
from satchel.library.sources import PUBLIC, Source, project_root, saved_root, sources_in
from satchel.library.state import (
    forget_skill,
    named_skill,
    read_states,
    set_skill_enabled,
    skills_named,
    with_state,
)
from satchel.model import Json, Skill
from satchel.names import closest
from satchel.support.files import write_atomically

__all__ = [
    "Fault",
    "Finding",
    "Profile",
    "SkillLibrary",
    "get_skills_root_path",
    "load_skills",
    "open_skill_library",
    "pack_skill",
    "parse_skill_file",
]


@dataclass(frozen=True, kw_only=True)
class SkillInfo:
    """A skill, and what is known of it besides what it says itself."""

    skill: Skill
    files: tuple[str, ...]
    origin: Json | None  # what was noted when it was installed
    changed: bool  # since then


@dataclass(frozen=True, kw_only=True)
class Switched:
    """A skill that is enabled or disabled now, and how many have its identity and are so with it."""

    skill: Skill
    count: int


@dataclass(frozen=True, kw_only=True)
class Removal:
    """A skill that can be removed, and what would be lost with it, if anything."""

    skill: Skill
    others: tuple[Skill, ...]
    loss: str | None


@dataclass(frozen=True, kw_only=True)
class Added:
    """A skill that was installed. `skill` is None where it is not found among those of the project."""

    installed: Installed
    skill: Skill | None


@dataclass(frozen=True, kw_only=True)
class Packed:
    """An archive that was made."""

    file: Path
    file_count: int


@dataclass(frozen=True, kw_only=True)
class SkillLibrary:
    """The skills of one project, for the person who keeps them."""

    paths: Paths
    settings: SkillsSettings

    def skills(
        self, agent: str | None = None, *, category: str | None = None, enabled_only: bool = False
    ) -> list[Skill]:
        """All skills by name, also those that can't be used; with `agent`, those that this agent sees."""
        if agent:
            find_agent(read_settings(self.paths.settings_file), agent)
        found = skills_of(self.paths, self.settings, agent, plugins=self._plugins())
        if category:
            categories = {skill.category for skill in found}
            if category not in categories:
                raise NotFoundError("category", category, closest=closest(category, categories))
            found = [skill for skill in found if skill.category == category]
        return [skill for skill in found if skill.enabled or not enabled_only]

    def _plugins(self) -> tuple[Source, ...]:
        return list_plugins(self.paths, read_settings(self.paths.settings_file).plugins).sources

    def names(self) -> list[str]:
        """Names and identities of all skills."""
        return sorted(_names(self.skills()))

    def info(self, name: str) -> SkillInfo:
        """One skill, by its name, `category:name`, or its folder."""
        return _info(named_skill(name, self.skills(), self.settings.container_path))

    def set_enabled(self, names: Iterable[str], *, enabled: bool) -> list[Switched]:
        """Switch skills on or off. If one of the names is unknown, nothing is switched."""
        skills = self.skills()
        switched: list[Switched] = []
        for named in [skills_named(name, skills, self.settings.container_path) for name in names]:
            usable = [skill for skill in named if skill.error is None]
            _refuse_of_disabled(named[0], self._plugins(), enabled=enabled)
            if enabled and not usable:
                faulty = named[0]
                line = f":{faulty.line}" if faulty.line else ""
                raise ArgumentError(f"{self._told(faulty.file)}{line}: {faulty.error}", hint="fix it first")
            skill = (usable or named)[0]
            set_skill_enabled(self.paths.extensions_file, skill, skills, enabled=enabled)
            same = [other for other in skills if other.identity == skill.identity]
            switched.append(Switched(skill=skill, count=len(same)))
        return switched

    def removal(self, name: str) -> Removal:
        """What removing a skill means. ArgumentError where Satchel does not remove it."""
        skills = self.skills()
        skill = named_skill(name, skills, self.settings.container_path)
        roots = (project_root(self.paths, self.settings), saved_root(self.paths))
        is_ours = any(skill.folder.is_relative_to(root) for root in roots)
        if skill.category == PUBLIC or not skill.relative or not is_ours:
            place = skill.folder if skill.relative else skill.file  # or all of a category would go
            raise ArgumentError(
                f"{skill.identity} was not installed by Satchel",
                hint=f"disable it, or delete {self._told(place)} yourself",
            )
        others = tuple(other for other in skills if other is not skill)
        inner = [
            other.name
            for other in others
            if other.folder != skill.folder and other.folder.is_relative_to(skill.folder)
        ]
        if inner:
            raise ArgumentError(
                f"{skill.identity} has other skills in it: {', '.join(inner)}", hint="remove these first"
            )
        info = _info(skill)
        loss = "exists only here" if info.origin is None else "is not as it was installed"
        is_lost = info.origin is None or info.changed
        return Removal(skill=skill, others=others, loss=loss if is_lost else None)

    def remove(self, removal: Removal) -> None:
        """Remove a skill with its folder, and what extensions_config.json says of it."""
        remove(removal.skill)
        forget_skill(self.paths.extensions_file, removal.skill, removal.others)

    def install(
        self,
        source: Path,
        *,
        allow: Collection[str] = (),
        accept: Collection[str] = (),
        reference: str | None = None,
        folder: str | None = None,
        on_finding: Callable[[Finding], None] = lambda finding: None,
    ) -> Added:
        """Install the skill of an archive, a folder or a local repository among the custom ones.

        `allow` waives rules of the lint, `accept` findings of the scan, each of which is told first.
        """
        done = install(
            source,
            self.paths.project / os.path.expanduser(self.settings.path),
            allow=allow,
            accept=accept,
            reference=reference,
            folder=folder,
            on_finding=on_finding,
        )
        found = [skill for skill in self.skills() if skill.folder == done.folder]
        return Added(installed=done, skill=found[0] if found else None)

    def lint(self, targets: Sequence[str], profile: Profile = "spec") -> list[tuple[Skill, list[Fault]]]:
        """Check skills by strict rules: by name, those in folders, or all where none is named."""
        return [(skill, lint(skill, profile)) for skill in self._targets(targets)]

    def scan(self, targets: Sequence[str], accept: Collection[str] = ()) -> list[tuple[Skill, list[Finding]]]:
        """Look through the files of skills for what is dangerous; `accept` leaves findings out."""
        check_scan_rules(accept)
        return [
            (skill, [finding for finding in scan(skill.folder) if not is_accepted(finding, accept)])
            for skill in self._targets(targets)
        ]

    def _told(self, path: Path) -> str:
        """A path from the project's directory, where it is below that."""
        project = self.paths.project
        return str(path.relative_to(project) if path.is_relative_to(project) else path)

    def _targets(self, targets: Sequence[str]) -> list[Skill]:
        known = self.skills()
        if not targets:
            return known
        found: list[Skill] = []
        for target in targets:
            folder = Path(os.path.expanduser(target))
            is_path = os.sep in target or target.startswith(".")
            is_path = is_path or (folder.is_dir() and target not in _names(known))
            found += _in_folder(folder) if is_path else [named_skill(target, known)]
        return found


def open_skill_library(config: Path | None = None) -> SkillLibrary:
    """The skills of the project that `config` names, or of the nearest one."""
    paths = find_paths(config=config)
    return SkillLibrary(paths=paths, settings=read_settings(paths.settings_file).skills)


def load_skills(
    skills_path: str | Path | None = None, use_config: bool = True, enabled_only: bool = False
) -> list[Skill]:
    """All skills, sorted by name; one that can't be used is among them, with its `error`.

    Without `skills_path`, they are those of the project, of the user, and of `skills.include`; with it, those
    of that folder alone. Without `use_config`, no configuration is read: the path is `skills`, and what is
    enabled is what is so by default.
    """
    if not use_config:
        found = find_skills(sources_in(Path(os.path.expanduser(skills_path or SkillsSettings().path))))
        return [skill for skill in found if skill.enabled or not enabled_only]
    library = open_skill_library()
    if skills_path is None:
        found = library.skills()
    else:
        states = read_states(library.paths.extensions_file)
        found = with_state(find_skills(sources_in(Path(os.path.expanduser(skills_path)))), states)
    base = library.settings.container_path
    found = found if base == BASE else [replace(skill, base=base) for skill in found]
    return [skill for skill in found if skill.enabled or not enabled_only]


def get_skills_root_path(config: Path | None = None) -> Path:
    """The folder with the project's skills, by category: `skills.path` in satchel.yaml."""
    library = open_skill_library(config)
    return project_root(library.paths, library.settings)


def parse_skill_file(file: str | Path, category: str = PUBLIC) -> Skill | None:
    """The skill of one SKILL.md; None if it can't be used, of which `load_skills` tells the reason."""
    place = Path(os.path.expanduser(file)).absolute()
    beside = Source(
        root=place.parent.parent, category=category, enabled=True, only=frozenset({place.parent.name})
    )
    return next((skill for skill in find_skills([beside]) if skill.file == place and not skill.error), None)


def pack_skill(
    folder: Path, file: Path | None = None, *, allow: Collection[str] = (), force: bool = False
) -> Packed:
    """Make an archive of the skill in a folder; `force` writes over one that is there."""
    check_rules(allow)
    folder = Path(os.path.expanduser(folder)).resolve()
    if not folder.is_dir():
        raise ArgumentError(f"{folder} is not a folder", hint=f"a skill is a folder with a {FILE}")
    faults = [fault for fault in lint(folder) if fault.severity == "error" and fault.rule not in allow]
    if faults:
        hint = f"fix it, or waive the rule with --allow {faults[0].rule}"
        raise ArgumentError(f"{FILE}: {faults[0]}", hint=hint)
    target = Path(os.path.expanduser(file or f"{folder.name}{ENDING}")).absolute()
    if target.suffix != ENDING:
        raise ArgumentError(f"{target.name} does not end in {ENDING}")
    if os.path.lexists(target) and not force:
        raise ConflictError(f"{target} is there already", name=target.name, hint="--force writes over it")
    members = [member for member in folder_members(folder) if folder / member.path != target]
    try:
        write_atomically(target, pack_members(members, folder.name), mode=0o644)
    except OSError as error:
        raise ArgumentError(
            f"{target} can't be written: {error.strerror or error}", hint="name another place with --output"
        ) from error
    return Packed(file=target, file_count=len(members))


def _refuse_of_disabled(skill: Skill, plugins: Iterable[Source], *, enabled: bool) -> None:
    """A skill can't be enabled by itself in a plugin that is disabled."""
    if enabled and any(source.category == skill.category and not source.enabled for source in plugins):
        raise ArgumentError(
            f"{skill.identity} is of the plugin {skill.plugin}, which is disabled",
            hint=f"satchel plugins enable {skill.plugin}",
        )


def _info(skill: Skill) -> SkillInfo:
    record = read_record(skill.folder)
    try:
        files = tuple(entry.path for entry in entries_of(skill.folder))
        changed = record is not None and digest_of(skill.folder) != record.get("digest")
    except (SatchelError, OSError):  # it has links in it, or too many files for an installed skill
        files, changed = (), record is not None
    return SkillInfo(skill=skill, files=files, origin=record, changed=changed)


def _names(skills: Iterable[Skill]) -> set[str]:
    return {name for skill in skills for name in (skill.name, skill.identity)}


def _in_folder(folder: Path) -> list[Skill]:
    """The skill that a folder is, with those in it."""
    absolute = folder.absolute()
    found = find_skills([Source(root=absolute, category="folder")])
    if os.path.lexists(absolute / FILE):
        above = find_skills([Source(root=absolute.parent, category="folder")])
        found = [skill for skill in above if skill.folder.is_relative_to(absolute)]
    if not found:
        raise NotFoundError("skill", str(folder), hint=f"there is no {FILE} below that folder")
    return found
