"""A turn at the terminal: its events shown, its questions answered, its calls decided on."""

from collections.abc import Callable
from dataclasses import replace

from satchel.cli.asking.person import Person
from satchel.model import Answer, TurnBegan, TurnEnded, TurnEvent, TurnRequest
from satchel.support.waiting import background
from satchel.verbs.satchel import Satchel

Hear = Callable[[TurnEvent], None]


async def follow(satchel: Satchel, request: TurnRequest, hear: Hear, person: Person | None = None) -> Answer:
    """Have an agent take a turn. Without a person, others decide on calls that wait, or the turn ends."""
    if person is None:
        return await _follow(satchel, request, hear)
    request = replace(request, ask=person.answer)
    answer = await _with_person(satchel, request, hear, person)
    while answer.ended == "approval" and await _is_decided(answer, person):
        request = replace(request, text="", skill=None, conversation=answer.conversation)
        answer = await _with_person(satchel, request, hear, person)
    return answer


async def _with_person(satchel: Satchel, request: TurnRequest, hear: Hear, person: Person) -> Answer:
    """The events wait while a question is open: nothing is printed into what the person types."""
    kept: list[TurnEvent] = []

    def hear_later(event: TurnEvent) -> None:
        person.hear(event)
        kept.append(event)
        if not person.is_asked or isinstance(event, TurnBegan):
            while kept:
                hear(kept.pop(0))

    async with background() as tasks:
        tasks.start_soon(person.decide_on_calls)
        answer = await _follow(satchel, request, hear_later)
        for event in kept:
            hear(event)
    return answer


async def _is_decided(answer: Answer, person: Person) -> bool:
    """Whether a person has decided on a call that the turn has ended for."""
    decided = [await person.decide(row["approval"]) for row in answer.waiting]
    return any(decided)


async def _follow(satchel: Satchel, request: TurnRequest, hear: Hear) -> Answer:
    ended: list[Answer] = []
    async for event in satchel.agents.turn(request):
        hear(event)
        if isinstance(event, TurnEnded):
            ended.append(event.answer)
    return ended[0]
