"""Arguments are checked before anything is sent, and a faulty schema is never the caller's problem."""

import json
import re
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from satchel.calls.arguments import check_call, describe_parameter, schema_problem
from satchel.errors import ArgumentError
from satchel.model import Json
from tests.fakes import make_tool, tool_with

SEARCH: dict[str, Any] = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "What to look for.\nIn any language."},
        "limit": {"type": "integer", "minimum": 1},
        "sort": {"type": "string", "enum": ["relevance", "created_at", "updated_at"]},
        "filter": {
            "type": "object",
            "properties": {
                "owner": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
                "tags": {"type": "array", "items": {"type": "string"}},
            },
        },
        "cursor": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        "since": {"type": ["string", "null"]},
    },
    "required": ["query"],
}


def accepted(schema: Any, arguments: dict[str, Any]) -> bool:
    check_call(tool_with(schema), arguments)
    return True


def refusal(schema: Any, arguments: dict[str, Any]) -> ArgumentError:
    with pytest.raises(ArgumentError) as caught:
        check_call(tool_with(schema), arguments)
    return caught.value


# What is wrong with arguments


@pytest.mark.parametrize(
    "arguments",
    [
        {"query": "x"},
        {"query": ""},
        {"query": "x", "limit": 5, "sort": "relevance", "cursor": None, "since": None},
        {"query": "x", "limit": 5.0, "cursor": "c", "since": "s"},
        {"query": "x", "filter": {"owner": {"name": "n", "more": 1}, "tags": []}},
    ],
)
def test_arguments_that_fit_are_accepted(arguments: dict[str, Any]) -> None:
    assert accepted(SEARCH, arguments)


def test_a_missing_argument_is_named_with_what_it_takes() -> None:
    error = refusal(SEARCH, {"limit": 5})

    assert (error.message, error.argument) == ("missing argument 'query'", "query")
    assert error.hint == "it is a string: What to look for."


def test_an_unknown_argument_is_named_with_the_closest() -> None:
    error = refusal(SEARCH, {"query": "x", "Limits": 5})

    assert (error.message, error.argument) == ("unknown argument 'Limits'", "Limits")
    assert error.hint == "did you mean 'limit'?"


def test_an_unknown_argument_like_no_other_is_named_with_all_there_are() -> None:
    assert (
        refusal(SEARCH, {"query": "x", "zzzzz": 5}).hint
        == "it takes query, limit, sort, filter, cursor, since"
    )


def test_a_misspelled_argument_is_named_before_the_one_it_leaves_missing() -> None:
    error = refusal(SEARCH, {"qeury": "x"})

    assert (error.argument, error.hint) == ("qeury", "did you mean 'query'?")


@pytest.mark.parametrize(
    ("arguments", "argument", "message"),
    [
        ({"query": 5}, "query", "argument 'query' must be a string, not 5"),
        ({"query": None}, "query", "argument 'query' must be a string, not null"),
        ({"query": "x", "limit": "5"}, "limit", "argument 'limit' must be a whole number, not '5'"),
        ({"query": "x", "limit": True}, "limit", "argument 'limit' must be a whole number, not true"),
        ({"query": "x", "limit": 1.5}, "limit", "argument 'limit' must be a whole number, not 1.5"),
        ({"query": "x", "filter": []}, "filter", "argument 'filter' must be an object, not []"),
        ({"query": "x", "cursor": 5}, "cursor", "argument 'cursor' must be a string or null, not 5"),
        ({"query": "x", "since": 5}, "since", "argument 'since' must be a string or null, not 5"),
        (
            {"query": "x", "filter": {"tags": ["a", "b", 5]}},
            "filter.tags.2",
            "argument 'filter.tags.2' must be a string, not 5",
        ),
        (
            {"query": "x", "filter": {"owner": {"name": []}}},
            "filter.owner.name",
            "argument 'filter.owner.name' must be a string, not []",
        ),
        (
            {"query": "x", "filter": {"owner": {}}},
            "filter.owner.name",
            "missing argument 'filter.owner.name'",
        ),
    ],
)
def test_a_value_that_does_not_fit_is_named_with_its_path_and_what_is_expected(
    arguments: dict[str, Any], argument: str, message: str
) -> None:
    error = refusal(SEARCH, arguments)

    assert (error.argument, error.message) == (argument, message)


