"""The catalog on disk: what was written comes back, and what is damaged is not believed."""

import json
import mmap
import os
import stat
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from satchel.catalog.cache import Cache, CachedServer, encode, faults, unwritten
from satchel.catalog.definitions import digest
from satchel.config import ServerEntry, Target, resolve
from satchel.config.entries import read_entry
from satchel.model import Json, Listing

from . import listing, tool


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "catalog"


@pytest.fixture
def cache(tmp_path: Path, directory: Path) -> Cache:
    return Cache(directory, tmp_path / "data" / "catalog.key")


def entry_of(name: str = "demo", **keys: Any) -> ServerEntry:
    return read_entry(name, {"command": "x", **keys}, Path("/project/extensions_config.json"))


ENTRY = entry_of()
TARGET = resolve(ENTRY, {})


def write(cache: Cache, *tools: Json) -> CachedServer:
    return cache.write(ENTRY, TARGET, listing(*tools))


def read(cache: Cache) -> CachedServer:
    cached = cache.read(ENTRY, TARGET)[0]
    assert cached is not None
    return cached


def definitions(cached: CachedServer) -> list[Json]:
    return [tool.read_definition() for tool in cached.tools]


def file_in(directory: Path) -> Path:
    (file,) = directory.iterdir()
    return file


# Round trips


def test_what_was_never_listed_is_not_cached(cache: Cache) -> None:
    assert cache.read(ENTRY, TARGET)[0] is None


def test_a_listing_comes_back_whole(cache: Cache) -> None:
    tools: tuple[Json, ...] = (
        tool("plain"),
        tool("full", title="Full", annotations={"readOnlyHint": True}, outputSchema=True, _meta={"n": 1}),
        {"name": "bare", "inputSchema": {}},
    )
    said = Listing(
        tools=tools,
        resources=({"uri": "a://b", "name": "r"},),
        resource_templates=({"uriTemplate": "a://{b}", "name": "t"},),
        prompts=({"name": "p", "arguments": [{"name": "q", "required": True}]},),
        instructions="Use it well.",
        implementation="demo-server",
        version="1.2",
        protocol_version="2025-11-25",
        problems=("tool 3 is odd",),
    )

    written = cache.write(ENTRY, TARGET, said)

    for cached in (written, read(cache)):
        assert definitions(cached) == list(tools)
        assert [tool.name for tool in cached.tools] == ["plain", "full", "bare"]
        assert [tool.description for tool in cached.tools] == ["What plain does", "What full does", ""]
        assert [tool.title for tool in cached.tools] == [None, "Full", None]
        assert [tool.annotations for tool in cached.tools] == [{}, {"readOnlyHint": True}, {}]
        assert [tool.digest for tool in cached.tools] == [digest(tool) for tool in tools]
        assert cached.head["resources"] == list(said.resources)
        assert cached.head["resource_templates"] == list(said.resource_templates)
        assert cached.head["prompts"] == list(said.prompts)
        assert cached.head["problems"] == ["tool 3 is odd"]
        assert cached.head["instructions"] == "Use it well."
        assert cached.head["implementation"] == "demo-server"
        assert cached.head["version"] == "1.2"
        assert cached.head["protocol_version"] == "2025-11-25"
        assert cached.changes == ()


def test_a_server_without_tools_is_cached_too(cache: Cache) -> None:
    write(cache)

    assert read(cache).tools == ()


TEXT = st.text(st.characters(exclude_categories=()), max_size=8)  # half characters included
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.slow
@settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(TEXT, st.dictionaries(TEXT, VALUES, max_size=3), max_size=6), TEXT)
def test_any_text_in_any_script_comes_back_as_it_was(schemas: dict[str, Any], text: str) -> None:
    tools = [tool(name, description=text, inputSchema=schema) for name, schema in schemas.items()]

    cached = CachedServer(encode(listing(*tools, instructions=text)))

    assert definitions(cached) == tools
    assert [tool.name for tool in cached.tools] == list(schemas)
    assert cached.head["instructions"] == text


def test_half_characters_are_escaped_on_disk(cache: Cache, directory: Path) -> None:
    write(cache, tool("名前", description="\ud800 and 🙂"))

    file_in(directory).read_bytes().decode("ascii")
    assert definitions(read(cache)) == [tool("名前", description="\ud800 and 🙂")]


