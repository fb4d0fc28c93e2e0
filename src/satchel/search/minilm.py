"""Sentence vectors of the MiniLM and BERT family, computed with numpy alone.

Reads a directory as sentence-transformers writes it: `config.json`, `vocab.txt` and `model.safetensors`. It
computes and does not train; a model of another architecture, or with another kind of tokenizer, is refused.

What is read may be cut or hostile: nothing is allocated that the size of the file does not bear out.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from io import BufferedReader
from itertools import groupby
from pathlib import Path
from stat import S_ISREG
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from satchel.errors import ConfigError
from satchel.search.word_pieces import HINT, WordPieces
from satchel.support.files import read_small

Vectors = NDArray[np.float32]

WEIGHTS = "model.safetensors"
VOCABULARY = "vocab.txt"
_CONFIG = "config.json"
_POOLING = "1_Pooling/config.json"

_MOST_TOKENS = 256  # what these models were trained with; more makes their vectors worse
_BATCH_TOKENS = 512  # what a step holds then stays in the processor's cache
_BLOCK = 32_768  # numbers that the activation takes at a time, for the same reason
_HEADER_MAX = 8 * 1024 * 1024
_WEIGHTS_MAX = 2 * 1024 * 1024 * 1024  # the largest BERT has 1.3


class MiniLM:
    """One model in memory. `embed` may be called from several threads at once."""

    def __init__(self, directory: Path) -> None:
        config = _read(directory / _CONFIG)
        vocabulary = _read(directory / VOCABULARY)
        shape = _read_shape(config, directory / _CONFIG)
        self._pieces = WordPieces(vocabulary, directory / VOCABULARY, min(_MOST_TOKENS, shape.positions))
        self._heads = shape.heads
        self._epsilon = shape.epsilon
        self._first_only = _pools_first_only(directory / _POOLING)
        digest = sha256(b"".join(sha256(part).digest() for part in (config, vocabulary)))
        digest.update(bytes([self._first_only]))
        with _open(directory / WEIGHTS) as stream:
            weights = _Weights(stream, directory / WEIGHTS)
            self._load(weights, shape)
            digest.update(weights.sample.digest())
        self.identity = f"minilm-{digest.hexdigest()[:16]}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One vector of length 1 for each text, in their order."""
        encoded = [self._pieces.encode(text) for text in texts]
        vectors = np.empty((len(encoded), self._words.shape[1]), np.float32)
        with np.errstate(over="ignore", invalid="ignore"):  # told of below, and not on the standard error
            for batch in _batches(encoded):
                vectors[batch] = self._compute([encoded[row] for row in batch])
        if not np.isfinite(vectors).all():
            raise ConfigError("the weights of the model give no finite vectors", hint=HINT)
        return vectors

    def _load(self, weights: "_Weights", shape: "_Shape") -> None:
        hidden = shape.hidden
        self._words = weights.matrix("embeddings.word_embeddings.weight", None, hidden)
        if len(self._words) < self._pieces.count:
            raise weights.error(
                f"it has {len(self._words)} word vectors, and {VOCABULARY} {self._pieces.count} words"
            )
        # Every text is the first of its pair, so what marks it so is added once and for all.
        self._positions = weights.matrix("embeddings.position_embeddings.weight", shape.positions, hidden)
        self._positions += weights.matrix("embeddings.token_type_embeddings.weight", None, hidden)[0]
        self._norm = weights.pair("embeddings.LayerNorm", hidden)
        self._layers = [
            _read_layer(weights, f"encoder.layer.{number}", shape) for number in range(shape.layers)
        ]

    def _compute(self, encoded: Sequence[Sequence[int]]) -> Vectors:
        """The vectors of texts that are sorted by length: laid end to end, so that nothing is padded."""
        lengths = np.array([len(tokens) for tokens in encoded])
        starts = np.cumsum(lengths) - lengths
        states = self._words[np.concatenate(encoded)]
        states += self._positions[np.concatenate([np.arange(len(tokens)) for tokens in encoded])]
        _normalize(states, self._norm, self._epsilon)
        runs = list(_runs(encoded))
        for layer in self._layers:
            self._attend(layer, states, runs)
            inner = _linear(states, layer.widen)
            _gelu(inner)
            states += _linear(inner, layer.narrow)
            _normalize(states, layer.output_norm, self._epsilon)
        if self._first_only:
            pooled = states[starts]
        else:
            pooled = np.add.reduceat(states, starts, axis=0) / lengths[:, None].astype(np.float32)
        return pooled / np.maximum(np.linalg.norm(pooled, axis=1, keepdims=True), 1e-12)

    def _attend(self, layer: "_Layer", states: Vectors, runs: Sequence[tuple[int, int, int]]) -> None:
        joined = _linear(states, layer.attention)
        mixed = np.empty_like(states)
        for start, count, length in runs:
            rows = slice(start, start + count * length)
            query, key, value = (
                joined[rows].reshape(count, length, 3, self._heads, -1).transpose(2, 0, 3, 1, 4)
            )
            weights = query @ key.swapaxes(-1, -2)
            weights -= weights.max(axis=-1, keepdims=True)
            np.exp(weights, out=weights)
            heads = weights @ value
            heads /= weights.sum(axis=-1, keepdims=True)
            mixed[rows] = heads.transpose(0, 2, 1, 3).reshape(count * length, -1)
        states += _linear(mixed, layer.attended)
        _normalize(states, layer.attention_norm, self._epsilon)


