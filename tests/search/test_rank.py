"""What a query finds among forty tools: by name, by other words, by parts, or not at all."""

import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from satchel.search.documents import Hit
from satchel.search.index import Index, make_section
from satchel.search.rank import _share_of_sense, distance, search
from satchel.search.tool_documents import FIELDS, document_of


class Described(NamedTuple):
    """A tool in a line: its name, what it does, the names of its parameters."""

    name: str
    description: str
    parameters: str = ""
    title: str = ""


Catalog = Mapping[str, Sequence[Described]]

CATALOG: Catalog = {
    "codehost": [
        Described("create_issue", "Open a new issue in a repository.", "repository title body labels"),
        Described("list_issues", "List the issues of a repository, newest first.", "repository state"),
        Described("create_pull_request", "Propose changes of a branch for review.", "repository head base"),
        Described("merge_pull_request", "Merge an approved pull request into its base branch.", "number"),
        Described("search_code", "Find source code by what it contains, in all repositories.", "pattern"),
    ],
    "chat": [
        Described("post_message", "Post a message to a channel or thread of the chat.", "channel text"),
        Described("list_channels", "All channels of the workspace, with their topics.", "cursor"),
        Described("invite_member", "Invite somebody to a channel.", "channel member"),
        Described("add_reaction", "React to a message with an emoji.", "channel timestamp emoji"),
        Described("search_messages", "Search the history of conversations for words.", "words from until"),
    ],
    "drive": [
        Described(
            "find_document", "Find documents, reports and presentations by their title.", "title owner"
        ),
        Described("export_document", "Export a document as PDF or plain text.", "document format"),
        Described("create_folder", "Create a folder for documents.", "name parent"),
        Described("share_document", "Give a person access to a document.", "document email role"),
        Described("empty_trash", "Delete for good whatever is in the trash.", ""),
    ],
    "calendar": [
        Described("create_event", "Put a meeting into the calendar.", "start end attendees location"),
        Described("list_events", "Upcoming meetings within a span of days.", "days"),
        Described("cancel_event", "Call a meeting off and tell its attendees.", "event reason"),
        Described("find_free_time", "Hours at which all attendees are available.", "attendees duration"),
        Described("respond_to_invitation", "Accept or decline an invitation.", "event answer"),
    ],
    "warehouse": [
        Described("run_query", "Run a SQL query against the database and return its rows.", "sql"),
        Described("list_tables", "Names and sizes of the tables of a schema.", "schema"),
        Described("describe_table", "Columns, types and indexes of one table.", "table"),
        Described("backup_database", "Write a backup of the whole database to storage.", "destination"),
        Described("explain_query", "Show how the database would execute a query.", "sql"),
    ],
    "browser": [
        Described("navigate", "Open a web page in the browser.", "url"),
        Described("click_element", "Click on a button or link of the page.", "selector"),
        Described("take_screenshot", "Capture the visible part of the page.", "width height"),
        Described("fill_form", "Type values into the fields of a form.", "values"),
        Described("read_console", "What the page has logged to its console.", "level"),
    ],
    "files": [
        Described("read_file", "Return the contents of a file on disk.", "path encoding"),
        Described("write_file", "Replace the contents of a file on disk.", "path contents"),
        Described("delete_file", "Remove a file from disk for good.", "path"),
        Described("directory_tree", "All files below a directory, as a tree.", "path depth"),
        Described("resize_image", "Scale an image to another size.", "path width height"),
    ],
    "payments": [
        Described("createInvoice", "Bill a customer for what was delivered.", "customer lines due"),
        Described("refundCharge", "Pay a charge back to the card that it came from.", "charge amount"),
        Described("listCustomers", "Customers with their addresses and cards.", "cursor"),
        Described("createSubscription", "Charge a customer each month.", "customer plan"),
        Described("getBalance", "How much money is on the account.", "currency"),
    ],
}
ALL = [(server, tool) for server, tools in CATALOG.items() for tool in tools]
NAMES = [f"{server}.{tool.name}" for server, tool in ALL]


