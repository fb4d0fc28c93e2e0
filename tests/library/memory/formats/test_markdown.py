"""Sections of Markdown."""

import pytest

from satchel.library.memory.formats import markdown
from satchel.library.memory.formats.pieces import MOST_PIECES, Fault, Piece

TEXT = "Some words before.\n\n# One\n\nfirst\n\n## Two ##\nsecond\n\n```\n# not a heading\n```\n\n#hashtag\n"


def read(text: str) -> list[Piece]:
    return list(markdown.read(text))


def test_a_section_goes_from_its_heading_to_the_next() -> None:
    assert [(piece.line, piece.key, piece.text) for piece in read(TEXT)] == [
        (1, "Some words before.", "Some words before."),
        (3, "One", "# One\n\nfirst"),
        (7, "Two", "## Two ##\nsecond\n\n```\n# not a heading\n```\n\n#hashtag"),
    ]


def test_blank_lines_and_ends_of_lines_do_not_count() -> None:
    plain = [piece.canonical for piece in read("# One\n\nfirst\n# Two\n")]
    assert [piece.canonical for piece in read("\n\n# One  \r\n\r\nfirst\t\r\n\r\n\r\n# Two\r\n")] == plain


def test_nothing_is_in_an_empty_file() -> None:
    assert read("") == read("\n \n") == list(markdown.read_whole("\n")) == []


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_section_is_removed_and_nothing_else(place: int) -> None:
    pieces = read(TEXT)
    left = read(markdown.remove(TEXT, [pieces[place]]))
    assert [piece.text for piece in left] == [piece.text for piece in pieces if piece is not pieces[place]]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_section_gets_another_text_below_its_heading(place: int) -> None:
    pieces = read(TEXT)
    after = read(markdown.replace(TEXT, pieces[place], "new"))
    expected = [piece.text for piece in pieces]
    expected[place] = ["new", "# One\n\nnew", "## Two ##\n\nnew"][place]
    assert [piece.text for piece in after] == expected


def test_a_section_may_be_replaced_with_its_heading() -> None:
    pieces = read(TEXT)
    after = read(markdown.replace(TEXT, pieces[1], "# Eins\n\nerstens"))
    assert [piece.text for piece in after][1:2] == ["# Eins\n\nerstens"]
    assert after[2].text == pieces[2].text


def test_a_section_is_added_at_the_end() -> None:
    assert markdown.add("", "One", "first") == "## One\n\nfirst\n"
    assert markdown.add("# One", None, "more") == "# One\n\nmore\n"


def test_a_text_with_very_many_headings_is_read_up_to_a_limit() -> None:
    found: list[Piece] = []
    with pytest.raises(Fault, match="more than 20,000 sections") as caught:
        for piece in markdown.read("# a\n" * 100_000):
            found.append(piece)
    assert (len(found), caught.value.line) == (MOST_PIECES, MOST_PIECES + 1)


def test_a_fence_that_is_never_closed_ends_with_the_text() -> None:
    assert [piece.key for piece in read("# a\n~~~~\n# b\n~~~\n# c\n")] == ["a"]
