"""JSON Schema as servers write it, into the type tree and into both languages."""

import ast
import json
import re
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from satchel.codegen.layout import server_files
from satchel.codegen.schema import read_schema
from satchel.codegen.signature import read_signature
from satchel.codegen.types import (
    ANY,
    BOOLEAN,
    INTEGER,
    NULL,
    NUMBER,
    STRING,
    Array,
    Choice,
    Field,
    Map,
    Object,
    Reference,
    Shape,
    Tuple,
    Type,
    Union,
    Unknown,
)
from satchel.languages import LANGUAGES
from satchel.model import Json, is_object
from tests.codegen.helpers import make_server, python_of, typescript_of

TEXT: Json = {"type": "string"}
WHOLE: Json = {"type": "integer"}


def object_of(required: str = "", /, **properties: Any) -> Json:
    """An object schema; `required` has the names of what it requires, with spaces between."""
    return {"type": "object", "properties": properties, "required": required.split()}


def type_of(schema: object) -> Type:
    """The type of a property called `value`."""
    kind = read_schema(object_of(value=schema), "Thing").type
    assert isinstance(kind, Object)
    return kind.fields[0].type


def python_type(schema: object) -> str:
    """How Python spells the type of a parameter called `value`."""
    module = ast.parse(python_of({"inputSchema": object_of("value", value=schema)}))
    function = next(node for node in module.body if isinstance(node, ast.AsyncFunctionDef))
    annotation = function.args.kwonlyargs[0].annotation
    assert annotation is not None
    return ast.unparse(annotation).replace("'", '"')


def typescript_type(schema: object) -> str:
    """How TypeScript spells the type of a property called `value`, without its comments."""
    text = typescript_of({"inputSchema": object_of("value", value=schema)})
    text = re.sub(r"/\*\*.*?\*/", "", text, flags=re.DOTALL)
    found = re.search(r"interface ToolInput \{\s*value: (.*?);\s*\}\n\nexport function", text, re.DOTALL)
    assert found, text
    return " ".join(found.group(1).split())


def both_files(definition: Json) -> list[str]:
    return [python_of(definition), typescript_of(definition)]


PAIR = Tuple((STRING, INTEGER))

