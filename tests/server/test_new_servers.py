"""What servers offer that nothing is known of yet: it is waited for, and who asked too early is told so."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError
from mcp_types import PromptReference, ResourceTemplateReference

from tests.server.helpers import ERAS, WAIT, Era, connected, serving
from tests.servers import raw

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

UNKNOWN_THERE = "completion/complete"  # as the server itself says, which has been asked


async def read(client: Client) -> Any:
    return await client.read_resource("memo://text")


async def fill_in(client: Client) -> Any:
    return await client.get_prompt("new__greet", {"who": "Ada"})


async def complete_for_resource(client: Client) -> Any:
    return await client.complete(
        ResourceTemplateReference(uri="memo://note/{id}"), {"name": "id", "value": ""}
    )


async def complete_for_prompt(client: Client) -> Any:
    return await client.complete(PromptReference(name="new__greet"), {"name": "who", "value": ""})


@pytest.mark.parametrize("era", ERAS)
async def test_what_a_new_server_offers_is_found(tmp_path: Path, era: Era) -> None:
    answered: list[str] = []

    async def ask(client: Client, request: Callable[[Client], Awaitable[Any]]) -> None:
        while True:
            try:
                await request(client)
                break
            except MCPError as error:
                if UNKNOWN_THERE in error.message:
                    break
                # A busy machine may need longer than is waited for.
                assert "still being listed, try again in a moment: new" in error.message
        answered.append(request.__name__)

    with serving(tmp_path, {"new": raw("resources", seconds=2)}, {"mode": "code"}) as served:
        token = await anyio.to_thread.run_sync(served.token)
        async with connected(served.url, token, era) as client:
            with anyio.fail_after(WAIT):
                async with anyio.create_task_group() as tasks:
                    for request in (read, fill_in, complete_for_resource, complete_for_prompt):
                        tasks.start_soon(ask, client, request)
    assert len(answered) == 4
