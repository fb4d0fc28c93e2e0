"""The directories of agents, in which programs can put whatever they like."""

import os
import time
from pathlib import Path

import pytest

from satchel.errors import SandboxError
from satchel.model import Json
from satchel.sandbox.running.disk import in_use
from satchel.sandbox.running.home import (
    LocalHome,
    changed_files,
    clear,
    local,
    make_home,
    write_result,
)
from satchel.sandbox.sandbox import About, Home, Shown
from tests.sandbox.helpers import memory_of

KEPT = {"facts.json": b"[]\n", "notes.md": b""}
NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")


def prepared(directory: Path, agent: str = "default", owner: int | None = None) -> LocalHome:
    agents = directory / "agents"
    shown = Shown(
        code_api=directory / "code-api",
        memory=agents / agent / "memory",
        kept=KEPT,
        task_folders=("completed_tasks",),
    )
    return make_home(agents, agent, shown, About(isolated=True, owner=owner))


def test_an_agent_has_directories_that_only_it_can_enter(tmp_path: Path) -> None:
    workspace = prepared(tmp_path, "reader")
    assert workspace.files == tmp_path / "agents/reader/workspace"
    assert workspace.memory == tmp_path / "agents/reader/memory"
    assert workspace.tasks == tmp_path / "agents/reader/tasks"
    for directory in (*workspace.own, workspace.files.parent, tmp_path / "agents"):
        assert directory.stat().st_mode & 0o777 == 0o700
    links = {path.name: os.readlink(path) for path in workspace.files.iterdir()}
    assert links == {
        "servers": "/mnt/code-api/servers",
        "tools": "/mnt/code-api/tools",
        "skills": "/mnt/skills",
        "memory": "/mnt/memory",
        "tasks": "/mnt/tasks",
        "agents": "/mnt/agents",
    }


def test_what_is_in_a_workspace_stays_when_it_is_prepared_again(tmp_path: Path) -> None:
    workspace = prepared(tmp_path)
    (workspace.files / "note").write_text("kept")
    (workspace.files / "servers").unlink()
    (workspace.files / "servers").mkdir()
    prepared(tmp_path)
    assert (workspace.files / "note").read_text() == "kept"
    assert (workspace.files / "servers").is_dir()


@NEEDS_ROOT
def test_the_directories_belong_to_whoever_programs_run_as(tmp_path: Path) -> None:
    workspace = prepared(tmp_path, owner=62014)
    ours = [*workspace.own, *(memory_of(workspace) / name for name in KEPT)]
    assert {path.stat().st_uid for path in (*ours, workspace.tasks / "completed_tasks")} == {62014}
    assert workspace.files.parent.stat().st_uid == 0
    place = tmp_path / write_result(workspace, "a.bin", b"x").removeprefix("/workspace/")
    kept = workspace.files / place.relative_to(tmp_path)
    assert (kept.stat().st_uid, kept.parent.stat().st_uid) == (62014, 62014)


def test_names_that_can_be_those_of_directories_are_taken(tmp_path: Path) -> None:
    for name in ("a", "A_b-c.d", "_", "9", "x" * 64):
        assert prepared(tmp_path, name).files.is_dir()


