"""From settings to a sandbox: what may be granted, and how much may be asked for."""

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import satchel
from satchel.config.settings import CodeExecutionSettings, SandboxSettings
from satchel.errors import ArgumentError, SandboxError
from satchel.sandbox.backends.process import UnprotectedProcess
from satchel.sandbox.choose import check_memories, limits_of, open_sandbox, read_grants
from satchel.sandbox.limits import MIB
from satchel.sandbox.sandbox import Grants, packages_of


def granted(project: Path, code: Sequence[Path] = (), **settings: Any) -> Grants:
    private = (project / ".satchel", project / "home/data")
    environment = {"TOKEN": "t", "HOME": "h", "EMPTY": ""}
    return read_grants(SandboxSettings(**settings), project, private, environment, code)


def make(*paths: Path) -> None:
    for path in paths:
        path.mkdir(parents=True, exist_ok=True)


def test_nothing_is_granted_unless_the_settings_say_so(tmp_path: Path) -> None:
    assert granted(tmp_path) == Grants()


def test_paths_are_those_of_the_project_with_links_resolved(tmp_path: Path, own_home: Path) -> None:
    make(tmp_path / "data", tmp_path / "out", own_home / "mine")
    (tmp_path / "link").symlink_to(tmp_path / "data")
    (tmp_path / "data/file").touch()
    found = granted(tmp_path, allow_read=("link", "data/file", "~/mine"), allow_write=("out",))
    assert found.read == (tmp_path / "data", tmp_path / "data/file", own_home / "mine")
    assert found.write == (tmp_path / "out",)


def test_what_does_not_exist_can_not_be_granted(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match=r"allow_read: .*/missing does not exist"):
        granted(tmp_path, allow_read=("missing",))
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    with pytest.raises(SandboxError, match=r"allow_write: .*/nowhere does not exist"):
        granted(tmp_path, allow_write=("dangling",))


@pytest.mark.parametrize("path", [".", "..", ".satchel", ".satchel/agents", "home", "home/data/credentials"])
def test_satchels_own_directories_can_not_be_granted_nor_what_is_around_or_in_them(
    tmp_path: Path, path: str
) -> None:
    project = tmp_path / "project"
    make(project / ".satchel/agents", project / "home/data/credentials")
    for key in ("allow_read", "allow_write"):
        with pytest.raises(SandboxError, match=r"Satchel's own"):
            granted(project, (), **{key: (path,)})


def test_a_link_to_satchels_own_directories_is_seen_through(tmp_path: Path) -> None:
    make(tmp_path / ".satchel")
    (tmp_path / "innocent").symlink_to(tmp_path / ".satchel")
    with pytest.raises(SandboxError, match=r"Satchel's own"):
        granted(tmp_path, allow_read=("innocent",))


def test_satchels_own_directories_are_found_where_links_lead_to(tmp_path: Path) -> None:
    make(tmp_path / "disk/state/agents", tmp_path / "disk/other", tmp_path / "hops")
    (tmp_path / "hops/hop").symlink_to("../disk/state")
    (tmp_path / ".satchel").symlink_to(tmp_path / "hops/hop")
    for path in ("disk", "disk/state", "disk/state/agents", "hops"):
        with pytest.raises(SandboxError, match=r"Satchel's own"):
            granted(tmp_path, allow_read=(path,))
    assert granted(tmp_path, allow_read=("disk/other",)).read == (tmp_path / "disk/other",)


def test_links_that_lead_in_a_circle_do_no_harm(tmp_path: Path) -> None:
    make(tmp_path / "data")
    (tmp_path / ".satchel").symlink_to(tmp_path / ".satchel")
    assert granted(tmp_path, allow_read=("data",)).read


