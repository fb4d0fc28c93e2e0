"""Commands by what people type: `/sales:call-prep`, `/sales call-prep`, or `/call-prep` where one has it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from satchel.errors import ArgumentError, NotFoundError
from satchel.library.commands.words import text_of
from satchel.library.skills.contents import instructions_of
from satchel.model import Command
from satchel.names import closest

_MOST_NAMED = 10


class CommandRegistry:
    """Looks commands up. What a skill says is read when its command is."""

    def __init__(self, commands: Iterable[Command], content_of: Callable[[Command], Command] | None = None):
        self._commands = list(commands)
        self._content_of = content_of or with_content
        self._by_identity = {_plain(command.identity): command for command in self._commands}

    def __iter__(self) -> Iterator[Command]:
        return iter(self._commands)

    def __len__(self) -> int:
        return len(self._commands)

    def lookup(self, plugin: str, command: str | None = None) -> Command:
        """A command by its plugin and its name, or by what somebody typed; any letter case will do."""
        name = plugin if command is None else f"{plugin}:{command}"
        return self._content_of(self.find(name))

    def find(self, name: str) -> Command:
        """The same without its text, where that has to be read first."""
        typed = _plain(name)
        found = self._by_identity.get(typed) or self._by_identity.get(_with_colon(typed))
        if found is not None:
            return found
        named = [each for each in self._commands if _plain(each.name) == typed]
        if len(named) == 1:
            return named[0]
        if named:
            ways = [f"/{each.identity}" for each in named[:_MOST_NAMED]]
            raise ArgumentError(
                f"{len(named)} commands are called /{typed}", hint=f"name it as {' or '.join(ways)}"
            )
        near = closest(typed, [each.identity for each in self._commands])
        hint = None if self._commands else "there are no commands; plugins and skills bring them"
        raise NotFoundError("command", f"/{name.lstrip('/')[:200]}", closest=near, hint=hint)

    def typed(self, text: str) -> tuple[Command, str]:
        """(the command, the arguments as typed) of a line such as `/sales:call-prep Acme Corp`."""
        first, rest = _first_of(text)
        second, more = _first_of(rest)
        found = self._of_plugin(first, second)
        if found is not None:
            return self._content_of(found), more
        return self.lookup(first), rest

    def split(self, words: Sequence[str]) -> tuple[Command, str]:
        """The same of words that a shell has split: `sales:call-prep Acme`, `sales call-prep Acme`.

        A single word may be the whole line.
        """
        first, *rest = words
        if not rest:
            found = self._by_identity.get(_plain(first))
            return (self._content_of(found), "") if found is not None else self.typed(first)
        found = self._of_plugin(first, rest[0])
        if found is not None:
            return self._content_of(found), text_of(rest[1:])
        return self.lookup(first), text_of(rest)

    def _of_plugin(self, plugin: str, name: str) -> Command | None:
        """The command of two words, `/sales call-prep`."""
        if ":" in plugin or not name:
            return None
        return self._by_identity.get(_plain(f"{plugin}:{name}"))


def with_content(command: Command) -> Command:
    """A command with its text: that of a skill is read now."""
    if command.skill is None:
        return command
    return replace(command, content=instructions_of(command.skill))


def _first_of(text: str) -> tuple[str, str]:
    """The first word, and what follows it as typed."""
    first, *rest = text.split(maxsplit=1) or [""]
    return first, rest[0].rstrip() if rest else ""


def _plain(name: str) -> str:
    return " ".join(name.strip().removeprefix("/").split()).casefold()


def _with_colon(typed: str) -> str:
    return ":".join(typed.split(" ", 1))
