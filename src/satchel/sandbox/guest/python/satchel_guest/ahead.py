"""A box that is made before there is a program has the time to import what programs are likely to use."""

from importlib import import_module
from typing import NoReturn

_OFTEN = (
    *("asyncio", "base64", "collections", "csv", "dataclasses", "datetime", "hashlib", "itertools", "json"),
    *("math", "pathlib", "random", "re", "statistics", "textwrap", "traceback", "urllib.parse"),
    *("satchel_guest.run", "satchel_guest.session", "satchel_runtime", "satchel_runtime.channel"),
)


def import_ahead() -> None:
    """Modules that programs are likely to use, and that run them. Every fork seeds `random` again."""
    for name in _OFTEN:
        import_module(name)


def start() -> NoReturn:
    import_ahead()
    from satchel_guest import run  # after those that it imports late

    run.start()
