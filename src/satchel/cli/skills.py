"""skills list, search, show, enable, disable, remove."""

import argparse
from pathlib import Path

from satchel.cli import output
from satchel.config import Paths, find_paths
from satchel.config.settings import SkillsSettings, find_agent, read_settings
from satchel.errors import ArgumentError, NotFoundError, SatchelError
from satchel.library.skills.finding import skills_of
from satchel.library.sources import PUBLIC, project_root, saved_root
from satchel.library.state import forget_skill, named_skill, set_skill_enabled, skills_named
from satchel.model import Json, Skill
from satchel.names import closest, count


def list_command(options: argparse.Namespace) -> int:
    paths, settings = _project(options)
    if options.agent:
        find_agent(read_settings(paths.settings_file), options.agent)
    skills = _skills(paths, settings, options.agent)
    if options.category:
        categories = {skill.category for skill in skills}
        if options.category not in categories:
            raise NotFoundError("category", options.category, closest=closest(options.category, categories))
        skills = [skill for skill in skills if skill.category == options.category]
    if options.enabled:
        skills = [skill for skill in skills if skill.enabled]
    if options.json:
        output.show_json({"skills": [_as_json(skill, settings) for skill in skills]})
        return 0
    output.show_table([_row(skill) for skill in skills])
    _note_oddities(skills)
    if not skills:
        output.note("no skills")
        output.note("hint: satchel skills install adds one; docs/skills.md says where they are looked for")
        return 0
    _show_summary(skills)
    return 0


def _row(skill: Skill) -> tuple[str, str, str, str]:
    if skill.error is None:
        return skill.name, skill.category, _state(skill), output.first_line(skill.description, 1000)
    return skill.name, skill.category, "error", f"{_place(skill)}: {skill.error}"


def _state(skill: Skill) -> str:
    return "error" if skill.error is not None else "enabled" if skill.enabled else "disabled"


def _place(skill: Skill) -> str:
    file = output.from_here(skill.file)
    return f"{file}:{skill.line}" if skill.line else file


def _note_oddities(skills: list[Skill]) -> None:
    for skill in skills:
        for warning in skill.warnings:
            output.note(f"{output.from_here(skill.file)}: {warning}")


def _show_summary(skills: list[Skill]) -> None:
    enabled = sum(skill.enabled for skill in skills)
    faulty = sum(skill.error is not None for skill in skills)
    tail = f", {faulty} with an error" if faulty else ""
    output.show(f"{count(len(skills), 'skill')}, {enabled} enabled{tail}")


def search_command(options: argparse.Namespace) -> int:
    """The search that agents have, over the skills that one may use."""
    from satchel.config import read_configuration
    from satchel.shown_skills import ShownSkills

    configuration = read_configuration(find_paths(config=getattr(options, "config", None)))
    find_agent(configuration.settings, options.agent)
    query = " ".join(options.query)
    found = ShownSkills(lambda: configuration).search(query, options.agent, limit=options.limit)
    if options.json:
        output.show_json(found)
        return 0
    output.show_table(
        [(each["name"], output.first_line(each["description"], 1000)) for each in found["skills"]]
    )
    shown, total = len(found["skills"]), found["match_count"]
    if not total:
        output.note(f"no skill that is enabled fits '{query}'" if query else "no skill is enabled")
        output.note("hint: satchel skills list has all there are")
    elif shown < total:
        output.note(f"the best {shown} of {total}; --limit shows more")
    return 0


def show_command(options: argparse.Namespace) -> int:
    paths, settings = _project(options)
    skill = named_skill(options.name, _skills(paths, settings), settings.container_path)
    details = _details(skill)
    if options.json:
        output.show_json(_as_json(skill, settings) | {"values": dict(skill.values)} | details)
        return 0
    output.show(output.styled(skill.identity, "bold") + f"  {_state(skill)}")
    if skill.error is not None:
        output.show(f"error: {_place(skill)}: {skill.error}")
    output.show(skill.description)
    rows = [
        ("folder", output.from_here(skill.folder)),
        ("for programs", skill.get_container_file_path(settings.container_path)),
        *([("license", skill.license)] if skill.license else []),
        *([("allowed tools", ", ".join(skill.allowed_tools))] if skill.allowed_tools else []),
        *((key, str(value)) for key, value in skill.values.items() if key not in _SHOWN),
    ]
    record: Json | None = details["origin"]
    if record:
        commit = f", commit {str(record['commit'])[:12]}" if record.get("commit") else ""
        rows.append(("from", f"{record.get('kind')} {record.get('origin')}{commit}"))
        rows.append(("installed", f"{record.get('installed_at')}{_changed(details)}"))
    output.show_table(rows, indent="  ")
    for file in details["files"]:
        output.show(f"  {file}")
    _note_oddities([skill])
    return 0


