"""Tools: searched, described, called."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from satchel.calls.results import raise_tool_error
from satchel.config.follow import LiveConfiguration
from satchel.config.settings import SearchSettings
from satchel.model import DEFAULT_CALLER, Call, Caller, CallResult, CallTool, Json, Tell, Tool, silent
from satchel.support.charging import apart
from satchel.support.program_paths import seen_at
from satchel.verbs.servers import Servers
from satchel.verbs.skills import ShownSkills
from satchel.verbs.tool_rows import ToolRows

if TYPE_CHECKING:
    from satchel.search.documents import Document
    from satchel.search.file_documents import TextIndex
    from satchel.search.tool_index import ToolIndex

KINDS = ("tool", "skill", "memory")
_MOST_TEXTS = 8  # agents whose texts stay indexed


class Tools:
    """The tools of one open Satchel. What `search` takes is loaded with the first search."""

    def __init__(
        self,
        configuration: LiveConfiguration,
        environment: Mapping[str, str],
        servers: Servers,
        skills: ShownSkills,
        call: CallTool,
    ) -> None:
        self._configuration = configuration
        self._environment = environment
        self._servers = servers
        self._skills = skills
        self._call = call
        self._opened: tuple[SearchSettings, ToolIndex] | None = None
        self._texts: dict[str, TextIndex] = {}  # by agent

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        caller: Caller = DEFAULT_CALLER,
        timeout: float | None = None,
        tell: Tell = silent,
    ) -> CallResult:
        """Call a tool by its name. An error that the tool reports raises ToolError, as any failure does."""
        tool = await self._servers.find_tool(name, client=caller.client)
        return await self.call_tool(tool, arguments, caller=caller, timeout=timeout, tell=tell)

    async def call_tool(
        self,
        tool: Tool,
        arguments: Mapping[str, Any] | None = None,
        *,
        caller: Caller = DEFAULT_CALLER,
        timeout: float | None = None,
        tell: Tell = silent,
    ) -> CallResult:
        """The same for a tool that was found already."""
        result = await self._call(
            Call(what=tool, arguments=arguments or {}, caller=caller, timeout=timeout, tell=tell)
        )
        if result.is_error:
            raise_tool_error(tool, result, stderr=self._servers.last_words(tool.server))
        return result

    def search(
        self,
        query: str = "",
        *,
        server: str | None = None,
        detail: str = "desc",
        limit: int = 10,
        offset: int = 0,
        agent: str = "default",
    ) -> Json:
        """Tools that fit the query, best first; those that the agent may not call are marked.

        "select:server.tool,server.tool" fetches exactly those; an empty query with a server all of its tools.
        """
        asked = {"server": server, "detail": detail, "limit": limit, "offset": offset}
        return self._search(query, agent, asked)()

    async def find(self, query: str, *, agent: str, **asked: Any) -> Json:
        """The same for programs and clients: in a thread, and charged to them."""
        return await apart(self._search(query, agent, asked))

    def _search(self, query: str, agent: str, asked: Mapping[str, Any]) -> Callable[[], Json]:
        """A search for any thread, in what is known now."""
        from satchel.verbs.tool_search import search_tools  # most of what opens Satchel searches nothing

        return partial(search_tools, self._index(), self._rows(agent), query, **asked)

    def search_everything(
        self, query: str, limit: int = 10, *, agent: str = "default", kinds: Collection[str] = KINDS
    ) -> list[Json]:
        """What fits the query, best first: tools, skills, files of the agent's memory, by path and score.

        For memory also by line, and whether that waits for review.
        """
        return self._search_everything(query, limit, agent, kinds)()

    async def find_everything(
        self, query: str, limit: int, *, within: Sequence[str] = (), agent: str
    ) -> list[Json]:
        """The same for programs, in a thread, and charged to them; `within` are folders to search only."""
        return await apart(self._search_everything(query, limit, agent, within=within))

    def _search_everything(
        self,
        query: str,
        limit: int,
        agent: str,
        kinds: Collection[str] = KINDS,
        within: Sequence[str] = (),
    ) -> Callable[[], list[Json]]:
        # As above.
        from satchel.search.file_documents import TextIndex
        from satchel.verbs.memory.finding import memory_documents, with_lines
        from satchel.verbs.tool_search import search_everything

        if agent not in self._texts and len(self._texts) >= _MOST_TEXTS:
            self._texts.clear()
        texts = self._texts.setdefault(agent, TextIndex())
        configuration, index, rows = self._configuration.now, self._index(), self._rows(agent)

        def search() -> list[Json]:
            places: dict[str, Sequence[Document]] = {}
            if "memory" in kinds:
                places["memory"] = memory_documents(configuration, agent)
            if "skill" in kinds:
                places["skill"] = self._skills.documents(agent)
            found = search_everything(
                index,
                rows,
                texts,
                query,
                places,
                max(1, min(limit, 50)),
                within=[seen_at(path, skills=self._skills.base) for path in within],
                with_tools="tool" in kinds,
            )
            return with_lines(found, configuration, agent, query)

        return search

    def describe(self, tool: Tool, *, agent: str = "default") -> Json:
        """All there is to know of a tool, as a search with every detail tells it."""
        return self._rows(agent).row(tool, "full")

    async def read(self, tool: Tool, *, agent: str) -> Json:
        """The same for programs: in a thread, and charged to them."""
        return await apart(self._rows(agent).row, tool, "full")

    def wrapper_of(self, tool: Tool) -> str:
        """A tool as programs in the configured language see it: the text of its wrapper."""
        # Only models that read wrappers need it.
        from satchel.codegen.signature import read_signature
        from satchel.codegen.writers import WRITERS

        language = self._configuration.now.settings.code_execution.language
        server = self._servers.known().server(tool.server)
        return WRITERS[language].tool_file(read_signature(tool, server)).strip()

    def close(self) -> None:
        if self._opened is not None:
            self._opened[1].close()

    def _rows(self, agent: str) -> ToolRows:
        known = self._servers.now()
        language = self._configuration.now.settings.code_execution.language
        return ToolRows(known, language, self._configuration.agent(agent))

    def _index(self) -> "ToolIndex":
        from satchel.verbs.tool_search import open_index  # as above

        settings = self._configuration.now.settings.search
        if self._opened is None or self._opened[0] != settings:
            self.close()
            self._opened = settings, open_index(self._configuration.now, self._environment)
        return self._opened[1]
