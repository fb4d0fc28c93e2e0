"""Satchel's tools as a toolset of Pydantic AI.

async with open_satchel() as satchel:
    agent = Agent("…", toolsets=[SatchelToolset(satchel)])
"""

import base64
from typing import Any

from satchel.config.agents import Mode
from satchel.model import CallResult, Conversation, Json, ToldMemory
from satchel.support.charging import apart
from satchel.support.installing import how_to_install
from satchel.toolset import PATIENCE, Toolset
from satchel.toolset.results import artifact_of, metadata_of, parts_of, text_of
from satchel.verbs.satchel import Satchel

try:
    from pydantic_ai import BinaryImage, RunContext, ToolDefinition, ToolFailed, ToolReturn
    from pydantic_ai.messages import InstructionPart
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
    from pydantic_core import SchemaValidator, core_schema
except ImportError as error:
    raise ImportError(
        f"satchel.integrations.pydantic_ai needs pydantic-ai-slim ({error}); {how_to_install('pydantic-ai')}",
        name=error.name,
    ) from error

_MOST_CONVERSATIONS = 1_000
# Satchel checks the arguments itself, and says what is wrong in words that help.
_ANY_OBJECT = SchemaValidator(core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema()))


class SatchelToolset(AbstractToolset[Any]):
    """The tools for a model, read anew for every run.

    What a run shows stays of one kind until it ends, so that instructions and tools fit each other.
    `include_instructions` adds the system prompt; in mode `direct` that is what the servers say themselves.
    All runs are one conversation, for a run may begin with the messages of one before; or they belong to the
    one that is given.
    """

    def __init__(
        self,
        satchel: Satchel,
        *,
        agent: str = "default",
        mode: Mode | None = None,
        include_instructions: bool = True,
        id: str | None = None,
        conversation: Conversation | None = None,
    ) -> None:
        self._satchel = satchel
        self._toolset = Toolset(satchel, agent=agent, mode=mode, conversation=conversation)
        self._include_instructions = include_instructions
        self._id = id
        self._told: dict[str, ToldMemory] = {}  # of memories, by conversation
        self._memory: ToldMemory | None = None

    @property
    def id(self) -> str | None:
        return self._id

    async def for_run(self, ctx: RunContext[Any]) -> "SatchelToolset":
        await self._satchel.servers.list_new(PATIENCE)
        run = SatchelToolset(
            self._satchel,
            agent=self._toolset.agent,
            mode=self._toolset.mode,
            include_instructions=self._include_instructions,
            id=self._id,
            conversation=self._toolset.conversation,
        )
        if self._include_instructions:
            run._memory = await self._tell_memory(ctx)
        return run

    async def _tell_memory(self, ctx: RunContext[Any]) -> ToldMemory:
        """The text about the memory for a conversation, the same in all of its runs."""
        ids = (
            getattr(ctx, name, None) for name in ("conversation_id", "run_id")
        )  # the former came after 2.16
        conversation = next(filter(None, ids), "")
        if conversation not in self._told:
            if len(self._told) >= _MOST_CONVERSATIONS:
                del self._told[next(iter(self._told))]
            told = self._told[conversation] = await apart(self._toolset.memory)
            self._satchel.memory.record(told, self._toolset.agent, self._toolset.conversation.id)
        return self._told[conversation]

    async def get_instructions(self, ctx: RunContext[Any]) -> InstructionPart | None:
        text = self._toolset.instructions(memory=self._memory) if self._include_instructions else ""
        # The same in every request, so that it stands where providers cache it.
        return InstructionPart(content=text, dynamic=False) if text else None

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        return {
            definition["name"]: ToolsetTool(
                toolset=self,
                tool_def=_definition(definition),
                max_retries=ctx.max_retries,
                args_validator=_ANY_OBJECT,
            )
            for definition in self._toolset.definitions()
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> ToolReturn:
        result = await self._toolset.call(name, tool_args)
        if result.is_error:
            # Not ModelRetry: that asks to repeat what may have had effects, and after a few ends the run.
            raise ToolFailed(text_of(result))
        return ToolReturn(return_value=_value(result), metadata=artifact_of(result))


def _definition(definition: Json) -> ToolDefinition:
    # Without a return schema: that is of the structured content, and models get the text.
    return ToolDefinition(
        name=definition["name"],
        description=definition.get("description"),
        parameters_json_schema=definition["inputSchema"],
        metadata=metadata_of(definition),
    )


def _value(result: CallResult) -> str | list[str | BinaryImage]:
    parts = [
        part if isinstance(part, str) else BinaryImage(data=base64.b64decode(part.data), media_type=part.type)
        for part in parts_of(result)
    ]
    return parts[0] if len(parts) == 1 and isinstance(parts[0], str) else parts
