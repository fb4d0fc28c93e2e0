"""memory list, show, search, add, edit, forget."""

import argparse
import os
import shlex
import subprocess
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from satchel.cli import output
from satchel.cli.running import run_async
from satchel.errors import ArgumentError, SatchelError
from satchel.model import Entry, FoundLine, Json, MemoryProblem, Remembered
from satchel.support.text import label
from satchel.verbs.memory.memories import CORE, Memories, open_memories

_LONGEST = 1_000  # characters of an entry in a line
_STATES = {"waits": "yellow", "read-only": "dim"}


def list_command(options: argparse.Namespace) -> int:
    memories = memories_of(options)
    found = run_async(partial(memories.entries, options.agent))
    entries = [
        entry
        for entry in found.entries
        if options.file in (None, entry.file) and (entry.is_waiting or not options.waiting)
    ]
    if options.json:
        problems = [vars(problem) for problem in found.problems]
        output.show_json({"entries": [as_json(entry) for entry in entries], "problems": problems})
        return 0
    output.show_table(
        [(place(entry), entry.key, _state(entry), _in_a_line(entry.text)) for entry in entries],
        headings=("place", "key", "state", "text"),
        optional=("state",),
        styles={"state": _STATES},
    )
    _note_problems(found)
    if not found.entries:
        output.note(f"the agent '{options.agent}' remembers nothing yet")
        output.note("hint: satchel memory add TEXT has it remember something")
        return 0
    waiting = sum(entry.is_waiting for entry in entries)
    output.note(f"{count_entries(len(entries))}, {waiting} waiting for review")
    if waiting:
        output.note("hint: satchel memory review shows them, and asks")
    return 0


def show_command(options: argparse.Namespace) -> int:
    entry = run_async(partial(memories_of(options).entry, options.key, options.agent))
    if options.json:
        output.show_json(as_json(entry))
        return 0
    output.show(output.styled(entry.key, "bold") + f"  {place(entry)}")
    output.show_table([*_about(entry)], indent="  ")
    output.show("")
    output.show(entry.text)
    return 0


def search_command(options: argparse.Namespace) -> int:
    query = " ".join(options.query)
    found = run_async(partial(memories_of(options).search, query, options.agent, limit=options.limit))
    if options.json:
        output.show_json({"query": query, "found": [_line_as_json(line) for line in found]})
        return 0
    output.show_table(
        [(f"{line.file}:{line.line}", "waits" * line.is_waiting, _in_a_line(line.text)) for line in found],
        headings=("place", "state", "text"),
        styles={"state": _STATES},
        whole=True,
    )
    if not found:
        output.note(f"nothing fits '{label(query)}'; satchel memory list shows all entries")
    return 0


def add_command(options: argparse.Namespace) -> int:
    content, topic, file = options.content, options.topic, options.file or CORE
    if file.endswith((".yaml", ".yml")) and topic is None:
        topic, equals, content = content.partition("=")
        if not equals or not topic.strip():
            raise ArgumentError(
                f"'{label(options.content)}' is not KEY=VALUE, which {label(file)} needs",
                hint=f"satchel memory add language=German --file {label(file)}",
            )
        topic, content = topic.strip(), content.strip()
    entry = run_async(
        partial(
            memories_of(options).add,
            content,
            options.agent,
            topic=topic,
            file=file,
            read_only=options.read_only,
        )
    )
    if options.json:
        output.show_json(as_json(entry))
        return 0
    output.note(f"'{options.agent}' remembers {place(entry)}  {label(entry.key)}")
    return 0


def edit_command(options: argparse.Namespace) -> int:
    memories = memories_of(options)
    entry = run_async(partial(memories.entry, options.key, options.agent))
    before = memories.content_of(entry)
    content = options.content if options.content is not None else _edited(before)
    if content == before:
        output.note("nothing was changed")
        return 0
    changed = run_async(partial(memories.edit, entry.digest, content, options.agent))
    output.note(f"changed {place(changed)}  {label(changed.key)}")
    if changed.is_waiting:
        output.note("it waits for review, as it did: satchel memory review shows all of it, and asks")
    return 0


