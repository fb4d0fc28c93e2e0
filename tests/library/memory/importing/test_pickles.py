"""Points are read from what pickles say, and nothing that a pickle asks for is done."""

import os
import pickle
import random
import struct
from pathlib import Path
from typing import Any

import pytest

from satchel.library.memory.importing.pickles import LARGEST, read_point
from satchel.library.memory.importing.values import DEEPEST
from tests.library.memory.importing.points import MODULE, pickled_point

PAYLOAD = {
    "data": "Tea is at four.",
    "agent_id": "worker_a",
    "score": -0.5,
    "many": [1, -70000, 2**70, None, True],
}


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value.encode())) + value.encode()


def crafted(payload: bytes) -> bytes:
    """A pickle of a point whose payload is what these operations leave on the stack."""
    named = text(MODULE) + text("PointStruct") + b"\x93)\x81"
    return b"\x80\x04" + named + b"}" + text("__dict__") + b"}" + text("payload") + payload + b"ssb."


@pytest.mark.parametrize(
    "vector",
    [[0.25, -1.0, 1e300], {"": [0.5] * 4096}, ([1, 70000], [0.5, 1.5]), [[1.0], [2.0]], []],
    ids=["dense", "named", "sparse", "multiple", "empty"],
)
def test_a_point_is_read_with_its_payload_whatever_its_vector(
    monkeypatch: pytest.MonkeyPatch, vector: object
) -> None:
    assert read_point(pickled_point(monkeypatch, "8526cfe6", vector, PAYLOAD)) == ("8526cfe6", PAYLOAD)


def test_a_point_of_an_older_client_on_pydantic_1_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    data = pickled_point(monkeypatch, 7, [1.0], PAYLOAD)
    older = data.replace(b"__pydantic_fields_set__", b"__private_fields_set__0")

    assert read_point(older) == (7, PAYLOAD)


def test_texts_and_lists_of_any_length_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    payload: dict[str, Any] = {
        "data": "é☕" * 60_000,
        "many": list(range(-3000, 3000)),
        "short": "x" * 300,
        "a": {"b": [{}]},
    }

    assert read_point(pickled_point(monkeypatch, 1, [], payload))[1] == payload


def test_what_no_text_may_have_becomes_a_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    payload = {"data": "half \ud83d and \x00 and \x1b[2J \x9b2J", "number": float("nan")}

    assert read_point(pickled_point(monkeypatch, 1, [], payload))[1] == {
        "data": "half \ufffd and \ufffd and \ufffd[2J \ufffd2J",
        "number": None,
    }


class Calls:
    def __init__(self, call: Any, *arguments: object) -> None:
        self.call = call, arguments

    def __reduce__(self) -> Any:
        return self.call


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("place", ["all", "payload", "vector", "key"])
def test_nothing_that_a_pickle_names_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: int, place: str
) -> None:
    touched = tmp_path / "touched"
    hostile = pickle.dumps(Calls(os.mkdir, str(touched)), protocol=protocol)
    pickle.loads(hostile)
    assert touched.exists()
    touched.rmdir()

    inner = hostile[2 if protocol > 1 else 0 : -1]
    data = {
        "all": hostile,
        "payload": crafted(b"}" + text("data") + inner + b"s"),
        "vector": crafted(inner + b"}" + text("data") + text("Tea.") + b"s"),
        "key": crafted(b"}" + inner + text("data") + b"s"),
    }[place]
    with pytest.raises(ValueError, match=r"no point needs|it is cut off"):
        read_point(data)
    assert not touched.exists()


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "system"),
        ("posix", "system"),
        ("builtins", "eval"),
        ("builtins", "getattr"),
        ("subprocess", "Popen"),
        ("satchel.errors", "SatchelError"),
        (MODULE, "Filter"),
        (MODULE, "os.system"),
        ("qdrant_client.http.models", "models.PointStruct"),
        ("\x1b[2J" + "x" * 500, "\n"),
    ],
)
def test_a_class_that_points_do_not_have_is_refused_by_its_name(module: str, name: str) -> None:
    with pytest.raises(ValueError, match=r"it names .*, which no point needs") as refused:
        read_point(crafted(text(module) + text(name) + b"\x93)\x81"))
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize(
    "operations",
    [
        b"cos\nsystem\n",  # GLOBAL
        b"(X\x02\x00\x00\x00idios\nsystem\n",  # INST
        b"Pperson\n",  # PERSID
        text("person") + b"Q",  # BINPERSID
        b"\x82\x01",  # EXT1
        b"\x83\x01\x00",
        b"\x84\x01\x00\x00\x00",
        b"(o",  # OBJ
        b")R",  # REDUCE
        b")}\x92",  # NEWOBJ_EX
        b"\x97",  # NEXT_BUFFER
        b"\x98",
        b"I1\n",
        b"L1L\n",
        b"\x8b\xff\xff\xff\x7f",  # LONG4
        b"B\xff\xff\xff\xff",
        b"\x96\xff\xff\xff\xff\xff\xff\xff\xff",  # BYTEARRAY8
        b"\xff",
    ],
)
def test_an_operation_that_points_do_not_need_is_refused(operations: bytes) -> None:
    with pytest.raises(ValueError, match="no point needs its operation 0x"):
        read_point(crafted(operations))


