"""The digest of a definition counts everything that a caller relies on, and nothing else."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from satchel.catalog.definitions import canonical, changed_fields, digest

property_test = settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])

DEFINITION: dict[str, Any] = {
    "name": "get",
    "title": "Get",
    "description": "Gets one",
    "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"enum": [1, 2]}}},
    "annotations": {"readOnlyHint": True},
}

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=()), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)


def reversed_keys(value: Any) -> Any:
    if isinstance(value, dict):
        items: list[tuple[str, Any]] = list(value.items())  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]
        return {key: reversed_keys(part) for key, part in reversed(items)}
    if isinstance(value, list):
        return [reversed_keys(part) for part in value]  # pyright: ignore[reportUnknownVariableType]
    return value


@property_test
@given(st.dictionaries(st.text(max_size=4), JSON, max_size=5))
def test_the_order_of_keys_at_any_depth_does_not_count(definition: dict[str, Any]) -> None:
    assert digest(reversed_keys(definition)) == digest(definition)


@pytest.mark.parametrize("meta", [{}, {"at": "2026-01-01"}, {"at": "2026-01-02", "n": 5}, None])
def test_meta_does_not_count(meta: Any) -> None:
    assert digest({**DEFINITION, "_meta": meta}) == digest(DEFINITION)
    assert changed_fields(DEFINITION, {**DEFINITION, "_meta": meta}) == ()


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        ({"description": "Gets one."}, ("description",)),
        ({"description": "Gets  one"}, ("description",)),
        ({"title": None}, ("title",)),
        ({"annotations": {"readOnlyHint": False}}, ("annotations",)),
        ({"annotations": {"readOnlyHint": 1}}, ("annotations",)),
        ({"outputSchema": {"type": "object"}}, ("outputSchema",)),
        ({"x-unknown": 1}, ("x-unknown",)),
        ({"inputSchema": {"type": "object"}}, ("inputSchema",)),
        (
            {
                "inputSchema": {
                    "type": "object",
                    "properties": {
                        "a": {"type": "string"},
                        "b": {"enum": [2, 1]},
                    },  # the order of a list counts
                }
            },
            ("inputSchema",),
        ),
        ({"inputSchema": {**DEFINITION["inputSchema"], "_meta": 1}}, ("inputSchema",)),
        ({"title": "T", "description": "D", "_meta": 1}, ("description", "title")),
    ],
)
def test_any_other_change_counts_and_its_fields_are_named(
    change: dict[str, Any], fields: tuple[str, ...]
) -> None:
    changed = {**DEFINITION, **change}

    assert digest(changed) != digest(DEFINITION)
    assert changed_fields(DEFINITION, changed) == fields
    assert changed_fields(changed, DEFINITION) == fields


@pytest.mark.parametrize("field", ["title", "description", "annotations"])
def test_a_field_that_goes_away_counts(field: str) -> None:
    less = {key: value for key, value in DEFINITION.items() if key != field}

    assert digest(less) != digest(DEFINITION)
    assert changed_fields(DEFINITION, less) == (field,)


@property_test
@given(JSON)
def test_the_canonical_form_loses_nothing(value: Any) -> None:
    assert json.loads(canonical(value)) == value


def test_what_only_python_takes_for_equal_is_not() -> None:
    assert len({canonical(value) for value in (1, True, 1.0, "1")}) == 4


def test_half_of_a_character_can_be_digested() -> None:
    assert digest({"name": "\ud800"}) != digest({"name": "\udfff"})
