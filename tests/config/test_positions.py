"""The line of every key, so that an error can name it."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from satchel.config.positions import line_in_json, line_in_yaml

property_test = settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])

Path = tuple[str | int, ...]

JSON = r"""{
  "name": "first",
  "one": {
    "name": "in one",
    "list": [
      1,
      {"name": "in a list",
       "deep": [[], [true,
         null]]},
      "three"
    ]
  },
  "quoted \" { \\": {
    "name": "}, \"name\": [",
    "größe": 1
  },
  "two": {"three": {"name":
    1}, "name": 2}
}"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("name",), 2),
        (("one",), 3),
        (("one", "name"), 4),
        (("one", "list"), 5),
        (("one", "list", 0), 6),
        (("one", "list", 1), 7),
        (("one", "list", 1, "name"), 7),
        (("one", "list", 1, "deep"), 8),
        (("one", "list", 1, "deep", 0), 8),
        (("one", "list", 1, "deep", 1), 8),
        (("one", "list", 1, "deep", 1, 1), 9),
        (("one", "list", 2), 10),
        (('quoted " { \\',), 13),
        (('quoted " { \\', "name"), 14),
        (('quoted " { \\', "größe"), 15),
        (("two",), 17),
        (("two", "three", "name"), 17),
        (("two", "name"), 18),
    ],
)
def test_keys_and_items_have_their_line_in_json(path: Path, line: int) -> None:
    assert line_in_json(JSON, path) == line


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("one", "nowhere"), 3),
        (("one", "list", 9), 5),
        (("one", "list", 1, "nowhere", "deeper"), 7),
        (("name", "of a text"), 2),
        (("one", "list", "not an index"), 5),
    ],
)
def test_a_path_that_ends_too_early_has_the_line_of_its_last_known_part(path: Path, line: int) -> None:
    assert line_in_json(JSON, path) == line


@pytest.mark.parametrize(
    "text", ["", "   ", "5", "[]", "{}", '{"other": 1}', "not json", '{"open', '{"a\\x": 1}', "}{"]
)
def test_a_text_without_the_key_has_no_line(text: str) -> None:
    assert line_in_json(text, ("key",)) is None


def test_what_is_broken_after_the_key_does_not_matter() -> None:
    assert line_in_json('{\n"key": {\n"inner": tru', ("key", "inner")) == 3


def test_of_two_keys_of_the_same_name_the_last_one_counts_as_it_does_for_json() -> None:
    assert line_in_json('{\n"a": 1,\n"a": 2\n}', ("a",)) == 3


KEYS = st.text(max_size=6) | st.sampled_from(
    ["a", "b", '"', "\\", '\\"', "}", "{", ",", ":", "a: [", "\n", "é"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | KEYS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


def lines_of(value: Any, line: int, path: Path = ()) -> Iterator[tuple[Path, int]]:
    """Every path with its line when each key and item is on a line of its own; last, the line after."""
    parts: list[tuple[str | int, Any]]
    if isinstance(value, dict):
        parts = list(value.items())  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]
    elif isinstance(value, list):
        parts = list(enumerate(value))  # pyright: ignore[reportUnknownArgumentType]
    else:
        parts = []
    for step, part in parts:
        line += 1
        yield (*path, step), line
        *below, (_, line) = lines_of(part, line, (*path, step))
        yield from below
    yield (), line + (1 if parts else 0)


@pytest.mark.slow
@property_test
@given(document=st.dictionaries(KEYS, VALUES, max_size=5), ensure_ascii=st.booleans())
def test_every_path_of_any_document_has_its_line(document: dict[str, Any], ensure_ascii: bool) -> None:
    text = json.dumps(document, indent=1, ensure_ascii=ensure_ascii)

    *paths, _ = lines_of(document, 1)

    assert [(path, line_in_json(text, path)) for path, _ in paths] == paths


YAML = """\
# a comment: with a colon
mode: auto
one:
  name: x
  list:
  - a

  - name: b
    deep: {name: c,
           other: d}
  - - e
    - f
"quoted: key":
  name: "one: 5"
text: |
  one:
    name: not a key
5: number
two: {one: {name: 1}}
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("mode",), 2),
        (("one",), 3),
        (("one", "name"), 4),
        (("one", "list", 0), 6),
        (("one", "list", 1), 8),
        (("one", "list", 1, "deep"), 9),
        (("one", "list", 1, "deep", "other"), 10),
        (("one", "list", 2, 1), 12),
        (("quoted: key", "name"), 14),
        (("text",), 15),
        (("5",), 18),
        (("two", "one", "name"), 19),
        (("one", "nowhere", "deeper"), 3),
        (("one", "list", 9), 5),
        (("text", "one"), 15),
        (("nowhere",), None),
    ],
)
def test_keys_and_items_have_their_line_in_yaml(path: Path, line: int | None) -> None:
    assert line_in_yaml(YAML, path) == line


def test_an_empty_yaml_text_has_no_lines() -> None:
    assert line_in_yaml("# nothing\n", ("key",)) is None


def test_of_two_keys_of_the_same_name_the_last_one_counts_as_it_does_for_yaml() -> None:
    assert line_in_yaml("a: 1\na: 2\n", ("a",)) == 2