def test_tools_with_schemas_of_a_megabyte_come_back(cache: Cache) -> None:
    huge = [
        tool(f"t{number}", inputSchema={"type": "object", "description": str(number) * 1_000_000})
        for number in range(4)
    ]

    write(cache, *huge, tool("small"))

    assert definitions(read(cache)) == [*huge, tool("small")]


def test_a_listing_does_not_read_the_definitions(cache: Cache, directory: Path) -> None:
    write(cache, tool("one"), tool("two"))
    file = file_in(directory)
    content = bytearray(file.read_bytes())
    start = content.index(b"\n") + 1
    content[start:] = b"#" * (len(content) - start - 1) + b"\n"
    file.write_bytes(content)

    cached = read(cache)

    assert [(tool.name, tool.description) for tool in cached.tools] == [
        ("one", "What one does"),
        ("two", "What two does"),
    ]
    with pytest.raises(ValueError):
        cached.tools[0].read_definition()


def test_the_file_is_mapped_and_not_read(cache: Cache) -> None:
    write(cache, tool("one"))

    assert isinstance(read(cache)._content, mmap.mmap)


def test_a_file_that_is_replaced_still_gives_old_readers_the_old_definitions(cache: Cache) -> None:
    write(cache, tool("one", description="old"), tool("two"))
    old = read(cache)

    write(cache, tool("zero" * 1000), tool("one", description="new"))

    assert definitions(old) == [tool("one", description="old"), tool("two")]
    assert definitions(read(cache)) == [tool("zero" * 1000), tool("one", description="new")]


def test_an_unchanged_listing_does_not_rewrite_the_file_but_touches_it(cache: Cache, directory: Path) -> None:
    write(cache, tool("one"))
    before = file_in(directory).stat()
    os.utime(file_in(directory), (0, 0))

    write(cache, tool("one"))

    after = file_in(directory).stat()
    assert after.st_ino == before.st_ino
    assert after.st_mtime > 0


def test_what_is_cached_is_for_its_owner_only(cache: Cache, directory: Path, tmp_path: Path) -> None:
    write(cache, tool("one"))

    assert stat.S_IMODE(file_in(directory).stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "data" / "catalog.key").stat().st_mode) == 0o600


# Damage


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"{}\n",
        b"{",
        b"[]\n",
        b"null\n",
        b"5\n",
        b'"text"\n',
        b'{"format": 1}\n',
        b'{"format": 1, "tools": [], "changes": []}\n',
        b'{"format": 0, "tools": []}\n',
        b'{"format": 2, "tools": []}\n',
        b'{"format": "1"}\n',
        b'{"format": 1, "tools": 5, "changes": 5, "digest": 5}\n',
        b'{"format": 1, "tools": [["one"]], "changes": [], "digest": ""}\n',
        b"\x00" * 5000,
        b"\xff\xfe\n",
        b"[" * 100_000 + b"\n",
    ],
    ids=lambda content: repr(content)[:40],
)
def test_a_file_of_another_format_or_a_damaged_one_is_not_cached(
    cache: Cache, directory: Path, content: bytes
) -> None:
    write(cache, tool("one"))
    file_in(directory).write_bytes(content)

    assert cache.read(ENTRY, TARGET)[0] is None


def test_a_file_that_was_cut_short_anywhere_is_not_cached(cache: Cache, directory: Path) -> None:
    write(cache, tool("one"), tool("two", inputSchema={"type": "object", "description": "x" * 200}))
    whole = file_in(directory).read_bytes()

    cuts = {
        length for length in range(len(whole) - 1) if length % 7 == 0 or whole[length : length + 1] == b"\n"
    }
    for length in sorted(cuts):
        file_in(directory).write_bytes(whole[:length])
        assert cache.read(ENTRY, TARGET)[0] is None, f"cut at {length} of {len(whole)}"


def test_a_directory_in_the_place_of_the_file_is_not_cached(cache: Cache, directory: Path) -> None:
    write(cache, tool("one"))
    file = file_in(directory)
    file.unlink()
    file.mkdir()

    assert cache.read(ENTRY, TARGET)[0] is None