def test_a_value_that_is_no_choice_is_named_with_the_choices_and_the_closest() -> None:
    error = refusal(SEARCH, {"query": "x", "sort": "createdAt"})

    assert error.message == "argument 'sort' is 'createdAt'; it can be relevance, created_at, updated_at"
    assert error.hint == "did you mean 'created_at'?"


def test_of_many_choices_only_some_are_shown() -> None:
    schema = {"type": "object", "properties": {"n": {"enum": list(range(1000))}}}

    assert len(refusal(schema, {"n": "x"}).message) < 300


@pytest.mark.parametrize(
    ("schema", "value", "said"),
    [
        ({"type": "integer", "minimum": 1}, 0, "minimum"),
        ({"type": "string", "minLength": 3}, "x", "too short"),
        ({"type": "array", "maxItems": 1}, [1, 2], "too long"),
        ({"const": "x"}, "y", "'x' was expected"),
    ],
)
def test_other_limits_are_checked_too(schema: dict[str, Any], value: Any, said: str) -> None:
    error = refusal({"type": "object", "properties": {"a": schema}}, {"a": value})

    assert error.argument == "a"
    assert error.message.startswith("argument 'a'")
    assert said in error.message


def test_a_long_value_is_shown_only_in_part() -> None:
    assert len(refusal(SEARCH, {"query": ["x" * 10_000]}).message) < 200


# What is not declared


def test_additional_arguments_are_a_typing_error_where_the_schema_says_nothing() -> None:
    assert refusal({"type": "object", "properties": {"a": {}}}, {"b": 1}).argument == "b"


def test_additional_arguments_are_refused_where_the_schema_says_so() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {}}, "additionalProperties": False}

    assert refusal(schema, {"b": 1}).argument == "b"
    assert "b" in refusal({"type": "object", "additionalProperties": False}, {"b": 1}).message


@pytest.mark.parametrize("additional", [True, {}, {"type": "integer"}])
def test_additional_arguments_are_accepted_where_the_schema_says_so(additional: Any) -> None:
    assert accepted({"type": "object", "properties": {"a": {}}, "additionalProperties": additional}, {"b": 1})


def test_additional_arguments_have_the_type_that_the_schema_gives_them() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"a": {}},
        "additionalProperties": {"type": "integer"},
    }

    assert refusal(schema, {"b": "x"}).message == "argument 'b' must be a whole number, not 'x'"


@pytest.mark.parametrize("schema", [{}, {"type": "object"}, {"type": "object", "properties": {}}])
def test_a_schema_that_declares_nothing_takes_anything(schema: dict[str, Any]) -> None:
    assert accepted(schema, {"anything": [1, {"at": "all"}]})


@pytest.mark.parametrize(
    "more",
    [
        {"allOf": [{"properties": {"b": {"type": "integer"}}}]},
        {"anyOf": [{"properties": {"b": {"type": "integer"}}}, {"required": ["a"]}]},
        {"$ref": "#/$defs/B", "$defs": {"B": {"properties": {"b": {"type": "integer"}}}}},
        {"patternProperties": {"^b": {}}},
        {"if": {"required": ["a"]}, "then": {"properties": {"b": {}}}},
    ],
)
def test_arguments_that_are_declared_elsewhere_are_not_unknown(more: dict[str, Any]) -> None:
    assert accepted({"type": "object", "properties": {"a": {}}, **more}, {"b": 1})


# Alternatives