def index_of(*catalogs: Catalog) -> Index:
    index = Index()
    for catalog in catalogs:
        for server, tools in catalog.items():
            index.put(server, make_section([_document(server, tool) for tool in tools], FIELDS))
    return index


def _document(server: str, tool: Described) -> Any:
    properties = {name: {"type": "string"} for name in tool.parameters.split()}
    schema = {"type": "object", "properties": properties}
    return document_of(server, tool.name, tool.title or None, tool.description, schema)


def named(hits: Iterable[Hit]) -> list[str]:
    return [f"{hit.group}.{hit.key}" for hit in hits]


def found(index: Index, query: str, *, limit: int = 10, **options: Any) -> list[str]:
    return named(search(index, query, limit=limit, **options))


def words_of(name: str) -> list[str]:
    return re.sub(r"([a-z])([A-Z])", r"\1 \2", name).replace("_", " ").lower().split()


@pytest.fixture(scope="module")
def index() -> Index:
    """Nobody changes it."""
    return index_of(CATALOG)


# Names


def _spellings(server: str, tool: str) -> list[str]:
    first, *rest = words = words_of(tool)
    camel = first + "".join(map(str.capitalize, rest))
    return [
        tool,
        f"{server}.{tool}",
        f"{server}__{tool}",
        f"{server}/{tool}",
        f"  {server}.{tool}\n",
        "_".join(words),
        "-".join(words),
        "_".join(words).upper(),
        " ".join(words),
        " ".join(words).title(),
        camel,
        f"{server}.{camel}",
        f"{server} {' '.join(words)}",
    ]


@pytest.mark.parametrize(("server", "tool"), ALL, ids=NAMES)
def test_an_exact_name_comes_first_however_it_is_spelled(index: Index, server: str, tool: Described) -> None:
    spelled = _spellings(server, tool.name)

    assert {text: found(index, text)[0] for text in spelled} == dict.fromkeys(
        spelled, f"{server}.{tool.name}"
    )


def test_an_exact_name_fits_whole(index: Index) -> None:
    first, *others = search(index, "files.delete_file", limit=10)

    assert first.fit == 1.0
    assert all(other.score < first.score for other in others)


@pytest.mark.parametrize("query", ["delete_file", "files.delete_file", "delete file", "deleteFile"])
def test_an_exact_name_comes_first_even_where_others_have_its_words_more_often(query: str) -> None:
    loud = {
        "loud": [
            Described(
                "delete_file_or_delete_files", "Delete file, delete file, delete file. " * 30, "file delete"
            ),
            Described("file_delete", "Delete a file: delete file.", "delete file", "Delete file"),
            Described(
                "delete_file_files", "files delete file " * 50, "files delete_file", "Delete file of files"
            ),
        ]
    }

    assert found(index_of(loud, CATALOG), query)[0] == "files.delete_file"


def test_all_tools_of_one_name_come_first() -> None:
    twin = {"archive": [Described("delete_file", "Take a file out of the archive.", "entry")]}

    hits = found(index_of(CATALOG, twin), "delete_file")

    assert set(hits[:2]) == {"files.delete_file", "archive.delete_file"}
    assert found(index_of(CATALOG, twin), "archive.delete_file")[0] == "archive.delete_file"


# Mistakes


