"""Installing and updating a plugin are killed at any moment, and happen at once: it is whole, or not there.

SATCHEL_TEST_SEED says which chance decides.
"""

import os
import random
import subprocess
import time
from pathlib import Path

import pytest

from satchel.config import find_paths
from satchel.config.paths import lock_of
from satchel.config.plugins.digest import folder_digest
from satchel.config.plugins.record import read_record
from satchel.verbs.plugins.installing import PluginSources
from satchel.verbs.plugins.library import open_plugin_library
from tests.library.plugins.plugin_files import make_plugin, write
from tests.projects import Project
from tests.scale import scaled

KILLS = scaled(4, 60)
SEED = int(os.environ.get("SATCHEL_TEST_SEED", "0")) or random.SystemRandom().randrange(1, 1_000_000)
FILES = 150  # so that writing them takes a while
WAIT = 60  # seconds; only a hang reaches it

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(120 + 10 * KILLS)]


def start(project: Project, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        project.command("plugins", *arguments, "--yes"),
        cwd=project.directory,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def version(source: Path, number: int) -> Path:
    """The plugin with other files in all places."""
    for each in range(FILES):
        write(source / "skills" / "call-prep" / f"{each}.md", f"{number}\n" * 50)
    return make_plugin(source, version=f"{number}.0.0")


def sources(project: Project) -> PluginSources:
    return PluginSources(library=open_plugin_library(project.directory))


def bring(project: Project, source: Path) -> str:
    """Install or update it here, whichever is to be done; its digest."""
    own = sources(project)
    if "sales" in own.library.names():
        with own.updated("sales") as proposal:
            assert not proposal.changed_here
            if not proposal.is_same:
                proposal.go_on()
            return proposal.new.digest
    with own.proposed(str(source)) as proposal:
        proposal.go_on()
        return proposal.new.digest


@pytest.mark.long
@pytest.mark.parametrize("what", ["install", "update"])
def test_a_plugin_is_whole_or_not_there_whenever_its_process_is_killed(tmp_path: Path, what: str) -> None:
    chance = random.Random(SEED)
    project = Project(tmp_path / "project", {})
    root = project.directory / "plugins" / "installed"
    source = version(tmp_path / "sales", 0)
    began = time.monotonic()
    process = start(project, "install", str(source))
    _, said = process.communicate(timeout=WAIT)
    assert process.returncode == 0, said
    whole = time.monotonic() - began
    old = folder_digest(root / "sales")

    for number in range(1, KILLS + 1):
        if what == "install":
            sources(project).library.remove("sales")
        version(source, number)
        arguments = [str(source)] if what == "install" else ["sales"]
        process = start(project, what, *arguments)
        time.sleep(chance.uniform(0.3, 1.1) * whole)
        process.kill()
        process.communicate(timeout=WAIT)

        found = folder_digest(root / "sales") if (root / "sales").exists() else None
        new = bring(project, source)
        assert found in ({None, new} if what == "install" else {old, new}), f"seed {SEED}, round {number}"
        assert folder_digest(root / "sales") == new
        assert os.listdir(root) == ["sales"]
        assert os.listdir(lock_of(root)) == []
        assert read_record(find_paths(config=project.directory)).installed["sales"].digest == new
        old = new


def test_two_plugins_that_are_installed_at_once_both_arrive(tmp_path: Path) -> None:
    project = Project(tmp_path / "project", {})
    names = ("sales", "legal")
    processes = [start(project, "install", str(make_plugin(tmp_path / name, name))) for name in names]
    for process in processes:
        _, said = process.communicate(timeout=WAIT)
        assert process.returncode == 0, said
    library = sources(project).library
    assert library.names() == sorted(names)
    record = read_record(library.paths)
    assert set(record.installed) == set(record.approved) == set(names)
    assert len({one.order for one in record.installed.values()}) == 2


def test_of_two_that_install_one_plugin_at_once_one_wins_and_the_other_says_so(tmp_path: Path) -> None:
    project = Project(tmp_path / "project", {})
    source = make_plugin(tmp_path / "sales")
    processes = [start(project, "install", str(source)) for _ in range(2)]
    said = [process.communicate(timeout=WAIT)[1] for process in processes]

    assert sorted(process.returncode for process in processes) == [0, 2], said
    assert any("there is a plugin 'sales' already" in text for text in said)
    info = sources(project).library.info("sales")
    assert info.installed is not None  # what one noted was not taken back by the other
    assert not info.changed
    assert [need.approved for need in info.needs] == [True]


def test_who_comes_second_takes_nothing_back_of_who_came_first(tmp_path: Path) -> None:
    """The same without chance: both have made theirs ready, then each goes on."""
    project = Project(tmp_path / "project", {})
    source = make_plugin(tmp_path / "sales")
    with sources(project).proposed(str(source)) as first, sources(project).proposed(str(source)) as second:
        first.go_on()
        with pytest.raises(Exception, match="there is a plugin 'sales' already"):
            second.go_on()
    assert sources(project).library.info("sales").installed is not None


def test_an_update_that_ended_half_way_is_not_taken_for_a_change_of_ones_own(tmp_path: Path) -> None:
    project = Project(tmp_path / "project", {})
    source = make_plugin(tmp_path / "sales")
    bring(project, source)
    make_plugin(source, version="2.0.0")
    with sources(project).updated("sales") as proposal, proposal._noted():
        pass  # it was killed after it had noted what it was about to do
    assert not sources(project).library.info("sales").changed
    bring(project, source)
    assert sources(project).library.plugin("sales").version == "2.0.0"
