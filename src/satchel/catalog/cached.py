"""One file of the cache, read: the head, and the definitions that are read when someone asks for them."""

import json
import mmap
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, NamedTuple, cast

from satchel.model import Change, Json
from satchel.names import Spelling

FORMAT = 1


class CachedTool(NamedTuple):
    name: str
    title: str | None
    description: str
    annotations: Mapping[str, Any]
    digest: str
    spelling: Spelling
    read_definition: Callable[[], Json]


class CachedServer:
    """One file of the cache. The file is mapped, not read: a newer one may take its place at any time.

    Whatever is wrong with the file shows here, as one of the errors in `DAMAGED`.
    """

    DAMAGED = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError)

    def __init__(self, content: mmap.mmap | bytes) -> None:
        self._content = content
        end = content.find(b"\n")
        self.head: Json = json.loads(content[:end])
        if self.head["format"] != FORMAT or self.head["size"] != len(content) - end - 1:
            raise ValueError("in a different format, or cut short")
        self._start = end + 1
        for name, _, _, annotations, value, spelling, place in self.head["tools"]:
            if not (type(name) is type(value) is str and type(annotations) is dict):
                raise ValueError("a tool that is not an object")
            if len(spelling) != 3 or sum(place) > self.head["size"]:
                raise ValueError("a tool without spelling or definition")
        self.changes = tuple(
            Change(**(change | {"fields": tuple(change["fields"])}))
            for change in cast("list[Any]", self.head["changes"])
        )

    def accepted(self, tool: str) -> Json | None:
        """The definition that a changed tool had when it was accepted, if it is still known."""
        place = self.head.get("accepted", {}).get(tool)
        return None if place is None else self._read(place)

    @cached_property
    def tools(self) -> tuple[CachedTool, ...]:
        return tuple(self._tool(*row) for row in self.head["tools"])

    @property
    def spellings(self) -> dict[str, Spelling]:
        return {tool.name: tool.spelling for tool in self.tools}

    def _read(self, place: list[int]) -> Json:
        begin = self._start + place[0]
        return json.loads(self._content[begin : begin + place[1]])

    def _tool(
        self,
        name: str,
        title: str | None,
        description: str,
        annotations: Json,
        digest: str,
        spelling: list[str],
        place: list[int],
    ) -> CachedTool:
        def read_definition() -> Json:
            return self._read(place)

        python, typescript, wire = spelling
        return CachedTool(
            name=name,
            title=title,
            description=description,
            annotations=annotations,
            digest=digest,
            spelling=Spelling(python=python, typescript=typescript, wire=wire),
            read_definition=read_definition,
        )
