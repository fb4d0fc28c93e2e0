"""The head of a SKILL.md: as people write it, from every editor."""

import pytest

from satchel.library.skills.front_matter import MOST, Document, read_document


def read(text: str) -> Document:
    return read_document(text.encode())


@pytest.mark.parametrize(
    ("written", "description"),
    [
        ("description: plain text", "plain text"),
        ("description: 'a: b'", "a: b"),
        ('description: "a: \\"b\\""', 'a: "b"'),
        ("description: >\n  folded\n  text\n", "folded text\n"),
        ("description: >-\n  folded\n  text\n", "folded text"),
        ("description: |\n  two\n  lines\n", "two\nlines\n"),
        ("description: |-\n  two\n\n  lines", "two\n\nlines"),
        ("description: >2-\n   more\n  less", " more\nless"),
        ("description:\n  on the next line\n  and on", "on the next line and on"),
        ("description: begins here\n  and goes on", "begins here and goes on"),
        ("description: 'it''s'  # a comment", "it's"),
    ],
)
def test_every_way_to_write_a_text_is_read(written: str, description: str) -> None:
    document = read(f"---\nname: x\n{written}\n---\nbody\n")

    assert (document.error, document.warnings) == (None, ())
    assert document.values["description"] == description
    assert document.body == "body\n"


@pytest.mark.parametrize(
    ("written", "description"),
    [
        ("description: Use when: somebody asks", "Use when: somebody asks"),
        ("description: [draft] not a list", "[draft] not a list"),
        ("description: *star* and more", "*star* and more"),
        ('description: Say "hello": it\'s fine', 'Say "hello": it\'s fine'),
        ('description: "quoted" and then: not', '"quoted" and then: not'),
        ('description: "begun and not ended', "begun and not ended"),
        ("description: @mention first", "@mention first"),
        ("description: `code` first", "`code` first"),
        ("description: 100% sure: yes", "100% sure: yes"),
        ("description: one: two\n  three: four", "one: two three: four"),
        ("description:\n  Use when: asked", "Use when: asked"),
        ("description:\n  Use when: asked\n  Not when: never", "Use when: asked Not when: never"),
        ("description: {placeholder}", "{placeholder}"),
        ("description: > one two three", "one two three"),
        ("description: >- Use this\n  when asked: always", "Use this when asked: always"),
        ("description: >\n\tone\n\ttwo", "one two"),
        ("description: |\n  one\n two", "one two"),
        ("description: >\none two\nthree", "one two three"),
        ("description: |x| is: the absolute value", "|x| is: the absolute value"),
        ("description: >90% of it: done", ">90% of it: done"),
        ('"description": Use: ok', "Use: ok"),
        ("'description': Use: ok", "Use: ok"),
    ],
)
def test_a_common_fault_is_mended_and_said_with_its_line(written: str, description: str) -> None:
    document = read(f"---\nname: x\n{written}\nlicense: MIT\n---\n")

    assert document.error is None
    assert document.values["description"] == description
    assert document.values["license"] == "MIT"
    assert [(remark.line, "in quotes" in remark.text) for remark in document.warnings] == [(3, True)]


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("---\nname:\xa0x\ndescription:\xa0Asks: others\n---\nbody\n", 2, "should be ': '"),
        ("---\nname\uff1ax\ndescription\uff1aAsks: others\n---\nbody\n", 2, "should be ': '"),
        (
            "<!-- a license -->\n<!--\n-->\n---\nname: x\ndescription: 'Asks: others'\n---\nbody\n",
            4,
            "beginning",
        ),
        ("```markdown\n---\nname: x\ndescription: 'Asks: others'\n---\nbody\n", 2, "beginning"),
        ("---\nname: x\ndescription: 'Asks: others'\n\nbody\n", 1, "no end"),
    ],
)
def test_what_people_do_to_a_front_matter_is_forgiven_and_said(text: str, line: int, said: str) -> None:
    document = read(text)

    assert document.error is None
    assert document.values == {"name": "x", "description": "Asks: others"}
    assert document.body == "body\n"
    assert document.warnings[0].line == line
    assert said in document.warnings[0].text


def test_a_text_that_ends_in_a_comment_is_said_to() -> None:
    document = read("---\nname: x  # a remark\ndescription: Closes issues such as #12 and others\n---\n")

    assert document.values["description"] == "Closes issues such as"
    assert [(remark.line, "comment" in remark.text) for remark in document.warnings] == [(3, True)]