FORMS: list[tuple[str, Any, Type, str, str]] = [
    ("text", TEXT, STRING, "str", "string"),
    ("whole number", WHOLE, INTEGER, "int", "number"),
    ("number", {"type": "number"}, NUMBER, "float", "number"),
    ("boolean", {"type": "boolean"}, BOOLEAN, "bool", "boolean"),
    ("null", {"type": "null"}, NULL, "None", "null"),
    ("true", True, ANY, "Any", "unknown"),
    ("empty", {}, ANY, "Any", "unknown"),
    ("only a description", {"description": "anything"}, ANY, "Any", "unknown"),
    ("array", {"type": "array", "items": TEXT}, Array(STRING), "list[str]", "string[]"),
    ("array of anything", {"type": "array"}, Array(ANY), "list[Any]", "unknown[]"),
    ("array, any items", {"type": "array", "items": True}, Array(ANY), "list[Any]", "unknown[]"),
    (
        "array of arrays",
        {"type": "array", "items": {"type": "array", "items": WHOLE}},
        Array(Array(INTEGER)),
        "list[list[int]]",
        "number[][]",
    ),
    (
        "array of either",
        {"type": "array", "items": {"type": ["string", "integer"]}},
        Array(Union((STRING, INTEGER))),
        "list[str | int]",
        "(string | number)[]",
    ),
    (
        "tuple, 2020-12",
        {"type": "array", "prefixItems": [TEXT, WHOLE], "items": False},
        PAIR,
        "tuple[str, int] | list[str | int]",
        "[string, number]",
    ),
    (
        "tuple, draft 7",
        {"type": "array", "items": [TEXT, WHOLE], "additionalItems": False},
        PAIR,
        "tuple[str, int] | list[str | int]",
        "[string, number]",
    ),
    (
        "tuple by its length",
        {"type": "array", "prefixItems": [TEXT, WHOLE], "minItems": 2, "maxItems": 2},
        PAIR,
        "tuple[str, int] | list[str | int]",
        "[string, number]",
    ),
    (
        "tuple that may go on with its own kind",
        {"type": "array", "prefixItems": [TEXT], "items": WHOLE},
        Array(Union((STRING, INTEGER))),
        "list[str | int]",
        "(string | number)[]",
    ),
    (
        "tuple that may end early",
        {"type": "array", "prefixItems": [TEXT, WHOLE], "items": False, "minItems": 1},
        Array(Union((STRING, INTEGER))),
        "list[str | int]",
        "(string | number)[]",
    ),
    (
        "open tuple",
        {"type": "array", "items": [TEXT, WHOLE]},
        Array(ANY),
        "list[Any]",
        "unknown[]",
    ),
    ("enum", {"enum": ["a", "b"]}, Choice(("a", "b")), 'Literal["a", "b"]', '"a" | "b"'),
    (
        "enum of everything",
        {"enum": ["a", 1, True, None]},
        Union((Choice(("a", 1, True)), NULL)),
        'Literal["a", 1, True] | None',
        '"a" | 1 | true | null',
    ),
    ("enum with fractions", {"enum": [1, 2.5]}, Choice((1, 2.5)), "Literal[1] | float", "1 | 2.5"),
    (
        "enum with objects",
        {"enum": ["a", {"b": 1}]},
        Union((Choice(("a",)), Map(ANY))),
        'Literal["a"] | dict[str, Any]',
        '"a" | Record<string, unknown>',
    ),
    ("const", {"const": "only"}, Choice(("only",)), 'Literal["only"]', '"only"'),
    ("const null", {"const": None}, NULL, "None", "null"),
    ("const of an array", {"const": [1]}, Array(ANY), "list[Any]", "unknown[]"),
    (
        "array of a choice",
        {"type": "array", "items": {"enum": ["a", "b"]}},
        Array(Choice(("a", "b"))),
        'list[Literal["a", "b"]]',
        '("a" | "b")[]',
    ),
    (
        "list of types",
        {"type": ["string", "integer"]},
        Union((STRING, INTEGER)),
        "str | int",
        "string | number",
    ),
    ("whole or any number", {"type": ["integer", "number"]}, NUMBER, "float", "number"),
    (
        "nullable by a list",
        {"type": ["null", "string"]},
        Union((STRING, NULL)),
        "str | None",
        "string | null",
    ),
    (
        "nullable by anyOf",
        {"anyOf": [{"type": "null"}, TEXT]},
        Union((STRING, NULL)),
        "str | None",
        "string | null",
    ),
    (
        "nullable as in OpenAPI",
        {"type": "string", "nullable": True},
        Union((STRING, NULL)),
        "str | None",
        "string | null",
    ),
    (
        "nullable enum",
        {"type": ["string", "null"], "enum": ["a", None]},
        Union((Choice(("a",)), NULL)),
        'Literal["a"] | None',
        '"a" | null',
    ),
    ("anyOf", {"anyOf": [TEXT, WHOLE]}, Union((STRING, INTEGER)), "str | int", "string | number"),
    ("oneOf", {"oneOf": [TEXT, WHOLE]}, Union((STRING, INTEGER)), "str | int", "string | number"),
    ("anyOf of one", {"anyOf": [TEXT]}, STRING, "str", "string"),
    ("anyOf of the same", {"anyOf": [TEXT, {**TEXT, "format": "uri"}]}, STRING, "str", "string"),
    (
        "anyOf of constants",
        {"anyOf": [{"const": "a"}, {"const": "b"}]},
        Choice(("a", "b")),
        'Literal["a", "b"]',
        '"a" | "b"',
    ),
    ("anyOf with anything", {"anyOf": [TEXT, {}]}, ANY, "Any", "unknown"),
    ("allOf of one", {"allOf": [TEXT]}, STRING, "str", "string"),
    ("allOf that narrows", {"type": "number", "allOf": [WHOLE]}, INTEGER, "int", "number"),
    (
        "allOf of choices",
        {"allOf": [{"enum": ["a", "b", "c"]}, {"enum": ["b", "c", "d"]}]},
        Choice(("b", "c")),
        'Literal["b", "c"]',
        '"b" | "c"',
    ),
    (
        "type that narrows a union",
        {"type": "string", "anyOf": [TEXT, WHOLE]},
        STRING,
        "str",
        "string",
    ),
    ("object", {"type": "object"}, Map(ANY), "dict[str, Any]", "Record<string, unknown>"),
    (
        "map",
        {"type": "object", "additionalProperties": WHOLE},
        Map(INTEGER),
        "dict[str, int]",
        "Record<string, number>",
    ),
    (
        "map by patterns",
        {"type": "object", "patternProperties": {"^x-": TEXT, "^n-": WHOLE}, "additionalProperties": False},
        Map(Union((STRING, INTEGER))),
        "dict[str, str | int]",
        "Record<string, string | number>",
    ),
    ("array without its type", {"items": TEXT}, Array(STRING), "list[str]", "string[]"),
    (
        "tuple without its type",
        {"prefixItems": [TEXT, WHOLE], "items": False},
        PAIR,
        "tuple[str, int] | list[str | int]",
        "[string, number]",
    ),
    (
        "map without its type",
        {"additionalProperties": TEXT},
        Map(STRING),
        "dict[str, str]",
        "Record<string, string>",
    ),
    ("formats are texts", {"type": "string", "format": "date-time"}, STRING, "str", "string"),
]


@pytest.mark.parametrize("form", FORMS, ids=[form[0] for form in FORMS])
def test_every_form_has_its_type_in_both_languages(form: tuple[str, Any, Type, str, str]) -> None:
    _, schema, kind, python, typescript = form
    assert type_of(schema) == kind
    assert python_type(schema) == python
    assert typescript_type(schema) == typescript


def test_a_word_in_a_choice_is_not_a_type_and_renames_no_field() -> None:
    schema = object_of(type={"enum": ["text", "uri", "list"]}, text=TEXT, uri=TEXT, list=TEXT, call=TEXT)
    python = python_of({"inputSchema": object_of(message=schema)})
    assert "class Message(Record):\n" in python
    for name in ("text", "uri", "list", "call"):
        assert f"    {name}: str = omit\n" in python


def test_a_field_is_renamed_where_its_name_is_a_method_or_a_type_of_its_record() -> None:
    schema = object_of(
        items=TEXT,
        str=TEXT,
        list={"type": "array", "items": TEXT},
        **{"from": TEXT, "Tag": object_of(a=TEXT)},
    )
    python = python_of({"inputSchema": object_of(message=schema)})
    renamed = 'items_="items", str_="str", list_="list", from_="from", Tag_="Tag"'
    assert f"class Message(Record, {renamed}):\n" in python


def test_nested_objects_are_records_in_python_and_are_written_out_in_typescript() -> None:
    schema = object_of("owner", owner=object_of("name", name=TEXT, home=object_of(city=TEXT)))
    assert type_of(schema) == Object(
        "Value",
        (
            Field(
                "owner",
                Object(
                    "Owner",
                    (
                        Field("name", STRING, True),
                        Field("home", Object("Home", (Field("city", STRING, False),)), False),
                    ),
                ),
                True,
            ),
        ),
    )
    python = python_of({"inputSchema": object_of("value", value=schema)})
    assert "class Home(Record):\n    city: str = omit\n" in python
    assert "class Owner(Record):\n    name: str\n    home: Home | dict[str, Any] = omit\n" in python
    assert "class Value(Record):\n    owner: Owner | dict[str, Any]\n" in python
    assert typescript_type(schema) == "{ owner: { name: string; home?: { city?: string; }; }; }"


