"""The index: sections are plain values, postings agree with them, and numbers lead back to documents."""

import json
import math
from typing import Any

import pytest

from satchel.search.documents import Document, Field
from satchel.search.index import SCALE, Index, Section, make_section
from satchel.search.tool_documents import FIELDS, document_of, siblings_text, split_sentence, text_of
from satchel.search.words import stem
from tests.search.test_rank import ALL, CATALOG, index_of

PLAIN = {"name": Field(4.0, 3), "text": Field(1.0, 10)}


def section_of(*documents: tuple[str, str]) -> Section:
    """Documents by name and text."""
    return make_section(
        [Document(name, name, {"name": name, "text": text}) for name, text in documents], PLAIN
    )


def counts_of(section: Section, term: str) -> dict[str, int]:
    """By document: what the term counts there."""
    pairs = section.terms.get(term, [])
    return {section.keys[number]: count for number, count in zip(pairs[::2], pairs[1::2], strict=True)}


# Sections


def test_a_section_has_its_documents_in_order() -> None:
    section = section_of(("read_file", "Reads."), ("write_file", "Writes."))

    assert section.keys == section.names == ["read_file", "write_file"]
    assert len(section.senses) == 2


def test_a_section_is_plain_data_and_the_same_each_time() -> None:
    section = section_of(("read_file", "Reads a file."), ("write_file", "Writes a file."))

    assert section == section_of(("read_file", "Reads a file."), ("write_file", "Writes a file."))
    plain = section._replace(senses=[sense.hex() for sense in section.senses])  # pyright: ignore[reportArgumentType]
    assert json.loads(json.dumps(plain)) == list(plain)


def test_a_section_depends_on_no_document_outside_of_it() -> None:
    alone = section_of(("read_file", "Reads a file."))
    together = section_of(("read_file", "Reads a file."), ("loud", "file file file " * 500))

    assert all(
        counts_of(together, term)["read_file"] == counts_of(alone, term)["read_file"] for term in alone.terms
    )


def test_a_word_counts_more_in_a_field_of_more_weight() -> None:
    section = section_of(("alpha", "beta"), ("beta", "alpha"))

    assert counts_of(section, "alpha")["alpha"] > counts_of(section, "alpha")["beta"]


def test_a_word_counts_more_where_it_is_repeated_but_not_without_end() -> None:
    section = section_of(("one", "alpha beta"), ("two", "alpha alpha"), ("many", "alpha " * 10_000))
    counts = counts_of(section, "alpha")

    assert counts["many"] < counts["one"] < counts["two"] <= SCALE


def test_a_word_counts_less_among_many_others() -> None:
    section = section_of(("short", "alpha beta"), ("long", "alpha " + "beta gamma delta " * 30))

    assert counts_of(section, "alpha")["long"] < counts_of(section, "alpha")["short"]


def test_a_word_among_ever_so_many_still_counts_something() -> None:
    section = section_of(("long", "alpha " + " ".join(f"w{number}" for number in range(20_000))))

    assert counts_of(section, "alpha")["long"] >= 1


@pytest.mark.parametrize("name", ["get_document", "getDocument", "Get-Document"])
def test_a_name_is_there_as_one_word_too(name: str) -> None:
    assert counts_of(section_of((name, "")), stem("getdocument")) == {
        name: pytest.approx(SCALE * 4 / 5.2, abs=40)
    }


def test_no_documents_are_an_empty_section() -> None:
    assert section_of() == Section([], [], [], {}, [])


def test_a_document_without_words_is_in_the_section() -> None:
    section = section_of(("🎉", ""), ("plain", ""))

    assert section.keys == ["🎉", "plain"]


# The index


def all_terms(index: Index) -> set[str]:
    return {term for section in index._sections.values() for term in section.terms}


def test_postings_have_every_document_of_every_section_once_and_in_order() -> None:
    index = index_of(CATALOG)

    for term in all_terms(index):
        documents, counts, _ = index.postings(term)
        assert list(documents) == sorted(set(documents))
        told = {index.place(number): count for number, count in zip(documents, counts, strict=True)}
        written = {
            (group, key): count
            for group, section in index._sections.items()
            for key, count in counts_of(section, term).items()
        }
        assert told == written


