"""A tool as a document."""

import re
from collections.abc import Iterable
from itertools import islice
from typing import Any

from satchel.model import is_list, is_object
from satchel.search.documents import Document, Field
from satchel.search.words import in_words

FIELDS = {
    "name": Field(4.0, 3, sense=2.0),
    "server": Field(1.2, 2, sense=0.5),
    "title": Field(0.8, 3, sense=1.0),
    "first": Field(1.1, 12, sense=1.0),
    "rest": Field(0.5, 30, sense=0.3),
    "parameters": Field(0.6, 6, sense=0.3),
    "details": Field(0.4, 30),
    "about": Field(0.1, 12, sense=0.1),
    "siblings": Field(0.1, 12, sense=0.1),
}
"""The weights that matter little, within wide bounds; the lengths are those of ordinary tools: a server that
says much, or of which there are many, must not change what another one's words count."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n\s*\n|(?<=[。！？])")
_DEEPEST = 6
_MOST_FOR_MEANING = 240  # characters of a description
_MOST_ABOUT = 1000
_MOST_SIBLINGS = 50
_LONGEST_NAME = 500
_MOST_TEXT = 20_000  # characters of a description that are looked at


def document_of(
    server: str,
    name: str,
    title: str | None,
    description: str,
    input_schema: Any,
    server_description: str = "",
    siblings: str = "",
) -> Document:
    """`siblings` tells something of a tool that tells nothing of itself: it is what its server is about."""
    first, rest = split_sentence(description[:_MOST_TEXT])
    parameters: list[str] = []
    details: list[str] = []
    _look(input_schema, parameters, details, 0)
    fields = {
        "name": name[:_LONGEST_NAME],
        "server": server[:_LONGEST_NAME],
        "title": (title or "")[:_MOST_TEXT],
        "first": first,
        "rest": rest,
        "parameters": " ".join(parameters)[:_MOST_TEXT],
        "details": " ".join(details)[:_MOST_TEXT],
        "about": server_description[:_MOST_ABOUT],
        "siblings": "" if description or title else siblings[:_MOST_ABOUT],
    }
    return Document(name, name, {field: text for field, text in fields.items() if text})


def siblings_text(tools: Iterable[tuple[str, str]]) -> str:
    """The first sentences about a server's tools, or their names: each tells something about the others."""
    told = (split_sentence(description[:_MOST_TEXT])[0] or in_words(name) for name, description in tools)
    return " ".join(islice(told, _MOST_SIBLINGS))


def text_of(server: str, name: str, title: str | None, description: str, input_schema: Any) -> str:
    """The text for a tool's meaning: short, because a long text means a little of everything."""
    parameters: list[str] = []
    _look(input_schema, parameters, [], _DEEPEST)
    about = " ".join((description or title or "")[:_MOST_FOR_MEANING].split())
    text = f"{server[:_LONGEST_NAME]}: {in_words(name[:_LONGEST_NAME])}. {about}"
    return f"{text} ({', '.join(parameters)[:_MOST_FOR_MEANING]})" if parameters else text


def split_sentence(text: str) -> tuple[str, str]:
    """(the first sentence, the rest)."""
    text = text.strip()
    found = _SENTENCE.search(text)
    return (text[: found.start()], text[found.end() :]) if found else (text, "")


def _look(schema: Any, names: list[str], details: list[str], depth: int) -> None:
    """Names, descriptions and choices of parameters, wherever they are."""
    if not is_object(schema) or depth > _DEEPEST:
        return
    properties = schema.get("properties")
    for name, value in properties.items() if is_object(properties) else ():
        names.append(name)
        if is_object(value):
            if isinstance(text := value.get("description"), str):
                details.append(text)
            choices = value.get("enum")
            details += [choice for choice in choices if isinstance(choice, str)] if is_list(choices) else []
            _look(value, names, details, depth + 1)
    _look(schema.get("items"), names, details, depth + 1)
