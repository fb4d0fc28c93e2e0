"""The library of plugins: what a name that somebody else wrote can't do."""

from pathlib import Path

import pytest

from satchel.config.plugins.servers import data_folder
from satchel.config.plugins.settings import PluginsSettings
from satchel.verbs.plugins.library import PluginLibrary
from tests.config.plugins.folders import paths_of, write_plugin


@pytest.mark.parametrize("up", [".", "..", "../..", "../../.."])
def test_removing_a_plugin_deletes_nothing_that_its_name_leads_to(tmp_path: Path, up: str):
    paths = paths_of(tmp_path / "project")
    kept = data_folder(paths, "other") / "kept"
    kept.parent.mkdir(parents=True)
    kept.write_text("x")
    folder = write_plugin(paths.project, "sales", name=up)
    library = PluginLibrary(paths=paths, settings=PluginsSettings())
    (plugin,) = library.plugins()
    assert plugin.error is not None
    library.remove(plugin.name)
    assert not folder.exists()
    assert kept.exists()
