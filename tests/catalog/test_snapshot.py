"""Look-ups: a server or a tool by any of its spellings, and what was probably meant otherwise."""

from pathlib import Path
from typing import Any

import pytest

from satchel.catalog import Snapshot
from satchel.errors import NotFoundError
from satchel.model import Server

from . import Project, command, listing, tool


def snapshot(root: Path, servers: dict[str, list[str]]) -> Snapshot:
    """Servers with their tools."""
    project = Project(root)
    catalog = project.catalog({name: command() for name in servers})
    for name, tools in servers.items():
        catalog.record(catalog.entries[name], listing(*map(tool, tools)))
    return catalog.snapshot


@pytest.fixture
def office(tmp_path: Path) -> Snapshot:
    return snapshot(
        tmp_path,
        {
            "google-drive": ["get_document", "listFiles", "API-post-search", "import"],
            "slack": ["post_message", "search"],
            "Bing CN (mcp)": ["search", "名前"],
        },
    )


def not_found(look_up: Any, name: str) -> NotFoundError:
    with pytest.raises(NotFoundError) as caught:
        look_up(name)
    assert caught.value.name == name
    return caught.value


@pytest.mark.parametrize("name", ["google-drive", "google_drive"])
def test_a_server_is_found_by_its_name_and_by_its_identifiers(office: Snapshot, name: str) -> None:
    assert office.server(name).name == "google-drive"


def test_the_name_as_written_comes_before_an_identifier_of_another_server(tmp_path: Path) -> None:
    both = snapshot(tmp_path, {"a-b": [], "a_b": []})

    assert both.server("a-b").name == "a-b"
    assert both.server("a_b").name == "a_b"


def test_an_unknown_server_comes_with_the_closest_names(office: Snapshot) -> None:
    error = not_found(office.server, "googel-drive")

    assert (error.kind, error.closest) == ("server", ("google-drive",))
    assert error.hint == "did you mean google-drive?"


@pytest.mark.parametrize(
    "name",
    [
        "google-drive.get_document",  # as written
        "google_drive__get_document",  # on the wire
        "google_drive.get_document",  # in Python
        "google-drive.getDocument",  # in TypeScript
        "google-drive/getDocument",
        "google_drive/get_document",
        "google-drive__get_document",
    ],
)
def test_a_tool_is_found_by_any_of_its_spellings(office: Snapshot, name: str) -> None:
    assert office.tool(name).qualified_name == "google-drive.get_document"


@pytest.mark.parametrize(
    ("name", "qualified"),
    [
        ("google-drive.API-post-search", "google-drive.API-post-search"),
        ("google_drive__API_post_search", "google-drive.API-post-search"),
        ("google_drive.API_post_search", "google-drive.API-post-search"),
        ("google-drive.apiPostSearch", "google-drive.API-post-search"),
        ("google_drive.import_", "google-drive.import"),
        ("google-drive.import", "google-drive.import"),
        ("google-drive.listFiles", "google-drive.listFiles"),
        ("Bing CN (mcp).search", "Bing CN (mcp).search"),
        ("Bing CN (mcp).名前", "Bing CN (mcp).名前"),
    ],
)
def test_real_names_are_found_too(office: Snapshot, name: str, qualified: str) -> None:
    assert office.tool(name).qualified_name == qualified


def test_every_wire_name_and_every_identifier_leads_to_its_tool(office: Snapshot) -> None:
    for server in office.servers:
        for found in server.tools:
            assert office.tool(found.wire_name) is found
            assert office.tool(f"{server.spelling.python}.{found.spelling.python}") is found
            assert office.tool(f"{server.spelling.typescript}/{found.spelling.typescript}") is found


def test_a_dot_in_a_name_is_part_of_it(tmp_path: Path) -> None:
    dotted = snapshot(tmp_path, {"a": ["x"], "a.b": ["c", "get.item"]})

    assert dotted.tool("a.b.c").qualified_name == "a.b.c"
    assert dotted.tool("a.b.c").server == "a.b"
    assert dotted.tool("a.b.get.item").server == "a.b"
    assert dotted.tool("a_b__get_item").name == "get.item"


def test_a_name_that_is_two_tools_is_refused_with_both_wire_names(tmp_path: Path) -> None:
    dotted = snapshot(tmp_path, {"a": ["b.c"], "a.b": ["c"]})

    error = not_found(dotted.tool, "a.b.c")

    wire_names = [tool.wire_name for tool in dotted.tools]
    assert len(set(wire_names)) == 2
    for wire_name, server in zip(wire_names, ("a", "a.b"), strict=True):
        assert wire_name in (error.hint or "")
        assert wire_name in error.closest
        assert dotted.tool(wire_name).server == server