def test_other_names_are_refused_before_anything_is_made(tmp_path: Path) -> None:
    names = [
        "",
        ".",
        "..",
        "../x",
        "a/b",
        "/etc",
        ".hidden",
        "-rf",
        "a b",
        "a\n",
        "\n",
        "ü",
        "a\0",
        "x" * 65,
        "a:b",
    ]
    for name in names:
        with pytest.raises(SandboxError, match="name"):
            prepared(tmp_path, name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "place", ["agents", "agents/default", "agents/default/workspace", "agents/default/memory"]
)
def test_a_link_in_place_of_a_directory_is_refused(tmp_path: Path, place: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    link = tmp_path / place
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(elsewhere)
    with pytest.raises(SandboxError, match=link.name):
        prepared(tmp_path)
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("place", ["agents/default/workspace", "agents/default/memory"])
def test_a_file_in_place_of_a_directory_is_refused(tmp_path: Path, place: str) -> None:
    file = tmp_path / place
    file.parent.mkdir(parents=True)
    file.touch()
    with pytest.raises(SandboxError, match=file.name):
        prepared(tmp_path)


# Results of tools


def test_a_result_is_a_new_file_that_only_its_owner_can_read(tmp_path: Path) -> None:
    workspace = prepared(tmp_path)
    assert write_result(workspace, "1.png", b"content") == "/workspace/.results/1.png"
    kept = workspace.files / ".results/1.png"
    assert kept.read_bytes() == b"content"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("kind", ["link to a file", "dangling link", "file"])
def test_a_result_is_never_written_over_what_a_program_has_put_there(tmp_path: Path, kind: str) -> None:
    workspace = prepared(tmp_path)
    victim = tmp_path / "victim"
    (workspace.files / ".results").mkdir()
    trap = workspace.files / ".results/1.png"
    if kind == "file":
        trap.write_bytes(b"before")
    else:
        trap.symlink_to(victim)
    if kind == "link to a file":
        victim.write_bytes(b"before")
    with pytest.raises(FileExistsError):
        write_result(workspace, "1.png", b"content")
    if kind == "dangling link":
        assert not victim.exists()
    else:
        assert (victim if kind == "link to a file" else trap).read_bytes() == b"before"


def test_results_do_not_follow_a_link_in_place_of_their_directory(tmp_path: Path) -> None:
    workspace = prepared(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (workspace.files / ".results").symlink_to(elsewhere)
    with pytest.raises(OSError, match="results"):
        write_result(workspace, "1.png", b"content")
    assert list(elsewhere.iterdir()) == []


# What a program has written


def test_files_written_since_then_are_told_with_their_size(tmp_path: Path) -> None:
    workspace = prepared(tmp_path)
    old = workspace.files / "old"
    old.write_text("old")
    since = old.stat().st_ctime + 0.001
    while time.time() <= since + 0.02:  # a file's time is that of the kernel's last tick
        pass
    (workspace.files / "b").write_text("new")
    (workspace.files / "a/deep").mkdir(parents=True)
    (workspace.files / "a/deep/c").write_text("newer")
    (workspace.files / "__pycache__").mkdir()
    (workspace.files / "__pycache__/d.pyc").touch()
    (workspace.files / "link").symlink_to(tmp_path)
    os.mkfifo(workspace.files / "pipe")
    assert changed_files(workspace, since) == (
        {"path": "/workspace/a/deep/c", "size": 5},
        {"path": "/workspace/b", "size": 3},
    )


def test_a_file_whose_time_a_program_has_set_back_is_told_all_the_same(tmp_path: Path) -> None:
    workspace = prepared(tmp_path)
    (workspace.files / "sly").touch()
    os.utime(workspace.files / "sly", (0, 0))
    assert changed_files(workspace, time.time() - 60) == ({"path": "/workspace/sly", "size": 0},)


def test_at_most_a_hundred_files_are_told_and_names_that_are_no_text_can_be_read(tmp_path: Path) -> None:
    workspace = prepared(tmp_path)
    with open(os.fsencode(workspace.files) + b"/\xff", "wb"):
        pass
    (told,) = changed_files(workspace, 0)
    told["path"].encode()
    for number in range(150):
        (workspace.files / f"{number}").touch()
    assert len(changed_files(workspace, 0)) == 100


def test_directories_without_end_are_not_followed(tmp_path: Path) -> None:
    workspace = prepared(tmp_path)
    place = workspace.files
    for _ in range(40):
        place = place / "d"
        place.mkdir()
    (place / "file").touch()
    assert changed_files(workspace, 0) == ()


def test_a_workspace_that_is_gone_or_closed_has_no_changes(tmp_path: Path) -> None:
    workspace = prepared(tmp_path)
    for link in workspace.files.iterdir():
        link.unlink()
    workspace.files.rmdir()
    assert changed_files(workspace, 0) == ()


# A home, as the callers of a sandbox know it


@pytest.mark.anyio
async def test_what_a_home_saves_is_where_it_says_under_names_that_count_up(tmp_path: Path) -> None:
    home = prepared(tmp_path)
    paths = [await home.save(ending, ending.encode()) for ending in (".png", ".txt")]
    mark = paths[0].removeprefix("/workspace/.results/").removesuffix("-1.png")
    assert paths == [f"/workspace/.results/{mark}-1.png", f"/workspace/.results/{mark}-2.txt"]
    assert [(home.files / path.removeprefix("/workspace/")).read_text() for path in paths] == [".png", ".txt"]
    assert await prepared(tmp_path).save(".png", b"") != paths[0]


@pytest.mark.anyio
async def test_a_home_tells_what_has_changed_by_its_own_clock(tmp_path: Path) -> None:
    home = prepared(tmp_path)
    before = await home.now()
    (home.files / "new").touch()
    assert await home.changed_since(before) == ({"path": "/workspace/new", "size": 0},)
    assert await home.changed_since(await home.now() + 60) == ()


@pytest.mark.anyio
async def test_a_home_names_what_lies_in_the_workspace(tmp_path: Path) -> None:
    home = prepared(tmp_path)
    (home.files / "mine.py").touch()
    assert await home.names() == {"mine.py", "servers", "tools", "skills", "memory", "tasks", "agents"}


def test_without_isolation_a_program_finds_its_files_where_they_are(tmp_path: Path) -> None:
    home = make_home(tmp_path / "agents", "default", Shown(code_api=tmp_path), About(isolated=False))
    assert write_result(home, "1.png", b"") == f"{home.files}/.results/1.png"


def test_a_home_of_another_sandbox_is_refused(tmp_path: Path) -> None:
    class Elsewhere:
        async def save(self, ending: str, content: bytes) -> str:
            raise NotImplementedError

        async def now(self) -> float:
            raise NotImplementedError

        async def changed_since(self, time: float) -> tuple[Json, ...]:
            raise NotImplementedError

        async def names(self) -> frozenset[str]:
            raise NotImplementedError

        async def clear(self) -> None:
            raise NotImplementedError

    other: Home = Elsewhere()
    assert local(prepared(tmp_path)).files.is_dir()
    with pytest.raises(TypeError, match="Elsewhere is not of this sandbox"):
        local(other)


def test_a_workspace_is_cleared_whatever_programs_did_to_it_and_the_memory_stays(tmp_path: Path) -> None:
    home = prepared(tmp_path)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "mine").write_text("kept")
    (memory_of(home) / "facts.md").write_text("kept")
    (home.tasks / "current_task.yaml").write_text("kept")
    (home.files / "way-out").symlink_to(outside)
    deepest = home.files
    for _ in range(100):
        deepest = deepest / "d"
        deepest.mkdir()
    (home.files / "closed").mkdir()
    (home.files / "closed" / "file").write_text("x")
    (home.files / "closed").chmod(0)
    there = home.files.stat().st_ino

    clear(home)

    assert list(home.files.iterdir()) == []
    assert home.files.stat().st_ino == there  # boxes that are ready show this directory
    assert (outside / "mine").read_text() == (memory_of(home) / "facts.md").read_text() == "kept"
    assert (home.tasks / "current_task.yaml").read_text() == "kept"
    assert {path.name for path in home.files.parent.iterdir()} == {"workspace", "memory", "tasks", "cleared"}
    assert (prepared(tmp_path).files / "servers").is_symlink()


def test_a_workspace_in_which_a_program_runs_is_not_cleared(tmp_path: Path) -> None:
    home = prepared(tmp_path)
    (home.files / "note").write_text("needed")
    with (
        in_use(home.files.parent),
        pytest.raises(SandboxError, match="programs of agent 'default' are running"),
    ):
        clear(home)
    assert (home.files / "note").exists()
    clear(home)
    assert not (home.files / "note").exists()
