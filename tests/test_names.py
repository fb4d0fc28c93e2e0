import json
import keyword
import re
import shlex
import unicodedata
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from satchel.names import (
    IDENTIFIER_MAX,
    SERVER_WIRE_MAX,
    Spelling,
    assign_servers,
    assign_tools,
    closest,
    in_shell,
    servers_in_program,
    wire_name,
)

REAL_TOOLS = Path(__file__).resolve().parents[2] / "shared" / "data" / "realtools"

# Written out again, and from the languages' side, so that the rules are not checked against themselves.
TYPESCRIPT_RESERVED = {
    *("break", "case", "catch", "class", "const", "continue", "debugger", "default", "delete", "do", "else"),
    *("enum", "export", "extends", "false", "finally", "for", "function", "if", "import", "in", "instanceof"),
    *("new", "null", "return", "super", "switch", "this", "throw", "true", "try", "typeof", "var", "void"),
    *("while", "with", "implements", "interface", "let", "package", "private", "protected", "public"),
    *("static", "yield", "await", "arguments", "eval", "undefined"),
}
PYTHON_FILES = {"sync", "resources", "prompts", "example"}
TYPESCRIPT_FILES = {"index", "example", "resources", "prompts", "version"}
FOLDERS = {"index", "readme", "node_modules", "con", "nul", "aux", "prn", "com1", "lpt9"}

PIECES = [
    *("a", "A", "b", "B", "1", "_", "__", "-", ".", "/", " ", "@", "$", "\0", "\n", "\x7f", "·", "‿"),
    *("get", "Item", "URL", "class", "import", "None", "sync", "index", "then", "con", "x" * 70),
    *("é", "e\u0301", "\u0301", "ﬁ", "fi", "ß", "ss", "ſ", "İ", "ı", "Σ", "ς", "ǆ", "ΐ", "K", "２", "²", "½"),
    *("名", "前", "ש", "\u200f", "\u202e", "\u200b", "\ufe0f", "\u034f", "\u3164", "😀", "\ud800", "\udfff"),
    *("\u1885", "℘", "፩", "\u0323", "ﷺ", "\u0345", "\u1160"),
]
any_name = st.one_of(
    st.text(st.characters(), max_size=12),
    st.lists(st.sampled_from(PIECES), max_size=6).map("".join),
    st.text("abAB_-.", max_size=4),
)
any_names = st.lists(any_name, max_size=12)
underscored = st.lists(st.text("ab_-", max_size=5), max_size=8)
property_test = settings(deadline=None, max_examples=150)


def folded(text: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def distinct(texts: Iterable[str]) -> bool:
    keys = [folded(text) for text in texts]
    return len(keys) == len(set(keys))


def suffix(name: str, length: int = 6) -> str:
    return sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:length]


def check_python(text: str) -> None:
    code = compile(f"def {text}(): ...", "wrapper", "exec")
    assert code.co_names == (text,)  # what Python binds is what was written
    assert not (text.startswith("__") and text.endswith("__"))
    assert len(text) <= IDENTIFIER_MAX


def check_letters(text: str) -> None:
    categories = {unicodedata.category(character) for character in text}
    assert categories <= {"Lu", "Ll", "Lt", "Lm", "Lo", "Nl", "Mn", "Mc", "Nd", "Pc"}
    assert unicodedata.normalize("NFKC", text) == text


def check_typescript(text: str) -> None:
    check_letters(text)
    assert text[0] == "_" or unicodedata.category(text[0])[0] == "L" or unicodedata.category(text[0]) == "Nl"
    assert text not in TYPESCRIPT_RESERVED
    assert len(text) <= IDENTIFIER_MAX


def check_tool(spelling: Spelling) -> None:
    check_python(spelling.python)
    check_typescript(spelling.typescript)
    assert folded(spelling.python) not in PYTHON_FILES
    assert folded(spelling.typescript) not in TYPESCRIPT_FILES
    assert re.fullmatch(r"[A-Za-z0-9_]{1,60}", spelling.wire)


