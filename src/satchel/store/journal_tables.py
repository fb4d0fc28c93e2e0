"""The journal's tables. Columns are named as the fields of the records in `satchel.model`."""

from sqlalchemy import BigInteger, Column, Double, Index, MetaData, Table

from satchel.store.column_types import Number, SafeText

_metadata = MetaData()

executions = Table(
    "executions",
    _metadata,
    Column("number", Number, primary_key=True),  # their order, even if the clock is set back
    Column("id", SafeText, nullable=False, unique=True),
    Column("agent", SafeText, nullable=False),
    Column("language", SafeText, nullable=False),
    Column("program", SafeText, nullable=False),
    Column("description", SafeText, nullable=False),
    Column("state", SafeText, nullable=False),
    Column("started_at", SafeText, nullable=False),
    Column("outcome", SafeText),  # JSON
    Column("owner", SafeText, nullable=False),  # the process
    Column("conversation", SafeText),
)

calls = Table(
    "calls",
    _metadata,
    Column("id", Number, primary_key=True),
    Column("execution", SafeText),
    Column("agent", SafeText, nullable=False),
    Column("server", SafeText, nullable=False),
    Column("tool", SafeText, nullable=False),
    Column("status", SafeText, nullable=False),
    Column("started_at", SafeText, nullable=False),
    Column("duration_ms", Double),
    Column("arguments_digest", SafeText, nullable=False),
    Column("arguments_size", BigInteger, nullable=False),
    Column("result_digest", SafeText),
    Column("result_size", BigInteger),
    Column("error", SafeText),
    Column("owner", SafeText, nullable=False),
    Column("conversation", SafeText),
)

# Its key is not counted by the database: no statement says that to both, and it came with an upgrade.
told_memories = Table(
    "told_memories",
    _metadata,
    Column("id", SafeText, primary_key=True),
    Column("conversation", SafeText),
    Column("agent", SafeText, nullable=False),
    Column("digest", SafeText, nullable=False),
    Column("tokens", BigInteger, nullable=False),
    Column("entries", BigInteger, nullable=False),
    Column("told_at", SafeText, nullable=False),
)

Index("calls_of_execution", calls.c.execution)
# Only rows under way, so that a process that opens the journal finds at once what dead processes left.
is_running = executions.c.state == "running"
Index("executions_running", executions.c.owner, sqlite_where=is_running, postgresql_where=is_running)
is_sent = calls.c.status == "sent"
Index("calls_sent", calls.c.owner, sqlite_where=is_sent, postgresql_where=is_sent)
is_begun = calls.c.status == "begun"
Index("calls_begun", calls.c.owner, sqlite_where=is_begun, postgresql_where=is_begun)
