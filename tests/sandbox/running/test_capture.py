"""What is kept of what a program prints."""

import re

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from satchel.model import Event, Output
from satchel.sandbox.running.capture import Capture, Telling

MARKER = re.compile(r"\n… ([\d,]+) characters left out …\n")
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
LETTERS = st.text(st.characters(codec="ascii"), max_size=400)


def captured(kept: int, *chunks: bytes) -> Capture:
    capture = Capture(kept)
    for chunk in chunks:
        capture.add(chunk)
    return capture


def cut(data: bytes, sizes: list[int]) -> list[bytes]:
    chunks: list[bytes] = []
    for size in sizes:
        chunks.append(data[:size])
        data = data[size:]
    return [*chunks, data]


SIZES = st.lists(st.integers(1, 90), max_size=30)


@PATIENT
@given(text=LETTERS, kept=st.integers(0, 120), sizes=SIZES)
def test_beginning_and_end_are_kept_and_what_is_left_out_is_counted(
    text: str, kept: int, sizes: list[int]
) -> None:
    result = captured(kept, *cut(text.encode(), sizes)).captured()
    if len(text) <= kept:
        assert (result.text, result.omitted) == (text, 0)
        return
    assert result.omitted == len(text) - kept
    front, back = kept * 2 // 3, kept - kept * 2 // 3
    marker = f"\n… {result.omitted:,} characters left out …\n"
    assert result.text == text[:front] + marker + text[len(text) - back :]


@PATIENT
@given(text=st.text(max_size=300), kept=st.integers(0, 60), sizes=SIZES)
def test_whatever_is_printed_what_is_kept_is_bounded_and_begins_and_ends_like_it(
    text: str, kept: int, sizes: list[int]
) -> None:
    result = captured(kept, *cut(text.encode("utf-8", "surrogatepass"), sizes)).captured()
    if not result.omitted:
        return
    head, marker, tail = result.text.partition(f"\n… {result.omitted:,} characters left out …\n")
    assert marker
    assert len(head) + len(tail) <= kept
    assert text.startswith(head)
    assert text.endswith(tail)


@PATIENT
@given(data=st.binary(max_size=2000), kept=st.integers(1, 50), sizes=SIZES)
def test_any_bytes_become_text(data: bytes, kept: int, sizes: list[int]) -> None:
    capture = captured(kept, *cut(data, sizes))
    assert capture.total == len(data)
    result = capture.captured()
    assert len(MARKER.sub("", result.text, count=1)) <= kept or not result.omitted
    result.text.encode()  # no lone surrogates


def test_what_is_held_does_not_grow_with_what_is_printed() -> None:
    capture = Capture(1_000)
    for _ in range(2_000):
        capture.add(b"x" * 65_536)
    held = len(capture._head) + sum(map(len, capture._tail))
    assert held <= 2 * 4 * 1_000 + 65_536
    assert capture.total == capture.captured().omitted + 1_000 == 2_000 * 65_536


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert captured(100, b"a\xff\xc3", b"\xbcb").captured().text == "a\ufffdüb"


# What is told while it comes


def told(*data: bytes, most: int = 100) -> list[str]:
    outputs: list[Output] = []

    def hear(event: Event) -> None:
        assert isinstance(event, Output)
        outputs.append(event)

    telling = Telling("stderr", most, hear)
    for chunk in data:
        telling.add(chunk)
    telling.add(b"", final=True)
    assert {output.stream for output in outputs} <= {"stderr"}
    return [output.text for output in outputs]


def test_every_chunk_is_told_when_it_comes() -> None:
    assert told(b"one\n", b"", b"two") == ["one\n", "two"]


def test_a_character_that_comes_in_parts_is_told_once_it_is_whole() -> None:
    euro = "€".encode()
    assert told(b"a" + euro[:1], euro[1:2], euro[2:] + b"b") == ["a", "€b"]
    assert told(b"a" + euro[:2]) == ["a", "\ufffd"]
    assert told(b"\xff") == ["\ufffd"]


def test_no_more_is_told_than_so_many_characters() -> None:
    assert told("ü".encode() * 3, "ü".encode() * 3, b"more", most=5) == ["üüü", "üü"]
    assert told(b"x", most=0) == []
