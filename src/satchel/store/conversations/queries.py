"""How conversations are read and removed, and what opening the database marks."""

import json
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, bindparam, delete, select, update

from satchel.errors import JournalError, NotFoundError
from satchel.model import ConversationRecord, Message, Usage
from satchel.model.conversations import VERSION
from satchel.store.column_types import SafeText
from satchel.store.conversations.tables import conversations, messages
from satchel.store.owners import is_gone_by_text
from satchel.store.privacy.tables import privacy_tokens
from satchel.store.store import Store

_CLOSEST = 5
_is_running = conversations.c.state == "running"
_owners = select(conversations.c.owner).where(_is_running).distinct()
_gone = bindparam("gone", type_=SafeText(), expanding=True)
_interrupt = update(conversations).where(_is_running, conversations.c.owner.in_(_gone))
_select = select(*(column for column in conversations.c if column.name != "owner"))


def mark_interrupted(store: Store) -> int:
    """Mark what processes that are gone had begun, and tell how many that were."""
    owners = store.read(lambda connection: connection.scalars(_owners).all())
    gone = [owner for owner in owners if is_gone_by_text(owner)]
    if not gone:
        return 0
    statement = _interrupt.values(state="interrupted")
    return store.write(lambda connection: connection.execute(statement, {"gone": gone}).rowcount)


def find_conversations(
    connection: Connection, *, agent: str | None = None, limit: int = 50
) -> list[ConversationRecord]:
    """The one that was changed last first."""
    query = _select.order_by(conversations.c.changed_at.desc(), conversations.c.id).limit(limit)
    if agent is not None:
        query = query.where(conversations.c.agent == agent)
    return [_record(row) for row in connection.execute(query).mappings()]


def find_conversation(connection: Connection, id: str) -> ConversationRecord | None:
    """The one of that id, or the only one whose id begins like that; with its messages."""
    row = connection.execute(_select.where(conversations.c.id == id)).mappings().first()
    if row is None:
        begun = conversations.c.id.startswith(id, autoescape=True)
        ids = connection.scalars(select(conversations.c.id).where(begun).limit(_CLOSEST)).all() if id else ()
        if len(ids) > 1:
            raise NotFoundError("conversation", id, closest=ids)
        return find_conversation(connection, ids[0]) if ids else None
    record = _record(row)
    if record.version > VERSION:
        raise JournalError(
            f"the conversation {record.id} was written by a newer Satchel (form {record.version})",
            hint="update Satchel",
        )
    query = select(messages).where(messages.c.conversation == record.id).order_by(messages.c.number)
    found = [
        Message(role=each["role"], content=json.loads(each["content"]), at=each["at"])
        for each in connection.execute(query).mappings()
    ]
    return replace(record, messages=tuple(found))


def delete_conversation(store: Store, id: str) -> int:
    """Remove one with its messages and its privacy tokens; gives how many of the others there were."""

    def work(connection: Connection) -> int:
        connection.execute(delete(privacy_tokens).where(privacy_tokens.c.conversation == id))
        removed = connection.execute(delete(messages).where(messages.c.conversation == id)).rowcount
        return removed + connection.execute(delete(conversations).where(conversations.c.id == id)).rowcount

    return store.write(work)


def _record(row: Any) -> ConversationRecord:
    values = dict(row)
    values["usage"] = Usage(**json.loads(values["usage"]))
    values["reads"] = tuple(json.loads(values["reads"]))
    return ConversationRecord(**values)
