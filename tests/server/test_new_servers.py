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


@pytest.mark.parametrize(
    ("ask", "no_such"),
    [
        (read, None),
        (fill_in, None),
        (complete_for_resource, "completion/complete"),  # the server's own refusal
        (complete_for_prompt, "completion/complete"),
    ],
)
@pytest.mark.parametrize("era", ERAS)
async def test_what_a_new_server_offers_is_found(
    tmp_path: Path, era: Era, ask: Callable[[Client], Awaitable[Any]], no_such: str | None
) -> None:
    with serving(tmp_path, {"new": raw("resources", seconds=2)}, {"mode": "code"}) as served:
        token = await anyio.to_thread.run_sync(served.token)
        async with connected(served.url, token, era) as client:
            with anyio.fail_after(WAIT):
                while True:
                    try:
                        await ask(client)
                        assert no_such is None
                        break
                    except MCPError as error:
                        if no_such is not None and no_such in error.message:
                            break
                        # A busy machine may need longer than is waited for.
                        assert "still being listed, try again in a moment: new" in error.message