def test_objects_in_arrays_are_called_in_the_singular() -> None:
    text = python_of({"inputSchema": object_of(entries={"type": "array", "items": object_of(at=TEXT)})})
    assert "class Entry(Record):" in text
    assert "entries: list[Entry | dict[str, Any]] = omit" in text


def test_two_different_objects_of_the_same_name_are_two_records() -> None:
    schema = object_of(a=object_of(item=object_of(x=TEXT)), b=object_of(item=object_of(y=TEXT)))
    text = python_of({"inputSchema": schema})
    assert "class AItem(Record):\n    x: str = omit" in text
    assert "class BItem(Record):\n    y: str = omit" in text


def test_objects_that_differ_in_one_and_true_are_two_records() -> None:
    schema = object_of(
        a=object_of(item=object_of(x={"const": 1})), b=object_of(item=object_of(x={"const": True}))
    )
    text = python_of({"inputSchema": schema})
    assert "x: Literal[1] = omit" in text
    assert "x: Literal[True] = omit" in text


def test_one_and_true_contradict_each_other() -> None:
    assert type_of({"allOf": [{"const": 1}, {"const": True}]}) == Unknown("contradictory")


def test_equal_objects_are_one_record() -> None:
    point = object_of("x", x=WHOLE)
    text = python_of({"inputSchema": object_of(a=object_of(point=point), b=object_of(point=point))})
    assert text.count("class Point") == 1


@pytest.mark.parametrize(
    "schema",
    [
        {"allOf": [object_of("a", a=TEXT), object_of("b", b=WHOLE)]},
        {**object_of("a", a=TEXT), "allOf": [object_of("b", b=WHOLE)]},
        {**object_of("a b", a=TEXT), "allOf": [object_of(b=WHOLE)]},
        {
            "$defs": {"A": object_of("a", a=TEXT)},
            "allOf": [{"$ref": "#/properties/value/$defs/A"}, object_of("b", b=WHOLE)],
        },
    ],
)
def test_all_of_objects_is_one_object_with_the_properties_of_all(schema: Json) -> None:
    kind = type_of(schema)
    assert isinstance(kind, Object)
    assert {(field.name, field.type, field.required) for field in kind.fields} == {
        ("a", STRING, True),
        ("b", INTEGER, True),
    }


@pytest.mark.parametrize(
    "schema",
    [
        {**object_of(a=TEXT), "allOf": [{"required": ["a"]}]},
        {"allOf": [object_of(a=TEXT), {"type": "object", "required": ["a"]}]},
        {"$ref": "#/$defs/A", "$defs": {"A": object_of(a=TEXT)}, "required": ["a"]},
    ],
    ids=["allOf", "allOf with type", "beside $ref"],
)
def test_what_another_part_requires_is_required(schema: Json) -> None:
    assert "tool(*, a: str)" in python_of({"inputSchema": schema})
    assert "a: string;" in typescript_of({"inputSchema": schema})


def test_alternatives_share_what_stands_beside_them() -> None:
    schema = {**object_of("id", id=TEXT), "oneOf": [object_of("x", x=TEXT), object_of("y", y=TEXT)]}
    kind = type_of(schema)
    assert isinstance(kind, Union)
    names = [[field.name for field in option.fields] for option in kind.options if isinstance(option, Object)]
    assert names == [["id", "x"], ["id", "y"]]


def test_alternatives_that_only_require_are_told_in_words() -> None:
    schema = {**object_of(a=TEXT, b=TEXT, c=TEXT), "anyOf": [{"required": ["a"]}, {"required": ["b", "c"]}]}
    for text in both_files({"inputSchema": schema}):
        assert "Give one of: a; b and c." in text
    exclusive = {**object_of(a=TEXT, b=TEXT), "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}
    assert "Give exactly one of: a; b." in python_of({"inputSchema": exclusive})


def test_alternatives_that_all_require_the_same_say_nothing_about_it() -> None:
    options = [object_of("kind", kind={"const": "a"}, x=TEXT), object_of("kind", kind={"const": "b"}, y=TEXT)]
    for text in both_files({"inputSchema": {"type": "object", "oneOf": options}}):
        assert "Give" not in text


def test_further_properties_have_their_type_beside_the_known_ones() -> None:
    schema = {**object_of("id", id=TEXT), "additionalProperties": WHOLE}
    kind = read_schema(schema, "Thing").type
    assert isinstance(kind, Object)
    assert kind.extra == INTEGER
    assert "def tool(*, id: str, **extra: int)" in python_of({"inputSchema": schema})
    assert "[key: string]: unknown;" in typescript_of({"inputSchema": schema})


def test_a_parameter_called_extra_keeps_its_name_beside_further_ones() -> None:
    schema = {**object_of(extra=TEXT), "additionalProperties": True}
    text = python_of({"inputSchema": schema})
    assert "extra: str = omit, **extra2: Any" in text
    assert 'names={"extra2": None}' in text


@pytest.mark.parametrize(
    "schema",
    [object_of(a=TEXT), {**object_of(a=TEXT), "additionalProperties": False}],
    ids=["nothing said", "forbidden"],
)
def test_no_further_parameters_are_offered_unless_the_schema_invites_them(schema: Json) -> None:
    assert "**" not in python_of({"inputSchema": schema})
    assert "[key: string]" not in typescript_of({"inputSchema": schema})


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {}},
        {"type": "object", "properties": {}, "required": []},
        {"type": "object", "additionalProperties": False},
        {"type": "object", "properties": {}, "additionalProperties": False},
    ],
)
def test_a_tool_that_takes_nothing_has_no_parameters(schema: Json) -> None:
    assert "def tool() -> JsonOrText:" in python_of({"inputSchema": schema})
    assert 'call("demo", "tool", {})' in python_of({"inputSchema": schema})
    assert "function tool(): Promise<JsonOrText>" in typescript_of({"inputSchema": schema})


