"""The instructions for a client that connects: the system prompt, with the agent's memory."""

import logging
from functools import partial

from satchel.errors import ConfigError
from satchel.model import Conversation, ToldMemory
from satchel.server.pending import Context
from satchel.support.charging import apart
from satchel.toolset import Toolset
from satchel.verbs.satchel import Satchel

logger = logging.getLogger(__name__)

_TOLD_MEMORY = "satchel.told_memory"


async def instructions_for(
    context: Context, toolset: Toolset, satchel: Satchel, conversation: Conversation
) -> str:
    """By the project's templates, or by Satchel's where those can't be filled in."""
    try:
        memory = await _memory(context, toolset, plain=False)
        text = toolset.instructions(memory=memory, conversation=conversation)
    except ConfigError as error:
        logger.warning("%s", error.message)
        memory = await _memory(context, toolset, plain=True)
        text = toolset.instructions(plain=True, memory=memory, conversation=conversation)
    satchel.memory.hear(toolset.agent, conversation.reads)
    satchel.memory.record(memory, toolset.agent, conversation.id)
    return text


async def _memory(context: Context, toolset: Toolset, *, plain: bool) -> ToldMemory:
    """What is remembered, once for a connection: a prompt that changes loses its cache."""
    state = context.session._connection.state
    if _TOLD_MEMORY not in state:
        state[_TOLD_MEMORY] = await apart(partial(toolset.memory, plain=plain))
    return state[_TOLD_MEMORY]
