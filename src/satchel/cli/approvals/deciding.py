"""approvals list, show, allow and deny: a person decides on a call, at the terminal itself.

What is shown and what is decided on are one value: a decision on anything that changed meanwhile fails.
"""

import argparse
import getpass
import json
import os
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, NoReturn, TypeVar

from satchel.cli import output
from satchel.cli.deciding import decided
from satchel.cli.execute import resume_execution
from satchel.cli.looking.journal import when
from satchel.cli.running import paths_of, run_async
from satchel.errors import ArgumentError
from satchel.model import Approval, Json, is_object
from satchel.verbs.approvals.approvals import Approvals
from satchel.verbs.approvals.opening import open_approvals
from satchel.verbs.approvals.showing import shown

T = TypeVar("T")
_PAUSE = 0.5  # seconds between two looks
_QUESTIONS = {
    "once": "Send this call?",
    "execution": "Send this call, and every other call of this tool by the same program?",
    "session": "Send this call, and every other call of this tool in the same session?",
    "conversation": "Send this call, and every other call of this tool in the same conversation?",
}
_NO_TERMINAL = "run it at one; what waits is not sent until then"


def list_command(options: argparse.Namespace) -> int:
    if options.follow:
        _follow(options)
    found = _read(options, lambda approvals: _listed(approvals, options))
    if options.json:
        output.show_json({"approvals": [_row(approval) for approval in found]})
        return 0
    rows = [
        (
            approval.id,
            approval.state,
            when(approval.requested_at),
            approval.agent,
            approval.name,
            ", ".join(question.rule for question in approval.questions),
        )
        for approval in found
    ]
    output.show_table(
        rows,
        headings=("id", "state", "asked", "agent", "tool", "because of"),
        optional=("because of", "asked"),
        styles={"state": {"waiting": "yellow", "approved": "green", "used": "green", "denied": "red"}},
    )
    if not found:
        output.note("no calls are recorded that a person had to agree to" if options.all else "nothing waits")
    return 0


def show_command(options: argparse.Namespace) -> int:
    approval = _find(options)
    if options.json:
        output.show_json(_row(approval) | {"arguments": approval.arguments, "edited": approval.edited})
        return 0
    for line in shown(approval):
        output.show(line)
    if approval.state != "waiting":
        by = f" by {approval.decided_by}" if approval.decided_by else ""
        output.note(f"it is {approval.state}{by}")
    return 0


def allow_command(options: argparse.Namespace) -> int:
    approval, edited = _find(options), arguments_of(options.args) if options.args is not None else None
    for line in shown(approval):
        output.show(line)
    if edited is not None:
        output.show_lines("  instead, this is sent: " + json.dumps(edited))
    if not _waits(approval):
        return 2
    if not decided(_QUESTIONS[options.scope], without=_NO_TERMINAL):
        return 2

    async def allow(approvals: Approvals) -> None:
        await approvals.allow(approval, by=who(), scope=options.scope, arguments=edited)

    _read(options, allow)
    if options.resume and approval.execution is not None:
        return resume_execution(options, approval.execution, approval.agent)
    output.note(f"approved: {approval.name} is sent when whoever waits for it goes on")
    return 0


def deny_command(options: argparse.Namespace) -> int:
    approval = _find(options)
    for line in shown(approval):
        output.show(line)
    if not _waits(approval):
        return 2
    if not decided("Refuse this call?", without=_NO_TERMINAL):
        return 2
    _read(options, lambda approvals: approvals.deny(approval, by=who()))
    output.note(f"denied: {approval.name} is not sent")
    return 0


def _waits(approval: Approval) -> bool:
    if approval.state == "waiting":
        return True
    by = f" by {approval.decided_by}" if approval.decided_by else ""
    output.note(f"there is nothing to decide: it is {approval.state}{by}")
    return False


def _follow(options: argparse.Namespace) -> NoReturn:
    """Each call when it begins to wait and when its state changes, until Ctrl-C."""
    told: dict[str, str] = {}
    options.all = True
    while True:
        found = _read(options, lambda approvals: _listed(approvals, options))
        for approval in reversed(found):
            if told.get(approval.id) == approval.state or (not told and approval.state != "waiting"):
                continue
            if options.json:
                output.show_json(_row(approval), line=True)
            else:
                state = output.styled(approval.state, "yellow" if approval.state == "waiting" else "dim")
                output.show_now(f"{when(approval.requested_at)}  {approval.id}  {state}  {approval.name}")
        told = {approval.id: approval.state for approval in found} or {"": ""}
        time.sleep(_PAUSE)


def _listed(approvals: Approvals, options: argparse.Namespace) -> Awaitable[list[Approval]]:
    return approvals.list_all(all_states=options.all, agent=options.agent, limit=options.limit)


def _find(options: argparse.Namespace) -> Approval:
    return _read(options, lambda approvals: approvals.find(options.id))


def arguments_of(text: str) -> Json:
    """Arguments as a person has typed them."""
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ArgumentError(f"the arguments are not JSON: {error}", argument="args") from error
    if not is_object(value):
        raise ArgumentError("the arguments must be an object", argument="args")
    return value


def who() -> str:
    """The person, as far as this machine knows."""
    name = str(os.getuid())
    with suppress(OSError, KeyError):
        name = getpass.getuser()
    return f"{name}@{os.uname().nodename}"


def _read(options: argparse.Namespace, work: Callable[[Approvals], Awaitable[T]]) -> T:
    async def opened() -> T:
        async with open_approvals(paths_of(options)) as approvals:
            return await work(approvals)

    return run_async(opened)


def _row(approval: Approval) -> Json:
    row: Json = {name: value for name, value in vars(approval).items() if name not in ("arguments", "edited")}
    return row | {
        "questions": [vars(question) for question in approval.questions],
        "reads": [{"name": each.name, "labels": sorted(each.labels)} for each in approval.reads],
    }
