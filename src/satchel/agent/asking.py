"""One request to a model, streamed or not: what it answers, and what that took."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError, UnexpectedModelBehavior, UserError
from pydantic_ai.messages import PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta
from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings as LibrarySettings

from satchel.agent.models import WHAT_TO_WRITE, model_settings, open_model
from satchel.agent.wire import as_library, parameters_for, parts_of, usage_of
from satchel.config.agents import AgentSettings
from satchel.config.models import ModelSettings
from satchel.errors import ArgumentError, ModelError
from satchel.model import Json, Message, TurnRequest, Usage, is_object

_LONGEST_REASON = 300  # characters


@dataclass(frozen=True, kw_only=True)
class Response:
    parts: tuple[Json, ...]
    usage: Usage


@dataclass(frozen=True, kw_only=True)
class AskedModel:
    """A model, and how it is asked."""

    name: str
    model: Model[Any]
    stream: bool = True
    max_tokens: int | None = None

    async def ask(
        self,
        messages: Sequence[Message],
        definitions: Sequence[Json],
        instructions: str,
        say: Callable[[str], None],
    ) -> Response:
        """The answer. ModelError for whatever goes wrong on the way."""
        sent = as_library(messages, instructions)
        parameters = parameters_for(definitions)
        settings = LibrarySettings(max_tokens=self.max_tokens) if self.max_tokens else None
        try:
            if not self.stream:
                # Imported with the rest of the library, and named here for what it is: one request.
                response = await _request(self.model, sent, settings, parameters)
            else:
                response = await _stream(self.model, sent, settings, parameters, say)
        except ModelHTTPError as error:
            raise ModelError(self.name, _http_reason(error), hint=_http_hint(error.status_code)) from error
        except (ModelAPIError, UnexpectedModelBehavior) as error:
            raise ModelError(self.name, _short(error.message)) from error
        except (UserError, ValueError) as error:
            raise ModelError(self.name, _short(str(error))) from error
        return Response(parts=tuple(parts_of(response)), usage=usage_of(response))


def asked_model(
    request: TurnRequest,
    agent: AgentSettings,
    models: Mapping[str, ModelSettings],
    environment: Mapping[str, str],
) -> AskedModel:
    """The model of a turn: the one that is asked for, or the agent's own."""
    name = request.model or agent.model
    if name is None:
        raise ArgumentError(f"the agent {request.agent} has no model", argument="model", hint=WHAT_TO_WRITE)
    known = model_settings(name, models)
    model = open_model(known, environment)
    return AskedModel(name=name, model=model, stream=request.stream, max_tokens=known.max_tokens)


async def _request(model: Model[Any], sent: Any, settings: Any, parameters: Any) -> Any:
    from pydantic_ai.direct import model_request  # as late as the first request: it loads instrumentation

    return await model_request(model, sent, model_settings=settings, model_request_parameters=parameters)


async def _stream(
    model: Model[Any], sent: Any, settings: Any, parameters: Any, say: Callable[[str], None]
) -> Any:
    from pydantic_ai.direct import model_request_stream  # as above

    async with model_request_stream(
        model, sent, model_settings=settings, model_request_parameters=parameters
    ) as stream:
        async for event in stream:
            if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart) and event.part.content:
                say(event.part.content)
            elif isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
                say(event.delta.content_delta)
        return stream.get()


def _http_reason(error: ModelHTTPError) -> str:
    body: object = error.body
    if is_object(body):
        inner: object = body.get("error", body)
        body = inner.get("message", inner) if is_object(inner) else inner
    return _short(f"HTTP {error.status_code}: {body}" if body else f"HTTP {error.status_code}")


def _http_hint(status: int) -> str | None:
    if status in (401, 403):
        return "the provider does not accept the key: check the variable that has it"
    if status == 404:
        return "the provider does not know the model, or base_url is not the address up to /v1"
    if status == 429:
        return "the provider asks to wait: go on later with --resume"
    return "go on with --resume: nothing that was done is done again" if status >= 500 else None


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_REASON else f"{line[: _LONGEST_REASON - 1]}…"
