"""Stand-ins for what a test does not want to run, and values that are tedious to build."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.lowlevel

from satchel.catalog.definitions import digest
from satchel.config.agents import AgentSettings
from satchel.config.control.flows import FlowsSettings
from satchel.model import Call, CallResult, CallStatus, Json, Tool
from satchel.names import assign_servers, assign_tools, wire_name


def make_tool(definition: Mapping[str, Any], *, server: str = "demo") -> Tool:
    """A tool as the catalog builds it from what a server lists."""
    listed: Json = {"inputSchema": {"type": "object"}, **definition}
    spelling = assign_tools([listed["name"]])[listed["name"]]
    return Tool(
        server=server,
        name=listed["name"],
        spelling=spelling,
        wire_name=wire_name(assign_servers([server])[server], spelling),
        title=listed.get("title"),
        description=listed.get("description", ""),
        annotations=listed.get("annotations", {}),
        digest=digest(listed),
        read_definition=lambda: listed,
    )


def tool_with(schema: Any) -> Tool:
    """A tool of which only the input schema matters."""
    return make_tool({"name": "tool", "inputSchema": schema})


class FakeServer:
    """Both ends of the chain that lead to a server: `connect` and `send`. It notes what reaches them.

    A silent one connects and never answers.
    """

    def __init__(self, *, silent: bool = False, refuses: Exception | None = None) -> None:
        self.events: list[str] = []
        self.calls: list[Call] = []
        self.deadlines: dict[str, float] = {}  # of the event loop's clock; infinite when no clock runs
        self.result = CallResult(content=({"type": "text", "text": "done"},))
        self._silent = silent
        self._refuses = refuses

    async def connect(self, call: Call) -> None:
        self._note("connect")
        if self._refuses is not None:
            raise self._refuses
        await anyio.lowlevel.checkpoint()

    async def send(self, call: Call) -> CallResult:
        self._note("send")
        self.calls.append(call)
        if self._silent:
            try:
                await anyio.sleep_forever()
            except anyio.get_cancelled_exc_class():
                self.events.append("cancelled")
                raise
        return self.result

    def _note(self, event: str) -> None:
        self.events.append(event)
        self.deadlines[event] = anyio.current_effective_deadline()


class FakeJournal:
    """A journal that notes in `events` what it is told; one that refuses lets nothing begin."""

    def __init__(self, events: list[str], *, refuses: Exception | None = None) -> None:
        self._events = events
        self._refuses = refuses
        self._count = 0

    async def begin(self, call: Call) -> int:
        if self._refuses is not None:
            raise self._refuses
        self._count += 1
        self._events.append("begun")
        return self._count

    def complete(
        self,
        number: int,
        status: CallStatus,
        *,
        ms: float,
        result: CallResult | None = None,
        error: str | None = None,
    ) -> None:
        self._events.append(status)

    def denied(self, call: Call) -> None:
        self._events.append("denied")


@dataclass(frozen=True)
class FakeRules:
    """What a configuration says of agents and tools."""

    agents: Mapping[str, AgentSettings]
    reading: tuple[str, ...] = ()
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    trusted: tuple[str, ...] = ()
    flow: FlowsSettings = field(default_factory=FlowsSettings)

    def flows(self) -> FlowsSettings:
        return self.flow

    def is_trusted(self, server: str) -> bool:
        return any(name in self.trusted for name in (server, *self.aliases_of(server)))

    def agent(self, name: str) -> AgentSettings:
        return self.agents[name]

    def aliases_of(self, server: str) -> tuple[str, ...]:
        return self.aliases.get(server, ())

    def read_only_tools(self) -> tuple[str, ...]:
        return self.reading
