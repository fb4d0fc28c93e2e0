"""Scores by meaning come once vectors are there, keep nobody waiting, and survive a failing embedder."""

import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("numpy")

import numpy as np
from numpy.typing import NDArray

from satchel.errors import ConfigError, SatchelError
from satchel.search import meaning as module
from satchel.search.endpoint import Endpoint
from satchel.search.meaning import Embedder, Meaning, open_embedder
from satchel.search.minilm import MiniLM
from satchel.support.installing import how_to_install
from tests.search.test_minilm import write_model

pytestmark = pytest.mark.slow

WAIT = 30  # seconds, for what takes milliseconds: only a hang reaches it
LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Letters:
    """An embedder that counts letters. It can be made to fail, and to stop at a gate."""

    def __init__(self, identity: str = "letters", letters: str = LETTERS) -> None:
        self.identity = identity
        self.letters = letters
        self.calls: list[list[str]] = []
        self.error: Exception | None = None
        self.gate = threading.Event()
        self.gate.set()
        self.reached = threading.Event()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.calls.append(list(texts))
        self.reached.set()
        assert self.gate.wait(WAIT)
        if self.error is not None:
            raise self.error
        return np.array([[3 * text.count(letter) for letter in self.letters] for text in texts], np.float32)

    @property
    def embedded(self) -> list[str]:
        return [text for call in self.calls for text in call]


Make = Callable[..., Meaning]


@pytest.fixture
def make(tmp_path: Path) -> Generator[Make]:
    opened: list[Meaning] = []

    def make(embedder: Embedder | Callable[[], Embedder], **options: Any) -> Meaning:
        factory = embedder if callable(embedder) else lambda: embedder
        opened.append(Meaning(factory, tmp_path / "cache", **options))
        return opened[-1]

    yield make
    for meaning in opened:
        meaning.close()


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


DOCUMENTS = {"one": "abc", "two": "xyz", "three": "aabbcc", "four": "abxy"}


def test_scores_are_the_cosines_to_every_document(make: Make) -> None:
    meaning = make(Letters())
    meaning.update(DOCUMENTS)
    assert meaning.wait(WAIT)

    scores = meaning.scores("cba")

    assert scores is not None
    assert scores == pytest.approx({"one": 1, "two": 0, "three": 1, "four": 2 / 12**0.5}, abs=0.001)
    assert all(type(score) is float for score in scores.values())


def test_without_documents_there_is_nothing_to_wait_for_and_no_embedder_is_opened(make: Make) -> None:
    def fail() -> Embedder:
        raise AssertionError("opened")

    meaning = make(fail)
    assert meaning.wait(0)
    assert meaning.scores("a") == {}
    meaning.update({})
    assert meaning.wait(WAIT)
    assert meaning.scores("a") == {}
    assert meaning.problem is None


def test_update_and_scores_return_at_once_while_vectors_are_built(make: Make) -> None:
    letters = Letters()
    letters.gate.clear()
    meaning = make(letters)

    meaning.update(DOCUMENTS)
    assert letters.reached.wait(WAIT)
    assert meaning.scores("a") is None
    assert not meaning.wait(0.01)
    letters.gate.set()

    assert meaning.wait(WAIT)
    assert meaning.scores("a") is not None


def test_an_embedder_that_takes_long_to_open_keeps_nobody_waiting(make: Make) -> None:
    gate = threading.Event()

    def slow() -> Embedder:
        assert gate.wait(WAIT)
        return Letters()

    meaning = make(slow)
    meaning.update(DOCUMENTS)
    assert meaning.scores("a") is None
    gate.set()
    assert meaning.wait(WAIT)


def test_the_last_update_wins(make: Make) -> None:
    letters = Letters()
    letters.gate.clear()
    meaning = make(letters)
    meaning.update({str(number): f"old {number}" for number in range(1000)})
    assert letters.reached.wait(WAIT)
    meaning.update({"kept": "abc"})
    meaning.update({"new": "abc"})
    letters.gate.set()

    assert meaning.wait(WAIT)

    assert len(letters.embedded) == module._BATCH + 1  # what had been begun, and no more
    assert set(meaning.scores("a") or {}) == {"new"}


def test_documents_that_are_gone_or_changed_have_no_score_and_the_others_keep_theirs(make: Make) -> None:
    letters = Letters()
    meaning = make(letters)
    documents = {str(number): LETTERS[number % 26] * (number + 1) for number in range(100)}
    meaning.update(documents)
    assert meaning.wait(WAIT)
    assert meaning.scores("a") is not None
    letters.gate.clear()
    letters.reached.clear()

    del documents["0"]
    meaning.update(documents | {"1": "changed", "new": "also"})
    scores = meaning.scores("a")
    assert scores is not None
    assert set(scores) == set(documents) - {"1"}
    assert letters.reached.wait(WAIT)
    assert meaning.scores("a") == scores
    letters.gate.set()

    assert meaning.wait(WAIT)
    assert set(meaning.scores("a") or {}) == {*documents, "new"}
    assert letters.embedded[-2:] == ["changed", "also"]


