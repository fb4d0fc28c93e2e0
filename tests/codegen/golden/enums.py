from satchel_runtime import call, JsonOrText, omit
from typing import Literal

async def mark_parcel(
    *,
    parcel: str,
    state: Literal["waiting", "on its way", "delivered", "\"lost\""],
    priority: Literal[1, 2, 3] = omit,
    weight_class: Literal[2, "heavy"] | float = omit,
    fragile: Literal[True] | None = omit,
    labels: list[Literal["gift", "express"]] = omit,
    version: Literal["v2"],
) -> JsonOrText:
    """Mark a parcel.

    labels: (at most 2 items, no repetitions)
    """
    return await call("parcel-desk", "mark_parcel", locals())
