"""The results of tools and resources, on their way to the screen or to files."""

import itertools
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from satchel.cli import output
from satchel.errors import ArgumentError, SatchelError
from satchel.model import CallResult, Json, is_object
from satchel.verbs.reading import binary_of, decoded, ending_of, holders_of


def save_or_show_result(result: CallResult, file: Path | None, name: str, *, as_json: bool) -> None:
    """Text to standard output or `file`; images, sound and other binary parts always to files."""
    if as_json:
        value = result_value(result, file, name)
        if file is None or _has_binary(result):
            output.show_json(value)
        else:
            _save_or_show(json.dumps(value, ensure_ascii=False), file)
        return
    blocks = [*result.content]
    if not blocks and result.has_structured:
        blocks.append({"type": "text", "text": json.dumps(result.structured, ensure_ascii=False, indent=2)})
    save_or_show_contents(blocks, file, name)


def save_or_show_contents(blocks: Sequence[Json], file: Path | None, name: str) -> None:
    texts: list[str] = []
    blocks = [block for block in blocks if is_object(block)]
    for block in blocks:
        shown = _saved(block, file, name)
        texts.append(
            text_of(block) if shown is None else f"{shown['file']}  {shown['type']}, {shown['size']} bytes"
        )
    binary = any(binary_of(block) for block in blocks)
    _save_or_show("\n".join(texts), None if binary else file)


def result_value(result: CallResult, file: Path | None = None, name: str = "result") -> Any:
    """The value to work with: structured content, else parsed JSON, else text; files for the rest."""
    if result.has_structured and not _has_binary(result):
        return result.structured
    parts: list[Any] = []
    for block in result.content:
        saved = _saved(block, file, name)
        parts.append(saved if saved is not None else _parsed(text_of(block)))
    if result.has_structured:
        return {"structured": result.structured, "content": parts}
    return parts[0] if len(parts) == 1 else parts


def _has_binary(result: CallResult) -> bool:
    return any(binary_of(block) for block in result.content)


def check_output(file: Path | None) -> None:
    """Refuse a place that can't be written to before the call, which may have an effect."""
    if file is not None and (file.is_dir() or not os.access(file if file.exists() else file.parent, os.W_OK)):
        raise ArgumentError(f"--output {file} can't be written to")


def _save_or_show(text: str, file: Path | None) -> None:
    if file is None:
        output.show_result(text)
        return
    try:
        file.write_text(text + "\n", encoding="utf-8", errors="replace")
        output.note(f"wrote {file}")
    except OSError as error:
        output.show_result(text)  # what the call returned is not lost
        raise SatchelError(f"{file} could not be written: {error.strerror}") from error


def text_of(block: Json) -> str:
    for holder in holders_of(block):
        if isinstance(holder.get("text"), str):
            return holder["text"]
    if block.get("type") == "resource_link":
        return f"{block.get('uri')}  {block.get('mimeType') or ''}".rstrip()
    return json.dumps(block, ensure_ascii=False)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _saved(block: Json, file: Path | None, name: str) -> Json | None:
    """Write a binary part to a file that did not exist; None for a part that is not binary."""
    binary = binary_of(block)
    if binary is None:
        return None
    data, kind = binary
    content = decoded(data)
    if file is not None and file not in _written:
        _written.add(file)
        file.write_bytes(content)
        return {"file": str(file), "type": kind, "size": len(content)}
    wanted = file or Path(_safe(name) + ending_of(kind))
    return {"file": str(_write_new(wanted, content)), "type": kind, "size": len(content)}


_written: set[Path] = set()


def _write_new(path: Path, content: bytes) -> Path:
    """Write to the first free name. A file that exists, or a link of any kind, is never written through."""
    for number in itertools.count(1):
        candidate = path if number == 1 else path.with_name(f"{path.stem}-{number}{path.suffix}")
        try:
            with open(candidate, "xb") as stream:
                stream.write(content)
            return candidate
        except FileExistsError:
            continue
    raise AssertionError("unreachable")


def _safe(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-") or "result"
