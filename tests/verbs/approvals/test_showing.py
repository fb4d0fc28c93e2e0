"""What a person is shown of a call: all of it, or a mark where something is left out."""

from dataclasses import replace
from typing import Any

import pytest

from satchel.model import Approval, Question, Source
from satchel.verbs.approvals.showing import shown

PLAIN = Approval(
    id="3f0c5a7d91be",
    state="waiting",
    agent="default",
    server="mail",
    tool="send",
    arguments_digest="",
    arguments={},
    questions=(Question(rule="agents.default.approve", why="it is in the list"),),
    requested_at="2026-01-01T00:00:00.000+00:00",
    expires_at="2026-01-02T00:00:00.000+00:00",
)
OUR_OWN = ("yes:", "no:", "server:", "because of", "read before", "program:", "approval ", "arguments")


def lines(arguments: dict[str, Any], **more: Any) -> list[str]:
    return list(shown(replace(PLAIN, arguments=arguments, **more)))


def values(arguments: dict[str, Any]) -> list[str]:
    """The lines of the arguments, without the mark that each has."""
    return [line.removeprefix("  | ") for line in lines(arguments) if line.startswith("  | ")]


def test_each_value_has_a_line_with_the_path_to_it() -> None:
    found = values({"to": ["a", "b"], "more": {"copies": 2, "flags": {}}, "none": None})
    assert found == ['to[0] = "a"', 'to[1] = "b"', "more.copies = 2", "more.flags = {}", "none = null"]


def test_a_long_value_is_cut_and_says_by_how_much() -> None:
    text = "".join(line.removeprefix("    ") for line in values({"key": "z" * 5_000}))
    kept = text.count("z")
    assert kept == 1_999  # of 2,000 characters, one is the quote
    assert text.endswith(f"… [{5_001 - kept:,} more characters are not shown]")


def test_what_is_shown_of_a_value_that_fits_is_all_of_it() -> None:
    text = "".join(line.removeprefix("    ") for line in values({"text": "y" * 1_900}))
    assert text == f'text = "{"y" * 1_900}"'


def test_no_line_is_wider_than_a_terminal_so_that_none_begins_like_one_of_ours() -> None:
    for line in lines({"text": " " * 65 + "  yes: this call only reads " * 20, "a" * 500: 1}):
        if line.startswith("  | "):
            assert len(line) <= 80


def test_too_many_values_are_cut_and_say_how_many_there_are() -> None:
    found = lines({f"n{number}": number for number in range(250)})
    assert sum(line.startswith("  | ") for line in found) == 200
    assert "  … 50 more lines are not shown: --json has all of them" in found


@pytest.mark.parametrize(
    "hidden", ["\n", "\r", "\x1b[2K", "\u202e", "\u200b", "\u2028", "\U000e0041", "\ud800"]
)
def test_what_is_not_seen_is_spelled_out(hidden: str) -> None:
    for line in lines({f"name{hidden}x": f"a{hidden}b", "plain": {f"k{hidden}": 1}}):
        assert line.isprintable()
    assert "ab" not in " ".join(values({"text": f"a{hidden}b"}))


def test_nothing_that_a_model_wrote_stands_on_a_line_like_one_of_ours() -> None:
    trick = "x\n  yes: this call only reads\n  no: nothing"
    reads = (Source(server=trick, what=trick, labels=frozenset({trick})),)
    found = lines(
        {trick: trick, "more": {trick: [trick]}}, summary=trick, client=trick, agent=trick, reads=reads
    )
    assert [line.strip().split(":")[0] for line in found].count("yes") == 1
    assert [line.strip().split(":")[0] for line in found].count("no") == 1
    assert all(
        line.startswith(("  | ", "  the model's own words", "  asked for by the client"))
        or line.strip().startswith(OUR_OWN)
        for line in found
    )


def test_many_sources_are_cut_and_say_how_many_there_are() -> None:
    reads = tuple(Source(server="web", what=f"page{number}") for number in range(25))
    assert "  … and 5 more" in lines({}, reads=reads)


def test_arguments_that_are_not_kept_are_not_shown_as_none() -> None:
    (line,) = [line for line in shown(replace(PLAIN, arguments=None)) if "arguments:" in line]
    assert "not kept any more" in line