OPTIONAL: dict[str, Any] = {
    "type": "object",
    "properties": {"owner": {"anyOf": [{"$ref": "#/$defs/Owner"}, {"type": "null"}]}},
    "$defs": {"Owner": {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}},
}


def test_an_optional_object_may_be_given_or_null() -> None:
    assert accepted(OPTIONAL, {"owner": {"age": 5}})
    assert accepted(OPTIONAL, {"owner": None})
    assert accepted(OPTIONAL, {})


def test_what_an_alternative_refers_to_is_said_and_not_that_anything_would_do() -> None:
    error = refusal(OPTIONAL, {"owner": 5})

    assert error.argument == "owner"
    assert "any value" not in error.message
    assert "an object or null" in error.message


@pytest.mark.parametrize("owner", [{"age": "old"}, {}])
def test_what_is_wrong_inside_an_optional_object_is_named_with_its_path(owner: dict[str, Any]) -> None:
    error = refusal(OPTIONAL, {"owner": owner})

    assert error.argument == "owner.age"


def test_arguments_of_which_one_is_needed_are_named() -> None:
    schema = {
        "type": "object",
        "properties": {"id": {"type": "string"}, "name": {"type": "string"}},
        "anyOf": [{"required": ["id"]}, {"required": ["name"]}],
    }

    assert accepted(schema, {"name": "n"})
    error = refusal(schema, {})
    assert "''" not in error.message
    assert "any value" not in error.message
    assert "id" in error.message
    assert "name" in error.message


def test_a_value_that_fits_two_of_one_of_is_not_said_to_be_of_the_wrong_type() -> None:
    schema = {"type": "object", "properties": {"a": {"oneOf": [{"type": "string"}, {"maxLength": 5}]}}}

    assert "must be a string" not in refusal(schema, {"a": "x"}).message


# Faulty schemas


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "objekt"},
        {"type": "object", "properties": []},
        {"type": "object", "properties": {"a": 5}},
        {"type": "object", "properties": {"a": {"type": "text"}}},
        {"type": "object", "properties": {"a": {"type": "string"}}, "required": "a"},
        {"type": "object", "properties": {"a": {"minimum": "1"}}},
        {"type": "object", "properties": {"a": {"enum": "x"}}},
        {"type": "object", "properties": {"a": {"anyOf": []}}},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/nowhere"}}},
        {"type": "object", "properties": {"a": {"$ref": "nowhere.json"}}},
        {"type": "object", "properties": {"a": {"$ref": "#nowhere"}}},
        {"type": "object", "properties": {"a": {"$ref": "http://["}}},
        {"type": "object", "properties": {"a": {"$ref": 5}}},
        {"type": "object", "properties": {"a": {"$dynamicRef": "#nowhere"}}},
        {"type": "object", "properties": {"a": {"pattern": "("}}},
        {"type": "object", "$id": "http://[", "properties": {"a": {}}},
        {"$ref": "#"},
        {"$schema": "https://example.org/of-their-own", "properties": {"a": {}}},
        {"$schema": 5, "properties": {"a": {}}},
        {"$schema": ["x"], "properties": {"a": {}}},
        {"$schema": "http://[", "properties": {"a": {}}},
        {"$schema": "http://json-schema.org/draft-04/schema#", "properties": {"a": {"required": True}}},
        {"anyOf": [{"$ref": "#/anyOf/²"}]},
    ],
    ids=json.dumps,
)
def test_a_faulty_schema_never_blocks_a_call(schema: Any) -> None:
    assert accepted(schema, {"a": {"any": ["thing"]}})
    schema_problem(schema)


def test_what_a_faulty_schema_does_not_declare_is_left_to_the_server() -> None:
    assert accepted({"type": "object", "properties": {"a": {}}, "required": "a"}, {"b": 1})


def test_a_schema_that_is_nested_without_end_never_blocks_a_call() -> None:
    schema: dict[str, Any] = {}
    for _ in range(200):
        schema = {"properties": {"a": schema}}

    assert accepted(schema, {"a": 1})


