"""What a person types that begins with a slash: the text of a command, for the model."""

from functools import partial

from satchel.errors import NotFoundError
from satchel.model import TurnRequest
from satchel.support.charging import apart
from satchel.verbs.satchel import Satchel


async def expanded(satchel: Satchel, request: TurnRequest) -> str:
    """The text of the command that a person has invoked; any other text as it is."""
    name, _, words = request.text[1:].partition(" ")
    try:
        return await apart(partial(satchel.commands.expand, name, words.strip(), agent=request.agent))
    except NotFoundError:
        if "/" in name:  # a path, and not a command
            return request.text
        raise
