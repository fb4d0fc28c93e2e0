from satchel_runtime import call, JsonOrText, omit, Record
from typing import Any

class Place(Record):
    room: str = omit

async def record_reading(
    *,
    sensor: str,
    at: str = omit,
    extra: str = omit,
    tags: dict[str, str] = omit,
    place: Place | dict[str, Any] = omit,
    **extra2: float,
) -> JsonOrText:
    """Record what a sensor says. Any further parameter is a quantity and its value.

    at: (date-time)
    tags: (keys match "^[a-z]+$")
    """
    return await call("sensor-hub", "record_reading", locals(), names={"extra2": None})
