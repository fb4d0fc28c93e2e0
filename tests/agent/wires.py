"""Models as scripted servers on the wire: OpenAI's chat completions and responses, and Anthropic's messages.

    async with scripted_model([Say("Hello.")]) as model:
        model.settings("chat")     # what `models.NAME` in satchel.yaml has to say
        model.requests             # what was sent, by any wire, in one form

A step of the script is what the model answers: texts and calls. Nothing here uses Satchel's own code, so that
a test sees what a provider would see.
"""

import asyncio
import json
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

WIRES = ("chat", "responses", "anthropic")
PROVIDERS = {"chat": "openai-chat", "responses": "openai-responses", "anthropic": "anthropic"}
_PIECE = 7  # characters of a text that are streamed at once


@dataclass(frozen=True)
class Use:
    """A call of a tool. `raw` are arguments as a confused model writes them."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    raw: str | None = None

    @property
    def text(self) -> str:
        return json.dumps(self.arguments) if self.raw is None else self.raw


@dataclass(frozen=True)
class Say:
    """One answer of a model: a text, calls, or both."""

    text: str = ""
    uses: tuple[Use, ...] = ()


@dataclass(frozen=True)
class Fail:
    """An answer that the provider does not give."""

    status: int = 500
    message: str = "the provider is overloaded"


@dataclass(frozen=True)
class Hang:
    """No answer, until the client goes away. What is said before is streamed."""

    text: str = ""


Step = Say | Fail | Hang


@dataclass(frozen=True)
class Sent:
    """A request as a model would read it, whichever wire it came by."""

    system: str
    tools: tuple[str, ...]
    messages: tuple[tuple[str, str], ...]  # (user | model | call | result, text)
    raw: dict[str, Any]
    stream: bool

    @property
    def last(self) -> str:
        return self.messages[-1][1]


class ScriptedModel:
    """`answer` decides by what was sent; without it, the script has an answer for each request."""

    def __init__(self, script: Sequence[Step]) -> None:
        self.script = list(script)
        self.answer: Callable[[Sent], Step] | None = None
        self.requests: list[Sent] = []
        self.bodies: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.port = 0

    def settings(self, wire: str = "chat") -> dict[str, Any]:
        base = f"http://127.0.0.1:{self.port}"
        return {
            "model": f"{PROVIDERS[wire]}:scripted",
            "base_url": base if wire == "anthropic" else f"{base}/v1",
            "api_key": "${SCRIPTED_KEY}",
        }

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/v1/chat/completions", self._chat, methods=["POST"]),
                Route("/v1/responses", self._responses, methods=["POST"]),
                Route("/v1/messages", self._anthropic, methods=["POST"]),
            ]
        )

    async def _next(self, request: Request, read: Any) -> tuple[Step, dict[str, Any]]:
        text = (await request.body()).decode()
        body: dict[str, Any] = json.loads(text)
        self.bodies.append(text)
        self.headers.append(dict(request.headers))
        sent: Sent = read(body)
        self.requests.append(sent)
        if self.answer is not None:
            return self.answer(sent), body
        return self.script[min(len(self.requests), len(self.script)) - 1], body

    async def _chat(self, request: Request) -> Response:
        step, body = await self._next(request, _sent_chat)
        if isinstance(step, Fail):
            return JSONResponse({"error": {"message": step.message}}, status_code=step.status)
        number = len(self.requests)
        calls = [
            {
                "index": place,
                "id": f"call_{number}_{place}",
                "type": "function",
                "function": {"name": use.name, "arguments": use.text},
            }
            for place, use in enumerate(_uses(step))
        ]
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        head = {"id": f"chat_{number}", "created": 1, "model": "scripted", "object": "chat.completion"}
        finish = "tool_calls" if calls else "stop"
        if not body.get("stream"):
            if isinstance(step, Hang):
                await _until_the_client_leaves()
            message = {"role": "assistant", "content": step.text or None, "tool_calls": calls or None}
            choice = {"index": 0, "message": message, "finish_reason": finish}
            return JSONResponse({**head, "choices": [choice], "usage": usage})

        async def pieces() -> AsyncIterator[dict[str, Any]]:
            def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
                choice = {"index": 0, "delta": delta, "finish_reason": finish}
                return {**head, "object": "chat.completion.chunk", "choices": [choice]}

            yield chunk({"role": "assistant", "content": ""})
            for piece in _pieces(step.text):
                yield chunk({"content": piece})
            if isinstance(step, Hang):
                await _until_the_client_leaves()
            for call in calls:
                yield chunk({"tool_calls": [call]})
            yield chunk({}, finish)
            yield {**head, "object": "chat.completion.chunk", "choices": [], "usage": usage}

        return _events(pieces(), done=True)

    async def _responses(self, request: Request) -> Response:
        step, body = await self._next(request, _sent_responses)
        if isinstance(step, Fail):
            return JSONResponse({"error": {"message": step.message}}, status_code=step.status)
        number = len(self.requests)
        output: list[dict[str, Any]] = []
        if step.text:
            content: list[dict[str, Any]] = [{"type": "output_text", "text": step.text, "annotations": []}]
            output.append(
                {
                    "type": "message",
                    "id": f"msg_{number}",
                    "role": "assistant",
                    "status": "completed",
                    "content": content,
                }
            )
        for place, use in enumerate(_uses(step)):
            output.append(
                {
                    "type": "function_call",
                    "id": f"fc_{number}_{place}",
                    "call_id": f"call_{number}_{place}",
                    "name": use.name,
                    "arguments": use.text,
                    "status": "completed",
                }
            )
        details = {
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        }
        response = {
            "id": f"resp_{number}",
            "object": "response",
            "created_at": 1,
            "model": "scripted",
            "status": "completed",
            "output": output,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110, **details},
        }
        if not body.get("stream"):
            if isinstance(step, Hang):
                await _until_the_client_leaves()
            return JSONResponse(response)

        async def pieces() -> AsyncIterator[dict[str, Any]]:
            started = {**response, "status": "in_progress", "output": []}
            yield {"type": "response.created", "response": started}
            for index, item in enumerate(output):
                begun = {**item, "status": "in_progress"}
                if item["type"] == "message":
                    begun["content"] = []
                else:
                    begun["arguments"] = ""
                yield {"type": "response.output_item.added", "output_index": index, "item": begun}
                where = {"item_id": item["id"], "output_index": index}
                if item["type"] == "message":
                    part = item["content"][0]
                    empty = {**part, "text": ""}
                    at = {**where, "content_index": 0}
                    yield {"type": "response.content_part.added", **at, "part": empty}
                    for piece in _pieces(part["text"]):
                        yield {"type": "response.output_text.delta", **at, "delta": piece, "logprobs": []}
                    if isinstance(step, Hang):
                        await _until_the_client_leaves()
                    done: dict[str, Any] = {"text": part["text"], "logprobs": []}
                    yield {"type": "response.output_text.done", **at, **done}
                    yield {"type": "response.content_part.done", **at, "part": part}
                else:
                    arguments = item["arguments"]
                    delta = "response.function_call_arguments"
                    yield {"type": f"{delta}.delta", **where, "delta": arguments}
                    yield {"type": f"{delta}.done", **where, "arguments": arguments, "name": item["name"]}
                yield {"type": "response.output_item.done", "output_index": index, "item": item}
            yield {"type": "response.completed", "response": response}

        async def numbered() -> AsyncIterator[dict[str, Any]]:
            number = 0
            async for piece in pieces():
                yield {**piece, "sequence_number": number}
                number += 1

        return _events(numbered(), named=True)

    async def _anthropic(self, request: Request) -> Response:
        step, body = await self._next(request, _sent_anthropic)
        if isinstance(step, Fail):
            error = {"type": "error", "error": {"type": "api_error", "message": step.message}}
            return JSONResponse(error, status_code=step.status)
        number = len(self.requests)
        content: list[dict[str, Any]] = [{"type": "text", "text": step.text}] if step.text else []
        for place, use in enumerate(_uses(step)):
            content.append(
                {
                    "type": "tool_use",
                    "id": f"call_{number}_{place}",
                    "name": use.name,
                    "input": json.loads(use.text),
                }
            )
        message = {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": "scripted",
            "content": content,
            "stop_reason": "tool_use" if _uses(step) else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 100, "output_tokens": 10},
        }
        if not body.get("stream"):
            if isinstance(step, Hang):
                await _until_the_client_leaves()
            return JSONResponse(message)

        async def pieces() -> AsyncIterator[dict[str, Any]]:
            empty = {**message, "content": [], "stop_reason": None}
            yield {"type": "message_start", "message": empty}
            for index, block in enumerate(content):
                begun: dict[str, Any] = (
                    {**block, "text": ""} if block["type"] == "text" else {**block, "input": {}}
                )
                yield {"type": "content_block_start", "index": index, "content_block": begun}
                if block["type"] == "text":
                    for piece in _pieces(block["text"]):
                        delta = {"type": "text_delta", "text": piece}
                        yield {"type": "content_block_delta", "index": index, "delta": delta}
                    if isinstance(step, Hang):
                        await _until_the_client_leaves()
                else:
                    delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
                    yield {"type": "content_block_delta", "index": index, "delta": delta}
                yield {"type": "content_block_stop", "index": index}
            end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
            yield {"type": "message_delta", "delta": end, "usage": {"output_tokens": 10}}
            yield {"type": "message_stop"}

        return _events(pieces(), named=True)


@asynccontextmanager
async def scripted_model(script: Sequence[Step]) -> AsyncGenerator[ScriptedModel]:
    """A model on a port of this machine, in this process."""
    model = ScriptedModel(script)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listening.listen()
        model.port = listening.getsockname()[1]
        config = uvicorn.Config(
            model.app(), log_level="critical", lifespan="off", timeout_graceful_shutdown=1
        )
        server = uvicorn.Server(config)
        task = asyncio.create_task(server._serve([listening]))
        try:
            yield model
        finally:
            server.should_exit = server.force_exit = True
            await task


async def _until_the_client_leaves() -> None:
    await asyncio.Event().wait()


def _uses(step: Step) -> tuple[Use, ...]:
    return step.uses if isinstance(step, Say) else ()


def _pieces(text: str) -> list[str]:
    return [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]


def _events(
    pieces: AsyncIterator[dict[str, Any]], *, named: bool = False, done: bool = False
) -> StreamingResponse:
    async def lines() -> AsyncIterator[str]:
        async for piece in pieces:
            yield (f"event: {piece['type']}\n" if named else "") + f"data: {json.dumps(piece)}\n\n"
        if done:
            yield "data: [DONE]\n\n"

    return StreamingResponse(lines(), media_type="text/event-stream")


# Requests of all wires in one form


def _sent_chat(body: dict[str, Any]) -> Sent:
    system: list[str] = []
    messages: list[tuple[str, str]] = []
    for message in body["messages"]:
        text = _text(message.get("content"))
        if message["role"] in ("system", "developer"):
            system.append(text)
        elif message["role"] == "tool":
            messages.append(("result", text))
        else:
            if text:
                messages.append(("user" if message["role"] == "user" else "model", text))
            messages += [("call", call["function"]["name"]) for call in message.get("tool_calls") or ()]
    tools = tuple(tool["function"]["name"] for tool in body.get("tools", ()))
    return Sent("\n".join(system), tools, tuple(messages), body, bool(body.get("stream")))


def _sent_responses(body: dict[str, Any]) -> Sent:
    messages: list[tuple[str, str]] = []
    system = [str(body.get("instructions") or "")]
    for item in body["input"]:
        if item.get("type") == "function_call":
            messages.append(("call", item["name"]))
        elif item.get("type") == "function_call_output":
            messages.append(("result", _text(item["output"])))
        elif item.get("role") in ("system", "developer"):
            system.append(_text(item["content"]))
        elif "role" in item:
            messages.append(("user" if item["role"] == "user" else "model", _text(item["content"])))
    tools = tuple(tool["name"] for tool in body.get("tools", ()))
    return Sent("\n".join(filter(None, system)), tools, tuple(messages), body, bool(body.get("stream")))


def _sent_anthropic(body: dict[str, Any]) -> Sent:
    messages: list[tuple[str, str]] = []
    for message in body["messages"]:
        content = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if block["type"] == "text":
                messages.append(("user" if message["role"] == "user" else "model", block["text"]))
            elif block["type"] == "tool_use":
                messages.append(("call", block["name"]))
            elif block["type"] == "tool_result":
                messages.append(("result", _text(block["content"])))
    tools = tuple(tool["name"] for tool in body.get("tools", ()))
    return Sent(_text(body.get("system")), tools, tuple(messages), body, bool(body.get("stream")))


def _text(content: Any) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(part.get("text", "") for part in content)
