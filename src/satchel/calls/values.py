"""A tool's result as a program gets it: a value to work with, and files for parts that are not text."""

import base64
import binascii
import json
import mimetypes
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from satchel.model import CallResult, Json, is_object
from satchel.support.charging import apart

MOST_PARTS = 1_000
LARGEST_TEXT = 4 * 1024 * 1024  # characters; what is longer becomes a file
_LARGE = 256 * 1024  # characters
_ENDINGS = {"audio/wav": ".wav", "audio/mpeg": ".mp3", "image/webp": ".webp"}  # not in every Python's list
Save = Callable[[str, bytes], Awaitable[str]]
"""Keeps content under a name of that ending, and says where the program finds it."""


@dataclass(frozen=True, kw_only=True)
class _File:
    """A part that becomes a file."""

    kind: str
    ending: str
    content: bytes


async def value_of(result: CallResult, save: Save) -> Any:
    """Structured content; else the JSON or the text of the one part; else a list of parts.

    Binary and very large parts are saved: their value is {path, type, size}.
    """
    if result.has_structured and all(binary_of(part) is None for part in result.content):
        return result.structured
    read = await apart(_read, result) if _is_large(result) else _read(result)
    parts = [await _saved(part, save) if isinstance(part, _File) else part for part in read]
    if len(result.content) > MOST_PARTS:
        parts.append(f"… {len(result.content) - MOST_PARTS:,} more parts were left out")
    if result.has_structured:
        return {"structured": result.structured, "content": parts}
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else parts


async def _saved(file: _File, save: Save) -> Json:
    path = await save(file.ending, file.content)
    return {"path": path, "type": file.kind, "size": len(file.content)}


def _is_large(result: CallResult) -> bool:
    """Whether to make a value of it takes so long that nobody should wait for it on the event loop."""
    if len(result.content) > 20:
        return True
    return any(binary_of(part) is not None or len(_text_of(part) or "") > _LARGE for part in result.content)


def _read(result: CallResult) -> list[Any]:
    return [_part_value(part) for part in result.content[:MOST_PARTS]]


def _part_value(part: Json) -> Any:
    """The value of one content block, or the file that it becomes."""
    binary = binary_of(part)
    if binary is not None:
        data, kind = binary
        return _File(kind=kind, ending=ending_of(kind), content=decoded(data))
    if part.get("type") == "resource_link":
        return {key: value for key, value in part.items() if key not in ("_meta", "annotations")}
    text = _text_of(part)
    if text is None:
        return part
    if len(text) > LARGEST_TEXT:
        return _File(kind="text/plain", ending=".txt", content=text.encode("utf-8", "replace"))
    return _parsed(text)


def _text_of(part: Json) -> str | None:
    for holder in holders_of(part):
        if isinstance(holder.get("text"), str):
            return holder["text"]
    return None


def binary_of(part: Json) -> tuple[str, str] | None:
    """(base64 data, type) of an image, sound or blob."""
    for holder in holders_of(part):
        for key in ("data", "blob"):
            if isinstance(holder.get(key), str):
                return holder[key], str(holder.get("mimeType") or "application/octet-stream")[:200]
    return None


def holders_of(part: Json) -> list[Json]:
    """Where a block keeps its text or data: in itself, or in the resource that it embeds."""
    resource = part.get("resource")
    return [part, resource] if is_object(resource) else [part]


def _parsed(text: str) -> Any:
    """JSON objects and lists as values. A text such as `123` or `true` stays the text it is."""
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return data.encode("utf-8", "replace")


def ending_of(kind: str) -> str:
    """A file's ending by its type; only for types that nothing executes."""
    plain = kind in ("application/pdf", "text/plain")
    harmless = plain or (kind.split("/")[0] in ("image", "audio", "video") and kind != "image/svg+xml")
    return (_ENDINGS.get(kind) or mimetypes.guess_extension(kind) if harmless else None) or ".bin"
