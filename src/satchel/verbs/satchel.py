"""All verbs of one open Satchel, by subject; the four that most programs need are at hand directly."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from anyio.abc import TaskGroup

from satchel.catalog import Snapshot
from satchel.config import Configuration
from satchel.model import (
    Caller,
    CallResult,
    CallTool,
    Client,
    Execution,
    ExecutionRequest,
    Json,
    Tell,
    silent,
)
from satchel.support.charging import Host
from satchel.verbs.agents.agents import Agents
from satchel.verbs.agents.conversations import Conversations
from satchel.verbs.agents.packages import SkillPackages
from satchel.verbs.approvals.approvals import Approvals
from satchel.verbs.control.flows import Flows
from satchel.verbs.executions import Executions
from satchel.verbs.journal import JournalReader
from satchel.verbs.memory.memories import Memories
from satchel.verbs.plugins.commands import Commands
from satchel.verbs.privacy.boundary import Privacy
from satchel.verbs.project import Project
from satchel.verbs.resources import Resources
from satchel.verbs.saved_skills import SavedSkills
from satchel.verbs.servers import Servers
from satchel.verbs.skill_tests import SkillTests
from satchel.verbs.skills import ShownSkills
from satchel.verbs.tools import Tools

_MOVED = {
    "accept_changes": "servers.accept_changes",
    "agent_settings": "project.agent",
    "being_listed": "servers.being_listed",
    "bridge": "executions.bridge",
    "complete": "resources.complete",
    "describe": "servers.describe_tool",
    "end_session": "executions.end_session",
    "execute_bash": "executions.shell",
    "find_tool": "servers.find_tool",
    "follow_resource": "resources.follow",
    "get_prompt": "resources.prompt",
    "list_new_servers": "servers.list_new",
    "read_resource": "resources.read",
    "records": "journal",
    "refresh": "servers.refresh",
    "remarks": "project.remarks",
    "semantic_search": "tools.search_everything",
    "shown_skills": "skills",
}


@dataclass(frozen=True, kw_only=True)
class Satchel:
    """Use through `open_satchel`."""

    project: Project
    servers: Servers
    tools: Tools
    resources: Resources
    executions: Executions
    agents: Agents
    approvals: Approvals
    skills: ShownSkills
    packages: SkillPackages
    conversations: Conversations
    commands: Commands
    flows: Flows
    privacy: Privacy
    memory: Memories
    saved_skills: SavedSkills
    skill_tests: SkillTests
    journal: JournalReader
    tasks: TaskGroup
    """Background work of surfaces; it ends with the block of `open_satchel`."""
    host: Host
    """What agents share of this process: surfaces have requests charged to the agent that sends them."""
    call_tool: CallTool
    """The chain itself, for a `Call` at hand. An error that the tool reports is returned, not raised."""

    def __getattr__(self, name: str) -> NoReturn:
        """Say where a name of 0.1 is now."""
        if name in _MOVED:
            raise AttributeError(f"satchel.{name} is satchel.{_MOVED[name]} now")
        raise AttributeError(f"'Satchel' object has no attribute '{name}'")

    @property
    def catalog(self) -> Snapshot:
        """Every server and tool as last known. `servers.known()` looks at the configuration first."""
        return self.servers.snapshot

    @property
    def configuration(self) -> Configuration:
        """Paths, settings and server entries as last followed."""
        return self.project.configuration

    def list_servers(self) -> Json:
        """All servers, short enough to be read by a model."""
        return self.servers.list_all()

    def search_tools(
        self,
        query: str = "",
        *,
        server: str | None = None,
        detail: str = "desc",
        limit: int = 10,
        offset: int = 0,
        agent: str = "default",
        keyword: str = "",
        detail_level: str = "",
    ) -> Json:
        """Tools that fit the query, best first; those that the agent may not call are marked."""
        return self.tools.search(
            query or keyword,
            server=server or None,
            detail=detail_level or detail,
            limit=limit,
            offset=offset,
            agent=agent,
        )

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        agent: str = "default",
        timeout: float | None = None,
        client: Client | None = None,
        tell: Tell = silent,
    ) -> CallResult:
        """Call a tool. A tool that reports an error raises ToolError, like every other failure.

        `client` is whom its server may ask for input; `tell` hears of its progress.
        """
        caller = Caller(agent=agent, client=client)
        return await self.tools.call(name, arguments, caller=caller, timeout=timeout, tell=tell)

    async def execute(
        self,
        code: str = "",
        *,
        language: str | None = None,
        timeout: float | None = None,
        session: str | None = None,
        check: bool = False,
        description: str = "",
        resume: str | None = None,
        agent: str = "default",
        read_only: bool = False,
        client: Client | None = None,
        tell: Tell = silent,
    ) -> Execution:
        """Run a program in the sandbox. However it ends, what it did is in the result and in the journal.

        `session` is the handle of an earlier execution, whose variables this one shares, or "new". With
        `check`, nothing is run unless the program's types fit. With `read_only`, it may only call tools that
        read. `resume` is an execution that stopped for a person, which is run again instead of `code`.
        `client` is whom servers may ask for input; `tell` hears of servers, calls and output.
        """
        request = ExecutionRequest(
            code=code,
            language=language,
            timeout=timeout,
            session=session,
            check=check,
            description=description,
            resume=resume,
        )
        caller = Caller(agent=agent, read_only=read_only, client=client)
        return await self.executions.run(request, caller, tell=tell)
