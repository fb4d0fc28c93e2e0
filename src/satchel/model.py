"""The nouns, as frozen values. No behaviour beyond reading themselves, no I/O, no imports of stages."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeGuard

from satchel.errors import ServerError
from satchel.names import Spelling

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
    "needs authorization",
    "failed",
    "disabled",
]


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
    read_definition: Callable[[], Json] = field(repr=False, compare=False)

    @property
    def label(self) -> str:
        """What permissions and the journal call it, below its server."""
        return self.name

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
    before: str
    after: str
    fields: tuple[str, ...]
    at: str


@dataclass(frozen=True, kw_only=True)
class Listing:
    """What a server said about itself when it was last asked; plain data, as it is cached on disk."""

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
    problems: tuple[str, ...] = ()
    error: str | None = None
    listed_at: str | None = None
    digest: str = ""  # changes whenever anything does that the server said of itself
    custom: bool = False  # a group of functions of the user's project
    read_tools: Callable[[], tuple[Tool, ...]] = field(default=tuple, repr=False, compare=False)

    @property
    def shown_transport(self) -> str:
        """For people, whom it does not concern that custom tools are reached over stdio."""
        return "custom" if self.custom else self.transport

    @cached_property
    def tools(self) -> tuple[Tool, ...]:
        """Its tools, made when someone asks: most of what is asked about a server needs only their number."""
        return self.read_tools()


@dataclass(frozen=True, kw_only=True)
class ServerListing:
    """A server has been asked what it offers."""

    server: str


@dataclass(frozen=True, kw_only=True)
class ServerListed:
    """A server has answered what it offers."""

    server: Server


@dataclass(frozen=True, kw_only=True)
class ServerFailed:
    """A server could not be listed."""

    server: str
    error: ServerError


@dataclass(frozen=True, kw_only=True)
class CallBegan:
    """A program has made a call."""

    tool: str


@dataclass(frozen=True, kw_only=True)
class CallEnded:
    """A call of a program has ended: how, and how many calls it has made so far."""

    use: "ToolUse"
    count: int


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a call has come, as its server tells."""

    progress: float
    total: float | None = None
    message: str | None = None


@dataclass(frozen=True, kw_only=True)
class Output:
    """A piece of what a program has printed, as soon as it was read."""

    stream: Literal["stdout", "stderr"]
    text: str


@dataclass(frozen=True, kw_only=True)
class ResourceFollowed:
    """A server has agreed to tell when a resource changes."""

    uri: str


@dataclass(frozen=True, kw_only=True)
class ResourceChanged:
    """A followed resource has changed."""

    uri: str


Event = (
    ServerListing
    | ServerListed
    | ServerFailed
    | CallBegan
    | CallEnded
    | Progress
    | Output
    | ResourceFollowed
    | ResourceChanged
)
Tell = Callable[[Event], None]
"""Hears what is happening: a line on a terminal, progress of the protocol, a stream, an agent's loop."""


def silent(event: Event) -> None:
    """For callers who don't want to hear. A server is not even asked for its progress."""


Ask = Callable[[str, Json, str], Awaitable[Json]]
"""A server's request: method, params, and the key that it has there or "" → the client's result."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Client:
    """The MCP client that a call is made for, as far as a server may turn to it while the call lasts."""

    key: object  # equal for requests of the same person
    can: frozenset[str] = frozenset()  # of "elicitation", "sampling" and "roots"
    handshake: bool = False  # it is of the era before 2026, and a server of both asks it in the way of that
    ask: "Ask"
    log: Callable[[Json], None] = field(default=lambda params: None)
    log_level: str | None = None  # from which on it wants to hear what a server logs, if it said so


@dataclass(frozen=True, kw_only=True)
class Caller:
    """On whose behalf something is asked, and what that one may do."""

    agent: str = "default"
    execution: str | None = None  # the id of the program that asks, if one does
    conversation: str | None = None
    client: Client | None = field(default=None, repr=False, compare=False)
    read_only: bool = False  # nothing but reading may come of it
    only: tuple[str, ...] | None = None  # the tools that the active skill allows, where that is enforced


DEFAULT_CALLER = Caller()


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call of a tool, reading of a resource or filling in of a prompt; of the latter two also others.

    A resource can be followed: the call lasts as long as its server tells of changes. For a prompt or a
    resource template, arguments can be completed: the call's arguments are then the request's parameters.
    """

    what: Tool | Resource | Prompt
    action: Literal["use", "follow", "complete"] = "use"
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    caller: Caller = DEFAULT_CALLER
    timeout: float | None = None
    tell: Tell = field(default=silent, repr=False, compare=False)

    @property
    def label(self) -> str:
        """What the journal calls it."""
        return self.what.label if self.action == "use" else f"{self.action}:{self.what.label}"


