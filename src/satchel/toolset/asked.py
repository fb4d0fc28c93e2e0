"""The request of a model for one of Satchel's own tools, and the form of its answers."""

from dataclasses import dataclass

from satchel.model import Caller, CallResult, Json, Tell
from satchel.toolset.active import ActiveSkill
from satchel.toolset.offer import Offer, Shown


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The caller of one of the tools, with the context of its request."""

    offer: Offer
    mode: Shown
    caller: Caller
    tell: Tell
    active: ActiveSkill


def answered(value: Json, text: str) -> CallResult:
    return CallResult(content=({"type": "text", "text": text},), structured=value, has_structured=True)
