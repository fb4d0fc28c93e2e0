"""A connection that answers from a table, for trying programs and testing them without any server."""

from collections.abc import Callable, Mapping
from typing import Any

from satchel_runtime.errors import tool_error


class Answers:
    """Answers calls of `server.tool` with a value, or with what a function makes of the arguments.

    A call by another spelling, as with `call_mcp_tool`, is answered under that spelling.

    `requests` has every request in order, as (method, params).
    """

    def __init__(self, answers: Mapping[str, Any | Callable[[dict[str, Any]], Any]] | None = None) -> None:
        self._answers = answers or {}
        self.requests: list[tuple[str, dict[str, Any]]] = []

    async def request(self, method: str, params: dict[str, Any]) -> Any:
        return self.request_blocking(method, params)

    def request_blocking(self, method: str, params: dict[str, Any]) -> Any:
        self.requests.append((method, params))
        if method != "call_tool":
            return self._answers.get(method)
        name = params.get("name") or f"{params['server']}.{params['tool']}"
        if name not in self._answers:
            server, _, tool = name.partition(".")
            raise tool_error(server, tool, "no answer is prepared for it", "not_found")
        answer = self._answers[name]
        return answer(params["arguments"]) if callable(answer) else answer
