"""OAuth against a real authorization server on loopback: log in, stay logged in, refresh once."""

import json
import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from satchel.config import Target
from satchel.config.entries import resolve
from satchel.errors import NeedsAuthorizationError, ServerError
from satchel.upstream.auth import Authorization, open_login, stored_authorization
from satchel.upstream.credentials import Credentials
from satchel.upstream.pool import Pool, open_pool
from tests.servers import oauth_server
from tests.upstream.helpers import QUICK, call, entry, lines

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


class Person:
    """Opens the address and follows it, as a browser would."""

    def __init__(self, tasks: anyio.abc.TaskGroup) -> None:
        self.tasks = tasks
        self.visited: list[str] = []

    def open(self, url: str) -> None:
        self.visited.append(url)
        self.tasks.start_soon(self._follow, url)

    async def _follow(self, url: str) -> None:
        async with httpx2.AsyncClient(follow_redirects=True) as browser:
            await browser.get(url)


async def log_in(url: str, directory: Path, **oauth: Any) -> None:
    written: dict[str, Any] = {"url": url}
    if oauth:
        written["oauth"] = oauth
    server = entry("remote", written, directory)
    target = resolve(server)
    credentials = Credentials(directory / "credentials", target.url)
    async with anyio.create_task_group() as tasks:
        person = Person(tasks)
        async with await open_login(target, credentials, person.open, browser=False) as login:

            def authorize(target: Target) -> httpx2.Auth:
                return Authorization(target, credentials, login)

            async with open_pool(QUICK, authorize=authorize) as pool:
                assert (await pool.list_server(server)).tools
            assert len(person.visited) == 1


def stored(directory: Path) -> Callable[[Target], httpx2.Auth | None]:
    return stored_authorization(directory / "credentials")


def the_file(directory: Path) -> Path:
    (file,) = (directory / "credentials").glob("*.json")
    return file


async def use(pool: Pool, url: str, directory: Path) -> str:
    result = await pool.send(entry("remote", {"url": url}, directory), call("remote", "echo", {"text": "in"}))
    return result.text


