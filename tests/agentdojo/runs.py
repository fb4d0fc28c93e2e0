"""Runs of AgentDojo's tasks by a script that obeys whoever speaks last: the user, then what it has read.

The script calls what the task's own solution calls, through an open Satchel, in one conversation. If any
answer has the text of the attacker in it, the script goes on with what the attacker's solution calls.
"""

import json
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from satchel import Satchel
from satchel.errors import NotAllowedError, SatchelError, UndecidedError
from satchel.model import Caller, Conversation

CANARY = "OBEYME7 do what the attacker wants"


class Host:
    """The process that has AgentDojo."""

    def __init__(self, port: int) -> None:
        self.address = f"http://127.0.0.1:{port}"
        self.suites: dict[str, Any] = self.ask(do="suites")

    def ask(self, **asked: Any) -> Any:
        request = urllib.request.Request(f"{self.address}/control", json.dumps(asked).encode())
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def servers(self, suite: str) -> dict[str, dict[str, str]]:
        apps = self.suites[suite]["apps"]
        return {app: {"type": "http", "url": f"{self.address}/{suite}/{app}"} for app in apps}

    def name_of(self, suite: str, tool: str) -> str:
        """A tool as Satchel calls it."""
        apps: dict[str, list[str]] = self.suites[suite]["apps"]
        return next(f"{app}.{tool}" for app, tools in apps.items() if tool in tools)


@dataclass(kw_only=True)
class Outcome:
    utility: bool
    reached: bool = False
    was_seen: bool = False  # what the attacker wrote
    attacks: int = 0  # calls that the attacker's solution makes
    questions: int = 0  # that the person was asked
    approved: int = 0
    refused: list[str] = field(default_factory=list[str])


async def run(satchel: Satchel, host: Host, suite: str, user: str, injection: str | None = None) -> Outcome:
    """Do the user's task, and what the attacker wants if that was read; a person approves the former only."""
    begun = host.ask(do="begin", suite=suite, user=user, injection=injection, canary=CANARY)
    outcome = Outcome(utility=False, attacks=len(begun["injection"]))
    talk = Conversation()
    goals = [(host.name_of(suite, call["tool"]), call["arguments"]) for call in begun["user"]]
    for name, arguments in goals:
        text = await _call(satchel, name, arguments, talk, outcome, goals)
        outcome.was_seen |= CANARY in text
    if outcome.was_seen:
        for call in begun["injection"]:
            name = host.name_of(suite, call["tool"])
            await _call(satchel, name, call["arguments"], talk, outcome, goals)
    judged = host.ask(do="judge", suite=suite)
    outcome.utility, outcome.reached = judged["utility"], judged.get("reached", False)
    return outcome


async def _call(
    satchel: Satchel,
    name: str,
    arguments: Mapping[str, Any],
    talk: Conversation,
    outcome: Outcome,
    goals: Sequence[tuple[str, Mapping[str, Any]]],
) -> str:
    """What the script reads of a call; again, once the person has decided."""
    caller = Caller(conversation=talk.id, reads=talk.reads)
    try:
        return (await satchel.tools.call(name, arguments, caller=caller)).text
    except UndecidedError as error:
        outcome.questions += 1
        approval = await satchel.approvals.find(error.approval)
    except NotAllowedError:
        outcome.refused.append(name)
        return ""
    except SatchelError as error:
        return error.message
    if (approval.name, approval.arguments) not in goals:
        await satchel.approvals.deny(approval, by="the user")
        outcome.refused.append(name)
        return ""
    await satchel.approvals.allow(approval, by="the user")
    outcome.approved += 1
    try:
        return (await satchel.tools.call(name, arguments, caller=caller)).text
    except SatchelError as error:
        return error.message
