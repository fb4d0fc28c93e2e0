"""Finds a plugin's skills and commands, and its parts that have no effect here."""

import os
from collections.abc import Iterator, Mapping

from satchel.config.plugins.inside import MOST_NAMED, Inside, names_of, texts_in
from satchel.config.plugins.manifest import Manifest
from satchel.model import CommandFile, is_list, is_object
from satchel.names import count
from satchel.support.text import label

_SKILL = "SKILL.md"


def find_skills(inside: Inside, manifest: Manifest) -> tuple[str, ...]:
    """The folders of skills, relative to the plugin. What lies deeper are files of theirs."""
    found: dict[str, None] = {}
    for path in _paths(inside, manifest, "skills", manifest.values.get("skills")):
        place = os.path.dirname(path) or "." if _is_skill_file(path) else path
        skills = [place] if _has_skill(inside, place) else list(_skills_in(inside, place))
        if not skills:
            inside.note(f"no skill is in '{path}'", manifest.document.file, manifest.line("skills"))
        found.update(dict.fromkeys(skills))
    if manifest.only_listed:
        return tuple(sorted(found))
    if inside.is_folder("skills"):
        found.update(dict.fromkeys(_skills_in(inside, "skills")))
    elif inside.exists("skills"):
        inside.note("is not a folder in the plugin; its skills are not read", "skills")
    elif "skills" not in manifest.values and _has_skill(inside, "."):
        return (".",)
    return tuple(sorted(found))


def find_commands(inside: Inside, manifest: Manifest) -> tuple[CommandFile, ...]:
    """The commands that are written in files of their own, or in the manifest. The first of a name counts."""
    given: object = manifest.values.get("commands")
    if given is None:
        found = _commands_in(inside, "commands") if inside.is_folder("commands") else iter(())
    elif is_object(given):
        found = _commands_given(inside, manifest, given)
    else:
        found = _commands_at(inside, manifest, given)
    commands: dict[str, CommandFile] = {}
    for command in found:
        first = commands.setdefault(command.name, command)
        if first is not command and first.file != command.file:
            where = os.path.relpath(command.file, inside.folder)
            inside.note(f"is not used: the plugin has another command '{label(command.name, 60)}'", where)
    return tuple(commands[name] for name in sorted(commands))


def without_effect(inside: Inside, manifest: Manifest) -> tuple[str, ...]:
    """The parts of the plugin that Satchel doesn't use, in words."""
    return tuple(_without_effect(inside, manifest))


def note_misplaced(inside: Inside) -> None:
    """Parts beside the manifest are a frequent mistake: nobody reads them there."""
    for name in inside.entries(".claude-plugin"):
        if name in ("skills", "commands", "agents", "hooks", ".mcp.json"):
            inside.note("is not read here: move it out of .claude-plugin", f".claude-plugin/{name}")


# Skills


def _skills_in(inside: Inside, place: str) -> Iterator[str]:
    for name in inside.entries(place):
        path = name if place == "." else f"{place}/{name}"
        if name.startswith("."):
            continue
        if inside.is_link(path) and not inside.is_folder(path):
            if not inside.is_file(path):
                inside.note("is a link that leads out of the plugin, or to nothing; it is not read", path)
        elif _has_skill(inside, path):
            yield path


def _has_skill(inside: Inside, place: str) -> bool:
    file = _SKILL if place == "." else f"{place}/{_SKILL}"
    if inside.is_file(file):
        return True
    if inside.exists(file):
        inside.note("is not a file in the plugin; the skill is not read", file)
        return False
    if not inside.is_folder(place):
        return False
    return any(_is_skill_file(name) for name in inside.entries(place))  # in whatever case


def _is_skill_file(path: str) -> bool:
    return os.path.basename(path).upper() == _SKILL.upper()


# Commands


def _commands_in(inside: Inside, place: str) -> Iterator[CommandFile]:
    for path in inside.walk(place):
        parts = (path if place == "." else path[len(place) + 1 :]).split("/")
        if _is_skill_file(path) and len(parts) > 1:
            yield _command(inside, ":".join(parts[:-1]), path)
        elif parts[-1].lower().endswith(".md") and parts[-1].lower() != "readme.md":
            yield _command(inside, ":".join([*parts[:-1], parts[-1][:-3]]), path)


def _commands_at(inside: Inside, manifest: Manifest, given: object) -> Iterator[CommandFile]:
    if not isinstance(given, str) and not is_list(given):
        text = "'commands' must be a path, a list of paths, or an object; it is not used"
        inside.note(text, manifest.document.file, manifest.line("commands"))
    for path in _paths(inside, manifest, "commands", given):
        if inside.is_folder(path):
            yield from _commands_in(inside, path)
        else:
            yield _command(inside, os.path.basename(path).removesuffix(".md"), path)


