"""Everything that is measured, as one value."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.context import crossing
from bench.context.definitions import Definitions, definitions_row, measure_definitions
from bench.context.savings import Direct, InCode, measure_code, measure_direct, savings_rows
from bench.context.servers import Place, open_place, recorded_servers
from bench.context.starting import measure_starts
from bench.context.tasks import EXAMPLE, SMALL_CALL, TASKS, Task
from bench.context.timing import Traffic, measure_traffic
from bench.rows import Row, Skipped
from satchel.languages import Language

Variant = tuple[str, Language]
"""A task and a language."""

ALL = 75
CROSSED: tuple[Variant, ...] = ((EXAMPLE.name, "python"), (SMALL_CALL.name, "python"))
"""What is done with every number of servers, to see where the two ways cross."""
PUBLIC = "public servers"


@dataclass(kw_only=True)
class Measured:
    """`skipped` says what is not there, and why."""

    definitions: list[Definitions] = field(default_factory=list[Definitions])
    direct: dict[str, Direct] = field(default_factory=dict[str, Direct])
    code: dict[Variant, list[InCode]] = field(default_factory=dict[Variant, list[InCode]])
    traffic: dict[tuple[Variant, int], tuple[Traffic, Traffic]] = field(
        default_factory=dict[tuple[Variant, int], tuple[Traffic, Traffic]]
    )
    starts: list[Row] = field(default_factory=list[Row])
    skipped: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def has_public(self) -> bool:
        return PUBLIC not in self.skipped

    @property
    def has_crossings(self) -> bool:
        return self.has_public and all((variant, 0) in self.traffic for variant in CROSSED)

    def rows(self) -> list[Row]:
        """What has a limit, and how long a start takes."""
        rows = [definitions_row(one) for one in self.definitions if one.servers == ALL]
        for (name, _), measured in self.code.items():
            rows += savings_rows(self.direct[name], measured)
        return rows + self.starts


def measure_all() -> Measured:
    measured = _begin()
    with open_place() as place:
        _measure_tasks(measured, place, TASKS)
        _measure_traffic(measured, place)
        if measured.has_public:
            _say("counting definitions")
            measured.definitions = measure_definitions(place)
    if measured.has_public:
        _say("starting")
        measured.starts = measure_starts()
    return measured


def measure_limits() -> Measured:
    """Only what has a limit."""
    measured = _begin()
    with open_place() as place:
        _measure_tasks(measured, place, [EXAMPLE], only_ends=True)
        if measured.has_public:
            measured.definitions = measure_definitions(place, (ALL,))
    if measured.has_public:
        measured.starts = measure_starts(5, first_as_well=False)
    return measured


def _begin() -> Measured:
    try:
        recorded_servers()
    except Skipped as reason:
        return Measured(skipped={PUBLIC: str(reason)})
    return Measured()


def _measure_tasks(
    measured: Measured, place: Place, tasks: Sequence[Task], *, only_ends: bool = False
) -> None:
    missing = place.missing_languages()
    measured.skipped |= {f"programs in {language}": reason for language, reason in missing.items()}
    for task in tasks:
        direct = measured.direct[task.name] = measure_direct(place, task)
        for language in task.code:
            if language in missing:
                continue
            variant = (task.name, language)
            sizes = crossing.SIZES if variant in CROSSED and not only_ends else (0, ALL)
            _say(f"{task.name}, {language}")
            measured.code[variant] = [
                measure_code(place, direct, language, others)
                for others in sizes
                if measured.has_public or not others
            ]


def _measure_traffic(measured: Measured, place: Place) -> None:
    for task in TASKS:
        for language in task.code:
            variant = (task.name, language)
            for others in (0, ALL) if variant == CROSSED[0] and measured.has_public else (0,):
                if variant in measured.code:
                    _say(f"timing {task.name}, {language}, {others} other servers")
                    measured.traffic[variant, others] = measure_traffic(place, task, language, others)


def _say(text: str) -> None:
    sys.stderr.write(f"{text} …\n")