def test_the_name_as_written_comes_before_an_identifier_of_another_tool(tmp_path: Path) -> None:
    both = snapshot(tmp_path, {"s": ["get-item", "get_item"]})

    assert both.tool("s.get-item").name == "get-item"
    assert both.tool("s.get_item").name == "get_item"
    for found in both.tools:
        assert both.tool(found.wire_name) is found


@pytest.mark.parametrize(
    ("name", "closest"),
    [
        ("google-drive.get_documnet", "google-drive.get_document"),
        ("google_drive__getdocument", "google-drive.get_document"),
        ("google-drive.list_files", "google-drive.listFiles"),
        ("slack.post_mesage", "slack.post_message"),
        ("slak.post_message", "slack.post_message"),
        ("post_message", "slack.post_message"),
    ],
)
def test_an_unknown_tool_comes_with_the_closest_names(office: Snapshot, name: str, closest: str) -> None:
    error = not_found(office.tool, name)

    assert error.kind == "tool"
    assert closest in error.closest
    assert closest in (error.hint or "")


def test_the_closest_names_are_of_the_server_that_was_named(office: Snapshot) -> None:
    error = not_found(office.tool, "slack.serch")

    assert error.closest == ("slack.search",)


def test_a_name_like_none_of_the_servers_tools_says_how_to_see_them(office: Snapshot) -> None:
    error = not_found(office.tool, "slack.qqqqqqqqq")

    assert error.closest == ()
    assert error.hint == "search_tools finds the tools of slack"


def test_a_name_like_nothing_says_how_to_see_what_there_is(office: Snapshot) -> None:
    assert not_found(office.tool, "qqqqqqqqq").hint == "search_tools finds tools"


def test_a_tool_of_a_server_without_tools_says_what_state_it_is_in(tmp_path: Path) -> None:
    catalog = Project(tmp_path).catalog({"new": command(), "off": command(enabled=False)})

    new, off = (not_found(catalog.snapshot.tool, name).hint for name in ("new.get", "off.get"))
    assert new == "new has no tools: it has not been listed yet; satchel refresh new lists it"
    assert off == "off has no tools: it is disabled; satchel enable off enables it"


def test_the_longest_server_name_that_fits_is_the_one_that_was_meant(tmp_path: Path) -> None:
    project = Project(tmp_path)
    catalog = project.catalog({"a": command(), "a.b": command()})
    catalog.record(catalog.entries["a.b"], listing(tool("get_item")))

    assert not_found(catalog.snapshot.tool, "a.b.get_itme").closest == ("a.b.get_item",)


def test_an_empty_catalog_knows_nothing() -> None:
    empty = Snapshot(())

    assert empty.tools == ()
    not_found(empty.server, "a")
    not_found(empty.tool, "a.b")


def test_exchanging_a_server_makes_a_new_snapshot_and_keeps_the_order(office: Snapshot) -> None:
    slack = office.server("slack")
    changed = Server(name="slack", spelling=slack.spelling, transport="stdio", state="failed")

    after = office.replace(changed)

    assert [server.name for server in after.servers] == [server.name for server in office.servers]
    assert after.server("slack").state == "failed"
    assert office.server("slack").state == "listed"
    not_found(after.tool, "slack.search")
    assert office.tool("slack.search").name == "search"


def test_servers_are_known_by_any_spelling_and_by_the_names_of_their_tools(tmp_path: Path) -> None:
    long = "a-server-whose-name-is-longer-than-the-wire-allows"
    catalog = Project(tmp_path).catalog({"new": command(), "new-server": command(), long: command()})
    known, wire = catalog.snapshot, catalog.snapshot.server(long).spelling.wire

    assert wire not in (long, long.replace("-", "_"))
    assert known.named(["new_server", "new-server", "x", "ne"]) == {"new-server"}
    assert known.named([wire, "new"]) == {long, "new"}
    tools = ["new_server__echo", "new-server.echo", "new_server/echo", "x.new", "news.x", "new"]
    assert known.servers_of(tools) == {"new-server"}
    assert known.servers_of([f"{wire}__echo"]) == {long}
    assert known.servers_of([""]) == set()
