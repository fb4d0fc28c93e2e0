"""The bridge for scripts outside of the sandbox: who is let in, and who is not."""

import asyncio
import os
import socket
import stat
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from satchel.errors import NotAllowedError, SandboxError
from satchel.model import Json
from satchel.sandbox.bridge import local
from satchel.sandbox.bridge.frames import encode
from satchel.sandbox.bridge.local import open_bridge
from satchel.sandbox.limits import Limits
from satchel_runtime import NotConnectedError
from satchel_runtime.channel import Channel
from satchel_runtime.local import connect_to_bridge
from tests.upstream.helpers import until

pytestmark = pytest.mark.anyio

WAIT = 60  # seconds; only a hang reaches it


async def answer(method: str, params: Json) -> Any:
    if method == "refused":
        raise NotAllowedError("default", "drive.get")
    if method == "wait":
        await anyio.sleep_forever()
    return [method, params]


@asynccontextmanager
async def opened(
    directory: Path, limits: Limits | None = None
) -> AsyncGenerator[tuple[str, Path, list[str]]]:
    """(the address, the socket, what was reported) of a bridge."""
    reports: list[str] = []
    path = directory / "socket"
    async with open_bridge(path, answer, limits or Limits(), reports.append) as address:
        yield address, path, reports


async def connect(address: str) -> Channel:
    return await in_thread(connect_to_bridge, address)


async def in_thread(function: Any, *arguments: Any) -> Any:
    """What a script does, which may block, as it runs elsewhere."""
    with anyio.fail_after(WAIT):
        return await anyio.to_thread.run_sync(function, *arguments, abandon_on_cancel=True)


async def said(path: Path, *data: bytes) -> bytes:
    """Everything that comes back until the connection is closed."""
    reader, writer = await asyncio.open_unix_connection(path)
    try:
        for part in data:
            writer.write(part)
        with anyio.fail_after(WAIT):
            return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


def hello(token: Any) -> bytes:
    return encode({"method": "hello", "params": {"token": token}})


async def test_a_script_with_the_token_is_served(tmp_path: Path) -> None:
    async with opened(tmp_path) as (address, path, reports):
        assert address.endswith(f"@{path}")
        channel = await connect(address)
        assert await in_thread(channel.request_blocking, "list_servers", {"a": 1}) == [
            "list_servers",
            {"a": 1},
        ]
        assert await channel.request("list_servers", {}) == ["list_servers", {}]
        with pytest.raises(PermissionError, match=r"may not call 'drive\.get'"):
            await channel.request("refused", {})
        assert reports == []
        os.close(channel._descriptor)


async def test_scripts_do_not_get_each_others_answers(tmp_path: Path) -> None:
    async with opened(tmp_path) as (address, _, _):
        channels = [await connect(address) for _ in range(3)]
        for number, channel in enumerate(channels):
            assert await channel.request("x", {"n": number}) == ["x", {"n": number}]
            os.close(channel._descriptor)


async def test_every_bridge_has_a_token_of_its_own_that_can_not_be_guessed(tmp_path: Path) -> None:
    tokens: set[str] = set()
    for _ in range(3):
        async with opened(tmp_path) as (address, _, _):
            tokens.add(address.partition("@")[0])
    assert len(tokens) == 3
    assert {len(token) for token in tokens} == {32}


@pytest.mark.parametrize("token", ["", "wrong", None, 5, ["x"], "ü"])
async def test_a_wrong_token_is_turned_away_without_a_word(tmp_path: Path, token: Any) -> None:
    async with opened(tmp_path) as (_, path, reports):
        assert await said(path, hello(token), encode({"id": 1, "method": "x", "params": {}})) == b""
        assert reports == ["a script was turned away: its token is not the one of this bridge"]


async def test_the_script_is_told_that_its_token_is_wrong(tmp_path: Path) -> None:
    async with opened(tmp_path) as (_, path, _):
        with pytest.raises(NotConnectedError, match="did not accept the token in SATCHEL_BRIDGE"):
            await connect(f"wrong@{path}")


