"""A server's command line or address as a person may see it: what looks like a secret is left out.

Only for what is shown. What is imported is written as it was.
"""

import re
from collections.abc import Iterator, Sequence

from satchel.config.hiding import returned_secrets

HIDDEN = "***"
_MOST_HIDDEN = 6  # pieces of one word between which something is hidden
_NAME = r"[\w.-]*(?:passw|passphrase|pwd|secret|token|key|credential|auth(?!ors?\b)|dsn)[\w.-]*"
_SECRET_NAME = re.compile(rf"(?i)-*{_NAME}")
_REFERENCE = re.compile(r"(?:Bearer |Basic )?\$\{[^{}:]*\}")
_LOGIN = re.compile(r"(?<=://)[^/?#\s]*@")
_ODD_LOGIN = re.compile(r"://[^\s@]*:[^\s@]*@")  # a password that had to be encoded and is not
_WITHIN = (
    re.compile(rf"(?i)(\b{_NAME}=)(?!\$\{{)[^\s&;]+"),  # a variable, a setting, a part of a query
    re.compile(rf"(?i)(--{_NAME} )(?!\$\{{)\S+"),
    re.compile(rf'(?i)("{_NAME}"\s*:\s*")[^"]*'),
    re.compile(rf"(?i)(\b{_NAME}:)(?!//|\s*(?:Bearer |Basic )?\$\{{).+"),  # a header
)


def without_secrets(words: Sequence[str]) -> list[str]:
    """The words of a command line; what follows an option such as --password is hidden."""
    return list(_shown(words))


def hidden_in(words: Sequence[str]) -> Iterator[str]:
    """The parts of a command line that `without_secrets` hides: a server may repeat its arguments."""
    for word, shown in zip(words, without_secrets(words), strict=True):
        pieces = shown.split(HIDDEN)
        if 1 < len(pieces) <= _MOST_HIDDEN:
            found = re.fullmatch("(.+?)".join(map(re.escape, pieces)), word, re.DOTALL)
            yield from (part for part in (found.groups() if found else ()) if part != HIDDEN)


def _shown(words: Sequence[str]) -> Iterator[str]:
    option = ""
    for word in words:
        if word.startswith("-") and "=" not in word and " " not in word:
            option = word
            yield word
        else:
            yield _hidden(option, word)
            option = ""


def _hidden(option: str, word: str) -> str:
    if _REFERENCE.fullmatch(word):
        return word
    if option and _SECRET_NAME.fullmatch(option):
        return HIDDEN
    shown = _LOGIN.sub(f"{HIDDEN}@", word)
    if _ODD_LOGIN.search(shown):
        return HIDDEN  # who knows where it ends
    for pattern in _WITHIN:
        shown = pattern.sub(rf"\g<1>{HIDDEN}", shown)
    name, equals, value = shown.partition("=")
    parts = {name: value} if equals and HIDDEN not in value else {option: shown}
    for secret in sorted(returned_secrets(parts), key=len, reverse=True):
        if "://" not in secret:  # of an address, what it carries
            shown = shown.replace(secret, HIDDEN)
    return shown
