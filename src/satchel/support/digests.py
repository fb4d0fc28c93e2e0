"""The digest of a JSON value: equal for values that say the same."""

import hashlib
import json

from satchel.model import Json


def digest_of(value: Json) -> tuple[str, int]:
    """The SHA-256 of a value's canonical JSON, and how many bytes that is."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    data = text.encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest(), len(data)