@dataclass(frozen=True, kw_only=True)
class CallResult:
    """What came back: content blocks as sent, and structured content where the tool has it."""

    content: tuple[Json, ...] = ()
    structured: Any = None
    has_structured: bool = False
    is_error: bool = False
    meta: Json | None = None  # what the server sent besides, for clients that know it

    @property
    def text(self) -> str:
        """The text blocks, one after the other."""
        return "\n".join(block["text"] for block in self.content if isinstance(block.get("text"), str))


CallTool = Callable[[Call], Awaitable[CallResult]]
Link = Callable[[CallTool], CallTool]
"""One concern of every call, wrapped around what comes next."""


LONGEST_PROGRAM = 1024 * 1024  # characters


@dataclass(frozen=True, kw_only=True)
class ExecutionRequest:
    """A program that somebody wants run: all that a model may write about it."""

    code: str
    language: str | None = None  # that of the settings
    timeout: float | None = None  # seconds
    session: str | None = None  # the handle of an earlier execution whose variables this one shares, or "new"
    check: bool = False  # nothing is run unless its types fit
    description: str = ""  # what it does, for the journal


@dataclass(frozen=True, kw_only=True)
class ToolUse:
    """One call that a program made, as its caller is told."""

    tool: str
    status: Literal["ok", "error", "denied", "refused", "cancelled"]  # nothing was sent: denied, refused
    ms: float
    error: str | None = None


@dataclass(frozen=True, kw_only=True)
class Execution:
    """How a program ended, and what it left for its caller."""

    id: str
    exit_code: int
    stdout: str = ""
    stderr: str = ""
    result: Any = None
    has_result: bool = False
    duration_ms: float = 0
    tools_called: tuple[ToolUse, ...] = ()
    files: tuple[Json, ...] = ()  # {path, size} of what it wrote to its workspace
    truncated: Mapping[str, int] = field(default_factory=dict[str, int])  # characters left out, by stream
    ended: str | None = None  # why it did not end by itself
    reason: str | None = None  # the same as a sentence, with the value
    session: str | None = None  # the handle of the one it ran in, while that lives

    def as_json(self) -> Json:
        """As a model or a script is told."""
        value: Json = {"exit_code": self.exit_code, "stdout": self.stdout, "stderr": self.stderr}
        if self.has_result:
            value["result"] = self.result
        value["duration_ms"] = round(self.duration_ms, 1)
        value["tools_called"] = [
            {"tool": use.tool, "status": use.status, "ms": round(use.ms, 1)}
            | ({"error": use.error} if use.error else {})
            for use in self.tools_called
        ]
        value["files"] = list(self.files)
        value["truncated"] = dict(self.truncated)
        if self.ended:
            value["ended"] = self.ended
        if self.reason:
            value["reason"] = self.reason
        value["execution_id"] = self.id
        if self.session:
            value["session"] = self.session
        return value


@dataclass(frozen=True, kw_only=True)
class Skill:
    """Instructions for a task: a folder with a SKILL.md, and what lies beside it."""

    name: str
    description: str = ""
    license: str | None = None
    folder: Path
    file: Path
    category: str  # public, custom, community, user, or the agent that saved it
    relative: str  # its folder below that of its category
    enabled: bool = False
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])  # all of its front matter
    allowed_tools: tuple[str, ...] = ()
    error: str | None = None  # why it can't be used
    line: int | None = None
    warnings: tuple[str, ...] = ()
    base: str = "/mnt/skills"  # where programs find the folders of categories

    @property
    def identity(self) -> str:
        """Two of one name in different categories are told apart by it."""
        return f"{self.category}:{self.name}"

    def get_container_path(self, base: str | None = None) -> str:
        """Its folder as programs see it."""
        return f"{base or self.base}/{self.category}/{self.relative}"

    def get_container_file_path(self, base: str | None = None) -> str:
        return f"{self.get_container_path(base)}/{self.file.name}"


CallStatus = Literal[
    "sent",  # on its way: committed before the server heard of it
    "ok",
    "error",
    "denied",  # refused by the agent's permissions, never sent
    "cancelled",
    "interrupted",  # its Satchel went away; the server may have done it
]


@dataclass(frozen=True, kw_only=True)
class CallRecord:
    """What the journal has of one call."""

    id: int
    execution: str | None
    conversation: str | None = None
    agent: str
    server: str
    tool: str
    status: CallStatus
    started_at: str  # ISO 8601, UTC
    duration_ms: float | None = None
    arguments_digest: str
    arguments_size: int
    result_digest: str | None = None
    result_size: int | None = None
    error: str | None = None


@dataclass(frozen=True, kw_only=True)
class ExecutionRecord:
    """What the journal has of one execution. `calls` are read only for one that is shown alone."""

    id: str
    conversation: str | None = None
    agent: str
    language: str
    program: str
    description: str
    state: Literal["running", "done", "interrupted"]
    started_at: str  # ISO 8601, UTC
    call_count: int = 0
    outcome: Json | None = None  # Execution.as_json() without the calls, once it is done
    calls: tuple[CallRecord, ...] = ()
