"""Texts of servers in a few words."""

import pytest

from satchel.codegen.text import readable, summary, wrap

LONG = "Reads " + "very " * 60 + "slowly."


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Adds two numbers. Both are whole.", "Adds two numbers."),
        ("# Adds two numbers\n\nBoth are whole.", "Adds two numbers"),
        ("Adds. Two numbers, e.g. 1 and 2.", "Adds. Two numbers, e.g. 1 and 2."),
        ("", ""),
    ],
)
def test_a_summary_is_the_first_sentence(text: str, told: str) -> None:
    assert summary(text) == told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "Read the complete contents of a file as text. DEPRECATED: Use read_text_file instead.",
            "Read the complete contents of a file as text. DEPRECATED: Use read_text_file instead.",
        ),
        (
            "Reads a whole file. It takes a path.\n\n**Deprecated**: use files.read 2.0. It is quicker.",
            "Reads a whole file. **Deprecated**: use files.read 2.0.",
        ),
        ("Reads a whole file\nDeprecated since 1.2.", "Reads a whole file Deprecated since 1.2."),
        ("Reads a whole file. This tool\nis deprecated.", "Reads a whole file. This tool is deprecated."),
        ("[DEPRECATED] Reads a whole file. It is deprecated.", "[DEPRECATED] Reads a whole file."),
        ("Finds packages by name. It also finds deprecated ones.", "Finds packages by name."),
    ],
)
def test_a_summary_says_that_a_tool_is_deprecated(text: str, told: str) -> None:
    assert summary(text) == told


@pytest.mark.parametrize("limit", [50, 100, 200])
@pytest.mark.parametrize("warning", ["Deprecated: use read.", "Deprecated: use " + "read " * 100])
def test_word_of_deprecation_has_its_part_of_the_room_however_often_it_is_summed_up(
    limit: int, warning: str
) -> None:
    told = summary(f"{LONG} {warning}", limit)
    again = summary(told, limit // 2)
    assert len(told) <= limit
    assert len(again) <= limit // 2
    assert told.startswith("Reads very")
    assert again.startswith("Reads")
    assert "Deprecated: use" in told
    assert "Deprecated" in again


def test_the_indentation_of_paragraphs_goes_and_that_within_them_stays() -> None:
    text = "Get prices.\n\n     Steps:\n     - first\n       more\n     x = [\n        1,\n    ]\n\n     End."
    assert readable(text) == "Get prices.\n\nSteps:\n- first\n  more\nx = [\n   1,\n]\n\nEnd."


def test_lines_of_a_list_hang_below_its_mark() -> None:
    assert wrap("- one two three four\n  12. five six seven", 12) == [
        "- one two",
        "  three four",
        "  12. five",
        "      six",
        "      seven",
    ]


def test_what_is_left_of_a_broken_line_goes_on_with_the_next_one() -> None:
    assert wrap("one two three\nfour five", 10) == ["one two", "three four", "five"]
    assert wrap("- one two three\n  four five", 12) == ["- one two", "  three four", "  five"]


@pytest.mark.parametrize("second", ["", "- four", "1. four", "# four", "| four", "  four", "```"])
def test_a_line_of_its_own_stays_one(second: str) -> None:
    assert wrap(f"one two three\n{second}", 10) == ["one two", "three", second]


def test_a_line_that_ends_its_sentence_is_not_joined_to_the_next_one() -> None:
    assert wrap("one two three.\nFour", 10) == ["one two", "three.", "Four"]


def test_fenced_code_stays_as_it_is() -> None:
    lines = ["```", "call(one, two, three)", "    more", "```", "one two", "three"]
    assert wrap("```\ncall(one, two, three)\n    more\n```\none two three", 10) == lines


def test_nothing_of_a_text_is_lost_by_wrapping() -> None:
    text = "\n".join(
        f"{' ' * (number % 7)}{'- ' * (number % 3 == 0)}word{number} other" * 3 for number in range(60)
    )
    for width in (1, 5, 20, 60, 110):
        assert " ".join(wrap(text, width)).split() == text.split()
