"""The commands that a model is told of, so that it can name one to a person: names first, within a budget.

Names come by plugin, one line each. What is left of the budget goes to what the commands do, those that no
skill describes first; what does not fit by name is a number.
"""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from satchel.codegen.text import one_line, summary
from satchel.context.budget import tokens_at_most
from satchel.context.prompts import render
from satchel.model import Command

TEMPLATE = "command_system.jinja"
_LONGEST = 120  # characters about a command


def command_system(commands: Sequence[Command], *, budget: int, templates: Path | None = None) -> str:
    """The section about commands. Empty if there are none."""
    if not commands:
        return ""
    left = budget - tokens_at_most(_filled([], [""], len(commands), templates))
    named: list[Command] = []
    plugins: set[str] = set()
    for command in commands:
        cost = tokens_at_most(f"{_text(command.name)}, ")
        if command.plugin_name not in plugins:
            cost += tokens_at_most(f"/{_text(command.plugin_name)}: \n")
        if cost <= left:
            left -= cost
            plugins.add(command.plugin_name)
            named.append(command)
    full: list[str] = []
    for command in sorted(named, key=lambda command: command.skill is not None):
        row = _row(command)
        cost = tokens_at_most(row)
        if command.skill is None and cost <= left:
            left -= cost
            full.append(row)
    return _filled(full, _by_plugin(named), len(commands) - len(named), templates)


def _filled(full: list[str], names: list[str], more: int, templates: Path | None) -> str:
    return render(TEMPLATE, {"full": full, "names": names, "more": more}, templates)


def _by_plugin(commands: Sequence[Command]) -> list[str]:
    names: dict[str, list[str]] = {}
    for command in commands:
        names.setdefault(command.plugin_name, []).append(_text(command.name))
    return [f"/{_text(plugin)}: {', '.join(row)}" for plugin, row in names.items()]


def _row(command: Command) -> str:
    hint = f" {command.argument_hint}" if command.argument_hint else ""
    return _text(f"/{command.identity}{hint}: {summary(command.description, _LONGEST)}") + "\n"


def _text(text: str) -> str:
    return escape(one_line(text), quote=False)