# Arithmetic. What is named `pair` is a matrix or a scale, and what is added after it.

_Pair = tuple[Vectors, Vectors]


def _linear(states: Vectors, pair: _Pair) -> Vectors:
    result = states @ pair[0]
    result += pair[1]
    return result


def _normalize(states: Vectors, pair: _Pair, epsilon: float) -> None:
    states -= states.mean(axis=1, keepdims=True)
    variance = np.einsum("ij,ij->i", states, states)[:, None] / states.shape[1]
    states /= np.sqrt(variance + epsilon)
    states *= pair[0]
    states += pair[1]


def _gelu(values: Vectors) -> None:
    """x · Φ(x) in place, to about 1e-6.

    As max(x, 0) − |x| · Q(|x|), where Q = 1 − Φ by Abramowitz and Stegun 7.1.26: that needs no sign, and no
    difference of numbers close to 1.
    """
    flat = values.reshape(-1)
    scratch = np.empty((3, min(_BLOCK, flat.size)), np.float32)
    for start in range(0, flat.size, _BLOCK):
        block = flat[start : start + _BLOCK]
        size, tail, ratio = scratch[:, : block.size]
        np.abs(block, out=size)
        np.multiply(size, 0.3275911 / 2**0.5, out=ratio)
        ratio += 1
        np.reciprocal(ratio, out=ratio)
        np.multiply(ratio, 1.061405429 / 2, out=tail)
        for coefficient in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
            tail += coefficient / 2
            tail *= ratio
        tail *= size
        size *= size
        size *= -0.5
        np.exp(size, out=size)
        tail *= size
        np.maximum(block, 0, out=block)
        block -= tail


