"""Texts of servers in a few words."""

import pytest

from satchel.codegen.text import summary

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
