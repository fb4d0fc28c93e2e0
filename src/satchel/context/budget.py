"""How many tokens a text takes at most, without a tokenizer: none is part of an installation.

Tokenizers have learned words. What looks like a word is one token or two; what doesn't, such as keys and
hashes, is taken apart into pieces of a letter or two. The rates are those of o200k, with something to spare:
other vocabularies are smaller.
"""

import re
from bisect import bisect_right

_SPARE = 1.15
_PIECE = re.compile(
    r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+|[^\x00-\x7f]+|[^\sA-Za-z0-9\x80-\U0010ffff]+|\s(?=[0-9])|\n+"
)
# Which letters follow one another in words: the first of each group, and those that may come after it.
_FOLLOWING = (
    "abcdfgiklmnprstuvwxy baehijlorsuy cacehikloprstuy dadegiklmoprsuy eabcdefghiklmnopqrstvwxy faefilortuy "
    "gaeghilmnorsuy haeiortuy iabcdefgklmnoprstvxz jaeosuw kefilns labdeiklopstuvwy mabcdeilmnopstu "
    "nabcdefgiklmnoprstuvy oabcdefgijklmnoprstuvw padehilmoprstuy qu racdefgiklmnoprstuvy sacdehiklmopstuwy "
    "tabcefghilmoprstuwy uabcdegilmnprstx vaeios waehilnorst xaceiptx ycelmnopst zaeo"
)
_PAIRS = frozenset(group[0] + letter for group in _FOLLOWING.split() for letter in group[1:])
# Tokens of a character, up to the next code point: those of scripts in common use, else one for each byte.
_STARTS, _RATES = zip(
    *((0x80, 1.2), (0x100, 2), (0x370, 1.2), (0x460, 2), (0x5D0, 1.2), (0x700, 2), (0x800, 3), (0x900, 1.5),
      (0xE80, 3), (0x2010, 1.8), (0x2060, 3), (0x3040, 1.3), (0x3100, 3), (0x4E00, 2), (0xA000, 3),
      (0xAC00, 2.4), (0xD7B0, 3), (0xFF00, 1.5), (0xFFF0, 3), (0x10000, 4), (0x1F000, 2.5), (0x1FB00, 4)),
    strict=True,
)  # fmt: skip


def tokens_at_most(text: str) -> int:
    """A bound that hardly any text exceeds, and ordinary text by far not."""
    return int(_SPARE * sum(map(_tokens, _PIECE.findall(text)))) + 1


def _tokens(piece: str) -> float:
    first, length = piece[0], len(piece)
    if first > "\x7f":
        return sum(_RATES[bisect_right(_STARTS, ord(character)) - 1] for character in piece)
    if first.isalpha():
        return _letters(piece.lower(), length)
    if first.isdigit():
        return -(-length // 3)
    return 1 if first.isspace() else max(1.0, 0.7 * length)


def _letters(word: str, length: int) -> float:
    if all(word[at : at + 2] in _PAIRS for at in range(length - 1)):
        return 1 if length <= 8 else 1 + (length - 8) / 6
    return max(1.0, 0.66 * length)
