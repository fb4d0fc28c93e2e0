"""The HTTP transports: streamable HTTP, and SSE for older servers."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from satchel.config import Target
from satchel.support.json import mend_surrogates
from satchel.upstream.stdio import MAX_MESSAGE

_CONNECT_TIMEOUT = 10.0
# No read time-out: a tool may take long, and every call has a time-out of its own.
_TIMEOUT = httpx2.Timeout(_CONNECT_TIMEOUT, read=None, pool=None)


class Exchange:
    """Watches the answers: the last refusal, which the SDK reports without its status, and their size."""

    def __init__(self, limit: int | None = None) -> None:
        self._limit = limit  # bytes of an answer of any type, where none is to be a stream
        self.refused: int | None = None
        self.received = 0  # bytes

    async def note(self, response: httpx2.Response) -> None:
        if response.status_code >= 400:
            self.refused = response.status_code
        if response.headers.get("content-encoding", "identity") != "identity":
            # We asked for none: a small compressed answer can unpack to more memory than there is.
            raise httpx2.DecodingError("the answer is compressed, which was not asked for")
        if isinstance(response.stream, httpx2.AsyncByteStream):
            single = not response.headers.get("content-type", "").startswith("text/event-stream")
            limit = self._limit or (MAX_MESSAGE if single else None)
            response.stream = _Counted(response.stream, self, limit)


class _Counted(httpx2.AsyncByteStream):
    """A body that is counted and mended, and ends in an error when it is larger than a message may be."""

    def __init__(self, stream: httpx2.AsyncByteStream, exchange: Exchange, limit: int | None) -> None:
        self._stream = stream
        self._exchange = exchange
        self._limit = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        line = bytearray()  # what came since the last one ended: a chunk may end within an escape
        async for chunk in self._stream:
            size += len(chunk)
            self._exchange.received += len(chunk)
            if self._limit is not None and size > self._limit:
                raise httpx2.ReadError(f"the answer is larger than {self._limit >> 20} MiB")
            line += chunk
            # One that is too long is passed on as it is, for the SDK to refuse.
            end = max(chunk.rfind(b"\n"), chunk.rfind(b"\r")) if len(line) <= MAX_MESSAGE else len(chunk) - 1
            if end >= 0:
                end += len(line) - len(chunk) + 1
                yield mend_surrogates(bytes(line[:end]))
                del line[:end]
        if line:
            yield mend_surrogates(bytes(line))

    async def aclose(self) -> None:
        await self._stream.aclose()


def make_client(
    exchange: Exchange, headers: Mapping[str, str], auth: httpx2.Auth | None = None
) -> httpx2.AsyncClient:
    """A client whose answers are watched."""
    made = create_mcp_http_client(headers=dict(headers), timeout=_TIMEOUT, auth=auth)
    made.headers["Accept-Encoding"] = "identity"
    made.event_hooks["response"].append(exchange.note)
    return made


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
        return make_client(exchange, headers or target.headers, auth)

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
