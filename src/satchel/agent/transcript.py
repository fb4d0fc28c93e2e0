"""What a model is shown of a conversation. Pure: messages in, messages out.

Before a change of context the model sees what people and models have said; the calls of another context's
tools, and their results, are not part of the one that it is in.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from satchel.errors import ArgumentError
from satchel.model import Json, Message, Source, is_object

_LONGEST_ARGUMENTS = 4_000_000  # characters of JSON
_READING = {"view_skill": ("name", "skill_name"), "read_file": ("path",)}


def visible(messages: Sequence[Message]) -> list[Message]:
    """The messages of the present context, after what was said before it."""
    messages = settled(messages)
    last = max((place for place, each in enumerate(messages) if each.role == "switch"), default=-1)
    if last < 0:
        return list(messages)
    before = [each for each in messages[:last] if _was_said(each)]
    return [*before, *_switch(messages, last), *messages[last + 1 :]]


def skill_read_last(messages: Sequence[Message]) -> str | None:
    """The skill that was viewed last, or whose context this is: by name, identity or path."""
    for place in reversed(range(len(messages))):
        message = messages[place]
        if message.role == "switch":
            return next(reversed(message.content["skills"]), None)
        if message.role == "tools" and place:
            viewed = _viewed(messages[place - 1], message)
            if viewed is not None:
                return viewed
    return None


def _viewed(asked: Message, told: Message) -> str | None:
    done = {row["id"] for row in told.content.get("results", ()) if row["outcome"] == "ok"}
    for call in reversed(asked.calls):
        if call["id"] in done and call["name"] in _READING:
            given = arguments_of(call)
            return next((str(given[key]) for key in _READING[call["name"]] if given.get(key)), None)
    return None


def settled(messages: Sequence[Message]) -> list[Message]:
    """The same with one result for each call: the last one. A call that waited for a person has more."""
    found: list[Message] = []
    for message in messages:
        if message.role == "tools" and found and found[-1].role == "tools":
            newer = {row["id"]: row for row in message.content["results"]}
            rows = [newer.get(row["id"], row) for row in found[-1].content["results"]]
            found[-1] = replace(found[-1], content={"results": rows})
        else:
            found.append(message)
    return found


def undecided(messages: Sequence[Message]) -> list[Json]:
    """The calls at the end of a conversation that wait for a person, with what they go on with."""
    answered = settled(messages)[-2:]
    if [message.role for message in answered] != ["model", "tools"]:
        return []
    results = {row["id"]: row for row in answered[1].content["results"]}
    calls = [(call, results.get(call["id"], {})) for call in answered[0].calls]
    return [
        {**call, "arguments": row["again"], "waiting": row["waiting"]}
        for call, row in calls
        if row.get("outcome") == "approval" and row.get("again") is not None
    ]


def _was_said(message: Message) -> bool:
    return message.role == "user" or (message.role == "model" and not message.calls)


def _switch(messages: Sequence[Message], place: int) -> list[Message]:
    """The change itself, as the call that led to it, and its answer.

    Providers refuse a call without the thoughts that it came with, so these stay beside it.
    """
    call, text = messages[place].content.get("call"), messages[place].content.get("text")
    if not is_object(call):
        return []
    asked = (each for each in reversed(messages[:place]) if call in each.calls)
    parts = next(asked, Message(role="model", content={})).content.get("parts", ())
    thoughts = [part for part in parts if part["type"] == "thinking"]
    result = {"id": call["id"], "name": call["name"], "text": text, "outcome": "ok"}
    return [
        Message(role="model", content={"parts": [*thoughts, call]}),
        Message(role="tools", content={"results": [result]}),
    ]


def arguments_of(call: Json) -> Json:
    """The arguments of a call, as the object that they have to be."""
    given: Any = call.get("arguments")
    if isinstance(given, str) and len(given) > _LONGEST_ARGUMENTS:
        limit = f"at most {_LONGEST_ARGUMENTS:,} characters"
        raise ArgumentError(f"the arguments of {call['name']} are too long", hint=limit)
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


def source_of(row: Json) -> Source:
    """What a conversation had read, as its row says."""
    return Source(
        server=row["server"],
        what=row["what"],
        labels=frozenset(row["labels"]),
        is_cut=bool(row.get("cut")),
    )