@pytest.mark.parametrize("number", [10**400, float("inf"), float("nan")], ids=["huge", "inf", "nan"])
def test_a_number_that_can_not_be_divided_never_blocks_a_call(number: float) -> None:
    assert accepted({"type": "object", "properties": {"a": {"multipleOf": 0.1}}}, {"a": number})


def test_arguments_that_are_nested_without_end_are_left_to_the_server() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/L"}},
        "$defs": {"L": {"items": {"$ref": "#/$defs/L"}}},
    }
    value: list[Any] = []
    for _ in range(3_000):
        value = [value]

    assert accepted(schema, {"a": value})


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"$ref": "URL"}}},
        {"properties": {"a": {"$ref": "URL#/x"}}},
        {"$ref": "URL"},
        {"$id": "URL", "properties": {"a": {"$ref": "other.json"}}},
        {"$schema": "URL", "properties": {"a": {}}},
        {"properties": {"a": {"$dynamicRef": "URL"}}},
    ],
    ids=json.dumps,
)
def test_nothing_is_fetched_for_a_reference(schema: dict[str, Any]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/schema.json"
        schema = json.loads(json.dumps({"type": "object", **schema}).replace("URL", url))

        assert accepted(schema, {"a": 1})
        schema_problem(schema)

        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()


EVIL = "^(a+)+$"  # takes years on a long row of a's with another letter at its end
VICTIM = "a" * 60 + "!"


@pytest.mark.timeout(100)
@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        ({"properties": {"a": {"type": "string", "pattern": EVIL}}}, {"a": VICTIM}),
        ({"patternProperties": {EVIL: {}}}, {VICTIM: 1}),
        ({"patternProperties": {EVIL: {}}, "additionalProperties": True}, {VICTIM: 1}),
        ({"propertyNames": {"pattern": EVIL}}, {VICTIM: 1}),
        ({"patternProperties": {EVIL: {}}, "additionalProperties": False}, {VICTIM: 1}),
        ({"patternProperties": {EVIL: {}}, "additionalProperties": {"type": "integer"}}, {VICTIM: 1}),
        ({"patternProperties": {EVIL: {}}, "unevaluatedProperties": False}, {VICTIM: 1}),
        ({"properties": {"a": {"format": "regex"}}}, {"a": EVIL}),
    ],
    ids=[
        "pattern",
        "patternProperties",
        "additionalProperties: true",
        "propertyNames",
        "additionalProperties: false",
        "additionalProperties: schema",
        "unevaluatedProperties",
        "format",
    ],
)
def test_a_regular_expression_of_a_server_does_not_keep_us_busy(
    schema: dict[str, Any], arguments: dict[str, Any]
) -> None:
    began = time.process_time()
    assert accepted({"type": "object", **schema}, arguments)
    assert time.process_time() - began < 15


def test_a_pattern_in_the_syntax_of_javascript_does_not_switch_the_other_checks_off() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string", "pattern": r"^\p{L}+$"}, "n": {"type": "integer"}},
    }

    assert schema_problem(schema) is None
    assert refusal(schema, {"n": "x"}).argument == "n"


# References

TREE: dict[str, Any] = {
    "type": "object",
    "properties": {"root": {"$ref": "#/$defs/Node"}},
    "$defs": {
        "Node": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
            },
            "required": ["name"],
        }
    },
}


def test_a_recursive_schema_is_checked_to_the_depth_of_the_arguments() -> None:
    assert schema_problem(TREE) is None
    assert accepted(TREE, {"root": {"name": "a", "children": [{"name": "b", "children": []}]}})
    error = refusal(TREE, {"root": {"name": "a", "children": [{"name": "b", "children": [{"name": 5}]}]}})
    assert error.argument == "root.children.0.children.0.name"


