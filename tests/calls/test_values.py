"""What a program gets for each kind of content that a tool can return."""

import base64
import json
from typing import Any

import pytest

from satchel.calls import values
from satchel.calls.values import value_of
from satchel.model import CallResult, Json

PIXEL = base64.b64encode(b"\x89PNG").decode()


class Files(dict[str, bytes]):
    """What was saved, by name."""

    async def save(self, ending: str, content: bytes) -> str:
        name = f"/workspace/{len(self) + 1}{ending}"
        self[name] = content
        return name


def text(value: str) -> Json:
    return {"type": "text", "text": value}


def image(kind: str = "image/png", data: str = PIXEL) -> Json:
    return {"type": "image", "data": data, "mimeType": kind}


async def value(*content: Json, **more: Any) -> Any:
    """The value of a result of which nothing has to be saved."""
    files = Files()
    found = await value_of(CallResult(content=content, **more), files.save)
    assert not files
    return found


# Structured content and text


@pytest.mark.parametrize("structured", [{"a": 1}, [], [1, 2], "text", 5, None, False])
async def test_structured_content_is_the_value_whatever_the_text_says(structured: Any) -> None:
    assert await value(text("something else"), structured=structured, has_structured=True) == structured


async def test_a_tool_that_returns_nothing_gives_none() -> None:
    assert await value() is None


@pytest.mark.parametrize("written", ['{"a": [1, null]}', "[1, 2]", ' \n{"a": "ü"}\n', "[]"])
async def test_a_text_that_is_a_json_object_or_list_is_parsed(written: str) -> None:
    assert await value(text(written)) == json.loads(written)


@pytest.mark.parametrize(
    "written",
    ["", "plain", "123", "true", "null", '"quoted"', "{not json}", "[1, 2", "{} and more", "[" * 100_000],
)
async def test_any_other_text_stays_the_text_that_it_is(written: str) -> None:
    assert await value(text(written)) == written


async def test_several_parts_are_a_list_in_their_order() -> None:
    assert await value(text("one"), text('{"two": 2}')) == ["one", {"two": 2}]


async def test_an_embedded_text_is_its_text() -> None:
    embedded = {
        "type": "resource",
        "resource": {"uri": "memo://x", "mimeType": "text/plain", "text": "inside"},
    }
    assert await value(embedded) == "inside"


async def test_a_link_is_what_it_links_to_without_what_is_for_clients() -> None:
    link = {"type": "resource_link", "uri": "memo://x", "name": "x", "mimeType": "text/plain", "size": 3}
    assert await value({**link, "annotations": {"priority": 1}, "_meta": {"a": 1}}) == link


async def test_content_of_a_kind_that_is_not_known_is_handed_over_as_it_is() -> None:
    future = {"type": "x-future", "payload": {"answer": 42}}
    assert await value(future) == future


# What becomes a file


@pytest.mark.parametrize(
    "part",
    [
        image(),
        {"type": "audio", "data": PIXEL, "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "memo://x", "mimeType": "image/png", "blob": PIXEL}},
    ],
)
async def test_binary_content_is_a_file_with_its_type_and_size(part: Json) -> None:
    files = Files()
    assert await value_of(CallResult(content=(part,)), files.save) == {
        "path": "/workspace/1.png",
        "type": "image/png",
        "size": 4,
    }
    assert files == {"/workspace/1.png": b"\x89PNG"}


async def test_binary_content_beside_structured_content_comes_with_it() -> None:
    files = Files()
    result = CallResult(content=(text("a picture"), image()), structured={"width": 1}, has_structured=True)
    assert await value_of(result, files.save) == {
        "structured": {"width": 1},
        "content": ["a picture", {"path": "/workspace/1.png", "type": "image/png", "size": 4}],
    }


@pytest.mark.parametrize(
    ("kind", "ending"),
    [
        ("image/jpeg", ".jpg"),
        ("application/pdf", ".pdf"),
        ("text/plain", ".txt"),
        ("application/octet-stream", ".bin"),
        ("text/x-python", ".bin"),
        ("application/x-sh", ".bin"),
        ("text/html", ".bin"),
        ("image/../../etc/passwd", ".bin"),
        ("image/png; charset=/../x", ".bin"),
        ("", ".bin"),
    ],
)
async def test_the_ending_is_that_of_the_type_where_nothing_would_execute_it(kind: str, ending: str) -> None:
    files = Files()
    await value_of(CallResult(content=(image(kind),)), files.save)
    assert list(files) == [f"/workspace/1{ending}"]


async def test_a_type_that_is_missing_or_endless_is_told_as_something() -> None:
    files = Files()
    part = {"type": "image", "data": PIXEL}
    assert (await value_of(CallResult(content=(part,)), files.save))["type"] == "application/octet-stream"
    assert len((await value_of(CallResult(content=(image("x" * 10_000),)), files.save))["type"]) == 200


@pytest.mark.parametrize("data", ["not base64!", "AAA", "ü", "AA\nAA"])
async def test_data_that_is_not_base64_is_kept_as_it_came(data: str) -> None:
    files = Files()
    found = await value_of(CallResult(content=(image(data=data),)), files.save)
    assert files[found["path"]] == data.encode()
    assert found["size"] == len(data.encode())


async def test_a_text_too_large_for_a_value_is_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "LARGEST_TEXT", 10)
    assert await value(text("x" * 10)) == "x" * 10
    files = Files()
    found = await value_of(CallResult(content=(text("ü" * 11), text("small"))), files.save)
    assert found == [{"path": "/workspace/1.txt", "type": "text/plain", "size": 22}, "small"]
    assert files == {"/workspace/1.txt": ("ü" * 11).encode()}
    lone = await value_of(CallResult(content=(text("\ud800" * 11),)), files.save)
    assert files[lone["path"]] == b"?" * 11


async def test_of_parts_without_end_the_first_thousand_count() -> None:
    many = CallResult(content=tuple({"type": "text", "text": str(number)} for number in range(1_200)))
    value = await value_of(many, Files().save)
    assert len(value) == 1_001
    assert value[-1] == "… 200 more parts were left out"