def test_a_term_is_rarer_the_fewer_documents_have_it() -> None:
    index = index_of(CATALOG)
    rarities = [index.postings(term).rarity for term in all_terms(index)]

    assert all(0 < rarity < index.rarity_of_nothing() for rarity in rarities)
    assert not math.isinf(index.rarity_of_nothing())
    few, many = (Index(), Index())
    for group in range(9):
        for index, count in ((few, 2), (many, 5)):
            said = "Count sheep." if group < count else "Sleep well."
            index.put(f"g{group}", make_section([document_of("s", "do", None, said, {})], FIELDS))
    assert few.postings("sheep").rarity > many.postings("sheep").rarity


def test_a_group_that_has_a_word_in_all_its_documents_does_not_make_it_common() -> None:
    in_one, in_many = Index(), Index()
    for group in range(10):
        for index, says in ((in_one, group == 0), (in_many, True)):
            texts = ["Feed sheep." if says and group * number == 0 else "Sleep." for number in range(10)]
            documents = [document_of("s", f"do_{n}", None, text, {}) for n, text in enumerate(texts)]
            index.put(f"g{group}", make_section(documents, FIELDS))

    assert len(in_one.postings("sheep").documents) == 10
    assert in_one.postings("sheep").rarity > in_many.postings("sheep").rarity + 1


def test_a_word_that_most_names_of_a_group_have_counts_as_the_name_of_the_group_does() -> None:
    names = [
        f"jira_{verb}_{thing}"
        for verb in ("create", "list", "delete")
        for thing in ("issue", "board", "sprint", "user")
    ]
    section = section_of(*((name, "") for name in names))

    assert section.shared == ["jira"]
    assert counts_of(section, "jira")[names[0]] < counts_of(section, "issu")[names[0]]
    assert section_of(*((name, "") for name in names[:5])).shared == []
    index = Index()
    index.put("jira", section)
    assert index.share_of_name(0, {"creat", "issu"}) == pytest.approx(1.0)


def test_a_tool_that_tells_nothing_of_itself_is_found_by_what_its_siblings_tell() -> None:
    tools = [("whois", ""), ("scan_ports", "Scan the ports of a host in the network.")]
    siblings = siblings_text(tools)
    bare, told = (document_of("s", name, None, text, {}, "", siblings) for name, text in tools)

    assert "network" in bare.fields["siblings"]
    assert "siblings" not in told.fields


def test_the_card_of_a_tool_is_its_name_in_words_a_few_sentences_and_its_parameters() -> None:
    schema: Any = {"properties": {"folderId": {"type": "object", "properties": {"deep": {}}}, "query": {}}}
    card = text_of("google-drive", "searchDocuments", "Search", "Find\n  documents. " + "x" * 500, schema)

    assert card.startswith("google-drive: search documents. Find documents. xxx")
    assert card.endswith("(folderId, query)")
    assert len(card) < 320
    assert text_of("chat", "untold", "Pin a message", "", {}) == "chat: untold. Pin a message"


def test_a_term_that_is_nowhere_has_no_postings() -> None:
    documents, counts, rarity = index_of(CATALOG).postings("nowhere")

    assert (list(documents), list(counts), rarity) == ([], [], 0.0)


def test_numbers_and_places_lead_to_each_other() -> None:
    index = index_of(CATALOG)

    assert index.size == len(ALL)
    assert list(index.groups) == list(CATALOG)
    places = [(server, tool.name) for server, tool in ALL]
    assert [index.place(number) for number in range(index.size)] == places
    assert [index.number_of(*place) for place in places] == list(range(index.size))
    assert [number for group in index.groups for number in index.of_group(group)] == list(range(index.size))


def test_what_is_not_there_has_no_number() -> None:
    index = index_of(CATALOG)

    assert index.number_of("chat", "read_file") is None
    assert index.number_of("nobody", "read_file") is None
    assert list(index.of_group("nobody")) == []


