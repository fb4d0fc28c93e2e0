"""Which entries fit a query."""

import pytest

from satchel.library.memory.formats.pieces import Piece
from satchel.library.memory.ranking import Index, line_within, rank, words


def piece(text: str, key: str = "") -> Piece:
    return Piece(line=1, key=key, text=text, canonical=text, where=(0, 1))


def best(query: str, *texts: str) -> list[str]:
    indexes = [Index(pieces=[piece(text)]) for text in texts]
    return [texts[number] for _, number, _ in rank(query, indexes)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Deploys of the API", ["deploy", "of", "the", "api"]),
        ("getUserName snake_case", ["get", "user", "name", "snake", "case"]),
        ("Straße", ["strasse"]),
        ("日本語", ["日本", "本語"]),
        ("class gas 42", ["class", "gas", "42"]),
        ("", []),
    ],
)
def test_texts_are_taken_apart_into_words(text: str, found: list[str]) -> None:
    assert list(words(text)) == found


def test_rare_words_count_more_than_usual_ones() -> None:
    texts = ("the queue is slow", "the cache is slow", "the cache is cold")
    assert best("slow queue", *texts)[0] == texts[0]
    assert best("nothing like that", *texts) == []


def test_a_phrase_and_a_name_count_more_than_their_words() -> None:
    assert (
        best("retry later", "later it will retry", "retry later if it fails")[0] == "retry later if it fails"
    )
    named = [piece("wait for the deploy"), piece("deploy waits", key="deploy")]
    assert next(place for _, _, place in rank("deploy", [Index(pieces=named)])) == 1


def test_the_line_that_fits_best_is_told() -> None:
    assert line_within(piece("# Limits\n\nWait on 429.\nThen wait longer."), "wait longer") == (
        3,
        "Then wait longer.",
    )


@pytest.mark.parametrize("query", ["", "   ", "\ud800", "a" * 100_000, " ".join(map(str, range(10_000)))])
def test_odd_queries_find_nothing_and_do_no_harm(query: str) -> None:
    assert best(query, "one", "two") == []
