"""Tokens: the words, addresses, dates and numbers that stand for personal data, and how to tell them.

A token is made from a number that is keyed to the value, so it says nothing about the value, and nobody who
has not seen it can name it. Which value it stands for is `vault.py`'s.
"""

import hashlib
import hmac
import ipaddress
import re
from collections.abc import Iterable
from datetime import date, timedelta
from functools import lru_cache
from typing import Literal

from satchel.privacy.kinds import KINDS, LITERAL
from satchel.privacy.numbers import normalised_phone
from satchel.privacy.patterns import passes_luhn

ALPHABET = "bcdfghjkmnpqrstvwxz23456789"
"""27 signs without vowels, so that no words come about, and without those that look alike."""
LETTERS = 6
BITS = 28  # of the number in a token: as many as an address of 240.0.0.0/4 has
_SPACE = 1 << BITS
Form = Literal["word", "email", "uri", "ipv4", "ipv6", "date", "date-time", "integer"]
_VARIANTS = len(ALPHABET) ** 2
_FIRST_NETWORK = int(ipaddress.IPv4Address("240.0.0.0"))
_NETWORK6 = int(ipaddress.IPv6Address("2001:db8:5a7c:e100::"))
_ADDRESSES = 15 << 24  # 240.0.0.0 to 254.255.255.255: what begins with 255 are masks
_DAYS = 799 * 365  # of the years 101 to 899: the year 1 stands for no date in many programs


def number_for(key: bytes, *parts: str) -> int:
    """A number of `BITS` bits that only those who have the key can compute."""
    digest = hmac.digest(key, "\0".join(parts).encode("utf-8", "surrogatepass"), hashlib.sha256)
    return int.from_bytes(digest[:8], "big") % _SPACE


def letters_of(number: int, count: int = LETTERS) -> str:
    signs: list[str] = []
    for _ in range(count):
        number, rest = divmod(number, len(ALPHABET))
        signs.append(ALPHABET[rest])
    return "".join(signs)


def variant_letters(key: bytes, text: str) -> str:
    """Two letters more, for a value that differs from an equal one in how it is written."""
    return letters_of(number_for(key, "variant", text) % _VARIANTS, 2)


def written_as(form: Form, kind: str, letters: str, number: int) -> str:
    """The token in the form that its place needs."""
    if form == "word":
        return f"{kind}_{letters}"
    if form == "email":
        return f"{letters}@email.example"
    if form == "uri":
        return f"https://private.example/{letters}"
    if form == "ipv4":
        return str(ipaddress.IPv4Address(_FIRST_NETWORK + number % _ADDRESSES))
    if form == "ipv6":
        return str(ipaddress.IPv6Address(_NETWORK6 + number))
    if form in ("date", "date-time"):
        day = date(101, 1, 1) + timedelta(days=number % _DAYS)
        return f"{day.year:04}-{day.month:02}-{day.day:02}" + ("T00:00:00Z" if form == "date-time" else "")
    return str(_integer(number))


def _integer(number: int) -> int:
    """8999 and twelve digits that fail the check of card numbers."""
    start = f"8999{number:09d}{number * 7919 % 100:02d}"
    return next(int(start + last) for last in "0123456789" if not passes_luhn(start + last))


def normalised(kind: str, text: str) -> str:
    """The same for values that mean the same."""
    plain = " ".join(text.split()).casefold()
    if kind == "PHONE":
        return normalised_phone(text)
    if kind in ("CREDIT_CARD", "IBAN", "US_SSN", "NATIONAL_ID"):
        return "".join(sign for sign in plain if sign.isalnum())
    return plain


# After the border of a word, or after what stands for a sign in JSON and in code, as in \\nPERSON_….
_BEGINS = r"(?:(?<![A-Za-z0-9_])|(?<=\\[nrtbfv0])|(?<=\\u[0-9a-fA-F]{4})|(?<=\\x[0-9a-fA-F]{2}))"
_ESCAPE = re.compile(r"\\(?:[nrtbfv]|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2})")
_KIND = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*")


def is_kind(name: str) -> bool:
    """Whether an own kind may have this name."""
    return len(name) <= 40 and _KIND.fullmatch(name) is not None


def without_escapes(text: str) -> str:
    """A text of the same length, with spaces for the escapes of code and JSON: `\\n` is not the letter n."""
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda match: " " * len(match[0]), text)


@lru_cache(maxsize=64)
def shapes(own_kinds: frozenset[str] = frozenset()) -> re.Pattern[str]:
    """What looks like a token, in any case: exactly, or nearly. Nothing that ends within a word does.

    Groups: the word and its kind and letters; those of an e-mail; of a URI; an address; a date; a number.
    """
    names = "|".join(sorted((*KINDS, LITERAL, *own_kinds), key=len, reverse=True))
    return re.compile(
        rf"{_BEGINS}(?P<kind>{names})_(?P<word>[a-z0-9]{{4,10}}+)(?![A-Za-z0-9_])"
        rf"|{_BEGINS}(?P<email>[a-z0-9]{{5,9}}+)(?:@|%40)email\.example(?![A-Za-z0-9-])"
        rf"|https?(?:://|%3A%2F%2F)private\.example(?:/|%2F)(?P<uri>[a-z0-9]{{5,9}}+)(?![A-Za-z0-9_])"
        rf"|{_BEGINS}(?P<ipv4>2(?:4\d|5[0-4])(?:\.\d{{1,3}}){{3}})(?![\w]|\.\d)"
        rf"|{_BEGINS}(?P<ipv6>2001:db8:5a7c:e100:[0-9a-f:]{{1,20}}+)(?![\w:])"
        rf"|{_BEGINS}(?P<date>0[1-8]\d{{2}}-\d{{2}}-\d{{2}})(?:T00:00:00Z)?(?![\w-])"
        rf"|{_BEGINS}(?P<integer>8999\d{{12}})(?![\w]|\.\d)",
        re.IGNORECASE,
    )


def may_be_token(text: str) -> bool:
    """A glance that spares most texts the pattern."""
    return _GLANCE.search(text) is not None


_GLANCE = re.compile(
    r"_[a-z0-9]{4}|\.example|8999\d|2[45]\d\.|(?<!\d)0[1-8]\d\d-|2001:db8:5a7c", re.IGNORECASE
)


def is_strict_shape(letters: str) -> bool:
    """Whether letters are those of a token and not of a word that people use."""
    return len(letters) in (LETTERS, LETTERS + 2) and all(sign in ALPHABET for sign in letters.lower())


def near(letters: str) -> Iterable[str]:
    """All letters that differ in one place, by one that is missing, too many, or exchanged."""
    for place in range(len(letters) + 1):
        before, after = letters[:place], letters[place:]
        for sign in ALPHABET:
            yield before + sign + after
        if after:
            yield before + after[1:]
            for sign in ALPHABET:
                yield before + sign + after[1:]
        if len(after) > 1:
            yield before + after[1] + after[0] + after[2:]


def form_of(text: str) -> Form:
    """The form of a token that is not made of letters."""
    if text.isdigit():
        return "integer"
    if "T" in text:
        return "date-time"
    if ":" in text:
        return "ipv6"
    return "ipv4" if "." in text else "date"


def is_number(value: int) -> bool:
    """Whether a whole number looks like a token."""
    return 8_999_000_000_000_000 <= value < 9_000_000_000_000_000
