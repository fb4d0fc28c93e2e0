"""conversations: list, show, export, delete."""

import argparse
import json
import os
from pathlib import Path

from satchel.cli import output
from satchel.cli.looking.journal import when
from satchel.cli.running import run_with_servers
from satchel.model import Caller, ConversationRecord, Json, Message
from satchel.names import count
from satchel.verbs.satchel import Satchel

_FEW = 300  # characters of a result


def list_command(options: argparse.Namespace) -> int:
    found = run_with_servers(
        options, lambda satchel: satchel.conversations.list(agent=options.agent, limit=options.limit)
    )
    if options.json:
        output.show_json({"conversations": [_row(each) for each in found]})
        return 0
    output.show_table(
        [
            (
                each.id,
                when(each.changed_at),
                each.agent,
                each.state,
                f"{each.usage.tokens:,}",
                output.first_line(each.title, 1000),
            )
            for each in found
        ],
        headings=("conversation", "changed", "agent", "state", "tokens", "title"),
        styles={"state": {"running": "green", "interrupted": "yellow"}},
    )
    if not found:
        output.note("no conversations")
        output.note('hint: satchel ask "what you want done" begins one')
    return 0


def show_command(options: argparse.Namespace) -> int:
    record = run_with_servers(options, lambda satchel: _restored(satchel, options.name))
    if options.json:
        output.show_json(_row(record) | {"messages": [_message(each) for each in record.messages]})
        return 0
    output.show(output.styled(record.id, "bold") + f"  {record.agent}  {record.state}")
    usage = record.usage
    cost = f", ${usage.cost:.4f}" if usage.cost else ""
    output.show(f"{count(usage.requests, 'request')}, {usage.tokens:,} tokens{cost}")
    labels = sorted({label for row in record.reads for label in row["labels"]})
    if record.reads:
        names = dict.fromkeys(row["server"] or row["what"] for row in record.reads)
        output.show(f"read: {', '.join(names)}" + (f" ({', '.join(labels)})" if labels else ""))
    for message in record.messages:
        show_message(message)
    return 0


async def _restored(satchel: Satchel, name: str) -> ConversationRecord:
    """A conversation with values in place of privacy tokens: a person reads it."""
    record = await satchel.conversations.get(name)
    people = await satchel.privacy.for_people(Caller(agent=record.agent, conversation=record.id))
    return record if people is None else people.shown(record)


def export_command(options: argparse.Namespace) -> int:
    value = run_with_servers(options, lambda satchel: satchel.conversations.export(options.name))
    if options.output is None:
        output.show_json(value)
        return 0
    write_export(value, options.output)
    return 0


def write_export(value: Json, path: Path) -> None:
    """A conversation into a new file that only this user reads."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:
        json.dump(value, file, ensure_ascii=False, indent=2)
    output.note(f"written to {output.from_here(path)}")


def delete_command(options: argparse.Namespace) -> int:
    record = run_with_servers(options, lambda satchel: satchel.conversations.get(options.name))
    if not options.yes and not output.confirmed(
        f"delete the conversation {record.id} ({output.first_line(record.title)})? [y/N] ", done="deleted"
    ):
        return 1
    run_with_servers(options, lambda satchel: satchel.conversations.delete(record.id))
    output.note(f"the conversation {record.id} is deleted; the journal of its calls stays")
    return 0


def show_message(message: Message) -> None:
    if message.role == "user":
        output.show("\n" + output.styled("you: ", "bold") + output.clean(message.text))
    elif message.role == "model":
        if message.text:
            output.show("\n" + output.styled("agent: ", "bold") + output.clean(message.text))
        for call in message.calls:
            given = call.get("arguments")
            shown = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
            output.show(f"· {output.first_line(call['name'])} {output.first_line(shown or '', _FEW)}")
    elif message.role == "tools":
        for result in message.content.get("results", ()):
            output.show(f"  {result['outcome']}: {output.first_line(result['text'], _FEW)}")
    else:
        skills: list[str] = list(message.content.get("skills", ()))
        output.show(output.styled(f"→ {skills[-1] if skills else 'the router'}", "bold"))


def _row(record: ConversationRecord) -> Json:
    return {
        "id": record.id,
        "agent": record.agent,
        "title": record.title,
        "state": record.state,
        "started_at": record.started_at,
        "changed_at": record.changed_at,
        "usage": record.usage.as_json(),
    }


def _message(message: Message) -> Json:
    return {"role": message.role, "content": dict(message.content), "at": message.at}
