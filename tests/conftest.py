"""What all tests share: one event loop back end, a home of their own, and an honest account of skips."""

import os
import re
from collections.abc import Generator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from tempfile import mkdtemp
from traceback import format_exception
from typing import cast

import pytest

# A few hundred processes are started, and each would compile all of Satchel anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

pytest_plugins = ["tests.unsteady"]

_DIRECTORIES = ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared" / "data"
_SHARED_IS_HERE = SHARED.is_dir()  # asked once: data that appears during a run would make skipped tests fail


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


def _is_left_out(file: Path, config: pytest.Config) -> bool:
    return config.option.markexpr == FAST and _LEFT_OUT.search(file.read_text()) is not None


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """The fast suite does not import files that have nothing for it: that takes seconds in each worker."""
    return (collection_path.suffix == ".py" and _is_left_out(collection_path, config)) or None


def pytest_collection(session: pytest.Session) -> None:
    """Each worker first imports files that no other one begins with.

    On a fresh clone, rewriting the assertions of all files would take each worker longer than collecting the
    tests. What one worker has rewritten, the others find.
    """
    given = [ROOT / path for path in session.config.args]
    worker: dict[str, str | int] | None = getattr(session.config, "workerinput", None)
    if worker is None or given != [ROOT / "tests"]:
        return
    number, count = int(str(worker["workerid"]).removeprefix("gw")), int(worker["workercount"])
    for file in sorted((ROOT / "tests").rglob("test_*.py"))[number::count]:
        if not _is_left_out(file, session.config):
            with suppress(Exception):  # it is collected later, and told then
                import_module(".".join(file.relative_to(ROOT).with_suffix("").parts))


_LONGEST = (
    "tests/test_docs.py",
    "tests/sandbox/backends/bubblewrap/test_ready.py",
    "tests/codegen/test_injection.py",
    "tests/server/test_asking.py",
    "tests/sandbox/checking/test_findings.py",
    "tests/server/test_conversations.py",
    "tests/server/test_modes.py",
    "tests/test_costs.py",
    "tests/codegen/test_tree.py",
    "tests/library/install/test_scan.py",
    "tests/library/install/test_install.py",
    "tests/server/test_floods.py",
    "tests/test_suite.py",
    "tests/server/test_memory.py",
)


def _turn(item: pytest.Item) -> tuple[object, ...]:
    file = item.nodeid.partition("::")[0]
    is_slow = item.get_closest_marker("slow") or item.get_closest_marker("e2e")
    return file not in _LONGEST, not item.get_closest_marker("e2e"), not is_slow


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long comes first, or one worker would still have it to do when the others are done."""
    items.sort(key=_turn)


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
        if "shared/data" in reason and _SHARED_IS_HERE:
            report.outcome = "failed"
            report.longrepr = f"{item.nodeid} was skipped although ../shared/data is here: {reason}"
    return report
