"""Which conversation a request of an MCP client belongs to, and what is remembered of it.

The protocol has no conversations. A session over HTTP counts as one, and so does the life of a process that a
client started. Clients of the 2026 era have no sessions over HTTP: all their requests as one agent are one
conversation, because nothing that they say of themselves tells two apart for certain. In doubt there are too
few conversations, so that nothing that was read is forgotten.
"""

from collections.abc import Callable

from satchel.model import Conversation
from satchel.server.pending import Context
from satchel.server.wire import is_modern
from satchel.toolset import ActiveSkill, Toolset

_CONVERSATION = "satchel.conversation"
_ACTIVE_SKILL = "satchel.active_skill"


class Conversations:
    """The conversations of all clients."""

    def __init__(self) -> None:
        self._shared: dict[str, Conversation] = {}  # by agent

    def of(self, context: Context, agent: str) -> Conversation:
        if _has_session(context):
            return context.session._connection.state.setdefault(_CONVERSATION, Conversation())
        return self._shared.setdefault(agent, Conversation())


def active_skill(
    context: Context, toolset: Toolset, telling: Callable[[], Callable[[], None]]
) -> ActiveSkill:
    """The one that a client has read last. Over HTTP of the 2026 era clients of one name share it.

    `telling` gives what tells a client with a session of its own that the tools have changed; views.py tells
    the others.
    """
    if not _has_session(context):
        return toolset.active
    state = context.session._connection.state
    if _ACTIVE_SKILL not in state:
        state[_ACTIVE_SKILL] = ActiveSkill(tell=telling())
    return state[_ACTIVE_SKILL]


def _has_session(context: Context) -> bool:
    return context.request is not None and not is_modern(context.protocol_version)
