"""What frameworks get of any result: text, images, and plain data."""

import base64
from typing import Any

import pytest

from satchel.model import CallResult, Json
from satchel.toolset.results import NOTHING, Image, artifact_of, parts_of, text_of

PIXEL = base64.b64encode(b"not really").decode()
TEXT: Json = {"type": "text", "text": "hello"}


def result(*content: Json, **more: Any) -> CallResult:
    return CallResult(content=content, **more)


@pytest.mark.parametrize("kind", ["image/png", "image/jpeg", "image/gif", "image/webp"])
def test_images_that_providers_take_are_shown(kind: str) -> None:
    image = Image(data=PIXEL, type=kind)
    assert parts_of(result({"type": "image", "data": PIXEL, "mimeType": kind})) == [image]
    embedded = {"uri": "file:///x", "blob": PIXEL, "mimeType": kind}
    assert parts_of(result({"type": "resource", "resource": embedded})) == [image]


def test_texts_in_a_row_are_one() -> None:
    image: Json = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
    resource: Json = {"type": "resource", "resource": {"uri": "memo://1", "text": "a memo"}}
    parts = parts_of(result(TEXT, resource, image, TEXT))
    assert parts == ["hello\na memo", Image(data=PIXEL, type="image/png"), "hello"]


@pytest.mark.parametrize(
    ("block", "text"),
    [
        ({"type": "image", "data": PIXEL, "mimeType": "image/svg+xml"}, "[image/svg+xml, 10 bytes]"),
        ({"type": "image", "data": "not base64!", "mimeType": "image/png"}, "[image/png, damaged]"),
        ({"type": "audio", "data": PIXEL, "mimeType": "audio/wav"}, "[audio/wav, 10 bytes]"),
        (
            {"type": "resource", "resource": {"uri": "file:///a.zip", "blob": PIXEL}},
            "[file:///a.zip: application/octet-stream, 10 bytes]",
        ),
        (
            {"type": "resource_link", "uri": "memo://1", "name": "memo", "description": "About tea"},
            "[memo, memo://1, About tea]",
        ),
        ({"type": "new_kind", "value": "ü"}, '{"type": "new_kind", "value": "ü"}'),
    ],
)
def test_what_is_neither_text_nor_image_is_named(block: Json, text: str) -> None:
    assert parts_of(result(block)) == [text]
    assert artifact_of(result(block)) == {"content": [block]}


def test_a_result_without_blocks_is_its_structured_content() -> None:
    assert parts_of(result(structured={"name": "ü"}, has_structured=True)) == ['{"name": "ü"}']
    assert parts_of(result(structured=None, has_structured=True)) == ["null"]


@pytest.mark.parametrize("content", [(), ({"type": "text", "text": ""},)])
def test_there_is_always_something_to_show(content: tuple[Json, ...]) -> None:
    assert parts_of(result(*content)) == [NOTHING]


def test_an_error_with_an_image_is_text() -> None:
    image: Json = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
    assert text_of(result(TEXT, image, is_error=True)) == "hello\n[image/png]"


def test_plain_data_is_kept_where_there_is_more_than_text() -> None:
    assert artifact_of(result(TEXT)) is None
    assert artifact_of(result(TEXT, structured=[1], has_structured=True)) == {"structured_content": [1]}
