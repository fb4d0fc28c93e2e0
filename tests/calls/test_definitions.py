"""Calls of tools that a person has not accepted."""

import pytest

from satchel.calls.definitions import hold_definitions
from satchel.errors import NotAllowedError
from satchel.model import Call, Prompt, Resource
from tests.fakes import FakeServer, make_tool

pytestmark = pytest.mark.anyio


async def test_a_held_tool_is_refused_and_noted_and_everything_else_passes() -> None:
    server, denied = FakeServer(), list[Call]()
    check = hold_definitions(lambda tool: tool.name == "held", denied.append)(server.send)
    held = Call(what=make_tool({"name": "held"}, server="crm"))
    with pytest.raises(NotAllowedError, match=r"crm\.held.*no person has accepted") as refused:
        await check(held)
    assert "satchel changes crm" in str(refused.value.hint)
    assert denied == [held]
    others = (
        make_tool({"name": "free"}),
        Resource(server="crm", uri="held", name="held"),
        Prompt(server="crm", name="held"),
    )
    for what in others:
        await check(Call(what=what))
    assert len(server.calls) == 3