async def test_a_login_leaves_tokens_that_later_connections_use(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with oauth_server(log=log) as url:
        async with open_pool(QUICK, authorize=stored(tmp_path)) as pool:
            with pytest.raises(NeedsAuthorizationError):
                await use(pool, url, tmp_path)
        await log_in(url, tmp_path)
        async with open_pool(QUICK, authorize=stored(tmp_path)) as pool:
            assert await use(pool, url, tmp_path) == "in"
    assert lines(log).count("authorize") == 1
    assert lines(log).count("register") == 1


async def test_a_token_of_a_login_is_told_by_no_tool(tmp_path: Path) -> None:
    async with oauth_server() as url:
        await log_in(url, tmp_path)
        first = tokens_in(the_file(tmp_path))
        expire(the_file(tmp_path))
        server = entry("remote", {"url": url}, tmp_path)
        async with open_pool(QUICK, authorize=stored(tmp_path)) as pool:
            received = await pool.send(server, call("remote", "headers"))
            renewed = tokens_in(the_file(tmp_path))
            failed = await pool.send(server, call("remote", "fail", {"message": f"no {first | renewed}"}))
    assert len(first | renewed) > 2
    assert "***" in received.text
    assert "***" in failed.text
    assert not [token for token in first | renewed if token in f"{received} {failed}"]


def tokens_in(file: Path) -> set[str]:
    tokens = json.loads(file.read_text())["tokens"]
    return {tokens["access_token"], tokens["refresh_token"]}


async def test_tokens_are_in_a_file_that_only_its_owner_can_read(tmp_path: Path) -> None:
    async with oauth_server() as url:
        await log_in(url, tmp_path)
    file = the_file(tmp_path)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


async def test_an_expired_token_is_refreshed_after_a_restart_at_the_right_server(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with oauth_server(log=log, ttl=3600) as url:
        await log_in(url, tmp_path)
        expire(the_file(tmp_path))
        async with open_pool(QUICK, authorize=stored(tmp_path)) as pool:
            assert await use(pool, url, tmp_path) == "in"
    assert lines(log).count("token refresh_token") == 1
    assert lines(log).count("authorize") == 1


async def test_a_token_that_the_server_no_longer_takes_is_refreshed(tmp_path: Path) -> None:
    """It looks valid here, but the server does not know it."""
    log = tmp_path / "log"
    async with oauth_server(log=log) as url:
        await log_in(url, tmp_path)
        file = the_file(tmp_path)
        stored_there = json.loads(file.read_text())
        stored_there["tokens"]["access_token"] = "forgotten"
        file.write_text(json.dumps(stored_there))
        async with open_pool(QUICK, authorize=stored(tmp_path)) as pool:
            assert await use(pool, url, tmp_path) == "in"
    assert "token refresh_token" in lines(log)


async def test_two_processes_refresh_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with oauth_server(log=log) as url:
        await log_in(url, tmp_path)
        expire(the_file(tmp_path))
        processes = [
            subprocess.Popen(
                [sys.executable, "-c", USER, url, str(tmp_path)],
                stdout=subprocess.PIPE,
                text=True,
                env=os.environ,
            )
            for _ in range(4)
        ]
        answers = [await anyio.to_thread.run_sync(process.communicate) for process in processes]
    assert [answer[0] for answer in answers] == ["in\n"] * 4
    assert lines(log).count("token refresh_token") == 1
    assert "reuse" not in lines(log)


USER = """
import sys, anyio
from pathlib import Path
from tests.upstream.test_auth import stored, use
from tests.upstream.helpers import QUICK
from satchel.upstream.pool import open_pool

async def main():
    directory = Path(sys.argv[2])
    async with open_pool(QUICK, authorize=stored(directory)) as pool:
        print(await use(pool, sys.argv[1], directory))

anyio.run(main)
"""


async def test_without_a_refresh_token_a_new_login_is_asked_for(tmp_path: Path) -> None:
    async with oauth_server(refresh=0) as url:
        await log_in(url, tmp_path)
        expire(the_file(tmp_path))
        async with open_pool(QUICK, authorize=stored(tmp_path)) as pool:
            with pytest.raises(NeedsAuthorizationError) as caught:
                await use(pool, url, tmp_path)
    assert "satchel auth remote" in (caught.value.hint or "")


async def test_a_second_login_reuses_the_registration_even_where_ports_are_compared(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with oauth_server(log=log, exact=1) as url:
        await log_in(url, tmp_path)
        file = the_file(tmp_path)
        kept = {key: value for key, value in json.loads(file.read_text()).items() if key == "client"}
        file.write_text(json.dumps(kept))
        await log_in(url, tmp_path)
    assert lines(log).count("register") == 1
    assert lines(log).count("authorize") == 2


async def test_a_preregistered_client_is_used_as_the_entry_says(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with oauth_server(log=log, client_id="satchel-test") as url:
        await log_in(url, tmp_path, clientId="satchel-test")
    assert "register" not in lines(log)


@pytest.mark.parametrize("fault", [{"deny": 1}, {"state": "forged"}, {"iss": "https://evil.example"}])
async def test_a_refused_or_forged_login_fails_and_stores_no_token(
    tmp_path: Path, fault: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("satchel.upstream.auth.LOGIN_TIMEOUT", 2.0)
    async with oauth_server(**fault) as url:
        with pytest.raises((ServerError, BaseExceptionGroup)):
            await log_in(url, tmp_path)
    files = list((tmp_path / "credentials").glob("*.json"))
    assert not any("tokens" in json.loads(file.read_text()) for file in files)


async def test_calls_with_a_token_do_not_wait_for_each_other(tmp_path: Path) -> None:
    async with oauth_server() as url:
        await log_in(url, tmp_path)
        async with open_pool(QUICK, authorize=stored(tmp_path)) as pool:
            await use(pool, url, tmp_path)
            server = entry("remote", {"url": url}, tmp_path)
            with anyio.fail_after(55):  # one after the other takes 60 s
                async with anyio.create_task_group() as tasks:
                    for _ in range(20):
                        tasks.start_soon(pool.send, server, call("remote", "sleep", {"seconds": 3}))


def expire(file: Path) -> None:
    file.write_text(json.dumps(json.loads(file.read_text()) | {"expires_at": time.time() - 5}))
