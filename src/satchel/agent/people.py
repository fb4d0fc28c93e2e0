"""What a person and the model of a turn have of each other's words, where personal data is hidden.

A turn that another agent has asked for has no person: a model wrote its task and reads its answer.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from satchel.model import DEFAULT_CALLER, Caller, TellTurn

if TYPE_CHECKING:
    from satchel.verbs.privacy.boundary import Privacy
    from satchel.verbs.privacy.people import ForPeople

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class People:
    """Without `privacy` all words are passed on as they are."""

    caller: Caller = DEFAULT_CALLER
    privacy: "Privacy | None" = None
    restoring: "ForPeople | None" = None

    async def typed(self, text: str) -> str:
        """What the person has written, as the model may have it."""
        return text if self.privacy is None else await self.privacy.typed(text, self.caller)

    def shown(self, value: T) -> T:
        """What the person reads of what the model has written."""
        return value if self.restoring is None else self.restoring.shown(value)

    def telling(self, tell: TellTurn) -> TellTurn:
        return tell if self.restoring is None else self.restoring.telling(tell)


async def people_of(privacy: "Privacy", agent: str, conversation: str) -> People:
    caller = Caller(agent=agent, conversation=conversation)
    return People(caller=caller, privacy=privacy, restoring=await privacy.for_people(caller))
