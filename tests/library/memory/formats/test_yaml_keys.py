"""Keys of YAML files."""

import pytest
import yaml

from satchel.library.memory.formats import yaml_keys
from satchel.library.memory.formats.pieces import Fault, Piece

TEXT = """\
# how I like it
editor: vim  # for ever
languages:
  - python
  - rust

# of the team
indent: 4
text: |
  # not a comment
  two

when: 2026-01-02
"""


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{key}: &{key} [{','.join([f'*{before}'] * 9)}]\n"
    for before, key in zip("abcdefgh", "bcdefghi", strict=True)
)


def read(text: str) -> list[Piece]:
    return list(yaml_keys.read(text))


def texts(text: str) -> list[str]:
    return [piece.text for piece in read(text)]


def test_each_key_has_its_line_and_value() -> None:
    assert [(piece.line, piece.key, piece.text) for piece in read(TEXT)] == [
        (2, "editor", "editor: vim"),
        (3, "languages", 'languages: ["python","rust"]'),
        (8, "indent", "indent: 4"),
        (9, "text", "text: # not a comment\ntwo\n"),
        (13, "when", "when: 2026-01-02"),
        (1, "comments", "# how I like it\n# for ever\n# of the team"),
    ]


@pytest.mark.parametrize("text", ["", "{}\n", "---\n", "null\n"])
def test_nothing_is_in_an_empty_file(text: str) -> None:
    assert read(text) == []
    assert yaml.safe_load(yaml_keys.add(text, "a", "one")) == {"a": "one"}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 1\nb: [\n", 3),
        ("a: 1\na: 2\n", 2),
        ("- a\n- b\n", 1),
        ("text\n", 1),
        ("a: *b\n", 1),
        ("a: !!python/object/apply:os.system [ls]\n", 1),
        ("a: 1\n---\nb: 1\n", 2),
        ("a: " + "[" * 100 + "]" * 100, 1),
        (BOMB, 1),
        ("# " + "x" * 300_000, 1),
        ("[a]: 1\n", 1),
        ("a: 1\n<<: {b: 1}\n", 2),
        ("a: 1\nb: {c: hidden, c: 1}\n", 2),
        ("a: 1\nb: {1: hidden, '1': 1}\n", 2),
        ("a: 1\nb: [{<<: {c: hidden}, c: 1}]\n", 2),
        ("a: 1\nb: !!null 'hidden'\n", 2),
        ("a: 1\nb: !!set {c: hidden}\n", 2),
    ],
)
def test_a_fault_has_its_line(text: str, line: int) -> None:
    with pytest.raises(Fault) as caught:
        read(text)
    assert caught.value.line == line


def test_aliases_stand_for_what_they_name() -> None:
    text = "a: &x [1, 2]\nb: *x\nc: {<<: {d: 1}, e: 2}\n"
    assert texts(text) == ["a: [1,2]", "b: [1,2]", 'c: {"d":1,"e":2}', "&x\n*x"]


def test_comments_are_an_entry_wherever_they_stand() -> None:
    text = "%YAML 1.1\n---\na: |  # one\n  # text\nb: x  # two\n  \n  # three\n...\n# four"
    assert texts(text) == ["a: # text\n", "b: x", "%YAML 1.1\none\n# two\n# three\n# four"]
    with pytest.raises(Fault, match="in the file itself"):
        yaml_keys.replace(text, read(text)[-1], "x")
    assert yaml.safe_load(yaml_keys.remove(text, read(text)[-1:])) == {"a": "# text\n", "b": "x"}
    only = "# only\n"
    assert texts(only) == ["# only"]
    assert yaml_keys.add(only, "a", "one") == "# only\na: one\n"
    assert texts(yaml_keys.remove(only, read(only))) == []


def test_the_layout_does_not_change_what_a_key_is_known_by() -> None:
    block, flow = read("b: 1\na:\n- x\n"), read("{a: [x], 'b': 1}")
    assert {piece.canonical for piece in block} == {piece.canonical for piece in flow}


def test_a_change_touches_only_the_lines_of_its_key() -> None:
    pieces = {piece.key: piece for piece in read(TEXT)}
    assert yaml_keys.replace(TEXT, pieces["languages"], "go") == TEXT.replace(
        "languages:\n  - python\n  - rust\n", "languages: go\n"
    )
    assert yaml_keys.remove(TEXT, [pieces["indent"], pieces["editor"]]) == TEXT.replace(
        "editor: vim  # for ever\n", ""
    ).replace("indent: 4\n", "")
    assert yaml_keys.remove(TEXT, [pieces["text"]]) == TEXT.replace("text: |\n  # not a comment\n  two\n", "")
    assert yaml_keys.add(TEXT, "new: key", True) == TEXT + "'new: key': true\n"
    assert yaml_keys.add("a: 1", "b", "yes") == "a: 1\nb: 'yes'\n"


def test_what_has_no_lines_of_its_own_is_written_anew() -> None:
    flow = "{a: 1, b: 2}\n"
    assert yaml.safe_load(yaml_keys.remove(flow, read(flow)[:1])) == {"b": 2}
    assert yaml.safe_load(yaml_keys.replace(flow, read(flow)[0], "x")) == {"a": "x", "b": 2}
    assert yaml.safe_load(yaml_keys.add(flow, "c", "3")) == {"a": 1, "b": 2, "c": "3"}
    anchors = "a: &x [1]\nb: *x\n"
    assert yaml.safe_load(yaml_keys.remove(anchors, read(anchors)[:1])) == {"b": [1]}


def test_the_last_key_leaves_an_empty_file_that_programs_can_open() -> None:
    text = "# mine\na: 1\n"
    assert yaml.safe_load(yaml_keys.remove(text, read(text))) == {}


def test_keys_that_are_not_text_have_a_name() -> None:
    assert texts("3: one\nyes: two\n~: three\n") == ["3: one", "True: two", "None: three"]
    assert texts("=: one\n!!str 1: two\n") == ["=: one", "1: two", "!!str"]