def check_server(spelling: Spelling) -> None:
    check_python(spelling.python)
    check_letters(spelling.typescript.replace("-", "_"))
    assert 0 < len(spelling.typescript) <= IDENTIFIER_MAX
    assert spelling.typescript[0] not in ".-"
    assert folded(spelling.typescript) not in FOLDERS
    assert re.fullmatch(r"[A-Za-z0-9_]{1,30}", spelling.wire)
    assert "__" not in spelling.wire
    assert spelling.wire == spelling.wire.strip("_")


def check_distinct(spellings: Iterable[Spelling]) -> None:
    everyone = list(spellings)
    assert distinct(spelling.python for spelling in everyone)
    assert distinct(spelling.typescript for spelling in everyone)
    assert distinct(spelling.wire for spelling in everyone)


@pytest.mark.parametrize(
    ("name", "python", "typescript", "wire"),
    [
        ("google-drive", "google_drive", "google-drive", "google_drive"),
        ("github", "github", "github", "github"),
        ("GitHub", "GitHub", "github", "GitHub"),
        ("Bing CN (mcp)", "Bing_CN_mcp", "bing-cn-mcp", "Bing_CN_mcp"),
        ("@scope/x", "scope_x", "scope-x", "scope_x"),
        ("1mcp", "_1mcp", "1mcp", "1mcp"),
        ("class", "class_", "class", "class"),
        ("a__b", "a__b", "a-b", "a_b"),
        ("_x_", "_x_", "x", "x"),
        ("Index", "Index", "index_", "Index"),
        ("README", "README", "readme_", "README"),
        ("con", "con_", "con_", "con"),
        ("LPT1", "LPT1_", "lpt1_", "LPT1"),
        ("node_modules", "node_modules", "node-modules", "node_modules"),
        (".hidden", "hidden", "hidden", "hidden"),
        ("--flag", "flag", "flag", "flag"),
        ("../../etc", "etc", "etc", "etc"),
        ("café", "café", "café", "cafe"),
        ("名前", "名前", "名前", f"server_{suffix('名前')}"),
        ("", f"server_{suffix('')}", f"server-{suffix('')}", f"server_{suffix('')}"),
        ("..", f"server_{suffix('..')}", f"server-{suffix('..')}", f"server_{suffix('..')}"),
    ],
)
def test_a_server_is_spelled_as_people_expect(name: str, python: str, typescript: str, wire: str):
    expected = Spelling(python=python, typescript=typescript, wire=wire)
    assert assign_servers([name]) == {name: expected}


