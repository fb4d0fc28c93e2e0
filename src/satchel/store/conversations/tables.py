"""The tables of conversations. Columns are named as the fields of the records in `satchel.model`."""

from sqlalchemy import BigInteger, Column, MetaData, Table

from satchel.store.column_types import SafeText

_metadata = MetaData()

conversations = Table(
    "conversations",
    _metadata,
    Column("id", SafeText, primary_key=True),
    Column("agent", SafeText, nullable=False),
    Column("title", SafeText, nullable=False),
    Column("state", SafeText, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("started_at", SafeText, nullable=False),
    Column("changed_at", SafeText, nullable=False),
    Column("memory", SafeText, nullable=False),
    Column("usage", SafeText, nullable=False),  # JSON
    Column("reads", SafeText, nullable=False),  # JSON
    Column("owner", SafeText, nullable=False),  # the process that works on it
)

# The key has the number of the message, so that two processes can't both write the next one.
messages = Table(
    "messages",
    _metadata,
    Column("conversation", SafeText, primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("role", SafeText, nullable=False),
    Column("content", SafeText, nullable=False),  # JSON
    Column("at", SafeText, nullable=False),
)
