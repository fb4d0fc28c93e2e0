"""Permissions: which tools an agent may call. What it may not call stays visible and is refused here."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

from satchel.calls.addresses import LONGEST, decoded, readings
from satchel.config.agents import AgentSettings
from satchel.errors import ArgumentError, NotAllowedError, NotFoundError
from satchel.model import (
    Call,
    CallResult,
    CallTool,
    Event,
    Link,
    Prompt,
    Question,
    Resource,
    ResourceChanged,
    Tell,
    Tool,
    is_object,
)
from satchel.names import claude_names

_RESOURCE = "resource:"
_DESTRUCTIVE = "destructive"  # instead of a pattern: whatever doesn't only read
_UNCLEAR = _RESOURCE + "\0" * 64  # fits only what allows any address of a server
_BLANK = re.compile("[*?]")
_EXPRESSION = re.compile(r"\{[^{}]*\}")  # of a resource template
_MOST_FILLED = 5 * LONGEST  # characters of all addresses that one completion is about


def is_allowed(agent: AgentSettings, server: str, tool: str, aliases: Iterable[str] = ()) -> bool:
    """Whether the agent may call it. `deny` takes precedence over `allow`.

    Permissions for one name of a server apply to all names: `aliases` are the others. `deny` also knows the
    names that Claude Code gives to it, since a tool that `deny` doesn't recognise would be allowed.

    Names may have dots of their own, so a pattern can be read in several ways. To be allowed, server and tool
    must fit its two sides; to be denied, any reading will do. The same goes for addresses of resources: a
    pattern with a blank allows one only if it allows every way in which a server may read it.
    """
    names, read = (server, *aliases), list(_readings(tool))
    if agent.deny and _is_denied(agent.deny, names, (tool, *read)):
        return False
    return any(_allows(agent, name, tool, read) for name in names)


def is_denied(patterns: Iterable[str], server: str, tool: str, aliases: Iterable[str] = ()) -> bool:
    """Whether one of the patterns is about it in any way in which it can be read, as in `deny`."""
    return _is_denied(patterns, (server, *aliases), (tool, *_readings(tool)))


def _is_denied(patterns: Iterable[str], names: Sequence[str], labels: Sequence[str]) -> bool:
    spelt = (*names, *(spelling for name in names for spelling in claude_names(name)))
    return any(_denies(pattern, name, label) for pattern in patterns for name in spelt for label in labels)


def _allows(agent: AgentSettings, server: str, tool: str, read: Sequence[str]) -> bool:
    """Whether it is allowed by one of its server's names; `read` are the ways to read its address."""
    fitting = [pattern for pattern in agent.allow if fits_tool(pattern, server, tool)]
    if any(not _has_blank(pattern) or pattern == f"{server}.{tool}" for pattern in fitting):
        return True
    return bool(fitting) and all(
        any(fits_tool(form, server, label) for pattern in agent.allow for form in _forms(pattern))
        for label in _readings(tool, fitting)
    )


def _denies(pattern: str, server: str, tool: str) -> bool:
    if fits_tool(pattern, server, tool) or fits(pattern, server) or fits(pattern, f"{server}.{tool}"):
        return True
    return "__" in pattern and fits(pattern.removeprefix("mcp__"), f"{server}__{tool}".removeprefix("mcp__"))


def _readings(label: str, patterns: Iterable[str] = ()) -> Iterator[str]:
    """The ways to read what permissions call an address, besides as it is written.

    What one of the patterns writes out, up to its first blank, is meant as it is.
    """
    if label.startswith(_RESOURCE):
        addresses = [form.partition(_RESOURCE)[2] for pattern in patterns for form in _forms(pattern)]
        written = [_BLANK.split(address, maxsplit=1)[0] for address in addresses]
        found = readings(label.removeprefix(_RESOURCE), written)
        yield from (_UNCLEAR,) if found is None else (_RESOURCE + address for address in found)


def _has_blank(pattern: str) -> bool:
    return _BLANK.search(pattern) is not None


def _forms(pattern: str) -> Iterator[str]:
    """A pattern as it is written, and for addresses that were decoded."""
    yield pattern
    plain = decoded(pattern) if "%" in pattern else None
    if plain is not None and _blanks(plain) == _blanks(pattern):  # `%2a` is not a blank
        yield plain


