"""Satchel from Python: what there is, two calls at once, and a call that fails.

    python examples/call_tool.py [DIRECTORY]

DIRECTORY has the configuration; default: the one that this file is in.
"""

import sys
from pathlib import Path

import anyio

from satchel import Satchel, open_satchel
from satchel.errors import ArgumentError, ToolError


async def main(directory: Path) -> None:
    async with open_satchel(directory) as satchel:
        await satchel.servers.refresh()  # not needed for calls: they list a server that nothing is known of
        for server in satchel.catalog.servers:
            print(f"{server.name}: {len(server.tools)} tools")

        tool = satchel.servers.describe_tool("slack.post_message")
        print(f"{tool.qualified_name} takes {', '.join(tool.input_schema['properties'])}")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(show_newest_report, satchel)
            tasks.start_soon(show_deal, satchel)
        await show_failures(satchel)


async def show_newest_report(satchel: Satchel) -> None:
    folder = "Finance/Quarterly Reports"
    result = await satchel.call("google-drive.list_documents", {"folder": folder, "query": "Quarterly"})
    newest = max(result.structured["documents"], key=lambda document: document["modified_at"])
    print(f"newest report: {newest['title']}, {newest['id']}")


async def show_deal(satchel: Satchel) -> None:
    arguments = {"object_type": "Opportunity", "record_id": "OPP-001"}
    result = await satchel.call("salesforce.get_record", arguments, timeout=10)
    print(f"deal: {result.structured['fields']['name']}")


async def show_failures(satchel: Satchel) -> None:
    try:
        await satchel.call("slack.post_message", {"chanel": "sales"})
    except ArgumentError as error:  # nothing was sent
        print(f"{error.message}; {error.hint}")
    try:
        await satchel.call("google-drive.get_document", {"document_id": "doc-999"})
    except ToolError as error:
        print(f"{error.server}.{error.tool} failed, kind {error.kind}")


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