def test_with_vectors_for_less_than_95_percent_there_are_no_scores(make: Make) -> None:
    letters = Letters()
    meaning = make(letters)
    documents = {str(number): f"{number} a" for number in range(95)}
    meaning.update(documents)
    assert meaning.wait(WAIT)
    assert meaning.scores("a") is not None
    letters.gate.clear()

    meaning.update(documents | {f"new {number}": f"new {number} a" for number in range(5)})
    assert len(meaning.scores("a") or {}) == 95
    meaning.update(documents | {f"new {number}": f"new {number} a" for number in range(6)})
    assert meaning.scores("a") is None
    letters.gate.set()


def test_a_text_is_embedded_once_however_often_it_is_a_document(make: Make) -> None:
    letters = Letters()
    meaning = make(letters)
    for documents in ({"a": "same", "b": "same"}, {"c": "same"}, {"c": "same"}):
        meaning.update(documents)
        assert meaning.wait(WAIT)
        assert set(meaning.scores("same") or {}) == set(documents)

    assert letters.embedded == ["same", "same"]  # as a document, as a query


def test_vectors_are_kept_for_the_next_process(make: Make) -> None:
    first = make(Letters())
    first.update(DOCUMENTS)
    assert first.wait(WAIT)
    first.close()
    again, other = Letters(), Letters("other")

    for letters in (again, other):
        meaning = make(letters)
        meaning.update(DOCUMENTS)
        assert meaning.wait(WAIT)
        assert len(meaning.scores("abc") or {}) == 4

    assert again.embedded == ["abc"]
    assert len(other.embedded) == 5


KILLED = """
import os, sys
from pathlib import Path
sys.path.insert(0, os.getcwd())
from satchel.search.meaning import Meaning
from tests.search.test_meaning import Letters

class Dying(Letters):
    def embed(self, texts):
        if len(self.calls) == 3:
            os.kill(os.getpid(), 9)
        return super().embed(texts)

meaning = Meaning(Dying, Path(sys.argv[1]))
meaning.update({str(number): f"text {number}" for number in range(1000)})
meaning.wait(30)
"""


