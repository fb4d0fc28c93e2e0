"""What a person has to know of a plugin's servers before they are used: where they are, what they read."""

from collections.abc import Iterable
from dataclasses import dataclass

from satchel.config.entries import ServerEntry
from satchel.config.plugins.endpoints import command_digest, host_of
from satchel.config.variables import references


@dataclass(frozen=True, kw_only=True)
class PluginServerFacts:
    """A server of a plugin, in words for a person."""

    name: str
    transport: str
    where: str  # the command line, or the address
    host: str  # empty for a program on this machine
    environment: tuple[str, ...]  # what its process is given, as written
    headers: tuple[str, ...]
    variables: tuple[str, ...]  # of this machine, that its entry refers to
    command: str  # the digest of its command line; empty for a remote one
    endpoint: str
    problem: str
    awaits: str

    @property
    def approvals(self) -> tuple[str, ...]:
        """Its variables as they are approved: each for a host, or for programs here."""
        return tuple(f"{name} {self.host}".strip() for name in self.variables)

    @property
    def consents(self) -> frozenset[str]:
        """What a person agrees to with it; in an update, only what is new has to be asked for again."""
        given = f" with {', '.join(self.environment)}" if self.environment else ""
        place = f"starts {self.where}{given}" if self.command else f"contacts {self.where}"
        header = (f"sends the header {text} to {self.host}" for text in self.headers)
        variables = (f"reads ${name} for {self.host or 'a program here'}" for name in self.variables)
        return frozenset({place, *header, *variables})


def facts_of(entries: Iterable[ServerEntry]) -> list[PluginServerFacts]:
    return [_facts(entry) for entry in entries]


def _facts(entry: ServerEntry) -> PluginServerFacts:
    origin = entry.plugin
    assert origin is not None
    is_program = entry.transport == "stdio"
    texts = [entry.command, *entry.args, *entry.env.values(), entry.cwd or "", entry.url]
    texts += entry.headers.values()
    names = dict.fromkeys(name for text in texts for name in references(text))
    return PluginServerFacts(
        name=entry.name,
        transport=entry.transport,
        where=" ".join([entry.command, *entry.args]) if is_program else entry.url,
        host=host_of(entry),
        environment=tuple(f"{name}={value}" for name, value in entry.env.items()),
        headers=tuple(f"{name}: {value}" for name, value in entry.headers.items()),
        variables=tuple(name for name in names if name not in origin.values and "." not in name),
        command=command_digest(entry) if is_program and entry.command else "",
        endpoint=origin.endpoint,
        problem=entry.problem.brief if entry.problem is not None else "",
        awaits=entry.awaits,
    )