def _commands_given(inside: Inside, manifest: Manifest, given: Mapping[str, object]) -> Iterator[CommandFile]:
    for name, value in given.items():
        file, line = manifest.document.file, manifest.line("commands", name)
        if not name.strip() or label(name, 100) != name or "/" in name or not is_object(value):
            inside.note(f"the command '{label(name, 60)}' must be a name with an object", file, line)
            continue
        content: object = value.get("content")
        rest = {key: part for key, part in value.items() if key not in ("content", "source")}
        if isinstance(content, str):
            yield CommandFile(name=name, file=inside.folder / file, content=content, given=rest)
            continue
        sources = list(_paths(inside, manifest, "commands", value.get("source"), name))
        if sources and inside.is_file(sources[0]):
            yield CommandFile(name=name, file=inside.folder / sources[0], given=rest)
        else:
            text = f"the command '{name}' has neither a 'content' nor a 'source' that is a file"
            inside.note(text, file, line)


def _command(inside: Inside, name: str, path: str) -> CommandFile:
    return CommandFile(name=name, file=inside.folder / path)


# Paths that the manifest names


def _paths(inside: Inside, manifest: Manifest, key: str, given: object, *more: str) -> Iterator[str]:
    """Those that are in the plugin, plainly spelled; the others are remarks."""
    if is_list(given) and not all(isinstance(part, str) for part in given):
        where = manifest.line(key, *more)
        inside.note(f"'{key}' has something other than paths in it", manifest.document.file, where)
    if is_list(given) and len(given) > MOST_NAMED:
        text = f"'{key}' names more than {MOST_NAMED:,} paths; the others are not read"
        inside.note(text, manifest.document.file, manifest.line(key, *more))
    for index, path in enumerate(texts_in(given)):
        step = (index,) if is_list(given) else ()
        line = manifest.line(key, *more, *step)
        refusal = inside.refusal(path)
        if refusal is not None:
            inside.note(f"'{key}' names '{label(path, 80)}', which {refusal}", manifest.document.file, line)
            continue
        if not path.startswith("./") and path != ".":
            inside.note(
                f"'{key}' names '{label(path, 80)}', which should begin with ./", manifest.document.file, line
            )
        yield os.path.normpath(path)


# What has no effect


_FIELDS = {
    "outputStyles": "output styles",
    "lspServers": "LSP servers",
    "monitors": "monitors",
    "workflows": "workflows",
    "channels": "channels",
    "settings": "settings",
    "themes": "themes",
}
_PLACES = {
    "output-styles": "output styles",
    ".lsp.json": "LSP servers",
    "monitors": "monitors",
    "workflows": "workflows",
    "bin": "programs in bin",
    "settings.json": "settings",
    "themes": "themes",
    "CLAUDE.md": "instructions in CLAUDE.md",
}


def _without_effect(inside: Inside, manifest: Manifest) -> Iterator[str]:
    values = manifest.values
    agents = values.get("agents", "agents")
    found = [
        name for place in texts_in(agents) if inside.refusal(place) is None for name in _agents(inside, place)
    ]
    if found:
        yield count(len(found), "agent")
    hooks = sorted({event for events in _hooks(inside, manifest) for event in events})
    if hooks:
        yield f"hooks ({', '.join(hooks[:12])})"
    elif "hooks" in values or inside.exists("hooks"):
        yield "hooks"
    experimental: object = values.get("experimental")
    also = set(experimental) if is_object(experimental) else set[str]()
    fields = [words for key, words in _FIELDS.items() if key in values or key in also]
    places = [words for place, words in _PLACES.items() if inside.exists(place)]
    yield from dict.fromkeys([*fields, *places])
    dependencies = list(_dependencies(values.get("dependencies")))
    if dependencies:
        yield f"dependencies ({', '.join(dependencies[:12])}), which nothing installs by itself"


def _agents(inside: Inside, place: str) -> list[str]:
    if inside.is_file(place):
        return [place]
    return [name for name in inside.entries(place) if name.endswith(".md") and name.lower() != "readme.md"]


def _hooks(inside: Inside, manifest: Manifest) -> Iterator[list[str]]:
    """The events that a plugin has hooks for."""
    given: object = manifest.values.get("hooks")
    paths = ["hooks/hooks.json", *texts_in(given)]
    documents = [inside.read_json(path).data for path in paths if inside.refusal(path) is None]
    for found in (*documents, *(given if is_list(given) else [given])):
        if is_object(found):
            inner: object = found.get("hooks", found)
            yield [name for name in names_of(inner) if name != "description"]


def _dependencies(given: object) -> Iterator[str]:
    for one in given if is_list(given) else names_of(given):
        name: object = one.get("name") if is_object(one) else one
        if isinstance(name, str):
            yield label(name, 60)