def _blanks(pattern: str) -> int:
    return pattern.count("*") + pattern.count("?")


def is_read_only(tool: Tool, patterns: Sequence[str]) -> bool:
    """Whether a tool only reads: its server says so, or one of the patterns does."""
    if tool.annotations.get("readOnlyHint") is True:
        return True
    return any(names_tool(pattern, tool) for pattern in patterns)


def names_tool(pattern: str, tool: Tool) -> bool:
    """Whether a pattern of the settings is about a tool: as here, or as models and programs spell it."""
    if any(fits_tool(pattern, server, tool.name) for server in (tool.server, *tool.aliases)):
        return True
    if "." not in pattern and "__" not in pattern:
        return False
    return any(fits(pattern.replace(".", "__"), name) for name in tool.wire_names)


def _is_named(what: Tool | Resource | Prompt, patterns: Sequence[str]) -> bool:
    """Whether a skill's allowed-tools name it: as here, by its name on the wire, or as Claude does."""
    names = list(_names_of(what, what.label))
    if isinstance(what, Tool):
        names += [name for wire in what.wire_names for name in (wire, f"mcp__{wire}")]
    fitting = [pattern for pattern in patterns if any(fits(pattern, name) for name in names)]
    if not isinstance(what, Resource) or any(not _has_blank(pattern) for pattern in fitting):
        return bool(fitting)
    return bool(fitting) and all(
        any(
            fits(form, name)
            for pattern in patterns
            for form in _forms(pattern)
            for name in _names_of(what, label)
        )
        for label in _readings(what.label, fitting)
    )


def _names_of(what: Tool | Resource | Prompt, label: str) -> Iterator[str]:
    """The spellings of a part of a server, by every name of the server."""
    for server in (what.server, *what.aliases):
        yield from (f"{server}.{label}", f"mcp__{server}__{label}", f"mcp__{server}")
        for place in claude_names(server):
            yield from (place, f"{place}__{label}")


class Rules(Protocol):
    """The current settings of agents and tools, from `config/follow.py`."""

    def agent(self, name: str) -> AgentSettings: ...

    def aliases_of(self, server: str) -> Sequence[str]:
        """The server's other names; permissions for one name apply to all."""
        ...

    def read_only_tools(self) -> Sequence[str]:
        """Patterns of tools that only read, though their servers don't say so."""
        ...


def check_policy(rules: Rules, note_denied: Callable[[Call], None]) -> Link:
    """Refuse what the caller may not do, and note that it tried."""

    def link(call_next: CallTool) -> CallTool:
        async def check(call: Call) -> CallResult:
            _check_label(call.what.label)
            refusal = _refusal(call, rules)
            if refusal is not None:
                note_denied(call)
                raise refusal
            if call.action == "follow":
                call = replace(call, tell=_while_allowed(call, rules))
            if rules.agent(call.caller.agent).approve and (asked := _question(call, rules)) is not None:
                call = replace(call, questions=(*call.questions, asked))
            return await call_next(call)

        return check

    return link


def _while_allowed(call: Call, rules: Rules) -> Tell:
    """A resource may be followed for days, and permissions change: what is not allowed now is not told."""

    def told(event: Event) -> None:
        if not isinstance(event, ResourceChanged) or _is_allowed_now(call, rules):
            call.tell(event)

    return told


def _is_allowed_now(call: Call, rules: Rules) -> bool:
    with suppress(NotFoundError):  # the agent is not in the settings any more
        return _refusal(call, rules) is None
    return False


