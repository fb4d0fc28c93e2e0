"""The Python SDK 1.x: a client of the handshake era."""

from pathlib import Path

import pytest

from tests.clients.serving import DRIVERS, TRANSPORTS, check, drive, python_of, told

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@TRANSPORTS
async def test_it_finds_and_runs_tools_cancels_and_is_told_of_errors(transport: str, tmp_path: Path) -> None:
    python = python_of("legacy")
    async with told(tmp_path, transport) as story:
        report = await drive([python, str(DRIVERS / "python_sdk_1.py")], story)
    check(report)
    assert report["version"] == "2025-11-25"