def test_a_fault_below_a_key_is_mended_there_and_leaves_the_others_as_they_are() -> None:
    document = read("---\nmetadata:\n  author: a: b\n  count: 5\n---\n")

    assert document.values == {"metadata": {"author": "a: b", "count": 5}}
    assert [remark.line for remark in document.warnings] == [3]


def test_a_key_that_is_written_with_a_space_is_not_taken_for_text_of_the_one_before() -> None:
    document = read("---\nname: x\nallowed tools: Read: it\ndescription: Use: ok\n---\n")

    assert document.values == {"name": "x", "allowed-tools": "Read: it", "description": "Use: ok"}


@pytest.mark.parametrize("margin", ["  ", "\t"])
def test_front_matter_may_be_indented_as_a_whole(margin: str) -> None:
    document = read(f"---\n{margin}name: x\n{margin}description: Use: ok\n---\n")

    assert document.values == {"name": "x", "description": "Use: ok"}
    assert document.lines == {"name": 2, "description": 3}


@pytest.mark.parametrize("key", ["Description", "DESCRIPTION", "description\xa0"])
def test_a_key_in_another_spelling_is_read_and_said(key: str) -> None:
    document = read(f"---\nname: x\n{key}: It does it.\n---\n")

    assert document.values == {"name": "x", "description": "It does it."}
    assert [str(remark) for remark in document.warnings] == [f"line 3: '{key}' is read as 'description'"]


def test_another_spelling_takes_nothing_from_the_key_itself() -> None:
    document = read("---\nDescription: one\ndescription: two\n---\n")

    assert document.values == {"Description": "one", "description": "two"}


def test_a_character_that_yaml_does_not_have_is_left_out_and_said() -> None:
    document = read("---\nname: a\x7fb\ndescription: Use: \x9bit\n---\n")

    assert document.values == {"name": "ab", "description": "Use: it"}
    assert str(document.warnings[0]) == "line 2: has U+007F, which YAML does not allow; it is left out"


@pytest.mark.parametrize(
    "written", ["yes", "on", "No", "1.10", "007", "0777", "12:30", "2026-11-16 10:00:00"]
)
def test_it_is_known_how_a_value_is_written_of_which_yaml_makes_no_text(written: str) -> None:
    assert read(f"---\nname: {written}\n---\n").written == {"name": written}
    assert read(f"---\nname: '{written}'\n---\n").written == {}


@pytest.mark.parametrize("breaks", ["\r\n", "\r"])
def test_line_breaks_of_other_systems_are_line_breaks(breaks: str) -> None:
    document = read("---\nname: x\ndescription: |\n  a\n  b\n---\nbody\n".replace("\n", breaks))

    assert document.values == {"name": "x", "description": "a\nb"}
    assert document.body == "body\n"


@pytest.mark.parametrize(
    ("data", "guessed"),
    [
        ("\ufeff---\nname: é\n---\n".encode(), None),
        ("\ufeff---\nname: é\n---\n".encode("utf-16-le"), "UTF-16"),
        ("\ufeff---\nname: é\n---\n".encode("utf-16-be"), "UTF-16"),
        ("---\nname: é\n---\n".encode("utf-16-le"), "UTF-16"),
        ("---\nname: é\n---\n".encode("utf-16-be"), "UTF-16"),
        ("---\nname: é\n---\n".encode("utf-32"), "UTF-32"),
        ("---\nname: é\n---\n".encode("cp1252"), "Windows-1252"),
        ("---\nname: é\n---\n".encode(), None),
        ("\ufeff\ufeff---\nname: é\n---\n".encode(), None),
    ],
    ids=[
        *("byte order mark", "UTF-16 LE", "UTF-16 BE", "without a mark, LE", "without a mark, BE"),
        *("UTF-32", "cp1252", "UTF-8", "two marks"),
    ],
)
def test_every_encoding_is_read_and_a_guess_is_said(data: bytes, guessed: str | None) -> None:
    document = read_document(data)

    assert document.values == {"name": "é"}
    assert [remark.text for remark in document.warnings] == (
        [f"is not UTF-8; read as {guessed}"] if guessed else []
    )


@pytest.mark.parametrize("bad", [b"\xff", b"\xff\xfe", b"\xe5"])
def test_a_bad_byte_somewhere_spoils_nothing_else(bad: bytes) -> None:
    document = read_document("---\ndescription: 处理文件\n---\nbody ".encode() + bad)

    assert document.values == {"description": "处理文件"}
    assert [str(remark) for remark in document.warnings] == ["line 1: has bytes that are not UTF-8"]


