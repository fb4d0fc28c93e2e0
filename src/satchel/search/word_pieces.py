"""The tokenizer of the MiniLM and BERT family: texts to the numbers of their word pieces."""

import unicodedata
from pathlib import Path

from satchel.errors import ConfigError

HINT = "get the model again: config.json, vocab.txt and model.safetensors of a BERT-like sentence model"
_MOST_CHARACTERS = 8192  # of a text that are read; far more than its tokens can use
_MOST_IN_WORD = 100  # characters; a longer word is unknown, as in the original


class WordPieces:
    """WordPiece, as `bert-base-uncased` has it. Names of special tokens in a text are text."""

    def __init__(self, content: bytes, file: Path, most: int) -> None:
        try:
            words = content.decode("utf-8").replace("\r\n", "\n").removesuffix("\n").split("\n")
        except UnicodeDecodeError as error:
            raise ConfigError(f"it is not UTF-8: {error}", file=file, hint=HINT) from None
        self.count = len(words)
        self._numbers = {word: number for number, word in enumerate(words)}
        self._longest = max(map(len, words))
        self._most = most
        self._characters = _Characters()
        try:
            self._first, self._last, self._unknown = (
                self._numbers[name] for name in ("[CLS]", "[SEP]", "[UNK]")
            )
        except KeyError as error:
            raise ConfigError(f"it has no {error.args[0]}", file=file, hint=HINT) from None

    def encode(self, text: str) -> list[int]:
        text = unicodedata.normalize("NFD", text[:_MOST_CHARACTERS].lower())
        tokens = [self._first]
        for word in text.translate(self._characters).split():
            tokens += self._split(word)
            if len(tokens) >= self._most - 1:
                break
        return [*tokens[: self._most - 1], self._last]

    def _split(self, word: str) -> list[int]:
        """The longest known beginning, then the longest known continuation, and so on."""
        if len(word) > _MOST_IN_WORD:
            return [self._unknown]
        tokens: list[int] = []
        start, before = 0, ""
        while start < len(word):
            for end in range(min(len(word), start + self._longest), start, -1):
                number = self._numbers.get(before + word[start:end])
                if number is not None:
                    break
            else:
                return [self._unknown]
            tokens.append(number)
            start, before = end, "##"
        return tokens


class _Characters(dict[int, str]):
    """For `str.translate`: sets spaces around what stands alone, drops accents and what nobody sees."""

    def __missing__(self, code: int) -> str:
        replacement = self._replacement(chr(code))
        if len(self) < 10_000:  # as far as ordinary texts go
            self[code] = replacement
        return replacement

    def _replacement(self, character: str) -> str:
        category = unicodedata.category(character)
        if character in "\t\n\r" or category == "Zs":
            return " "
        if category.startswith("C") or category == "Mn" or character == "\ufffd":
            return ""
        return f" {character} " if _stands_alone(character, category) else character


_IDEOGRAPHS = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


def _stands_alone(character: str, category: str) -> bool:
    """Punctuation, for which the original takes every sign of ASCII; and the ideographs."""
    if character.isascii():
        return not character.isalnum()
    if category.startswith("P"):
        return True
    return any(first <= ord(character) <= last for first, last in _IDEOGRAPHS)
