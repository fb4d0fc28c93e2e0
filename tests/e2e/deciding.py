"""A Satchel that makes calls which a person has to agree to, until it is killed.

    python -m tests.e2e.deciding PROJECT NAME [COUNT]

Each call has a number that begins with NAME and is used once: one is made directly, the next by a program
that is resumed, and so on. All are decided on at once. Says `ready` once open. With COUNT, it kills itself
right after so many commits; otherwise somebody else does at any moment.
"""

import itertools
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio

from satchel import Satchel, open_satchel
from satchel.errors import UndecidedError
from satchel.store.store import Store

PROGRAM = 'await call_mcp_tool("noting.note", {{"number": "{number}"}})'


async def directly(satchel: Satchel, number: str) -> None:
    while True:
        try:
            await satchel.call("noting.note", {"number": number})
            return
        except UndecidedError as error:
            approval = await satchel.approvals.find(error.approval)
            await satchel.approvals.allow(approval, by="loop")


async def by_program(satchel: Satchel, number: str) -> None:
    execution = await satchel.execute(PROGRAM.format(number=number))
    while execution.ended == "approval":
        approval = await satchel.approvals.find(execution.waiting[0]["approval"])
        await satchel.approvals.allow(approval, by="loop")
        execution = await satchel.execute(resume=execution.id)


def die_after(count: int) -> None:
    """Kill this process between the commit of that number and the next one."""
    commits = itertools.count(1)

    def counted(commit: Callable[..., Any]) -> Callable[..., Any]:
        def commit_and_count(*arguments: Any, **named: Any) -> Any:
            done = commit(*arguments, **named)
            if done is not None and next(commits) == count:
                os.kill(os.getpid(), signal.SIGKILL)
            return done

        return commit_and_count

    for name in ("commit", "try_commit"):
        setattr(Store, name, counted(getattr(Store, name)))


async def main(project: Path, name: str, count: int) -> None:
    async with open_satchel(project) as satchel:
        await satchel.servers.refresh()
        os.write(1, b"ready\n")
        if count:
            die_after(count)
        for number in itertools.count():
            await (by_program if number % 2 else directly)(satchel, f"{name}-{number}")


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 0)