@pytest.mark.parametrize(
    "payload",
    [
        b"\x8d" + b"\xff" * 8,  # a text of 16 exabytes
        b"X\xff\xff\xff\xff",
        b"\x8c",
        b"\x8a\xff\x01",
        b"G\x00",
        b"h\x09",  # nothing is remembered there
        b"j\xff\xff\xff\xff",
        b"e",  # there is no mark
        b"u",
        b"ss" * 9,
        b"\x94" * 3,
        b"\x87",
        b"]]]\x93",  # a class named by lists
        b"}}a",
        b"]" + text("k") + text("v") + b"s",
        b"}}b",
        text("setstate") + b"}b",
        b"]K\x01\x81",
        b"\x8c\x02\xff\xfe",
        b"(" * 100_000,
        b"N",
        b"]",
    ],
)
def test_what_is_broken_or_huge_by_its_word_only_is_refused(payload: bytes) -> None:
    with pytest.raises(ValueError, match=r"^(it|no point|the name)"):
        read_point(crafted(payload))


def test_a_number_for_the_memo_takes_no_memory() -> None:
    far = b"}r\xff\xff\xff\xff" + text("data") + text("Tea.") + b"s"

    assert read_point(crafted(far)) == (None, {"data": "Tea."})


@pytest.mark.slow
def test_lists_that_share_lists_without_end_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has the one before twice: as a tree they would fill any memory."""
    lists: list[Any] = []
    for _ in range(DEEPEST - 3):
        lists = [lists, lists]

    with pytest.raises(ValueError, match="it has more than"):
        read_point(pickled_point(monkeypatch, 1, [], {"data": "Tea.", "shared": lists}))


def test_a_long_text_that_is_in_many_places_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    payload = {"data": "Tea.", "many": ["long" * 25_000] * 1000}
    data = pickled_point(monkeypatch, 1, [], payload)

    assert len(data) < LARGEST
    with pytest.raises(ValueError, match="it has more than"):
        read_point(data)


def test_what_contains_itself_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    itself: dict[str, Any] = {"data": "Tea."}
    itself["itself"] = [itself]

    with pytest.raises(ValueError, match=f"it has more than {DEEPEST} levels"):
        read_point(pickled_point(monkeypatch, 1, [], itself))


def test_a_nesting_of_any_depth_is_refused() -> None:
    for deep in (b"]" * 100_000 + b"a" * 99_999, b")" + b"\x85" * 100_000):
        with pytest.raises(ValueError, match=f"it has more than {DEEPEST} levels"):
            read_point(crafted(b"}" + text("deep") + deep + b"s"))


def test_a_pickle_that_is_too_large_is_not_looked_at() -> None:
    with pytest.raises(ValueError, match="it has more than 4,194,304 bytes"):
        read_point(b"]" * (LARGEST + 1))


def test_pickles_that_are_changed_at_random_are_read_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = pickled_point(monkeypatch, "8526cfe6", ([1], [0.5]), PAYLOAD)
    chance = random.Random(7)
    for _ in range(20_000):
        changed = bytearray(data)
        for _ in range(chance.randint(1, 4)):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        try:
            _, payload = read_point(
                bytes(changed[: chance.randint(1, len(changed))] if chance.random() < 0.3 else changed)
            )
        except ValueError:
            continue
        assert isinstance(payload, dict)