def test_a_process_that_is_killed_while_building_leaves_what_it_had_built(make: Make, tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", KILLED, tmp_path / "cache"], cwd=root, timeout=WAIT, check=False)
    letters = Letters()
    meaning = make(letters)
    meaning.update({str(number): f"text {number}" for number in range(1000)})

    assert meaning.wait(WAIT)

    assert len(letters.embedded) == 1000 - 3 * module._BATCH


def test_queries_are_remembered_but_not_without_end(make: Make) -> None:
    letters = Letters()
    meaning = make(letters)
    meaning.update(DOCUMENTS)
    assert meaning.wait(WAIT)
    before = len(letters.calls)

    for _ in range(3):
        meaning.scores("query")
    assert len(letters.calls) == before + 1
    for number in range(256):
        meaning.scores(f"query {number}")
    meaning.scores("query")
    assert len(letters.calls) == before + 1 + 256 + 1


def test_a_failure_while_building_is_told_once_and_not_repeated_at_once(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    letters = Letters()
    letters.error = SatchelError("no vectors today")
    meaning = make(letters)
    with caplog.at_level(logging.WARNING):
        meaning.update(DOCUMENTS)
        assert not meaning.wait(WAIT)
        assert meaning.problem == "no vectors today"
        for number in range(20):
            meaning.update({str(number): "abc"})
            assert meaning.scores("a") is None
            assert not meaning.wait(WAIT)

    assert len(letters.calls) == 1
    assert len([record for record in caplog.records if "no vectors today" in record.message]) == 1


def test_after_a_pause_it_is_tried_again_and_the_problem_is_gone(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    letters = Letters()
    letters.error = RuntimeError("no vectors today")
    meaning = make(letters, pause=0.02)
    meaning.update(DOCUMENTS)
    until(lambda: len(letters.calls) >= 3)
    assert meaning.problem == "RuntimeError: no vectors today"
    assert len(caplog.records) == 1

    letters.error = None
    until(lambda: meaning.problem is None)

    assert meaning.wait(WAIT)
    assert meaning.scores("a") is not None


def test_an_embedder_that_can_not_be_opened_is_a_problem(make: Make) -> None:
    def missing() -> Embedder:
        return open_embedder("no-such-package-anywhere")

    meaning = make(missing)
    meaning.update(DOCUMENTS)

    assert not meaning.wait(WAIT)
    assert "no-such-package-anywhere" in (meaning.problem or "")
    assert meaning.scores("a") is None


@pytest.mark.parametrize(
    "wrong",
    [np.zeros((1, 3)), np.zeros(4), np.zeros((4, 0)), np.full((4, 3), np.nan), np.full((4, 3), np.inf)],
)
def test_vectors_that_are_none_are_a_problem(make: Make, wrong: NDArray[Any]) -> None:
    class Wrong(Letters):
        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            return wrong.astype(np.float32)

    meaning = make(Wrong())
    meaning.update(DOCUMENTS)

    assert not meaning.wait(WAIT)
    assert "the embedder made" in (meaning.problem or "")


def test_a_query_that_fails_gives_none_until_one_works_again(make: Make) -> None:
    letters = Letters()
    meaning = make(letters, pause=0.05)
    meaning.update(DOCUMENTS)
    assert meaning.wait(WAIT)
    assert meaning.scores("known") is not None
    letters.error = ConnectionError("gone")
    before = len(letters.calls)

    assert meaning.scores("a") is None
    assert meaning.problem == "ConnectionError: gone"
    assert meaning.wait(0)  # the documents have theirs all the same
    letters.error = None
    until(lambda: meaning.scores("known") is not None)

    assert meaning.problem is None
    assert len(letters.calls) == before + 2


def test_after_a_failed_query_the_embedder_is_left_alone(make: Make) -> None:
    letters = Letters()
    meaning = make(letters)
    meaning.update(DOCUMENTS)
    assert meaning.wait(WAIT)
    letters.error = ConnectionError("gone")
    before = len(letters.calls)

    assert [meaning.scores(str(number)) for number in range(50)] == [None] * 50

    assert len(letters.calls) == before + 1


def test_after_the_pause_one_query_tries_and_the_others_do_not_wait_for_it(make: Make) -> None:
    letters = Letters()
    meaning = make(letters)
    meaning.update(DOCUMENTS)
    assert meaning.wait(WAIT)
    letters.error = ConnectionError("gone")
    assert meaning.scores("a") is None
    letters.error = None
    letters.gate.clear()
    letters.reached.clear()
    meaning._ask_after = 0  # as if the minute were over
    before = len(letters.calls)

    first = threading.Thread(target=meaning.scores, args=["a"])
    first.start()
    assert letters.reached.wait(WAIT)
    assert meaning.scores("b") is None
    assert len(letters.calls) == before + 1
    letters.gate.set()
    first.join(WAIT)

    assert meaning.scores("b") is not None


def test_a_query_that_hangs_is_given_up(make: Make) -> None:
    letters = Letters()
    meaning = make(letters, patience=0.05)
    meaning.update(DOCUMENTS)
    assert meaning.wait(WAIT)
    letters.gate.clear()

    assert meaning.scores("a") is None

    assert meaning.problem == "the embedder did not answer a query within 0.05 s"
    letters.gate.set()


def test_an_embedder_whose_vectors_change_their_length_gets_all_documents_again(make: Make) -> None:
    letters = Letters()
    meaning = make(letters, pause=1)
    meaning.update(DOCUMENTS)
    assert meaning.wait(WAIT)

    letters.letters = "abc"
    assert meaning.scores("abc") is None
    assert "had 26 numbers, and now have 3" in (meaning.problem or "")
    until(lambda: meaning.scores("abc") is not None)
    assert (meaning.scores("abc") or {})["one"] == pytest.approx(1, abs=0.001)

    letters.letters = "abcd"
    meaning.update(DOCUMENTS | {"five": "dddd"})
    until(lambda: len(meaning.scores("d") or {}) == 5)
    assert (meaning.scores("d") or {})["five"] == pytest.approx(1, abs=0.001)


def test_a_cache_that_can_not_be_written_costs_only_the_cache(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "cache").write_text("no directory")
    meaning = Meaning(Letters, tmp_path / "cache")
    meaning.update({str(number): f"text {number}" for number in range(200)})

    assert meaning.wait(WAIT)
    assert len(meaning.scores("text") or {}) == 200
    assert meaning.problem is None
    assert len(caplog.records) == 1
    meaning.close()


def test_what_is_closed_stops_and_gives_no_scores(make: Make) -> None:
    letters = Letters()
    letters.gate.clear()
    meaning = make(letters, patience=0.05)
    meaning.update({str(number): f"text {number}" for number in range(1000)})
    assert letters.reached.wait(WAIT)

    meaning.close()
    letters.gate.set()
    assert meaning._thread is not None
    meaning._thread.join(WAIT)

    assert len(letters.calls) == 1
    assert meaning.scores("a") is None
    assert not meaning.wait(WAIT)
    meaning.update(DOCUMENTS)
    meaning.close()


def test_many_threads_may_ask_and_update_at_once(make: Make) -> None:
    meaning = make(Letters())
    failures: list[BaseException] = []

    def use(name: int) -> None:
        try:
            for number in range(20):
                meaning.update({str(row): f"{LETTERS[row]} {name} {number % 3}" for row in range(26)})
                scores = meaning.scores(f"{LETTERS[number]}")
                assert scores is None or len(scores) >= 0.95 * 26
        except BaseException as error:  # noqa: BLE001  raised in the thread of the test
            failures.append(error)

    threads = [threading.Thread(target=use, args=[name]) for name in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)

    assert failures == []
    assert meaning.wait(WAIT)
    assert len(meaning.scores("a") or {}) == 26
    assert threading.active_count() < 20


# Opening.


def test_a_url_opens_an_endpoint() -> None:
    embedder = open_embedder("http://localhost:1/v1", model="small", api_key="key")

    assert isinstance(embedder, Endpoint)
    with pytest.raises(ConfigError, match="http"):
        open_embedder("ftp://localhost/v1")


@pytest.mark.parametrize("below", ["", "model", "a/b/c"])
def test_a_directory_is_searched_for_a_model(tmp_path: Path, below: str) -> None:
    directory = tmp_path / below
    directory.mkdir(parents=True, exist_ok=True)
    write_model(directory)

    embedder = open_embedder(str(tmp_path))

    assert isinstance(embedder, MiniLM)
    assert len(embedder.embed(["the cat"])) == 1


def test_a_model_that_lies_too_deep_is_not_found(tmp_path: Path) -> None:
    directory = tmp_path / "a" / "b" / "c" / "d"
    directory.mkdir(parents=True)
    write_model(directory)

    with pytest.raises(ConfigError) as caught:
        open_embedder(str(tmp_path))
    assert str(tmp_path) in caught.value.message and caught.value.hint


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An installed package that carries a model, and must not be imported."""
    site = tmp_path / "site"
    (site / "tiny_model_for_test" / "model").mkdir(parents=True)
    (site / "tiny_model_for_test" / "__init__.py").write_text("raise SystemExit('imported')")
    write_model(site / "tiny_model_for_test" / "model")
    information = site / "other_name_for_test-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: other-name-for-test\nVersion: 1.0\n")
    (information / "RECORD").write_text("tiny_model_for_test/model/model.safetensors,,\n")
    monkeypatch.setattr(sys, "path", [str(site), *sys.path])
    return "tiny_model_for_test"


@pytest.mark.parametrize("name", ["tiny_model_for_test", "tiny-model-for-test", "other-name-for-test"])
def test_an_installed_package_is_found_by_either_name_and_not_imported(package: str, name: str) -> None:
    assert isinstance(open_embedder(name), MiniLM)
    assert package not in sys.modules


def test_a_part_of_a_package_is_not_looked_for_since_that_would_import_it(package: str) -> None:
    with pytest.raises(ConfigError):
        open_embedder(f"{package}.model")
    assert package not in sys.modules


@pytest.mark.parametrize(
    "source",
    [
        "",
        "json",
        "sys",
        "__main__",
        "no.such.module",
        "xml.dom",
        "/nowhere",
        "~no-such-user/x",
        "a\x00b",
        ".",
    ],
)
def test_anything_else_is_an_error_with_a_hint(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    with pytest.raises(ConfigError) as caught:
        open_embedder(source)
    assert caught.value.hint


WITHOUT_NUMPY = """
import json, sys
sys.modules["numpy"] = None
from satchel.errors import ConfigError
from satchel.search.meaning import open_embedder
told = []
for source in sys.argv[1:]:
    try:
        open_embedder(source)
    except ConfigError as error:
        told.append([error.message, error.hint])
print(json.dumps(told))
"""


def test_without_numpy_the_module_can_be_imported_and_says_what_to_install(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-c",
        WITHOUT_NUMPY,
        "http://localhost/v1",
        str(write_model(tmp_path / "model")),
    ]
    done = subprocess.run(command, capture_output=True, timeout=WAIT, check=True, env=os.environ)

    told = json.loads(done.stdout)
    assert len(told) == 2
    for message, hint in told:
        assert "numpy" in message
        assert how_to_install("semantic") in hint
