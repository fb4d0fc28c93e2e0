"""Flows: the rules about data between servers, which of them decides for a pair, and what files carry on."""

from collections.abc import Sequence
from dataclasses import dataclass

from satchel.calls.flow_rules import Match, labels_of_part, matches, sink_of
from satchel.config.control.flows import EFFECTS, LABELS, FlowRule, Then, name_of_rule
from satchel.config.follow import LiveConfiguration
from satchel.errors import ArgumentError, NotFoundError
from satchel.model import Prompt, Resource, Source, Tool
from satchel.verbs.programs.tracing import forget_files, traced_files
from satchel.verbs.servers import Servers

_PARTS = {"resource:": Resource, "prompt:": Prompt}


@dataclass(frozen=True, kw_only=True)
class NamedRule:
    name: str
    rule: FlowRule


@dataclass(frozen=True, kw_only=True)
class FlowAnswer:
    """What happens to a call of `sink` after `source` was read; the rules that say so, strictest first."""

    source: str
    source_labels: tuple[str, ...]
    sink: str
    sink_words: tuple[str, ...]
    then: Then
    matches: tuple[Match, ...]


class Flows:
    """The flows of one open Satchel. Nothing is started."""

    def __init__(self, configuration: LiveConfiguration, servers: Servers) -> None:
        self._configuration = configuration
        self._servers = servers

    def rules(self) -> tuple[NamedRule, ...]:
        self._configuration.follow()
        rules = self._configuration.flows().rules
        return tuple(NamedRule(name=name_of_rule(number), rule=rule) for number, rule in enumerate(rules))

    def check(self, source: str, sink: str) -> FlowAnswer:
        """Which rule would decide. `source` may also be a label, or a server for anything that it returns."""
        self._configuration.follow()
        read = self._source(source)
        if sink in (*EFFECTS, *LABELS):
            raise ArgumentError(
                f"'{sink}' is not a call",
                argument="to",
                hint="name a tool: satchel flows check FROM SERVER.TOOL",
            )
        what = self._part(sink)
        reached = sink_of(self._configuration, what, (what.label,))
        found = matches(self._configuration, reached, (read,))
        return FlowAnswer(
            source=read.name,
            source_labels=tuple(sorted(read.labels)),
            sink=what.qualified_name,
            sink_words=tuple(sorted(reached.words)),
            then=found[0].rule.then if found else "allow",
            matches=tuple(found),
        )

    def files(self, agent: str = "default") -> dict[str, tuple[Source, ...]]:
        """What programs had read that could write to an agent's files, by place."""
        self._configuration.agent(agent)
        return traced_files(self._configuration.follow(), agent)

    def clear(self, agent: str = "default") -> None:
        """Forget that: a person has looked at the files."""
        self._configuration.agent(agent)
        forget_files(self._configuration.follow(), agent)

    def _source(self, name: str) -> Source:
        if name in LABELS:
            return Source(what=f"anything {name}", labels=frozenset({name}))
        known = self._servers.known()
        if any(name in server.spellings for server in known.servers):
            server = known.server(name)
            names = [tool.label for tool in server.tools]
            labels = labels_of_part(self._configuration, server.name, names)
            return Source(server=server.name, what="*", labels=labels, is_cut=True)
        part = self._part(name)
        labels = labels_of_part(self._configuration, part.server, (part.label,))
        return Source(server=part.server, what=part.label, labels=labels)

    def _part(self, name: str) -> Tool | Resource | Prompt:
        """A tool, or `server.resource:ADDRESS` or `server.prompt:NAME`."""
        known = self._servers.known()
        if known.has_tool(name):
            return known.tool(name)
        for server in known.servers:
            for called in server.spellings:
                part = name.removeprefix(f"{called}.")
                for prefix, kind in _PARTS.items():
                    if part != name and part.startswith(prefix):
                        return _made(kind, server.name, part.removeprefix(prefix), tuple(server.aliases))
        if any(name in server.spellings for server in known.servers):
            raise _not_a_part(name, [tool.name for tool in known.server(name).tools])
        return known.tool(name)  # which says what comes close


def _made(
    kind: type[Resource | Prompt], server: str, name: str, aliases: tuple[str, ...]
) -> Resource | Prompt:
    if kind is Resource:
        return Resource(server=server, uri=name, name=name, aliases=aliases)
    return Prompt(server=server, name=name, aliases=aliases)


def _not_a_part(server: str, tools: Sequence[str]) -> NotFoundError:
    hint = f"name one of its tools, such as {server}.{tools[0]}" if tools else f"{server} has no tools"
    return NotFoundError("tool", server, hint=hint)
