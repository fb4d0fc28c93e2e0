"""Addresses of resources as a server may read them: decoded, and with `..` followed.

Permissions compare texts, and a server may read a text as a different address. Not a parser of addresses:
what could be read in a way that is not foreseen here is said to be unclear.
"""

import re
import unicodedata
from collections.abc import Iterator
from urllib.parse import unquote_to_bytes

LONGEST = 10_000  # characters
_MOST_ROUNDS = 5  # of decoding; nobody encodes more than twice
_HEAD = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:)?[/\\]*")
_SEPARATOR = re.compile(r"([/\\])")
_SLASH = re.compile("(/)")
# `..` beside something that may be read as the end of a part, as in `?path=../x` and `..;/x`.
_HIDDEN_CLIMB = re.compile(r"(?:.*[=:&?#,;@|\s])?\.\.(?:[?#&,;|\s].*)?", re.DOTALL)
_OTHER_ESCAPE = re.compile(r"%u[0-9a-fA-F]{4}")
_ODD_CATEGORIES = frozenset(("Cc", "Cs", "Zl", "Zp"))


def readings(address: str) -> frozenset[str] | None:
    """Every way to read an address, besides as it is written; None where that is unclear."""
    forms = _decodings(address)
    if not forms or _is_odd(forms[-1]):
        return None
    # Before it is decoded, `a%2fb` is one part, of which a `..` leads out, and after that two.
    return frozenset(form for text in forms for form in _followed(text)) | {forms[-1]}


def decoded(text: str) -> str | None:
    """A text without percent-encoding, however often it was encoded; None where it can't be decoded."""
    forms = _decodings(text)
    return forms[-1] if forms else None


def _decodings(text: str) -> list[str]:
    """A text as it is, and decoded again and again until nothing changes; empty where that fails."""
    forms = [text]
    while len(forms) <= _MOST_ROUNDS:
        try:
            plain = unquote_to_bytes(forms[-1]).decode("utf-8")
        except UnicodeError:
            return []
        if plain == forms[-1]:
            return forms
        forms.append(plain)
    return []


def _followed(text: str) -> Iterator[str]:
    """A text with its `.` and `..` followed, if it has any, in each way in which that is done."""
    if not any(part.strip(" ") in (".", "..") for part in _SEPARATOR.split(text)):
        return
    head = _HEAD.match(text)
    beginnings = [head.end() if head is not None else 0]
    if text[: beginnings[0]].endswith("//"):  # what follows is a host to some and a folder to others
        host = _SEPARATOR.search(text, beginnings[0])
        beginnings.append(host.end() if host is not None else len(text))
    for begin in beginnings:
        for separator in (_SLASH, _SEPARATOR):
            for collapse in (False, True):
                yield text[:begin] + _resolved(text[begin:], separator, collapse=collapse)


def _is_odd(text: str) -> bool:
    """Whether it has something that servers read in different ways."""
    if any(unicodedata.category(letter) in _ODD_CATEGORIES for letter in text) or _OTHER_ESCAPE.search(text):
        return True
    plain, alike = (_SEPARATOR.split(form) for form in (text, unicodedata.normalize("NFKC", text)))
    if any(part.strip(" ") != ".." and _HIDDEN_CLIMB.fullmatch(part) for part in plain):
        return True
    if any(_HIDDEN_CLIMB.fullmatch(part) for part in set(alike).difference(plain)):
        return True
    return _shape(alike) != _shape(plain)  # letters that look like dots and slashes


def _shape(pieces: list[str]) -> list[str]:
    """The separators, and the parts between them that mean something."""
    return [piece if piece in ("/", "\\", ".", "..") else "%" if "%" in piece else "" for piece in pieces]


def _resolved(path: str, separator: re.Pattern[str], *, collapse: bool) -> str:
    """With `.` and `..` followed, and never above its beginning. Two separators are one to some servers."""
    kept: list[str] = []
    pieces = separator.split(path)
    for part, end in zip(pieces[::2], [*pieces[1::2], ""], strict=True):
        name = part.strip(" ")
        if name == "..":
            del kept[-1:]
        elif name != "." and (part or not collapse):
            kept.append(part + end)
    return "".join(kept)