def _batches(encoded: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """The numbers of all texts by length, as many at a time as have `_BATCH_TOKENS` together."""
    batch: list[int] = []
    tokens = 0
    for row in sorted(range(len(encoded)), key=lambda row: len(encoded[row])):
        if batch and tokens + len(encoded[row]) > _BATCH_TOKENS:
            yield batch
            batch, tokens = [], 0
        batch.append(row)
        tokens += len(encoded[row])
    if batch:
        yield batch


def _runs(encoded: Sequence[Sequence[int]]) -> Iterator[tuple[int, int, int]]:
    """For each run of texts of one length: where it begins, how many texts it has, and the length."""
    start = 0
    for length, group in groupby(map(len, encoded)):
        count = sum(1 for _ in group)
        yield start, count, length
        start += count * length


# Files.


@dataclass(frozen=True, kw_only=True)
class _Shape:
    hidden: int
    layers: int
    heads: int
    inner: int
    positions: int
    epsilon: float


@dataclass(frozen=True, kw_only=True)
class _Layer:
    attention: _Pair  # query, key and value in one
    attended: _Pair
    attention_norm: _Pair
    widen: _Pair
    narrow: _Pair
    output_norm: _Pair


def _read(file: Path) -> bytes:
    try:
        return read_small(file, 16 * 1024 * 1024)
    except OSError as error:
        raise ConfigError(f"the model can't be read: {error}", file=file, hint=HINT) from None


def _read_json(content: bytes, file: Path) -> dict[str, Any]:
    try:
        value: object = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"it is not JSON: {error}", file=file, hint=HINT) from None
    if not isinstance(value, dict):
        raise ConfigError("it is not a JSON object", file=file, hint=HINT)
    return cast(dict[str, Any], value)


def _read_shape(content: bytes, file: Path) -> _Shape:
    config = _read_json(content, file)
    expected = {"model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute"}
    for key, value in expected.items():
        if config.get(key, value) != value:
            raise ConfigError(f"{key} is {config[key]!r}, and only {value!r} works here", file=file, key=key)
    shape = _Shape(
        hidden=_count(config, "hidden_size", file),
        layers=_count(config, "num_hidden_layers", file),
        heads=_count(config, "num_attention_heads", file),
        inner=_count(config, "intermediate_size", file),
        positions=_count(config, "max_position_embeddings", file),
        epsilon=_epsilon(config, file),
    )
    if shape.hidden % shape.heads:
        raise ConfigError(f"{shape.hidden} can't be divided among {shape.heads} heads", file=file, hint=HINT)
    if shape.positions < 3:
        raise ConfigError("the model has no room for a single word", file=file, hint=HINT)
    return shape


def _count(config: Mapping[str, Any], key: str, file: Path) -> int:
    value = config.get(key)
    if type(value) is not int or not 0 < value <= 1_000_000:
        raise ConfigError(f"{key} must be a positive number, and is {value!r}", file=file, key=key, hint=HINT)
    return value


def _epsilon(config: Mapping[str, Any], file: Path) -> float:
    value = config.get("layer_norm_eps", 1e-12)
    if not isinstance(value, float) or not 0 < value < 1:
        raise ConfigError(f"layer_norm_eps is {value!r}", file=file, key="layer_norm_eps", hint=HINT)
    return value


def _pools_first_only(file: Path) -> bool:
    """Whether the vector of a text is that of its first token, rather than the mean over all."""
    if not file.exists():
        return False
    config = _read_json(_read(file), file)
    modes = {key for key, value in config.items() if key.startswith("pooling_mode_") and value is True}
    if modes - {"pooling_mode_mean_tokens", "pooling_mode_cls_token"} or len(modes) > 1:
        raise ConfigError(f"this pooling is not known here: {', '.join(sorted(modes))}", file=file)
    return modes == {"pooling_mode_cls_token"}


