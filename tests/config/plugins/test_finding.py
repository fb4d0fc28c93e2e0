"""Which folders are plugins, which are enabled, and which are blocked."""

import json
import os
from pathlib import Path

import pytest

from satchel.config import resolve
from satchel.config.plugins import finding
from satchel.config.plugins.approving import needs_of
from satchel.config.plugins.digest import folder_digest
from satchel.config.plugins.finding import read_plugins
from satchel.config.plugins.record import Installed, update_record
from satchel.config.plugins.settings import PluginsSettings
from satchel.errors import NeedsSetupError, SatchelError
from tests.config.plugins.folders import ROOT, entries, paths_of, remote, trust, write_plugin
from tests.conftest import SHARED

_CORPUS = SHARED / "plugins"


def _states(project: Path, **settings: object) -> dict[str, tuple[bool, str | None]]:
    plugins = read_plugins(paths_of(project), PluginsSettings(**settings))  # pyright: ignore[reportArgumentType]
    return {plugin.folder.name: (plugin.enabled, plugin.error) for plugin in plugins}


@pytest.mark.skipif(not _CORPUS.is_dir(), reason="the corpus of plugins is not here")
def test_the_corpus_has_22_plugins_those_of_a_collection_among_them(tmp_path: Path):
    plugins = read_plugins(paths_of(tmp_path), PluginsSettings(path=str(_CORPUS)))
    assert len(plugins) == 22
    assert all(plugin.enabled for plugin in plugins)


