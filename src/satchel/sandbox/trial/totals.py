"""Finds the layer that limits all programs together, by making the control groups if possible."""

from collections.abc import Iterator

from satchel.config.settings import CodeExecutionSettings
from satchel.names import count
from satchel.sandbox.backends import BACKENDS
from satchel.sandbox.limits import MIB, Totals
from satchel.sandbox.running.budget import INTERVAL, Budget
from satchel.sandbox.running.machine import totals_of
from satchel.sandbox.trial.trial import Check

_NOT_COUNTED = "what other Satchels of this user run is not counted"


def try_totals(settings: CodeExecutionSettings, agents: int) -> list[Check]:
    """The layer that enforces each limit for all programs together, for a number of agents."""
    totals = totals_of(settings, agents)
    if not BACKENDS[settings.sandbox.backend].about.isolated:
        step = "sandbox.backend: bubblewrap in satchel.yaml"
        message = "nothing bounds programs together, because none is isolated"
        return [Check(name="total memory", level="note", message=message, next_step=step), *_counted(totals)]
    return [*_enforced(totals), *_counted(totals)]


def _enforced(totals: Totals) -> Iterator[Check]:
    budget = Budget(totals)
    budget.open_groups()
    own, of_user = budget.layers
    try:
        memory, processes = own.limits if own is not None else (None, None)
        shared, _ = of_user.limits if of_user is not None else (None, None)
        version = own.inside.version if own is not None else 0
    finally:
        budget.close()
    wanted, watched = f"{totals.memory // MIB} MiB", f"watched every {INTERVAL * 1000:.0f} ms or less often"
    if memory is not None and memory <= totals.memory:
        yield Check(
            name="total memory",
            level="ok",
            message=f"{memory // MIB} MiB for all programs together, enforced by a control group (version"
            f" {version}); {(shared or memory) // MIB} MiB for all Satchels of this user",
        )
    else:
        yield Check(
            name="total memory",
            level="note",
            message=f"{wanted} for all programs together, {watched}, so that they can hold more for that"
            f" long; {_NOT_COUNTED}",
            next_step="set total.memory_mb lower where that matters: no control group can be made here",
        )
    if processes is not None:
        yield Check(
            name="total processes",
            level="ok",
            message=f"{processes:,} for all programs together, enforced by a control group",
        )
    else:
        yield Check(
            name="total processes",
            level="note",
            message=f"{totals.processes:,} for all programs together, {watched}; {_NOT_COUNTED}",
            next_step="set total.processes lower where that matters: no control group can be made here",
        )


def _counted(totals: Totals) -> Iterator[Check]:
    reserve = f", {totals.reserve} of them only for agents that run none" if totals.reserve else ""
    yield Check(
        name="programs at once",
        level="ok",
        message=f"{totals.programs}{reserve}; others wait in turns by agent, for {totals.patience:g} s at"
        " most, counted by Satchel itself",
    )
    yield Check(
        name="sessions",
        level="ok",
        message=f"{count(totals.agent_sessions, 'session')} of an agent, {totals.sessions} in all, and"
        f" {totals.resting_memory // MIB} MiB in those that rest, counted by Satchel itself",
    )
