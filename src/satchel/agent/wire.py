"""Between conversations and the library: messages out, parts in. Nothing of the library is stored."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from satchel.model import Json, Message, Usage

_OUTCOMES = {"ok": "success", "error": "failed", "interrupted": "interrupted", "denied": "denied"}
INTERRUPTED = (
    "no answer is known: it was interrupted, and may have had its effect. Find out before you repeat it."
)


def as_library(messages: Sequence[Message], instructions: str) -> list[ModelMessage]:
    """What a request is made of. Calls without an answer get one: providers refuse open ones."""
    found: list[ModelMessage] = []
    parts: list[Any] = []
    open_calls: list[Json] = []
    for message in messages:
        if message.role == "user":
            parts += [_returned(call, INTERRUPTED, "interrupted") for call in open_calls]
            open_calls = []
            parts.append(UserPromptPart(content=message.text))
        elif message.role == "tools":
            answers = {result["id"]: result for result in message.content.get("results", ())}
            for call in open_calls:
                result = answers.get(call["id"])
                text, outcome = (
                    (result["text"], result["outcome"]) if result else (INTERRUPTED, "interrupted")
                )
                parts.append(_returned(call, text, outcome))
            open_calls = []
        elif message.role == "model":
            if parts:
                found.append(ModelRequest(parts=parts))
                parts = []
            found.append(ModelResponse(parts=[_part(each) for each in message.content.get("parts", ())]))
            open_calls = message.calls
    parts += [_returned(call, INTERRUPTED, "interrupted") for call in open_calls]
    found.append(ModelRequest(parts=parts, instructions=instructions or None))
    return found


def parameters_for(definitions: Sequence[Json]) -> ModelRequestParameters:
    return ModelRequestParameters(
        function_tools=[
            ToolDefinition(
                name=each["name"],
                description=each.get("description"),
                parameters_json_schema=each["inputSchema"],
            )
            for each in definitions
        ]
    )


def parts_of(response: ModelResponse) -> list[Json]:
    """What a model has answered, in our form."""
    found: list[Json] = []
    for part in response.parts:
        if isinstance(part, TextPart) and part.content:
            found.append({"type": "text", "text": part.content} | _extra(part))
        elif isinstance(part, ThinkingPart):
            signature = {"signature": part.signature} if part.signature else {}
            found.append({"type": "thinking", "text": part.content} | signature | _extra(part))
        elif isinstance(part, ToolCallPart):
            call = {"type": "call", "id": part.tool_call_id, "name": part.tool_name, "arguments": part.args}
            found.append(call | _extra(part))
    return found


def usage_of(response: ModelResponse) -> Usage:
    usage = response.usage
    return Usage(
        requests=1,
        input_tokens=usage.input_tokens or 0,
        output_tokens=usage.output_tokens or 0,
        cost=_cost(response),
    )


def _cost(response: ModelResponse) -> float | None:
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError, AssertionError):  # a model without a known price
        return None


def _extra(part: TextPart | ThinkingPart | ToolCallPart) -> Json:
    """What providers want back with a part: an id, and details that only they understand."""
    values = {"part_id": part.id, "provider": part.provider_name, "details": part.provider_details}
    return {key: value for key, value in values.items() if value}


def _part(value: Mapping[str, Any]) -> TextPart | ThinkingPart | ToolCallPart:
    extra: dict[str, Any] = {
        "id": value.get("part_id"),
        "provider_name": value.get("provider"),
        "provider_details": value.get("details"),
    }
    if value["type"] == "text":
        return TextPart(content=value["text"], **extra)
    if value["type"] == "thinking":
        return ThinkingPart(content=value["text"], signature=value.get("signature"), **extra)
    return ToolCallPart(
        tool_name=value["name"], args=value.get("arguments"), tool_call_id=value["id"], **extra
    )


def _returned(call: Json, text: str, outcome: str) -> ToolReturnPart:
    kind: Any = _OUTCOMES.get(outcome, "success")
    return ToolReturnPart(tool_name=call["name"], content=text, tool_call_id=call["id"], outcome=kind)