def _open(file: Path) -> BufferedReader:
    try:
        stream = os.fdopen(os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb")
    except OSError as error:
        raise ConfigError(f"the model can't be read: {error}", file=file, hint=HINT) from None
    if S_ISREG(os.fstat(stream.fileno()).st_mode):
        return stream
    stream.close()
    raise ConfigError("it is not a regular file", file=file, hint=HINT)


def _read_layer(weights: "_Weights", name: str, shape: _Shape) -> _Layer:
    hidden, inner = shape.hidden, shape.inner
    parts = [
        weights.pair(f"{name}.attention.self.{part}", hidden, hidden) for part in ("query", "key", "value")
    ]
    for array in parts[0]:
        array /= (hidden // shape.heads) ** 0.5  # the scale of attention, once and for all
    joined = np.concatenate([matrix for matrix, _ in parts]), np.concatenate([bias for _, bias in parts])
    return _Layer(
        attention=_turned(joined),
        attended=_turned(weights.pair(f"{name}.attention.output.dense", hidden, hidden)),
        attention_norm=weights.pair(f"{name}.attention.output.LayerNorm", hidden),
        widen=_turned(weights.pair(f"{name}.intermediate.dense", inner, hidden)),
        narrow=_turned(weights.pair(f"{name}.output.dense", hidden, inner)),
        output_norm=weights.pair(f"{name}.output.LayerNorm", hidden),
    )


def _turned(pair: _Pair) -> _Pair:
    """With the matrix laid out as it is multiplied, which makes short texts a fifth faster."""
    return np.ascontiguousarray(pair[0].T), pair[1]


class _Weights:
    """The tensors of a safetensors file: a length of 8 bytes, a JSON header of that length, the numbers."""

    def __init__(self, stream: BufferedReader, file: Path) -> None:
        self._stream = stream
        self._file = file
        size = os.fstat(stream.fileno()).st_size
        if size > _WEIGHTS_MAX:
            raise self.error(f"it has more than {_WEIGHTS_MAX // 1024**3} GiB")
        length = int.from_bytes(stream.read(8), "little")
        if not 2 <= length <= min(_HEADER_MAX, size - 8):
            raise self.error("its header is cut or damaged")
        self._begin = 8 + length
        self._room = size - self._begin
        header = stream.read(length)
        self._tensors = _read_json(header, file)
        self._prefix = "" if "embeddings.word_embeddings.weight" in self._tensors else "bert."
        # A hash over some of every tensor, so that two trainings of one architecture are told apart.
        self.sample = sha256(header)
        self.sample.update(size.to_bytes(8, "little"))

    def error(self, message: str) -> ConfigError:
        return ConfigError(message, file=self._file, hint=HINT)

    def pair(self, name: str, rows: int, columns: int | None = None) -> _Pair:
        """The weight and the bias of one step; a weight without columns is a vector."""
        shape = [rows] if columns is None else [rows, columns]
        return self._take(f"{name}.weight", shape), self._take(f"{name}.bias", [rows])

    def matrix(self, name: str, rows: int | None, columns: int) -> Vectors:
        """A matrix; with any number of rows, but at least one, where none is given."""
        return self._take(name, [rows, columns])

    def _take(self, name: str, expected: Sequence[int | None]) -> Vectors:
        shape, kind, begin, end = self._look_up(name)
        if len(shape) != len(expected) or any(
            b not in (a, None) for a, b in zip(shape, expected, strict=True)
        ):
            raise self.error(f"{name} has the shape {shape}, and {_CONFIG} says {list(expected)}")
        count = 1
        for number in shape:
            count *= number
        if not 0 <= begin <= end <= self._room or end - begin != count * kind.itemsize or not count:
            raise self.error(f"{name} lies outside of the file, or is not as large as its shape")
        content = bytearray(end - begin)
        self._stream.seek(self._begin + begin)
        if self._stream.readinto(content) != len(content):
            raise self.error(f"{name} is cut")
        self.sample.update(content[:4096])
        numbers = np.frombuffer(content, kind).reshape(shape).astype(np.float32, copy=False)
        if not np.isfinite(numbers).all():
            raise self.error(f"{name} has numbers that are not finite")
        return numbers

    def _look_up(self, name: str) -> tuple[list[int], "np.dtype[Any]", int, int]:
        entry = self._tensors.get(self._prefix + name)
        if entry is None:
            raise self.error(f"it has no {name}")
        try:
            kind = {"F32": np.dtype("<f4"), "F16": np.dtype("<f2")}.get(entry["dtype"])
            shape: list[Any] = list(entry["shape"])
            begin, end = entry["data_offsets"]
        except (TypeError, KeyError, ValueError):
            raise self.error(f"the header describes {name} wrongly") from None
        if kind is None:
            raise self.error(f"{name} has numbers of the type {entry['dtype']!r}, and not F32 or F16")
        if any(type(number) is not int or number < 0 for number in (*shape, begin, end)):
            raise self.error(f"the header describes {name} wrongly")
        return shape, kind, begin, end
