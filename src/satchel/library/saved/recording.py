"""The calls of a skill's test, kept with their results, and answered from what was kept.

The journal has only digests of results. So a test that is to run without servers has a recording of its own,
in the skill's folder: it is for the owner of the folder, and is not copied when the skill is promoted.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from satchel.errors import ArgumentError, NotFoundError, SatchelError, ToolError
from satchel.library.install.folders import read_inside
from satchel.model import Call, CallResult, CallTool, Json, Tool, is_list, is_object
from satchel.names import Spelling

RECORDED = "recorded.json"
LARGEST = 4 * 1024 * 1024  # bytes of a recording
_FORMAT = 1


class Recorder:
    """Stands in the way of calls, and keeps what came of each."""

    def __init__(self, send: CallTool) -> None:
        self._send = send
        self._rows: list[Json] = []

    async def call(self, call: Call) -> CallResult:
        row: Json = {"tool": call.what.qualified_name, "arguments": dict(call.arguments)}
        self._rows.append(row)
        try:
            result = await self._send(call)
        except ToolError as error:
            row["error"] = {"message": error.reason, "kind": error.kind}
            raise
        except SatchelError as error:
            row["error"] = {"message": error.message, "kind": "request"}
            raise
        row["result"] = {
            "content": list(result.content),
            "is_error": result.is_error,
            **({"structured": result.structured} if result.has_structured else {}),
        }
        return result

    def encoded(self) -> bytes:
        """All calls that were answered, as they are kept."""
        rows = [row for row in self._rows if "result" in row or "error" in row]
        data = json.dumps({"format": _FORMAT, "calls": rows}, ensure_ascii=False, indent=1)
        encoded = data.encode("utf-8", "replace")
        if len(encoded) > LARGEST:
            raise ArgumentError(
                f"the calls returned {len(encoded):,} bytes; at most {LARGEST:,} are kept",
                hint="test it live, or let its example ask for less",
            )
        return encoded


class Recording:
    """Answers calls with what was kept of them; the same call gets its answers in their order."""

    def __init__(self, rows: Iterable[Json]) -> None:
        self._answers: dict[str, list[Json]] = {}
        self._tools: set[str] = set()
        self.missing: list[str] = []
        """Calls that were made and are not in the recording."""
        for row in rows:
            self._tools.add(row["tool"])
            self._answers.setdefault(_key(row["tool"], row["arguments"]), []).append(row)

    def tool(self, name: str, known: Tool | None) -> Tool:
        """The tool that a name means: that of the catalog, or one that stands in for what it was."""
        if known is not None and (known.qualified_name in self._tools or name not in self._tools):
            return known
        if name not in self._tools:
            self.missing.append(name[:200])
            raise NotFoundError("tool", name[:200], hint="it is not in the recording; record the test again")
        server, _, tool = name.partition(".")
        spelling = Spelling(python="", typescript="", wire="")
        return Tool(
            server=server, name=tool, spelling=spelling, wire_name="", digest="", read_definition=dict
        )

    async def call(self, call: Call) -> CallResult:
        name = call.what.qualified_name
        answers = self._answers.get(_key(name, dict(call.arguments)))
        if not answers:
            self.missing.append(name)
            raise ToolError(
                call.what.server,
                call.what.label,
                "the recording has no such call with these arguments",
                kind="request",
            )
        row = answers.pop(0) if len(answers) > 1 else answers[0]
        if is_object(error := row.get("error")):
            message, kind = str(error.get("message")), str(error.get("kind"))
            raise ToolError(call.what.server, call.what.label, message, kind=kind)
        result: Json = row["result"]
        return CallResult(
            content=tuple(result["content"]),
            structured=result.get("structured"),
            has_structured="structured" in result,
            is_error=result["is_error"] is True,
        )


def read_recording(file: Path) -> Recording:
    """ArgumentError where there is none, or none that can be read."""
    try:
        kept: Any = json.loads(read_inside(file.parents[1], f"{file.parent.name}/{file.name}", LARGEST))
        rows = kept["calls"] if kept["format"] == _FORMAT else None
        if is_list(rows) and all(map(_is_whole, rows)):
            return Recording(rows)
    except FileNotFoundError:
        raise ArgumentError(
            "there is no recording of its calls", hint="satchel skills test NAME --record makes one"
        ) from None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    raise ArgumentError(f"{file} can't be read", hint="make a new one: satchel skills test NAME --record")


def _is_whole(row: object) -> bool:
    if not is_object(row) or not isinstance(row.get("tool"), str) or not is_object(row.get("arguments")):
        return False
    result = row.get("result")
    return is_object(row.get("error")) or (
        is_object(result)
        and is_list(result.get("content"))
        and all(map(is_object, result["content"]))
        and isinstance(result.get("is_error"), bool)
    )


def _key(tool: str, arguments: Json) -> str:
    return json.dumps([tool, arguments], sort_keys=True, separators=(",", ":"))
