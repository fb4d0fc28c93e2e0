"""The event loop where the kernel watches nothing more for the user."""

import asyncio
import os
import selectors
import socket
from errno import EPERM
from typing import Any

import anyio
import pytest

from satchel.support.event_loop import Steady, new_event_loop

LONG = 30


class Full(selectors.SelectSelector):
    """One that is refused more than two descriptors, as epoll is once all watches are taken."""

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        if len(self.get_map()) >= 2:
            raise OSError(28, "No space left on device")
        return super().register(fileobj, events, data)


def test_an_event_loop_goes_on_where_nothing_more_is_watched() -> None:
    async def talk() -> list[bytes]:
        loop = asyncio.get_running_loop()
        pairs = [socket.socketpair() for _ in range(5)]
        for one, other in pairs:
            one.setblocking(False)
            other.setblocking(False)
        waiting = [asyncio.ensure_future(loop.sock_recv(one, 10)) for one, _ in pairs]
        await asyncio.sleep(0)
        for number, (_, other) in enumerate(pairs):
            other.send(str(number).encode())
        heard = await asyncio.wait_for(asyncio.gather(*waiting), LONG)
        process = await asyncio.create_subprocess_exec("true")
        assert await asyncio.wait_for(process.wait(), LONG) == 0
        for pair in pairs:
            for end in pair:
                end.close()
        return heard

    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(Steady(Full))) as runner:
        assert runner.run(talk()) == [b"0", b"1", b"2", b"3", b"4"]


def test_what_was_watched_before_is_watched_on() -> None:
    selector = Steady(Full)
    pipes = [os.pipe() for _ in range(3)]
    for number, (reading, _) in enumerate(pipes):
        selector.register(reading, selectors.EVENT_READ, number)
    assert sorted(key.data for key in selector.get_map().values()) == [0, 1, 2]
    os.write(pipes[0][1], b"x")
    assert [(key.data, events) for key, events in selector.select(LONG)] == [(0, selectors.EVENT_READ)]
    selector.unregister(pipes[0][0])
    selector.modify(pipes[1][0], selectors.EVENT_READ, "changed")
    assert selector.get_key(pipes[1][0]).data == "changed"
    assert selector.select(0) == []
    selector.close()
    for pipe in pipes:
        for end in pipe:
            os.close(end)


@pytest.mark.skipif(not hasattr(selectors, "EpollSelector"), reason="only epoll refuses plain files")
def test_other_refusals_stay_what_they_are() -> None:
    selector = Steady()
    with open(__file__) as file, pytest.raises(OSError) as refused:
        selector.register(file, selectors.EVENT_READ)
    assert refused.value.errno == EPERM
    selector.close()


def test_commands_run_on_such_a_loop() -> None:
    from satchel.cli.running import run_async

    async def look() -> Any:
        return vars(asyncio.get_running_loop())["_selector"]

    assert isinstance(run_async(look), Steady)
    loop = new_event_loop()
    loop.close()
    assert anyio.run(look) is not None
