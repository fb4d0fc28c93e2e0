"""How large a plugin may be: whole repositories are plugins, and what is more is refused while it is read."""

import os
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from satchel.config import find_paths
from satchel.config.settings import read_settings
from satchel.errors import SatchelError
from satchel.verbs.plugins.installing import PluginSources
from satchel.verbs.plugins.library import PluginLibrary
from tests.library.plugins.plugin_files import commit, git, make_plugin

MIB = 1024 * 1024
FILES, SIZE = 5_000, 64 * MIB

pytestmark = pytest.mark.slow


def in_folder(folder: Path) -> Path:
    return folder


def in_archive(folder: Path) -> Path:
    archive = folder.with_suffix(".zip")
    with zipfile.ZipFile(archive, "w") as made:
        for root, _, files in os.walk(folder):
            for name in files:
                path = os.path.join(root, name)
                made.write(path, os.path.relpath(path, folder))
    return archive


def in_repository(folder: Path) -> Path:
    commit(folder)
    return folder


def sources(place: Path) -> PluginSources:
    paths = find_paths(config=place)
    return PluginSources(library=PluginLibrary(paths=paths, settings=read_settings(None).plugins))


@pytest.mark.long  # the scan takes most of it: it reads every byte
@pytest.mark.timeout(300)
@pytest.mark.parametrize("pack", [in_folder, in_archive, in_repository])
def test_a_plugin_of_five_thousand_files_and_64_mib_is_installed(
    tmp_path: Path, pack: Callable[[Path], Path]
) -> None:
    folder = make_plugin(tmp_path / "sales")
    (folder / "assets").mkdir()
    here = len([name for _, _, files in os.walk(folder) for name in files])
    for number in range(FILES - here):
        with open(folder / "assets" / f"{number}.png", "wb") as stream:
            stream.write(b"\x89PNG\r\n\x1a\n" + os.urandom(SIZE // (FILES - here) - 8))
    (tmp_path / "project").mkdir()

    with sources(tmp_path / "project").proposed(str(pack(folder))) as proposal:
        placed = proposal.go_on().folder

    assert len([name for _, _, files in os.walk(placed) for name in files]) == FILES
    assert (placed / "assets" / "4000.png").read_bytes() == (folder / "assets" / "4000.png").read_bytes()


def refused(tmp_path: Path, source: Path, reason: str) -> None:
    (tmp_path / "project").mkdir()
    with (
        pytest.raises(SatchelError, match=reason),
        sources(tmp_path / "project").proposed(str(source)),
    ):
        raise AssertionError("it was made ready")
    installed = tmp_path / "project" / "plugins" / "installed"
    assert not installed.exists() or os.listdir(installed) == []


@pytest.mark.parametrize("pack", [in_folder, in_archive])
def test_more_than_twenty_thousand_files_are_refused(tmp_path: Path, pack: Callable[[Path], Path]) -> None:
    folder = make_plugin(tmp_path / "sales")
    for number in range(20_001):
        os.close(os.open(folder / f"f{number}", os.O_CREAT | os.O_WRONLY))
    refused(tmp_path, pack(folder), "more than [0-9,]+ (files|entries)")


def test_more_than_twenty_thousand_files_of_a_repository_are_refused(tmp_path: Path) -> None:
    """One empty file under as many names."""
    folder = make_plugin(tmp_path / "sales")
    commit(folder)
    blob = git(folder, "hash-object", "-w", os.devnull)
    listed = "".join(f"100644 blob {blob}\tf{number:05}\n" for number in range(20_001))
    tree = subprocess.run(
        ["git", "mktree"], input=listed, cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()
    git(folder, "update-ref", "HEAD", git(folder, "commit-tree", "-m", "many", tree))
    refused(tmp_path, folder, "more than 20,000 files")


def test_more_than_256_mib_are_refused(tmp_path: Path) -> None:
    """Files with nothing in them, which take no room here."""
    folder = make_plugin(tmp_path / "sales")
    for number in range(5):
        with open(folder / f"f{number}", "wb") as stream:
            stream.truncate(60 * MIB)
    refused(tmp_path, folder, "256 MiB")


def test_an_archive_that_becomes_more_than_256_mib_is_refused(tmp_path: Path) -> None:
    """Not by its ratio: half of each file can't be compressed."""
    piece = os.urandom(300_000) + bytes(32 * MIB)
    archive = tmp_path / "sales.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as made:
        made.writestr("skills/big/SKILL.md", "---\nname: big\ndescription: It is big.\n---\n")
        for number in range(9):
            made.writestr(f"f{number}", piece)
    refused(tmp_path, archive, "256 MiB")


def test_a_file_of_more_than_64_mib_is_refused(tmp_path: Path) -> None:
    folder = make_plugin(tmp_path / "sales")
    with open(folder / "large", "wb") as stream:
        stream.truncate(64 * MIB + 1)
    refused(tmp_path, folder, "64 MiB")
