"""Splits the text typed after a command's name into words."""

import re

# A quote that is closed before a space, or at the end, groups; any other is a letter, as is a backslash.
_WORD = re.compile(
    r"""(?P<key>[^\s"'=]+=)?(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)')(?=\s|$)|(?P<plain>\S+)"""
)


def words_of(text: str) -> list[str]:
    """The words: `"Acme Corp" don't` are two."""
    return [
        found["plain"]
        if found["plain"] is not None
        else (found["key"] or "") + (found["double"] if found["double"] is not None else found["single"])
        for found in _WORD.finditer(text)
    ]


def text_of(words: list[str]) -> str:
    """Words that a shell has split already, as somebody would type them."""
    return words[0] if len(words) == 1 else " ".join(map(_quoted, words))


def _quoted(word: str) -> str:
    if word and words_of(word) == [word]:
        return word
    return f"'{word}'" if '"' in word and "'" not in word else f'"{word}"'