@pytest.mark.parametrize(
    ("name", "python", "typescript", "wire"),
    [
        ("get_document", "get_document", "getDocument", "get_document"),
        ("listIssues", "listIssues", "listIssues", "listIssues"),
        ("getURL", "getURL", "getURL", "getURL"),
        ("GetItem", "GetItem", "getItem", "GetItem"),
        ("HTMLToPDF", "HTMLToPDF", "htmlToPdf", "HTMLToPDF"),
        ("InfluxDBWriteLP", "InfluxDBWriteLP", "influxDbWriteLp", "InfluxDBWriteLP"),
        ("API-post-search", "API_post_search", "apiPostSearch", "API_post_search"),
        ("get.item", "get_item", "getItem", "get_item"),
        ("get -_- item!", "get_item", "getItem", "get_item"),
        ("_private-item", "_private_item", "_privateItem", "_private_item"),
        ("1x", "_1x", "_1x", "1x"),
        ("\u1885x", "_\u1885x", "_\u1885x", "x"),
        ("import", "import_", "import_", "import"),
        ("class", "class_", "class_", "class"),
        ("lambda", "lambda_", "lambda", "lambda"),
        ("None", "None_", "none", "None"),
        ("delete", "delete", "delete_", "delete"),
        ("match", "match", "match", "match"),
        ("sync", "sync_", "sync", "sync"),
        ("Sync", "Sync_", "sync", "Sync"),
        ("resources", "resources_", "resources_", "resources"),
        ("Example", "Example_", "example_", "Example"),
        ("version", "version", "version_", "version"),
        ("index", "index", "index_", "index"),
        ("then", "then", "then_", "then"),
        ("__init__", "init_", "__init", "__init__"),
        ("_", "_", "_", "_"),
        ("ﬁle", "file", "file", "file"),
        ("e\u0301tat", "état", "état", "etat"),
        ("a_\u0301b", "a_\u0301b", "áb", "a_b"),
        ("❤️ list", "list", "list", "list"),
        ("名前", "名前", "名前", f"tool_{suffix('名前')}"),
        ("名前_list", "名前_list", "名前List", "list"),
        ("", f"tool_{suffix('')}", f"tool_{suffix('')}", f"tool_{suffix('')}"),
        ("\0", f"tool_{suffix(chr(0))}", f"tool_{suffix(chr(0))}", f"tool_{suffix(chr(0))}"),
        ("\ud800", *[f"tool_{suffix(chr(0xD800))}"] * 3),
        ("x" * 60, "x" * 60, "x" * 60, "x" * 60),
        ("x" * 300, *[f"{'x' * 53}_{suffix('x' * 300)}"] * 3),
    ],
)
def test_a_tool_is_spelled_as_people_expect(name: str, python: str, typescript: str, wire: str):
    expected = Spelling(python=python, typescript=typescript, wire=wire)
    assert assign_tools([name]) == {name: expected}


def test_every_reserved_word_of_a_language_gets_an_underscore_there():
    for word in keyword.kwlist:
        assert assign_tools([word])[word].python == f"{word}_"
        assert assign_servers([word])[word].python == f"{word}_"
    for word in TYPESCRIPT_RESERVED:
        assert assign_tools([word])[word].typescript == f"{word}_"


def test_the_wire_name_joins_server_and_tool():
    server = assign_servers(["google-drive"])["google-drive"]
    tool = assign_tools(["get_document"])["get_document"]
    assert wire_name(server, tool) == "google_drive__get_document"


def test_who_comes_first_keeps_the_plain_name():
    spelled = assign_tools(["get-item", "get_item", "get item"])
    assert [spelling.python for spelling in spelled.values()] == [
        "get_item",
        f"get_item_{suffix('get_item')}",
        f"get_item_{suffix('get item')}",
    ]


def test_each_language_is_judged_on_its_own():
    spelled = assign_tools(["get_item", "getItem"])["getItem"]
    assert spelled == Spelling(python="getItem", typescript=f"getItem_{suffix('getItem')}", wire="getItem")


@pytest.mark.parametrize(
    "names",
    [
        ["List", "list", "LIST"],
        ["file", "ﬁle", "ＦＩＬＥ"],
        ["straße", "STRASSE", "strasse"],
        ["état", "e\u0301tat", "ÉTAT"],
        ["get_item", "get_item\ufe0f", "get_item\u034f", "\u200fget_item"],
        ["class", "class_", "class!"],
        ["__init__", "init_", "__ init __"],
    ],
)
def test_names_that_fold_into_each_other_get_distinct_spellings(names: list[str]):
    for assign in (assign_tools, assign_servers):
        spelled = assign(names)
        assert list(spelled) == names
        check_distinct(spelled.values())


def test_a_suffix_grows_when_it_is_taken_itself():
    taken = f"get_item_{suffix('get item')}"
    spelled = assign_tools(["get_item", taken, "get item"])
    assert spelled[taken].python == taken
    assert spelled["get item"].python == f"get_item_{suffix('get item', 7)}"


def test_names_built_to_use_up_every_suffix_do_not_leave_a_tool_without_a_name():
    squatters = [f"get_item_{suffix('get item', length)}" for length in range(6, 65)]
    spelled = assign_tools(["get_item", *squatters, "get item"])
    check_tool(spelled["get item"])
    check_distinct(spelled.values())