MISSPELT = [
    ("creat_issue", "codehost.create_issue"),  # missing
    ("create_isue", "codehost.create_issue"),
    ("merge_pul_request", "codehost.merge_pull_request"),
    ("createe_folder", "drive.create_folder"),  # doubled
    ("take_screenshoot", "browser.take_screenshot"),
    ("list_channnels", "chat.list_channels"),
    ("export_docuemnt", "drive.export_document"),  # exchanged
    ("backup_databaes", "warehouse.backup_database"),
    ("refnudCharge", "payments.refundCharge"),
    ("describe_tabel", "warehouse.describe_table"),
    ("navigote", "browser.navigate"),  # wrong
    ("resize_imoge", "files.resize_image"),
    ("post_massage", "chat.post_message"),
    ("serch_mesages", "chat.search_messages"),  # two
    ("dirctory_tre", "files.directory_tree"),
    ("chat.post_mesage", "chat.post_message"),
    ("warehouse.backup_datbase", "warehouse.backup_database"),
    ("find document by its titel", "drive.find_document"),  # in ordinary words
    ("put a meetting into my calendar", "calendar.create_event"),
    ("take a screnshot of the page", "browser.take_screenshot"),
    ("how much mony is on the acount", "payments.getBalance"),
    ("accept the invitaton", "calendar.respond_to_invitation"),
    ("scale a pcture to another size", "files.resize_image"),
    ("hisotry of conversations", "chat.search_messages"),
]


@pytest.mark.parametrize(("query", "tool"), MISSPELT)
def test_a_misspelt_name_or_word_still_finds_its_tool_among_the_first_three(
    index: Index, query: str, tool: str
) -> None:
    assert tool in found(index, query)[:3]


@pytest.mark.parametrize("kind", ["missing", "doubled", "exchanged", "wrong"])
def test_nearly_every_name_is_found_with_any_one_mistake_within_its_words(index: Index, kind: str) -> None:
    asked = {mistaken: name for server, tool in ALL for mistaken, name in _mistakes(server, tool.name, kind)}
    missed = [query for query, name in asked.items() if name not in found(index, query)[:3]]

    assert len(asked) > 200
    assert len(missed) <= 0.03 * len(asked), missed


def _mistakes(server: str, tool: str, kind: str) -> Iterable[tuple[str, str]]:
    """The name with one letter of one of its longer words changed; their first letters stay."""
    words = words_of(tool)
    for place, word in enumerate(words):
        for at in range(1, len(word) - 1) if len(word) > 4 else ():
            changed = {
                "missing": word[:at] + word[at + 1 :],
                "doubled": word[:at] + word[at] + word[at:],
                "exchanged": word[:at] + word[at + 1] + word[at] + word[at + 2 :],
                "wrong": word[:at] + ("x" if word[at] != "x" else "q") + word[at + 1 :],
            }[kind]
            yield "_".join([*words[:place], changed, *words[place + 1 :]]), f"{server}.{tool}"


@pytest.mark.parametrize(
    ("one", "other", "letters"),
    [
        ("table", "table", 0),
        ("table", "tabel", 1),
        ("table", "tabl", 1),
        ("table", "tablee", 1),
        ("table", "cable", 1),
        ("table", "ctabel", 2),
        ("table", "chair", 3),
        ("table", "tablecloth", 3),
        ("", "ab", 2),
    ],
)
def test_the_distance_of_words_is_counted_up_to_a_limit(one: str, other: str, letters: int) -> None:
    assert distance(one, other, 2) == distance(other, one, 2) == letters


# Other words


@pytest.mark.parametrize(
    ("query", "tool"),
    [
        ("erase a file", "files.delete_file"),
        ("make a picture smaller", "files.resize_image"),
        ("photo size", "files.resize_image"),
        ("load a file from disk", "files.read_file"),
        ("save text to a file", "files.write_file"),
        ("send a message to the team channel", "chat.post_message"),
        ("show folder structure", "files.directory_tree"),
        ("book an appointment", "calendar.create_event"),
        ("abort a meeting", "calendar.cancel_event"),
        ("execute sql", "warehouse.run_query"),
        ("locate a report", "drive.find_document"),
        ("visit a website", "browser.navigate"),
        ("new bug ticket in the repo", "codehost.create_issue"),
        ("combine the branch", "codehost.merge_pull_request"),
        ("clients and their addresses", "payments.listCustomers"),
    ],
)
def test_other_words_for_the_same_thing_find_the_tool(index: Index, query: str, tool: str) -> None:
    assert tool in found(index, query)[:5]


