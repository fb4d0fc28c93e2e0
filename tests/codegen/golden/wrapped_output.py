from satchel_runtime import call, omit, Record

class Tide(Record):
    at: str  # (date-time)
    metres: float
    high: bool

async def next_tides(*, harbour: str, count: int = omit) -> list[Tide]:
    """The next high and low tides of a harbour.

    count: (default 4, 1 to 28)
    """
    return await call("tides", "next_tides", locals(), list[Tide], unwrap=True)
