"""Changes of plugins, of their state and of what is approved take effect in what runs."""

import json
import shutil
from pathlib import Path

from satchel.config.follow import LiveConfiguration
from satchel.config.plugins.record import update_record
from satchel.config.plugins.state import set_plugin_enabled
from tests.config.plugins.folders import ROOT, paths_of, remote, trust, write_plugin


def _names(live: LiveConfiguration) -> list[str]:
    return [entry.name for entry in live.follow().servers if not entry.awaits]


def test_each_change_is_seen_at_once(tmp_path: Path):
    paths = paths_of(tmp_path)
    live = LiveConfiguration(paths)
    assert _names(live) == []
    folder = write_plugin(tmp_path, "sales", {"slack": remote()})
    assert _names(live) == []
    trust(paths, "sales")
    assert _names(live) == ["sales:slack"]
    assert live.follow() is live.now
    write_plugin(tmp_path, "sales", {"slack": remote(), "crm": remote("https://crm.example/mcp")})
    assert _names(live) == ["sales:slack"]
    trust(paths, "sales")
    assert _names(live) == ["sales:slack", "sales:crm"]
    (folder / ".mcp.json").rename(folder / "mcp.json")
    (folder / "mcp.json").write_text(json.dumps({"one": remote()}))
    assert _names(live) == ["sales:one"]
    write_plugin(tmp_path, "sales", name="selling")
    assert _names(live) == []
    trust(paths, "selling")
    assert _names(live) == ["selling:one"]
    set_plugin_enabled(paths.extensions_file, "selling", enabled=False)
    assert _names(live) == []
    set_plugin_enabled(paths.extensions_file, "selling", enabled=True)
    assert _names(live) == ["selling:one"]
    update_record(paths, lambda record: record.without("selling"))
    assert _names(live) == []
    trust(paths, "selling")
    assert _names(live) == ["selling:one"]
    shutil.rmtree(tmp_path / ROOT / "sales")
    assert _names(live) == []


def test_a_plugin_in_a_collection_is_followed(tmp_path: Path):
    paths = paths_of(tmp_path)
    write_plugin(tmp_path, "partners/one", {"slack": remote()}, name="one")
    trust(paths, "one")
    live = LiveConfiguration(paths)
    assert _names(live) == ["one:slack"]
    write_plugin(tmp_path, "partners/two", {"crm": remote("https://crm.example/mcp")}, name="two")
    trust(paths, "two")
    assert _names(live) == ["one:slack", "two:crm"]


def test_a_file_of_servers_that_the_manifest_names_is_followed(tmp_path: Path):
    paths = paths_of(tmp_path)
    folder = write_plugin(tmp_path, "sales", mcpServers=["./conf/more.json"])
    live = LiveConfiguration(paths)
    (folder / "conf").mkdir()
    for name in ("one", "two"):  # one endpoint, which is approved once
        (folder / "conf" / "more.json").write_text(json.dumps({name: remote()}))
        trust(paths, "sales")
        assert _names(live) == [f"sales:{name}"]


def test_a_broken_file_costs_its_servers_and_no_others(tmp_path: Path):
    paths = paths_of(tmp_path)
    folder = write_plugin(tmp_path, "sales", {"slack": remote()})
    write_plugin(tmp_path, "other", {"crm": remote("https://crm.example/mcp")})
    trust(paths, "sales", "other")
    live = LiveConfiguration(paths)
    (folder / ".mcp.json").write_text("{")
    assert _names(live) == ["other:crm"]
    assert live.error is None
