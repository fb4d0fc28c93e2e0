"""Vectors from a server that speaks OpenAI's embeddings API: theirs, or Ollama, llama.cpp, vLLM and others.

The key goes to the configured host and nowhere else: no redirect is followed, and no message contains it.
"""

import json
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from http.client import HTTPException, HTTPMessage, HTTPResponse, responses
from typing import IO, Any, cast
from urllib.error import HTTPError, URLError
from urllib.parse import SplitResult, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

import numpy as np
from numpy.typing import NDArray

from satchel.errors import ConfigError, SatchelError

Vectors = NDArray[np.float32]

_BATCH = 64  # texts in one request
_ANSWER_MAX = 64 * 1024 * 1024
_PIECE = 64 * 1024
# Models refuse a text that is longer than they read, and the whole batch with it. No token has less than one
# character, and OpenAI's models read 8,191 tokens.
_MOST_CHARACTERS = 8000


class Endpoint:
    """One model behind one URL. `embed` may be called from several threads at once."""

    def __init__(
        self, base: str, *, model: str = "", api_key: str = "", timeout: float = 30, pause: float = 1
    ) -> None:
        parts = _check_base(base)
        path = parts.path.rstrip("/") + "/embeddings"
        self._url = parts._replace(path=path, fragment="").geturl()
        self._shown = f"{parts.scheme}://{parts.netloc}{path}"  # a query may carry a secret
        self._model = model
        self._key = _check_key(api_key)
        self._timeout = timeout
        self._pause = pause
        self._opener = build_opener(_NoRedirects)
        self.identity = f"endpoint-{sha256(json.dumps([self._url, model]).encode()).hexdigest()[:16]}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One vector for each text, in their order, as long as the server makes them."""
        batches = [self._embed(texts[start : start + _BATCH]) for start in range(0, len(texts), _BATCH)]
        if not batches:
            return np.empty((0, 0), np.float32)
        if len({batch.shape[1] for batch in batches}) > 1:
            raise self._error("answered with vectors of different lengths")
        return np.concatenate(batches)

    def _embed(self, texts: Sequence[str]) -> Vectors:
        body: dict[str, Any] = {"model": self._model} if self._model else {}
        body["input"] = [_sendable(text) for text in texts]
        rows = list(self._parse(self._post(json.dumps(body).encode()), len(texts)))
        if len({len(row) for row in rows}) > 1:
            raise self._error("answered with vectors of different lengths")
        return np.array(rows, np.float32)

    def _parse(self, content: bytes, count: int) -> Iterator[list[float]]:
        try:
            answer: Any = json.loads(content)
            rows = {item["index"]: item["embedding"] for item in answer["data"]}
        except (ValueError, TypeError, KeyError, RecursionError):
            raise self._error("did not answer with embeddings in OpenAI's shape") from None
        if len(answer["data"]) != count or any(type(index) is not int for index in rows):
            raise self._error(f"answered with {len(answer['data'])} vectors for {count} texts")
        if sorted(rows) != list(range(count)):
            raise self._error("numbered its vectors wrongly")
        for index in range(count):
            if not _is_vector(rows[index]):
                raise self._error("answered with a vector that is not a list of finite numbers")
            yield rows[index]

    def _post(self, body: bytes) -> bytes:
        """The answer to the second attempt, where the first failed in a way that may have passed."""
        try:
            return self._post_once(body)
        except _PassingError:
            time.sleep(self._pause)
        return self._post_once(body)

    def _post_once(self, body: bytes) -> bytes:
        headers = {"Content-Type": "application/json", "User-Agent": "satchel"}
        request = Request(self._url, data=body, headers=headers, method="POST")
        if self._key:
            request.add_unredirected_header("Authorization", f"Bearer {self._key}")
        deadline = time.monotonic() + self._timeout
        with self._classified(), self._opener.open(request, timeout=self._timeout) as response:
            return self._read(response, deadline)

    def _read(self, response: HTTPResponse, deadline: float) -> bytes:
        pieces: list[bytes] = []
        size = 0
        while piece := response.read1(_PIECE):
            pieces.append(piece)
            size += len(piece)
            if size > _ANSWER_MAX:
                raise self._error(f"answered with more than {_ANSWER_MAX // 1024**2} MiB")
            if time.monotonic() > deadline:  # the socket's own only tells how long each piece may take
                raise TimeoutError
        return b"".join(pieces)

    @contextmanager
    def _classified(self) -> Generator[None]:
        try:
            yield
        except HTTPError as error:
            with error:
                raise self._refused(error) from None
        except (OSError, HTTPException) as error:
            reason = error.reason if isinstance(error, URLError) else error
            if isinstance(reason, TimeoutError):
                raise self._error(f"did not answer within {self._timeout:g} s") from None
            raise self._error(f"can't be reached: {self._clean(str(reason))}", _PassingError) from None

    def _refused(self, error: HTTPError) -> SatchelError:
        if 300 <= error.code < 400:
            target = self._clean(urlsplit(error.headers.get("Location", "")).netloc)
            hint = "set the base URL to the target of the redirect, if you trust it"
            return self._error(f"redirects to {target or 'another path'}, which is not followed", hint=hint)
        kind = _PassingError if error.code == 429 or error.code >= 500 else SatchelError
        words = self._clean(_explanation(error))
        message = f"answered {error.code} {responses.get(error.code, '')}".rstrip()
        hint = "check the API key" if error.code in (401, 403) else "check the base URL and the model"
        return self._error(f"{message}: {words}" if words else message, kind, hint=hint)

    def _error(
        self, what: str, kind: type[SatchelError] = SatchelError, *, hint: str | None = None
    ) -> SatchelError:
        return kind(f"{self._shown} {what}", hint=hint)

    def _clean(self, text: str) -> str:
        """Somebody else's words, short, in one line and without the key."""
        if self._key:
            text = text.replace(self._key, "***")
        return " ".join("".join(character if character.isprintable() else " " for character in text).split())[
            :200
        ]