def test_the_packages_of_an_environment_are_checked_like_a_grant(tmp_path: Path) -> None:
    packages = packages_of(Path("env"))
    make(tmp_path / ".satchel" / packages, tmp_path / packages.parent, tmp_path / "data" / packages)
    with pytest.raises(SandboxError, match=r"Satchel's own"):
        granted(tmp_path, python_env=".satchel/env")
    (tmp_path / packages).symlink_to(tmp_path / ".satchel")
    with pytest.raises(SandboxError, match=r"Satchel's own"):
        granted(tmp_path, python_env="env")
    (tmp_path / packages).unlink()
    (tmp_path / packages).symlink_to("/usr/lib")
    with pytest.raises(SandboxError, match=r"python_env: .* can't be mounted where the box has something"):
        granted(tmp_path, python_env="env")
    (tmp_path / packages).unlink()
    (tmp_path / packages).symlink_to(tmp_path / "data")
    for write in ("data", "env"):
        with pytest.raises(SandboxError, match="lie in each other"):
            granted(tmp_path, python_env="env", allow_write=(write,))


def test_only_a_directory_can_be_written_to(tmp_path: Path) -> None:
    (tmp_path / "table.csv").touch()
    with pytest.raises(SandboxError, match=r"allow_write: .*/table\.csv is a file; it must be a directory"):
        granted(tmp_path, allow_write=("table.csv",))


def test_what_runs_outside_of_the_sandbox_can_not_be_written_to(tmp_path: Path) -> None:
    make(tmp_path / "tools/lib", tmp_path / "srv", tmp_path / "out", tmp_path / "links")
    (tmp_path / "srv/server.py").touch()
    (tmp_path / "links/server").symlink_to(tmp_path / "srv/server.py")
    (tmp_path / "server").symlink_to(tmp_path / "links/server")
    code = (tmp_path / "tools", tmp_path / "server")
    for path in ("tools", "tools/lib", "srv", "links"):
        with pytest.raises(SandboxError, match="which runs outside of the sandbox") as caught:
            granted(tmp_path, code, allow_write=(path,))
        assert str(tmp_path / path) in caught.value.message
        assert caught.value.hint == "name a directory that has data only"
        assert granted(tmp_path, code, allow_read=(path,)).read
    assert granted(tmp_path, code, allow_write=("out",)).write == (tmp_path / "out",)


def test_neither_satchel_nor_its_python_can_be_written_to(tmp_path: Path) -> None:
    for path in (sys.prefix, Path(satchel.__file__).parent / "sandbox"):
        with pytest.raises(SandboxError, match=r"which runs outside of the sandbox|something of its own"):
            granted(tmp_path, allow_write=(str(path),))


@pytest.mark.parametrize(
    "path", ["/", "/usr", "/usr/lib", "/etc", "/etc/hostname", "/proc/self", "/dev", "/tmp"]
)
def test_places_where_the_box_has_something_of_its_own_can_not_be_granted(tmp_path: Path, path: str) -> None:
    if not Path(path).exists():
        pytest.skip(f"{path} is not here")
    with pytest.raises(SandboxError, match="where the box has something of its own"):
        granted(tmp_path, allow_read=(path,))


def test_what_can_be_written_to_must_not_lie_in_another_grant(tmp_path: Path) -> None:
    make(tmp_path / "data/out", tmp_path / "data/in")
    for read, write in (
        (("data",), ("data/out",)),
        (("data/in",), ("data",)),
        ((), ("data", "data/out")),
        (("data",), ("data",)),
    ):
        with pytest.raises(SandboxError, match="lie in each other"):
            granted(tmp_path, allow_read=read, allow_write=write)
    found = granted(tmp_path, allow_read=("data", "data/in"))
    assert found.read == (tmp_path / "data", tmp_path / "data/in")
    assert granted(tmp_path, allow_read=("data/in",), allow_write=("data/out",)).write


