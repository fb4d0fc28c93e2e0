"""executions, show-execution and audit: what the journal has, for people and as JSON."""

import argparse
import json
import re
import time
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import NoReturn, TypeVar

from satchel.cli import output
from satchel.cli.running import paths_of, run_async
from satchel.model import CallRecord, ExecutionRecord, Json, is_list, is_object
from satchel.names import count
from satchel.verbs.journal import JournalReader, open_journal

T = TypeVar("T")
_PAUSE = 0.5  # seconds between two looks at the journal
_LONGEST_HEAD = 4000  # characters in which a program's title is looked for
_IMPORTS = re.compile(
    r"^(?:import\s*(?:type\s*)?\{[^}]*\}[^\n]*|from\s+\S+\s+import\s*\([^)]*\)|(?:import|from)\s[^\n]*)",
    re.MULTILINE,
)


def executions_command(options: argparse.Namespace) -> int:
    """The newest first, as lists are read."""
    if options.follow:
        _follow(options)
    found = _read(
        options,
        lambda journal: journal.executions(agent=options.agent, since=options.since, limit=options.limit),
    )
    if options.json:
        output.show_json({"executions": [_summary(record) for record in found]})
        return 0
    rows = [
        (
            record.id,
            when(record.started_at),
            record.agent,
            how_it_ended(record),
            _milliseconds((record.outcome or {}).get("duration_ms")),
            count(record.call_count, "call"),
            record.description or title(record.program),
        )
        for record in found
    ]
    output.show_table(
        rows,
        headings=("id", "started", "agent", "ended", "took", "calls", "program"),
        optional=("took", "agent", "calls"),
        styles={
            "ended": {**dict.fromkeys((row[3] for row in rows), "red"), "exit 0": "green", "running": "cyan"}
        },
    )
    if not found:
        output.note("no executions are recorded" + _narrowed(options))
    return 0


def _follow(options: argparse.Namespace) -> NoReturn:
    """Each execution when it begins and when it has ended, the newest last, until Ctrl-C."""
    told: dict[str, str] = {}

    def read(journal: JournalReader) -> Awaitable[list[ExecutionRecord]]:
        return journal.executions(agent=options.agent, since=options.since, limit=options.limit)

    while True:
        found = _read(options, read)
        for record in reversed(found):
            if told.get(record.id) == record.state:
                continue
            told[record.id] = record.state
            if options.json:
                output.show_json(_summary(record), line=True)
            else:
                output.show_now(_line(record))
        told = {record.id: record.state for record in found}
        time.sleep(_PAUSE)


def _line(record: ExecutionRecord) -> str:
    """An execution in a line of a list that goes on."""
    ended = how_it_ended(record)
    style = {"exit 0": "green", "running": "cyan"}.get(ended, "red")
    duration = (record.outcome or {}).get("duration_ms")
    took = "" if duration is None else f" after {_milliseconds(duration)}"
    about = output.first_line(record.description or title(record.program), 60)
    started = when(record.started_at).partition(" ")[2]
    return f"{started}  {record.id}  {record.agent}  {output.styled(ended, style)}{took}  {about}"


def show_execution_command(options: argparse.Namespace) -> int:
    record = _read(options, lambda journal: journal.execution(options.id))
    if options.json:
        output.show_json({**vars(record), "calls": [vars(call) for call in record.calls]})
    else:
        _show(record)
    return 0


def audit_command(options: argparse.Namespace) -> int:
    """The newest last, as logs are read."""
    found = _read(
        options,
        lambda journal: journal.calls(
            server=options.server,
            tool=options.tool,
            agent=options.agent,
            since=options.since,
            limit=options.limit,
        ),
    )
    found.reverse()
    if options.json:
        output.show_json({"calls": [vars(call) for call in found]})
        return 0
    rows = [
        (
            when(call.started_at),
            call.agent,
            f"{call.server}.{call.tool}",
            call.status,
            _milliseconds(call.duration_ms),
            _sizes(call),
            call.execution or "-",
            output.first_line(call.error or ""),
        )
        for call in found
    ]
    output.show_table(
        rows,
        headings=("started", "agent", "tool", "status", "took", "size", "execution", "error"),
        optional=("size", "agent", "took", "execution"),
        styles={"status": {**dict.fromkeys((row[3] for row in rows), "red"), "ok": "green", "sent": "cyan"}},
    )
    if not found:
        output.note("no calls are recorded" + _narrowed(options))
    return 0


def _read(options: argparse.Namespace, read: Callable[[JournalReader], Awaitable[T]]) -> T:
    async def work() -> T:
        async with open_journal(paths_of(options)) as journal:
            return await read(journal)

    return run_async(work)


def _narrowed(options: argparse.Namespace) -> str:
    narrowing = [getattr(options, name, None) for name in ("server", "tool", "agent", "since")]
    return " that fit these options" if any(narrowing) else " yet"