def test_what_is_required_and_not_described_is_a_parameter_of_any_type() -> None:
    assert "def tool(*, a: str = omit, b: Any)" in python_of(
        {"inputSchema": {**object_of(a=TEXT), "required": ["b"]}}
    )


CONSTRAINED: list[tuple[Json, str]] = [
    ({"type": "integer", "minimum": 1, "maximum": 10}, "1 to 10"),
    ({"type": "integer", "minimum": 1}, "at least 1"),
    ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1.5}, "> 0, < 1.5"),
    ({"type": "number", "multipleOf": 0.5}, "a multiple of 0.5"),
    ({"type": "string", "minLength": 2, "maxLength": 40}, "2 to 40 characters"),
    ({"type": "string", "maxLength": 1}, "at most 1 character"),
    ({"type": "string", "pattern": "^[a-z]+$"}, 'pattern "^[a-z]+$"'),
    ({"type": "string", "format": "email"}, "email"),
    ({"type": "string", "contentEncoding": "base64"}, "base64"),
    ({"type": "array", "items": TEXT, "minItems": 1, "uniqueItems": True}, "at least 1 item, no repetitions"),
    ({"type": "array", "items": {"type": "string", "format": "uri"}}, "each: uri"),
    ({"type": "object", "patternProperties": {"^x-": TEXT}}, 'keys match "^x-"'),
    ({"type": "object", "maxProperties": 3}, "at most 3 entries"),
    ({"type": "string", "default": "en"}, 'default "en"'),
    ({"type": "boolean", "default": False}, "default false"),
    ({"type": "array", "default": []}, "default []"),
    ({"type": "string", "examples": ["de", "fr"]}, 'e.g. "de"'),
    ({"anyOf": [{"type": "integer", "minimum": 3}, {"type": "null"}], "default": None}, "at least 3"),
    ({"type": "string", "deprecated": True}, "deprecated"),
]


@pytest.mark.parametrize(("schema", "words"), CONSTRAINED)
def test_what_a_type_can_not_say_is_said_in_words(schema: Json, words: str) -> None:
    described = {**schema, "description": "What it is"}
    for text in both_files({"inputSchema": object_of(value=described)}):
        assert f"What it is ({words})" in text


@pytest.mark.parametrize("default", ["x", 0, None, [], {"a": 1}])
def test_a_default_is_never_sent_by_the_wrapper(default: object) -> None:
    text = python_of({"inputSchema": object_of(value={"default": default})})
    assert "value: Any = omit" in text
    assert "value?: unknown;" in typescript_of({"inputSchema": object_of(value={"default": default})})


def test_a_title_that_only_repeats_the_name_is_left_out() -> None:
    titled = object_of(
        page_size={"type": "integer", "title": "Page Size"}, b={"type": "string", "title": "Why"}
    )
    text = python_of({"inputSchema": titled})
    assert "Page Size" not in text
    assert "b: Why" in text


# References


def test_a_reference_is_the_type_it_leads_to_and_objects_keep_their_names() -> None:
    schema = {
        **object_of(a={"$ref": "#/$defs/size"}, b={"$ref": "#/definitions/Owner"}),
        "$defs": {"size": {"enum": ["s", "m"]}},
        "definitions": {"Owner": object_of("id", id=TEXT)},
    }
    shape = read_schema(schema, "Thing")
    assert isinstance(shape.type, Object)
    assert [field.type for field in shape.type.fields] == [Choice(("s", "m")), Reference("Owner")]
    assert shape.definitions == {"Owner": Object("Owner", (Field("id", STRING, True),))}


@pytest.mark.parametrize(
    "reference",
    ["#/$defs/a~1b", "#/$defs/a%2Fb", "#/$defs/list/0", "#here", "urn:thing", "#/properties/other"],
)
def test_references_are_found_by_place_by_anchor_and_by_id(reference: str) -> None:
    defs = {
        "a/b": WHOLE,
        "list": [WHOLE],
        "x": {**WHOLE, "$anchor": "here"},
        "y": {**WHOLE, "$id": "urn:thing"},
    }
    if reference == "#/$defs/a%2Fb":
        defs["a"] = {"b": TEXT}
    schema = {**object_of(value={"$ref": reference}, other=WHOLE), "$defs": defs}
    kind = read_schema(schema, "Thing").type
    assert isinstance(kind, Object)
    assert kind.fields[0].type == INTEGER


def test_what_stands_beside_a_reference_counts_too() -> None:
    schema = {**object_of(a={"$ref": "#/$defs/A", "description": "Beside it."}), "$defs": {"A": TEXT}}
    assert "a: Beside it." in python_of({"inputSchema": schema})
    nullable = {**object_of("a", a={"$ref": "#/$defs/A", "nullable": True}), "$defs": {"A": TEXT}}
    assert "a: str | None" in python_of({"inputSchema": nullable})


