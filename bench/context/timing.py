"""How long the protocol traffic of a task takes, without a model, and what a model adds by a simple rule."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from bench.context.agent import play_directly, play_script
from bench.context.conversation import Tally
from bench.context.servers import Place
from bench.context.tasks import Task
from satchel.languages import Language

ROUNDS = 5

# The rule. Nothing here was measured: they are round figures of the order of today's hosted models.
SECONDS_PER_TURN = 1.0
SECONDS_PER_1000_READ = 0.1
SECONDS_PER_1000_READ_AGAIN = 0.01  # from the provider's prompt cache, where there is one
SECONDS_PER_1000_WRITTEN = 15.0


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """Seconds: until the tools are listed, of the first time the task is done, and of the second."""

    start: float
    first: float
    again: float


def model_seconds(tally: Tally, *, cached: bool = False) -> float:
    """What a model needs to read and write that much."""
    again = SECONDS_PER_1000_READ_AGAIN if cached else SECONDS_PER_1000_READ
    return (
        SECONDS_PER_TURN * tally.turns
        + SECONDS_PER_1000_READ * tally.new / 1000
        + again * tally.repeated / 1000
        + SECONDS_PER_1000_WRITTEN * tally.written / 1000
    )


def measure_traffic(
    place: Place, task: Task, language: Language, others: int, rounds: int = ROUNDS
) -> tuple[Traffic, Traffic]:
    """(direct, code), medians of sessions taken in turn; one of each comes before and is not counted."""
    place.configure(task.servers, others, language)
    direct: list[Traffic] = []
    code: list[Traffic] = []
    for _ in range(rounds + 1):
        direct.append(_directly(place, task))
        code.append(_in_code(place, task, language))
    return _medians(direct[1:]), _medians(code[1:])


def _directly(place: Place, task: Task) -> Traffic:
    place.forget_changes()
    began = time.perf_counter()
    with place.straight(task.servers) as clients:
        for client in clients.values():
            client.tools()
        start = time.perf_counter() - began
        first, again = (play_directly(task, clients).seconds for _ in range(2))
    return Traffic(start=start, first=first, again=again)


def _in_code(place: Place, task: Task, language: Language) -> Traffic:
    place.forget_changes()
    began = time.perf_counter()
    with place.served() as client:
        client.tools()
        start = time.perf_counter() - began
        first, again = (play_script(task, task.code[language](), client).seconds for _ in range(2))
    return Traffic(start=start, first=first, again=again)


def _medians(traffic: Sequence[Traffic]) -> Traffic:
    return Traffic(
        start=median(one.start for one in traffic),
        first=median(one.first for one in traffic),
        again=median(one.again for one in traffic),
    )