@pytest.mark.parametrize(
    ("query", "tool"),
    [
        ("7 minus 4", "subtract"),
        ("9 times 3", "multiply"),
        ("miles per hour", "divide"),
        ("fake", "make_synthetic"),
    ],
)
def test_everyday_words_for_operations_find_them(query: str, tool: str) -> None:
    names = ["add", "subtract", "multiply", "divide", "make_synthetic", "negate", "list_rows"]
    index = index_of({"numbers": [Described(name, "") for name in names]})

    assert found(index, query)[0] == f"numbers.{tool}"


# Several things at once


@pytest.mark.parametrize(
    ("query", "tools"),
    [
        ("find the report and post it to the chat", ["drive.find_document", "chat.post_message"]),
        ("take a screenshot, then create an issue", ["browser.take_screenshot", "codehost.create_issue"]),
        ("Read the file. Then create an invoice.", ["files.read_file", "payments.createInvoice"]),
        ("refund the charge; cancel the event", ["payments.refundCharge", "calendar.cancel_event"]),
        (
            "backup the database, delete the file and post a message",
            ["warehouse.backup_database", "files.delete_file", "chat.post_message"],
        ),
        (
            "list the tables and then create a folder, finally invite a member",
            ["warehouse.list_tables", "drive.create_folder", "chat.invite_member"],
        ),
    ],
)
def test_every_intent_of_a_query_has_its_tool_among_the_first_five(
    index: Index, query: str, tools: list[str]
) -> None:
    assert set(tools) <= set(found(index, query)[:5])


# Groups


@pytest.mark.parametrize("server", CATALOG)
def test_a_search_in_one_group_finds_nothing_of_the_others(index: Index, server: str) -> None:
    for query in ("create a file", "list messages", "files.delete_file", "chat", "find and then read"):
        assert all(hit.startswith(f"{server}.") for hit in found(index, query, group=server))


def test_a_search_in_one_group_finds_what_others_have_more_of(index: Index) -> None:
    assert found(index, "create", group="calendar")[0] == "calendar.create_event"
    assert found(index, "delete a file", group="drive")[0] == "drive.empty_trash"


def test_a_group_that_is_not_there_has_nothing(index: Index) -> None:
    assert found(index, "create an issue", group="nobody") == []


@pytest.mark.parametrize("first", [True, False])
def test_two_hundred_similar_tools_leave_room_for_those_of_others(first: bool) -> None:
    bulk = {
        "bulk": [
            Described(f"post_message_{number}", f"Post a message to channel {number}.", "channel text")
            for number in range(200)
        ]
    }
    index = index_of(bulk, CATALOG) if first else index_of(CATALOG, bulk)

    for query in ("post a message to a channel", "send a message to somebody", "write to the chat channel"):
        hits = found(index, query)
        assert "chat.post_message" in hits
        assert len(hits) == 10


def test_within_one_group_nothing_is_held_back() -> None:
    bulk = {"bulk": [Described(f"post_message_{number}", "Post a message.") for number in range(200)]}
    hits = search(index_of(bulk, CATALOG), "post a message", limit=100, group="bulk")

    assert len(hits) >= 50
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


# Those who say everything


def _every_word() -> list[str]:
    own = {word for _, tool in ALL for text in tool[:3] for word in words_of(text.replace(".", " "))}
    rest = {f"{start}{end}" for start in ("data", "serv", "work", "time") for end in range(230)}
    return sorted(own | rest)