@pytest.mark.parametrize(
    ("reference", "definitions"),
    [
        ("#/$defs/A", {"$defs": {"A": {"type": "integer"}}}),
        ("#/definitions/A", {"definitions": {"A": {"type": "integer"}}}),
        ("#/$defs/a~1b~0c", {"$defs": {"a/b~c": {"type": "integer"}}}),
        ("#/$defs/List%5Bint%5D", {"$defs": {"List[int]": {"type": "integer"}}}),
        ("#/$defs/A/anyOf/1", {"$defs": {"A": {"anyOf": [{}, {"type": "integer"}]}}}),
        ("#/properties/b", {}),
    ],
)
def test_a_local_reference_is_followed(reference: str, definitions: dict[str, Any]) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": reference}, "b": {"type": "integer"}},
        **definitions,
    }

    assert schema_problem(schema) is None
    assert accepted(schema, {"a": 5})
    error = refusal({**schema}, {"a": "x"})
    assert error.argument == "a"


@pytest.mark.parametrize("key", ["default", "const", "examples", "x-note"])
def test_what_looks_like_a_reference_inside_a_value_is_none(key: str) -> None:
    value: Any = {"$ref": "#/nowhere"}
    schema = {
        "type": "object",
        "properties": {"a": {key: [value] if key == "examples" else value}, "n": {"type": "null"}},
    }

    assert schema_problem(schema) is None
    assert refusal(schema, {"n": 5}).argument == "n"


# What is wrong with a schema


@pytest.mark.parametrize(
    "schema", [True, False, {}, SEARCH, OPTIONAL, TREE, {"$schema": "https://example.org/x"}]
)
def test_a_valid_schema_has_no_problem(schema: Any) -> None:
    assert schema_problem(schema) is None


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (None, "is not an object"),
        ([], "is not an object"),
        ("object", "is not an object"),
        ({"type": "objekt"}, "objekt"),
        ({"properties": {"a": {"type": "text"}}}, "at properties/a/type"),
        ({"required": "a"}, "at required"),
        ({"properties": {"a": {"$ref": "#/$defs/lost"}}}, "$ref #/$defs/lost leads nowhere"),
        ({"allOf": [{"$ref": "#/allOf/7"}]}, "$ref #/allOf/7 leads nowhere"),
    ],
)
def test_the_problem_of_a_schema_is_said_with_its_place(schema: Any, said: str) -> None:
    problem = schema_problem(schema)

    assert problem is not None
    assert said in problem


def test_the_problem_of_a_huge_schema_is_short() -> None:
    problem = schema_problem({"properties": {"a": {"type": "x" * 100_000}}})

    assert problem is not None
    assert len(problem) < 300


KEYWORDS = st.sampled_from(
    re.findall(
        r"\S+",
        "type properties required enum const anyOf oneOf allOf not if then items prefixItems $ref $defs $id "
        "$schema $anchor $dynamicRef additionalProperties patternProperties propertyNames minimum multipleOf "
        "pattern format dependentSchemas unevaluatedProperties uniqueItems contains default a b",
    )
)
WORDS = st.sampled_from(
    [
        "object",
        "string",
        "a",
        "b",
        "#",
        "#/",
        "#/$defs/a",
        "#/properties/a",
        "#a",
        "x.json",
        "http://[",
        "(",
        "²",
        "%zz",
        "",
    ]
)
SCHEMAS = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 9) | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYWORDS, inner, max_size=5),
    max_leaves=20,
)


@pytest.mark.slow
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    schema=st.dictionaries(KEYWORDS, SCHEMAS, max_size=5),
    arguments=st.dictionaries(st.sampled_from("ab"), SCHEMAS, max_size=2),
)
def test_whatever_a_server_calls_a_schema_arguments_are_accepted_or_refused(
    schema: dict[str, Any], arguments: dict[str, Any]
) -> None:
    schema_problem(schema)
    try:
        check_call(tool_with(schema), arguments)
    except ArgumentError as error:
        assert error.message


