from satchel_runtime import call, omit, Record
from typing import Literal

class CutPiece(Record):
    kind: Literal["cut"]
    grams: float

class SpoiltPiece(Record):
    kind: Literal["spoilt"]
    why: str | None = None

class CutOutput(Record):
    piece: CutPiece | SpoiltPiece

async def cut(
    *,
    shape: Literal["circle", "rectangle"],
    radius: float = omit,
    board: str | int = omit,
    width: float = omit,
    height: float = omit,
) -> CutOutput:
    """Cut a shape out of a board.

    radius: In millimetres (> 0)
    board: By its number
    width: (> 0)
    height: (> 0)
    """
    return await call("workshop", "cut", locals(), CutOutput)
