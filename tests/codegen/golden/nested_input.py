from satchel_runtime import call, JsonOrText, omit, Record
from typing import Any

class Address(Record):
    street: str
    city: str
    position: tuple[float, float] | list[float] = omit

class Customer(Record):
    name: str
    address: Address | dict[str, Any]
    telephone: str | None = omit

class Item(Record):
    product: str  # What is in the window, by its name
    count: int = omit  # (default 1, at least 1)
    options: dict[str, str] = omit

async def placeOrder(
    *,
    customer: Customer | dict[str, Any],
    items: list[Item | dict[str, Any]],
    invoice: Address | dict[str, Any] = omit,
) -> JsonOrText:
    """Order bread and cake.

    customer: Who orders
    items: (at least 1 item)
    invoice: Where the invoice goes, if elsewhere
    """
    return await call("bakery", "placeOrder", locals())
