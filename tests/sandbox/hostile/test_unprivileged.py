"""The same with Satchel as an ordinary user, where nothing is staged and no control group can be made."""

import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.scale import FULL, scaled

_USER = 62015
_ROOT = Path(__file__).resolve().parents[3]
_HERE = Path(__file__).parent
_SAMPLE = (
    "test_host_is_out_of_reach or test_workspace or forks or fills or takes or daemon or kills or look_at"
    " or descriptor"
)
_EVERY = "watch or test_typescript" if os.environ.get(FULL) else f"pool-watch and ({_SAMPLE})"
_CHOSEN = f"({_EVERY}) or test_between_agents"
_LONGEST = scaled(550, 3_000)  # seconds


def _interpreter() -> Path | None:
    """One of this version that another user can run, with the packages that the tests need."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    for path in (sys.executable, f"/usr/bin/python{version}", f"/usr/local/bin/python{version}"):
        with suppress(PermissionError):
            if os.path.exists(path) and _as_user([path, "-c", "import pytest, anyio"]).returncode == 0:
                return Path(path)
    return None


def _as_user(command: list[str], directory: str = "/") -> subprocess.CompletedProcess[str]:
    packages = [path for path in sys.path if path.endswith("site-packages")]
    environment = {
        "PATH": os.pathsep.join([os.path.dirname(sys.executable), os.defpath]),  # Deno is beside Python
        "HOME": directory,
        "TMPDIR": directory,
        "PYTHONPATH": os.pathsep.join([str(_ROOT), str(_ROOT / "src"), *packages]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "SATCHEL_TEST_EVERY_WAY": "1",
    }
    return subprocess.run(
        command,
        cwd=_ROOT,
        env=environment,
        user=_USER,
        group=_USER,
        extra_groups=[],
        capture_output=True,
        text=True,
        timeout=_LONGEST,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.timeout(_LONGEST + 50)  # it is many tests
@pytest.mark.skipif(os.geteuid() != 0, reason="the other tests run as an ordinary user already")
def test_programs_are_kept_in_as_well_when_satchel_is_an_ordinary_user() -> None:
    interpreter = _interpreter()
    if interpreter is None:
        pytest.skip("no interpreter that another user can reach")
    directory = f"/tmp/satchel-hostile-{os.getpid()}"  # pytest's own is closed to others
    os.mkdir(directory, 0o700)
    try:
        os.chown(directory, _USER, _USER)
        others = ["-n", "2", "-q", "-p", "no:cacheprovider", f"--basetemp={directory}/tests"]
        chosen = ["-k", _CHOSEN, str(_HERE)]
        done = _as_user([str(interpreter), "-m", "pytest", *others, *chosen], directory)
    finally:
        subprocess.run(["rm", "-rf", "--", directory], check=True)
    assert done.returncode == 0, done.stdout[-5_000:] + done.stderr[-2_000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed and int(passed[1]) > 50, done.stdout[-5_000:]