@pytest.mark.parametrize(
    ("memories", "what"),
    [
        ({"a": "project/.satchel/agents/b/memory"}, "Satchel's own"),
        ({"a": "."}, "Satchel's own"),
        ({"a": "code/sub"}, "runs outside of the sandbox"),
        ({"a": "read/sub"}, "which programs of all agents see"),
        ({"a": "write"}, "which programs of all agents see"),
        ({"a": "notes", "b": "notes"}, "the memory of agent 'b'"),
        ({"a": "notes", "b": "notes/of-b"}, "the memory of agent 'b'"),
        ({"a": "link/sub"}, "which programs of all agents see"),
        ({"a": "notes", "b": "to-notes"}, "the memory of agent 'b'"),
        ({"a": "/etc/satchel/memory"}, "which is the machine's own"),
    ],
)
def test_a_memory_that_people_keep_has_a_directory_for_itself(
    tmp_path: Path, memories: dict[str, str], what: str
) -> None:
    state, code, read, write, notes = make_all(tmp_path, "project/.satchel", "code", "read", "write", "notes")
    (tmp_path / "link").symlink_to(write)
    (tmp_path / "to-notes").symlink_to(notes)
    grants = Grants(read=(read,), write=(write,))
    check_memories({"a": notes / "of-a", "b": notes / "of-b"}, grants, [state], [code])
    with pytest.raises(SandboxError, match=r"agents\.a\.memory\.path") as refused:
        check_memories({agent: tmp_path / path for agent, path in memories.items()}, grants, [state], [code])
    assert what in refused.value.message


def make_all(directory: Path, *names: str) -> list[Path]:
    paths = [directory / name for name in names]
    make(*paths)
    return paths


def test_only_the_variables_that_are_named_and_set_are_granted(tmp_path: Path) -> None:
    assert granted(tmp_path, allow_env=("TOKEN", "EMPTY", "UNSET")).environment == {"TOKEN": "t", "EMPTY": ""}


def test_an_environment_must_be_for_the_python_that_programs_run_on(tmp_path: Path) -> None:
    version = f"python3.{sys.version_info.minor}"
    make(tmp_path / "right/lib" / version / "site-packages", tmp_path / "old/lib/python3.8/site-packages")
    assert granted(tmp_path, python_env="right").python_env == tmp_path / "right"
    for other in ("old", "missing"):
        with pytest.raises(
            SandboxError, match=rf"/{other} is not a virtual environment for Python 3\."
        ) as caught:
            granted(tmp_path, python_env=other)
        assert "-m venv" in (caught.value.hint or "")


@pytest.mark.anyio
async def test_programs_run_without_isolation_only_where_the_settings_name_it(tmp_path: Path) -> None:
    settings = SandboxSettings(backend="process")
    sandbox = open_sandbox(settings, tmp_path, (), os.environ, agents=tmp_path)
    assert isinstance(sandbox, UnprotectedProcess)
    assert not isinstance(
        open_sandbox(SandboxSettings(), tmp_path, (), os.environ, agents=tmp_path), UnprotectedProcess
    )


# Limits


def test_the_limits_are_those_of_the_settings() -> None:
    sandbox = SandboxSettings(
        memory_mb=100,
        cpu_seconds=7,
        processes=8,
        open_files=9,
        disk_mb=10,
        max_calls=11,
        max_calls_in_flight=12,
    )
    limits = limits_of(CodeExecutionSettings(timeout=5, max_output_chars=13, sandbox=sandbox), None)
    assert (limits.seconds, limits.cpu_seconds, limits.memory) == (5, 7, 100 * MIB)
    assert (limits.processes, limits.open_files) == (8, 9)
    assert (limits.disk, limits.file_size) == (10 * MIB, 10 * MIB)
    assert (limits.calls, limits.calls_in_flight) == (11, 12)
    assert (limits.kept_output, limits.result) == (13, 13)


def test_a_caller_may_ask_for_any_time_up_to_the_highest() -> None:
    settings = CodeExecutionSettings(timeout=5, max_timeout=20)
    assert limits_of(settings, 20).seconds == 20
    assert limits_of(settings, 0.1).seconds == 0.1
    assert limits_of(settings, 500).seconds == limits_of(settings, float("inf")).seconds == 20
    for timeout in (0, -1, float("nan")):
        with pytest.raises(ArgumentError, match="it can be up to 20 s") as caught:
            limits_of(settings, timeout)
        assert caught.value.argument == "timeout"


def test_a_default_above_the_highest_is_cut_to_it() -> None:
    settings = CodeExecutionSettings(timeout=50, max_timeout=20)
    assert limits_of(settings, None).seconds == 20
    assert limits_of(replace(settings, timeout=10), None).seconds == 10
