"""Satchel's verbs in a program of yours: find tools, run programs over them, and offer them to a model.

    python examples/verbs.py [DIRECTORY]

DIRECTORY has the configuration; default: the one that this file is in.
"""

import sys
from pathlib import Path

import anyio

from satchel import Satchel, open_satchel
from satchel.model import CallEnded, Event
from satchel.toolset import Toolset

COUNT = """
from servers.google_drive import get_document
report = await get_document(document_id="doc-006")
findings = [line for line in report.content.splitlines() if line.startswith("Finding:")]
print(len(findings), "findings")
"""
POST = """
from servers.slack import post_message
await post_message(channel="sales", text=findings[0])
"""


async def main(directory: Path) -> None:
    async with open_satchel(directory) as satchel:
        await satchel.servers.refresh()  # so that the first search knows all servers
        await find(satchel)
        await run(satchel)
        await offer(satchel)


async def find(satchel: Satchel) -> None:
    answer = satchel.search_tools("post a message to a channel", limit=1)
    (best,) = answer["tools"]
    print(f"found: {best['server']}.{best['short_name']}")


async def run(satchel: Satchel) -> None:
    def show(event: Event) -> None:
        if isinstance(event, CallEnded):
            print(f"call {event.count}: {event.use.tool} {event.use.status}")

    first = await satchel.execute(COUNT, session="new", read_only=True, tell=show)
    print(f"printed: {first.stdout.strip()}")

    # The session still has `findings`; a program that may only read can't post them.
    second = await satchel.execute(POST, session=first.session, read_only=True)
    print(f"exit code {second.exit_code}: {second.stderr.splitlines()[-1]}")
    (use,) = second.tools_called
    print(f"{use.tool} was {use.status}")


async def offer(satchel: Satchel) -> None:
    toolset = Toolset(satchel)
    print(f"a model sees: {', '.join(tool['name'] for tool in toolset.definitions())}")
    result = await toolset.call("execute_code", {"code": "print(6 * 7)"})
    print(f"and is told: {result.text}")
    result = await toolset.call("post_message", {"channel": "sales"})
    print(f"or: {result.text.splitlines()[0]}")


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
