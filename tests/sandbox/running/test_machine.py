"""What all programs together get where nobody says it: by the machine, or by the container around us."""

import os
from pathlib import Path

import pytest

from satchel.config.settings import CodeExecutionSettings, SandboxSettings, TotalSettings
from satchel.sandbox.limits import MIB
from satchel.sandbox.running.machine import memory_for_programs, memory_here, processes_here, totals_of

GIB = 1024 * MIB
PHYSICAL = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text + "\n")


def test_without_control_groups_it_is_all_that_the_machine_has(tmp_path: Path) -> None:
    assert memory_here(tmp_path, tmp_path / "none") == PHYSICAL
    write(tmp_path / "pid_max", "32768")
    assert processes_here(tmp_path, tmp_path / "none", tmp_path) == 32768


def test_every_group_around_us_counts_in_version_1(tmp_path: Path) -> None:
    own = tmp_path / "own"
    write(own, "4:memory:/docker/box\n8:pids,other:/docker/box\n0::/")
    write(tmp_path / "memory/memory.limit_in_bytes", "9223372036854771712")
    write(tmp_path / "memory/docker/memory.limit_in_bytes", str(64 * MIB))
    write(tmp_path / "memory/docker/box/memory.limit_in_bytes", str(100 * MIB))
    write(tmp_path / "pids/docker/box/pids.max", "500")
    assert memory_here(tmp_path, own) == 64 * MIB
    assert processes_here(tmp_path, own, tmp_path / "none") == 500


def test_every_group_around_us_counts_in_version_2(tmp_path: Path) -> None:
    own = tmp_path / "own"
    write(own, "0::/user.slice/app.slice")
    write(tmp_path / "user.slice/memory.max", str(96 * MIB))
    write(tmp_path / "user.slice/app.slice/memory.max", "max")
    write(tmp_path / "user.slice/app.slice/pids.max", "400")
    assert memory_here(tmp_path, own) == 96 * MIB
    assert processes_here(tmp_path, own, tmp_path / "none") == 400


def test_a_container_that_does_not_see_its_path_has_its_limits_at_the_top(tmp_path: Path) -> None:
    own = tmp_path / "own"
    write(own, "0::/kubepods/pod1/box")
    write(tmp_path / "memory.max", str(128 * MIB))
    assert memory_here(tmp_path, own) == 128 * MIB


@pytest.mark.parametrize(
    ("memory", "left"), [(24 * GIB, 18 * GIB), (4 * GIB, 3 * GIB), (2 * GIB, GIB), (GIB, GIB // 2)]
)
def test_there_is_room_left_for_everything_else(memory: int, left: int) -> None:
    assert memory_for_programs(memory) == left


def test_the_settings_come_first() -> None:
    total = TotalSettings(memory_mb=500, processes=70, programs=5, sessions=9)
    settings = CodeExecutionSettings(total=total, max_sessions=3, queue_timeout=7)
    totals = totals_of(settings, agents=3)
    assert (totals.memory, totals.processes, totals.programs) == (500 * MIB, 70, 5)
    assert (totals.sessions, totals.agent_sessions, totals.patience) == (9, 3, 7)
    assert totals.reserve == 2


def test_what_is_not_said_fits_the_machine() -> None:
    totals = totals_of(CodeExecutionSettings())
    assert totals.memory == memory_for_programs(memory_here())
    assert 4 <= totals.programs <= max(4, 8 * (os.cpu_count() or 1))
    assert totals.processes <= processes_here() // 2
    assert totals.reserve == 0  # there is one agent: nobody else needs a place


def test_programs_that_may_hold_much_are_fewer_but_never_only_a_few() -> None:
    large = CodeExecutionSettings(
        sandbox=SandboxSettings(memory_mb=10_000), total=TotalSettings(memory_mb=1_000)
    )
    assert totals_of(large).programs == 4


def test_never_more_than_half_of_the_places_are_kept_for_agents_that_have_none() -> None:
    settings = CodeExecutionSettings(total=TotalSettings(programs=4))
    assert [totals_of(settings, agents).reserve for agents in (1, 2, 3, 50)] == [0, 1, 2, 2]
    assert totals_of(CodeExecutionSettings(total=TotalSettings(programs=1)), 5).reserve == 0
