"""What a person typed, as words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.library.commands.words import text_of, words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Acme Corp", ["Acme", "Corp"]),
        ('"Acme Corp" x', ["Acme Corp", "x"]),
        ("'Acme Corp'  x ", ["Acme Corp", "x"]),
        ("don't stop", ["don't", "stop"]),
        ("'til Friday's end", ["'til", "Friday's", "end"]),
        ('"unclosed word', ['"unclosed', "word"]),
        (r"C:\Users\new C:\t", [r"C:\Users\new", r"C:\t"]),
        ('--name="Acme Corp" y', ["--name=Acme Corp", "y"]),
        ('"" x', ["", "x"]),
        ("  ", []),
    ],
)
def test_quotes_group_and_an_unclosed_one_is_a_letter(text: str, words: list[str]) -> None:
    assert words_of(text) == words


@given(
    st.lists(
        st.text(st.characters(exclude_characters="\"'", exclude_categories=["Zs", "Cc", "Cs"])), min_size=2
    )
)
def test_words_that_a_shell_has_split_are_the_same_words_again(words: list[str]) -> None:
    assert words_of(text_of(words)) == words


def test_what_was_typed_as_one_word_stays_as_it_is() -> None:
    assert text_of(['say "hi" to don\'t']) == 'say "hi" to don\'t'
    assert words_of(text_of(["Acme Corp", "x"])) == ["Acme Corp", "x"]
