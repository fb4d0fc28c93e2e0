"""An endpoint is asked in OpenAI's shape, its answers are checked, and its key goes nowhere else."""

import json
import threading
from collections.abc import Callable, Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

pytest.importorskip("numpy")

import numpy as np

from satchel.errors import ConfigError, SatchelError
from satchel.search import endpoint
from satchel.search.endpoint import Endpoint

KEY = "sk-very-secret"
Answer = Callable[[dict[str, Any]], tuple[int, bytes]]


def vectors_for(texts: list[str]) -> list[dict[str, Any]]:
    return [{"index": index, "embedding": [len(text), 1.5]} for index, text in enumerate(texts)]


def honest(body: dict[str, Any]) -> tuple[int, bytes]:
    return 200, json.dumps({"data": vectors_for(body["input"])[::-1]}).encode()


class Server:
    """A real one; `answers` are used up one by one, the last one stays."""

    def __init__(self) -> None:
        self.answers: list[Answer] = [honest]
        self.seen: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.headers: dict[str, str] = {}
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.seen.append((self.path, dict(self.headers), body))
                answer = outer.answers.pop(0) if len(outer.answers) > 1 else outer.answers[0]
                status, content = answer(body)
                if not status:
                    return  # closes the connection without a word
                self.send_response(status)
                for name, value in outer.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]  # clients hang up on purpose
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        self._thread = threading.Thread(target=lambda: self._server.serve_forever(0.01), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Generator[Server]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server = Server()
    yield server
    server.close()


def opened(server: Server, **options: Any) -> Endpoint:
    defaults: dict[str, Any] = {"model": "small", "api_key": KEY, "timeout": 10, "pause": 0.01}
    return Endpoint(server.url, **defaults | options)


def test_texts_are_sent_with_model_and_key_and_vectors_come_in_their_order(server: Server) -> None:
    vectors = opened(server).embed(["a", "bb", "ccc"])

    assert vectors.dtype == np.float32
    assert vectors.tolist() == [[1, 1.5], [2, 1.5], [3, 1.5]]
    path, headers, body = server.seen[0]
    assert path == "/v1/embeddings"
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert body == {"model": "small", "input": ["a", "bb", "ccc"]}


def test_without_key_and_model_neither_is_sent(server: Server) -> None:
    opened(server, model="", api_key="").embed(["a"])

    _, headers, body = server.seen[0]
    assert "Authorization" not in headers
    assert body == {"input": ["a"]}


def test_many_texts_are_sent_64_at_a_time(server: Server) -> None:
    vectors = opened(server).embed(["x" * (number + 1) for number in range(150)])

    assert vectors[:, 0].tolist() == list(range(1, 151))
    assert [len(body["input"]) for _, _, body in server.seen] == [64, 64, 22]


def test_no_texts_need_no_request(server: Server) -> None:
    assert len(opened(server).embed([])) == 0
    assert server.seen == []


@pytest.mark.parametrize("ending", ["", "/", "//", "?version=1", "/?version=1", "#part"])
def test_the_path_is_added_to_the_base(server: Server, ending: str) -> None:
    Endpoint(server.url + ending).embed(["a"])

    query = "?version=1" if "?" in ending else ""
    assert server.seen[0][0] == f"/v1/embeddings{query}"


def test_texts_that_servers_refuse_are_made_fit(server: Server) -> None:
    opened(server).embed(["", " \n", "long " * 100_000, "half \ud800 of a pair"])

    sent = server.seen[0][2]["input"]
    assert sent[:2] == ["-", "-"]
    assert len(sent[2]) == 8000
    assert sent[3] == "half ? of a pair"


def test_the_identity_depends_on_url_and_model_and_not_on_the_key() -> None:
    one = Endpoint("http://localhost/v1", model="a", api_key="x").identity

    assert one == Endpoint("http://localhost/v1/", model="a", api_key="y").identity
    assert one != Endpoint("http://localhost/v1", model="b").identity
    assert one != Endpoint("http://localhost/v2", model="a").identity


def fixed(status: int, content: bytes = b"") -> Answer:
    return lambda _: (status, content)


@pytest.mark.parametrize("status", [429, 500, 503, 0])
def test_what_may_have_passed_is_tried_once_more(server: Server, status: int) -> None:
    server.answers = [fixed(status), honest]

    assert opened(server).embed(["a"]).tolist() == [[1, 1.5]]
    assert len(server.seen) == 2


@pytest.mark.parametrize(("status", "attempts"), [(503, 2), (429, 2), (0, 2), (400, 1), (401, 1), (404, 1)])
def test_after_that_it_is_an_error(server: Server, status: int, attempts: int) -> None:
    server.answers = [fixed(status, json.dumps({"error": {"message": f"no: {KEY}\n\x1b"}}).encode())]

    with pytest.raises(SatchelError, match=str(status) if status else "can't be reached") as caught:
        opened(server).embed(["a"])
    assert len(server.seen) == attempts
    assert KEY not in f"{caught.value!r} {caught.value.hint} {caught.value.__cause__}"
    assert caught.value.message.isprintable()
    if status:
        assert "no: ***" in caught.value.message


def test_a_server_that_is_not_there_is_an_error(server: Server) -> None:
    server.close()

    with pytest.raises(SatchelError, match="can't be reached"):
        opened(server).embed(["a"])


def test_no_redirect_is_followed(server: Server) -> None:
    other = Server()
    try:
        for status in (301, 302, 303, 307, 308):
            server.answers = [fixed(status)]
            server.headers = {"Location": f"{other.url}/embeddings"}
            with pytest.raises(SatchelError, match=r"redirects to 127\.0\.0\.1:"):
                opened(server).embed(["a"])
        assert other.seen == []
    finally:
        other.close()


ONE = [{"index": 0, "embedding": [1, 2]}]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b"", "OpenAI's shape"),
        (b"<html>", "OpenAI's shape"),
        (b"[" * 100_000, "OpenAI's shape"),
        (b"[]", "OpenAI's shape"),
        (b'{"data": 3}', "OpenAI's shape"),
        (b'{"data": [{"index": 0}]}', "OpenAI's shape"),
        (b'{"data": [{"index": [], "embedding": [1]}]}', "OpenAI's shape"),
        (json.dumps({"data": ONE}).encode(), "1 vectors for 2 texts"),
        (json.dumps({"data": ONE * 2}).encode(), "numbered"),
        (json.dumps({"data": [*ONE, {"index": 2, "embedding": [1, 2]}]}).encode(), "numbered"),
        (json.dumps({"data": [*ONE, {"index": True, "embedding": [1, 2]}]}).encode(), "2 vectors"),
        (json.dumps({"data": [*ONE, {"index": 1, "embedding": [1]}]}).encode(), "different lengths"),
        (json.dumps({"data": [*ONE, {"index": 1, "embedding": []}]}).encode(), "finite numbers"),
        (json.dumps({"data": [*ONE, {"index": 1, "embedding": "AAAA"}]}).encode(), "finite numbers"),
        (json.dumps({"data": [*ONE, {"index": 1, "embedding": ["1", "2"]}]}).encode(), "finite numbers"),
        (json.dumps({"data": [*ONE, {"index": 1, "embedding": [1, None]}]}).encode(), "finite numbers"),
        (
            json.dumps({"data": [*ONE, {"index": 1, "embedding": [1, float("nan")]}]}).encode(),
            "finite numbers",
        ),
        (json.dumps({"data": [*ONE, {"index": 1, "embedding": [1, 1e300]}]}).encode(), "finite numbers"),
        (json.dumps({"data": [*ONE, {"index": 1, "embedding": [1, 10**400]}]}).encode(), "finite numbers"),
    ],
)
def test_an_answer_in_another_shape_is_an_error(server: Server, answer: bytes, message: str) -> None:
    server.answers = [fixed(200, answer)]

    with pytest.raises(SatchelError, match=message):
        opened(server).embed(["a", "b"])
    assert len(server.seen) == 1