def _shouting(where: str) -> Catalog:
    """A server of which every text repeats a thousand words, thousands of times in all."""
    source = random.Random(6)
    words = _every_word()
    texts = [" ".join(source.sample(words, len(words))) for _ in range(20)]
    text = " ".join(texts)
    every = where == "everywhere"
    return {
        "shouting": [
            Described(
                f"assistant_{number}",
                description=text if every or where == "description" else "Does what you want.",
                parameters=text if every or where == "parameters" else "",
                title=text if every or where == "title" else "",
            )
            for number in range(5)
        ]
    }


@pytest.fixture(scope="module", params=["description", "title", "parameters", "everywhere"])
def shouted_at(request: pytest.FixtureRequest) -> Index:
    return index_of(_shouting(request.param), CATALOG)


def test_who_repeats_every_word_wins_no_search_for_the_tool_of_another(shouted_at: Index) -> None:
    assert len(_every_word()) > 1000
    for server, tool in ALL:
        for query in (" ".join(words_of(tool.name)), tool.description, f"{server} {tool.description}"):
            assert found(shouted_at, query)[0] == f"{server}.{tool.name}", query


def test_who_repeats_every_word_wins_no_single_word_of_a_name(shouted_at: Index) -> None:
    words = sorted({word for _, tool in ALL for word in words_of(tool.name) if len(word) > 2})
    won = [word for word in words if found(shouted_at, word)[0].startswith("shouting.")]

    assert won == []


def test_who_repeats_every_word_changes_no_first_place(index: Index, shouted_at: Index) -> None:
    queries = [query for query, _ in MISSPELT]
    before = {query: found(index, query)[0] for query in queries}

    assert {query: found(shouted_at, query)[0] for query in queries} == before


@pytest.mark.slow
def test_a_thousand_words_two_thousand_times_win_nothing() -> None:
    text = f"{' '.join(_every_word())} " * 2000
    index = index_of({"shouting": [Described("assistant", text, title=text)]}, CATALOG)

    for server, tool in ALL:
        assert found(index, tool.description)[0] == f"{server}.{tool.name}"


# Nothing to find


@pytest.mark.parametrize(
    "query",
    [
        "xyzzy plugh frobnicate",
        "photosynthesis of ferns",
        "qwertyuiop",
        "zebra giraffe hippopotamus",
        "Schrödingers Katze füttern",
        "如何烤面包",
        "كيف أطبخ",
        "🦄🌈",
        "0123456789",
    ],
)
def test_a_hopeless_query_finds_nothing_or_little_of_itself(index: Index, query: str) -> None:
    hits = search(index, query, limit=10)

    assert not any(hit.is_match for hit in hits)


@pytest.mark.parametrize(
    "query",
    [
        "",
        " ",
        "\n\t\r",
        "\x00\x01\x1b[2J\x7f",
        "delete\x00file",
        r".*+?^${}()|[]\ ((a+)+)$ (?P<x>",
        "%s %d {0} {{}} %(name)s",
        "' OR 1=1; --",
        "删除文件",
        "احذف الملف",
        "удалить файл",
        "🗑️📄",
        "\ud800 lone",
        "a\u0301\u0323" * 1000,
        "and and and then then, , ,",
        "the of and to",
        "delete file " * 9_000,
        "x" * 100_000,
        "é" * 100_000,
        "删" * 100_000,
        "a," * 50_000,
        "(" * 100_000,
        " and then " * 10_000,
        "\n" * 100_000,
    ],
    ids=lambda query: repr(query[:16]),
)
def test_any_text_is_answered(index: Index, query: str) -> None:
    """A step that is quadratic would not end before the test has to."""
    hits = search(index, query, limit=10)

    assert len(hits) <= 10


def test_a_hundred_kilobytes_that_begin_with_a_question_are_answered(index: Index) -> None:
    query = "delete a file " + " ".join(f"w{number}" for number in range(20_000))

    assert len(query) > 100_000
    assert "files.delete_file" in found(index, query)


def test_words_between_control_characters_and_patterns_are_found(index: Index) -> None:
    assert found(index, "\x00delete\x1b file\x07")[0] == "files.delete_file"
    assert found(index, "^delete.*file$|(")[0] == "files.delete_file"


