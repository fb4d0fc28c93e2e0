"""Addresses of resources as a server may read them: decoded, with `..` followed, and from an empty part on.

Permissions compare texts, and a server may read a text as a different address. Not a parser of addresses:
what could be read in a way that is not foreseen here is said to be unclear.
"""

import re
import unicodedata
from collections.abc import Collection, Iterator
from urllib.parse import unquote_to_bytes

LONGEST = 10_000  # characters
_MOST_ROUNDS = 5  # of decoding; nobody encodes more than twice
_HEAD = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:)?[/\\]*")
_SEPARATOR = re.compile(r"([/\\])")
_SLASH = re.compile("(/)")
# `..` beside something that may be read as the end of a part, as in `?path=../x` and `..;/x`.
_HIDDEN_CLIMB = re.compile(r"(?:.*[=:&?#,;@|\s])?\.\.(?:[?#&,;|\s].*)?", re.DOTALL)
# An empty part, or a drive. A server that joins paths begins anew there: `/public/` and `/etc` make `/etc`.
# Some servers take off what follows a `;` first.
_NEW_ROOT = re.compile(r"(?<=[/\\]) *(?:;[^/\\]*)?[/\\]+|(?<=[/\\])(?=[A-Za-z]:[/\\])")
_MOST_ROOTS = 4  # each is one way more to read an address
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_LONGEST_SCHEME = 40  # characters
_WEB = re.compile("https?:", re.IGNORECASE)
_END_OF_PATH = re.compile("[?#]")
_OTHER_ESCAPE = re.compile(r"%u[0-9a-fA-F]{4}")
_ODD_CATEGORIES = frozenset(("Cc", "Cs", "Zl", "Zp"))


def readings(address: str, written: Collection[str] = ()) -> frozenset[str] | None:
    """Every way to read an address, besides as it is written; None where that is unclear.

    Empty parts that one of the beginnings in `written` has itself mean nothing: they are meant as they are.
    """
    forms = _decodings(address)
    if not forms or _is_odd(forms[-1]):
        return None
    roots = {text: found for text in forms if (found := _new_roots(text, written))}
    if any(len(found) > _MOST_ROOTS or _has_dots(text) for text, found in roots.items()):
        return None
    # Before it is decoded, `a%2fb` is one part, of which a `..` leads out, and after that two.
    followed = (form for text in forms for form in _followed(text))
    anew = (form for text, found in roots.items() for form in _begun_anew(text, found))
    return frozenset((*followed, *anew, forms[-1]))


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
    if not _has_dots(text):
        return
    for begin in _roots(text):
        for separator in (_SLASH, _SEPARATOR):
            for collapse in (False, True):
                yield text[:begin] + _resolved(text[begin:], separator, collapse=collapse)


def _has_dots(text: str) -> bool:
    return any(part.strip(" ") in (".", "..") for part in _SEPARATOR.split(text))


def _roots(text: str) -> list[int]:
    """Where the path begins. Some servers read the text after `//` as a host, others as a folder."""
    head = _HEAD.match(text)
    roots = [head.end() if head is not None else 0]
    if text[: roots[0]].endswith("//"):
        host = _SEPARATOR.search(text, roots[0])
        roots.append(host.end() if host is not None else len(text))
    return roots


def _new_roots(text: str, written: Collection[str]) -> list[re.Match[str]]:
    """The places in the path of a text from which it may be read anew."""
    known = max((len(beginning) for beginning in written if text.startswith(beginning)), default=0)
    path = _END_OF_PATH.split(text, maxsplit=1)[0]
    found = _NEW_ROOT.finditer(path, _roots(text)[0])
    new = (root for root in found if root.start() >= known or root.end() > known)
    return [root for root in new if not _is_in_address(path, root)]


def _is_in_address(path: str, root: re.Match[str]) -> bool:
    """Whether it is part of another address, as in `/https://example.com`."""
    before = path[max(0, root.start() - _LONGEST_SCHEME) : root.start() - 1]
    return root[0] == "/" and _SCHEME.fullmatch(_SEPARATOR.split(before)[-1]) is not None


def _begun_anew(text: str, found: list[re.Match[str]]) -> Iterator[str]:
    """A text from each of these places on, below its own beginning; and without them."""
    roots = _roots(text)
    for root in found:
        for begin in roots[-1:] if _WEB.match(text) else roots:  # on the web, a host is always a host
            yield text[:begin] + text[max(begin, root.end()) :]
    for root in reversed(found):
        text = text[: root.start()] + text[root.end() :]
    yield text


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
