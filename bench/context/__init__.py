"""The same tasks with tools in the context and through `satchel serve`: tokens, time, and where they cross.

    python -m bench.context            measure and print
    python -m bench.context --record   and write it to docs/measured.md and docs/measured-context.svg
    python -m bench.context --check    only what has a limit, within a minute; exits with 1 if one is missed

There is no model in it. What a model would write is fixed in `tasks.py`; what it would read is what real
servers and a real `satchel serve` answer to that over their pipes.
"""
