"""The boxes in which hostile programs run, one for each way of keeping limits, and a host worth attacking."""

import secrets
from collections.abc import Generator
from pathlib import Path

import anyio
import pytest

from satchel.errors import SandboxError
from satchel.sandbox.programs import find_bwrap
from satchel.sandbox.running import cgroups
from tests.sandbox.hostile.ground import Box
from tests.sandbox.hostile.host import Host, open_host
from tests.sandbox.hostile.ways import WAYS, is_sampled


def _has_bwrap() -> bool:
    try:
        return bool(find_bwrap())
    except SandboxError:
        return False


_HERE = Path(__file__).parent
_HAS_CGROUPS = cgroups.find_parents() is not None


@pytest.hookimpl(tryfirst=True)  # before the marks are looked at
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every attack stays in some of the ways; the others are for `make long`."""
    for item in items:
        if item.path.is_relative_to(_HERE) and not is_sampled(item):
            item.add_marker(pytest.mark.long)


@pytest.fixture(
    scope="session",
    params=[pytest.param(way, marks=pytest.mark.slow, id="-".join(way)) for way in WAYS],
)
def shared_box(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[Box]:
    way, kept_by = request.param
    use_cgroups = kept_by == "cgroups"
    if not _has_bwrap():
        pytest.skip("bubblewrap is not here")
    if use_cgroups and not _HAS_CGROUPS:
        pytest.skip("no control groups can be made here")
    box = Box(tmp_path_factory.mktemp("agents"), secrets.token_hex(8), use_cgroups=use_cgroups, way=way)
    anyio.run(box.run_only, "pass")  # what stays for all programs is there from now on
    yield box
    anyio.run(box.close)


@pytest.fixture
def box(shared_box: Box) -> Generator[Box]:
    """With an empty workspace."""
    yield shared_box
    shared_box.clear()


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A directory to run programs in that are not in a box."""
    directory = tmp_path / "outside"
    directory.mkdir()
    return directory


@pytest.fixture
def host(tmp_path: Path) -> Generator[Host]:
    directory = tmp_path / "host"
    directory.mkdir()
    with open_host(directory) as host:
        yield host
