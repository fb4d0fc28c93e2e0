"""Rows that are tedious to write."""

from pathlib import Path
from typing import Any

from satchel.model import CallStatus
from satchel.store.rows import FinishedCall, NewCall
from satchel.store.store import Store

AS_LOCATION = "from pathlib import Path; location = (Path if sys.argv[1] == 'file' else str)(sys.argv[2])"


def new_call(**changes: Any) -> NewCall:
    values: dict[str, Any] = {
        "execution": None,
        "agent": "default",
        "server": "drive",
        "tool": "get",
        "arguments_digest": "0" * 64,
        "arguments_size": 2,
    }
    return NewCall(**{**values, **changes})


def finished(number: int, status: CallStatus = "ok", **changes: Any) -> FinishedCall:
    values: dict[str, Any] = {"duration_ms": 1.5, **changes}
    return FinishedCall(id=number, status=status, **values)


def begin_execution(store: Store, id: str, **changes: Any) -> None:
    values: dict[str, Any] = {"id": id, "agent": "default", "language": "python", "program": "print(1)"}
    store.begin_execution(**{**values, **changes})


def location_arguments(location: Path | str) -> list[str]:
    """A location as the arguments of a child process, which has `AS_LOCATION` read them."""
    return ["file" if isinstance(location, Path) else "url", str(location)]
