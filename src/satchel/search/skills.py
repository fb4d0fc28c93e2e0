"""A skill as a document: its name and what it says it is for."""

import re

from satchel.search.documents import Document, Field
from satchel.search.tool_documents import split_sentence

FIELDS = {
    "name": Field(4.0, 3, sense=2.0),
    "first": Field(1.1, 20, sense=1.0),
    "rest": Field(0.5, 40, sense=0.3),
}
_MOST_TEXT = 20_000
_BETWEEN = re.compile(r"[\s_-]+")
_AROUND = " .,;:!?…\"'()"  # not + and #: C, C++ and C# are three


def skill_document(key: str, name: str, description: str) -> Document:
    first, rest = split_sentence(description[:_MOST_TEXT])
    fields = {"name": name, "first": first, "rest": rest}
    return Document(key, name, {field: text for field, text in fields.items() if text})


def as_asked(text: str) -> str:
    """A name or a sentence as somebody may write it who asks for it."""
    return _BETWEEN.sub(" ", text[:_MOST_TEXT].casefold()).strip(_AROUND)
