"""The commands of plugins: files with instructions, and the skills that people may invoke.

Front matter is read as leniently as a skill's. One that can't be read at all leaves a command without it; a
file that can't be read is not a command, and is told of in a remark.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from satchel.library.commands.places import places_of
from satchel.library.skills.files import open_below
from satchel.library.skills.front_matter import Document, read_document
from satchel.model import Command, CommandFile, Json, Plugin, Remark, Skill, is_list
from satchel.support.text import label

LARGEST = 1024 * 1024  # bytes of a command's file
_LONGEST_DESCRIPTION = 1024
_WORDS = {
    "yes": True,
    "on": True,
    "true": True,
    "1": True,
    "no": False,
    "off": False,
    "false": False,
    "0": False,
}
WITHOUT_EFFECT = ("model", "effort", "context", "agent", "hooks", "paths", "shell", "background")
"""Keys of front matter that are kept and shown, and change nothing here."""


def commands_of(plugin: Plugin, base: str) -> tuple[list[Command], list[Remark]]:
    """The commands in files of a plugin, and what is wrong. `base` is where programs see plugins."""
    commands: list[Command] = []
    remarks: list[Remark] = []
    for file in plugin.commands:
        shown = os.path.relpath(file.file, plugin.folder)
        try:
            content = (
                file.content.encode("utf-8", "replace")
                if file.content is not None
                else _bytes(plugin, file.file)
            )
        except OSError as error:
            remarks.append(Remark(text=f"can't be read: {error.strerror or error}", file=shown))
            continue
        command, wrong = _command(plugin, file, content, base)
        commands.append(command)
        remarks += [Remark(text=each.text, file=shown, line=each.line) for each in wrong]
    return commands, remarks


def _bytes(plugin: Plugin, file: Path) -> bytes:
    """A file in the plugin, wherever links in the plugin lead; none leads out of it."""
    root = os.path.realpath(plugin.folder)
    relative = os.path.relpath(os.path.realpath(file), root)
    with os.fdopen(open_below(Path(root), relative.split("/"), single=False), "rb") as stream:
        data = stream.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise OSError(f"it has more than {LARGEST >> 10:,} KiB")
    return data


def _command(plugin: Plugin, file: CommandFile, data: bytes, base: str) -> tuple[Command, list[Remark]]:
    document = read_document(data)
    wrong = [Remark(text=each.text, file="", line=each.line) for each in document.warnings]
    if document.error is not None and not document.error.text.startswith("has no front matter"):
        wrong.append(Remark(text=document.error.text, file="", line=document.error.line))
    values: Json = {**document.values, **_given(file.given)}
    root = plugin.get_container_path(base)
    inside = os.path.relpath(file.file.parent, plugin.folder)
    command = Command(
        name=file.name,
        content=document.body.strip("\n"),
        plugin_name=plugin.name,
        folder=root if inside == "." else f"{root}/{inside}",
        root=root,
        file=file.file,
        **_said(values, document),
    )
    return command, wrong


def _given(given: Mapping[str, object]) -> Json:
    """The fields of a command in a manifest, as front matter spells them."""
    spelled = {"argumentHint": "argument-hint", "allowedTools": "allowed-tools"}
    return {spelled.get(key, key): value for key, value in given.items()}


def _said(values: Json, document: Document) -> Json:
    """The fields of a command that its front matter has."""
    description = _text(values.get("description")) or first_paragraph(document.body)
    return {
        "description": label(" ".join(description.split()), _LONGEST_DESCRIPTION),
        "argument_hint": hint_of(values),
        "arguments": names_in(values.get("arguments")),
        "values": values,
        "for_model": not is_true(values.get("disable-model-invocation")),
    }


def command_of_skill(skill: Skill, base: str) -> Command | None:
    """A skill as a command, where people may invoke it; its text is not read yet."""
    if skill.error is not None or is_false(skill.values.get("user-invocable")):
        return None
    plugin = skill.plugin or ""
    folder = skill.get_container_path(base)
    return Command(
        name=skill.name,
        description=skill.description,
        argument_hint=hint_of(skill.values),
        plugin_name=plugin,
        arguments=names_in(skill.values.get("arguments")),
        values=skill.values,
        folder=folder,
        root=folder[: -len(skill.relative)].rstrip("/") if skill.relative else folder,
        file=skill.file,
        skill=skill,
        for_model=is_told(skill),
    )


def is_told(skill: Skill) -> bool:
    """Whether a model is told of a skill; one that only people invoke is still there for them."""
    return not is_true(skill.values.get("disable-model-invocation"))


def merged(files: Iterable[Command], skills: Iterable[Command]) -> list[Command]:
    """All of them by their identity, each once: a skill counts more than a file of the same name.

    Skills that are not a plugin's have no name before theirs; where two have one, the later is called by its
    category as well.
    """
    found: dict[str, Command] = {}
    for command in skills:
        key = command.identity.casefold()
        if key in found and command.skill is not None and not command.plugin_name:
            command = replace(command, name=command.skill.identity)
            key = command.identity.casefold()
        found.setdefault(key, command)
    for command in files:
        found.setdefault(command.identity.casefold(), command)
    return sorted(found.values(), key=lambda command: (command.plugin_name, command.name))


def places_for(skill: Skill, base: str) -> dict[str, str]:
    """The values of the variables for folders in the text of a skill."""
    folder = skill.get_container_path(base)
    root = folder[: -len(skill.relative)].rstrip("/") if skill.relative else folder
    return places_of(folder, skill.plugin or "", root)


def hint_of(values: Mapping[str, object]) -> str:
    """A description of the arguments, in one line."""
    return label(" ".join(_text(values.get("argument-hint")).split()), 300)


def names_in(value: object) -> tuple[str, ...]:
    """The names of arguments: a list, or a text with spaces or commas between them."""
    if is_list(value):
        return tuple(str(part) for part in value if isinstance(part, str | int))
    return tuple(_text(value).replace(",", " ").split())


def is_true(value: object) -> bool:
    return _truth(value) is True


def is_false(value: object) -> bool:
    return _truth(value) is False


def _truth(value: object) -> bool | None:
    return _WORDS.get(str(value).strip().lower())


def first_paragraph(body: str) -> str:
    """The first paragraph of a text: lines that are neither a heading nor a rule, without their marks."""
    lines: list[str] = []
    for line in body.split("\n"):
        text = line.strip()
        is_mark = text.startswith(("#", "```", "~~~", "---", "***", "<!--", "|"))
        if lines and (not text or is_mark):
            break
        if text and not is_mark:
            lines.append(text.lstrip("> ").removeprefix("- "))
    return " ".join(lines)


def _text(value: object) -> str:
    if value is None or isinstance(value, bool):
        return ""
    if is_list(value):
        return " ".join(f"[{part}]" for part in value)
    return str(value).strip() if isinstance(value, str | int | float) else ""
