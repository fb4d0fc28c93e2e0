"""What all tests share: one event loop back end, a home of their own, and an honest account of skips."""

import os
from collections.abc import Generator
from pathlib import Path

import pytest

# A few hundred processes are started, and each would compile all of Satchel anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing of the person who runs the tests is read or written."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    for variable in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "SATCHEL_CONFIG", "NO_COLOR"):
        monkeypatch.delenv(variable, raising=False)
    return home


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test of the shared data that skips although the data is there is a failure."""
    report = yield
    if report.skipped and isinstance(report.longrepr, tuple):
        reason = str(report.longrepr[2])
        if "shared/data" in reason and SHARED.is_dir():
            report.outcome = "failed"
            report.longrepr = f"{item.nodeid} was skipped although ../shared/data is here: {reason}"
    return report
