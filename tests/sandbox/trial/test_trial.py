"""Trials of the sandbox: where it works, where the kernel refuses it, and what is said about limits."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from satchel.config.settings import CodeExecutionSettings, SandboxSettings
from satchel.errors import SandboxError
from satchel.sandbox.backends.bubblewrap.contents import Kind, options_of
from satchel.sandbox.limits import Limits
from satchel.sandbox.running import cgroups
from satchel.sandbox.trial.trial import _ADDED_PROGRAMS, Check, Seen, _isolation, _limits, look, try_sandbox

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the sandbox is Linux's"),
]

_REFUSE = """
echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --inh-caps=-all --ambient-caps=-all "$@"
"""


def without_namespaces(command: Sequence[str]) -> list[str]:
    """The command in a user namespace that may not have others: the kernel really refuses them."""
    return [
        *("unshare", "--user", "--map-user=1000", "--map-group=1000", "--keep-caps"),
        *("sh", "-c", _REFUSE, "sh", *command),
    ]


async def trial(project: Path, **settings: object) -> dict[str, Check]:
    sandbox = SandboxSettings(**settings)  # pyright: ignore[reportArgumentType]
    checks = await try_sandbox(CodeExecutionSettings(sandbox=sandbox), project, [project / ".satchel"], {})
    return {check.name: check for check in checks}


@pytest.mark.anyio
async def test_a_program_is_isolated_and_every_limit_has_its_layer(tmp_path: Path) -> None:
    checks = await trial(tmp_path, memory_mb=300)
    assert {
        name: check.level
        for name, check in checks.items()
        if name not in ("memory", "not kept", *_ADDED_PROGRAMS)
    } == dict.fromkeys(
        ("sandbox", "seccomp", "network", "start", "processes", "cpu", "files", "the rest"), "ok"
    )
    assert checks["sandbox"].message.startswith("bubblewrap ")
    assert "socket() (EAFNOSUPPORT) and unshare() (EPERM)" in checks["seccomp"].message
    assert checks["memory"].message.startswith("300 MiB ")
    assert ("control group" in checks["memory"].message) == (cgroups.find_parents() is not None)
    assert set(_ADDED_PROGRAMS) <= set(checks)
    assert checks["start"].message == "programs start in one of 4 prepared boxes"
    assert not list(tmp_path.iterdir())


@pytest.mark.anyio
async def test_it_is_told_when_programs_have_to_wait_for_their_boxes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = (await trial(tmp_path, prepared=0))["start"]
    assert (start.level, start.message) == ("note", "every program waits for its box to be made")
    assert start.next_step and "sandbox.prepared" in start.next_step

    def refuse(kind: Kind, *arguments: Any, **options: Any) -> list[str]:
        made = options_of(kind, *arguments, **options)
        return ["--disable-userns", *made] if kind == "zygote" else made

    monkeypatch.setattr("satchel.sandbox.backends.bubblewrap.boxes.options_of", refuse)
    start = (await trial(tmp_path))["start"]
    assert start.level == "note"
    assert "refuses namespaces within namespaces ([Errno 28] clone: No space left" in start.message
    assert start.next_step


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"python_env": "nowhere"}, "is not a virtual environment for Python"),
        ({"allow_read": ("nowhere",)}, "nowhere does not exist"),
        ({"allow_write": (".",)}, "which is Satchel's own"),
    ],
)
async def test_a_grant_that_cannot_be_made_is_found_and_the_box_is_tried_without_it(
    tmp_path: Path, settings: dict[str, object], said: str
) -> None:
    checks = await trial(tmp_path, **settings)
    assert (checks["grants"].level, checks["sandbox"].level) == ("error", "ok")
    assert said in checks["grants"].message
    assert checks["grants"].next_step


@pytest.mark.anyio
async def test_a_memory_that_lies_where_programs_see_it_anyway_is_found(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    settings = CodeExecutionSettings(sandbox=SandboxSettings(allow_read=("data",)))
    memories = {"a": tmp_path / "data/of-a"}
    found = await try_sandbox(settings, tmp_path, [tmp_path / ".satchel"], {}, memories=memories)
    checks = {check.name: check for check in found}
    assert (checks["grants"].level, checks["sandbox"].level) == ("error", "ok")
    assert "agents.a.memory.path" in checks["grants"].message


@pytest.mark.anyio
async def test_grants_that_can_be_made_are_named(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    checks = await trial(tmp_path, allow_read=("data",), allow_env=("NOT_SET_HERE",))
    assert checks["grants"].message == "allow_env has NOT_SET_HERE, which is not set"
    assert checks["grants"].level == "note"
    checks = await trial(tmp_path, allow_read=("data",))
    assert checks["grants"].message == f"programs can read {tmp_path / 'data'}"


@pytest.mark.anyio
async def test_without_isolation_there_is_only_a_warning(tmp_path: Path) -> None:
    checks = await trial(tmp_path, backend="process")
    assert list(checks) == ["sandbox"]
    assert checks["sandbox"].level == "warning"
    assert "without isolation" in checks["sandbox"].message


def test_an_ordinary_process_is_seen_as_what_it_is() -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        seen = look(process.pid, os.stat("/tmp").st_dev)
    assert seen.shared == ("user", "pid", "net", "mnt", "ipc", "uts")
    assert seen.has_capabilities == (os.geteuid() == 0)
    assert seen.groups == {}
    with pytest.raises(SandboxError):
        look(process.pid, os.stat("/tmp").st_dev)


def test_a_box_that_leaks_is_an_error() -> None:
    tried = {"socket": "", "unshare": "EPERM", "write_outside": "EROFS", "write_inside": ""}
    seen = Seen(shared=("net",), has_filter=True, has_capabilities=False, groups={})
    checks = {check.name: check for check in _isolation(tried, seen)}
    assert [check.level for check in checks.values()] == ["error", "error", "error"]
    assert "shares the host's net namespace" in checks["sandbox"].message
    assert checks["seccomp"].message == "the filter does not hold: socket()"
    assert all(check.next_step for check in checks.values())


@pytest.mark.parametrize(
    ("groups", "memory", "processes", "cpu"),
    [
        ({}, "watched every 50 ms", "RLIMIT_NPROC", "from /proc"),
        ({"memory": 1}, "control group (version 1)", "RLIMIT_NPROC", "from /proc"),
        (
            {"memory": 2, "pids": 2, "cpuacct": 2},
            "control group (version 2)",
            "control group",
            "control group",
        ),
    ],
)
def test_limits_are_said_to_be_enforced_by_what_enforces_them(
    groups: dict[str, int], memory: str, processes: str, cpu: str
) -> None:
    checks = {check.name: check for check in _limits(Limits(), groups)}
    assert memory in checks["memory"].message
    assert processes in checks["processes"].message
    assert cpu in checks["cpu"].message
    assert (checks["memory"].level == "note") == (not groups)