NODE = object_of("name", name=TEXT, child={"$ref": "#/$defs/Node"})
RECURSIVE: list[tuple[str, Json]] = [
    ("direct", {**object_of("tree", tree={"$ref": "#/$defs/Node"}), "$defs": {"Node": NODE}}),
    ("at the root", {"$ref": "#/$defs/Node", "$defs": {"Node": NODE}}),
    (
        "by an array",
        {
            "$ref": "#/definitions/Node",
            "definitions": {
                "Node": object_of(kids={"type": "array", "items": {"$ref": "#/definitions/Node"}})
            },
        },
    ),
    (
        "by a map",
        {
            "$ref": "#/definitions/Node",
            "definitions": {
                "Node": object_of(
                    kids={"type": "object", "additionalProperties": {"$ref": "#/definitions/Node"}}
                )
            },
        },
    ),
    (
        "mutual",
        {
            **object_of(man={"$ref": "#/$defs/Man"}),
            "$defs": {
                "Man": object_of(dog={"$ref": "#/$defs/Dog"}),
                "Dog": object_of(man={"$ref": "#/$defs/Man"}),
            },
        },
    ),
    ("by the whole", object_of(name=TEXT, children={"type": "array", "items": {"$ref": "#"}})),
    (
        "by an anchor",
        {
            **object_of(tree={"$ref": "#node"}),
            "$defs": {"n": {**object_of(up={"$ref": "#node"}), "$anchor": "node"}},
        },
    ),
    (
        "by an id",
        {
            **object_of(tree={"$ref": "urn:n"}),
            "$defs": {"n": {**object_of(up={"$ref": "urn:n"}), "$id": "urn:n"}},
        },
    ),
    (
        "by a place",
        object_of(first=object_of(next={"$ref": "#/properties/first"})),
    ),
    (
        "by alternatives",
        {
            **object_of("tree", tree={"$ref": "#/$defs/Tree"}, more={"$ref": "#/$defs/Tree"}),
            "$defs": {
                "Tree": {"anyOf": [{"$ref": "#/$defs/Leaf"}, {"$ref": "#/$defs/Branch"}]},
                "Leaf": object_of("value", value=TEXT),
                "Branch": object_of("parts", parts={"type": "array", "items": {"$ref": "#/$defs/Tree"}}),
            },
        },
    ),
    (
        "values of JSON",
        {
            **object_of("a", a={"$ref": "#/$defs/Json"}, b={"$ref": "#/$defs/Json"}),
            "$defs": {
                "Json": {
                    "anyOf": [
                        {"type": ["string", "number", "boolean", "null"]},
                        {"type": "array", "items": {"$ref": "#/$defs/Json"}},
                        {"type": "object", "additionalProperties": {"$ref": "#/$defs/Json"}},
                    ]
                }
            },
        },
    ),
    (
        "an alternative to itself",
        {**object_of(a={"$ref": "#/$defs/A"}), "$defs": {"A": {"anyOf": [{"$ref": "#/$defs/A"}, TEXT]}}},
    ),
    (
        "two that are met at once",
        {
            **object_of(m={"allOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}]}, other=TEXT),
            "$defs": {
                "A": object_of(child={"$ref": "#/$defs/A"}, x=TEXT),
                "B": object_of(child={"$ref": "#/$defs/B"}, y=TEXT),
            },
        },
    ),
]


@pytest.mark.parametrize("schema", [row[1] for row in RECURSIVE], ids=[row[0] for row in RECURSIVE])
def test_recursive_schemas_are_written_with_names(schema: Json) -> None:
    shape = read_schema(schema, "Thing")
    assert shape.definitions
    assert references(shape) <= shape.definitions.keys()
    text = python_of({"inputSchema": schema, "outputSchema": schema})
    compile(text, "tool.py", "exec")


def references(shape: Shape) -> set[str]:
    found: set[str] = set()
    waiting: list[Type] = [shape.type, *shape.definitions.values()]
    while waiting:
        kind = waiting.pop()
        if isinstance(kind, Reference):
            found.add(kind.name)
        elif isinstance(kind, Array):
            waiting.append(kind.items)
        elif isinstance(kind, Map):
            waiting.append(kind.values)
        elif isinstance(kind, Tuple):
            waiting.extend(kind.items)
        elif isinstance(kind, Union):
            waiting.extend(kind.options)
        elif isinstance(kind, Object):
            waiting.extend(field.type for field in kind.fields)
    return found


def test_a_recursive_record_refers_to_itself_in_both_languages() -> None:
    schema = RECURSIVE[0][1]
    python, typescript = both_files({"outputSchema": schema})
    assert "class Node(Record):\n    name: str\n    child: Node | None = None\n" in python
    assert python.startswith("from __future__ import annotations\n")
    assert "export interface Node {\n  name: string;\n  child?: Node;\n}" in typescript


def test_merging_two_recursive_types_leaves_the_other_parameters_alone() -> None:
    text = python_of({"inputSchema": dict(RECURSIVE)["two that are met at once"]})
    assert "other: str = omit" in text


def test_definitions_of_the_same_last_name_are_told_apart() -> None:
    schema = {
        **object_of(a={"$ref": "#/$defs/x/item"}, b={"$ref": "#/$defs/y/item"}),
        "$defs": {"x": {"item": object_of(p=TEXT)}, "y": {"item": object_of(q=TEXT)}},
    }
    assert list(read_schema(schema, "Thing").definitions) == ["Item", "Item2"]


def test_references_of_a_wrapped_result_still_lead_to_the_whole_schema() -> None:
    inner = {"type": "array", "items": object_of(more={"$ref": "#/properties/result"})}
    for text in both_files({"outputSchema": object_of("result", result=inner)}):
        assert "not understood" not in text


# Names that languages keep for themselves


@pytest.mark.parametrize("name", ["none", "true", "false", "None", "True"])
def test_records_are_not_called_like_words_of_python(name: str) -> None:
    inner = object_of(a=TEXT)
    for definition in (
        {"inputSchema": object_of(**{name: inner})},
        {"outputSchema": object_of(**{name: inner})},
        {"outputSchema": {**object_of(a={"$ref": f"#/$defs/{name}"}), "$defs": {name: inner}}},
    ):
        compile(python_of(definition), "tool.py", "exec")


def test_an_optional_record_whose_name_ends_in_none_may_still_be_absent() -> None:
    text = python_of({"outputSchema": object_of(all_or_none=object_of(a=TEXT))})
    assert "all_or_none: AllOrNone | None = None" in text


@pytest.mark.parametrize("name", ["omit", "Any", "Literal"])
def test_no_field_is_called_like_what_the_fields_after_it_need(name: str) -> None:
    inner = object_of(**{name: TEXT, "a": TEXT, "b": {}, "c": {"const": 1}})
    text = python_of({"name": name, "inputSchema": object_of(value=inner)})
    record = next(node for node in ast.parse(text).body if isinstance(node, ast.ClassDef))
    fields = [node for node in record.body if isinstance(node, ast.AnnAssign)]
    needed = {
        node.id for field in fields for part in (field.annotation, field.value) for node in names_in(part)
    }
    assert len(fields) == 4
    assert needed.isdisjoint(ast.unparse(field.target) for field in fields)


def names_in(node: ast.AST | None) -> list[ast.Name]:
    return [part for part in ast.walk(node) if isinstance(part, ast.Name)] if node else []


# A root that is not a plain object


@pytest.mark.parametrize("schema", [True, {}, {"type": "object"}, {"additionalProperties": True}])
def test_a_root_that_says_nothing_takes_any_arguments(schema: object) -> None:
    assert "def tool(**arguments: Any)" in python_of({"inputSchema": schema})
    assert "function tool(input: Record<string, unknown> = {})" in typescript_of({"inputSchema": schema})


def test_a_root_that_is_a_map_takes_arguments_of_its_type() -> None:
    schema = {"type": "object", "additionalProperties": WHOLE}
    assert "def tool(**arguments: int)" in python_of({"inputSchema": schema})
    assert "function tool(input: Record<string, number> = {})" in typescript_of({"inputSchema": schema})


def test_alternatives_at_the_root_are_laid_over_each_other() -> None:
    schema = {
        "oneOf": [object_of("kind a", kind={"const": "x"}, a=TEXT), object_of("kind", kind={"const": "y"})]
    }
    assert 'tool(*, kind: Literal["x", "y"], a: str = omit)' in python_of({"inputSchema": schema})
    assert 'export type ToolInput = {\n  kind: "x";\n  a: string;\n} | {\n  kind: "y";\n};' in typescript_of(
        {"inputSchema": schema}
    )


@pytest.mark.parametrize(
    "schema",
    [
        {"type": ["object", "null"], "properties": {"a": TEXT}},
        {"anyOf": [object_of(a=TEXT), {"type": "null"}]},
        {"anyOf": [object_of(a=TEXT), TEXT]},
        {**object_of(a=TEXT), "nullable": True},
    ],
)
def test_a_root_that_may_also_be_no_object_has_the_parameters_of_the_object(schema: Json) -> None:
    assert "tool(*, a: str = omit)" in python_of({"inputSchema": schema})
    assert "a?: string;" in typescript_of({"inputSchema": schema})


@pytest.mark.parametrize("schema", [TEXT, {"type": "array", "items": TEXT}, {"type": "null"}, {"enum": [1]}])
def test_an_input_that_can_not_be_an_object_takes_anything_and_says_so(schema: Json) -> None:
    for text in both_files({"inputSchema": schema}):
        assert "not understood" in text
    assert "def tool(**arguments: Any)" in python_of({"inputSchema": schema})


@pytest.mark.parametrize(
    ("schema", "python", "typescript"),
    [
        (TEXT, "str", "string"),
        ({"type": "array", "items": object_of("a", a=TEXT)}, "list[ToolOutputItem]", "{ a: string; }[]"),
        ({"anyOf": [TEXT, {"type": "null"}]}, "str | None", "string | null"),
        (True, "JsonOrText", "JsonOrText"),
        ({"type": "object", "additionalProperties": WHOLE}, "dict[str, int]", "Record<string, number>"),
    ],
)
def test_an_output_may_be_of_any_type(schema: object, python: str, typescript: str) -> None:
    assert f"-> {python}:" in python_of({"outputSchema": schema})
    text = " ".join(typescript_of({"outputSchema": schema}).split())
    assert f"Promise<{typescript}>" in text


def test_optional_fields_of_an_output_are_none_when_absent_and_those_of_an_input_are_not_sent() -> None:
    schema = object_of("x", x=TEXT, y=TEXT)
    definition = {"inputSchema": object_of(point=schema), "outputSchema": object_of(point=schema)}
    text = python_of(definition)
    assert "    x: str\n    y: str | None = None\n" in text
    assert "    x: str\n    y: str = omit\n" in text


# What can't be used


UNUSABLE: list[tuple[Any, str]] = [
    (False, "no value is valid"),
    ("string", "not a schema"),
    (None, "not a schema"),
    (17, "not a schema"),
    ([TEXT], "not a schema"),
    ({"type": "text"}, 'type "text" is not known'),
    ({"type": 5}, "type 5 is not known"),
    ({"type": {"a": 1}}, "is not known"),
    ({"type": ["string", "text"]}, 'type "text" is not known'),
    ({"type": ["string", 7]}, "type 7 is not known"),
    ({"type": "a\nb\u202e*/"}, "is not known"),
    ({"enum": []}, "its enum is not a list of values"),
    ({"enum": "a"}, "its enum is not a list of values"),
    ({"$ref": "#/nowhere"}, "$ref #/nowhere leads nowhere in the schema"),
    ({"$ref": "#/type"}, "$ref #/type leads nowhere in the schema"),
    ({"$ref": "other.json#/a"}, "$ref other.json#/a leads nowhere in the schema"),
    ({"$ref": "https://example.com/schema"}, "leads nowhere in the schema"),
    ({"$ref": 5}, "its $ref is not a text"),
    ({"$ref": "#/properties/value"}, "a reference to itself"),
    ({"allOf": [TEXT, WHOLE]}, "contradictory"),
    ({"allOf": [{"const": "a"}, {"const": "b"}]}, "contradictory"),
    ({"type": "string", "allOf": [{"type": "array", "items": TEXT}]}, "contradictory"),
    ({"type": "string", "anyOf": [WHOLE, {"type": "null"}]}, "contradictory"),
    ({"allOf": [object_of(a=TEXT), TEXT]}, "contradictory"),
    ({"type": "array", "items": {"type": "text"}}, 'type "text" is not known'),
    ({"type": "array", "items": 5}, "not a schema"),
    ({"type": "object", "additionalProperties": "x"}, "not a schema"),
    ({"type": "object", "properties": ["a"]}, "its properties are not an object"),
]


@pytest.mark.parametrize(("schema", "note"), UNUSABLE)
def test_what_is_unusable_is_any_value_with_a_comment(schema: object, note: str) -> None:
    definition: Json = {"inputSchema": object_of("value other", value=schema, other=TEXT)}
    python, typescript = both_files(definition)
    compile(python, "tool.py", "exec")
    for text in (python, typescript):
        assert "schema not understood: " in text
        assert note.replace("*/", "*\\/") in text
    assert "Any" in python
    assert "unknown" in typescript
    assert "other: str" in python
    assert "other: string" in typescript


@pytest.mark.parametrize(("schema", "note"), [row for row in UNUSABLE if isinstance(row[0], dict)])
def test_an_unusable_output_is_any_value_with_a_comment(schema: Json, note: str) -> None:
    if "#/properties/value" in json.dumps(schema):
        schema = {"$ref": "#"}
    for text in both_files({"outputSchema": schema}):
        assert "schema not understood: " in text
        assert note in text


@pytest.mark.parametrize("schema", [None, 5, "x", [], False, {"type": "wat"}, {"$ref": "#/x"}, {"enum": []}])
def test_an_unusable_input_takes_any_arguments_and_says_why(schema: object) -> None:
    python, typescript = both_files({"inputSchema": schema})
    assert "def tool(**arguments: Any)" in python
    assert "input: Record<string, unknown>" in typescript
    for text in (python, typescript):
        assert "Input schema not understood: " in text


WRONG_KINDS: list[Any] = [
    {"type": "object", "properties": {"a": TEXT}, "required": "a"},
    {"type": "object", "properties": {"a": TEXT}, "required": {"a": True}},
    {"type": "object", "properties": {"a": TEXT}, "required": [1, None]},
    {"type": "object", "properties": {"a": TEXT}, "additionalProperties": None},
    {"type": "object", "properties": {"a": TEXT}, "patternProperties": []},
    {"type": "object", "properties": {"a": {**TEXT, "minLength": "x", "maximum": [], "pattern": 5}}},
    {"type": "object", "properties": {"a": {**TEXT, "description": 5, "title": [], "format": {}}}},
    {"type": "object", "properties": {"a": {**TEXT, "examples": "x", "items": 3}}},
    {"type": "object", "properties": {"a": {**TEXT, "anyOf": {}, "oneOf": 3, "allOf": None}}},
    {"type": "object", "properties": {"a": {**TEXT, "anyOf": [], "oneOf": [], "allOf": []}}},
    {"type": "object", "properties": {"a": {**TEXT, "nullable": "yes"}}},
    {"type": "object", "properties": {"a": TEXT}, "anyOf": [{"required": "a"}, {"required": [{}]}]},
    {"type": "object", "properties": {"a": TEXT}, "$defs": 5, "$id": {}, "$anchor": []},
]


@pytest.mark.parametrize("schema", WRONG_KINDS)
def test_keywords_of_the_wrong_kind_are_passed_over(schema: Json) -> None:
    assert "a: str = omit" in python_of({"inputSchema": schema})
    assert "a?: string;" in typescript_of({"inputSchema": schema})


# Schemas made to take long


def layers(count: int, letter: str, keys: str) -> Json:
    """Objects each of which has the next one several times."""
    steps = {
        f"{letter}{n}": object_of(**{key: {"$ref": f"#/$defs/{letter}{n + 1}"} for key in keys})
        for n in range(count)
    }
    return {**steps, f"{letter}{count}": object_of(**{letter: TEXT})}


def nested(count: int, schema: Any, **around: str) -> Any:
    for _ in range(count):
        schema = object_of(a=schema) if not around else {"type": "array", "items": schema}
    return schema


BOMBS: dict[str, Any] = {
    "references of references": {"$defs": layers(40, "a", "lr"), "$ref": "#/$defs/a0"},
    "arrays and maps of references": {
        **object_of(x={"$ref": "#/$defs/a0"}),
        "$defs": {
            **{
                f"a{n}": {
                    "anyOf": [
                        {"type": "array", "items": {"$ref": f"#/$defs/a{n + 1}"}},
                        {"type": "object", "additionalProperties": {"$ref": f"#/$defs/a{n + 1}"}},
                    ]
                }
                for n in range(40)
            },
            "a40": TEXT,
        },
    },
    "two webs that are merged": {
        **object_of(m={"allOf": [{"$ref": "#/$defs/a0"}, {"$ref": "#/$defs/b0"}]}),
        "$defs": {**layers(24, "a", "lmnr"), **layers(24, "b", "lmnr")},
    },
    "alternatives of alternatives": object_of(
        a={"allOf": [{"anyOf": [object_of(**{f"p{i}_{j}": TEXT}) for j in range(10)]} for i in range(9)]}
    ),
    "many alternatives": object_of(a={"anyOf": [object_of(**{f"k{n}": TEXT}) for n in range(1500)]}),
    "many values of the same key": object_of(
        a={"oneOf": [object_of("k", k={"const": n}) for n in range(1500)]}
    ),
    "allOf of allOf": object_of(
        a={"allOf": [{"allOf": [{"allOf": [TEXT] * 15}] * 15}] * 15},
    ),
    "the same type many times": {
        "type": ["object"] * 2000,
        "properties": {f"p{n}": TEXT for n in range(2000)},
    },
    "definitions of the same name": {
        **object_of(**{f"p{n}": {"$ref": f"#/$defs/d{n}/x"} for n in range(1400)}),
        "$defs": {f"d{n}": {"x": object_of(a=TEXT)} for n in range(1400)},
    },
    "anchors that are not there": {
        **object_of(**{f"p{n}": {"$ref": f"#n{n}"} for n in range(3000)}),
        "$defs": {f"d{n}": TEXT for n in range(5000)},
    },
    "long enums that meet": object_of(
        a={"allOf": [{"enum": list(range(20_000))}, {"enum": list(range(9, 20_009))}]}
    ),
    "deep objects": nested(200, TEXT),
    "deep arrays": object_of(a=nested(200, TEXT, around="array")),
    "many properties": object_of(**{f"p{n}": TEXT for n in range(5000)}),
}


@pytest.mark.slow
@pytest.mark.timeout(100)
@pytest.mark.parametrize("schema", BOMBS.values(), ids=BOMBS)
def test_no_schema_takes_long_or_becomes_a_book(schema: Json) -> None:
    size = len(json.dumps(schema))
    start = time.process_time()
    texts = both_files({"inputSchema": schema}) + both_files({"outputSchema": schema})
    assert time.process_time() - start < 5
    assert max(map(len, texts)) < 100_000 + 10 * size
    compile(texts[0], "tool.py", "exec")


# Anything at all


WORDS = [
    "type", "properties", "required", "items", "prefixItems", "enum", "const", "anyOf", "oneOf", "allOf",
    "$ref", "$defs", "definitions", "nullable", "additionalProperties", "patternProperties", "default",
    "unevaluatedProperties", "additionalItems", "propertyNames", "title", "description", "format", "minimum",
    "maximum", "minItems", "maxItems", "examples", "pattern", "$id", "$anchor", "not", "deprecated",
]  # fmt: skip
VALUES = [
    "object", "array", "string", "integer", "number", "boolean", "null", "#", "#/$defs/a", "#/$defs/b",
    "a", "b", '"""', "*/", "\\", "\n", "\u202e", "none", "self", "from", "class", "list", "str", "Any",
    "Record", "\ud800",
]  # fmt: skip
LEAVES: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(VALUES)
    | st.sampled_from(
        [{"type": "string"}, {"$ref": "#/$defs/a"}, {"$ref": "#"}, {"type": ["object", "null"]}]
    )
)
KEYS = st.sampled_from(WORDS) | st.sampled_from(VALUES) | st.text(max_size=5)
ANY_JSON: st.SearchStrategy[Any] = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=25,
)


