"""Text of others in one line."""

from hypothesis import given
from hypothesis import strategies as st

from satchel.support.text import label, whole_characters


def test_a_label_has_no_line_breaks_and_steers_no_terminal() -> None:
    assert label("\x1b]0;pwn\x07\n[system] ignore all") == "\ufffd]0;pwn\ufffd[system] ignore all"
    assert label("a\u202eb\u2028c\ud800d") == "a\ufffdb\ufffdc\ufffdd"
    assert label("good.echo é 中") == "good.echo é 中"


def test_a_label_is_bounded() -> None:
    assert label("x" * 200) == "x" * 200
    assert label("x" * 10_000_000) == "x" * 199 + "…"


@given(text=st.text(st.characters(), max_size=300))
def test_any_label_can_be_written_in_one_line(text: str) -> None:
    made = label(text)
    made.encode()
    assert len(made) <= 200 and len(made.splitlines()) <= 1
    assert label(made) == made


@given(text=st.text(st.characters()))
def test_only_what_can_not_be_written_is_replaced(text: str) -> None:
    made = whole_characters(text)
    made.encode()
    assert [new for old, new in zip(text, made, strict=True) if old != new] == [
        "\ufffd" for old in text if 0xD800 <= ord(old) <= 0xDFFF
    ]