class _PassingError(SatchelError):
    """One that may be gone a moment later."""


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        return None  # which makes it an HTTPError


def _check_base(base: str) -> SplitResult:
    try:
        parts = urlsplit(base.strip())
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ConfigError("the URL of the embeddings endpoint can't be read") from None
    if parts.scheme not in ("http", "https") or not host:
        raise ConfigError(
            f"the URL of the embeddings endpoint must begin with http:// or https://, not {parts.scheme}:",
            hint="for example https://api.openai.com/v1 or http://localhost:11434/v1",
        )
    if "@" in parts.netloc:
        raise ConfigError(
            f"the URL of the embeddings endpoint at {host} has a user name or password in it",
            hint="give it as the API key",
        )
    if not base.strip().isascii() or any(character.isspace() for character in base.strip()):
        raise ConfigError("the URL of the embeddings endpoint has characters that a URL can't have")
    return parts


def _check_key(key: str) -> str:
    key = key.strip()
    if not key.isascii() or not key.isprintable():  # http.client would refuse it, and print it
        raise ConfigError("the API key of the embeddings endpoint has characters that a header can't carry")
    return key


def _sendable(text: str) -> str:
    """A text that every server accepts: not empty, not too long, and valid UTF-8."""
    text = text[:_MOST_CHARACTERS].encode("utf-8", "replace").decode()
    return text if text.strip() else "-"


def _is_vector(value: object) -> bool:
    if not isinstance(value, list) or not value:
        return False
    numbers = cast(list[Any], value)
    # Beyond that float32 has no number; what is not a number is not smaller either.
    return all(type(number) in (float, int) and abs(number) < 3e38 for number in numbers)


def _explanation(error: HTTPError) -> str:
    try:
        content = error.read(4096).decode("utf-8", "replace")
    except (OSError, HTTPException):
        return ""
    try:
        told: Any = json.loads(content)
    except (ValueError, RecursionError):
        return content
    for key in ("error", "message"):
        if isinstance(told, dict):
            told = cast(dict[str, Any], told).get(key, cast(object, told))
    return told if isinstance(told, str) else content
