"""The files of plugins and lists, from folders, archives, repositories, and what was fetched."""

import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from satchel.errors import ArgumentError, ConflictError, NotFoundError, SatchelError
from satchel.library.plugins import cloning
from satchel.library.plugins.installing import put, staged
from satchel.library.plugins.known import Marketplaces, Shelf
from satchel.library.plugins.origins import Fetched, fetch_folder, fetch_offer, open_path, refuse_address
from satchel.library.plugins.places import PluginSource
from tests.library.plugins.plugin_files import commit, git, make_marketplace, make_plugin, write


def no_clone(source: PluginSource) -> tuple[Path, str]:
    raise AssertionError(f"{source.url} was to be fetched")


def marketplaces(project: Path, cache: Path | None = None) -> Marketplaces:
    if cache is None:
        return Marketplaces(project, project / "plugins" / "installed", clone=no_clone, fetched=no_clone)
    return Marketplaces(
        project,
        project / "plugins" / "installed",
        clone=partial(cloning.clone, cache),
        fetched=partial(cloning.fetched, cache),
    )


def offered(shelf: Shelf, name: str, cache: Path | None = None) -> Fetched:
    assert shelf.opened is not None
    (offer,) = (offer for offer in shelf.list.offers if offer.name == name)
    clone = no_clone if cache is None else partial(cloning.clone, cache)
    return fetch_offer(offer, shelf.opened, shelf.root, clone)


def paths(fetched: Fetched) -> list[str]:
    return sorted(member.path for member in fetched.members)


