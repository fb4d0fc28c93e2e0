"""Plugins installed by a program: from a folder and from a repository, at a commit."""

import threading
import time
from pathlib import Path

import pytest

from satchel.config import find_paths
from satchel.config.plugins.record import read_record, record_file
from satchel.errors import ArgumentError, ConflictError
from satchel.plugins import install_plugin_from_dir, install_plugin_from_repo, load_plugins
from satchel.support.files import locked
from satchel.verbs.plugins.installing import PluginSources
from satchel.verbs.plugins.library import open_plugin_library
from tests.library.plugins.plugin_files import commit, make_marketplace, make_plugin, write


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write(tmp_path / "project" / "extensions_config.json", {})
    return tmp_path / "project"


def test_a_folder_and_a_folder_in_a_folder_are_installed(project: Path, tmp_path: Path) -> None:
    make_plugin(tmp_path / "all" / "sales")
    assert install_plugin_from_dir(tmp_path / "all" / "sales", project).name == "sales"
    with pytest.raises(ConflictError):
        install_plugin_from_dir(tmp_path / "all", project, path="sales")

    (manifest,) = load_plugins(project)
    assert [skill.name for skill in manifest.skills] == ["call-prep"]
    assert sorted(command.name for command in manifest.commands) == ["call-prep", "forecast"]
    assert list(manifest.mcp_servers) == ["crm"]


def test_a_folder_that_only_holds_plugins_is_refused_and_names_them(project: Path, tmp_path: Path) -> None:
    for name in ("sales", "data"):
        make_plugin(tmp_path / "all" / name, name)
    with pytest.raises(ArgumentError, match="all is not a plugin") as error:
        install_plugin_from_dir(tmp_path / "all", project)
    assert error.value.hint == "--path names one of the plugins in it: data, sales"

    make_marketplace(tmp_path / "all", {"name": "sales", "source": "./sales"})
    with pytest.raises(ArgumentError, match="all is not a plugin") as error:
        install_plugin_from_dir(tmp_path / "all", project)
    assert "satchel plugins marketplace add" in str(error.value.hint)
    assert load_plugins(project) == []


def test_a_repository_is_installed_at_the_commit_that_is_named(project: Path, tmp_path: Path) -> None:
    source = make_plugin(tmp_path / "sales", description="First.")
    first = commit(source)
    make_plugin(source, description="Second.")
    commit(source)

    assert install_plugin_from_repo(source, project, ref=first).description == "First."
    with pytest.raises(ArgumentError, match="no commit 'nothing'"):
        install_plugin_from_repo(source, project, ref="nothing")


def test_an_address_is_not_fetched_unless_the_settings_say_so(project: Path) -> None:
    with pytest.raises(ArgumentError, match=r"plugins\.allow_fetch is off"):
        install_plugin_from_repo("https://h.example/sales.git", project)


def test_an_update_brings_no_plugin_back_that_was_removed_meanwhile(project: Path, tmp_path: Path) -> None:
    source = make_plugin(tmp_path / "sales")
    install_plugin_from_dir(source, project)
    make_plugin(source, version="2.0.0")
    library = open_plugin_library(project)
    with (
        pytest.raises(ConflictError, match="was removed meanwhile"),
        PluginSources(library=library).updated("sales") as proposal,
    ):
        library.remove("sales")
        proposal.go_on()
    assert load_plugins(project) == []
    record = read_record(find_paths(config=project))
    assert (record.installed, record.approved) == ({}, {})


def test_a_plugin_that_is_installed_while_another_is_removed_keeps_its_record(
    project: Path, tmp_path: Path
) -> None:
    source = make_plugin(tmp_path / "sales")
    install_plugin_from_dir(source, project)
    library, paths = open_plugin_library(project), find_paths(config=project)
    placed = library.root / "sales"
    with locked(record_file(paths).parent):  # nobody can write the record for now
        removing = threading.Thread(target=library.remove, args=("sales",))
        removing.start()
        limit = time.monotonic() + 30
        while placed.exists() and time.monotonic() < limit:
            time.sleep(0.01)
        installing = threading.Thread(target=install_plugin_from_dir, args=(source, project))
        installing.start()
        time.sleep(0.3)
    removing.join(30)
    installing.join(30)
    assert placed.exists()
    assert list(read_record(paths).installed) == ["sales"]
