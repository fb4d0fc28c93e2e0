"""Tools and their results in the form of frameworks: text, images, and plain data beside them."""

import base64
import binascii
import json
from collections.abc import Iterator
from dataclasses import dataclass

from satchel.model import CallResult, Json
from satchel.verbs.reading import binary_of, holders_of

# What providers take. They refuse a whole request for an image of another type.
_IMAGES = frozenset({"image/gif", "image/jpeg", "image/png", "image/webp"})
_LONGEST_BLOCK = 2_000  # characters of one that is of no known kind
NOTHING = "[it returned nothing]"


@dataclass(frozen=True, kw_only=True)
class Image:
    """One that models can be shown."""

    data: str  # base64
    type: str


def parts_of(result: CallResult) -> list[str | Image]:
    """The parts for a model, in the order of the blocks; never empty. Adjacent texts are one."""
    parts: list[str | Image] = []
    for part in _parts(result):
        if isinstance(part, str) and parts and isinstance(parts[-1], str):
            parts[-1] += f"\n{part}"
        else:
            parts.append(part)
    return parts if any(parts) else [NOTHING]


def text_of(result: CallResult) -> str:
    """All of it as text, for a place that takes nothing else."""
    return "\n".join(part if isinstance(part, str) else f"[{part.type}]" for part in parts_of(result))


def artifact_of(result: CallResult) -> Json | None:
    """Parts of a result for programs only: structured content, and blocks that are not text."""
    artifact: Json = {"structured_content": result.structured} if result.has_structured else {}
    if any(block.get("type") != "text" for block in result.content):
        artifact["content"] = list(result.content)
    return artifact or None


def metadata_of(definition: Json) -> Json | None:
    """The facts about a tool that a program may want and a model doesn't see."""
    return {key: definition[key] for key in ("annotations", "outputSchema") if definition.get(key)} or None


def _parts(result: CallResult) -> Iterator[str | Image]:
    for block in result.content:
        yield _image(block) or _text(block)
    if not result.content and result.has_structured:
        yield json.dumps(result.structured, ensure_ascii=False)


def _image(block: Json) -> Image | None:
    data, kind = binary_of(block) or ("", "")
    return Image(data=data, type=kind) if kind in _IMAGES and _size(data) is not None else None


def _text(block: Json) -> str:
    for holder in holders_of(block):
        if isinstance(holder.get("text"), str):
            return holder["text"]
    binary = binary_of(block)
    if binary is not None:
        data, kind = binary
        size = _size(data)
        address = next((f"{holder['uri']}: " for holder in holders_of(block) if "uri" in holder), "")
        return f"[{address}{kind}, {'damaged' if size is None else f'{size:,} bytes'}]"
    if block.get("type") == "resource_link":
        keys = ("title", "name", "uri", "mimeType", "description")
        shown = [str(block[key]) for key in keys if key in block]
        return f"[{', '.join(dict.fromkeys(shown))}]"
    return json.dumps(block, ensure_ascii=False)[:_LONGEST_BLOCK]


def _size(data: str) -> int | None:
    """In bytes; None for what is not base64."""
    try:
        return len(base64.b64decode(data, validate=True))
    except (binascii.Error, ValueError):
        return None
