"""Which values of an entry are secrets: in what is said of a server, and, more narrowly, in what it returns.

A word too many that is blotted out of an error costs nothing. In a result it is data that is spoilt: there a
value counts that is called a secret, or that nobody would write by hand.
"""

import json
import re
from binascii import b2a_base64
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from urllib.parse import quote, quote_plus, unquote, unquote_plus, urlsplit

_SECRET_NAME = re.compile(r"(?i)key|token|secret|passw|auth|credential|cookie|private|dsn|url")
_NO_SECRET_NAME = re.compile(r"(?i)author(?!i)|url")  # where it is a result that would be spoilt
_IDENTIFIER_NAME = re.compile(
    r"(?i)(ids?|names?|project|users?|account|model|region|version|host|domain|type|mode|file|path|dir)$"
)
_PUBLIC_VARIABLES = {"HOME", "USER", "LOGNAME", "PWD", "PATH", "SHELL", "LANG", "TERM", "TMPDIR", "HOSTNAME"}
_SHORTEST = 6  # a shorter one would blot out much that is none
_SHORTEST_UNNAMED = 12
_PLAIN_WORD = re.compile(r"[A-Za-z]{1,11}")
_PLAIN = re.compile(r"[A-Za-z]{1,11}|\d{1,10}|(~|\.{1,2}|[A-Za-z]:)?[/\\][\w.-]+([/\\][\w.-]+)*[/\\]?")
"""A word, a number, a path."""
_ADDRESS = re.compile(r"[A-Za-z][\w+.:-]*://\S+")
_SETTING = re.compile(r"(?i)[;?&](\w*(?:passw|pwd|secret|token|key)\w*)=([^;&]+)")
_ESCAPE = re.compile(r"%[0-9A-F]{2}")
# From where a run begins: tried from each of its letters, a long one would take minutes.
_MIXED = re.compile(r"(?<![A-Za-z])[A-Za-z]++\d++[A-Za-z]++\d|(?<!\d)\d++[A-Za-z]++\d++[A-Za-z]")
_LARGER = str.maketrans({"&": "\\u0026", "<": "\\u003c", ">": "\\u003e"})  # as Go writes JSON


def said_secrets(values: Mapping[str, str], variables: Mapping[str, str]) -> Iterator[str]:
    """The values that must not appear in an error or a log."""
    for name, value in values.items():
        if _SECRET_NAME.search(name) or _is_unguessable(name, value):
            yield from _with_carried(value)
    for name, value in variables.items():
        if name not in _PUBLIC_VARIABLES:
            yield from _with_carried(value)


def returned_secrets(values: Mapping[str, str]) -> Iterator[str]:
    """The values that must not appear in a result either."""
    for name, value in values.items():
        if _ADDRESS.fullmatch(value):
            carried = list(_carried(value))
            yield from ([value, *carried] if carried else [])
        elif _is_called_secret(name, value) or _is_unguessable(name, value):
            yield value


def _carried(address: str) -> Iterator[str]:
    """Of what an address carries, that which can be nothing but a secret."""
    try:
        parts = urlsplit(address)
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
    except ValueError:
        yield address
        return
    if "@" in address and not parts.username and not parts.password:
        yield address  # a password that had to be encoded and is not: who knows where it ends
    if password and not _PLAIN.fullmatch(password):
        yield from (password, parts.password or "")
        yield b2a_base64(f"{user}:{password}".encode("utf-8", "replace"), newline=False).decode()
    yield from (found[2] for found in _SETTING.finditer(address) if not _PLAIN.fullmatch(found[2]))
    pairs = (pair.partition("=") for pair in parts.query.split("&"))
    words = [("", user), *(("", part) for part in parts.path.split("/"))]
    for name, value in [*words, *((name, unquote_plus(value)) for name, _, value in pairs)]:
        if _is_unguessable(name, value) or _is_called_secret(name, value):
            yield value


def secrets_in(url: str) -> Iterator[str]:
    """The parts of an address besides the place: user and password, and values of its query."""
    try:
        parts = urlsplit(url)
        user, password = parts.username or "", parts.password or ""
    except ValueError:  # an address that is none
        return
    if user or password:
        yield from (user, unquote(user), password, unquote(password))
        both = f"{unquote(user)}:{unquote(password)}".encode("utf-8", "replace")
        yield b2a_base64(both, newline=False).decode()  # as it is sent
    for pair in parts.query.split("&"):
        name, equals, value = pair.partition("=")
        value = value if equals else name
        # Words such as `default` are in every other text, and no secret unless they are called one.
        if value and ((equals and _SECRET_NAME.search(name)) or not _PLAIN_WORD.fullmatch(value)):
            yield from (value, unquote_plus(value))


def spelled(values: Iterable[str]) -> tuple[str, ...]:
    """These values in every spelling, longest first."""
    return _longest_first({spelling for value in values for spelling in _spellings(value)})


@lru_cache(maxsize=64)
def with_tokens(written: tuple[str, ...], tokens: tuple[str, ...]) -> tuple[str, ...]:
    """What was spelled before, and tokens that came since; kept, as it is asked for with every call."""
    return _longest_first({*written, *spelled(tokens)})


def _longest_first(secrets: set[str]) -> tuple[str, ...]:
    return tuple(sorted(secrets, key=lambda secret: (-len(secret), secret)))


def _with_carried(value: str) -> Iterator[str]:
    yield value
    if "://" in value:
        yield from secrets_in(value)


def _is_called_secret(name: str, value: str) -> bool:
    called = _SECRET_NAME.search(_NO_SECRET_NAME.sub("", name)) and not _IDENTIFIER_NAME.search(name)
    return bool(called) and _PLAIN.fullmatch(value) is None


def _is_unguessable(name: str, value: str) -> bool:
    """Letters and digits in a mixture, as of a generator."""
    return (
        len(value) >= _SHORTEST_UNNAMED
        and not _IDENTIFIER_NAME.search(name)
        and not re.search(r"[\s/\\@]", value)
        and _MIXED.search(value) is not None
    )


def _spellings(value: str) -> Iterator[str]:
    """How a value may be shown: as it is, each of its lines, and quoted as programs quote what they show."""
    for part in {value, value.strip(), *map(str.strip, value.splitlines())}:
        if len(part) >= _SHORTEST:
            yield part
            yield repr(part)[1:-1]
            yield repr(part.encode("utf-8", "replace"))[2:-1]
            yield json.dumps(part)[1:-1]
            plain = json.dumps(part, ensure_ascii=False)[1:-1]
            yield from (plain, plain.translate(_LARGER), plain.replace("/", "\\/"))
            for safe in ("", "/", "!'()*"):  # the last as JavaScript has it
                quoted = quote(part, safe=safe, errors="replace")
                yield from (quoted, _ESCAPE.sub(lambda found: found[0].lower(), quoted))
            yield quote_plus(part, errors="replace")