_SHOWN = ("name", "description", "license", "allowed-tools")


def _changed(details: Json) -> str:
    return ", and changed since then" if details["changed"] else ""


def _details(skill: Skill) -> Json:
    """What is known of a skill besides what it says itself."""
    from satchel.library.install.install import digest_of, read_record
    from satchel.library.install.origins import entries_of

    record = read_record(skill.folder)
    try:
        files = [entry.path for entry in entries_of(skill.folder)]
        changed = record is not None and digest_of(skill.folder) != record.get("digest")
    except (SatchelError, OSError):  # it has links in it, or so many files that it is no skill as installed
        files, changed = [], record is not None
    return {"files": files, "origin": record, "changed": changed}


def enable_command(options: argparse.Namespace) -> int:
    return _switch(options, enabled=True)


def disable_command(options: argparse.Namespace) -> int:
    return _switch(options, enabled=False)


def _switch(options: argparse.Namespace, *, enabled: bool) -> int:
    paths, settings = _project(options)
    skills = _skills(paths, settings)
    for named in [skills_named(name, skills, settings.container_path) for name in options.name]:
        usable = [skill for skill in named if skill.error is None]
        if enabled and not usable:
            raise ArgumentError(f"{_place(named[0])}: {named[0].error}", hint="mend it first")
        skill = (usable or named)[0]
        same = [other for other in skills if other.identity == skill.identity]
        set_skill_enabled(paths.extensions_file, skill, skills, enabled=enabled)
        state = "enabled" if enabled else "disabled"
        more = f": {len(same)} skills, which have one name" if len(same) > 1 else ""
        output.note(f"{skill.identity} is {state}{more}")
    return 0


def remove_command(options: argparse.Namespace) -> int:
    from satchel.library.install.install import remove

    paths, settings = _project(options)
    skills = _skills(paths, settings)
    skill = named_skill(options.name, skills, settings.container_path)
    roots = (project_root(paths, settings), saved_root(paths))
    is_ours = any(skill.folder.is_relative_to(root) for root in roots)
    if skill.category == PUBLIC or not skill.relative or not is_ours:
        place = skill.folder if skill.relative else skill.file  # or all of a category would go
        raise ArgumentError(
            f"{skill.identity} was not installed by Satchel",
            hint=f"disable it, or delete {output.from_here(place)} yourself",
        )
    inner = [other for other in skills if other.folder != skill.folder and _is_in(other, skill)]
    if inner:
        raise ArgumentError(
            f"{skill.identity} has other skills in it: {', '.join(other.name for other in inner)}",
            hint="remove these first",
        )
    details = _details(skill)
    if details["origin"] is None or details["changed"]:
        why = "is not as it was installed" if details["origin"] else "exists only here"
        question = f"{skill.identity} {why}; delete {output.from_here(skill.folder)}? [y/N] "
        if not options.yes and not output.confirmed(question):
            return 2
    remove(skill)
    forget_skill(paths.extensions_file, skill, [other for other in skills if other is not skill])
    output.note(f"removed {skill.identity}")
    return 0


def _is_in(skill: Skill, other: Skill) -> bool:
    return skill.folder.is_relative_to(other.folder)


# What other commands about skills need as well


def _project(options: argparse.Namespace) -> tuple[Paths, SkillsSettings]:
    paths = find_paths(config=getattr(options, "config", None))
    return paths, read_settings(paths.settings_file).skills


def _skills(paths: Paths, settings: SkillsSettings, agent: str | None = None) -> list[Skill]:
    return skills_of(paths, settings, agent)


def known_skills(config: Path | None) -> list[str]:
    """Names to complete. A broken configuration completes nothing and says nothing."""
    try:
        paths, settings = _project(argparse.Namespace(config=config))
        skills = _skills(paths, settings)
    except SatchelError:
        return []
    return sorted({skill.name for skill in skills} | {skill.identity for skill in skills})


def _as_json(skill: Skill, settings: SkillsSettings) -> Json:
    return {
        "name": skill.name,
        "identity": skill.identity,
        "category": skill.category,
        "enabled": skill.enabled,
        "description": skill.description,
        "license": skill.license,
        "folder": str(skill.folder),
        "file": str(skill.file),
        "container_path": skill.get_container_file_path(settings.container_path),
        "allowed_tools": list(skill.allowed_tools),
        "error": skill.error,
        "line": skill.line,
        "warnings": list(skill.warnings),
    }
