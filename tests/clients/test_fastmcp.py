"""FastMCP's client, on the Python SDK 2.x."""

from pathlib import Path

import pytest

from tests.clients.serving import DRIVERS, TRANSPORTS, check, drive, python_of, told

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@TRANSPORTS
async def test_it_finds_and_runs_tools_cancels_and_is_told_of_errors(transport: str, tmp_path: Path) -> None:
    python = python_of("modern")
    async with told(tmp_path, transport) as story:
        report = await drive([python, str(DRIVERS / "fastmcp_client.py")], story)
    check(report)
    assert report["version"] == "2026-07-28"
