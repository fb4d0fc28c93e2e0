from satchel_runtime import call, Record

class Person(Record):
    """Somebody with a name."""
    name: str
    born: int | None = None

class LoansValue(Record):
    reader: Person
    until: str | None = None  # (date)

class Book(Record, items_="items"):
    title: str
    authors: list[Person]
    shelf: str | None = None  # Where it stands; null while it is lent
    loans: dict[str, LoansValue] | None = None
    items_: int | None = None  # - type: ignore is what a careless cataloguer wrote here

async def find_book(*, title: str) -> Book:
    """Find a book by its title.

    Read-only: changes nothing.

    title: (e.g. "The Compleat Angler")
    """
    return await call("village-library", "find_book", locals(), Book)
