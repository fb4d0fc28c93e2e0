"""The database that keeps what happened: one writer, and one async interface per subject.

The only stage that imports SQLAlchemy, which takes a third of a second: `writer.py`, the faces and the rows
they write do so when the database is first used.
"""

from satchel.store.conversations.interface import ConversationStore
from satchel.store.journal import Journal
from satchel.store.writer import Writer

__all__ = ["ConversationStore", "Journal", "Writer"]
