"""agents add, clear-workspace, remove: what changes satchel.yaml or removes files."""

import argparse

from satchel.cli import output
from satchel.cli.agents.kept import may_call, size
from satchel.cli.running import paths_of, run_with_servers
from satchel.config.agent_entries import Value
from satchel.names import count
from satchel.server.tokens import Tokens
from satchel.verbs.agents.agents import Removal


def add_command(options: argparse.Namespace) -> int:
    given: dict[str, Value | None] = {
        "model": options.model,
        "allow": tuple(options.allow),
        "deny": tuple(options.deny),
        "instructions": options.instructions,
    }
    values = {key: value for key, value in given.items() if value}
    settings = run_with_servers(options, lambda satchel: satchel.agents.add(options.name, values))
    file = paths_of(options).settings_file
    place = f" to {output.from_here(file)}" if file else ""
    output.note(f"added '{options.name}'{place}: it may call {may_call(settings)}")
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
    # An agent that gets this name later must not be reached with it.
    void = Tokens(paths_of(options).tokens).remove(agent)
    output.note(f"removed the agent '{agent}'" + ("; its token is void" if void else ""))
    return 0


def _tell(removal: Removal, *, memory: bool, skills: bool) -> None:
    """What goes, and what is kept."""
    output.note(f"  workspace  {size(removal.workspace)}, removed")
    output.note(f"  tasks  {size(removal.tasks)}, removed")
    if removal.memory.size:
        place = output.from_here(removal.memory.path)
        kept = "--memory removes it as well" if removal.own_memory else f"it is in your own folder, {place}"
        goes = memory and removal.own_memory
        output.note(f"  memory  {size(removal.memory)}, " + ("removed" if goes else f"kept; {kept}"))
    if removal.skills:
        kept = "removed" if skills else "kept; --skills removes them as well"
        output.note(f"  {count(len(removal.skills), 'skill')}, {kept}")
