"""What carries the calls of generated code to Satchel in these tests: the runtime's requests as its verbs."""

import json
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal

import satchel_runtime
from satchel import Satchel, errors
from satchel.model import CallResult
from satchel_runtime import ToolError


class Bridge:
    """A connection for programs that run in the same process as Satchel."""

    def __init__(self, satchel: Satchel, portal: BlockingPortal | None = None) -> None:
        self._satchel = satchel
        self._portal = portal

    async def request(self, method: str, params: dict[str, Any]) -> Any:
        return await answer(self._satchel, method, params)

    def request_blocking(self, method: str, params: dict[str, Any]) -> Any:
        if self._portal is None:
            raise RuntimeError("Satchel runs in this thread, which may not block")
        return self._portal.call(answer, self._satchel, method, params)


async def answer(satchel: Satchel, method: str, params: dict[str, Any]) -> Any:
    """Do what a program asks for; a failure is the runtime's ToolError."""
    match method:
        case "call_tool":
            name = params.get("name") or f"{params['server']}.{params['tool']}"
            try:
                return value_of(await satchel.call(name, params["arguments"]))
            except errors.ToolError as error:
                raise ToolError(error.server, error.tool, error.reason, error.kind) from error
            except errors.ArgumentError as error:
                raise ToolError(params["server"], params["tool"], error.message, "arguments") from error
        case "read_resource":
            return await satchel.resources.read(params["server"], params["uri"])
        case "get_prompt":
            return await satchel.resources.prompt(params["server"], params["name"], params["arguments"])
        case _:
            raise ValueError(f"nobody answers {method}")


def value_of(result: CallResult) -> Any:
    """Structured content where there is some, else the JSON of the text, else the text."""
    if result.has_structured:
        return result.structured
    try:
        return json.loads(result.text)
    except ValueError:
        return result.text


def runtime_directory() -> Path:
    """Where the runtime was imported from."""
    return Path(satchel_runtime.__file__).parents[1]
