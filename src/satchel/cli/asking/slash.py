"""The commands of a chat that begin with a slash: one table. Those of plugins and skills are the loop's."""

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol, cast

from satchel.cli import output
from satchel.cli.asking.conversations import show_message, write_export
from satchel.cli.asking.person import Person
from satchel.cli.looking.journal import when
from satchel.cli.memory.entries import place
from satchel.config.agents import Mode
from satchel.errors import ArgumentError, NotFoundError
from satchel.model import ConversationRecord
from satchel.names import closest, count
from satchel.support.charging import apart
from satchel.toolset import PATIENCE, Toolset
from satchel.toolset.prompting import level_within
from satchel.verbs.satchel import Satchel

_MOST_LISTED = 10
_MOST_SHOWN = 4  # messages of a conversation that is gone on with


class Chat(Protocol):
    """What these commands see and change of a chat."""

    satchel: Satchel
    person: Person
    agent: str
    mode: str | None
    conversation: str | None
    skill: str | None
    is_over: bool


@dataclass(frozen=True, kw_only=True)
class Slash:
    about: str
    run: Callable[[Chat, str], Awaitable[None]]
    takes: str = ""


async def _help(chat: Chat, words: str) -> None:
    rows = [(f"/{name} {each.takes}".rstrip(), each.about) for name, each in SLASHES.items()]
    rows += [(f"/{each.identity}", each.description) for each in await apart(_commands, chat)]
    output.show_table(rows, indent="  ")
    output.note("Enter sends, Alt-Enter begins a new line, Ctrl-C stops the agent, Ctrl-D leaves")


async def _skills(chat: Chat, words: str) -> None:
    skills = await apart(chat.satchel.skills.used, chat.agent)
    output.show_table([(each.name, output.first_line(each.description, 1000)) for each in skills])
    if not skills:
        output.note(f"the agent {chat.agent} has no skills")


async def _skill(chat: Chat, words: str) -> None:
    if not words:
        raise ArgumentError("/skill needs the name of a skill", hint="/skills shows all")
    skill = await apart(chat.satchel.skills.find, words, chat.agent)
    chat.skill = skill.name
    output.note(f"your next message goes to {output.first_line(skill.name)}")


async def _tools(chat: Chat, words: str) -> None:
    record = await _record(chat)
    stack = record.skills if record is not None else ()
    mode = cast("Mode | None", chat.mode)  # one of the choices of its option

    def definitions() -> list[tuple[str, str]]:
        make = partial(Toolset, chat.satchel, agent=chat.agent, mode=mode)
        level = level_within(chat.satchel, chat.agent, make().first_level, stack)
        shown = make(level=level).definitions()
        return [(each["name"], output.first_line(each.get("description") or "", 1000)) for each in shown]

    await chat.satchel.servers.list_new(PATIENCE)
    output.show_table(await apart(definitions))


async def _memory(chat: Chat, words: str) -> None:
    remembered = await chat.satchel.memory.entries(chat.agent)
    output.show_table(
        [
            (place(each), "waits" if each.is_waiting else "", output.first_line(each.text, 1000))
            for each in remembered.entries
        ]
    )
    if not remembered.entries:
        output.note(f"the agent {chat.agent} remembers nothing yet")


async def _usage(chat: Chat, words: str) -> None:
    record = await _record(chat)
    if record is None:
        output.note("nothing was asked yet")
        return
    usage = record.usage
    cost = "at a price that is not known" if usage.cost is None else f"${usage.cost:.4f}"
    tokens = f"{usage.input_tokens:,} tokens read, {usage.output_tokens:,} written"
    output.show(f"{record.id}: {count(usage.requests, 'request')}, {tokens}, {cost}")


async def _approve(chat: Chat, words: str) -> None:
    waiting = await chat.satchel.approvals.list_all(agent=chat.agent)
    for approval in waiting:
        await chat.person.decide(approval.id)
    if not waiting:
        output.note("nothing waits")
    elif await needs_going_on(chat.satchel, chat.conversation):
        output.note("hint: Enter goes on with what has waited")


async def _new(chat: Chat, words: str) -> None:
    chat.conversation = chat.skill = None
    output.note("a new conversation begins with your next message")


