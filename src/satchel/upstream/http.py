"""The HTTP transports: streamable HTTP, and SSE for older servers."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from satchel.config import Target
from satchel.upstream.stdio import MAX_MESSAGE

_CONNECT_TIMEOUT = 10.0
# No read time-out: a tool may take long, and every call has a time-out of its own.
_TIMEOUT = httpx2.Timeout(_CONNECT_TIMEOUT, read=None, pool=None)


class Exchange:
    """What the last refused request said; the SDK reports no status."""

    def __init__(self) -> None:
        self.refused: int | None = None

    async def note(self, response: httpx2.Response) -> None:
        if response.status_code >= 400:
            self.refused = response.status_code


@asynccontextmanager
async def open_http(
    target: Target, auth: httpx2.Auth | None, exchange: Exchange
) -> AsyncGenerator[tuple[Any, Any]]:
    """Open the transport that the entry names."""

    def client(
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = auth,
    ) -> httpx2.AsyncClient:
        made = create_mcp_http_client(headers=headers or dict(target.headers), timeout=_TIMEOUT, auth=auth)
        made.event_hooks["response"].append(exchange.note)
        return made

    if target.transport == "sse":
        async with sse_client(
            target.url, headers=dict(target.headers), auth=auth, httpx_client_factory=client
        ) as streams:
            yield streams
        return
    async with (
        client() as http,
        streamable_http_client(target.url, http_client=http, max_sse_event_size=MAX_MESSAGE) as streams,
    ):
        yield streams
