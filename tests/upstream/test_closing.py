"""Whoever waits while a server is started or a token is exchanged, and what ends meanwhile."""

import asyncio
from pathlib import Path

import anyio
import anyio.lowlevel
import httpx2
import pytest

from satchel.config import ServerEntry, find_paths, resolve
from satchel.config.follow import LiveConfiguration
from satchel.errors import SatchelError, ServerFailedError
from satchel.model import Listing
from satchel.upstream import auth
from satchel.upstream.connections import open_connections
from satchel.upstream.pool import open_pool
from tests.servers import oauth_server, raw
from tests.upstream.helpers import QUICK, call, entry, lines, until
from tests.upstream.test_auth import expire, log_in, stored, the_file, use

pytestmark = pytest.mark.anyio


async def test_who_waits_for_a_start_is_told_that_all_is_closed_and_nothing_starts_again(
    tmp_path: Path,
) -> None:
    log = tmp_path / "log"
    server = entry("hanging", raw("hang", log=log), tmp_path)
    async with open_pool(QUICK) as pool:
        waiting = asyncio.create_task(pool.connect(server))
        await until(lambda: "start" in lines(log))
    with pytest.raises(ServerFailedError, match="Satchel is being closed"):
        await waiting
    assert lines(log).count("start") == 1


async def test_a_server_that_is_forgotten_while_it_starts_is_stopped_and_not_started_again(
    tmp_path: Path,
) -> None:
    log = tmp_path / "log"
    server = entry("hanging", raw("hang", log=log), tmp_path)
    async with open_pool(QUICK) as pool:
        waiting = asyncio.create_task(pool.send(server, call("hanging", "echo", {"text": "x"})))
        await until(lambda: "start" in lines(log))
        pool.forget("hanging")
        with anyio.fail_after(QUICK.startup_timeout / 2), pytest.raises(ServerFailedError) as caught:
            await waiting
        assert "its entry has changed or gone" in caught.value.message
        assert lines(log).count("start") == 1


@pytest.mark.slow
async def test_a_token_that_is_being_exchanged_is_kept_although_the_call_was_given_up(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with oauth_server(log=log, slow=2) as url:
        await log_in(url, tmp_path)
        expire(the_file(tmp_path))
        async with open_pool(QUICK, authorize=stored(tmp_path)) as pool:
            given_up = asyncio.create_task(use(pool, url, tmp_path))
            await until(lambda: "token refresh_token" in lines(log))
            given_up.cancel()
        async with open_pool(QUICK, authorize=stored(tmp_path)) as pool:
            assert await use(pool, url, tmp_path) == "in"
    assert (lines(log).count("token refresh_token"), lines(log).count("reuse")) == (1, 0)


@pytest.mark.slow
async def test_no_token_is_exchanged_for_calls_that_were_given_up_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auth, "_REFRESHING", 2.0)
    log = tmp_path / "log"
    async with oauth_server(log=log, slow=6) as url:
        await log_in(url, tmp_path)
        expire(the_file(tmp_path))
        authorization = stored(tmp_path)(resolve(entry("remote", {"url": url}, tmp_path)))
        async with httpx2.AsyncClient(auth=authorization) as client, anyio.create_task_group() as tasks:
            for _ in range(2):
                tasks.start_soon(client.post, url)
            await until(lambda: "token refresh_token" in lines(log))
            tasks.cancel_scope.cancel()  # neither is told that there was no new token in time
    assert lines(log).count("token refresh_token") == 1


@pytest.mark.slow
async def test_a_token_endpoint_that_has_moved_within_its_origin_is_followed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with oauth_server(log=log, moved=1) as url:
        await log_in(url, tmp_path)
        expire(the_file(tmp_path))
        async with open_pool(QUICK, authorize=stored(tmp_path)) as pool:
            assert await use(pool, url, tmp_path) == "in"
    assert "token refresh_token" in lines(log)


def ignore(entry: ServerEntry, listing: Listing) -> None:
    """Nobody wants to know what it lists."""


async def test_connections_that_are_closed_can_not_be_had_any_more(tmp_path: Path) -> None:
    server = entry("good", raw("good"), tmp_path)
    async with open_connections(
        LiveConfiguration(find_paths(config=tmp_path)), {}, entry_of=lambda name: server, on_listing=ignore
    ) as connections:
        await connections.list_server(server, None)
    with pytest.raises(SatchelError, match="has been closed"):
        await connections.send(call("good", "echo", {"text": "x"}))


async def test_a_caller_that_waits_for_connections_is_told_when_they_are_closed(tmp_path: Path) -> None:
    server = entry("good", raw("good"), tmp_path)

    async def ask() -> None:
        with pytest.raises(SatchelError, match="closed"):
            await connections.list_server(server, None)

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            with pytest.raises(ZeroDivisionError):
                async with open_connections(
                    LiveConfiguration(find_paths(config=tmp_path)),
                    {},
                    entry_of=lambda name: server,
                    on_listing=ignore,
                ) as connections:
                    tasks.start_soon(ask)
                    await anyio.lowlevel.checkpoint()
                    raise ZeroDivisionError
