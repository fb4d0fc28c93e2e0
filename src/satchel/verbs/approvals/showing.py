"""An approval in words, for the person who decides on it.

Programs and models wrote most of what is shown, and strangers may have told them what to write. Each of its
lines stands behind a mark, what is not seen is spelled out, and what is cut says so.
"""

import json
from collections.abc import Iterator
from typing import Any

from satchel.model import Approval, is_list, is_object
from satchel.support.text import folded, label

_LONGEST_VALUE = 2_000  # characters
_WIDTH = 70  # columns of a line: one that a terminal breaks could begin like a line of ours
_MOST_LINES = 200
_MOST_SOURCES = 20


def shown(approval: Approval) -> Iterator[str]:
    """The lines that a person is shown before deciding."""
    for line in _whole_lines(approval):
        first, *others = folded(line, _WIDTH + 4)
        yield first
        yield from (f"  | {other}" for other in others)


def _whole_lines(approval: Approval) -> Iterator[str]:
    yield f"approval {approval.id}: agent '{_word(approval.agent)}' wants to call {_escaped(approval.name)}"
    yield f"  server: {_word(approval.server)}"
    for question in approval.questions:
        yield f"  because of {_word(question.rule)}: {_word(question.why, 500)}"
    yield from _arguments(approval)
    yield from _read(approval)
    if approval.execution is not None:
        yield f"  program: satchel show-execution {approval.execution}"
    if approval.summary:
        yield f"  the model's own words about it: “{_word(approval.summary, 300)}”"
    if approval.client:
        yield f"  asked for by the client that calls itself “{_word(approval.client, 60)}”"
    yield "  yes: this call is sent, once, with exactly these arguments"
    yield "  no: nothing is sent, and the program is told that a person said no"


def _arguments(approval: Approval) -> Iterator[str]:
    arguments = approval.sent_arguments
    if arguments is None:
        yield "  arguments: not kept any more, or sealed by another user"
        return
    yield "  arguments, as edited:" if approval.edited is not None else "  arguments:"
    if not arguments:
        yield "  | (none)"
    lines = [line for name, value in arguments.items() for line in _lines(name, value)]
    yield from (f"  | {line}" for line in lines[:_MOST_LINES])
    if len(lines) > _MOST_LINES:
        yield f"  … {len(lines) - _MOST_LINES:,} more lines are not shown: --json has all of them"


def _lines(name: str, value: Any) -> Iterator[str]:
    """One value a line; what is nested has the path to it."""
    if is_object(value) and value:
        for key, part in value.items():
            yield from _lines(f"{name}.{key}", part)
    elif is_list(value) and value:
        for place, part in enumerate(value):
            yield from _lines(f"{name}[{place}]", part)
    else:
        text = f"{_word(name)} = {_escaped(json.dumps(value, ensure_ascii=False))}"
        first, *others = folded(text, _WIDTH - 4)
        yield first
        yield from (f"    {other}" for other in others)


def _word(text: str, most: int = 200) -> str:
    """A name, or words, in one line."""
    return _seen(label(text, most))


def _escaped(text: str) -> str:
    """All that can be seen of a text, and the numbers of what can't, cut to a length."""
    left_out = len(text) - _LONGEST_VALUE
    cut = text[:_LONGEST_VALUE]
    plain = _seen(cut)
    return plain if left_out <= 0 else f"{plain}… [{left_out:,} more characters are not shown]"


def _seen(text: str) -> str:
    return "".join(each if each.isprintable() else _number(each) for each in text)


def _number(character: str) -> str:
    number = ord(character)
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"


def _read(approval: Approval) -> Iterator[str]:
    if not approval.reads:
        yield "  read before: nothing"
        return
    yield "  read before:"
    for source in approval.reads[:_MOST_SOURCES]:
        labels = f" ({_word(', '.join(sorted(source.labels)))})" if source.labels else ""
        yield f"  | {_word(source.name)}{labels}"
    if len(approval.reads) > _MOST_SOURCES:
        yield f"  … and {len(approval.reads) - _MOST_SOURCES:,} more"
