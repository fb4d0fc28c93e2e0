"""The snapshot: every server and tool, and the look-ups by any of their spellings."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from satchel.catalog.cached import CachedServer, CachedTool
from satchel.catalog.states import sentence, shows_no_tools
from satchel.config import ServerEntry
from satchel.errors import NotFoundError
from satchel.model import (
    Change,
    Json,
    Prompt,
    PromptArgument,
    Resource,
    Server,
    State,
    Tool,
    is_list,
    is_object,
)
from satchel.names import Spelling, claude_names, closest, wire_name


@dataclass(frozen=True, kw_only=True)
class Known:
    """The state of a server, its problems in full and in brief, and its cached listing."""

    state: State
    error: str | None = None
    reason: str = ""
    cached: CachedServer | None = None


@dataclass(frozen=True)
class Snapshot:
    """Immutable; a change of any server makes a new one."""

    servers: tuple[Server, ...]

    @cached_property
    def tools(self) -> tuple[Tool, ...]:
        return tuple(tool for server in self.servers for tool in server.tools)

    @property
    def tool_count(self) -> int:
        return sum(server.tool_count for server in self.servers)

    @cached_property
    def _servers(self) -> dict[str, Server]:
        found: dict[str, Server] = {}
        for spell in (_written, _python, _typescript, _wire):
            for server in self.servers:
                found.setdefault(spell(server.name, server.spelling), server)
            for server, name, spelling in self._aliases:  # no alias stands in for another server's own name
                found.setdefault(spell(name, spelling), server)
        for server in self.servers:
            for name in (server.name, *server.aliases):
                for spelt in claude_names(name):
                    found.setdefault(spelt, server)
        return found

    @cached_property
    def _aliases(self) -> list[tuple[Server, str, Spelling]]:
        return [(server, *alias) for server in self.servers for alias in server.aliases.items()]

    @cached_property
    def _by_qualified_name(self) -> dict[str, list[Tool]]:
        found: dict[str, list[Tool]] = {}
        for tool in self.tools:
            found.setdefault(tool.qualified_name, []).append(tool)
        for server, name, _ in self._aliases:
            for tool in server.tools:
                found.setdefault(f"{name}.{tool.label}", [tool])
        return found

    @cached_property
    def _by_other_spelling(self) -> dict[str, Tool]:
        """Wire names, identifiers of both languages, and names with the server spelled in any way."""
        found: dict[str, Tool] = {}
        for server in self.servers:
            for tool in server.tools:
                found.setdefault(tool.wire_name, tool)
        for server, _, spelling in self._aliases:
            for tool in server.tools:
                found.setdefault(wire_name(spelling, tool.spelling), tool)
        for server in self.servers:
            _note_places(found, server, (server.name, server.spelling.python, server.spelling.typescript))
        for server, name, spelling in self._aliases:
            _note_places(found, server, (name, spelling.python, spelling.typescript))
        for server in self.servers:
            for name in (server.name, *server.aliases):
                _note_places(found, server, claude_names(name))
        return found

    def server(self, name: str) -> Server:
        """The server of that name, in any spelling, or NotFoundError with the closest names."""
        server = self._servers.get(name)
        if server is None:
            names = [known.name for known in self.servers]
            near = closest(name, names)
            hint = (
                None if near else _offer(names) if names else "satchel init or satchel add configures servers"
            )
            raise NotFoundError("server", name, closest=near, hint=hint)
        return server

    def named(self, names: Iterable[str]) -> set[str]:
        """The servers among these, which may be spelled in any way."""
        return {self._servers[name].name for name in names if name in self._servers}

    def servers_of(self, tools: Iterable[str]) -> set[str]:
        """The servers whose tools or prompts these would be."""
        return {server.name for tool in tools if (server := self.begun_with(tool)) is not None}

    def tool(self, name: str) -> Tool:
        """The tool of that name: `server.tool`, a wire name, or identifiers. A look-up, never a split."""
        exact = self._by_qualified_name.get(name)
        if exact:
            if len(exact) > 1:
                choices = [tool.wire_name for tool in exact]
                hint = f"that is two tools; write {' or '.join(choices)}"
                raise NotFoundError("tool", name, closest=choices, hint=hint)
            return exact[0]
        tool = self._by_other_spelling.get(name)
        if tool is None:
            raise self._no_tool(name)
        return tool

    def has_tool(self, name: str) -> bool:
        """Whether `tool` finds one of that name, or two. Says so at once, however many there are."""
        return name in self._by_qualified_name or name in self._by_other_spelling

    def begun_with(self, name: str) -> Server | None:
        """The server whose tool a name would be, whether or not it has one of that name."""
        begun = [key for key in self._servers if name.startswith((f"{key}.", f"{key}/", f"{key}__"))]
        return self._servers[max(begun, key=len)] if begun else None

    def _no_tool(self, name: str) -> NotFoundError:
        server = self.begun_with(name)
        if server is not None and shows_no_tools(server):
            return NotFoundError("tool", name, hint=sentence(server))
        if server is not None:
            near = closest(name, [tool.qualified_name for tool in server.tools])
            hint = None if near else f"search_tools finds the tools of {server.name}"
            return NotFoundError("tool", name, closest=near, hint=hint)
        near = closest(name, self._by_qualified_name) or closest(name, [tool.name for tool in self.tools])
        shown = [
            tool.qualified_name for tool in self.tools if tool.name in near or tool.qualified_name in near
        ]
        hint = None if shown else "search_tools finds tools"
        if not shown and (
            server_near := closest(name.split(".")[0], [s.name for s in self.servers], limit=1)
        ):
            hint = f"did you mean a tool of {server_near[0]}? search_tools finds them"
        return NotFoundError("tool", name, closest=shown[:3], hint=hint)

    def replace(self, server: Server) -> "Snapshot":
        """The snapshot with one server's part exchanged."""
        return Snapshot(tuple(server if old.name == server.name else old for old in self.servers))