@pytest.mark.parametrize("content", [b"", b"[]\n", b'{"format": 1}\n', b'{"format": 9}\nrest'])
def test_a_damaged_file_is_written_anew_by_the_next_listing(
    cache: Cache, directory: Path, content: bytes
) -> None:
    write(cache, tool("one"))
    file_in(directory).write_bytes(content)

    write(cache, tool("two"))

    assert definitions(read(cache)) == [tool("two")]


def test_a_damaged_definition_does_not_keep_its_successor_from_being_written(
    cache: Cache, directory: Path
) -> None:
    write(cache, tool("one", description="old"))
    content = bytearray(file_in(directory).read_bytes())
    content[content.index(b"\n") + 1] = ord("#")
    file_in(directory).write_bytes(content)

    write(cache, tool("one", description="new"))

    assert definitions(read(cache)) == [tool("one", description="new")]
    assert [change.tool for change in read(cache).changes] == ["one"]


# What belongs to a file


def other_file(cache: Cache, entry: ServerEntry, target: Target | None) -> bool:
    """Whether what ENTRY has cached is not shown for this entry."""
    return cache.read(entry, target)[0] is None


@pytest.mark.parametrize(
    "keys",
    [
        {"enabled": False},
        {"disabled": True},
        {"description": "Something else"},
        {"timeout": 5},
        {"startup_timeout": 5},
        {"idle_timeout": 5},
    ],
)
def test_what_does_not_change_the_offer_of_a_server_keeps_its_file(
    cache: Cache, keys: dict[str, Any]
) -> None:
    write(cache, tool("one"))
    entry = entry_of(**keys)

    assert not other_file(cache, entry, resolve(entry, {}))


@pytest.mark.parametrize(
    "keys",
    [
        {"command": "y"},
        {"args": ["--beta"]},
        {"env": {"A": "1"}},
        {"cwd": "/elsewhere"},
        {"type": "stdio"},
    ],
)
def test_another_entry_is_another_file(cache: Cache, keys: dict[str, Any]) -> None:
    write(cache, tool("one"))
    entry = entry_of(**keys)

    assert other_file(cache, entry, resolve(entry, {}))


def test_another_name_is_another_file(cache: Cache, directory: Path) -> None:
    write(cache, tool("one"))

    for name in ("Demo", "demo ", "other"):
        entry = entry_of(name)
        assert other_file(cache, entry, resolve(entry, {}))


@pytest.mark.parametrize(
    "data",
    [
        {"command": "x", "env": {"TOKEN": "${TOKEN}"}},
        {"command": "x", "args": ["${TOKEN}"]},
        {"command": "${TOKEN}"},
        {"command": "x", "cwd": "/srv/${TOKEN}"},
        {"url": "http://a.example/${TOKEN}"},
        {"url": "http://a.example", "headers": {"Authorization": "Bearer ${TOKEN}"}},
    ],
)
def test_another_secret_is_another_file_and_no_file_tells_the_secret(
    cache: Cache, directory: Path, data: dict[str, Any]
) -> None:
    entry = read_entry("demo", data, Path("/project/extensions_config.json"))
    mine, yours = (resolve(entry, {"TOKEN": value}) for value in ("mine-mine", "yours-yours"))

    cache.write(entry, mine, listing(tool("mine")))
    assert other_file(cache, entry, yours)
    cache.write(entry, yours, listing(tool("yours")))

    for target, name in ((mine, "mine"), (yours, "yours")):
        cached = cache.read(entry, target)[0]
        assert cached is not None
        assert [tool.name for tool in cached.tools] == [name]
    last = cache.read(entry, None)[0]  # what there is to be found while the variable has no value
    assert last is not None
    assert [tool.name for tool in last.tools] == ["yours"]
    assert len(list(directory.glob("*.jsonl"))) == 2
    for file in directory.iterdir():
        assert b"mine-mine" not in file.read_bytes() + file.name.encode()
        assert b"yours-yours" not in file.read_bytes() + file.name.encode()


def test_another_user_gets_another_name_for_the_same_entry(tmp_path: Path) -> None:
    for user in ("one", "two"):
        write(Cache(tmp_path / "shared", tmp_path / user / "catalog.key"), tool("one"))

    assert len(list((tmp_path / "shared").iterdir())) == 2


