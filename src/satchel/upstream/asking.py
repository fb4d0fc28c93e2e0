"""What a server asks in the middle of a call, handed to the client that the call is made for.

The older protocol does not say which call a question or a line of the log belongs to. Where it could be that
of several clients on one connection, nobody gets it: a form must not be shown to the wrong person.
"""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import anyio
import mcp_types as types
from mcp import MCPError
from mcp_types import INVALID_REQUEST
from pydantic import TypeAdapter, ValidationError

from satchel.config import Target
from satchel.errors import SatchelError
from satchel.model import Client, Json, is_list, is_object
from satchel.upstream.redacting import redact, redact_all, redact_question

METHODS = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}
_WORDS = {
    "elicitation/create": "asks for input",
    "sampling/createMessage": "asks for a model's answer",
    "roots/list": "asks for the client's directories",
}
_RESULTS: dict[str, TypeAdapter[Any]] = {
    "elicitation/create": TypeAdapter(types.ElicitResult),
    "sampling/createMessage": TypeAdapter(types.CreateMessageResult | types.CreateMessageResultWithTools),
    "roots/list": TypeAdapter(types.ListRootsResult),
}
_LINGERS = 30.0  # seconds in which a server may still ask for a call that was given up


class Turn:
    """One call that is under way. `refusal` is why something that the server asked was not answered."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.refusal: str | None = None


async def _never(method: str, params: Json, key: str) -> Json:
    raise AssertionError("nobody can be asked")


_NOBODY = Client(key="nobody", ask=_never)


class Asking:
    """The calls that are under way on one connection."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._turns: list[Turn] = []
        self._given_up: dict[object, float] = {}  # by the key of a client: until when it counts

    @contextmanager
    def turn(self, client: Client | None) -> Generator[Turn]:
        client = client or _NOBODY
        turn = Turn(client)
        self._turns.append(turn)
        try:
            yield turn
        except anyio.get_cancelled_exc_class():
            self._given_up[client.key] = anyio.current_time() + _LINGERS
            raise
        finally:
            self._turns.remove(turn)

    def _is_one_client(self) -> bool:
        """Whether nobody else can be meant than the client of the calls under way."""
        now = anyio.current_time()
        self._given_up = {key: until for key, until in self._given_up.items() if until > now}
        return len({turn.client.key for turn in self._turns} | self._given_up.keys()) == 1

    async def answer(self, method: str, params: Mapping[str, Any] | None) -> Json:
        """The client's answer, or MCPError for the server."""
        if not self._turns:
            raise MCPError(code=INVALID_REQUEST, message="no call is under way whose client could be asked")
        if not self._is_one_client():
            refusal = f"it {_WORDS[method]} while several clients use it, and does not say whom it means"
            for turn in self._turns:
                turn.refusal = refusal
            raise MCPError(code=INVALID_REQUEST, message=refusal)
        turn = self._turns[-1]
        try:
            return await ask(turn.client, method, dict(params or {}), "", self._target)
        except SatchelError as error:
            turn.refusal = error.message
            raise MCPError(code=INVALID_REQUEST, message=error.message) from error

    def log(self, params: Json) -> None:
        """A message of the server's log, for the client that has calls under way."""
        if self._turns and self._is_one_client():
            self._turns[-1].client.log(redact_all(params, self._target.result_secrets))


async def ask(client: Client | None, method: str, params: Json, key: str, target: Target) -> Json:
    """Ask a client. SatchelError says why it can't be, without the server's secrets."""
    needed = METHODS.get(method)
    if client is None or needed not in client.can:
        what = _WORDS.get(method, f"asks for '{redact(method, target.secrets)[:40]}'")
        said = _message(params, target.secrets)
        raise SatchelError(f"it {what}{said}, and the client can't be asked")
    try:
        secrets = target.result_secrets
        answer = await client.ask(method, redact_question(params, secrets), redact(key, secrets))
    except SatchelError as error:
        raise SatchelError(f"{error.message}{_message(params, target.secrets)}") from error
    try:
        _RESULTS[method].validate_python(answer, by_name=False)
    except ValidationError:
        raise SatchelError(f"it {_WORDS[method]}, and the client's answer does not fit that") from None
    return answer


async def answers_to(client: Client | None, requests: object, target: Target) -> Json:
    """What a client answers to the questions of an interim result, by their keys; asked all at once."""
    asked = list(requests.items()) if is_object(requests) else []
    answers: Json = dict.fromkeys(key for key, _ in asked)
    failures: list[SatchelError] = []

    async def answer(key: str, request: object) -> None:
        method = request.get("method") if is_object(request) else None
        params = request.get("params") if is_object(request) else None
        given = dict(params) if is_object(params) else {}
        try:
            answers[key] = await ask(client, str(method), given, key, target)
        except SatchelError as error:
            failures.append(error)
            tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        for key, request in asked:
            tasks.start_soon(answer, key, request)
    if failures:
        raise failures[0]
    return answers


def _message(params: Json, secrets: Sequence[str]) -> str:
    """The question for a person or a model, if it is text."""
    said: object = params.get("message")
    messages = params.get("messages")
    last: object = messages[-1] if is_list(messages) and messages else None
    content: object = last.get("content") if is_object(last) else None
    if is_object(content):
        said = content.get("text")
    text = " ".join(redact(said, secrets).split()) if isinstance(said, str) else ""
    return f" ('{text[:200]}')" if text else ""
