"""Definitions and results in the shape that a protocol version takes.

What servers send is passed on as it is where that is valid. The SDK refuses a whole list for one odd tool,
and a whole result for one odd block, so each is tried by itself and mended, or left out and logged.
"""

import json
import logging
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from mcp_types import methods
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic_core import to_json

from satchel.model import CallResult, Json, is_object
from satchel.support.json import DEEPEST, is_too_deep, mend_surrogates

logger = logging.getLogger(__name__)

_MOST_KEPT = 20_000
_fitted: dict[tuple[str, str], Json | None] = {}


def is_modern(version: str) -> bool:
    return version in MODERN_PROTOCOL_VERSIONS


def fit_items(method: str, key: str, version: str, items: Iterable[Json]) -> list[Json]:
    """The items of a list, such as those under `tools` of `tools/list`."""
    return [fitted for item in items if (fitted := _fit_item(method, key, version, item)) is not None]


def _fit_item(method: str, key: str, version: str, item: Json) -> Json | None:
    name = (f"{method} {version}", json.dumps(item, sort_keys=True, default=str))
    if name not in _fitted:
        if len(_fitted) >= _MOST_KEPT:
            _fitted.clear()
        _fitted[name] = _try_item(method, key, version, item)
    return _fitted[name]


def _try_item(method: str, key: str, version: str, item: Json) -> Json | None:
    if _is_valid(method, version, {key: [item]}):
        return item
    with suppress(RecursionError):
        item = _paired(item)
    for attempt in (item, _mended(item, version), _plain(item)):
        if _is_valid(method, version, {key: [attempt]}):
            return attempt
    logger.warning("left out of %s, because no client could read it: %s", method, str(item.get("name"))[:100])
    return None


def _mended(item: Json, version: str) -> Json:
    """A tool whose schemas are not quite what the version wants; a 2025 client takes objects only."""
    mended = dict(item)
    schema = mended.get("inputSchema")
    if "inputSchema" in mended:
        mended["inputSchema"] = {**schema, "type": "object"} if is_object(schema) else {"type": "object"}
    output = mended.get("outputSchema")
    if not is_modern(version) and not (is_object(output) and output.get("type") == "object"):
        mended.pop("outputSchema", None)
    return mended


def _plain(item: Json) -> Json:
    """Its identifier, and its text."""
    kept = {
        key: value
        for key in ("name", "title", "description", "uri", "uriTemplate", "mimeType")
        if isinstance(value := item.get(key), str)
    }
    return kept | ({"inputSchema": {"type": "object"}} if "inputSchema" in item else {})


def fit_result(version: str, result: CallResult) -> Json:
    """The result of a call."""
    answer: Json = {"content": list(result.content)}
    structured = result.structured
    if result.has_structured and (is_modern(version) or is_object(structured)):
        answer["structuredContent"] = structured
    elif result.has_structured and not result.content:
        answer["content"] = [_as_text(structured)]
    if result.is_error:
        answer["isError"] = True
    if result.meta:
        answer["_meta"] = result.meta
    if _is_valid("tools/call", version, answer):
        return answer
    if is_too_deep({"result": answer}):
        why = f"the result is nested more than {DEEPEST} levels deep, which clients can't read"
        answer = {"content": [{"type": "text", "text": why}, *result.content], "isError": True}
    answer = _paired(answer)
    answer["content"] = [_fit_block(version, block) for block in answer["content"]]
    if not _is_valid("tools/call", version, answer):
        answer.pop("_meta", None)
    return answer


def _paired(value: Json) -> Json:
    """Without halves of surrogate pairs, which can't be sent.

    Programs return them, and listings that were cached by an older Satchel may have some.
    """
    return json.loads(mend_surrogates(json.dumps(value, default=str).encode()))


def _fit_block(version: str, block: Json) -> Json:
    bare = {key: value for key, value in block.items() if key not in ("annotations", "_meta")}
    for attempt in (block, bare):
        if _is_valid("tools/call", version, {"content": [attempt]}):
            return attempt
    return _as_text(block)


def _as_text(value: Any) -> Json:
    return {"type": "text", "text": json.dumps(value, ensure_ascii=False, default=str)}


def _is_valid(method: str, version: str, result: Json) -> bool:
    if is_modern(version) and method != "tools/call":
        result = {"ttlMs": 0, "cacheScope": "private", **result}
    if is_modern(version):
        result = {"resultType": "complete", **result}
    try:
        sent = methods.serialize_server_result(method, version, result)
        text = to_json({"result": sent})
    except (ValueError, KeyError, RecursionError):  # also of what is valid but can't be written
        return False
    if text.count(b"{") + text.count(b"[") > DEEPEST and is_too_deep({"result": sent}):
        return False
    # A result that does not fit the method may still be one that asks for input, and is emptied for it.
    return all(key in sent for key, value in result.items() if isinstance(value, list))
