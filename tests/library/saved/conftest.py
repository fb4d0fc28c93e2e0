from pathlib import Path

import pytest

from satchel.config import Paths
from tests.library.saved.saved_files import paths_of


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    """Those of a project that has nothing in it."""
    return paths_of(tmp_path / "project")
