"""How a plan is carried out, also again: what is new to a memory, and by whom it counts as written."""

from collections.abc import Iterable

from satchel.library.memory.importing.rows import digest_of
from satchel.model import Comparison, ImportPlan, Json, Writer


def compare(items: Iterable[Json], existing: Iterable[Json]) -> Comparison:
    """What of `items` an agent's memory, with these objects, does not have as it was imported.

    An entry that was changed here is never overwritten. Only entries of the same id are compared.
    """
    here = {entry["id"]: entry for entry in existing if isinstance(entry.get("id"), str)}
    new: list[Json] = []
    changed: list[Json] = []
    kept: list[Json] = []
    known = 0
    for item in items:
        entry = here.get(item["id"])
        if entry is None:
            new.append(item)
        elif item["imported"] == entry.get("imported") or item["content"] == entry.get("content"):
            known += 1
        elif _is_as_imported(entry):
            changed.append(item)
        else:
            kept.append(item)
    return Comparison(new=tuple(new), changed=tuple(changed), kept=tuple(kept), known=known)


def writer_of(plan: ImportPlan, *, is_reviewed: bool) -> Writer:
    """The writer of the plan's entries. Unless a person says that it was reviewed, it waits for a review.

    A person starts an import, but sees a count and some lines of what some model wrote down elsewhere.
    """
    who = "person" if is_reviewed else "satchel"
    return Writer(kind=who, reads=(plan.source,))


def _is_as_imported(entry: Json) -> bool:
    content = entry.get("content")
    return isinstance(content, str) and entry.get("imported") == digest_of(content)