def test_a_server_of_any_name_has_a_file(cache: Cache, directory: Path) -> None:
    names = ["../../etc/passwd", "a/b", "", ".", "名前", "x" * 500, "\x00", "\ud800"]
    for name in names:
        cache.write(entry_of(name), None, listing(tool(f"of {name}")))

    for name in names:
        cached = cache.read(entry_of(name), None)[0]
        assert cached is not None
        assert cached.tools[0].name == f"of {name}"
    assert len(list(directory.iterdir())) == len(names)


def test_a_server_is_forgotten_under_every_key_and_no_other_is(cache: Cache, directory: Path) -> None:
    for args in ([], ["1"], ["2"]):
        entry = entry_of(args=args) if args else ENTRY
        cache.write(entry, resolve(entry, {}), listing(tool("one")))
    cache.write_failure(ENTRY, TARGET, "it broke", "failed")
    others = ("demo-2", "dem", "other", "demo-0123456789")
    for name in others:
        cache.write(entry_of(name), None, listing(tool("one")))

    cache.forget("demo")

    assert cache.read(ENTRY, TARGET)[0] is None
    assert cache.read(ENTRY, TARGET)[1] is None
    assert len(list(directory.iterdir())) == len(others)


def test_nothing_cached_is_easily_forgotten(cache: Cache) -> None:
    cache.forget("demo")


# Changes of definitions


def changes(cache: Cache) -> list[tuple[str, tuple[str, ...]]]:
    return [(change.tool, change.fields) for change in read(cache).changes]


def test_a_change_is_recorded_with_its_fields(cache: Cache) -> None:
    before, after = tool("one"), tool("one", description="New", title="One")
    write(cache, before, tool("two"))

    written = write(cache, after, tool("two"))

    (change,) = read(cache).changes
    assert written.changes == (change,)
    assert (change.tool, change.fields) == ("one", ("description", "title"))
    assert (change.before, change.after) == (digest(before), digest(after))
    assert change.at


def test_a_change_of_meta_alone_is_none(cache: Cache) -> None:
    write(cache, tool("one", _meta={"n": 1}))
    write(cache, tool("one", _meta={"n": 2000}))

    assert changes(cache) == []


def test_tools_that_come_and_go_are_no_changes(cache: Cache) -> None:
    write(cache, tool("one"), tool("two"))
    write(cache, tool("two"), tool("three"))

    assert changes(cache) == []


def test_a_change_is_kept_over_further_listings(cache: Cache) -> None:
    write(cache, tool("one"))
    write(cache, tool("one", description="New"))
    (first,) = read(cache).changes
    write(cache, tool("one", description="New"))
    write(cache, tool("one", description="New"), tool("two"))

    assert read(cache).changes == (first,)


def test_a_second_change_is_told_against_the_first_definition(cache: Cache) -> None:
    write(cache, tool("one"))
    write(cache, tool("one", description="New"))
    write(cache, tool("one", description="New", title="Newer"))

    (change,) = read(cache).changes
    assert change.before == digest(tool("one"))
    assert change.after == digest(tool("one", description="New", title="Newer"))
    assert change.fields == ("description", "title")


def test_a_change_is_cleared_when_it_goes_back(cache: Cache) -> None:
    write(cache, tool("one"), tool("two"))
    write(cache, tool("one", description="New"), tool("two", title="New"))
    write(cache, tool("one"), tool("two", title="New"))

    assert changes(cache) == [("two", ("title",))]


def test_a_change_is_not_hidden_by_leaving_the_tool_out_for_once(cache: Cache) -> None:
    write(cache, tool("one"))
    write(cache)
    write(cache, tool("one", description="New"))

    (change,) = read(cache).changes
    assert (change.tool, change.before) == ("one", digest(tool("one")))


def test_accepted_changes_are_cleared_and_the_new_definition_counts_from_then_on(cache: Cache) -> None:
    write(cache, tool("one"), tool("two"))
    write(cache, tool("one", description="New"), tool("two", title="New"))

    cache.accept_changes(ENTRY, TARGET)

    assert changes(cache) == []
    assert definitions(read(cache)) == [tool("one", description="New"), tool("two", title="New")]
    write(cache, tool("one", description="New"), tool("two", title="New"))
    assert changes(cache) == []
    write(cache, tool("one"), tool("two", title="New"))
    (change,) = read(cache).changes
    assert (change.tool, change.before) == ("one", digest(tool("one", description="New")))


