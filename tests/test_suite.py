"""The suite's own promises: a skip has a reason, and data that is there is used."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import SHARED

ROOT = Path(__file__).resolve().parents[1]


def run_pytest(directory: Path, reason: str) -> str:
    (directory / "test_one.py").write_text(f"import pytest\ndef test_one():\n    pytest.skip({reason!r})\n")
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider", "-ra"]
    done = subprocess.run(
        [*command, f"--rootdir={directory}", "-c", "/dev/null", str(directory)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.stdout


@pytest.mark.slow
def test_skips_are_counted_and_their_reasons_printed(tmp_path: Path) -> None:
    output = run_pytest(tmp_path, "npm is not here")
    assert "1 skipped" in output
    assert "npm is not here" in output


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.is_dir(), reason="../shared/data is not here")
def test_a_test_of_the_shared_data_that_skips_although_it_is_here_fails(tmp_path: Path) -> None:
    assert "1 failed" in run_pytest(tmp_path, "../shared/data/realtools is not here")