def test_tools_in_other_scripts_are_found_in_them() -> None:
    foreign = {
        "文件": [
            Described("删除文件", "从磁盘上删除一个文件。"),
            Described("读取文件", "返回文件的内容。"),
        ],
        "ملفات": [Described("احذف_الملف", "يحذف ملفا من القرص.")],
    }
    index = index_of(CATALOG, foreign)

    assert found(index, "删除文件")[0] == "文件.删除文件"
    assert found(index, "删除磁盘上的文件")[0] == "文件.删除文件"
    assert found(index, "احذف الملف")[0] == "ملفات.احذف_الملف"


def test_requests_that_nothing_fits_find_no_match() -> None:
    """These forty were written after it was chosen what a match is."""
    requests = json.loads((Path(__file__).parents[2] / "bench" / "search" / "impossible.json").read_text())
    index = index_of(CATALOG)
    matched = [
        request
        for request in requests["third"]
        if any(hit.is_match for hit in search(index, request, limit=100))
    ]

    assert len(requests["third"]) == 40
    assert len(matched) <= 8, matched


@pytest.mark.parametrize(("server", "tool"), ALL, ids=NAMES)
def test_what_a_tool_says_of_itself_matches_it(index: Index, server: str, tool: Described) -> None:
    for query in (" ".join(words_of(tool.name)), tool.description):
        hits = {f"{hit.group}.{hit.key}": hit for hit in search(index, query, limit=100)}
        assert hits[f"{server}.{tool.name}"].is_match, query


@pytest.mark.parametrize("server", ["files", "file", "filesystem"])
def test_read_a_file_finds_read_file_whatever_its_server_is_called(server: str) -> None:
    names = ["read_file", "read_multiple_files", "write_file", "edit_file", "move_file", "get_file_info"]
    names += ["copy_file", "search_files", "list_files", "delete_file", "file_exists", "read_text_file"]
    mine = {server: [Described(name, f"{name.replace('_', ' ')} on disk.", "path") for name in names]}
    rest = {name: tools for name, tools in CATALOG.items() if name != "files"}

    assert found(index_of(mine, rest), "read a file")[0] == f"{server}.read_file"
    assert found(index_of(mine), "read a file")[0] == f"{server}.read_file"


def test_the_sense_of_words_counts_less_among_more_documents() -> None:
    shares = [_share_of_sense(size) for size in (0, 1, 40, 500, 3000, 30_000)]

    assert shares == sorted(shares, reverse=True)
    assert shares[0] <= 0.5
    assert shares[-2] <= 0.3


# Order, and changes


def test_hits_come_best_first_and_their_fit_is_a_share(index: Index) -> None:
    for query in ("create a document", "find the report and post it to the chat", "delete_file"):
        hits = search(index, query, limit=50)
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        assert all(0 <= hit.fit <= 1 + 1e-9 for hit in hits)
        assert len(set(named(hits))) == len(hits)


def test_a_smaller_limit_is_the_beginning_of_a_larger_one(index: Index) -> None:
    for query in ("create", "list all tables", "find the report and post it"):
        assert found(index, query, limit=3) == found(index, query, limit=50)[:3]


QUERIES = [
    "create",
    "list issues",
    "find the report and post it",
    "creat foldr",
    "message",
    "erase a picture",
]
ORDERS = """
import json
from tests.search.test_rank import CATALOG, QUERIES, found, index_of
index = index_of(CATALOG)
print(json.dumps([found(index, query, limit=40) for query in QUERIES]))
"""


