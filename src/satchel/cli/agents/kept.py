"""agents list and show."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from satchel.cli import output
from satchel.cli.looking.journal import how_it_ended, title, when
from satchel.cli.running import run_with_servers
from satchel.config.agents import AgentSettings, LimitSettings
from satchel.model import ExecutionRecord, Json, Remembered
from satchel.names import count
from satchel.support.text import label
from satchel.verbs.agents.agents import AgentInfo, AgentSummary, Space
from satchel.verbs.satchel import Satchel

if TYPE_CHECKING:
    from satchel.verbs.agents.agents import Task

_FEW = 3  # names in a cell
_UNITS = ("KiB", "MiB", "GiB")


def list_command(options: argparse.Namespace) -> int:
    async def read(satchel: Satchel) -> tuple[list[AgentSummary], list[str]]:
        return await satchel.agents.summaries(), satchel.agents.left_over()

    agents, left = run_with_servers(options, read)
    if options.json:
        output.show_json({"agents": [_summary(agent) for agent in agents], "left_over": left})
        return 0
    output.show_table(
        [
            (
                agent.name,
                agent.settings.model or "-",
                may_call(agent.settings),
                _memory(agent.settings, agent.may_read),
                size(agent.workspace),
                _last(agent.last),
            )
            for agent in agents
        ],
        headings=("agent", "model", "may call", "memory", "workspace", "last execution"),
        optional=("model", "workspace"),
    )
    if left:
        output.note(f"satchel.yaml no longer names {', '.join(left)}, whose files are still there")
        output.note("hint: satchel agents remove NAME removes them")
    return 0


def show_command(options: argparse.Namespace) -> int:
    info = run_with_servers(options, lambda satchel: satchel.agents.show(options.name))
    if options.json:
        output.show_json(_as_json(info))
        return 0
    _title(info.name)
    output.show_table(_permissions(info), indent="  ", whole=True)
    _title("memory")
    output.show_table(_memory_rows(info), indent="  ", whole=True)
    _title("files")
    output.show_table(_places(info), indent="  ", whole=True)
    _show_tasks(info)
    _title("last executions")
    output.show_table([_row(record) for record in info.executions] or [("none",)], indent="  ")
    return 0


def _row(record: ExecutionRecord) -> tuple[str, ...]:
    about = record.description or title(record.program)
    return record.id, when(record.started_at), how_it_ended(record), about


def may_call(settings: AgentSettings) -> str:
    """The permissions of an agent, in short."""
    allowed = "everything" if "*" in settings.allow else _few(settings.allow) or "nothing"
    return f"{allowed} but {_few(settings.deny)}" if settings.deny else allowed


def size(space: Space) -> str:
    """How much a folder takes, as people say it."""
    amount, unit = float(space.size), "B"
    for larger in _UNITS:
        if amount < 1024:
            break
        amount, unit = amount / 1024, larger
    number = f"{amount:.0f}" if unit == "B" or amount >= 10 else f"{amount:.1f}"
    return f"{'' if space.whole else 'more than '}{number} {unit}"


def _permissions(info: AgentInfo) -> list[tuple[str, str]]:
    settings = info.settings
    rows = [
        ("may call", ", ".join(settings.allow) or "nothing"),
        ("may not call", ", ".join(settings.deny)),
        ("mode", info.mode if settings.mode else f"{info.mode}, as the project"),
        ("may promote skills", "yes" if settings.promote_skills else ""),
        (
            "obeys allowed-tools",
            "yes, those of the skill it viewed last" if settings.enforce_allowed_tools else "",
        ),
    ]
    rows += [
        ("waits for approval", ", ".join(settings.approve)),
        ("model", settings.model or ""),
        ("instructions", output.first_line(settings.instructions)),
        ("delegates to", ", ".join(settings.delegates)),
        ("contexts", "" if settings.contexts == "auto" else settings.contexts),
        ("universal tools", ", ".join(settings.universal_tools)),
        ("global resources", ", ".join(settings.global_resources)),
        ("limits", "" if settings.limits == LimitSettings() else _limits(settings.limits)),
    ]
    return [(name, value) for name, value in rows if value]


def _limits(limits: LimitSettings) -> str:
    said = [f"{limits.requests} requests", f"{limits.seconds:g} s"]
    said += [f"{limits.tokens} tokens"] if limits.tokens is not None else []
    said += [f"{limits.cost:g} US dollars"] if limits.cost is not None else []
    return ", ".join(said)


def _memory_rows(info: AgentInfo) -> list[tuple[str, str]]:
    memory = info.settings.memory
    told = f"on, at most {memory.budget:,} tokens in a prompt" if memory.enabled else "off"
    readers = [f"{name} (and write)" if writes else name for name, writes in info.read_by.items()]
    rows = [
        ("memory", told),
        ("remembers", _remembered(info.remembered)),
        ("may read the memory of", ", ".join(name for name, writes in info.may_read.items() if not writes)),
        ("may write to the memory of", ", ".join(name for name, writes in info.may_read.items() if writes)),
        ("may be read by", ", ".join(readers) or "no other agent"),
    ]
    return [(name, value) for name, value in rows if value]


def _remembered(remembered: Remembered) -> str:
    entries, problems = len(remembered.entries), len(remembered.problems)
    waiting = sum(entry.is_waiting for entry in remembered.entries)
    count = "1 entry" if entries == 1 else f"{entries:,} entries"
    parts = [count if entries else "", f"{waiting:,} waiting for review" if waiting else ""]
    parts.append(f"{problems:,} not understood: satchel memory list" if problems else "")
    return ", ".join(part for part in parts if part)


def _places(info: AgentInfo) -> list[tuple[str, str, str]]:
    spaces = {"workspace": info.workspace, "memory": info.memory, "tasks": info.tasks_place}
    rows = [(name, size(space), output.from_here(space.path)) for name, space in spaces.items()]
    skills = f"{output.from_here(info.skills_place.path)}: {_few(info.skills) or 'none'}"
    return [*rows, ("skills", size(info.skills_place), skills)]


def _show_tasks(info: AgentInfo) -> None:
    tasks = info.tasks
    _title("tasks")
    current = tasks.current
    rows = [("current", _word(when(current.started_at)), _about(current), "")] if current else []
    rows += [
        (task.status or "done", when(task.ended_at), _about(task), task.outcome) for task in tasks.completed
    ]
    output.show_table(rows or [("none",)], indent="  ")
    more = tasks.completed_count - len(tasks.completed)
    if more > 0 and tasks.completed:
        output.note(f"  {count(more, 'older task')} in {output.from_here(info.tasks_place.path)}")
    for problem in tasks.problems:
        line = f":{problem.line}" if problem.line else ""
        output.note(f"  {label(problem.file)}{line} can't be read: {label(problem.message)}")


def _about(task: "Task") -> str:
    return output.first_line(task.description or task.id or label(task.file))


def _word(text: str) -> str:
    """What should be a word or a time, and was written by a program."""
    return output.first_line(text, 20)


def _memory(settings: AgentSettings, may_read: Mapping[str, bool]) -> str:
    on = "on" if settings.memory.enabled else "off"
    reads = _few([name for name, writes in may_read.items() if not writes])
    writes = _few([name for name, writes in may_read.items() if writes])
    grants = (f"reads {reads}" if reads else "", f"writes {writes}" if writes else "")
    return ", ".join(part for part in (on, *grants) if part)


def _last(record: ExecutionRecord | None) -> str:
    return f"{when(record.started_at)}  {how_it_ended(record)}" if record else "none"


def _few(names: Sequence[str]) -> str:
    more = len(names) - _FEW
    return ", ".join(names[:_FEW]) + (f" and {more} more" if more > 0 else "")


def _title(text: str) -> None:
    output.show(output.styled(text, "bold"))


def _summary(agent: AgentSummary) -> Json:
    settings = agent.settings
    return {
        "name": agent.name,
        "model": settings.model,
        "allow": settings.allow,
        "deny": settings.deny,
        "memory": {"enabled": settings.memory.enabled, **_grants(agent.may_read)},
        "workspace": _space(agent.workspace),
        "last_execution": _execution(agent.last) if agent.last else None,
    }


def _as_json(info: AgentInfo) -> Json:
    settings = asdict(info.settings)
    return {
        "name": info.name,
        "settings": {**settings, "mode": info.mode},
        "memory": {
            "enabled": info.settings.memory.enabled,
            **_grants(info.may_read),
            "read_by": info.read_by,
            "entries": len(info.remembered.entries),
            "waiting": sum(entry.is_waiting for entry in info.remembered.entries),
        },
        "places": {
            "workspace": _space(info.workspace),
            "memory": _space(info.memory),
            "tasks": _space(info.tasks_place),
            "skills": _space(info.skills_place),
        },
        "skills": info.skills,
        "tasks": asdict(info.tasks),
        "executions": [_execution(record) for record in info.executions],
    }


def _grants(may_read: Mapping[str, bool]) -> Json:
    return {"reads": list(may_read), "writes": [name for name, writes in may_read.items() if writes]}


def _space(space: Space) -> Json:
    return {"path": str(space.path), "size": space.size, "entries": space.entries, "whole": space.whole}


def _execution(record: ExecutionRecord) -> Json:
    return {
        "id": record.id,
        "started_at": record.started_at,
        "state": record.state,
        "ended": how_it_ended(record),
        "description": record.description,
    }
