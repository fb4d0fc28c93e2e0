"""Commands for MCP clients: each is a prompt with one argument, what a person types after its name."""

from collections.abc import Mapping

from satchel.errors import ArgumentError, NotFoundError
from satchel.model import Command, Json
from satchel.server.offers import Offers
from satchel.support.text import label, whole_characters
from satchel.verbs.satchel import Satchel

_ARGUMENTS = "arguments"


class CommandOffers:
    """The commands of one agent, by the names of their prompts. A server's prompt keeps its name."""

    def __init__(self, satchel: Satchel, agent: str) -> None:
        self._satchel = satchel
        self._agent = agent
        self._registry = satchel.commands.registry(agent)

    def prompts(self) -> list[Json]:
        return [
            {
                "name": name,
                "description": whole_characters(command.description),
                "arguments": [
                    {
                        "name": _ARGUMENTS,
                        "description": whole_characters(command.argument_hint) or "What to do it with",
                        "required": False,
                    }
                ],
            }
            for name, command in self._named().items()
        ]

    def find(self, name: str) -> Command | None:
        """By the name of its prompt, or as a person types it: `/sales:call-prep`, `/call-prep`."""
        named = self._named()
        if name in named or not (name.startswith("/") or ":" in name):
            return named.get(name)
        try:
            return self._registry.find(name)
        except NotFoundError:
            return None

    def fill_in(self, command: Command, given: Mapping[str, str] | None) -> Json:
        """As prompts/get answers."""
        for key in given or {}:
            if key != _ARGUMENTS:
                raise ArgumentError(
                    f"the prompt has no argument '{label(key, 60)}'", hint=f"give all words as '{_ARGUMENTS}'"
                )
        text = self._satchel.commands.text(command, (given or {}).get(_ARGUMENTS, ""))
        content = {"type": "text", "text": whole_characters(text)}
        return {
            "description": whole_characters(command.description),
            "messages": [{"role": "user", "content": content}],
        }

    def _named(self) -> dict[str, Command]:
        named: dict[str, Command] = {}
        taken = self._taken()
        for command in self._registry:
            name = label(command.identity)
            named.setdefault(f"command:{name}" if name in taken else name, command)
        return named

    def _taken(self) -> set[str]:
        """The names of servers' prompts, each of which has `__` in it."""
        if not any("__" in command.identity for command in self._registry):
            return set()
        return {str(prompt["name"]) for prompt in Offers(self._satchel, self._agent).prompts()}
