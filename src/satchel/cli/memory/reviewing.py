"""memory review: a person decides, entry by entry, at the terminal itself.

What is shown was written by models and programs that strangers may have told what to write. Each of its lines
stands behind a mark, and characters that are not seen are spelled out.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from functools import partial

from satchel.cli import output
from satchel.cli.deciding import has_terminal, note_no_terminal, typed
from satchel.cli.memory.entries import as_json, count_entries, memories_of, origin_of, place
from satchel.cli.running import run_async
from satchel.model import Entry
from satchel.support.text import label
from satchel.verbs.memory.memories import Memories, readable

_QUESTION = "approve, remove, skip or quit? [a/r/s/q] "
_ATTEMPTS = 3
_IN_TEXT = ("topic", "content", "description", "status", "outcome")


def review_command(options: argparse.Namespace) -> int:
    memories = memories_of(options)
    waiting = run_async(partial(memories.waiting, options.agent))
    if options.json:
        output.show_json({"waiting": [as_json(entry) for entry in waiting]})
        return 0
    if not waiting:
        output.note(f"nothing that '{options.agent}' remembers waits for review")
        return 0
    if not (has_terminal() and sys.stdout.isatty()):  # nobody decides on what goes to a file or a pager
        for number, entry in enumerate(waiting, 1):
            _show(entry, f"{number} of {len(waiting)}")
        if has_terminal():
            output.note("this needs a decision by a person who sees the entries, and they went elsewhere")
            output.note("hint: run satchel memory review without redirecting its output")
        else:
            note_no_terminal(hint="run satchel memory review at one; until then no prompt has these entries")
        return 2
    decided = 0
    for number, entry in enumerate(waiting, 1):
        _show(entry, f"{number} of {len(waiting)}")
        answer = _asked()
        if answer == "q":
            break
        decided += _done(memories, options.agent, entry, answer)
    left = len(waiting) - decided
    output.note(f"decided on {count_entries(decided)}; {left} still waiting")
    return 0


def _show(entry: Entry, number: str) -> None:
    heading = f"{output.styled(number, 'dim')}  {output.styled(label(entry.key), 'bold')}"
    output.show(f"{heading}  {place(entry)}")
    for text in (entry.text, *_rest_of(entry)):  # all of it, however long: that is what is decided on
        for line in readable(text).split("\n"):
            output.show(f"  | {line}")
    if (entry.value or {}).get("read_only") is True:
        output.show("  it asks to be read-only: approved, only people change it")
    output.show_lines(f"  {origin_of(entry)}")


def _rest_of(entry: Entry) -> Iterator[str]:
    """The other keys of an item: programs that open its file read them as well."""
    for key, value in (entry.value or {}).items():
        if not (key in _IN_TEXT and isinstance(value, str) and value in entry.text):
            yield f"{key}: {json.dumps(value, ensure_ascii=False)}"


def _asked() -> str:
    """What the person decides on one entry."""
    for _ in range(_ATTEMPTS):
        word = (typed(_QUESTION) or "quit").strip().casefold()  # without an answer the terminal has ended
        for meant in ("approve", "remove", "skip", "quit"):
            if word and meant.startswith(word):
                return meant[0]
    return "q"


def _done(memories: Memories, agent: str, entry: Entry, answer: str) -> int:
    """Carry out a decision on exactly what was shown; how many entries are decided on."""
    if answer == "s":
        return 0
    decide = memories.approve if answer == "a" else memories.reject
    number = run_async(partial(decide, [entry.digest], agent))
    if not number:
        output.note("it has changed meanwhile, and is left as it is")
    return min(number, 1)
