"""What a client is told when it connects: the system prompt, with what is remembered."""

import logging
from functools import partial

from satchel.errors import ConfigError
from satchel.model import ToldMemory
from satchel.server.pending import Context
from satchel.support.charging import apart
from satchel.toolset import Toolset
from satchel.verbs.satchel import Satchel

logger = logging.getLogger(__name__)

_TOLD_MEMORY = "satchel.told_memory"


async def instructions_for(context: Context, toolset: Toolset, satchel: Satchel) -> str:
    """By the project's templates, or by Satchel's where those can't be filled in."""
    try:
        memory = await _memory(context, toolset, satchel, plain=False)
        return toolset.instructions(memory=memory)
    except ConfigError as error:
        logger.warning("%s", error.message)
        memory = await _memory(context, toolset, satchel, plain=True)
        return toolset.instructions(plain=True, memory=memory)


async def _memory(context: Context, toolset: Toolset, satchel: Satchel, *, plain: bool) -> ToldMemory:
    """What is remembered, once for a connection: a prompt that changes loses its cache."""
    state = context.session._connection.state
    if _TOLD_MEMORY not in state:
        told = state[_TOLD_MEMORY] = await apart(partial(toolset.memory, plain=plain))
        satchel.memory.record(told, toolset.agent)
    return state[_TOLD_MEMORY]
