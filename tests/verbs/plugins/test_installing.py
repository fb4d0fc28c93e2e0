"""Plugins installed by a program: from a folder and from a repository, at a commit."""

from pathlib import Path

import pytest

from satchel.errors import ArgumentError, ConflictError
from satchel.plugins import install_plugin_from_dir, install_plugin_from_repo, load_plugins
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