def test_names_given_twice_are_one_and_the_result_is_in_input_order():
    assert list(assign_tools(["b", "a", "b", "c", "a"])) == ["b", "a", "c"]


def test_kept_spellings_win_over_names_that_come_earlier():
    kept = assign_tools(["get_item"])
    spelled = assign_tools(["get-item", "get_item"], kept)
    assert list(spelled) == ["get-item", "get_item"]
    assert spelled["get_item"] == kept["get_item"]
    assert spelled["get-item"].python == f"get_item_{suffix('get-item')}"


def test_spellings_of_names_that_are_gone_can_be_had_again():
    kept = assign_tools(["get-item", "other"])
    assert assign_tools(["get_item"], kept)["get_item"].python == "get_item"


@pytest.mark.parametrize(
    "broken",
    [
        {"python": "class"},
        {"python": "sync"},
        {"python": "__init__"},
        {"python": "not valid"},
        {"python": "../escape"},
        {"python": "ﬁle"},
        {"python": "x" * 61},
        {"python": ""},
        {"typescript": "delete"},
        {"typescript": "Index"},
        {"typescript": "a-b"},
        {"typescript": "x\n"},
        {"typescript": "x\ufe0f"},
        {"wire": ""},
        {"wire": "é"},
        {"wire": "x\n"},
        {"wire": "x-y"},
    ],
)
def test_a_kept_spelling_of_a_tool_that_is_invalid_is_made_anew(broken: dict[str, str]):
    fine = {"python": "mine", "typescript": "mine", "wire": "mine"}
    assert assign_tools(["x"], {"x": Spelling(**fine)}) == {"x": Spelling(**fine)}
    assert assign_tools(["x"], {"x": Spelling(**{**fine, **broken})}) == assign_tools(["x"])


@pytest.mark.parametrize(
    "broken",
    [
        {"python": "import"},
        {"typescript": ""},
        {"typescript": "."},
        {"typescript": ".."},
        {"typescript": "a/b"},
        {"typescript": "-x"},
        {"typescript": "NUL"},
        {"typescript": "node_modules"},
        {"wire": "a__b"},
        {"wire": "a_"},
        {"wire": "_a"},
        {"wire": "a" * (SERVER_WIRE_MAX + 1)},
    ],
)
def test_a_kept_spelling_of_a_server_that_is_invalid_is_made_anew(broken: dict[str, str]):
    fine = {"python": "mine", "typescript": "mine", "wire": "mine"}
    assert assign_servers(["x"], {"x": Spelling(**fine)}) == {"x": Spelling(**fine)}
    assert assign_servers(["x"], {"x": Spelling(**{**fine, **broken})}) == assign_servers(["x"])


def test_of_two_kept_spellings_that_clash_the_second_is_made_anew():
    same = Spelling(python="Same", typescript="same", wire="same")
    other = Spelling(python="same", typescript="other", wire="other")
    assert assign_tools(["a", "b"], {"b": other, "a": same}) == {"a": same, "b": assign_tools(["b"])["b"]}


@property_test
@given(any_names)
def test_every_tool_gets_a_valid_spelling_of_its_own(names: list[str]):
    spelled = assign_tools(names)
    assert list(spelled) == list(dict.fromkeys(names))
    for spelling in spelled.values():
        check_tool(spelling)
    check_distinct(spelled.values())


@property_test
@given(any_names)
def test_every_server_gets_a_valid_spelling_of_its_own(names: list[str]):
    spelled = assign_servers(names)
    assert list(spelled) == list(dict.fromkeys(names))
    for spelling in spelled.values():
        check_server(spelling)
    check_distinct(spelled.values())


@property_test
@given(st.from_regex(r"[a-z][A-Za-z0-9_]{0,20}[a-z]", fullmatch=True))
def test_a_tool_that_is_an_identifier_keeps_its_name_but_for_reserved_words(name: str):
    spelling = assign_tools([name])[name]
    assert spelling.python in (name, f"{name}_")
    assert spelling.wire == name
    assert folded(spelling.typescript.rstrip("_")) == folded(name.replace("_", ""))


