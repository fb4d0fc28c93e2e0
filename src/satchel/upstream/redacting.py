"""Takes the secrets of an entry out of everything its server says."""

import json
import logging
from collections.abc import Iterable, Sequence
from traceback import format_exception
from typing import Any

from pydantic import ValidationError

from satchel.model import Json, is_list, is_object

# Those of the SDK that tell what servers have sent.
_TELLING = (
    "client",
    "httpx2",
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
    return _redacted(value, secrets) if _has_any(value, secrets) else value


def redact_listed(items: list[object], identity: str, secrets: Sequence[str]) -> list[object]:
    """The same for what is listed, but for what it is asked for by, and the names of arguments."""
    return [_redacted_item(item, identity, secrets) if _has_any(item, secrets) else item for item in items]


def redact_question(params: Json, secrets: Sequence[str]) -> Json:
    """The same for what a client is asked, but for the page that a person has to open."""
    shown = redact_all(params, secrets)
    return {**shown, "url": params["url"]} if "url" in params else shown


def _has_any(value: Any, secrets: Sequence[str]) -> bool:
    """Whether there is anything to be done, told much sooner than done."""
    if not secrets:
        return False
    text = json.dumps(value, ensure_ascii=False)
    return any(secret in text for secret in secrets)


def _redacted(value: Any, secrets: Sequence[str]) -> Any:
    if isinstance(value, str):
        return redact(value, secrets)
    if is_object(value):
        return {redact(key, secrets): _redacted(inner, secrets) for key, inner in value.items()}
    return [_redacted(inner, secrets) for inner in value] if is_list(value) else value


def _redacted_item(value: Any, identity: str, secrets: Sequence[str]) -> Any:
    if is_object(value):
        return {
            key: inner if key in (identity, "required") else _redacted_item(inner, "", secrets)
            for key, inner in value.items()
        }
    if is_list(value):
        return [_redacted_item(inner, "", secrets) for inner in value]
    return redact(value, secrets) if isinstance(value, str) else value


def hide_from_logs(secrets: Iterable[str]) -> None:
    """Take these out of what the SDK logs, for every server."""
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