def test_there_may_be_nothing_to_accept(cache: Cache, directory: Path) -> None:
    cache.accept_changes(ENTRY, TARGET)
    write(cache, tool("one"))
    before = file_in(directory).read_bytes()

    cache.accept_changes(ENTRY, TARGET)

    assert file_in(directory).read_bytes() == before


# Names


def test_a_tool_keeps_its_spelling_when_one_that_collides_comes_before_it(cache: Cache) -> None:
    write(cache, tool("get-item"))
    (kept,) = (tool.spelling for tool in read(cache).tools)

    write(cache, tool("get_item"), tool("get-item"))

    spellings = read(cache).spellings
    assert spellings["get-item"] == kept
    assert spellings["get_item"].python != kept.python
    assert spellings["get_item"].wire != kept.wire


# Failures


def test_a_failure_is_remembered_until_the_server_is_listed(cache: Cache) -> None:
    cache.write_failure(ENTRY, TARGET, "it broke: \ud800", "failed")

    failure = cache.read(ENTRY, TARGET)[1]
    assert failure is not None
    assert (failure.error, failure.state) == ("it broke: \ud800", "failed")
    assert cache.read(ENTRY, TARGET)[0] is None

    write(cache, tool("one"))
    assert cache.read(ENTRY, TARGET)[1] is None


@pytest.fixture
def no_place(directory: Path) -> Generator[Path]:
    """A cache that can't be written, also by root; and nothing of that for the next test."""
    directory.write_text("in the way")
    yield directory
    faults.clear()
    unwritten.clear()


def test_what_can_not_be_written_is_known_in_this_process_until_it_can(
    tmp_path: Path, no_place: Path
) -> None:
    directory = no_place
    data = tmp_path / "data" / "catalog.key"
    Cache(directory, data).write_failure(ENTRY, TARGET, "it hangs", "failed")
    failure = Cache(directory, data).read(ENTRY, TARGET)[1]
    assert failure is not None and failure.error == "it hangs"

    write(Cache(directory, data), tool("a"))
    cached, failure = Cache(directory, data).read(ENTRY, TARGET)
    assert cached is not None and failure is None
    assert [each["name"] for each in definitions(cached)] == ["a"]
    assert faults.pop(directory) == "File exists"
    write(Cache(directory, data), tool("a", description="another"))
    assert read(Cache(directory, data)).changes

    directory.unlink()
    write(Cache(directory, data), tool("b"))
    assert not unwritten
    assert [each["name"] for each in definitions(read(Cache(directory, data)))] == ["b"]


def test_what_could_not_be_written_is_forgotten_with_its_server(tmp_path: Path, no_place: Path) -> None:
    cache = Cache(no_place, tmp_path / "data" / "catalog.key")
    write(cache, tool("a"))
    cache.forget(ENTRY.name)
    assert cache.read(ENTRY, TARGET) == (None, None)


def test_a_failure_belongs_to_the_entry_that_failed(cache: Cache) -> None:
    cache.write_failure(ENTRY, TARGET, "it broke", "failed")
    repaired = entry_of(args=["--right"])

    assert cache.read(repaired, resolve(repaired, {}))[1] is None


@pytest.mark.parametrize("content", ["", "{", "null"])
def test_a_damaged_record_of_a_failure_is_none(cache: Cache, directory: Path, content: str) -> None:
    cache.write_failure(ENTRY, TARGET, "it broke", "failed")
    file_in(directory).write_text(content)

    assert cache.read(ENTRY, TARGET)[1] is None


def test_a_file_is_lines_of_json_of_which_the_first_has_everything_a_listing_shows(
    cache: Cache, directory: Path
) -> None:
    write(cache, tool("one"), tool("two"))

    head, *lines = file_in(directory).read_text().splitlines()

    assert [row[0] for row in json.loads(head)["tools"]] == ["one", "two"]
    assert [json.loads(line) for line in lines] == [tool("one"), tool("two")]