@st.composite
def schemas(draw: st.DrawFn) -> Any:
    """Anything, and more often something that looks like the schema of an object."""
    base = draw(ANY_JSON)
    if not is_object(base) and draw(st.booleans()):
        return base
    properties = draw(st.dictionaries(KEYS, ANY_JSON, max_size=4))
    definitions = {"a": draw(ANY_JSON), "b": draw(ANY_JSON)}
    return {
        **(base if is_object(base) else {}),
        "type": "object",
        "properties": properties,
        "$defs": definitions,
    }


@pytest.mark.slow
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(schemas(), schemas(), st.sampled_from(["tool", "list", "call", "Any", "omit", "名前", '"""', ""]))
def test_any_json_as_a_schema_gives_files_that_compile(
    given_input: Any, given_output: Any, name: str
) -> None:
    definition = {"name": name, "inputSchema": given_input, "outputSchema": given_output}
    server = make_server("demo", [definition])
    signatures = [read_signature(tool, server) for tool in server.tools]
    for language in LANGUAGES:
        for file, text in server_files(server, signatures, language).items():
            text.encode()
            if file.endswith(".py"):
                compile(text, file, "exec")
            elif file.endswith(".json"):
                json.loads(text)


@pytest.mark.parametrize(
    "schema",
    [
        {
            "anyOf": [object_of(a=TEXT), {"type": "object", "additionalProperties": TEXT}],
            "default": {"z": "q"},
        },
        {
            "anyOf": [
                {"type": "array", "prefixItems": [TEXT, TEXT], "items": False},
                {"type": "array", "items": TEXT},
            ],
            "default": ["z"],
        },
        {"type": "number", "default": float("inf")},
    ],
    ids=["a default for the other kind of object", "a default for the other kind of list", "infinite"],
)
def test_an_example_can_be_made_whatever_the_default(schema: Json) -> None:
    server = make_server("demo", [{"name": "tool", "inputSchema": object_of("value", value=schema)}])
    signatures = [read_signature(tool, server) for tool in server.tools]
    text = server_files(server, signatures, "python")["example.py"]
    used = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    assert used <= {"asyncio", "demo", "main", "print", "__name__", "Value"}


@pytest.mark.parametrize("description", ['ends in """', '"', '"""', "ends in \\", '\\"', '""""', '\\"""'])
def test_a_description_may_end_in_anything(description: str) -> None:
    text = python_of({"description": description})
    module = ast.parse(text)
    function = next(node for node in module.body if isinstance(node, ast.AsyncFunctionDef))
    assert ast.get_docstring(function) == description
