"""The table of approvals. Columns are named as the fields of `Approval`."""

from sqlalchemy import BigInteger, Column, Index, MetaData, Table

from satchel.store.column_types import SafeText

_metadata = MetaData()

approvals = Table(
    "approvals",
    _metadata,
    Column("id", SafeText, primary_key=True),
    Column("state", SafeText, nullable=False),
    Column("agent", SafeText, nullable=False),
    Column("conversation", SafeText),
    Column("execution", SafeText),
    Column("session", SafeText),
    Column("occurrence", BigInteger, nullable=False),
    Column("server", SafeText, nullable=False),
    Column("tool", SafeText, nullable=False),
    Column("definition_digest", SafeText, nullable=False),
    Column("arguments_digest", SafeText, nullable=False),
    Column("arguments", SafeText),  # sealed JSON, as `edited`; removed once the call was decided on
    Column("edited", SafeText),
    Column("questions", SafeText, nullable=False),  # JSON, as `reads`
    Column("reads", SafeText, nullable=False),
    Column("summary", SafeText, nullable=False),
    Column("client", SafeText, nullable=False),
    Column("requested_at", SafeText, nullable=False),
    Column("expires_at", SafeText, nullable=False),
    Column("owner", SafeText, nullable=False),  # the process that asked
    Column("decided_at", SafeText),
    Column("decided_by", SafeText),
    Column("scope", SafeText, nullable=False),
    Column("used_at", SafeText),
    Column("call", BigInteger),
)

is_waiting = approvals.c.state == "waiting"
Index("approvals_waiting", approvals.c.requested_at, sqlite_where=is_waiting, postgresql_where=is_waiting)
Index("approvals_of_execution", approvals.c.execution)
Index("approvals_of_call", approvals.c.arguments_digest)

suspensions = Table(
    "suspensions",
    _metadata,
    Column("execution", SafeText, primary_key=True),
    Column("agent", SafeText, nullable=False),
    Column("state", SafeText, nullable=False),
    Column("request", SafeText),  # sealed JSON, as `answers`
    Column("answers", SafeText),
    Column("reads", SafeText, nullable=False),  # JSON
    Column("problem", SafeText),
    Column("resumed_as", SafeText),
    Column("owner", SafeText, nullable=False),
    Column("expires_at", SafeText, nullable=False),
)
