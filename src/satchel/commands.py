"""Commands from Python: `load_commands()` is what `satchel commands list` shows."""

from satchel.model import Command
from satchel.verbs.plugins.commands import CommandRegistry, expand, load_commands

__all__ = ["Command", "CommandRegistry", "expand", "load_commands"]