@pytest.mark.slow
@property_test
@given(any_names, any_names)
def test_names_added_later_rename_nothing(names: list[str], later: list[str]):
    for assign in (assign_tools, assign_servers):
        before = assign(names)
        after = assign([*names, *later])
        assert {name: after[name] for name in before} == before


@pytest.mark.slow
@property_test
@given(any_names, any_names, any_names)
def test_names_added_anywhere_rename_nothing_that_is_kept(
    earlier: list[str], names: list[str], later: list[str]
):
    for assign in (assign_tools, assign_servers):
        kept = assign(names)
        spelled = assign([*earlier, *reversed(names), *later], kept)
        assert {name: spelled[name] for name in kept} == kept
        check_distinct(spelled.values())


@pytest.mark.slow
@property_test
@given(any_names)
def test_assigning_again_changes_nothing(names: list[str]):
    for assign in (assign_tools, assign_servers):
        spelled = assign(names)
        assert assign(names) == spelled
        assert assign(names, spelled) == spelled
        assert list(assign(names, spelled)) == list(spelled)


@pytest.mark.slow
@property_test
@given(st.dictionaries(any_name, st.builds(Spelling, python=any_name, typescript=any_name, wire=any_name)))
def test_whatever_was_kept_the_spellings_are_valid_and_distinct(kept: dict[str, Spelling]):
    for assign, check in ((assign_tools, check_tool), (assign_servers, check_server)):
        spelled = assign(kept, kept)
        for spelling in spelled.values():
            check(spelling)
        check_distinct(spelled.values())


@pytest.mark.slow
@property_test
@given(st.lists(any_name, max_size=5) | underscored, any_names | underscored)
def test_no_two_tools_of_any_servers_share_a_wire_name(servers: list[str], tools: list[str]):
    names = [
        wire_name(server, tool)
        for server in assign_servers(servers).values()
        for tool in assign_tools(tools).values()
    ]
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in names)
    assert distinct(names)


def test_servers_and_tools_that_split_in_two_ways_do_not_share_a_wire_name():
    servers = assign_servers(["a", "a__b", "a_", "_a", "a_b", "a-"])
    tools = assign_tools(["b__c", "c", "_c", "__c", "b", "_b__c", "b_", "_"])
    names = [wire_name(server, tool) for server in servers.values() for tool in tools.values()]
    assert distinct(names)


def test_long_names_that_begin_alike_do_not_share_a_wire_name():
    servers = assign_servers(["s" * 40, "s" * 41, "s" * 300])
    tools = assign_tools("t" * 200 + str(number) * 100 for number in range(10))
    names = [wire_name(server, tool) for server in servers.values() for tool in tools.values()]
    assert distinct(names)
    assert all(len(name) == 64 for name in names)


def test_a_tool_can_not_be_named_after_the_cut_wire_name_of_another():
    server = assign_servers(["s" * 30])["s" * 30]
    long = "t" * 50
    cut = wire_name(server, assign_tools([long])[long])
    imitation = cut.removeprefix("s" * 30 + "__")
    tools = assign_tools([imitation, long, imitation.replace("-", "_")])
    assert distinct(wire_name(server, tool) for tool in tools.values())


def test_every_real_server_and_tool_has_its_spelling():
    if not REAL_TOOLS.is_dir():
        pytest.skip("../shared/data/realtools is not here")
    listings = [json.loads(path.read_text("utf-8")) for path in sorted(REAL_TOOLS.glob("*.json"))]
    servers = assign_servers(listing["server"] for listing in listings)
    assert len(servers) == len({listing["server"] for listing in listings}) > 0
    check_distinct(servers.values())
    wire_names: list[str] = []
    plain = 0
    for listing in listings:
        server = servers[listing["server"]]
        check_server(server)
        tools = assign_tools(tool["name"] for tool in listing["tools"])
        check_distinct(tools.values())
        for name, tool in tools.items():
            check_tool(tool)
            plain += tool.python == name.replace("-", "_")
            wire_names.append(wire_name(server, tool))
    assert distinct(wire_names)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in wire_names)
    assert plain > 0.95 * len(wire_names)


