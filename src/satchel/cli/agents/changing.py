"""agents add, clear-workspace, remove: what changes satchel.yaml or removes files."""

import argparse

from satchel.cli import output
from satchel.cli.agents.kept import may_call, size
from satchel.cli.running import run_with_servers
from satchel.config.agent_entries import Value
from satchel.config.agents import AgentSettings
from satchel.names import count
from satchel.verbs.agents.agents import Removal
from satchel.verbs.satchel import Satchel


def add_command(options: argparse.Namespace) -> int:
    given: dict[str, Value | None] = {
        "model": options.model,
        "allow": tuple(options.allow),
        "deny": tuple(options.deny),
        "instructions": options.instructions,
    }
    values = {key: value for key, value in given.items() if value}

    async def add(satchel: Satchel) -> AgentSettings:
        return satchel.agents.add(options.name, values)

    settings = run_with_servers(options, add)
    output.note(f"added '{options.name}' to satchel.yaml: it may call {may_call(settings)}")
    return 0


def clear_command(options: argparse.Namespace) -> int:
    agent: str = options.name
    space = run_with_servers(options, lambda satchel: satchel.agents.workspace(agent))
    question = f"remove all files of the workspace of '{agent}' ({size(space)})? [y/N] "
    if not options.yes and not output.confirmed(question, done="removed"):
        return 2
    run_with_servers(options, lambda satchel: satchel.agents.clear_workspace(agent))
    output.note(f"removed {size(space)} of the workspace of '{agent}'; its memory, tasks and skills stay")
    return 0


def remove_command(options: argparse.Namespace) -> int:
    agent: str = options.name
    removal = run_with_servers(options, lambda satchel: satchel.agents.removal(agent))
    _tell(removal, memory=options.memory, skills=options.skills)
    if not options.yes and not output.confirmed(f"remove the agent '{agent}'? [y/N] ", done="removed"):
        return 2
    run_with_servers(
        options, lambda satchel: satchel.agents.remove(agent, memory=options.memory, skills=options.skills)
    )
    output.note(f"removed the agent '{agent}'")
    return 0


def _tell(removal: Removal, *, memory: bool, skills: bool) -> None:
    """What goes, and what stays."""
    parts = [
        ("workspace", size(removal.workspace), True, ""),
        ("tasks", size(removal.tasks), True, ""),
        ("memory", size(removal.memory), memory and removal.own_memory, "--memory removes it as well"),
        ("skills", count(len(removal.skills), "skill"), skills, "--skills removes them as well"),
    ]
    for name, amount, goes, hint in parts:
        if not goes and name == "memory" and not removal.own_memory:
            hint = f"it is in your own folder, {output.from_here(removal.memory.path)}"
        output.note(f"  {name}  {amount}" + (", removed" if goes else f", stays; {hint}"))
