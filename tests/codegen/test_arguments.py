"""What a description says of parameters in a part of its own is told once, with the parameter."""

import time
from typing import Any

import pytest

from satchel.codegen.arguments import split_arguments
from satchel.model import Json, is_object
from tests.codegen.helpers import python_of, typescript_of

TEXT: Json = {"type": "string"}


def schema_of(**properties: Any) -> Json:
    return {"type": "object", "properties": properties}


def split(text: str, schema: Json) -> tuple[str, dict[str, str]]:
    rest, merged = split_arguments(text, schema)
    assert is_object(merged)
    return rest, {name: part.get("description", "") for name, part in merged["properties"].items()}


@pytest.mark.parametrize(
    "part",
    [
        "Args:\n    path: The file.\n    limit: How many.",
        "Args:\n    path (str): The file.\n    limit (int, optional): How many.",
        "Parameters:\n- path: The file.\n- limit: How many.",
        "**PARAMETERS:**\n- `path` (required): The file.\n- `limit` (optional): How many.",
        "## Arguments\n\n* **path**: The file.\n* **limit**: How many.",
        "Input parameters:\n  path - The file.\n  limit - How many.",
        "Arguments:\n\n    path: The\n        file.\n\n    limit: How\n        many.",
        "Args:\n    path: The file.\n    ctx: The MCP context.\n    limit: How many.",
    ],
)
def test_every_usual_form_is_understood(part: str) -> None:
    text = f"Read a file.\n\n{part}\n\nReturns:\n    The text."
    rest, told = split(text, schema_of(path=TEXT, limit={"type": "integer"}))
    assert rest == "Read a file.\n\nReturns:\n    The text."
    assert {name: " ".join(text.split()) for name, text in told.items()} == {
        "path": "The file.",
        "limit": "How many.",
    }


def test_each_parameter_is_documented_once_in_both_languages() -> None:
    definition = {
        "description": "Read.\n\nArgs:\n    path: The file to read.\n    limit: How many lines (default 10).",
        "inputSchema": schema_of(
            path={"type": "string", "description": "The file"}, limit={"type": "integer", "default": 10}
        ),
    }
    for text in (python_of(definition), typescript_of(definition)):
        assert text.count("The file") == text.count("How many lines") == text.count("default") == 1
        assert "The file to read." in text
        assert "Args" not in text


def test_the_longer_of_two_texts_stays_where_it_says_what_the_shorter_does() -> None:
    for schema, told in (("The user's name to get", "The user's name"), ("Name", "The name of the user")):
        _, texts = split(f"Args:\n  name: {told}", schema_of(name={"description": schema}))
        assert texts["name"] == max(schema, told, key=len)


def test_two_texts_that_say_different_things_both_stay() -> None:
    _, texts = split("Args:\n  name: Ada, for example", schema_of(name={"description": "Who is meant"}))
    assert texts["name"] == "Who is meant. Ada, for example"


def test_what_is_in_brackets_stays_unless_the_type_says_it() -> None:
    _, texts = split("Args:\n  a (list of str): One\n  b (1 to 5): Two", schema_of(a=TEXT, b=TEXT))
    assert texts == {"a": "One", "b": "Two (1 to 5)"}


def test_what_names_no_parameter_stays_where_it_is() -> None:
    text = "Do.\n\nArgs:\n    other: Something.\n    name: The name."
    rest, texts = split(text, schema_of(name=TEXT))
    assert rest == "Do.\n\nArgs:\n    other: Something."
    assert texts["name"] == "The name."


@pytest.mark.parametrize(
    "text",
    [
        "Do it.",
        "The parameters: name and more.",
        "Args: name",
        "Args:\n\nName the thing: name: it",
        "Parameters: List of parameters\nname: of the family",
        "Parameters of a family:\n- name: the family",
    ],
)
def test_a_description_without_such_a_part_stays_as_it_is(text: str) -> None:
    assert split(text, schema_of(name=TEXT)) == (text, {"name": ""})


def test_an_entry_keeps_its_lists_and_examples() -> None:
    text = "Args:\n    steps: What to do:\n        - first\n        - then\n    name: Who"
    _, texts = split(text, schema_of(steps=TEXT, name=TEXT))
    assert texts == {"steps": "What to do:\n  - first\n  - then", "name": "Who"}


@pytest.mark.parametrize("schema", [None, True, [], {}, {"properties": []}, {"properties": {"name": True}}])
def test_a_schema_without_parameters_changes_nothing(schema: Any) -> None:
    assert split_arguments("Args:\n    name: Who", schema) == ("Args:\n    name: Who", schema)


def test_a_line_is_looked_at_once_however_many_headings_there_are() -> None:
    """Otherwise, these few kilobytes of a server would hold up everybody for minutes."""
    for text in ("Args:\n" * 10_000, "Params:\nx: y\n" * 10_000, "Args:\n  a: x\n" * 10_000):
        began = time.monotonic()
        split_arguments(text, schema_of(name=TEXT))
        assert time.monotonic() - began < 30


def test_a_heading_below_the_parameters_of_another_begins_a_new_part() -> None:
    text = "Args:\n  a: One\nOptional args:\n  b: Two\n\nParameters:\n- c: Three\n"
    rest, texts = split(text, schema_of(a=TEXT, b=TEXT, c=TEXT))
    assert (rest, texts) == ("", {"a": "One", "b": "Two", "c": "Three"})
