"""Nested types are called what they are, wherever they are met first."""

import re

from satchel.model import Json
from tests.codegen.helpers import python_of, typescript_of

TEXT: Json = {"type": "string"}
DAY: Json = {"type": "object", "properties": {"opens": TEXT, "closes": TEXT}}


def object_of(**properties: Json) -> Json:
    return {"type": "object", "properties": properties}


def list_of(items: Json) -> Json:
    return {"type": "array", "items": items}


def records(schema: Json) -> list[str]:
    """The records of a tool with that input, in the order in which they are written."""
    found = re.findall(r"^class (\w+)\(Record", python_of({"inputSchema": schema}), re.MULTILINE)
    declared = re.findall(r"^export interface (\w+)", typescript_of({"inputSchema": schema}), re.MULTILINE)
    assert len(set(found)) == len(found)
    assert {name for name in declared if name != "ToolInput"} <= set(found)
    return found


def test_objects_of_one_make_are_one_type_named_after_most_of_their_places() -> None:
    profile = object_of(name=TEXT, url=TEXT)
    shop = object_of(profile=profile)
    assert records(object_of(author=profile, owner=shop, other=object_of(profile=profile, a=TEXT))) == [
        "Profile",
        "Owner",
        "Other",
    ]


def test_a_component_that_is_used_everywhere_is_named_after_the_words_that_its_places_share() -> None:
    text = object_of(type={"const": "text"}, text=TEXT)
    image = object_of(type={"const": "image"}, link=TEXT, alt=TEXT)
    part: Json = {"anyOf": [text, image]}
    assert records(object_of(header=part, body=part, footer=part)) == ["Text", "Image"]
    assert records(object_of(current_day=list_of(DAY), days=list_of(DAY), day_items=list_of(DAY))) == ["Day"]


def test_two_places_without_a_common_word_are_both_named() -> None:
    point = object_of(line={"type": "integer"}, column={"type": "integer"})
    assert records(object_of(start=point, end=point)) == ["StartOrEnd"]


def test_a_title_is_the_name() -> None:
    assert records(object_of(where={"title": "Postal address", **object_of(city=TEXT)})) == ["PostalAddress"]


def test_a_definition_keeps_its_name() -> None:
    schema = object_of(a={"$ref": "#/$defs/Point"}, b={"$ref": "#/$defs/Point"}, point=object_of(z=TEXT))
    schema["$defs"] = {"Point": object_of(x=TEXT, y=TEXT)}
    assert sorted(records(schema)) == ["Point", "PointWithZ"]


def test_different_objects_of_one_name_are_told_apart_by_what_they_are_parts_of() -> None:
    schema = object_of(
        reviews=object_of(result=object_of(title=TEXT)), pictures=object_of(result=object_of(source=TEXT))
    )
    assert records(schema) == ["ReviewsResult", "Reviews", "PicturesResult", "Pictures"]


def test_alternatives_of_one_name_are_told_apart_by_what_only_one_has() -> None:
    by_vector = {**object_of(path=TEXT, vector=list_of(TEXT)), "required": ["vector"]}
    by_text = {**object_of(path=TEXT, limit=TEXT, query=TEXT), "required": ["query"]}
    assert records(object_of(search={"anyOf": [by_vector, by_text]})) == [
        "SearchWithVector",
        "SearchWithQuery",
    ]


def test_objects_with_one_property_stay_apart() -> None:
    assert records(object_of(project=object_of(id=TEXT), user=object_of(id=TEXT))) == ["Project", "User"]


def test_plurals_become_singulars() -> None:
    names = {
        "children": "Child",
        "series": "Series",
        "addresses": "Address",
        "indexes": "Index",
        "data": "DataItem",
    }
    for places, name in names.items():
        assert records(object_of(**{places: list_of(DAY)})) == [name]


def test_an_argument_and_a_result_of_one_name_are_told_apart() -> None:
    schema = object_of(project=object_of(name=TEXT, size=TEXT), record=object_of(a=TEXT))
    python = python_of({"inputSchema": schema, "outputSchema": schema})
    found = re.findall(r"^class (\w+)\(Record", python, re.MULTILINE)
    assert found == ["Project", "RecordItem", "ToolOutput", "ProjectInput", "RecordInput"]
