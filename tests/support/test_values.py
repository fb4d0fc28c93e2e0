"""Values counted before they are read."""

import json
import tracemalloc
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.model import is_list, is_object
from satchel.support.values import MOST_DIGITS, ValueCounter, has_too_many_digits

JSON_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.sampled_from('a,[{"\\}]: é\n'), max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=20,
)


def counted(*pieces: bytes) -> int:
    counter = ValueCounter()
    for piece in pieces:
        counter.feed(piece)
    return counter.count


def marks(value: Any) -> int:
    """The brackets and commas of a value, by looking at it and not at its text."""
    parts = list(value.values()) if is_object(value) else value
    if not is_list(parts):
        return 0
    return 1 + max(0, len(parts) - 1) + sum(map(marks, parts))


@given(value=JSON_VALUES, cuts=st.lists(st.integers(0, 200), max_size=6), escape=st.booleans())
def test_only_what_is_outside_of_strings_counts_wherever_a_text_is_cut(
    value: Any, cuts: list[int], escape: bool
) -> None:
    data = json.dumps(value, ensure_ascii=escape).encode()
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    pieces = [data[start:end] for start, end in pairwise(places)]
    assert counted(*pieces) == counted(data) == marks(value)


@pytest.mark.parametrize(
    "text", [b'"' + b'\\"' * 4_000_000, b"\\" * 8_000_001, b'"' * 8_000_000, b"," * 8_000_000]
)
def test_no_text_takes_long(text: bytes) -> None:
    """Quadratic time would be hours."""
    assert counted(text) in (0, len(text))


LONG = b"8" * 4_000


@pytest.mark.parametrize(
    ("text", "is_too_much"),
    [
        (b"[" + b",".join([LONG] * 26) + b"]", True),
        (b"[" + b",".join([LONG] * 25) + b"]", False),
        (b'{"a":"\\"",' + b'"b":-' + b"1" * (MOST_DIGITS + 1) + b"}", True),
        (b"[" + b",".join([b"123456789" * 45] * 300) + b"]", True),
        (b"[" + b",".join([b"1" * 400] * 2_000) + b"]", False),
        (b'["' + b"1" * 400_000 + b'", "\\"' + b"2" * 400_000 + b'"]', False),
        (b"[1." + b"0" * (MOST_DIGITS + 1) + b"]", True),
    ],
)
def test_long_numbers_are_too_much_together_and_not_in_texts(text: bytes, is_too_much: bool) -> None:
    assert has_too_many_digits(text) is is_too_much


@pytest.mark.parametrize("text", [b"1" * 400 + b",", b"1" * 401 + b",", b'"' + b"1" * 401 + b'\\"', b"1,"])
def test_looking_for_long_numbers_takes_no_time(text: bytes) -> None:
    """Tried at every digit it would be minutes."""
    for _ in range(10):
        has_too_many_digits(text * (8_000_000 // len(text)))


def test_looking_for_long_numbers_takes_little_memory() -> None:
    """A list of what is between all quotes would take 13 times as much as the text."""
    text = b'["' + b'\\\\"' * 600_001 + b"1" * 200_000
    tracemalloc.start()
    try:
        assert has_too_many_digits(text)
        assert tracemalloc.get_traced_memory()[1] < 4 * len(text)
    finally:
        tracemalloc.stop()
