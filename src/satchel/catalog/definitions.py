"""The digest of a tool's definition, and what differs between two of them."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

_UNSTABLE = "_meta"  # servers put dates and counters there


def canonical(value: object) -> bytes:
    """The same bytes for the same JSON value, in any order of its keys."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def digest(definition: Mapping[str, Any]) -> str:
    """SHA-256 of everything a model or a caller relies on."""
    stable = {key: value for key, value in definition.items() if key != _UNSTABLE}
    return hashlib.sha256(canonical(stable)).hexdigest()


def changed_fields(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[str, ...]:
    keys = sorted((set(before) | set(after)) - {_UNSTABLE})
    return tuple(key for key in keys if canonical(before.get(key)) != canonical(after.get(key)))
