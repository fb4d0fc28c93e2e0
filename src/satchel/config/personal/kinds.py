"""The settings of privacy, checked: kinds that exist, names and patterns of own ones."""

import re
from collections.abc import Mapping, Sequence
from typing import Protocol

from satchel.config.reader import Key, Locate
from satchel.errors import ConfigError
from satchel.names import closest

KINDS = (
    "EMAIL",
    "PHONE",
    "CREDIT_CARD",
    "IBAN",
    "US_SSN",
    "NATIONAL_ID",
    "IP_ADDRESS",
    "PERSON",
    "ADDRESS",
    "DATE_OF_BIRTH",
)
ALL = "all"
_NAME = re.compile(r"[A-Z][A-Z0-9]{0,19}(?:_[A-Z0-9]{1,19}){0,3}")
_LONGEST = 500  # characters of a pattern


class PrivacyKinds(Protocol):
    """What of the settings is checked here."""

    @property
    def detect(self) -> Sequence[str]: ...
    @property
    def servers(self) -> Mapping[str, Sequence[str]]: ...
    @property
    def kinds(self) -> Mapping[str, str]: ...


def check_privacy(settings: PrivacyKinds, locate: Locate) -> None:
    """Raise ConfigError for a kind that doesn't exist, or an own one that can't be used."""
    known = [ALL, *KINDS, *settings.kinds]
    for key, wanted in ((("detect",), settings.detect), *(_of(settings.servers))):
        for kind in wanted:
            if kind not in known and kind.upper() not in known:
                near = closest(kind.upper(), known, limit=1)
                hint = f"did you mean {near[0]}? " if near else ""
                _refuse(locate, key, f"unknown kind '{kind[:60]}'", f"{hint}kinds are {', '.join(known)}")
    for name, pattern in settings.kinds.items():
        if not _NAME.fullmatch(name) or name in KINDS:
            reason = f"'{name[:60]}' can't be the name of a kind"
            _refuse(
                locate, ("kinds", name), reason, "write it like STAFF_NUMBER; the built-in ones are taken"
            )
        _check_pattern(name, pattern, locate)


def _of(servers: Mapping[str, Sequence[str]]) -> list[tuple[Key, Sequence[str]]]:
    return [(("servers", name), wanted) for name, wanted in servers.items()]


def _check_pattern(name: str, pattern: str, locate: Locate) -> None:
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        _refuse(locate, ("kinds", name), f"not a regular expression: {error}", "write one as Python has them")
    else:
        if len(pattern) > _LONGEST or compiled.match("") is not None:
            _refuse(
                locate, ("kinds", name), "the pattern fits nothing at all, or is too long", "say more of it"
            )


def _refuse(locate: Locate, key: Key, reason: str, hint: str) -> None:
    whole: Key = ("privacy", *key)
    file, line = locate(whole)
    raise ConfigError(reason, file=file, line=line, key=".".join(map(str, whole)), hint=hint)
