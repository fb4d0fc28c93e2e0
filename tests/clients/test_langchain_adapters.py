"""LangChain's adapters, which make tools of a server LangChain's own."""

from pathlib import Path

import pytest

from tests.clients.serving import DRIVERS, TRANSPORTS, check, drive, python_of, told

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@TRANSPORTS
async def test_it_finds_and_runs_tools_cancels_and_is_told_of_errors(transport: str, tmp_path: Path) -> None:
    python = python_of("legacy")
    async with told(tmp_path, transport) as story:
        report = await drive([python, str(DRIVERS / "langchain_adapters.py")], story)
    check(report, without=("unknown",))  # it knows only the tools that were listed