@pytest.mark.slow
def test_twenty_thousand_tools_are_spelled():
    """A step that is quadratic would not end before the test has to."""
    names = [f"get_document_{number}" for number in range(20_000)]
    colliding = ["get" + "-" * (number % 200) + f"item{number // 200}" for number in range(20_000)]
    kept = assign_tools(names)
    assign_tools(names, kept)
    assert len(assign_tools(colliding)) == len(colliding)


def test_a_name_of_a_million_characters_is_no_trouble():
    """A step that is quadratic would not end before the test has to."""
    for piece in ("_", "-", "_-", "a_", "aB", "名", "\u0301"):
        name = piece * 500_000 + "\u0323" * 500_000
        for spelling in assign_tools([name, name + "!"]).values():
            check_tool(spelling)
        assert closest(name, [name]) == [name]


@pytest.mark.parametrize(
    ("code", "servers"),
    [
        ("from servers.google_drive import get", {"google_drive"}),
        ("from servers.google_drive.get import get", {"google_drive"}),
        ("import servers.crm as crm, servers.git", {"crm", "git"}),
        ("from servers import crm, git", {"crm", "git"}),
        ("from servers import crm as c; import time", {"crm", "as", "c"}),
        ("from servers import (\n    crm,\n    git,\n)\nimport time", {"crm", "git"}),
        ("from servers \\\n    import crm\nimport time", {"crm"}),
        ("import servers\nservers.crm.find()", {"crm"}),
        ("import { get } from './servers/google-drive/index.ts'", {"google-drive"}),
        ('const { get } = await import("./servers/crm/get.ts")', {"crm"}),
        ("cat servers/crm/find.py", {"crm"}),
        ("import time\nmy_servers.crm", set[str]()),
        ("servers = [1]", set[str]()),
    ],
)
def test_a_program_names_the_servers_that_it_imports(code: str, servers: set[str]):
    assert servers_in_program(code) == servers


@pytest.mark.slow
def test_a_program_may_be_long_and_odd():
    """A step that is quadratic would not end before the test has to."""
    for word in ("servers", "servers import", "servers import(", "servers.a"):
        for following in ("", " ", "\n", "(\n", " \\\n", " " * 500):
            servers_in_program((word + following) * 100_000)
            servers_in_program(word + following * 100_000)


def test_the_closest_names_ignore_case_and_punctuation():
    known = ["get_document", "GET-DOCUMENT", "list_files", "get_documents", "delete_file"]
    assert closest("Get.Document", known) == ["get_document", "GET-DOCUMENT", "get_documents"]
    assert closest("getdocment", known, limit=1) == ["get_document"]
    assert closest("list-file", known)[0] == "list_files"


def test_there_may_be_no_closest_name():
    assert closest("zzz", ["get_document"]) == []
    assert closest("get", []) == []
    assert closest("", ["get_document"]) == []
    assert closest("get_document", ["get_document"], limit=0) == []


@property_test
@given(any_name, any_names, st.integers(-1, 5))
def test_the_closest_names_are_known_ones_within_the_limit(name: str, known: list[str], limit: int):
    found = closest(name, known, limit)
    assert len(found) <= max(limit, 0)
    assert set(found) <= set(known)
    assert len(found) == len(set(found))


@pytest.mark.parametrize("name", ["github", "sales:slack", "sales:google calendar", "it's `id` $(id)", "é"])
def test_a_name_is_one_word_for_a_shell(name: str) -> None:
    assert shlex.split(in_shell(name)) == [name]
    assert (in_shell(name) == name) == (name in ("github", "sales:slack"))
