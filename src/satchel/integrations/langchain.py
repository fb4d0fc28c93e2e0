"""Satchel's tools as LangChain's.

async with open_satchel() as satchel:
    tools = langchain_tools(satchel)

Only async: what runs servers and programs belongs to the event loop that Satchel was opened in.
"""

import logging
from typing import Any, Literal, NoReturn

from satchel.config.agents import Mode
from satchel.model import CallResult, Conversation, Json
from satchel.support.installing import how_to_install
from satchel.toolset import Toolset
from satchel.toolset.results import artifact_of, metadata_of, parts_of, text_of
from satchel.verbs.satchel import Satchel

try:
    from langchain_core.tools import BaseTool, ToolException
    from pydantic import Field
except ImportError as error:
    raise ImportError(
        f"satchel.integrations.langchain needs langchain-core ({error}); {how_to_install('langchain')}",
        name=error.name,
    ) from error

logger = logging.getLogger(__name__)


def langchain_tools(
    satchel: Satchel,
    *,
    agent: str = "default",
    mode: Mode | None = None,
    conversation: Conversation | None = None,
) -> list[BaseTool]:
    """The tools that a model is offered, as they are now; they stay callable when others are offered later.

    All that is called with them is one conversation, or belongs to the one that is given.
    `Toolset(satchel).instructions()` is the system prompt for them.
    """
    now = Toolset(satchel, agent=agent, mode=mode)
    toolset = Toolset(satchel, agent=agent, mode=now.mode, conversation=conversation)
    unknown = [server.name for server in satchel.catalog.servers if server.state == "not listed"]
    if toolset.mode == "direct" and unknown:
        logger.warning(
            "tools of %s are missing: nothing is known of them yet; await satchel.servers.refresh() first",
            ", ".join(unknown),
        )
    return [_tool(toolset, definition) for definition in toolset.definitions()]


class SatchelToolError(ToolException):
    """A call that failed. Its text is what a model is told, unless `handle_tool_error` says otherwise."""

    def __init__(self, result: CallResult) -> None:
        super().__init__(text_of(result))
        self.artifact = artifact_of(result)


class SatchelTool(BaseTool):
    """One tool. Its schema is the server's own; what doesn't fit it is told to the model by Satchel."""

    # A Toolset, which is nothing to look into, to print or to store.
    toolset: Any = Field(exclude=True, repr=False)
    handle_tool_error: Any = True
    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"

    @property
    def args(self) -> dict[str, Any]:
        """The parameters; also of a schema that names none, which LangChain's own does not expect."""
        schema = self.args_schema
        return schema.get("properties", {}) if isinstance(schema, dict) else super().args

    def _run(self, /, **arguments: Any) -> NoReturn:
        raise NotImplementedError("Satchel's tools are async: use ainvoke, or the agent's async methods")

    async def _arun(self, /, **arguments: Any) -> tuple[str | list[str | Json], Json | None]:
        # `self` is positional, and nothing else is named: parameters of a tool can have any name.
        result: CallResult = await self.toolset.call(self.name, arguments)
        if result.is_error:
            raise SatchelToolError(result)
        return _content(result), artifact_of(result)


def _tool(toolset: Toolset, definition: Json) -> SatchelTool:
    return SatchelTool(
        name=definition["name"],
        description=definition.get("description") or "",
        args_schema=definition["inputSchema"],
        metadata=metadata_of(definition),
        toolset=toolset,
    )


def _content(result: CallResult) -> str | list[str | Json]:
    """A text alone, which every model takes, or blocks."""
    parts = parts_of(result)
    if len(parts) == 1 and isinstance(parts[0], str):
        return parts[0]
    return [
        {"type": "text", "text": part}
        if isinstance(part, str)
        else {"type": "image", "base64": part.data, "mime_type": part.type}
        for part in parts
    ]
