"""The table of backends: what each says of itself, and what it takes to ask."""

import subprocess
import sys
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from satchel.config.settings import SandboxSettings
from satchel.sandbox.backends import BACKENDS
from satchel.sandbox.sandbox import Grants

pytestmark = pytest.mark.anyio
LOADED = "import sys, {}; print([name for name in sys.modules if {!r} in name])"


def test_the_settings_accept_exactly_the_backends_that_there_are() -> None:
    assert set(get_args(get_type_hints(SandboxSettings)["backend"])) == set(BACKENDS)


@pytest.mark.parametrize("name", BACKENDS)
async def test_a_sandbox_says_of_itself_what_its_backend_says_of_it(name: str, tmp_path: Path) -> None:
    backend = BACKENDS[name]
    sandbox = backend.open(SandboxSettings(), Grants(), tmp_path, None)
    try:
        assert sandbox.about == backend.about
        assert sandbox.about.isolated is (sandbox.about.warning is None)
    finally:
        await sandbox.aclose()


@pytest.mark.slow
def test_what_a_backend_is_can_be_asked_without_importing_it() -> None:
    assert printed(LOADED.format("satchel.sandbox.backends", "backends.")) == "[]\n"


@pytest.mark.slow
def test_programs_without_a_box_need_nothing_of_bubblewrap() -> None:
    assert printed(LOADED.format("satchel.sandbox.backends.process", "bubblewrap")) == "[]\n"


def printed(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    ).stdout
