from satchel_runtime import call, JsonOrText, omit, Record

class Address(Record):
    street: str
    city: str
    position: tuple[float, float] = omit

class Customer(Record):
    name: str
    address: Address
    telephone: str | None = omit

class Item(Record):
    product: str  # What is in the window, by its name
    count: int = omit  # (default 1, at least 1)
    options: dict[str, str] = omit

async def placeOrder(*, customer: Customer, items: list[Item], invoice: Address = omit) -> JsonOrText:
    """Order bread and cake.

    customer: Who orders
    items: (at least 1 item)
    invoice: Where the invoice goes, if elsewhere
    """
    return await call("bakery", "placeOrder", locals())
