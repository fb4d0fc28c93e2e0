"""Secrets of an entry, taken out of whatever a server says."""

import logging
from collections.abc import Iterable, Sequence
from traceback import format_exception
from typing import Any

from pydantic import ValidationError

from satchel.model import is_list, is_object

# Those of the SDK that tell what servers have sent.
_TELLING = (
    "client",
    "mcp.client.auth.oauth2",
    "mcp.client.sse",
    "mcp.client.streamable_http",
    "mcp.shared.jsonrpc_dispatcher",
)
_hidden: set[str] = set()


def redact(text: str, secrets: Sequence[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, "***")
    return text


def redact_all(value: Any, secrets: Sequence[str]) -> Any:
    """The same for every text in a JSON value, and for the keys."""
    if not secrets:
        return value
    if isinstance(value, str):
        return redact(value, secrets)
    if is_object(value):
        return {redact(key, secrets): redact_all(inner, secrets) for key, inner in value.items()}
    return [redact_all(inner, secrets) for inner in value] if is_list(value) else value


def redact_item(item: Any, identity: str, secrets: Sequence[str]) -> Any:
    """The same for something that is listed, but for what it is asked for by."""
    redacted = redact_all(item, secrets)
    return {**redacted, identity: item[identity]} if is_object(item) and identity in item else redacted


def hide_from_logs(secrets: Iterable[str]) -> None:
    """Have these taken out of what the SDK logs, of whatever server."""
    _hidden.update(secrets)
    for name in _TELLING:
        logging.getLogger(name).addFilter(_hide)


def _hide(record: logging.LogRecord) -> bool:
    said = record.getMessage()
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, ValidationError):  # it shows what was sent, cut anywhere: also within a secret
        said += f": {error.title} was expected"
    elif error is not None:
        said += "\n" + "".join(format_exception(error, chain=False)).rstrip()
    record.msg, record.args = redact(said, sorted(_hidden, key=len, reverse=True)), ()
    record.exc_info = record.exc_text = None
    return True
