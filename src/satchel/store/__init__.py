"""The database that keeps what happened: one writer, and one async face per subject (today the journal).

The only stage that imports SQLAlchemy, which takes a third of a second: `writer.py`, the faces and the rows
they write do so when the database is first used.
"""
