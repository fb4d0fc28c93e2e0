"""The offer of servers: tools, resources, prompts, and the catalog's knowledge of each server."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeGuard

from satchel.names import Spelling, wire_name

Json = dict[str, Any]


def is_object(value: object) -> TypeGuard[Json]:
    """Whether a JSON value is an object. What servers and files send is not to be trusted to be one."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


State = Literal[
    "listed",  # the catalog knows its tools; it starts when it is first called
    "running",
    "not listed",  # nobody has connected to it yet
    "needs setup",
    "needs approval",  # of a person on this machine, for what a plugin brought
    "needs authorization",
    "failed",
    "disabled",
]


Definitions = Literal["warn", "quarantine"]
"""What happens to a tool that is new, or not defined any more as a person accepted it."""


@dataclass(frozen=True, kw_only=True)
class Tool:
    """One tool. What a listing shows is in memory; the schemas are read when someone asks for them."""

    server: str
    name: str
    spelling: Spelling
    wire_name: str
    title: str | None = None
    description: str = ""
    annotations: Mapping[str, Any] = field(default_factory=dict[str, Any])
    digest: str
    aliases: Mapping[str, Spelling] = field(default_factory=dict[str, Spelling])  # of its server
    read_definition: Callable[[], Json] = field(repr=False, compare=False)

    @property
    def label(self) -> str:
        """Its name in permissions and the journal, below its server."""
        return self.name

    @property
    def wire_names(self) -> tuple[str, ...]:
        """Its name on the wire, then those by its server's other names."""
        if not self.aliases:
            return (self.wire_name,)
        return self.wire_name, *(wire_name(spelling, self.spelling) for spelling in self.aliases.values())

    @property
    def qualified_name(self) -> str:
        return f"{self.server}.{self.label}"

    @cached_property
    def definition(self) -> Json:
        """The tool as the server described it, unknown fields included."""
        return self.read_definition()

    @property
    def input_schema(self) -> Json:
        return self.definition["inputSchema"]

    @property
    def output_schema(self) -> Any:
        return self.definition.get("outputSchema")


@dataclass(frozen=True, kw_only=True)
class Resource:
    """Something a server lets its clients read. A template when `template` is true: `uri` then has blanks."""

    server: str
    uri: str
    name: str
    title: str | None = None
    description: str = ""
    mime_type: str | None = None
    size: int | None = None
    template: bool = False
    aliases: tuple[str, ...] = ()  # of its server
    definition: Json = field(default_factory=dict[str, Any], repr=False, compare=False)

    @property
    def label(self) -> str:
        return f"resource:{self.uri}"

    @property
    def qualified_name(self) -> str:
        return f"{self.server}.{self.label}"


@dataclass(frozen=True, kw_only=True)
class PromptArgument:
    name: str
    description: str = ""
    required: bool = False


@dataclass(frozen=True, kw_only=True)
class Prompt:
    server: str
    name: str
    title: str | None = None
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()
    aliases: tuple[str, ...] = ()  # of its server
    definition: Json = field(default_factory=dict[str, Any], repr=False, compare=False)

    @property
    def label(self) -> str:
        return f"prompt:{self.name}"

    @property
    def qualified_name(self) -> str:
        return f"{self.server}.{self.label}"


@dataclass(frozen=True, kw_only=True)
class Change:
    """A tool whose definition is no longer the one it had when it was first listed or last accepted."""

    tool: str
    before: str  # empty for one that the server had not when it was first listed
    after: str
    fields: tuple[str, ...]
    at: str

    @property
    def is_new(self) -> bool:
        return not self.before


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A change with both definitions, as a person has to see them."""

    server: str
    change: Change
    before: Json | None  # none of a new tool, or where it is not known any more
    after: Json


@dataclass(frozen=True, kw_only=True)
class Listing:
    """A server's own information from its last listing; plain data, as it is cached on disk."""

    tools: tuple[Json, ...] = ()
    resources: tuple[Json, ...] = ()
    resource_templates: tuple[Json, ...] = ()
    prompts: tuple[Json, ...] = ()
    instructions: str | None = None
    implementation: str = ""
    version: str = ""
    protocol_version: str = ""  # empty where it was not the server that decided on it
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Server:
    """One configured server and what the catalog knows of it."""

    name: str
    spelling: Spelling
    transport: Literal["stdio", "http", "sse"]
    state: State
    description: str = ""
    instructions: str | None = None
    implementation: str = ""
    version: str = ""
    protocol_version: str = ""
    tool_count: int = 0
    resources: tuple[Resource, ...] = ()
    prompts: tuple[Prompt, ...] = ()
    changes: tuple[Change, ...] = ()
    held: frozenset[str] = frozenset()  # the tools that can't be called until a person accepts them
    problems: tuple[str, ...] = ()
    error: str | None = None
    reason: str = ""  # why it can't be used, in brief
    listed_at: str | None = None
    digest: str = ""  # changes whenever anything does that the server said of itself
    custom: bool = False  # a group of functions of the user's project
    aliases: Mapping[str, Spelling] = field(default_factory=dict[str, Spelling])
    """What plugins call the same server; each name can be used like its own."""

    read_tools: Callable[[], tuple[Tool, ...]] = field(default=tuple, repr=False, compare=False)

    @property
    def shown_transport(self) -> str:
        """For people, whom it does not concern that custom tools are reached over stdio."""
        return "custom" if self.custom else self.transport

    @property
    def spellings(self) -> Mapping[str, Spelling]:
        """All of its names, the one that counts first."""
        return {self.name: self.spelling, **self.aliases}

    @cached_property
    def tools(self) -> tuple[Tool, ...]:
        """Its tools, made when someone asks: most of what is asked about a server needs only their number."""
        return self.read_tools()
