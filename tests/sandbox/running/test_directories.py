"""Memories, tasks and links: made before the first program, and never over what is there."""

import os
from pathlib import Path

import pytest

from satchel.errors import SandboxError
from satchel.sandbox.running.directories import make_folders, make_links, make_memory

KEPT = {"facts.json": b"[]\n", "notes.md": b""}
NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")
USER = 62014


@pytest.fixture
def agents(tmp_path: Path) -> Path:
    agents = tmp_path / "agents"
    agents.mkdir()
    return agents


def make(agents: Path, memory: Path, owner: int | None = None) -> None:
    make_memory(agents, memory, KEPT, owner)


def links(directory: Path) -> dict[str, str]:
    return {path.name: os.readlink(path) for path in directory.iterdir() if path.is_symlink()}


# Memories


def test_a_memory_has_its_files_from_the_beginning_and_only_its_owner_reads_them(agents: Path) -> None:
    memory = agents / "a/memory"
    make(agents, memory)
    assert {path.name: path.read_bytes() for path in memory.iterdir()} == KEPT
    assert {path.stat().st_mode & 0o777 for path in memory.iterdir()} == {0o600}
    assert (memory.stat().st_mode & 0o777, memory.parent.stat().st_mode & 0o777) == (0o700, 0o700)


@pytest.mark.parametrize("trap", ["file", "folder", "link", "dangling link"])
def test_nothing_is_written_over_what_a_program_has_put_in_the_place_of_a_file(
    agents: Path, trap: str
) -> None:
    memory, elsewhere = agents / "a/memory", agents.parent / "elsewhere"
    memory.mkdir(parents=True)
    place = memory / "facts.json"
    if trap == "file":
        place.write_text("mine")
    elif trap == "folder":
        place.mkdir()
    else:
        place.symlink_to(elsewhere)
    if trap == "link":
        elsewhere.write_text("mine")
    before = place.lstat()
    make(agents, memory)
    assert (place.lstat().st_ino, place.lstat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert (memory / "notes.md").exists()
    assert not elsewhere.exists() if trap == "dangling link" else True
    if trap in ("file", "link"):
        assert place.read_text() == "mine"


@NEEDS_ROOT
def test_a_memory_belongs_to_whoever_programs_run_as(agents: Path) -> None:
    memory = agents / "a/memory"
    make(agents, memory, USER)
    assert {path.stat().st_uid for path in (memory, *memory.iterdir())} == {USER}
    assert memory.parent.stat().st_uid == 0


# Memories that people keep


def test_a_directory_for_a_memory_is_made_with_those_above_it(agents: Path) -> None:
    memory = agents.parent / "notes/of/a"
    make(agents, memory)
    assert sorted(path.name for path in memory.iterdir()) == sorted(KEPT)


def test_a_persons_directory_keeps_its_rights_and_its_files(agents: Path) -> None:
    memory = agents.parent / "notes"
    memory.mkdir(mode=0o755)
    memory.chmod(0o755)
    (memory / "facts.json").write_text('[{"topic": "x"}]')
    make(agents, memory)
    assert memory.stat().st_mode & 0o777 == 0o755
    assert (memory / "facts.json").read_text() == '[{"topic": "x"}]'
    assert (memory / "notes.md").exists()


@pytest.mark.parametrize("kind", ["link", "file"])
def test_a_memory_that_is_not_a_directory_is_refused(agents: Path, kind: str) -> None:
    memory, elsewhere = agents.parent / "notes", agents.parent / "elsewhere"
    elsewhere.mkdir()
    if kind == "link":
        memory.symlink_to(elsewhere)
    else:
        memory.touch()
    with pytest.raises(SandboxError, match="/notes can't be used: it is"):
        make(agents, memory)
    assert list(elsewhere.iterdir()) == []


def test_a_repository_of_git_itself_is_refused_because_programs_could_change_what_git_runs(
    agents: Path,
) -> None:
    repository = agents.parent / "notes"
    (repository / ".git").mkdir(parents=True)
    with pytest.raises(SandboxError, match="names commands that git runs") as refused:
        make(agents, repository)
    assert "a folder inside of the repository" in str(refused.value.hint)
    make(agents, repository / "memory")


@NEEDS_ROOT
def test_root_gives_away_only_what_it_has_made(agents: Path) -> None:
    mine, theirs, new = (agents.parent / name for name in ("mine", "theirs", "new"))
    for directory in (mine, theirs):
        directory.mkdir()
        (directory / "facts.json").touch()
    os.chown(theirs, USER, USER)
    with pytest.raises(SandboxError, match=f"run as uid {USER}, can't write to") as refused:
        make(agents, mine, USER)
    assert f"chown -R {USER} {mine}" in str(refused.value.hint)
    assert (mine.stat().st_uid, os.listdir(mine)) == (0, ["facts.json"])
    make(agents, theirs, USER)
    assert ((theirs / "facts.json").stat().st_uid, (theirs / "notes.md").stat().st_uid) == (0, USER)
    make(agents, new, USER)
    assert new.stat().st_uid == USER


# Folders and links


def test_folders_are_made_once_and_nothing_in_their_place_is_touched(tmp_path: Path) -> None:
    make_folders(tmp_path, ("done",), None)
    (tmp_path / "done/task").touch()
    make_folders(tmp_path, ("done",), None)
    assert (tmp_path / "done/task").exists()
    (tmp_path / "other").symlink_to("/etc")
    make_folders(tmp_path, ("other",), None)
    assert os.readlink(tmp_path / "other") == "/etc"


def test_links_follow_the_settings_and_leave_what_is_a_programs_own(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "near").symlink_to("mine")
    names = ("mine", "file", "near", "skills", "memory")
    make_links(tmp_path, {name: f"/mnt/{name}" for name in names})
    assert links(tmp_path) == {"near": "mine", "skills": "/mnt/skills", "memory": "/mnt/memory"}
    make_links(tmp_path, {name: None if name == "memory" else f"/mnt/new-{name}" for name in names})
    assert links(tmp_path) == {"near": "mine", "skills": "/mnt/new-skills"}
    make_links(tmp_path, {"mine": None, "file": None, "near": None})
    assert {path.name for path in tmp_path.iterdir()} == {"mine", "file", "near", "skills"}