@pytest.mark.slow
def test_the_order_is_the_same_in_every_process(index: Index) -> None:
    outputs = [
        subprocess.run(
            [sys.executable, "-c", ORDERS],
            cwd=Path(__file__).parents[2],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]

    assert json.loads(outputs[0]) == json.loads(outputs[1])
    assert json.loads(outputs[0]) == [found(index, query, limit=40) for query in QUERIES]


def test_asking_again_and_asking_others_before_changes_nothing(index: Index) -> None:
    fresh = index_of(CATALOG)
    first = {query: search(fresh, query, limit=40) for query in QUERIES}
    for number in range(300):
        search(fresh, f"word{number} create", limit=5)

    assert {query: search(fresh, query, limit=40) for query in QUERIES} == first
    assert {query: search(index, query, limit=40) for query in reversed(QUERIES)} == first


def test_replacing_a_group_changes_the_results_of_that_group_alone() -> None:
    changed = {"chat": [Described("shout", "Say something loudly to everybody.", "words")]}
    index = index_of(CATALOG)
    assert found(index, "post message")[0] == "chat.post_message"  # so that something is remembered
    index.put("chat", index_of_section("chat", changed))

    assert found(index, "say something loudly")[0] == "chat.shout"
    assert [
        hit for hit in found(index, "post message search channels", limit=50) if hit.startswith("chat.")
    ] in (
        [],
        ["chat.shout"],
    )
    for server, tool in ALL:
        first = found(index, f"{server}.{tool.name}", limit=1)
        assert (first == [f"{server}.{tool.name}"]) == (server != "chat")
    anew = index_of({**CATALOG, **changed})
    assert [search(index, query, limit=40) for query in QUERIES] == [
        search(anew, query, limit=40) for query in QUERIES
    ]


def index_of_section(server: str, catalog: Catalog) -> Any:
    return make_section([_document(server, tool) for tool in catalog[server]], FIELDS)


def test_removing_a_group_removes_its_results_and_no_others() -> None:
    index = index_of(CATALOG)
    assert found(index, "post message")[0] == "chat.post_message"
    index.remove("chat")
    index.remove("nobody")

    rest = index_of({server: tools for server, tools in CATALOG.items() if server != "chat"})
    for query in [*QUERIES, "post_message", "chat"]:
        assert search(index, query, limit=40) == search(rest, query, limit=40)
    assert not any(hit.startswith("chat.") for hit in found(index, "post message to channel chat", limit=50))


@pytest.mark.parametrize("query", ["", "create", "chat.post_message", "find it and then post it", "删除"])
def test_an_empty_index_finds_nothing(query: str) -> None:
    emptied = index_of(CATALOG)
    for server in CATALOG:
        emptied.remove(server)

    assert search(Index(), query, limit=10) == []
    assert search(Index(), query, limit=10, group="chat") == []
    assert search(emptied, query, limit=10) == []
    assert search(index_of({"chat": []}), query, limit=10) == []


# Meaning


def test_what_is_near_by_meaning_is_found_without_a_word_in_common(index: Index) -> None:
    meaning = {("warehouse", "list_tables"): 0.9, ("files", "read_file"): 0.2, ("gone", "tool"): 1.0}

    assert found(index, "xyzzy", meaning=meaning)[0] == "warehouse.list_tables"
    assert found(index, "xyzzy", meaning=meaning, group="files")[0] == "files.read_file"
    assert found(index, "delete_file", meaning=meaning)[0] == "files.delete_file"


@pytest.mark.parametrize("query", ["", "🦄", "!!!"])
def test_a_query_without_words_does_not_find_a_name_without_words(query: str) -> None:
    index = index_of(CATALOG, {"odd": [Described("🎉", "Celebrate."), Described("___", "Do.")]})
    assert search(index, query, limit=5) == []


@pytest.mark.parametrize(
    ("query", "place"),
    [("calender", "calendar."), ("anvigate", "browser.navigate"), ("subscritpion", "payments.")],
)
def test_a_mistake_in_the_ending_or_at_the_beginning_is_forgiven(query: str, place: str) -> None:
    assert any(name.startswith(place) for name in found(index_of(CATALOG), query)[:3])