def build_snapshot(
    entries: Iterable[ServerEntry],
    spellings: Mapping[str, Spelling],
    read: Callable[[ServerEntry], Known],
    is_quarantined: Callable[[ServerEntry], bool] = lambda entry: False,
) -> Snapshot:
    """One server after the other; `read` tells what is known of it."""
    return Snapshot(tuple(build_server(entry, spellings, read(entry), is_quarantined) for entry in entries))


def build_server(
    entry: ServerEntry,
    spellings: Mapping[str, Spelling],
    known: Known,
    is_quarantined: Callable[[ServerEntry], bool] = lambda entry: False,
) -> Server:
    """One server's part. The cache came from the server: nothing in it may affect the others.

    Of one that `is_quarantined`, tools with changes are held: shown without words that nobody has accepted.
    """
    plain = Server(
        name=entry.name,
        spelling=spellings[entry.name],
        aliases={name: spellings[name] for name in entry.aliases},
        transport=entry.transport,
        state=known.state,
        description=entry.description,
        error=known.error,
        reason=known.reason,
        custom=entry.custom,
    )
    if known.cached is None:
        return plain
    try:
        holds = bool(known.cached.changes) and is_quarantined(entry)
        return _with_listing(plain, known.cached, holds=holds)
    except CachedServer.DAMAGED as damage:
        reason = f"its listing can't be used: {damage!r}"
        return replace(plain, state="failed", error=f"{entry.name}: {reason}"[:300], reason=reason)


def _with_listing(server: Server, cached: CachedServer, *, holds: bool) -> Server:
    head = cached.head
    changes = tuple(change for change in cached.changes if holds or not change.is_new)
    held = {change.tool: change for change in changes} if holds else {}
    digest = str(head["digest"])
    return replace(
        server,
        instructions=head["instructions"],
        implementation=head["implementation"],
        version=head["version"],
        protocol_version=head["protocol_version"],
        tool_count=len(head["tools"]),
        read_tools=lambda: _tools(server, cached, held),
        resources=(
            *(_resource(server, item, "uri") for item in head["resources"]),
            *(_resource(server, item, "uriTemplate") for item in head["resource_templates"]),
        ),
        prompts=tuple(_prompt(server, item) for item in head["prompts"]),
        changes=changes,
        held=frozenset(held),
        problems=tuple(map(str, head["problems"])),
        listed_at=head["listed_at"],
        digest=f"{digest} held" if held else digest,
    )


def _tools(server: Server, cached: CachedServer, held: Mapping[str, Change]) -> tuple[Tool, ...]:
    return tuple(
        _held(server, tool, held[tool.name])
        if tool.name in held
        else Tool(
            server=server.name,
            name=tool.name,
            spelling=tool.spelling,
            wire_name=wire_name(server.spelling, tool.spelling),
            title=tool.title,
            description=tool.description,
            annotations=tool.annotations,
            digest=tool.digest,
            aliases=server.aliases,
            read_definition=tool.read_definition,
        )
        for tool in cached.tools
    )


def _held(server: Server, tool: CachedTool, change: Change) -> Tool:
    """A tool that waits for a person, in Satchel's words: its own could tell a model what to do."""
    what = "new" if change.is_new else "changed"
    text = f"Can't be called: its definition is {what}, and no person has accepted it (satchel changes)."
    definition: Json = {"name": tool.name, "description": text, "inputSchema": {"type": "object"}}
    return Tool(
        server=server.name,
        name=tool.name,
        spelling=tool.spelling,
        wire_name=wire_name(server.spelling, tool.spelling),
        description=text,
        digest=f"held {tool.digest}",
        aliases=server.aliases,
        read_definition=lambda: definition,
    )


def _resource(server: Server, item: Json, key: str) -> Resource:
    size = item.get("size")
    return Resource(
        server=server.name,
        aliases=tuple(server.aliases),
        uri=item[key],
        name=str(item.get("name") or item[key]),
        title=item.get("title"),
        description=item.get("description", ""),
        mime_type=_text(item.get("mimeType")),
        size=size if isinstance(size, int) else None,
        template=key == "uriTemplate",
        definition=item,
    )


def _prompt(server: Server, item: Json) -> Prompt:
    arguments = item.get("arguments")
    return Prompt(
        server=server.name,
        aliases=tuple(server.aliases),
        name=item["name"],
        title=item.get("title"),
        description=item.get("description", ""),
        arguments=tuple(
            PromptArgument(
                name=str(argument.get("name")),
                description=_text(argument.get("description")) or "",
                required=argument.get("required") is True,
            )
            for argument in (arguments if is_list(arguments) else ())
            if is_object(argument)
        ),
        definition=item,
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _note_places(found: dict[str, Tool], server: Server, places: Iterable[str]) -> None:
    """Each tool of a server by each of its names, below each of the server's."""
    for tool in server.tools if places else ():
        for place in dict.fromkeys(places):
            for word in {tool.name, tool.spelling.python, tool.spelling.typescript}:
                for separator in (".", "/", "__"):
                    found.setdefault(f"{place}{separator}{word}", tool)


def _offer(names: Sequence[str]) -> str:
    return "there are: " + ", ".join(names[:12]) + (", …" if len(names) > 12 else "")


def _written(name: str, spelling: Spelling) -> str:
    return name


def _python(name: str, spelling: Spelling) -> str:
    return spelling.python


def _typescript(name: str, spelling: Spelling) -> str:
    return spelling.typescript


def _wire(name: str, spelling: Spelling) -> str:
    return spelling.wire
