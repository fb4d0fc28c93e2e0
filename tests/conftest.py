"""What all tests share: one event loop back end, a home of their own, and an honest account of skips."""

import os
import re
from collections.abc import Generator
from pathlib import Path
from tempfile import mkdtemp
from traceback import format_exception
from typing import cast

import pytest

# A few hundred processes are started, and each would compile all of Satchel anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

pytest_plugins = ["tests.unsteady"]

_DIRECTORIES = ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing of the person who runs the tests is read or written."""
    # `mktemp` looks through all it has made, which takes longer with every test.
    homes = tmp_path_factory.getbasetemp() / "homes"
    homes.mkdir(exist_ok=True)
    home = Path(mkdtemp(dir=homes))
    monkeypatch.setenv("HOME", str(home))
    for variable in (*_DIRECTORIES, "SATCHEL_CONFIG", "SATCHEL_LOG", "NO_COLOR"):
        monkeypatch.delenv(variable, raising=False)
    return home


@pytest.fixture(scope="module", params=["here", pytest.param("elsewhere", marks=pytest.mark.slow)])
def place_of_programs(request: pytest.FixtureRequest) -> Generator[str]:
    """Tests that ask for it run once with programs here, and once with programs on a machine of their own."""
    from satchel.sandbox.backends import BACKENDS  # few tests need it
    from tests.sandbox.elsewhere import BACKEND

    with pytest.MonkeyPatch.context() as patch:
        if request.param == "elsewhere":
            patch.setitem(BACKENDS, "bubblewrap", BACKEND)
        yield request.param


FAST = "not slow and not e2e and not long"  # as in the Makefile
_LEFT_OUT = re.compile(r"^pytestmark = .*\bmark\.(slow|e2e|long)\b", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """The fast suite does not import files that have nothing for it: that takes seconds in each worker."""
    if config.option.markexpr == FAST and collection_path.suffix == ".py":
        return _LEFT_OUT.search(collection_path.read_text()) is not None or None
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long comes first, or one worker would still have it to do when the others are done."""
    items.sort(key=lambda item: (not item.get_closest_marker("e2e"), not item.get_closest_marker("slow")))


def _leaves(error: BaseException) -> list[BaseException]:
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    group = cast("BaseExceptionGroup[BaseException]", error)
    return [leaf for each in group.exceptions for leaf in _leaves(each)]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show what failed; a test of the shared data that skips although the data is there is a failure."""
    report = yield
    error: BaseException | None = call.excinfo and call.excinfo.value
    if isinstance(error, BaseExceptionGroup):
        # A traceback of nested groups ends at the tenth, above what has really failed.
        leaves = _leaves(cast("BaseException", error))
        found = "".join(text for leaf in leaves for text in format_exception(leaf))
        report.sections.append(("what failed within", found))
    if report.skipped and isinstance(report.longrepr, tuple):
        reason = str(report.longrepr[2])
        if "shared/data" in reason and SHARED.is_dir():
            report.outcome = "failed"
            report.longrepr = f"{item.nodeid} was skipped although ../shared/data is here: {reason}"
    return report