async def _resume(chat: Chat, words: str) -> None:
    if not words:
        found = await chat.satchel.conversations.list(agent=chat.agent, limit=_MOST_LISTED)
        output.show_table(
            [(each.id, when(each.changed_at), each.state, output.first_line(each.title)) for each in found]
        )
        output.note("hint: /resume ID goes on with one" if found else "no conversations")
        return
    await take_up(chat, words)


async def take_up(chat: Chat, id: str) -> None:
    """Go on with a conversation: its end is shown, and what to do if it stopped in the middle."""
    record = await chat.satchel.conversations.get(id)
    if record.agent != chat.agent:
        raise ArgumentError(
            f"the conversation {record.id} is one of the agent {record.agent}",
            hint=f"satchel chat --resume {record.id}",
        )
    chat.conversation, chat.skill = record.id, None
    for message in record.messages[-_MOST_SHOWN:]:
        show_message(message)
    if await needs_going_on(chat.satchel, record.id):
        output.note("it stopped in the middle; hint: Enter goes on, and nothing is done twice")


async def needs_going_on(satchel: Satchel, id: str | None) -> bool:
    """Whether a conversation ended otherwise than with an answer."""
    if id is None:
        return False
    messages = (await satchel.conversations.get(id)).messages
    return bool(messages) and (messages[-1].role != "model" or bool(messages[-1].calls))


async def _export(chat: Chat, words: str) -> None:
    if chat.conversation is None:
        raise ArgumentError("there is no conversation yet", hint="write something first")
    value = await chat.satchel.conversations.export(chat.conversation)
    path = Path(words or f"conversation-{chat.conversation}.json")
    try:
        await apart(write_export, json.loads(json.dumps(value)), path)
    except OSError as error:
        raise ArgumentError(f"{path} can't be written: {error.strerror}", hint="/export FILE") from error


async def _exit(chat: Chat, words: str) -> None:
    chat.is_over = True


SLASHES: Mapping[str, Slash] = {
    "help": Slash(about="show this", run=_help),
    "skills": Slash(about="list the agent's skills", run=_skills),
    "skill": Slash(about="have the specialist of a skill answer next", takes="NAME", run=_skill),
    "tools": Slash(about="list the tools that the model is shown now", run=_tools),
    "memory": Slash(about="show what the agent remembers", run=_memory),
    "usage": Slash(about="show requests, tokens and cost of this conversation", run=_usage),
    "approve": Slash(about="decide on calls that wait", run=_approve),
    "new": Slash(about="begin a new conversation", run=_new),
    "resume": Slash(about="go on with a conversation, or list the last ones", takes="[ID]", run=_resume),
    "export": Slash(about="write this conversation to a new file", takes="[FILE]", run=_export),
    "exit": Slash(about="leave", run=_exit),
}


async def run_slash(chat: Chat, text: str) -> bool:
    """Do what a line says that begins with a slash; false for what is the loop's."""
    name, words = split(text)
    slash = SLASHES.get(name)
    if slash is not None:
        await slash.run(chat, words)
        return True
    if "/" in name:  # a path, or a command of a plugin in its long spelling
        return False
    try:
        await apart(chat.satchel.commands.registry(chat.agent).find, name)
    except NotFoundError as error:
        near = [f"/{each}" for each in closest(name, [*SLASHES])]
        near += error.closest
        hint = None if near else "/help shows all commands"
        raise NotFoundError("command", error.name, closest=near, hint=hint) from None
    return False


def split(text: str) -> tuple[str, str]:
    name, _, words = text[1:].partition(" ")
    return name.strip(), words.strip()


def completions(chat: Chat, before: str) -> Iterator[tuple[str, str]]:
    """What a line that begins like this could become."""
    name, blank, rest = before[1:].partition(" ")
    if not blank:
        for known, slash in SLASHES.items():
            if known.startswith(name):
                yield f"/{known}", slash.about
        for command in _commands(chat):
            if name in (command.identity[: len(name)], command.name[: len(name)]):
                yield f"/{command.identity}", command.description
    elif name == "skill":
        for skill in chat.satchel.skills.used(chat.agent):
            if skill.name.startswith(rest):
                yield f"/skill {skill.name}", skill.description


def _commands(chat: Chat):  # its type is that of the verb
    return chat.satchel.commands.of(chat.agent)


async def _record(chat: Chat) -> ConversationRecord | None:
    return None if chat.conversation is None else await chat.satchel.conversations.get(chat.conversation)