def test_batches_of_different_lengths_are_an_error(server: Server) -> None:
    server.answers = [honest, fixed(200, b'{"data": [{"index": 0, "embedding": [1]}]}')]

    with pytest.raises(SatchelError, match="different lengths"):
        opened(server).embed(["a"] * 65)


def test_an_answer_without_end_is_not_read_to_it(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "_ANSWER_MAX", 1024 * 1024)
    server.answers = [fixed(200, b" " * 3 * 1024 * 1024)]

    with pytest.raises(SatchelError, match="more than 1 MiB"):
        opened(server).embed(["a"])


def test_a_server_that_is_silent_is_given_up_after_the_time(server: Server) -> None:
    silence = threading.Event()

    def silent(_: dict[str, Any]) -> tuple[int, bytes]:
        silence.wait(60)
        return 0, b""

    server.answers = [silent]
    with pytest.raises(SatchelError, match=r"within 0\.1 s"):
        opened(server, timeout=0.1).embed(["a"])
    silence.set()
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    "base",
    [
        "ftp://host/v1",
        "file:///etc/passwd",
        "http://",
        "localhost:8080",
        "",
        "http://[::1",
        "http://host:port/",
        f"https://user:{KEY}@host/v1",
        "http://host/a b",
        "http://höst/",
    ],
)
def test_other_urls_are_refused(base: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Endpoint(base)
    assert KEY not in f"{caught.value!r} {caught.value.hint}"


@pytest.mark.parametrize("key", [f"{KEY}\nX-Other: 1", f"{KEY}\x00", f"{KEY}é"])
def test_a_key_that_a_header_can_not_carry_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Endpoint("http://localhost", api_key=key)
    assert KEY not in repr(caught.value)


def test_a_line_end_after_the_key_does_not_matter(server: Server) -> None:
    opened(server, api_key=f"{KEY}\n").embed(["a"])

    assert server.seen[0][1]["Authorization"] == f"Bearer {KEY}"