def test_empty_groups_take_no_numbers() -> None:
    index = Index()
    for group, names in {"a": [], "b": ["one", "two"], "c": [], "d": [], "e": ["three"], "f": []}.items():
        index.put(group, section_of(*[(name, "") for name in names]))

    assert [index.place(number) for number in range(index.size)] == [
        ("b", "one"),
        ("b", "two"),
        ("e", "three"),
    ]
    assert list(index.of_group("c")) == []
    assert list(index.postings("three").documents) == [2]


def test_a_document_is_named_in_any_spelling_with_and_without_its_group() -> None:
    index = index_of(CATALOG)

    assert [index.place(number) for number in index.named("deletefile")] == [("files", "delete_file")]
    assert [index.place(number) for number in index.named("filesdeletefile")] == [("files", "delete_file")]
    assert index.named("nothing") == []


def test_replacing_and_removing_groups_leaves_no_trace_of_what_was() -> None:
    index = index_of(CATALOG)
    assert index.postings("messag").documents and index.named("postmessage") and list(index.alike("mesag", 1))
    index.put("chat", section_of(("shout", "Loudly.")))
    index.remove("drive")

    assert not index.named("postmessage") and index.named("chatshout")
    assert index.number_of("drive", "find_document") is None
    assert index.size == len(ALL) - 5 - 5 + 1
    assert list(index.groups) == [server for server in CATALOG if server != "drive"]
    assert {
        index.place(number)[0] for term in all_terms(index) for number in index.postings(term).documents
    } == (set(CATALOG) - {"drive"})
    index.remove("nobody")
    assert index.size == len(ALL) - 9


def test_words_that_look_alike_begin_alike_and_are_about_as_long() -> None:
    index = index_of(CATALOG)

    assert "messag" in index.alike("mesag", 1)
    assert all(term[0] == "m" and 4 <= len(term) <= 6 for term in index.alike("mesag", 1))


def test_the_share_of_a_name_is_that_of_its_words() -> None:
    index = index_of(CATALOG)
    number = index.number_of("files", "delete_file")
    assert number is not None

    assert index.share_of_name(number, {"delet", "file"}) == pytest.approx(1.0)
    assert 0 < index.share_of_name(number, {"file"}) < 1
    assert index.share_of_name(number, {"nothing"}) == 0


# Tools as documents


def test_a_tool_is_a_document_of_its_texts() -> None:
    schema = {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Where it is."},
            "mode": {"enum": ["fast", "slow", 3]},
            "filters": {
                "type": "array",
                "items": {"type": "object", "properties": {"author": {"description": "Who."}}},
            },
        },
    }
    document = document_of("disk", "read", "Read it", "Reads a file. And more.", schema, "About disks.")

    assert (document.key, document.name) == ("read", "read")
    assert document.fields == {
        "name": "read",
        "server": "disk",
        "title": "Read it",
        "first": "Reads a file.",
        "rest": "And more.",
        "parameters": "path mode filters author",
        "details": "Where it is. fast slow Who.",
        "about": "About disks.",
    }
    assert set(document.fields) <= set(FIELDS)


@pytest.mark.parametrize(
    "schema",
    [
        None,
        True,
        [],
        "x",
        {"properties": []},
        {"properties": {"a": None, "b": True}},
        {"properties": {"a": {"description": 3, "enum": "x", "properties": 7, "items": [1]}}},
    ],
)
def test_a_schema_that_is_none_is_no_error(schema: object) -> None:
    assert document_of("disk", "read", None, "", schema).fields["name"] == "read"


def test_a_schema_without_end_is_looked_at_to_some_depth() -> None:
    schema: dict[str, object] = {}
    schema["properties"] = {"again": schema}
    schema["items"] = schema

    assert set(document_of("disk", "read", None, "", schema).fields["parameters"].split()) == {"again"}


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("", ""),
        ("One sentence", "One sentence"),
        ("One. Two.", "One."),
        ("Is it? Yes!", "Is it?"),
        ("A line\n\nand another", "A line"),
        ("删除文件。然后结束。", "删除文件。"),
        ("Version 1.2 of it. More", "Version 1.2 of it."),
    ],
)
def test_the_first_sentence_ends_where_a_reader_would_end_it(text: str, first: str) -> None:
    assert split_sentence(text)[0] == first
