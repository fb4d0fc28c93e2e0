"""Whether the value of a field is of the kind that the field's name tells of."""

import re
from collections.abc import Callable

from satchel.privacy import kinds, patterns
from satchel.privacy.key_words import NOTHING
from satchel.privacy.kinds import Span
from satchel.privacy.texts import looks_like_name

_LONGEST = 240  # characters of a value that a telling name is believed for as a whole
_PHONE = re.compile(
    r"(?:tel:|☎\s?)?[+(]?[\d(][\d\s().+/\-\u00a0\u2010-\u2015]{3,28}(?:\s?(?:x|ext\.?|#"
    r"|Durchwahl)\s?\d{1,6})?",
    re.I,
)
_DIGITS = re.compile(r"\D+")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ./\-]{3,31}")
_DATE = re.compile(
    r"\d{4}[-/.]?\d{1,2}[-/.]?\d{1,2}(?:[T ][\d:.]{4,16}(?:Z|[+-]\d\d:?\d\d)?)?"
    r"|\d{1,2}[-/. ]{1,2}\d{1,2}[-/. ]{1,2}\d{2,4}"
    r"|[^\W\d_]{3,12}\.? \d{1,2}(?:st|nd|rd|th)?,? \d{4}|\d{1,2}(?:st|nd|rd|th|\."
    r"|º)?[ -](?:de )?[^\W\d_]{3,12}\.?,?[ -](?:de )?\d{2,4}"
    r"|\d{4}年\d{1,2}月\d{1,2}日"
)
_IBAN = re.compile(r"[A-Za-z]{2}\d{2}[A-Za-z0-9 -]{10,38}")
_EMAIL = re.compile(r"[^\s@<>\"(),:;]{1,64}@[^\s@<>\"(),:;]{1,190}")
_ADDRESS_NOT = re.compile(
    r"0x[0-9a-fA-F]{6,}|[a-z][a-z0-9+.-]{1,12}://.*|(?:[0-9A-F]{2}[:-]){5}[0-9A-F]{2}"
    r"|[\w.-]+:\d{2,5}|[a-z0-9-]+(?:\.[a-z0-9-]+)+|[13a-km-zA-HJ-NP-Z1-9]{26,}|/\S*",
    re.I | re.S,
)


def _count(text: str) -> int:
    return len(_DIGITS.sub("", text))


def _is_phone(text: str) -> bool:
    return _PHONE.fullmatch(text) is not None and 5 <= _count(text) <= 21 and not _DATE.fullmatch(text)


def _is_card(text: str) -> bool:
    return re.fullmatch(r"\d[\d -]{10,26}", text) is not None and 12 <= _count(text) <= 19


def _is_national_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None and _count(text) >= 4 and not _DATE.fullmatch(text)


def _is_address(text: str) -> bool:
    if _ADDRESS_NOT.fullmatch(text) or (text.replace(".", "", 1).isdigit() and len(text) < 3):
        return False
    return (len(text) >= 3 and any(sign.isalpha() for sign in text)) or (text.isdigit() and len(text) >= 4)


FITS: dict[str, Callable[[str], bool]] = {
    kinds.EMAIL: lambda text: _EMAIL.fullmatch(text) is not None,
    kinds.PHONE: _is_phone,
    kinds.CREDIT_CARD: _is_card,
    kinds.IBAN: lambda text: _IBAN.fullmatch(text) is not None,
    kinds.US_SSN: lambda text: re.fullmatch(r"\d{3}[- .]?\d{2}[- .]?\d{4}", text) is not None,
    kinds.NATIONAL_ID: _is_national_id,
    kinds.IP_ADDRESS: patterns.is_ip,
    kinds.PERSON: lambda text: _is_name(text),
    kinds.ADDRESS: _is_address,
    kinds.DATE_OF_BIRTH: lambda text: _DATE.fullmatch(text) is not None,
}


def _is_name(text: str) -> bool:
    """For fields that are a person's name by their own name: even one that nobody would write so."""
    words = text.split()
    if (
        (len(text) < 2 and text.isascii())
        or len(text) > 80
        or len(words) > 7
        or any(sign in text for sign in "@<>{}[]=|\\:/_;")
    ):
        return False
    return sum(sign.isalpha() for sign in text) * 2 > len(text) and not any(sign.isdigit() for sign in text)


_CHECKED: tuple[tuple[str, Callable[[str], bool]], ...] = (
    (kinds.EMAIL, lambda text: _is_all(text, list(patterns.emails(text)))),
    (kinds.IBAN, lambda text: patterns.is_iban(text.replace(" ", ""))),
    (kinds.US_SSN, lambda text: _is_all(text, list(patterns.ssns(text)))),
    (kinds.CREDIT_CARD, lambda text: _is_all(text, list(patterns.cards(text)))),
    (kinds.IP_ADDRESS, patterns.is_ip),
)
_OF_CHECKED = {
    kinds.ADDRESS: (kinds.EMAIL, kinds.IP_ADDRESS),
    kinds.NATIONAL_ID: (kinds.US_SSN,),
    kinds.PHONE: (kinds.EMAIL, kinds.CREDIT_CARD),
    kinds.IBAN: (kinds.CREDIT_CARD,),
    kinds.CREDIT_CARD: (kinds.IBAN, kinds.US_SSN),
}
"""Kinds that a whole value may have in fields of other kinds, if it is checked to be one."""


def _is_all(text: str, spans: list[Span]) -> bool:
    return len(spans) == 1 and spans[0].start == 0 and spans[0].end == len(text)


def whole_value(text: str, kind: str, wanted: frozenset[str]) -> Span | None:
    """The span of the value of a field whose name tells of a kind; None if it is something else."""
    if len(text) > _LONGEST:
        return None
    stripped = text.strip()
    if not stripped or stripped.lower() in NOTHING:
        return None
    for other, is_one in _CHECKED:
        if other in _OF_CHECKED.get(kind, ()) and is_one(stripped):
            kind = other
            break
    else:
        if not FITS[kind](stripped):
            return None
    if kind not in wanted:
        return None
    start = text.index(stripped)
    return Span(start=start, end=start + len(stripped), kind=kind, is_sure=True)


def role_value(text: str, wanted: frozenset[str]) -> Span | None:
    """The name of somebody in a field that tells of somebody, such as `author`."""
    stripped = text.strip()
    if kinds.PERSON not in wanted or stripped.lower() in NOTHING or not looks_like_name(stripped):
        return None
    start = text.index(stripped)
    return Span(start=start, end=start + len(stripped), kind=kinds.PERSON, is_sure=True)


_NUMBERS = {
    kinds.PHONE: range(6, 16),
    kinds.CREDIT_CARD: range(12, 20),
    kinds.US_SSN: range(8, 10),
    kinds.NATIONAL_ID: range(6, 19),
}


def is_number_of(kind: str, value: int) -> bool:
    """Whether a whole number in a field that tells of a kind is one."""
    return kind in _NUMBERS and value > 0 and len(str(value)) in _NUMBERS[kind]