# What a parameter takes


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "string"}, "a string"),
        ({"type": "boolean"}, "true or false"),
        ({"type": ["integer", "null"]}, "a whole number or null"),
        ({"type": "array", "items": {"type": "string"}}, "a list of strings"),
        ({"type": "array"}, "a list"),
        ({"enum": ["a", 1]}, "one of a, 1"),
        ({"const": "x"}, "x"),
        ({"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "string"}]}, "a string or a number"),
        ({"description": "no type"}, "any value"),
        (True, "any value"),
        (None, "any value"),
        ({"type": "text"}, "any value"),
    ],
)
def test_a_parameter_is_described_in_a_few_words(schema: Any, words: str) -> None:
    assert describe_parameter(schema) == words


# Tools of real servers

REAL_TOOLS = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "realtools"


def real_tools() -> Iterator[tuple[str, dict[str, Any]]]:
    for file in sorted(REAL_TOOLS.glob("*.json")):
        for definition in json.loads(file.read_text(encoding="utf-8"))["tools"]:
            yield file.stem, definition


@pytest.mark.slow
@pytest.mark.parametrize("share", range(8))
def test_the_tools_of_real_servers_can_be_checked(share: int) -> None:
    if not REAL_TOOLS.is_dir():
        pytest.skip("../shared/data/realtools is not here")
    for server, definition in list(real_tools())[share::8]:
        tool = make_tool(definition, server=server)
        assert schema_problem(tool.input_schema) is None, tool.qualified_name
        try:
            check_call(tool, {})
        except ArgumentError as error:
            assert error.message
        else:
            assert not tool.input_schema.get("required"), tool.qualified_name


@pytest.mark.parametrize(
    ("items", "value"),
    [
        ({"type": "string"}, ["a", *({"a": number} for number in range(3_000))]),
        ({"type": "string"}, list(range(100_000))),
        ({"type": "object", "properties": {"id": {"type": "integer"}}}, [{"id": 1}] * 50_000),
    ],
    ids=["each with each other", "all wrong", "all right"],
)
def test_arguments_of_any_size_are_checked_in_a_moment_or_left_to_the_server(items: Any, value: Any) -> None:
    schema = {
        "type": "object",
        "properties": {"tags": {"type": "array", "items": items, "uniqueItems": True}},
    }
    began = time.process_time()
    with suppress(ArgumentError):
        check_call(tool_with(schema), {"tags": value})
    assert time.process_time() - began < 10  # it was forty seconds and more


@pytest.mark.parametrize(
    ("arguments", "fit"),
    [
        ({"a": "x"}, True),
        ({"a": "x", "n": 1, "f": 1.5, "b": True}, True),
        ({"a": "x", "f": 1}, True),
        ({}, False),
        ({"a": 1}, False),
        ({"a": "x", "n": True}, False),
        ({"a": "x", "n": 1.5}, False),
        ({"a": "x", "b": 0}, False),
        ({"a": "x", "z": 1}, False),
        ({"a": None}, False),
    ],
)
def test_a_flat_schema_is_checked_at_a_glance_with_the_same_outcome(arguments: Json, fit: bool) -> None:
    kinds = {"a": "string", "n": "integer", "f": "number", "b": "boolean"}
    flat = {
        "type": "object",
        "properties": {name: {"type": kind, "description": name} for name, kind in kinds.items()},
        "required": ["a"],
    }
    for schema in (flat, flat | {"minProperties": 0}):  # the second one says more, and is checked as a whole
        if fit:
            check_call(tool_with(schema), arguments)
        else:
            with pytest.raises(ArgumentError):
                check_call(tool_with(schema), arguments)


def test_the_name_of_an_unknown_argument_is_told_in_short() -> None:
    """A program writes it, and others read it."""
    message = refusal(SEARCH, {"x" * 1_000_000: ""}).message
    assert message.startswith("unknown argument 'xxx") and len(message) < 300
