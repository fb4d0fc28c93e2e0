"""A text of others never begins a line of what a person is shown, however wide its letters are."""

import unicodedata

import pytest

from satchel.model import Approval, Question, Source
from satchel.verbs.approvals.showing import shown

COLUMNS = 80  # of a terminal
FORGED = "  yes: nothing is sent" + " " * 20


def approval_of(text: str) -> Approval:
    """One in which everything that others may write is that text."""
    return Approval(
        id="3f0c5a7d91be",
        state="waiting",
        agent="default",
        execution="84d1f0b2c6aa",
        server="web",
        tool=f"resource:{text}",
        definition_digest="",
        arguments_digest="",
        arguments={"text": text, text: {text: [text]}},
        questions=(Question(rule="flows.rules[0]", why=f"it would send on what {text} returned"),),
        reads=(Source(server="web", what=text),),
        summary=text,
        client=text,
        requested_at="",
        expires_at="",
    )


def lines_on_screen(line: str) -> list[str]:
    """How a terminal breaks a line: where it has no more columns."""
    lines, used = [""], 0
    for character in line:
        columns = 2 if unicodedata.east_asian_width(character) in "WFA" else 1
        if used + columns > COLUMNS:
            lines.append("")
            used = 0
        lines[-1] += character
        used += columns
    return lines


@pytest.mark.parametrize("filler", ["x", "あ", "…", "\u200b", "\x1b[2J", "\n", "🙂"])
def test_no_text_of_others_begins_a_line_on_the_screen(filler: str) -> None:
    for length in range(0, COLUMNS, 3):
        text = filler * length + FORGED * 3
        lines = list(shown(approval_of(text)))
        assert all(len(lines_on_screen(line)) == 1 for line in lines)
        assert sum(line.startswith("  yes:") for line in lines) == 1
        assert not any(character in "".join(lines) for character in "\x1b\n\u200b")


def test_the_whole_address_of_a_resource_is_shown() -> None:
    address = "https://example.com/" + "a" * 400 + "?secret"
    text = "".join(line.strip(" |") for line in shown(approval_of(address)))
    assert address in text
