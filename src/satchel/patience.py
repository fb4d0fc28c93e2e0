"""Time that is not charged to whoever works: a person is being asked."""

from dataclasses import replace

import anyio

from satchel.model import Client, Json


def patient(client: Client, scope: anyio.CancelScope) -> Client:
    """The same client; while it is asked, the deadline of `scope` stands still."""
    asked = 0
    left = 0.0

    async def ask(method: str, params: Json, key: str) -> Json:
        nonlocal asked, left
        if not asked:
            left, scope.deadline = scope.deadline - anyio.current_time(), float("inf")
        asked += 1
        try:
            return await client.ask(method, params, key)
        finally:
            asked -= 1
            if not asked:
                scope.deadline = anyio.current_time() + left

    return replace(client, ask=ask)
