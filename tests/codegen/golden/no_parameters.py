from satchel_runtime import call, JsonOrText

async def now() -> JsonOrText:
    """The time the sundial shows.

    Read-only: changes nothing.
    """
    return await call("sundial", "now", {})
