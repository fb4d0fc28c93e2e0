"""A client that runs a program without end, to be killed while it waits.

python -m tests.server.endless_client legacy|auto stdio DIRECTORY PROGRAM
python -m tests.server.endless_client legacy|auto http URL PROGRAM      the token is read from stdin
"""

import os
import sys
from pathlib import Path
from typing import cast

import anyio

from tests.projects import Project
from tests.server.helpers import Era, connected, connected_over_stdio, execute


async def main(era: Era, transport: str, place: str, program: str) -> None:
    opened = (
        connected(place, sys.stdin.readline().strip(), era, read_timeout=100)
        if transport == "http"
        else connected_over_stdio(Project(Path(place)), os.environ, era, anew=True)
    )
    async with opened as client:
        await execute(client, program, timeout=100)


if __name__ == "__main__":
    _, era, transport, place, program = sys.argv
    anyio.run(main, cast("Era", era), transport, place, program)
