from __future__ import annotations
from satchel_runtime import call, omit, Record
from typing import Literal, TypeAlias

class Taxon(Record):
    name: str
    rank: Literal["kingdom", "family", "genus", "species"]
    parts: list[Taxon] | None = None
    parent: Taxon | None = None

class SignedNote(Record):
    by: str
    note: Note

class ClassifyOutput(Record):
    root: Taxon
    notes: Note | None = None

Note: TypeAlias = str | list["Note"] | SignedNote

async def classify(*, plant: str, depth: int | None = omit) -> ClassifyOutput:
    """Where a plant belongs, from its kingdom down.

    depth: (at least 1)
    """
    return await call("herbarium", "classify", locals(), ClassifyOutput)
