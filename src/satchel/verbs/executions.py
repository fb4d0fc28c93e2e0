"""Executions: programs in the sandbox, their sessions, the shell, and the bridge for scripts outside."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from satchel.config.follow import LiveConfiguration
from satchel.model import (
    DEFAULT_CALLER,
    Caller,
    CallTool,
    Client,
    Execution,
    ExecutionRequest,
    Tell,
    silent,
)
from satchel.store.journal import Journal
from satchel.support.charging import Host
from satchel.verbs.approvals.approvals import Approvals
from satchel.verbs.privacy.boundary import Privacy
from satchel.verbs.project import sandbox_warning
from satchel.verbs.requests import Reach
from satchel.verbs.saved_skills import SavedSkills
from satchel.verbs.servers import Servers
from satchel.verbs.tools import Tools
from satchel.verbs.wrappers import Wrappers

if TYPE_CHECKING:
    from satchel.verbs.runner import Runner


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What executions need of the rest of an open Satchel."""

    configuration: LiveConfiguration
    environment: Mapping[str, str]
    servers: Servers
    tools: Tools
    wrappers: Wrappers
    saved_skills: SavedSkills
    journal: Journal
    approvals: Approvals
    host: Host


class Executions:
    """The executions of one open Satchel. What runs programs is loaded with the first of them."""

    def __init__(self, around: Surroundings, call: CallTool, privacy: Privacy) -> None:
        self._around = around
        self._privacy = privacy
        self._call = call
        self._made: Runner | None = None

    async def run(
        self,
        request: ExecutionRequest,
        caller: Caller = DEFAULT_CALLER,
        *,
        tell: Tell = silent,
        patience: float | None = None,
        reach: Reach | None = None,
    ) -> Execution:
        """Run a program in the sandbox. However it ends, what it did is in the result and in the journal.

        Servers that nothing is known of yet are waited for; with `patience`, those that the program does not
        import only for so many seconds. `reach` is where its calls go, if not to the servers.

        Raises SandboxError where it can't be run safely, and ArgumentError for what can't be run at all.
        """
        reach = reach or self.reach(self._call, client=caller.client)
        return await self._runner().run(request, caller, reach=reach, tell=tell, patience=patience)

    async def shell(
        self,
        command: str,
        *,
        timeout: float | None = None,
        description: str = "",
        agent: str = "default",
        tell: Tell = silent,
    ) -> Execution:
        """Run a command of the shell in the same box: to look around in what an agent's programs see."""
        request = ExecutionRequest(code=command, language="bash", timeout=timeout, description=description)
        return await self.run(request, Caller(agent=agent), tell=tell)

    def reach(self, call: CallTool, *, client: Client | None = None) -> Reach:
        """Where a program's calls go: tools are those of the catalog, and `call` sends."""
        return Reach(find_tool=partial(self._around.servers.find_tool, client=client), call=call)

    async def read_wrapper(self, path: str) -> str:
        """A file of the wrappers, by the path at which programs see it."""
        language = self._around.configuration.follow().settings.code_execution.language
        return await self._around.wrappers.read(path, language)

    def warning(self) -> str | None:
        """A warning for a person before a program is run, if there is one."""
        return sandbox_warning(self._around.configuration.follow())

    async def end_session(self, session: str, *, agent: str = "default") -> None:
        """End a session, and forget what it holds."""
        await self._runner().end_session(session, agent)

    async def clear_workspace(self, agent: str = "default") -> None:
        """Remove all files of an agent's workspace. Its memory, its skills and the journal stay."""
        await self._runner().clear_workspace(agent)

    @asynccontextmanager
    async def bridge(
        self, socket: Path, *, agent: str = "default", report: Callable[[str], None] = lambda text: None
    ) -> AsyncGenerator[str]:
        """Let scripts outside of the sandbox call tools as `agent`. Gives the address for SATCHEL_BRIDGE."""
        async with self._runner().bridge(socket, agent, self.reach(self._call), report) as address:
            yield address

    async def aclose(self) -> None:
        """End all sessions and boxes, even if the caller gives up waiting."""
        if self._made is not None:
            await self._made.aclose()

    def _runner(self) -> "Runner":
        if self._made is None:
            from satchel.verbs.runner import Runner  # a call needs no sandbox, and would wait for its loading

            self._made = Runner(self._around, self._privacy)
        return self._made
