"""The names of fields: what they tell about their values.

A name only raises or lowers suspicion. Values are looked at whatever their names say.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from satchel.privacy import key_words
from satchel.privacy.kinds import CREDIT_CARD, EMAIL, IBAN, IP_ADDRESS, NATIONAL_ID, PERSON
from satchel.privacy.tables import table

_LONGEST = 80  # characters of a name; a longer one is not a name
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_PLAIN_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Hint:
    """What a field's name, and those around it, tell about its value."""

    kind: str = ""  # it tells of this kind
    is_role: bool = False  # it tells of somebody, by name or otherwise: `author`
    is_name: bool = False  # it is the name of something or somebody: `name`
    is_adverse: bool = False  # numbers in it are anything but personal data
    is_strongly_adverse: bool = False


NO_HINT = Hint()
_FULL_ONLY = frozenset(
    ("via", "rg", "run", "gata", "cell", "mail", "pan", "cc", "rue", "to", "from", "sin", "inn")
)
_ADDRESS_NOT_AFTER = table(
    """
    ip mac email e mail web url site wallet contract eth btc bitcoin crypto bus server host network
    memory remote base line token deposit listen bind socket http gateway dns smtp virtual physical
    """
)


@lru_cache(maxsize=4096)
def words_of(name: str) -> tuple[str, ...]:
    """A name's words in lower case, without accents: `customerPhone_nr2` → customer, phone, nr, 2."""
    plain = (
        "".join(
            part for part in unicodedata.normalize("NFKD", name[:_LONGEST]) if not unicodedata.combining(part)
        )
        .replace("ß", "ss")
        .replace("ł", "l")
        .replace("ø", "o")
        .replace("đ", "d")
    )
    return tuple(word.lower() for word in _WORDS.findall(plain))


@lru_cache(maxsize=8192)
def hint_of(name: str) -> Hint:
    """What a name tells by itself."""
    if not name or len(name) > _LONGEST:
        return NO_HINT
    words = words_of(name)
    kind = _kind_of(name, words)
    if kind:
        return Hint(kind=kind)
    trimmed = [word for word in words if not word.isdigit()]
    head = trimmed[-1] if trimmed else ""
    is_name = head in key_words.NAMES and len(trimmed) == 1
    is_role = head in key_words.ROLES or (
        len(trimmed) > 1
        and (trimmed[-1] in key_words.NAMES or head == "by")
        and trimmed[-2] in key_words.ROLES
    )
    is_adverse = head in key_words.ADVERSE or head.endswith(("nummer", "number", "_id"))
    if is_role and head not in ("to", "from", "by"):
        is_adverse = False
    strongly = is_adverse and (
        head in key_words.STRONGLY_ADVERSE
        or any(word in key_words.STRONGLY_ADVERSE for word in trimmed[:-1])
        or (head.endswith(("nummer", "number")) and head not in ("nummer", "number"))
    )
    return Hint(is_role=is_role, is_name=is_name, is_adverse=is_adverse, is_strongly_adverse=strongly)


def _kind_of(name: str, words: tuple[str, ...]) -> str:
    lowered = name.lower()
    if not lowered.isascii():
        for kind, parts in key_words.IN_ANY_SCRIPT.items():
            if any(part in lowered for part in parts):
                return kind
    if not words or len(words) > 12:
        return ""
    end = len(words)
    best = ("", 0, 0)  # kind, where the phrase ends, its words
    for stop in range(end, 0, -1):
        for length in range(min(6, stop), 0, -1):
            kind = _BY_PHRASE.get(words[stop - length : stop])
            if kind and (stop, length) > best[1:]:
                if length == 1 and words[stop - 1] in _FULL_ONLY and end > 1:
                    continue
                best = (kind, stop, length)
        if best[0]:
            break
    kind, stop, length = best
    if not kind:
        return ""
    before, after = words[: stop - length], words[stop:]
    if any(word not in key_words.TAILS for word in after):
        return ""
    if after and after[-1] == "id" and kind != NATIONAL_ID:
        return ""
    if before and before[0] in (
        "is",
        "has",
        "num",
        "count",
        "total",
        "last4",
        "masked",
        "hashed",
        "max",
        "min",
    ):
        return ""
    if kind == "ADDRESS" and before and before[-1] in _ADDRESS_NOT_AFTER:
        return (
            IP_ADDRESS if before[-1] in ("ip", "remote") else EMAIL if before[-1] in ("email", "mail") else ""
        )
    if kind == PERSON and "display" in words and len(words) > 2 and not key_words.ROLES & set(before):
        return ""
    return kind


_BY_PHRASE: dict[tuple[str, ...], str] = {}
for _kind, _phrases in key_words.PHRASES.items():
    for _phrase in _phrases:
        _BY_PHRASE.setdefault(tuple(re.split(r"[ _]", _phrase)), _kind)


@lru_cache(maxsize=8192)
def is_about_people(name: str) -> bool:
    """Whether a name is that of somebody, or of a list of people: `name` within it is a person's."""
    words = [word for word in words_of(name) if not word.isdigit()]
    return bool(words) and words[-1] in key_words.ROLES


TELLING_OF_PEOPLE = frozenset(
    (EMAIL, "PHONE", "DATE_OF_BIRTH", "US_SSN", NATIONAL_ID, CREDIT_CARD, IBAN, PERSON)
)
"""Fields of these kinds beside a `name` make it a person's."""


def lower_words(text: str) -> list[str]:
    """The words of a value, in lower case."""
    return [word.lower() for word in _PLAIN_WORD.findall(text)]
