"""JSON of others: halves of surrogate pairs are mended, at a cost that others don't feel."""

import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.support.json import mend_surrogates

HALVES = pytest.mark.parametrize(
    "part", [b"\xed\xa0\x80", b"\\ud800", b"\\ud83d\\ude00", b"\\\\", b"\\\\\\ud800", b"\\\\\xed\xa0\x80"]
)


@given(text=st.text(st.sampled_from('\\"u\ud83d\ude00\ud800\udfffd8\n😀'), max_size=40), escape=st.booleans())
def test_only_halves_are_mended(text: str, escape: bool) -> None:
    data = json.dumps(text, ensure_ascii=escape).encode("utf-8", "surrogatepass")
    if escape:  # where two halves meet, they are read as a pair
        text = json.loads(data)
    whole = "".join("\ufffd" if "\ud800" <= one <= "\udfff" else one for one in text)
    assert json.loads(mend_surrogates(data).decode()) == whole


@HALVES
def test_halves_are_mended_wherever_a_piece_of_a_long_text_ends(part: bytes) -> None:
    one = mend_surrogates(b'"' + part + b'\\ud800x"')[1:-1]
    for before in range(12):
        text = b"x" * before + (part + b"\\ud800x") * 5_000
        assert mend_surrogates(text) == b"x" * before + one * 5_000


@HALVES
def test_a_text_takes_little_memory_while_it_is_mended(part: bytes) -> None:
    text = part * (200_000 // len(part)) + b"\\ud800"
    tracemalloc.start()
    try:
        mend_surrogates(text)
        assert tracemalloc.get_traced_memory()[1] < 6 * len(text)
    finally:
        tracemalloc.stop()
