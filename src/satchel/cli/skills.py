"""skills list, search, show, enable, disable, remove."""

import argparse
from pathlib import Path

from satchel.cli import output
from satchel.errors import SatchelError
from satchel.model import Json, Skill, SkillContext
from satchel.names import count
from satchel.verbs.offline import read_context
from satchel.verbs.skill_library import SkillInfo, SkillLibrary, open_skill_library


def list_command(options: argparse.Namespace) -> int:
    library = library_of(options)
    skills = library.skills(options.agent, category=options.category, enabled_only=options.enabled)
    if options.json:
        output.show_json({"skills": [_as_json(skill, library) for skill in skills]})
        return 0
    output.show_table(
        [_row(skill) for skill in skills],
        headings=("skill", "category", "state", "about"),
        styles={"state": {"enabled": "green", "disabled": "dim", "error": "red"}},
    )
    _note_oddities(skills)
    if not skills:
        output.note("no skills")
        output.note("hint: satchel skills install adds one; satchel docs skills says where from")
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
    output.note(f"{count(len(skills), 'skill')}, {enabled} enabled{tail}")


def search_command(options: argparse.Namespace) -> int:
    """The search that agents have, over the skills that one may use."""
    # Search takes its time to import, and no other command here needs it.
    from satchel.config import find_paths, read_configuration
    from satchel.config.settings import find_agent
    from satchel.verbs.skills import ShownSkills

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
    library = library_of(options)
    info = library.info(options.name)
    skill = info.skill
    if options.json:
        details = {"files": list(info.files), "origin": info.origin, "changed": info.changed}
        context = read_context(library.paths, skill) if skill.error is None else None
        details |= {"context": context.as_json()} if context is not None else {}
        output.show_json(_as_json(skill, library) | {"values": dict(skill.values)} | details)
        return 0
    output.show(output.styled(skill.identity, "bold") + f"  {_state(skill)}")
    if skill.error is not None:
        output.show(f"error: {_place(skill)}: {skill.error}")
    output.show(skill.description)
    rows = [
        ("folder", output.from_here(skill.folder)),
        ("for programs", skill.get_container_file_path(library.settings.container_path)),
        *([("license", skill.license)] if skill.license else []),
        *([("allowed tools", ", ".join(skill.allowed_tools))] if skill.allowed_tools else []),
        *((key, str(value)) for key, value in skill.values.items() if key not in _SHOWN),
    ]
    output.show_table([*rows, *_origin(info)], indent="  ")
    for file in info.files:
        output.show(f"  {file}")
    _note_oddities([skill])
    if skill.error is None and (context := read_context(library.paths, skill)) is not None:
        _show_context(context)
    return 0


def _show_context(context: SkillContext) -> None:
    """What a package brings, and what of it is not there."""
    output.show("a context of its own:")
    rows = [
        *(("tool", tool.qualified_name, tool.description) for tool in context.tools),
        *(("resource", each.uri, each.description) for each in context.resources),
        *(("prompt", f"{each.server}.{each.name}", each.description) for each in context.prompts),
    ]
    output.show_table([(kind, name, output.first_line(text, 1000)) for kind, name, text in rows], indent="  ")
    for name in context.differing:
        output.note(f"{name}: the package describes it differently from its server, which counts")
    for row in context.missing:
        output.note(f"not available: {row}")


_SHOWN = ("name", "description", "license", "allowed-tools")


def _origin(info: SkillInfo) -> list[tuple[str, str]]:
    """The origin of an installed skill."""
    record = info.origin
    if not record:
        return []
    commit = f", commit {str(record['commit'])[:12]}" if record.get("commit") else ""
    changed = ", and changed since then" if info.changed else ""
    return [
        ("from", f"{record.get('kind')} {record.get('origin')}{commit}"),
        ("installed", f"{record.get('installed_at')}{changed}"),
    ]


def enable_command(options: argparse.Namespace) -> int:
    return _switch(options, enabled=True)


def disable_command(options: argparse.Namespace) -> int:
    return _switch(options, enabled=False)


def _switch(options: argparse.Namespace, *, enabled: bool) -> int:
    for switched in library_of(options).set_enabled(options.name, enabled=enabled):
        state = "enabled" if enabled else "disabled"
        more = f": {switched.count} skills, which have one name" if switched.count > 1 else ""
        output.note(f"{switched.skill.identity} is {state}{more}")
    return 0


def remove_command(options: argparse.Namespace) -> int:
    library = library_of(options)
    removal = library.removal(options.name)
    skill = removal.skill
    if removal.loss is not None and not options.yes:
        question = f"{skill.identity} {removal.loss}; delete {output.from_here(skill.folder)}? [y/N] "
        if not output.confirmed(question):
            return 2
    library.remove(removal)
    output.note(f"removed {skill.identity}")
    return 0


def library_of(options: argparse.Namespace) -> SkillLibrary:
    return open_skill_library(getattr(options, "config", None))


def known_skills(config: Path | None) -> list[str]:
    """Names to complete. A broken configuration completes nothing and says nothing."""
    try:
        return open_skill_library(config).names()
    except SatchelError:
        return []


def _as_json(skill: Skill, library: SkillLibrary) -> Json:
    return {
        "name": skill.name,
        "identity": skill.identity,
        "category": skill.category,
        "enabled": skill.enabled,
        "description": skill.description,
        "license": skill.license,
        "folder": str(skill.folder),
        "file": str(skill.file),
        "container_path": skill.get_container_file_path(library.settings.container_path),
        "allowed_tools": list(skill.allowed_tools),
        "error": skill.error,
        "line": skill.line,
        "warnings": list(skill.warnings),
    }
