"""The table of privacy tokens. What a token stands for is sealed, together with where it came from."""

from sqlalchemy import Column, MetaData, Table

from satchel.store.column_types import SafeText

privacy_tokens = Table(
    "privacy_tokens",
    MetaData(),
    Column("agent", SafeText, primary_key=True),
    Column("conversation", SafeText, primary_key=True),
    Column("letters", SafeText, primary_key=True),
    Column("kind", SafeText, nullable=False),
    Column("sealed", SafeText, nullable=False),
    Column("created_at", SafeText, nullable=False),
    Column("used_at", SafeText, nullable=False),  # the last use of any token of the conversation
)
