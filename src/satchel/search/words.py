"""From text to the terms that are compared: identifiers taken apart, endings and common words left out."""

import re
import unicodedata
from functools import cache, lru_cache
from importlib import import_module
from threading import Lock
from typing import Any

_RUN = re.compile(r"[^\W_]+")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
# Scripts that are written without spaces: Chinese, Japanese, Korean, Thai, Lao, Khmer, Burmese.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+"
)
_LONGEST = 40  # characters of a word; what is longer is data
_PIECE = 256  # characters: marks without end are sorted in a time that grows with their square
_MOST_KNOWN = 200_000
_COMMON = frozenset(
    re.findall(
        r"\w+",
        "a about all also am an and any are as at be been being both but by can could did do does doing done "
        "each else etc for from had has have having he her here hers him his how i if in into is it its just "
        "may me might mine must my need no not of on only onto or our ours own please s shall she should so "
        "some such t than that the their theirs them then there these they this those to too us use used "
        "using very via want was we were what when where which while who whom whose why will with without "
        "would you your yours",
    )
)
_BRITISH = re.compile(r"(?<=\w{3})is(?=(?:e|es|ed|er|ers|ing|ation|ations)$)")
# Nouns of verbs that tools are named by, where Snowball keeps the two apart.
_SAME = {
    "creation": "creat", "notif": "notifi", "analysi": "analyz", "analys": "analyz", "convers": "convert",
    "summari": "summar", "divis": "divid",
    "classif": "classifi", "verif": "verifi", "identif": "identifi", "modif": "modifi",
}  # fmt: skip
_known: dict[str, tuple[str, ...]] = {}
_stemming = Lock()  # the stemmer keeps the word that it is at in itself


def terms_of(text: str) -> list[str]:
    """The terms of a text, in order. Common words count only if there are no others."""
    runs = _runs(text)
    found = [term for run in runs for term in _terms_of_run(run)]
    return found or [run.lower() for run in runs]


def in_words(name: str) -> str:
    """An identifier as one would say it: `getDocument` is "get document"."""
    return " ".join(part.lower() for run in _runs(name) for part in _PART.findall(run) or (run,))


def telling_words(text: str) -> list[str]:
    """The words of a text that are not common ones."""
    return [run for run in _runs(text) if run.lower() not in _COMMON]


def is_common(word: str) -> bool:
    """Whether a word tells nothing about what a text is about."""
    return word in _COMMON


def as_written(text: str) -> dict[str, str]:
    """The words of a text by their terms."""
    words = (part.lower()[:_LONGEST] for run in _runs(text) for part in (*_PART.findall(run), run))
    return {stem(word): word for word in words}


def joined(text: str) -> str:
    """A name without what separates its words: `Get-Document`, `get_document` and `getDocument` are one."""
    return "".join(_runs(text)).lower()


def _runs(text: str) -> list[str]:
    if not text.isascii():
        text = "".join(_without_marks(text[at : at + _PIECE]) for at in range(0, len(text), _PIECE))
    return _RUN.findall(text)


def _without_marks(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text)
    return unicodedata.normalize("NFC", "".join(c for c in plain if not unicodedata.combining(c)))


def _terms_of_run(run: str) -> tuple[str, ...]:
    terms = _known.get(run)
    if terms is None:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        terms = _known[run] = tuple(_make_terms(run))
    return terms


def _make_terms(run: str) -> list[str]:
    if not run.isascii():
        terms: list[str] = []
        at = 0
        for found in _UNSPACED.finditer(run):
            terms += _plain_terms(run[at : found.start()])
            terms += _pairs(found[0])
            at = found.end()
        return terms + _plain_terms(run[at:])
    parts = _PART.findall(run)
    terms = _plain_terms(run)
    if len(parts) > 1:
        terms = [*(term for part in parts for term in _plain_terms(part)), *terms]
    return terms


def _plain_terms(word: str) -> list[str]:
    word = word[:_LONGEST].lower()
    return [stem(word)] if word and word not in _COMMON else []


def _pairs(run: str) -> list[str]:
    """Two characters each, which do for words where nobody says where one ends."""
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """A word without its ending: Snowball's rules for English (Porter 2), in American spelling."""
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    with _stemming:
        found: str = _stemmer().stemWord(_BRITISH.sub("iz", word))
    return _SAME.get(found, found)


@cache
def _stemmer() -> Any:
    return import_module("snowballstemmer.english_stemmer").EnglishStemmer()  # has no types
