"""What a model is shown of a conversation. Pure: messages in, messages out.

Before a change of context the model sees what people and models have said; the calls of another context's
tools, and their results, are not part of the one that it is in.
"""

import json
from collections.abc import Sequence
from typing import Any

from satchel.errors import ArgumentError
from satchel.model import Json, Message, is_object


def visible(messages: Sequence[Message]) -> list[Message]:
    """The messages of the present context, after what was said before it."""
    last = max((place for place, each in enumerate(messages) if each.role == "switch"), default=-1)
    if last < 0:
        return list(messages)
    before = [each for each in messages[:last] if _was_said(each)]
    return [*before, *_switch(messages[last]), *messages[last + 1 :]]


def _was_said(message: Message) -> bool:
    return message.role == "user" or (message.role == "model" and not message.calls)


def _switch(message: Message) -> list[Message]:
    """The change itself, as the call that led to it, and its answer."""
    call, text = message.content.get("call"), message.content.get("text")
    if not is_object(call):
        return []
    result = {"id": call["id"], "name": call["name"], "text": text, "outcome": "ok"}
    return [
        Message(role="model", content={"parts": [call]}),
        Message(role="tools", content={"results": [result]}),
    ]


def arguments_of(call: Json) -> Json:
    """The arguments of a call, as the object that they have to be."""
    given: Any = call.get("arguments")
    if given is None or given == "":
        return {}
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError) as error:
            raise ArgumentError(f"the arguments of {call['name']} are not valid JSON: {error}") from error
    if not is_object(given):
        raise ArgumentError(f"the arguments of {call['name']} are not an object")
    return given
