"""commands list, show, run."""

import argparse
from pathlib import Path

from satchel.cli import output
from satchel.errors import SatchelError
from satchel.model import Command, Json
from satchel.names import count
from satchel.verbs.plugins.commands import WITHOUT_EFFECT, Commands, open_commands


def list_command(options: argparse.Namespace) -> int:
    commands = _commands_of(options).of(options.agent)
    if options.plugin is not None:
        commands = [command for command in commands if command.plugin_name == options.plugin]
    if options.json:
        output.show_json({"commands": [_as_json(command) for command in commands]})
        return 0
    output.show_table(
        [
            (f"/{command.identity}", command.argument_hint, output.first_line(command.description, 1000))
            for command in commands
        ],
        headings=("command", "arguments", "about"),
    )
    if not commands:
        output.note("no commands")
        output.note("hint: plugins and skills bring them; satchel docs plugins says how")
    else:
        output.note(count(len(commands), "command"))
    return 0


def show_command(options: argparse.Namespace) -> int:
    command = _commands_of(options).lookup(options.name, agent=options.agent)
    if options.json:
        output.show_json({**_as_json(command), "content": command.content, "values": dict(command.values)})
        return 0
    hint = f" {command.argument_hint}" if command.argument_hint else ""
    output.show(output.styled(f"/{command.identity}{hint}", "bold"))
    output.show(command.description)
    rows = [
        *([("file", output.from_here(command.file))] if command.file is not None else []),
        ("for programs", command.folder),
        *([] if command.for_model else [("told to models", "no: only people invoke it")]),
        *(
            (key, f"{value}{' (has no effect here)' if key in WITHOUT_EFFECT else ''}")
            for key, value in command.values.items()
            if key not in _SHOWN
        ),
    ]
    output.show_table(rows, indent="  ")
    output.show("")
    output.show(command.content)
    return 0


_SHOWN = ("name", "description", "argument-hint", "disable-model-invocation")


def run_command(options: argparse.Namespace) -> int:
    """Print what a model is given. Nothing is run."""
    text = _commands_of(options).invoked([options.name, *options.arguments], agent=options.agent)
    output.show(text)
    return 0


def _commands_of(options: argparse.Namespace) -> Commands:
    commands = open_commands(getattr(options, "config", None))
    commands.check(options.agent)
    return commands


def _as_json(command: Command) -> Json:
    return {
        "name": command.name,
        "identity": command.identity,
        "plugin": command.plugin_name,
        "description": command.description,
        "argument_hint": command.argument_hint,
        "arguments": list(command.arguments),
        "told_to_models": command.for_model,
        "skill": command.skill.identity if command.skill is not None else None,
        "file": str(command.file) if command.file is not None else None,
        "folder": command.folder,
    }


def known_commands(config: Path | None) -> list[str]:
    """Names to complete. A broken configuration completes nothing and says nothing."""
    try:
        return [command.identity for command in open_commands(config).of()]
    except SatchelError:
        return []
