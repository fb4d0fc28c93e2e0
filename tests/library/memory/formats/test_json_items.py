"""Items of JSON files, in all shapes that programs write."""

import json
from collections.abc import Iterable

import pytest

from satchel.library.memory.formats import json_items
from satchel.library.memory.formats.pieces import Fault, Piece

ONE = '{"topic": "a", "content": "one"}'


def read(text: str) -> list[Piece]:
    return list(json_items.read(text))


def texts(pieces: Iterable[Piece]) -> list[str]:
    return [piece.text for piece in pieces]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", []),
        ("[]", []),
        ("{}", []),
        (f"[{ONE}]", ["a: one"]),
        ('["one", 2, true]', ["one", "2", "true"]),
        ('{"memories": [{"topic": "a", "content": "one"}, "two"]}', ["a: one", "two"]),
        ('{"a": "one", "b": {"content": "two"}, "c": ["three", 4]}', ["a: one", "b: two", 'c: ["three", 4]']),
        ('{"version": 1, "entries": ["one"]}', ["version: 1", "one"]),
        ('[{"memory": "one"}, {"text": "two"}, {"fact": "three"}]', ["one", "two", "three"]),
        ('[{"id": "m1", "lang": "py", "source": "x"}]', ['{"lang": "py"}']),
        ('[{"topic": "a", "content": {"b": [1]}}]', ['a: {"b": [1]}']),
        ('[{"description": "d"}, {"description": "d", "outcome": "o"}]', ["d", "d: o"]),
    ],
)
def test_items_are_understood_in_any_shape(text: str, told: list[str]) -> None:
    assert texts(read(text)) == told


def test_items_have_the_lines_where_they_begin() -> None:
    text = '\n[\n  {\n    "content": "a\\nb"\n  },\n  "two", "three",\n\n  ["four\u2028"]\n]\n'
    assert [piece.line for piece in read(text)] == [3, 6, 6, 8]
    assert [piece.line for piece in read('{\n"a": 1,\n"items": [\n1,\n2]\n}')] == [2, 4, 5]


@pytest.mark.parametrize(
    ("text", "line", "before"),
    [
        ('[\n"one",\n{"a" 1}\n]', 3, 1),
        ('[\n"one"\n', 3, 1),
        ('[\n"one"\n"two"]', 3, 1),
        ('["one"]\n]', 2, 1),
        ("5", 1, 0),
        ("[\nNaN]", 2, 0),
        ("[\n1e999]", 2, 0),
        ("[\n-Infinity]", 2, 0),
        ("[\n" + "1" * 5000 + "]", 2, 0),
        ("[" + "1" * 200_000 + "]", 1, 0),
        ('[\n{"a": 1, "a": 2}]', 2, 0),
        ('{\n"a": 1,\n"a": 2}', 3, 1),
        ("[\n" + "[" * 300 + "]" * 300 + "]", 2, 0),
        ("[\n" + "[" * 200_000, 2, 0),
        ("[" + "[]," * 400_000 + "1]", 1, 0),
        ("[\n'one']", 2, 0),
        ('[\n"a\tb"]', 2, 0),
        ("[\n1,]", 2, 1),
    ],
)
def test_a_fault_has_its_line_and_leaves_what_is_before_it(text: str, line: int, before: int) -> None:
    found: list[Piece] = []
    with pytest.raises(Fault) as caught:
        for piece in json_items.read(text):
            found.append(piece)
    assert (caught.value.line, len(found)) == (line, before)


def test_the_layout_does_not_change_what_an_item_is_known_by() -> None:
    (one,) = read('[{"topic": "a", "content": "\\u00fc"}]')
    (two,) = read('{"a": {\n  "content": "ü"\n}}')
    (three,) = read('{"memories": [\n\n{"content": "ü", "topic": "a"}]}')
    (other,) = read('[{"topic": "a", "content": "u"}]')
    assert one.canonical == two.canonical == three.canonical != other.canonical


def test_halves_of_surrogate_pairs_are_kept_and_shown_as_what_they_are() -> None:
    text = '["a\\ud800b", "\\ud83d\\ude00"]'
    assert texts(read(text)) == ["a\ufffdb", "😀"]
    added = json_items.add(text, [{"content": "new"}])
    added.encode()
    assert json.loads(added) == ["a\ud800b", "😀", {"content": "new"}]


def test_a_key_has_no_characters_that_do_more_than_show() -> None:
    (piece,) = read('[{"id": "a\\u001b[31m\\u202eb\\nc"}]')
    assert piece.key == "a\ufffd[31m\ufffdb c"


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ('["one"]', '["one", {"content": "two"}]'),
        ('{"memories": ["one"]}', '{"memories": ["one", {"content": "two"}]}'),
        ('{"x": 1, "items": [], "y": {}}', '{"x": 1, "items": [{"content": "two"}], "y": {}}'),
    ],
)
def test_items_are_added_where_the_others_are(text: str, after: str) -> None:
    assert json_items.add(text, [{"content": "two"}]) == json.dumps(json.loads(after), indent=2) + "\n"


def test_to_an_object_by_topic_nothing_is_added() -> None:
    with pytest.raises(Fault, match="it is an object"):
        json_items.add('{"a": "one"}', [{"content": "two"}])


def test_items_are_removed_and_the_others_stay() -> None:
    text = '["one", {"b": 2, "a": 1}, "three"]'
    pieces = read(text)
    assert json.loads(json_items.remove(text, [pieces[0], pieces[2]])) == [{"b": 2, "a": 1}]
    text = '{"version": 1, "memories": ["one", "two"], "more": 2}'
    pieces = read(text)
    assert json.loads(json_items.remove(text, pieces[1:3])) == {"version": 1, "memories": [], "more": 2}
    assert json.loads(json_items.remove(text, [pieces[0], pieces[3]])) == {"memories": ["one", "two"]}


def test_an_item_keeps_its_shape_when_it_is_replaced() -> None:
    for text, after in (
        ('["one", "two"]', ["ONE", "two"]),
        ('[{"x": 1, "content": "one"}]', [{"x": 1, "content": "ONE"}]),
        ('{"a": "one"}', {"a": "ONE"}),
        ('{"a": {"x": 1, "content": "one"}}', {"a": {"x": 1, "content": "ONE"}}),
    ):
        piece = read(text)[0]
        item = {**(piece.value or {}), "content": "ONE"}
        assert json.loads(json_items.replace(text, piece, item)) == after


def test_a_written_file_is_readable() -> None:
    written = json_items.add("[]", [{"topic": "ü", "content": "日本"}])
    assert written == '[\n  {\n    "topic": "ü",\n    "content": "日本"\n  }\n]\n'
