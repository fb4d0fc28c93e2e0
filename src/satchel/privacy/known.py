"""Values found once, looked for wherever they recur: by words, in one pass over a text.

The time a text takes does not depend on how many values are known.
"""

import re
from collections.abc import Iterator

from satchel.privacy.kinds import ADDRESS, DATE_OF_BIRTH, PERSON, Span
from satchel.privacy.tables import table

_WORDS = re.compile(r"(?:%[0-9A-Fa-f]{2})++|[^\W_]+")
_SHORTEST = 4
_MOST_WORDS = 16
_MOST_LENGTHS = 12  # of values that begin with the same word
_WIDEST = 4  # characters between two words
_WIDEST_ESCAPE = 14  # characters that stand for one or two letters
_LEAST_PLAIN = 6  # letters of a value that is told by its plain ones
_OTHERS = re.compile(r"[^\x00-\x7f]+")
_COMMON = table(
    """
    able about after again april august away back baker banks bill black both brook brown bush care
    carter case chance change chase cook dawn dean down drew each even ever field file find first ford
    from gene good grace gray green grant have head heart here high hill home hope hunter jack join june
    just keep king know lake lane last left light like line little live long look love made main make
    many march mark mason miller more most much name need next night only open over page part people
    pick place plan point price rate read rice ring rivers rose rule save same seen send show side some
    stone such summer sunny take talk tell than that them then they this time turn under very wait want
    week well west what when white will wish with wood word work year young your null none true false
    test user admin home work private office street road berlin paris london munich madrid main business
    primary default person client customer contact employee manager owner author unknown active pending
    email phone address art rob pat sky star
    """
)
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")

Words = tuple[str, ...]


class Known:
    """The values that are known in a scope."""

    def __init__(self) -> None:
        self._values: dict[
            Words, tuple[str, str, int]
        ] = {}  # words → kind, the text if its case matters, gap
        self._lengths: dict[str, list[int]] = {}  # the first word → how many words follow, longest first
        self._unspaced: dict[str, dict[str, str]] = {}  # the first two characters → values and their kinds

    def __len__(self) -> int:
        return len(self._values) + sum(map(len, self._unspaced.values()))

    def add(self, text: str, kind: str) -> None:
        text = text.strip()
        if not _is_worth(text, kind):
            return
        if _UNSPACED.search(text):
            self._unspaced.setdefault(text[:2], {})[text] = kind
            return
        self._add(text, kind, text, _WIDEST)
        if not text.isascii():  # as bytes, as escapes and in URLs, of which the plain letters are left
            plain = _OTHERS.sub(" ", text)
            if sum(sign.isalnum() for sign in plain) >= _LEAST_PLAIN:
                self._add(plain, kind, "", _WIDEST_ESCAPE)

    def _add(self, text: str, kind: str, exact: str, widest: int) -> None:
        words = tuple(word.lower() for word in _WORDS.findall(text) if word[0] != "%")
        if not words or len(words) > _MOST_WORDS:
            return
        lengths = self._lengths.setdefault(words[0], [])
        if len(words) not in lengths:
            if len(lengths) >= _MOST_LENGTHS:
                return
            lengths.append(len(words))
            lengths.sort(reverse=True)
        is_exact = len(words) == 1 and exact.isalpha()
        self._values.setdefault(words, (kind, exact if is_exact else "", widest))

    def find(self, text: str) -> Iterator[Span]:
        if self._values:
            yield from self._spaced(text)
        if self._unspaced and not text.isascii():
            yield from self._without_spaces(text)

    def _spaced(self, text: str) -> Iterator[Span]:
        found = [
            (match[0].lower(), match.start(), match.end())
            for match in _WORDS.finditer(text)
            if text[match.start()] != "%"
        ]
        at = 0
        while at < len(found):
            word = found[at][0]
            count = 0
            for length in self._lengths.get(word, ()):
                if at + length <= len(found) and self._is_at(text, found, at, length):
                    count = length
                    break
            if count:
                kind, _, _ = self._values[tuple(each[0] for each in found[at : at + count])]
                start, end = found[at][1], found[at + count - 1][2]
                if start and text[start - 1] in "+(" and kind not in (PERSON, ADDRESS):
                    start -= 1
                yield Span(start=start, end=end, kind=kind, is_sure=True)
                at += count
            else:
                at += 1

    def _is_at(self, text: str, found: list[tuple[str, int, int]], at: int, length: int) -> bool:
        known = self._values.get(tuple(each[0] for each in found[at : at + length]))
        if known is None:
            return False
        _, exact, widest = known
        if exact and text[found[at][1] : found[at][2]] not in (exact, exact.upper()):
            return False
        return all(found[place + 1][1] - found[place][2] <= widest for place in range(at, at + length - 1))

    def _without_spaces(self, text: str) -> Iterator[Span]:
        at = 0
        for match in _UNSPACED.finditer(text):
            start = match.start()
            if start < at:
                continue
            values = self._unspaced.get(text[start : start + 2], {})
            fitting = [value for value in values if text.startswith(value, start)]
            if fitting:
                longest = max(fitting, key=len)
                at = start + len(longest)
                yield Span(start=start, end=at, kind=values[longest], is_sure=True)


def _is_worth(text: str, kind: str) -> bool:
    """Whether a value is so special that it is meant wherever it stands."""
    if _UNSPACED.search(text):
        return 2 <= len(text) <= 60 and (len(text) > 2 or kind == PERSON)
    if not _SHORTEST <= len(text) <= 200 or text.lower() in _COMMON:
        return False
    if kind == DATE_OF_BIRTH:
        return len(text) >= 8 and not text.isdigit()
    if text.isdigit():
        return len(text) >= 7
    if kind == ADDRESS:
        return len(text) >= 6 and (any(sign.isdigit() for sign in text) or " " in text)
    return True