def _edited(text: str) -> str:
    """What a person makes of a text in an editor."""
    editor = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
    if not sys.stdin.isatty():
        raise ArgumentError("there is no terminal to edit at", hint="--content gives the new text")
    with TemporaryDirectory(prefix="satchel-") as directory:
        file = Path(directory) / "entry.md"
        file.write_text(text + "\n", encoding="utf-8")
        try:
            done = subprocess.run([*editor, str(file)], check=False)
        except OSError as error:
            raise ArgumentError(
                f"the editor {editor[0]} can't be started: {error.strerror}",
                hint="set EDITOR, or give the new text with --content",
            ) from error
        if done.returncode:
            raise ArgumentError(
                f"the editor {editor[0]} ended with {done.returncode}; nothing was changed",
                hint="--content gives the new text without an editor",
            )
        edited = file.read_text(encoding="utf-8", errors="replace")
    return edited.removesuffix("\n")


def forget_command(options: argparse.Namespace) -> int:
    memories = memories_of(options)
    entry = run_async(partial(memories.entry, options.key, options.agent))
    run_async(partial(memories.forget, entry.digest, options.agent))
    output.note(f"forgot {place(entry)}  {_in_a_line(entry.text)}")
    return 0


def memories_of(options: argparse.Namespace) -> Memories:
    """The project's memories; the agent that is named has one."""
    memories = open_memories(getattr(options, "config", None))
    memories.of(options.agent)
    return memories


def known_keys(config: Path | None, agent: str) -> list[str]:
    """Keys to complete. A broken configuration completes nothing and says nothing."""
    try:
        found = run_async(partial(open_memories(config).entries, agent))
    except SatchelError:
        return []
    return [entry.key for entry in found.entries]


def count_entries(number: int) -> str:
    return "1 entry" if number == 1 else f"{number} entries"


def place(entry: Entry | MemoryProblem) -> str:
    return f"{entry.file}:{entry.line}" if entry.line else entry.file


def as_json(entry: Entry) -> Json:
    return {
        "file": entry.file,
        "line": entry.line,
        "kind": entry.kind,
        "key": entry.key,
        "text": entry.text,
        "value": entry.value,
        "digest": entry.digest,
        "waiting": entry.is_waiting,
        "why": entry.why or None,
        "by": entry.by or None,
        "agent": entry.agent,
        "execution": entry.execution,
        "at": entry.at or None,
        "read_only": entry.read_only,
    }


def _line_as_json(line: FoundLine) -> Json:
    return {"file": line.file, "line": line.line, "text": line.text, "waiting": line.is_waiting}


def _in_a_line(text: str) -> str:
    return output.first_line(" ".join(text[:_LONGEST].split()), _LONGEST)


def _state(entry: Entry) -> str:
    return "waits" if entry.is_waiting else "read-only" if entry.read_only else ""


def _about(entry: Entry) -> list[tuple[str, str]]:
    return [
        *([("state", "read-only: only people change it")] if entry.read_only else []),
        *([("state", "waits for review; models are not told of it")] if entry.is_waiting else []),
        *([("origin", origin)] if (origin := origin_of(entry)) else []),
        ("digest", entry.digest),
    ]


def origin_of(entry: Entry) -> str:
    """Its writer, its time, and why it waits."""
    who = {"person": "a person", "satchel": "Satchel", "model": "a model or its program"}.get(entry.by, "")
    parts = (
        f"written by {who}" if who else "",
        f"of the agent {label(entry.agent)}" if entry.agent else "",
        f"in execution {label(entry.execution)}" if entry.execution else "",
        f"at {label(entry.at)}" if entry.at else "",
    )
    written = " ".join(part for part in parts if part)
    return "; ".join(part for part in (written, entry.why) if part)


def _note_problems(found: Remembered) -> None:
    for problem in found.problems:
        output.note(f"{label(place(problem))}: {problem.message}")
