"""Results as the server sent them.

The SDK validates every result against the negotiated protocol version and drops what it does not know: one
odd tool loses the whole list, one wrong field the result of a call that already had its effect. This
dispatcher hands the SDK a minimal valid result in place of the real one, which rides along on it. Everything
else (negotiation, correlation, cancellation, progress, headers) stays the SDK's.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
from mcp.shared.dispatcher import CallOptions, DispatchContext, OnNotify, OnNotifyIntercept, OnRequest
from mcp.shared.inbound import mcp_param_headers, x_mcp_header_map
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.transport_context import TransportContext
from mcp_types import RequestId
from pydantic import TypeAdapter

# method → what the SDK accepts as its result
_MINIMAL: dict[str, dict[str, Any]] = {
    "tools/list": {"tools": []},
    "resources/list": {"resources": []},
    "resources/templates/list": {"resourceTemplates": []},
    "prompts/list": {"prompts": []},
    "tools/call": {"content": []},
    "resources/read": {"contents": []},
    "prompts/get": {"messages": []},
    "completion/complete": {"completion": {"values": []}},
    "resources/subscribe": {},
    "resources/unsubscribe": {},
}
_MODERN = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}

AS_IT_IS: TypeAdapter[Any] = TypeAdapter(Any)
"""The result type to ask the SDK for: it returns the Kept result untouched."""


Answer = Callable[[str, Mapping[str, Any] | None], Awaitable[dict[str, Any]]]


class Kept(dict[str, Any]):
    """A minimal valid result that carries the real one."""

    raw: dict[str, Any]


class LenientDispatcher(JSONRPCDispatcher[TransportContext]):
    """Keeps raw results, mirrors annotated arguments into headers, and tells when the connection ends."""

    modern = False
    """Whether the negotiated version is of the 2026 era, whose results have more required fields."""

    def __init__(
        self, *arguments: Any, answers: Mapping[str, "Answer"] | None = None, **options: Any
    ) -> None:
        super().__init__(*arguments, **options)
        self.ended = anyio.Event()
        self._answers = answers or {}  # who answers which of the server's requests, as it came
        self._header_maps: dict[str, dict[tuple[str, ...], str]] = {}

    def learn(self, tool: str, input_schema: Mapping[str, Any]) -> None:
        """Note which arguments of `tool` its schema wants mirrored into headers.

        The SDK learns this only from a listing on the same connection, and a call must not need one.
        """
        if tool not in self._header_maps:
            try:
                self._header_maps[tool] = x_mcp_header_map(input_schema)
            except (AttributeError, TypeError, ValueError):  # too odd a schema to be walked
                self._header_maps[tool] = {}

    async def send_raw_request(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        opts: CallOptions | None = None,
        *,
        _related_request_id: RequestId | None = None,
    ) -> dict[str, Any]:
        if (
            method == "tools/call"
            and self.modern
            and params
            and (known := self._header_maps.get(params["name"]))
        ):
            headers = mcp_param_headers(known, params.get("arguments") or {})
            opts = {**(opts or {}), "headers": {**(opts or {}).get("headers", {}), **headers}}
        raw = await super().send_raw_request(method, params, opts, _related_request_id=_related_request_id)
        if method not in _MINIMAL:
            return raw
        kept = Kept(_MINIMAL[method] | (_MODERN if self.modern else {}))
        kept.raw = raw
        return kept

    async def run(
        self,
        on_request: OnRequest,
        on_notify: OnNotify,
        on_notify_intercept: OnNotifyIntercept | None = None,
        **options: Any,
    ) -> None:
        async def answer(
            context: DispatchContext[TransportContext], method: str, params: Mapping[str, Any] | None
        ) -> dict[str, Any]:
            if method in self._answers:
                return await self._answers[method](method, params)
            return await on_request(context, method, params)

        try:
            await super().run(answer, on_notify, on_notify_intercept, **options)
        finally:
            self.ended.set()