def _refusal(call: Call, rules: Rules) -> NotAllowedError | None:
    what, caller = call.what, call.caller
    if caller.only is not None and not _is_named(what, caller.only):
        return NotAllowedError(
            caller.agent,
            what.qualified_name,
            why=f"the active skill allows only {', '.join(caller.only) or 'nothing'}"[:300],
            hint="view another skill, or change its allowed-tools",
        )
    if caller.read_only and isinstance(what, Tool) and not is_read_only(what, rules.read_only_tools()):
        return NotAllowedError(
            caller.agent,
            what.qualified_name,
            why="this program may only call tools that read",
            hint="use execute_code, or name the tool in read_only_tools in satchel.yaml",
        )
    agent = rules.agent(caller.agent)
    aliases = {*rules.aliases_of(what.server), *what.aliases}
    if not all(is_allowed(agent, what.server, label, aliases) for label in (what.label, *completed(call))):
        return NotAllowedError(
            caller.agent,
            what.qualified_name,
            hint=f"agents.{caller.agent} in satchel.yaml says what it may call",
        )
    return None


def _question(call: Call, rules: Rules) -> Question | None:
    """Why a person has to agree to a call, if the agent's settings say so."""
    what, rule = call.what, f"agents.{call.caller.agent}.approve"
    patterns = rules.agent(call.caller.agent).approve
    names = tuple(dict.fromkeys((what.server, *rules.aliases_of(what.server), *what.aliases)))
    labels = [label for each in (what.label, *completed(call)) for label in (each, *_readings(each))]
    fitting = (one for one in patterns if one != _DESTRUCTIVE and _is_denied((one,), names, labels))
    pattern = next(fitting, None)
    if pattern is not None:
        return Question(rule=rule, why=f"'{pattern}' is in the list of calls that a person agrees to")
    writes = isinstance(what, Tool) and not is_read_only(what, rules.read_only_tools())
    if _DESTRUCTIVE in patterns and writes:
        return Question(rule=rule, why="it may change something: its server doesn't say that it only reads")
    return None


def _check_label(label: str) -> None:
    """Refuse a name or an address that can't be sent, or that is too long to be kept in the journal."""
    if len(label) > LONGEST:
        raise ArgumentError(f"a name or an address of more than {LONGEST:,} characters")
    try:
        label.encode()
    except UnicodeEncodeError as error:
        raise ArgumentError(f"{label[:200]!a} is not valid Unicode: {error.reason}") from None


def completed(call: Call) -> Iterator[str]:
    """The addresses that a template becomes with the values of a completion, where they lead elsewhere.

    A server may list what is there: completing `../` must tell no more than reading `../` would.
    """
    if call.action != "complete" or not isinstance(call.what, Resource):
        return
    argument, context = call.arguments.get("argument"), call.arguments.get("context")
    given: object = context.get("arguments") if is_object(context) else None
    values = [argument.get("value")] if is_object(argument) else []
    values += given.values() if is_object(given) else ()
    texts = [value for value in values if isinstance(value, str)]
    times = len(_EXPRESSION.findall(call.what.uri)) + 1
    if sum(len(call.what.uri) + times * len(text) for text in texts) > _MOST_FILLED:
        raise ArgumentError("the values are too many or too long for a completion")
    for text in texts:
        filled = _EXPRESSION.sub(lambda expression, text=text: text, call.what.uri)
        # `/etc` leads elsewhere only behind a slash, and what is not typed yet leads nowhere.
        if _has_readings(text) or (_has_readings(f"x/{text}") and _has_readings(filled)):
            yield _RESOURCE + filled


def _has_readings(address: str) -> bool:
    """Whether it can be read as something that it does not say."""
    return readings(address) != frozenset({address})


def fits_tool(pattern: str, server: str, tool: str) -> bool:
    """`server.tool`, or a server alone, which is all of its tools."""
    dots = [place for place, character in enumerate(pattern) if character == "."]
    if any(fits(pattern[:dot], server) and fits(pattern[dot + 1 :], tool) for dot in dots):
        return True
    return pattern == server if dots else fits(pattern, server)


def fits(pattern: str, name: str) -> bool:
    """`*` is any text and `?` any character; all else is itself. Takes no longer for any name or pattern."""
    at = star = matched = 0
    place = 0
    has_star = False
    while place < len(name):
        if at < len(pattern) and pattern[at] == "*":
            has_star, star, matched = True, at, place
            at += 1
        elif at < len(pattern) and pattern[at] in ("?", name[place]):
            at += 1
            place += 1
        elif has_star:  # the last * takes one character more
            matched += 1
            at, place = star + 1, matched
        else:
            return False
    return pattern[at:].strip("*") == ""
