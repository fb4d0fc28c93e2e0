"""Frames from a stream that is cut anywhere, and bytes that are no frames."""

import json
import math
import subprocess
import sys
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from satchel.model import Json
from satchel.sandbox.bridge.frames import FrameError, FrameReader, decode, encode

LARGEST = 1 << 20
PATIENT = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    # Any text, lone surrogates as well.
    | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)  # fmt: skip
OBJECTS = st.dictionaries(st.text(), VALUES, max_size=4)


def head(length: int) -> bytes:
    return length.to_bytes(4, "big")


def raw(body: bytes) -> bytes:
    return head(len(body)) + body


@pytest.mark.slow
@PATIENT
@given(frames=st.lists(OBJECTS, max_size=6), data=st.data())
def test_however_a_stream_is_cut_the_same_frames_come_out(frames: list[Json], data: st.DataObject) -> None:
    stream = b"".join(map(encode, frames))
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=20).map(sorted))
    reader = FrameReader(LARGEST)
    found: list[Json] = []
    for start, end in pairwise([0, *cuts, len(stream)]):
        found += [frame for frame, _ in reader.feed(stream[start:end])]
    assert found == frames


def test_a_stream_byte_by_byte_gives_each_frame_with_its_last_byte() -> None:
    reader = FrameReader(LARGEST)
    stream = encode({"a": 1}) + encode({"b": "ü"})
    found = [
        (place, frame) for place in range(len(stream)) for frame, _ in reader.feed(stream[place : place + 1])
    ]
    assert found == [(len(encode({"a": 1})) - 1, {"a": 1}), (len(stream) - 1, {"b": "ü"})]


def test_a_frame_of_many_small_values_is_refused_before_it_is_read() -> None:
    with pytest.raises(FrameError, match="more than 300,000 values"):
        decode(b'{"a":[' + b"[]," * 150_001 + b"[]]}")
    assert len(decode(json.dumps({"a": list(range(200_000))}).encode())["a"]) == 200_000


def test_a_frame_with_many_long_numbers_is_refused_before_it_is_read() -> None:
    long = b"9" * 4_300
    with pytest.raises(FrameError, match="more than 100,000 digits in long numbers"):
        decode(b'{"a":[' + b",".join([long] * 1_900) + b"]}")
    assert len(decode(b'{"a":[' + b",".join([long] * 20) + b"]}")["a"]) == 20
    assert len(decode(b'{"a":"' + b"7" * 5_000_000 + b'"}')["a"]) == 5_000_000, "a text is no number"


def test_a_frame_that_is_too_large_is_refused_by_its_length_before_it_has_come() -> None:
    reader = FrameReader(100)
    with pytest.raises(FrameError, match="a frame of 101 bytes; at most 100"):
        list(reader.feed(head(101)))
    with pytest.raises(FrameError, match="4,294,967,295"):
        list(FrameReader(LARGEST).feed(b"\xff\xff\xff\xff"))
    exact = json.dumps({"a": "x" * 91}).encode()
    assert len(exact) == 101 - 1
    assert list(FrameReader(100).feed(raw(exact))) == [({"a": "x" * 91}, 200)]  # and 100 for its one value


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"{}{}", b"not json", b"\xff\xfe{}", b'{"a": NaN}', b'{"a": -Infinity}', b'{"a": 1e999}',
        b'{"a": ' + b"9" * 5000 + b"}",
    ],
)  # fmt: skip
def test_what_is_not_json_is_no_frame(body: bytes) -> None:
    with pytest.raises(FrameError, match="not JSON"):
        decode(body)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-16", "utf-32-le", "utf-32", "utf-8-sig"])
def test_a_frame_in_another_encoding_is_no_frame_however_its_values_are_counted(encoding: str) -> None:
    # In UTF-16 this letter has the byte of a quote, after which all that follows would be a string.
    text = '{"x":"\u0122","a":[' + "{}," * 200_000 + '{}],"y":"\u0122"}'
    with pytest.raises(FrameError, match=r"not JSON|more than 300,000 values"):
        decode(text.encode(encoding))
    with pytest.raises(FrameError, match="not JSON"):
        decode('{"a": 1}'.encode(encoding))


def test_millions_of_strings_are_refused_without_looking_at_each() -> None:
    with pytest.raises(FrameError, match="more than 300,000 values"):
        decode(b'{"a":[' + b'"",' * 2_700_000 + b'""]}')
    many = json.dumps({"a": {f'"{number}\\': '","' for number in range(140_000)}}).encode()
    assert len(decode(many)["a"]) == 140_000


def test_a_frame_counts_for_what_it_takes_in_memory() -> None:
    body = b'{"a":[' + b"{}," * 9_999 + b"{}]}"
    ((_, size),) = FrameReader(LARGEST).feed(raw(body))
    assert len(body) < 31_000 and size > 100 * 20_000


@pytest.mark.parametrize("body", [b"[]", b"null", b'"text"', b"5"])
def test_what_is_not_an_object_is_no_frame(body: bytes) -> None:
    with pytest.raises(FrameError, match="not an object"):
        decode(body)


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_what_is_nested_too_deep_is_no_frame(opening: bytes) -> None:
    with pytest.raises(FrameError, match="nested too deep"):
        decode(b'{"a":' + opening * 100_000)


def test_the_frames_before_a_broken_one_are_handed_out() -> None:
    found: list[Any] = []
    with pytest.raises(FrameError):
        for frame, _ in FrameReader(LARGEST).feed(encode({"a": 1}) + raw(b"[]") + encode({"b": 2})):
            found.append(frame)
    assert found == [{"a": 1}]


def test_what_is_no_json_can_not_be_sent_as_text_of_a_frame_that_is() -> None:
    assert decode(encode({"lone": "\ud800", "end": "\u2028"})[4:]) == {"lone": "\ud800", "end": "\u2028"}
    assert math.isfinite(decode(b'{"a": 1e308}')["a"])


_ENDLESS = r"""
from satchel.sandbox.bridge.frames import FrameError, decode
try:
    decode(b"," * 300_001 + b'"' + b'\\"' * 4_000_000)
except FrameError as error:
    print(error)
"""


def test_a_string_without_an_end_is_refused_in_a_moment() -> None:
    """A process of its own: what takes hours here can't be interrupted from inside."""
    done = subprocess.run(
        [sys.executable, "-c", _ENDLESS], capture_output=True, text=True, timeout=60, check=False
    )
    assert "more than 300,000 values" in done.stdout, done.stderr


def test_commas_and_brackets_inside_strings_are_not_values() -> None:
    text = '[{,"\\\n' * 100_000
    assert decode(json.dumps({"a": text}).encode()) == {"a": text}
