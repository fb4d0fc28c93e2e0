"""The TypeScript SDK: 1.x in the handshake era, 2.x in that of 2026-07-28."""

from pathlib import Path

import pytest

from tests.clients.serving import DRIVERS, NODE_MODULES, TRANSPORTS, check, drive, node, told

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@TRANSPORTS
@pytest.mark.parametrize(("major", "version"), [("1", "2025-11-25"), ("2", "2026-07-28")])
async def test_it_finds_and_runs_tools_cancels_and_is_told_of_errors(
    transport: str, major: str, version: str, tmp_path: Path
) -> None:
    command = [node(), str(DRIVERS / "typescript_sdk.mjs"), str(NODE_MODULES), major]
    async with told(tmp_path, transport) as story:
        report = await drive(command, story)
    check(report)
    assert report.get("version", version) == version