def test_reading_a_plugin_runs_nothing_of_it(tmp_path: Path):
    paths, marker = paths_of(tmp_path), tmp_path / "marker"
    touch = f"touch {marker}"
    hooks = {"SessionStart": [{"hooks": [{"type": "command", "command": touch}]}]}
    servers = {"helper": remote(headersHelper=touch), "run": {"command": "sh", "args": ["-c", touch]}}
    folder = write_plugin(tmp_path, "sales", servers, hooks=hooks)
    files = {
        "package.json": json.dumps({"scripts": {"install": touch, "prepare": touch}}),
        "commands/go.md": f"!`{touch}`\n",
        "skills/go/SKILL.md": f"---\nname: go\ndescription: x\n---\n!`{touch}`\n",
        "conftest.py": f"import os; os.system({touch!r})\n",
        "hooks/run.sh": f"#!/bin/sh\n{touch}\n",
        ".git/hooks/post-checkout": f"#!/bin/sh\n{touch}\n",
        ".git/config": f"[core]\n\tfsmonitor = {touch}\n",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    trust(paths, "sales")
    (plugin,) = read_plugins(paths, PluginsSettings())
    assert "hooks (SessionStart)" in plugin.without_effect
    needs_of(plugin, paths)
    folder_digest(folder)
    for entry in entries(paths).values():
        with pytest.raises(NeedsSetupError):
            resolve(entry, {})
    assert not marker.exists()


def test_folders_that_bring_nothing_are_not_plugins(tmp_path: Path):
    write_plugin(tmp_path, "sales")
    for name in (".aside-x", "empty", "node_modules/x/y"):
        (tmp_path / ROOT / name).mkdir(parents=True)
    (tmp_path / ROOT / "file.md").write_text("")
    (tmp_path / ROOT / "linked").symlink_to(tmp_path / ROOT / "sales")
    states = _states(tmp_path)
    assert set(states) == {"sales", "linked"}
    assert "symbolic link" in (states["linked"][1] or "")


def test_a_plugin_is_enabled_until_a_person_or_its_manifest_says_otherwise(tmp_path: Path):
    paths = paths_of(tmp_path)
    for name in ("a", "b", "c", "d"):
        write_plugin(tmp_path, name, defaultEnabled=name != "d")
    said = {"plugins": {"b": {"enabled": False}, "c": "odd", "d": {"enabled": True}}}
    paths.extensions_file.write_text(json.dumps(said))
    assert [state for state, _ in _states(tmp_path).values()] == [True, False, True, True]
    paths.extensions_file.write_text(json.dumps({"plugins": []}))
    assert [state for state, _ in _states(tmp_path).values()] == [True, True, True, False]


def test_two_plugins_of_one_name_are_one_whatever_the_case(tmp_path: Path):
    write_plugin(tmp_path, "one", name="Sales")
    write_plugin(tmp_path, "sales", name="sales")
    write_plugin(tmp_path, "zwei", name="\uff33ales")
    states = _states(tmp_path)
    used = [folder for folder, (_, error) in states.items() if error is None]
    assert len(used) == 1
    assert sum("of that name already" in (error or "") for _, error in states.values()) == 2


@pytest.mark.parametrize("place", ["Sales", "a/sales", "\uff33ales"])
def test_no_folder_that_came_later_takes_the_name_of_an_installed_plugin(tmp_path: Path, place: str):
    paths = paths_of(tmp_path)
    ours = write_plugin(tmp_path, "sales")
    update_record(paths, lambda record: record.with_installed(Installed(name="sales")))
    write_plugin(tmp_path, place)
    plugins = read_plugins(paths, PluginsSettings())
    assert [plugin.folder for plugin in plugins if plugin.error is None] == [ours]


@pytest.mark.parametrize("link", ["plugins", "plugins/installed"])
def test_a_link_that_came_with_the_project_shows_nothing_outside_of_it(tmp_path: Path, link: str):
    write_plugin(tmp_path / "home", "other")
    project = tmp_path / "project"
    place = project / link
    place.parent.mkdir(parents=True)
    place.symlink_to(tmp_path / "home" / link)
    (plugin,) = read_plugins(paths_of(project), PluginsSettings())
    assert "leads out of the project" in (plugin.error or "")
    elsewhere = PluginsSettings(path=str(tmp_path / "home" / ROOT))
    assert [plugin.name for plugin in read_plugins(paths_of(project), elsewhere)] == ["other"]


def test_a_folder_of_any_number_of_folders_costs_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(finding, "_MOST_FOLDERS", 50)
    for number in range(10):
        for other in range(20):
            (tmp_path / f"{number}" / f"{other}").mkdir(parents=True)
    looked = 0

    def count(folder: Path) -> bool:
        nonlocal looked
        looked += 1
        return False

    monkeypatch.setattr(finding, "_is_plugin", count)
    finding.find_folders(tmp_path)
    assert looked <= 50


def test_a_plugin_is_called_as_it_was_installed(tmp_path: Path):
    paths = paths_of(tmp_path)
    write_plugin(tmp_path, "slack", {"chat": remote()}, name="slack-by-salesforce")
    trust(paths, "slack-by-salesforce")
    assert set(entries(paths)) == {"slack-by-salesforce:chat"}
    update_record(paths, lambda record: record.with_installed(Installed(name="slack")))
    assert set(entries(paths)) == {"slack:chat"}


@pytest.mark.parametrize("by", ["name", "case", "source", "commit", "digest", "sha256"])
def test_a_blocked_plugin_is_not_loaded(tmp_path: Path, by: str):
    paths = paths_of(tmp_path)
    folder = write_plugin(tmp_path, "sales", {"slack": remote()})
    write_plugin(tmp_path, "other")
    installed = Installed(name="sales", source="https://example.com/x.git", commit="c" * 40)
    update_record(paths, lambda record: record.with_installed(installed))
    digest = folder_digest(folder)
    blocked = {
        "name": "sales",
        "case": "SALES",
        "source": installed.source,
        "commit": installed.commit,
        "digest": digest,
        "sha256": f"sha256:{digest}",
    }[by]
    states = _states(tmp_path, blocked=(blocked,))
    assert states["other"] == (True, None)
    assert states["sales"] == (False, f"'{blocked}' is in plugins.blocked")
    (tmp_path / "satchel.yaml").write_text(f"plugins: {{blocked: ['{blocked}']}}\n")
    assert entries(paths_of(tmp_path)) == {}


def test_the_digest_is_of_names_and_contents(tmp_path: Path):
    folder = write_plugin(tmp_path, "sales", {"slack": remote()})
    seen = {folder_digest(folder)}
    assert folder_digest(folder) in seen
    changes = (
        lambda: (folder / "a").write_text("x"),
        lambda: (folder / "a").write_text("y"),
        lambda: (folder / "a").rename(folder / "b"),
        lambda: (folder / "c").symlink_to("/etc/passwd"),
        lambda: os.mkfifo(folder / "d"),
    )
    for change in changes:
        change()
        seen.add(folder_digest(folder))
    assert len(seen) == len(changes) + 1
    copy = write_plugin(tmp_path / "else", "sales", {"slack": remote()})
    plain = write_plugin(tmp_path / "more", "sales", {"slack": remote()})
    assert folder_digest(copy) == folder_digest(plain)


def test_a_folder_that_is_too_large_is_refused_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = write_plugin(tmp_path, "sales")
    monkeypatch.setattr("satchel.config.plugins.digest.MOST_BYTES", 1000)
    (folder / "large").write_bytes(bytes(5000))
    with pytest.raises(SatchelError, match="more than"):
        folder_digest(folder)
    monkeypatch.setattr("satchel.config.plugins.digest.MOST_FILES", 1)
    with pytest.raises(SatchelError, match="files"):
        folder_digest(folder)
