"""What is said of the limits of all programs together, and by whom they are kept."""

from pathlib import Path
from typing import Any

import pytest

from satchel.config.settings import CodeExecutionSettings, SandboxSettings, TotalSettings
from satchel.sandbox.running import cgroups
from satchel.sandbox.trial.totals import try_totals
from satchel.sandbox.trial.trial import Check
from tests.sandbox.helpers import groups_of_this_process

TOTAL = TotalSettings(memory_mb=700, processes=300, programs=6, sessions=5)


def checks(agents: int = 1, **more: Any) -> dict[str, Check]:
    settings = CodeExecutionSettings(total=TOTAL, max_sessions=2, queue_timeout=12, **more)
    return {check.name: check for check in try_totals(settings, agents)}


def test_control_groups_are_made_to_see_that_they_hold() -> None:
    parents = cgroups.find_parents()
    if parents is None:
        pytest.skip("no control groups can be made here")
    before = groups_of_this_process()
    found = checks()
    assert [found[name].level for name in ("total memory", "total processes")] == ["ok", "ok"]
    memory = found["total memory"].message
    assert memory.startswith(
        f"700 MiB for all programs together, enforced by a control group (version {parents.version}); "
    )
    assert memory.endswith(" MiB for all Satchels of this user")
    assert found["total processes"].message.startswith("300 for all programs together, enforced by")
    assert groups_of_this_process() == before


def test_without_control_groups_it_is_told_that_it_is_only_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroups, "find_parents", lambda: None)
    found = checks()
    for name, amount in (("total memory", "700 MiB"), ("total processes", "300")):
        check = found[name]
        assert check.level == "note" and check.next_step
        assert check.message.startswith(f"{amount} for all programs together, watched every 50 ms")
        assert "other Satchels of this user run is not counted" in check.message


def test_places_and_sessions_are_counted_by_satchel_itself(tmp_path: Path) -> None:
    found = checks(agents=3)
    assert found["programs at once"].message == (
        "6, 2 of them only for agents that run none; others wait in turns by agent, for 12 s at most, counted"
        " by Satchel itself"
    )
    assert found["sessions"].message == (
        "2 sessions of an agent, 5 in all, and 350 MiB in those that rest, counted by Satchel itself"
    )
    assert found["programs at once"].level == found["sessions"].level == "ok"


def test_without_isolation_it_is_told_that_nothing_bounds_them() -> None:
    found = checks(sandbox=SandboxSettings(backend="process"))
    assert "total processes" not in found
    assert found["total memory"].level == "note" and found["total memory"].next_step
