"""The database that keeps what happened: executions, and the calls they and others made.

The only stage that imports SQLAlchemy, which costs a third of a second: import from here where it is needed.
"""