def _summary(record: ExecutionRecord) -> Json:
    outcome = record.outcome or {}
    row = {name: value for name, value in vars(record).items() if name not in ("outcome", "calls")}
    row |= {name: outcome.get(name) for name in ("exit_code", "ended", "reason", "duration_ms")}
    return row | {name: outcome[name] for name in ("malformed",) if name in outcome}


def _show(record: ExecutionRecord) -> None:
    """A program's output is indented, so that it can't pass for ours."""
    outcome = record.outcome or {}
    output.show(output.styled(f"execution {record.id}", "bold"))
    ended = how_it_ended(record)
    if "duration_ms" in outcome:
        ended += f" after {_milliseconds(outcome['duration_ms'])}"
    rows = [("started", when(record.started_at)), ("agent", record.agent), ("ended", ended)]
    rows += [("reason", str(outcome["reason"]))] if outcome.get("reason") else []
    rows += [("description", record.description)] if record.description else []
    output.show_table(rows, indent="  ")
    lines = record.program.removesuffix("\n").split("\n")
    width = len(str(len(lines)))
    _block("program", "\n".join(f"{number:>{width}}  {line}" for number, line in enumerate(lines, 1)))
    _block("output", str(outcome.get("stdout") or ""))
    _block("errors", str(outcome.get("stderr") or ""))
    if "result" in outcome:
        _block("result", _pretty(outcome["result"]))
    _block("files", _files(outcome.get("files")))
    _block("outcome, which Satchel did not write like this", str(outcome.get("malformed") or ""))
    if read := [*_sources(outcome, "reads"), *_sources(outcome, "read_before", "before it began")]:
        output.show("\nread:")
        output.show_table(read, indent="  ")
    if record.calls:
        output.show("\ncalls:")
        output.show_table((_timeline(record, call) for call in record.calls), indent="  ")


def _sources(outcome: Json, key: str, when: str = "") -> list[tuple[str, str, str]]:
    """What was read: its name, its labels, and when."""
    sources: object = outcome.get(key)
    return [(*_source(source), when) for source in sources] if is_list(sources) else []


def _source(value: object) -> tuple[str, str]:
    if not is_object(value):
        return str(value), ""
    labels: object = value.get("labels")
    return str(value.get("name")), ", ".join(map(str, labels)) if is_list(labels) else ""


def _block(title: str, text: str) -> None:
    if text.strip():
        output.show(f"\n{title}:")
        for line in text.removesuffix("\n").split("\n"):
            output.show(f"  {line}".rstrip())


def _timeline(record: ExecutionRecord, call: CallRecord) -> tuple[str, ...]:
    try:
        began, called = (datetime.fromisoformat(text) for text in (record.started_at, call.started_at))
        after = f"+{(called - began).total_seconds():.3f} s"
    except (ValueError, TypeError):  # one without a zone can't be told apart from one with it
        after = call.started_at
    return (
        after,
        f"{call.server}.{call.tool}",
        call.status,
        _milliseconds(call.duration_ms),
        _sizes(call),
        output.first_line(call.error or ""),
    )


def _pretty(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, indent=2)
    except RecursionError:
        return "(nested too deep to be shown)"


def _files(value: object) -> str:
    return "\n".join(map(_file, value)) if is_list(value) else str(value or "")


def _file(value: object) -> str:
    if is_object(value) and "path" in value and "size" in value:
        return f"{value['path']}  {value['size']} bytes"
    return str(value)


def title(program: str) -> str:
    """Its first words: of a comment or docstring where it begins with one, and not of its imports."""
    words = [_without_marks(line) for line in _IMPORTS.sub("", program[:_LONGEST_HEAD]).split("\n")]
    return output.first_line(next(filter(None, words), program.strip()))


def _without_marks(line: str) -> str:
    """A line without what begins and ends comments and texts."""
    if line.startswith("#!"):
        return ""
    return re.sub(r"""^[\s"'#/*]+|\s*(?:\*+/|\"{3}|'{3})\s*$""", "", line).strip()


def how_it_ended(record: ExecutionRecord) -> str:
    if record.outcome is None:
        return record.state
    if "malformed" in record.outcome:
        return output.first_line(str(record.outcome["malformed"]))
    code = f"exit {record.outcome.get('exit_code')}"
    ended = record.outcome.get("ended")
    return f"{ended}, {code}" if ended else code


def when(text: str) -> str:
    """The time here; the journal has it in UTC. What is not a time is shown as it is."""
    try:
        return datetime.fromisoformat(text).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError):
        return text


def _milliseconds(value: object) -> str:
    if not isinstance(value, int | float):
        return "-" if value is None else str(value)
    return f"{value:.0f} ms" if value < 10_000 else f"{value / 1000:.1f} s"


def _sizes(call: CallRecord) -> str:
    """Of the arguments and of the result, as JSON."""
    result = "" if call.result_size is None else f" → {_size(call.result_size)}"
    return _size(call.arguments_size) + result


def _size(value: object) -> str:
    if not isinstance(value, int | float):
        return str(value)
    return f"{value} B" if value < 10_000 else f"{value / 1024:,.0f} KiB"
