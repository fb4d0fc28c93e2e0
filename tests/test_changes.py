"""A configuration that changes while its servers are listed and called."""

import asyncio
from pathlib import Path

import anyio
import pytest

from satchel import Satchel, open_satchel
from satchel.errors import NeedsSetupError, NotFoundError, ServerFailedError
from satchel.model import Event, ServerFailed, ServerListed
from tests.projects import Project
from tests.servers import raw
from tests.upstream.helpers import lines, until

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SOON = 60  # seconds; a server that hangs is given up after 300
PATIENT = {"startup_timeout": 300}


async def until_listed(satchel: Satchel, name: str) -> None:
    """As a client that looks from time to time sees it."""
    with anyio.fail_after(SOON):
        while satchel.catalog.server(name).state != "listed":
            await satchel.servers.list_new(0)
            await anyio.sleep(0.05)


async def test_an_entry_that_is_corrected_while_it_hangs_is_listed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    project = Project(tmp_path, {"mine": raw("hang", log=log) | PATIENT})
    async with open_satchel(project.directory) as satchel:
        assert await satchel.servers.list_new(0) == ["mine"]
        await until(lambda: "start" in lines(log))

        project.write({"mine": raw("good")})
        await until_listed(satchel, "mine")
        assert satchel.catalog.server("mine").error is None
        assert satchel.servers.describe_tool("mine.echo")


async def test_what_an_entry_of_before_lists_is_not_taken_for_what_the_new_one_has(tmp_path: Path) -> None:
    log = tmp_path / "log"
    project = Project(tmp_path, {"mine": raw("endless_pages", log=log) | PATIENT})
    async with open_satchel(project.directory) as satchel:
        await satchel.servers.list_new(0)
        await until(lambda: "tools/list" in lines(log))

        project.write({"mine": raw("good")})
        await until_listed(satchel, "mine")
        assert "echo" in [tool.name for tool in satchel.catalog.server("mine").tools]


async def test_a_server_that_is_removed_while_it_is_listed_stops_no_other(tmp_path: Path) -> None:
    log = tmp_path / "log"
    slow = raw("slow_start", seconds=3)
    project = Project(tmp_path, {"gone": raw("hang", log=log) | PATIENT, "stays": slow})
    told: list[Event] = []
    async with open_satchel(project.directory) as satchel:
        listing = asyncio.create_task(satchel.servers.refresh(tell=told.append))
        await until(lambda: "start" in lines(log))

        project.write({"stays": slow})
        with pytest.raises(NotFoundError):
            satchel.servers.known().server("gone")
        with anyio.fail_after(SOON):
            assert [server.name for server in await listing] == ["stays"]
    (failed,) = [event for event in told if isinstance(event, ServerFailed)]
    assert failed.server == "gone" and isinstance(failed.error, ServerFailedError)
    (listed,) = [event for event in told if isinstance(event, ServerListed)]
    assert (listed.server.name, listed.server.state) == ("stays", "listed")


@pytest.mark.parametrize("change", ["disabled", "removed", "edited"])
async def test_a_call_that_waits_for_a_server_whose_entry_changes_starts_it_no_second_time(
    tmp_path: Path, change: str
) -> None:
    log = tmp_path / "log"
    entry = raw("slow_start", seconds=4, log=log)
    project = Project(tmp_path, {"mine": raw("good")})
    async with open_satchel(project.directory) as satchel:
        await satchel.servers.refresh()
        project.write({"mine": entry})
        await satchel.servers.refresh()  # the tools of the new entry
    log.unlink()
    changed = {
        "disabled": {"mine": {**entry, "enabled": False}},
        "removed": {},
        "edited": {"mine": raw("good", log=log)},
    }
    async with open_satchel(project.directory) as satchel:
        calling = asyncio.create_task(satchel.call("mine.echo", {"text": "x"}))
        await until(lambda: satchel.list_servers()["servers"][0]["state"] == "running")  # as good as

        project.write(changed[change])
        satchel.list_servers()
        with anyio.fail_after(SOON), pytest.raises((ServerFailedError, NeedsSetupError, NotFoundError)):
            await calling
    assert "tools/call echo" not in "".join(lines(log))
