from satchel_runtime import call, JsonOrText, omit

async def set_climate(
    *,
    house: str,
    temperature: float,
    humidity: int = omit,
    lights: bool = omit,
    until: str = omit,
    note: str = omit,
) -> JsonOrText:
    """Set what the climate of a greenhouse should be.

    The change takes effect within five minutes. Values outside of what the plants of that house tolerate are
    refused, and the reply says which plant would suffer, so it is safe to try.

        Houses are called by letter: A, B, C.

    house: Which house (pattern "^[A-F]$")
    temperature: Degrees Celsius (-5 to 45.5)
    humidity: Percent of what the air can hold (default 60, > 0, < 100)
    lights: (default true)
    until: End of the setting (date-time)
    note: For the gardener who reads the log in the morning and wonders why it is so warm; leave it out when
        the change needs no explanation. (at most 200 characters)
    """
    return await call("greenhouse", "set_climate", locals())
