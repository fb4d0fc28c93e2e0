"""Trying detection on a text: the text as a model would read it, and what was found. Nothing is kept."""

import secrets
from collections import Counter
from dataclasses import dataclass

from satchel.privacy.detection import Detection
from satchel.privacy.kinds import KINDS, LITERAL
from satchel.privacy.numbers import missing_packages
from satchel.privacy.vault import Vault


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A text with tokens, the values of each kind that it had, and packages without which less is found."""

    text: str
    found: tuple[tuple[str, int], ...]
    missing: tuple[str, ...]


def try_detection(text: str) -> Trial:
    """Hide what is personal in a text, all kinds of it."""
    vault = Vault(secrets.token_bytes(32))
    hidden = str(vault.hide(text, "", Detection()))
    counted = Counter(entry.kind for entry in vault.entries if entry.kind != LITERAL)
    found = tuple((kind, counted[kind]) for kind in KINDS if counted[kind])
    return Trial(text=hidden, found=found, missing=missing_packages())