def test_a_key_that_is_there_twice_is_said_and_the_last_one_counts() -> None:
    document = read("---\nname: a\ndescription: x\nname: b\n---\n")

    assert document.values["name"] == "b"
    assert [(remark.line, remark.text) for remark in document.warnings] == [
        (4, "'name' is there twice; the last one counts")
    ]


@pytest.mark.parametrize(
    ("text", "line", "error"),
    [
        ("", 1, "no front matter"),
        ("# Title\n", 1, "no front matter"),
        ("text\n---\nname: x\n---\n", 1, "no front matter"),
        ("---\nname: x\n", 1, "no end"),
        ("\n\n---\nname: x\n", 3, "no end"),
        ("---\n- a\n- b\n---\n", 2, "not keys and values"),
        ("---\njust text\n---\n", 2, "not keys and values"),
        ("---\n]broken[\nname: x\n---\n", 2, "not valid YAML"),
        ("\n---\n# a comment\n}{\nname: x\n---\n", 4, "not valid YAML"),
        ("---\n*nothing\n---\n", 2, "stands for nothing"),
        (f"---\nname: {'x' * MOST}\n---\n", 2, "more than 65,536 characters"),
    ],
)
def test_what_can_not_be_understood_is_an_error_with_its_line(text: str, line: int, error: str) -> None:
    document = read(text)

    assert document.error is not None
    assert error in document.error.text
    assert document.error.line == line


def test_an_alias_stands_for_what_it_names() -> None:
    document = read(
        "---\nshort: &d A good text\nbase: &b {a: 1}\ndescription: *d\nmetadata:\n  <<: *b\n  c: 2\n---\n"
    )

    assert (document.values["description"], document.warnings) == ("A good text", ())
    assert document.values["metadata"] == {"a": 1, "c": 2}


@pytest.mark.parametrize(
    "value", ["&a [*a]", "&a {b: *a}", "&a [" + "x" * 60_000 + ", " + "*a, " * 500 + "x]"]
)
def test_an_alias_that_stands_for_itself_is_text(value: str) -> None:
    document = read(f"---\nname: x\nmetadata: {value}\n---\n")

    assert document.values == {"name": "x", "metadata": value}


def test_aliases_of_a_long_text_are_refused_before_they_are_followed() -> None:
    document = read("---\nlong: &a " + "x" * 30_000 + "\nmetadata: [" + "*a, " * 5_000 + "x]\n---\n")

    assert len(str(document.values)) < 65_536


def test_aliases_are_refused_before_they_are_followed() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]

    document = read("---\n" + "\n".join(lines) + "\n---\n")

    assert document.error is None
    assert len(str(document.values)) < 10_000  # as text at most


def test_values_are_as_json_has_them() -> None:
    document = read("---\nday: 2026-11-16\nlist: [1, a, null]\n5: x\nset: !!set {b}\n---\n")

    assert document.values == {"day": "2026-11-16", "list": [1, "a", None], "5": "x", "set": ["b"]}


def test_the_place_of_every_key_and_of_the_body_is_known() -> None:
    document = read("\n---\nname: x\nmetadata:\n  name: inner\ndescription: >\n  a\n  b\n...\nbody\n")

    assert document.lines == {"name": 3, "metadata": 4, "description": 6}
    assert document.body_line == 10


def test_front_matter_that_is_nested_without_end_is_read_as_text_and_said() -> None:
    for depth in (60, 700, 5_000):
        deep = "[" * depth + "]" * depth
        document = read_document(f"---\nname: deep\nmetadata: {deep}\n---\n".encode())
        assert document.values == {"name": "deep", "metadata": deep}  # as text
        assert [remark.line for remark in document.warnings] == [3]


@pytest.mark.parametrize("sign", ["- ", "? ", "- ? "])
def test_front_matter_that_is_nested_without_brackets_is_read_as_text_too(sign: str) -> None:
    deep = sign * (62_000 // len(sign)) + "x"

    document = read(f"---\nname: deep\nmetadata:\n  {deep}\n---\n")  # which was the end of the process

    assert document.values == {"name": "deep", "metadata": deep}


def test_a_number_that_no_machine_holds_is_read_as_text() -> None:
    number = "1:" * 400 + "1.5"

    assert read(f"---\nversion: {number}\n---\n").values == {"version": number}


def test_a_fault_below_many_levels_is_no_error() -> None:
    levels = "".join(" " * depth + f"k{depth}:\n" for depth in range(1, 340))

    document = read(f"---\nmetadata:\n{levels}{' ' * 341}a: b: c\n---\n")

    assert (document.error, list(document.values)) == (None, ["metadata"])