FILES = [".claude-plugin/plugin.json", ".mcp.json", "commands/forecast.md", "skills/call-prep/SKILL.md"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """A plain HTTP server of bare repositories, on this machine: git's older protocol needs no more."""
    (tmp_path / "served").mkdir()
    handler = partial(_Quiet, directory=str(tmp_path / "served"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as http:
        thread = threading.Thread(target=http.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}"
        http.shutdown()
        thread.join()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None: ...


def serve(folder: Path, served: Path) -> None:
    git(folder, "clone", "-q", "--bare", str(folder), str(served))
    git(served, "update-server-info")


def test_a_folder_an_archive_and_a_repository_give_the_same_files(tmp_path: Path) -> None:
    folder = make_plugin(tmp_path / "sales")
    archive = tmp_path / "sales.zip"
    with zipfile.ZipFile(archive, "w") as stream:
        for path in FILES:
            stream.write(folder / path, f"sales/{path}")
    found = [paths(fetch_folder(open_path(place))) for place in (folder, archive)]
    head = commit(folder)
    write(folder / "uncommitted", "x")
    opened = open_path(folder)

    assert [*found, paths(fetch_folder(opened))] == [FILES] * 3
    assert opened.origin.commit == head


def test_a_folder_of_a_place_is_named_or_the_ones_there_are_told(tmp_path: Path) -> None:
    make_plugin(tmp_path / "plugins" / "sales")
    opened = open_path(tmp_path)

    assert paths(fetch_folder(opened, "plugins/sales")) == FILES
    with pytest.raises(ArgumentError, match="has no folder 'sales'") as error:
        fetch_folder(opened, "sales")
    assert error.value.hint is not None
    assert "there are: plugins" in error.value.hint


def test_a_marketplace_is_added_found_and_removed(project: Path, tmp_path: Path) -> None:
    market = make_marketplace(tmp_path / "market", {"name": "sales", "source": "./plugins/sales"})
    make_plugin(market / "plugins" / "sales")
    own = marketplaces(project)

    assert own.add(market).list.name == "tools"
    with pytest.raises(ConflictError, match="there is a marketplace 'tools' already"):
        marketplaces(project).add(market)
    again = marketplaces(project)
    offer, shelf = again.offer("sales")
    assert offer.identity == "sales@tools"
    assert again.offer("sales@tools")[0] == offer
    fetched = offered(shelf, "sales")
    assert paths(fetched) == FILES
    assert (fetched.name, fetched.origin.folder, fetched.origin.offer) == ("sales", "plugins/sales", "sales")
    with pytest.raises(NotFoundError, match="sale"):
        again.offer("sale")
    again.remove("tools")
    assert marketplaces(project).known() == {}


def test_places_are_recorded_without_dots_and_what_a_list_misses_is_its_own(
    project: Path, tmp_path: Path
) -> None:
    market = make_marketplace(tmp_path / "market", {"name": "gone", "source": "./gone"})
    shelf = marketplaces(project).add(project / ".." / "market")
    assert (shelf.known.path, open_path(project / ".." / "market").origin.path) == (str(market), str(market))
    with pytest.raises(ArgumentError, match="gone@tools can't be installed: the marketplace has no folder"):
        offered(shelf, "gone")


@pytest.mark.parametrize("file", [".claude-plugin/marketplace.json", ".agents/plugins/marketplace.json"])
def test_paths_begin_above_the_folder_of_the_program(project: Path, tmp_path: Path, file: str) -> None:
    make_plugin(tmp_path / "market" / "sales")
    write(tmp_path / "market" / file, {"name": "tools", "plugins": [{"name": "sales", "source": "./sales"}]})
    for path in (tmp_path / "market", tmp_path / "market" / file):
        own = marketplaces(project)
        shelf = own.add(path)
        assert paths(offered(shelf, "sales")) == FILES
        own.remove("tools")


def test_a_list_put_beside_the_installed_plugins_is_a_marketplace(project: Path) -> None:
    write(
        project / "plugins" / "marketplace.json",
        {"name": "mine", "plugins": [{"name": "sales", "source": "./sources/sales"}]},
    )
    make_plugin(project / "plugins" / "sources" / "sales")
    offer, shelf = marketplaces(project).offer("sales")

    assert offer.identity == "sales@mine"
    assert paths(offered(shelf, "sales")) == FILES


def test_a_repository_counts_at_the_commit_it_was_added_with_until_it_is_refreshed(
    project: Path, tmp_path: Path
) -> None:
    market = make_marketplace(tmp_path / "market", {"name": "sales", "source": "./sales"})
    make_plugin(market / "sales")
    first = commit(market)
    marketplaces(project).add(market)
    make_marketplace(market, {"name": "sales", "source": "./sales"}, {"name": "new", "source": "./sales"})
    second = commit(market)

    known = marketplaces(project)
    assert known.known()["tools"].commit == first
    with pytest.raises(NotFoundError):
        known.offer("new")
    before, now = known.refresh("tools")
    assert (len(before.list.offers), len(now.list.offers)) == (1, 2)
    assert marketplaces(project).known()["tools"].commit == second
    assert marketplaces(project).offer("new")[0].name == "new"


def test_one_broken_marketplace_hides_no_other(project: Path, tmp_path: Path) -> None:
    good = make_marketplace(tmp_path / "good", {"name": "sales", "source": "./sales"}, name="good")
    bad = make_marketplace(tmp_path / "bad", name="bad")
    own = marketplaces(project)
    own.add(good)
    own.add(bad)
    write(bad / ".claude-plugin" / "marketplace.json", "{")

    again = marketplaces(project)
    assert again.offer("sales")[0].identity == "sales@good"
    (broken,) = (shelf for shelf in again.shelves() if shelf.known.name == "bad")
    assert broken.list.error is not None
    assert "not valid JSON" in broken.list.error


def test_what_is_on_the_network_is_named_with_the_command_to_get_it(project: Path) -> None:
    with pytest.raises(ArgumentError, match=r"plugins\.allow_fetch is off") as error:
        refuse_address("https:/h.example/tools.git")
    assert error.value.hint == (
        "clone it first: git clone https://h.example/tools.git tools && satchel plugins install ./tools"
    )


@pytest.mark.slow
def test_a_repository_is_fetched_once_into_the_cache(project: Path, tmp_path: Path, server: str) -> None:
    source = make_plugin(tmp_path / "source")
    head = commit(source)
    serve(source, tmp_path / "served" / "sales.git")
    url = f"{server}/sales.git"
    listed = {"source": "url", "url": url, "sha": head}
    market = make_marketplace(tmp_path / "market", {"name": "sales", "source": listed})
    shelf = marketplaces(project).add(market)

    fetched = offered(shelf, "sales", tmp_path / "cache")
    assert paths(fetched) == FILES
    assert (fetched.origin.url, fetched.origin.commit) == (url, head)
    (tmp_path / "served" / "sales.git" / "HEAD").unlink()  # nothing is asked again
    assert paths(offered(shelf, "sales", tmp_path / "cache")) == FILES


@pytest.mark.slow
def test_a_branch_of_a_fetched_marketplace_is_followed_when_it_is_refreshed(
    project: Path, tmp_path: Path, server: str
) -> None:
    source = make_marketplace(tmp_path / "source", {"name": "sales", "source": "./sales"})
    make_plugin(source / "sales")
    first = commit(source)
    serve(source, tmp_path / "served" / "tools.git")
    url, cache = f"{server}/tools.git", tmp_path / "cache"

    with pytest.raises(SatchelError, match="could not fetch"):
        marketplaces(project, cache).add(None, url=f"{server}/missing.git")
    marketplaces(project, cache).add(None, url=url)
    shelf = marketplaces(project, cache).offer("sales")[1]
    assert shelf.known.commit == first
    assert paths(offered(shelf, "sales")) == FILES

    make_plugin(source / "sales", description="New.")
    second = commit(source)
    git(tmp_path / "served" / "tools.git", "fetch", "-q", str(source), "+main:main")
    git(tmp_path / "served" / "tools.git", "update-server-info")
    assert marketplaces(project, cache).shelves()[0].known.commit == first
    assert marketplaces(project, cache).refresh("tools")[1].known.commit == second


@pytest.mark.parametrize("url", ["http://192.0.2.1/a.git", "file:///tmp/a.git", "ext::sh -c x", "-u/x"])
def test_only_encrypted_addresses_are_fetched(tmp_path: Path, url: str) -> None:
    with pytest.raises(ArgumentError, match="is not fetched"):
        cloning.clone(tmp_path, PluginSource(form="git", url=url))


def test_a_plugin_is_put_in_place_whole_and_changes_places_with_the_one_before(tmp_path: Path) -> None:
    root = tmp_path / "installed"
    source = make_plugin(tmp_path / "source")
    with staged(fetch_folder(open_path(source)), root) as new:
        assert [path.name for path in root.iterdir()] != ["sales"]
        first = put(new, root)
    assert (first.name, first.folder) == ("sales", root / "sales")
    assert [skill.name for skill in first.skills] == ["call-prep"]

    with (
        staged(fetch_folder(open_path(source)), root) as again,
        pytest.raises(ConflictError, match="there is a plugin 'sales' already"),
    ):
        put(again, root)
    make_plugin(source, description="New.")
    with staged(fetch_folder(open_path(source)), root) as newer:
        assert newer.digest != new.digest
        assert put(newer, root, update=True).description == "New."
    assert [path.name for path in root.iterdir()] == ["sales"]


def test_a_twin_in_another_case_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "installed"
    for name, fails in (("sales", False), ("Sales", True)):
        with staged(fetch_folder(open_path(make_plugin(tmp_path / name, name))), root) as new:
            if fails:
                with pytest.raises(ConflictError):
                    put(new, root)
            else:
                put(new, root)
