"""The loop: Satchel does a task itself, over any model. Imported only when it runs.

Models are asked through pydantic-ai's model classes, one request at a time. What is sent, which tools there
are, and when a turn ends is decided here.
"""

from collections.abc import Callable, Mapping

from satchel.model import Answer, TellTurn, TurnRequest
from satchel.verbs.agents.turns import RunTurn
from satchel.verbs.satchel import Satchel


def turns_of(satchel: Callable[[], Satchel], environment: Mapping[str, str]) -> RunTurn:
    """The loop over an open Satchel, loaded with the first turn."""

    async def run(request: TurnRequest, tell: TellTurn) -> Answer:
        from satchel.agent.loop import run_turn  # loads a model library, which takes seconds

        return await run_turn(satchel(), request, tell, environment=environment)

    return run
