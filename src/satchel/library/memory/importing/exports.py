"""Exports as JSON, in every shape that mem0, its platform and a Qdrant server write them; and Satchel's own.

An export is a sequence of JSON values: one value, one a line, or pages one after the other. A value is a
memory, a list of memories, or an object that has such a list.
"""

import json
import re
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from satchel.errors import SatchelError
from satchel.library.memory.importing.rows import Row, has_text, own_row_of, row_of
from satchel.model import Json, is_list, is_object
from satchel.model.imports import ImportKind, LeftOut
from satchel.support.files import read_small
from satchel.support.text import label

OWN = "satchel_memory"
"""The key that tells an export of Satchel; its value is the version of the format:

    {"satchel_memory": 1, "entries": [{"file": "core_memories.json", "topic": …, "content": …, "id": …}, …]}

Entries are those of all files, and have all that their objects have. Imported, they are core memories of the
agent that a person names; tasks are left out. Whether one was reviewed is decided anew.
"""
LARGEST = 200 * 1024 * 1024  # bytes
_MOST_PARTS = 10_000_000  # values in an export, of which each takes up to a hundred bytes of memory
_LISTS = ("results", "memories", "points")
_DEFAULT_TOP_K = 20
_SPACE = re.compile(r"[ \t\n\r]*")
_decoder = json.JSONDecoder()


@dataclass(kw_only=True)
class Export:
    """What has been found in an export so far."""

    today: date
    kind: ImportKind = "export of mem0"
    found: list[Row | LeftOut] = field(default_factory=list["Row | LeftOut"])
    notes: dict[str, None] = field(default_factory=dict[str, None])
    more_follow: bool = False  # by what the last page says

    def add(self, value: object) -> bool:
        """Add the memories of one JSON value; False if it is nothing that an export has."""
        page = _page_in(value)
        if is_object(value) and OWN in value:
            self.add_own(value)
        elif page is not None:
            self.add_page(*page)
        elif is_list(value) and value and all(_page_in(inner) is not None for inner in value):
            return all(self.add(inner) for inner in value)
        elif is_list(value):
            self.add_page(value, {})
        elif is_object(value) and has_text(value):
            self.add_item(value)
        else:
            return False
        return True

    def add_page(self, items: list[object], page: Json) -> None:
        for item in items:
            self.add_item(item)
        if len(items) == _DEFAULT_TOP_K and "count" not in page:
            self.note(
                f"a list has exactly {_DEFAULT_TOP_K} memories: mem0's `get_all` returns no more by default. "
                "Export again with a large `top_k` if there should be more"
            )
        self.more_follow = bool(page.get("next") or page.get("next_page_offset"))
        if page.get("relations"):
            self.note("relations of mem0's graph are not imported")

    def add_item(self, item: object) -> None:
        where = f"memory {len(self.found) + 1}"
        if not is_object(item):
            self.found.append(LeftOut(where=where, reason="not a memory", detail="it is not a JSON object"))
            return
        payload = item.get("payload")  # of a point, from a Qdrant server
        values = {**payload, "id": item.get("id")} if is_object(payload) else item
        self.found.append(row_of(values, where, self.today))

    def add_own(self, export: Json) -> None:
        self.kind = "export of Satchel"
        version, entries = export[OWN], export.get("entries")
        if version != 1 or not is_list(entries):
            raise SatchelError(
                f"an export of version {label(str(version), 20)} can't be read here",
                hint="import it with the version of Satchel that exported it, or a later one",
            )
        for entry in entries:
            where = f"entry {len(self.found) + 1}"
            is_entry = is_object(entry)
            self.found.append(
                own_row_of(entry, where) if is_entry else LeftOut(where=where, reason="not a memory")
            )

    def note(self, text: str) -> None:
        self.notes[text] = None


def read_export(path: Path, today: date) -> Export:
    try:
        text = _decoded(read_small(path, LARGEST), path)
    except OSError as error:
        raise SatchelError(
            f"{path} can't be read: {error.strerror}" if error.strerror else str(error),
            hint=f"an export is a file of at most {LARGEST // 1024 // 1024} MiB",
        ) from None
    if sum(map(text.count, ",[{")) > _MOST_PARTS:
        raise SatchelError(f"{path} has more than {_MOST_PARTS:,} values", hint="split it into several files")
    export = Export(today=today)
    at = _after_space(text, 0)
    while at < len(text):
        value, end = _value_at(text, at, path)
        if not export.add(value):
            raise SatchelError(
                f"{path}:{_line(text, at)}: this is neither a memory nor a list of memories",
                hint="save what `get_all` of mem0 returns, as JSON",
            )
        at = _after_space(text, end)
    if export.more_follow:
        export.note("the last page says that more pages follow: import those, too")
    return export


def _page_in(value: object) -> tuple[list[object], Json] | None:
    """The memories of one page, and the object that has them, where the value is a page."""
    if not is_object(value):
        return None
    inner = value.get("result")  # of an answer of a Qdrant server
    pages = [page for page in (value, inner) if is_object(page)]
    lists = [(page[key], page) for page in pages for key in _LISTS if is_list(page.get(key))]
    return lists[0] if lists else None


def _value_at(text: str, at: int, path: Path) -> tuple[object, int]:
    try:
        return _decoder.raw_decode(text, at)
    except json.JSONDecodeError as error:
        line, problem = error.lineno, error.msg
    except RecursionError:
        line, problem = _line(text, at), "it is nested too deep"
    except ValueError:
        line, problem = _line(text, at), "a number has too many digits"
    raise SatchelError(
        f"{path}:{line}: this is not JSON: {problem}", hint="export it once more; nothing has been imported"
    )


def _decoded(data: bytes, path: Path) -> str:
    if not data.strip():
        raise SatchelError(f"{path} is empty", hint="save what `get_all` of mem0 returns, as JSON")
    encoding = json.detect_encoding(data)  # some shells write UTF-16 into files
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SatchelError(f"{path}:{line}: this is not text in {encoding}") from None


def _after_space(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