@pytest.mark.parametrize(
    "data",
    [b"GET / HTTP/1.1\r\n\r\n", encode({"id": 1, "method": "x", "params": {}}), encode({}), b"\0\0\0\2[]"],
)
async def test_whoever_does_not_say_hello_is_turned_away(tmp_path: Path, data: bytes) -> None:
    async with opened(tmp_path) as (_, path, reports):
        assert await said(path, data) == b""
        assert len(reports) == 1


async def test_nothing_that_comes_along_with_the_token_is_served(tmp_path: Path) -> None:
    async with opened(tmp_path) as (address, path, reports):
        token = address.partition("@")[0]
        assert await said(path, hello(token) + encode({"id": 1, "method": "x", "params": {}})) == b""
        assert len(reports) == 1


@pytest.mark.slow
async def test_whoever_says_nothing_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_HELLO", 1.0)
    async with opened(tmp_path) as (address, path, _):
        channel = await connect(address)  # it came before the others, and stays when their time is over
        assert await said(path) == b""
        assert await said(path, hello(address.partition("@")[0])[:-1]) == b""
        assert await channel.request("x", {}) == ["x", {}]
        os.close(channel._descriptor)


async def test_only_the_owner_can_open_the_socket_and_it_goes_with_the_bridge(tmp_path: Path) -> None:
    before = os.umask(0o022)
    os.umask(before)
    async with opened(tmp_path) as (_, path, _):
        status = path.stat()
        assert stat.S_ISSOCK(status.st_mode)
        assert stat.S_IMODE(status.st_mode) == 0o700
    assert not path.exists()
    after = os.umask(before)
    assert after == before


async def test_a_bridge_that_ends_leaves_the_socket_of_another_that_took_its_place(tmp_path: Path) -> None:
    async with AsyncExitStack() as first, AsyncExitStack() as second:
        await first.enter_async_context(opened(tmp_path))
        address, path, _ = await second.enter_async_context(opened(tmp_path))
        await first.aclose()
        channel = await connect(address)
        assert await channel.request("x", {}) == ["x", {}]
        os.close(channel._descriptor)
    assert not path.exists()


async def test_a_path_that_is_too_long_or_taken_is_refused_with_a_hint(tmp_path: Path) -> None:
    long = tmp_path / ("x" * 120)
    with pytest.raises(SandboxError, match="is too long for a socket") as caught:
        async with open_bridge(long, answer, Limits(), print):
            pass
    assert "--socket" in (caught.value.hint or "")
    taken = tmp_path / "taken"
    taken.write_text("mine")
    with pytest.raises(SandboxError, match="can't be opened"):
        async with open_bridge(taken, answer, Limits(), print):
            pass
    assert taken.read_text() == "mine"
    with pytest.raises(SandboxError, match="can't be opened"):
        async with open_bridge(tmp_path / "missing/socket", answer, Limits(), print):
            pass


async def test_a_script_that_breaks_the_rules_is_cut_off_and_the_others_are_not(tmp_path: Path) -> None:
    async with opened(tmp_path) as (address, path, reports):
        good = await connect(address)
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(hello(address.partition("@")[0]))
        with anyio.fail_after(WAIT):
            await reader.readexactly(6)
            writer.write(b"\xff\xff\xff\xff")
            with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
                await reader.readexactly(1)
        writer.close()
        assert len(reports) == 1
        assert reports[0].startswith("a script was cut off (protocol): it sent a frame of")
        assert await good.request("x", {}) == ["x", {}]
        os.close(good._descriptor)


async def test_a_script_is_told_when_the_bridge_closes(tmp_path: Path) -> None:
    async with opened(tmp_path) as (address, _, _):
        channel = await connect(address)
        waiting = asyncio.create_task(channel.request("wait", {}))
        await until(lambda: channel._waiters)
    with anyio.fail_after(WAIT), pytest.raises(NotConnectedError, match="closed"):
        await waiting
    os.close(channel._descriptor)


async def test_a_script_without_a_bridge_is_told_how_to_start_one(tmp_path: Path) -> None:
    with pytest.raises(
        NotConnectedError, match=r"no bridge answers at .*/socket: .*; start one with: satchel"
    ):
        await connect(f"token@{tmp_path / 'socket'}")
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(tmp_path / "stale"))
    with pytest.raises(NotConnectedError, match="Connection refused"):
        await connect(f"token@{tmp_path / 'stale'}")
