"""How privacy tokens are read and removed. Unused ones end, save in kept conversations."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, and_, delete, func, or_, select

from satchel.store.approval_tables import approvals
from satchel.store.conversations.tables import conversations
from satchel.store.privacy.tables import privacy_tokens
from satchel.store.store import Store

_c = privacy_tokens.c
_kept = select(conversations.c.id).where(
    conversations.c.id == _c.conversation, conversations.c.agent == _c.agent
)
_undecided = select(approvals.c.id).where(
    approvals.c.conversation == _c.conversation, approvals.c.state.in_(("waiting", "approved"))
)


def load(connection: Connection, agent: str, conversation: str, since: str) -> Sequence[Mapping[Any, Any]]:
    """The tokens of a conversation that have not ended."""
    query = select(privacy_tokens).where(_c.agent == agent, _c.conversation == conversation, _alive(since))
    return connection.execute(query.order_by(_c.created_at, _c.letters)).mappings().all()


def load_all(connection: Connection, since: str) -> Sequence[Mapping[Any, Any]]:
    return connection.execute(select(privacy_tokens).where(_alive(since))).mappings().all()


def summaries(connection: Connection, since: str) -> Sequence[Mapping[Any, Any]]:
    """How many tokens of each kind a conversation has; the one that was used last first."""
    query = (
        select(
            _c.agent,
            _c.conversation,
            _c.kind,
            func.count().label("count"),
            func.max(_c.used_at).label("used_at"),
        )
        .where(_alive(since))
        .group_by(_c.agent, _c.conversation, _c.kind)
        .order_by(func.max(_c.used_at).desc(), _c.conversation, _c.kind)
    )
    return connection.execute(query).mappings().all()


def expire(store: Store, since: str) -> int:
    """Remove what has ended. Nothing is written where there is nothing."""
    ended = ~_alive(since)
    if store.read(lambda connection: connection.scalar(select(_c.letters).where(ended).limit(1))) is None:
        return 0
    return store.write(lambda connection: connection.execute(delete(privacy_tokens).where(ended)).rowcount)


def forget(store: Store, conversation: str | None, *, undecided: bool = True) -> int:
    """Remove the tokens of a conversation, or all. Where a call waits for a person, only if `undecided`."""
    statement = delete(privacy_tokens)
    if conversation is not None:
        statement = statement.where(_c.conversation == conversation)
    if not undecided:
        statement = statement.where(~_undecided.exists())
    return store.write(lambda connection: connection.execute(statement).rowcount)


def _alive(since: str) -> Any:
    return or_(_c.used_at >= since, and_(_kept.exists()))
