from satchel_runtime import call, omit, Record, renamed
from typing import Any, Literal

class LettersSendOneOutput(Record, id="@id", keys_="keys", return_="return"):
    id: str
    keys_: list[str] | None = None
    return_: str
    _id: str | None = None

class Stamp(Record, import_="import", get_="get", items_="items", x_y="x.y"):
    import_: bool
    get_: str = omit
    items_: int = omit
    x_y: float = omit
    metaclass: str = omit

@renamed(from_="from", class_="class", reply_to="reply-to", _2nd_line="2nd line", price="$price", value="")
async def Letters_send_one(
    *,
    from_: str,
    to: str,
    class_: Literal["first", "second"] = omit,
    reply_to: str = omit,
    _2nd_line: str = omit,
    名前: str = omit,
    price: float = omit,
    self: bool = omit,
    value: str = omit,
    stamp: Stamp | dict[str, Any],
) -> LettersSendOneOutput:
    """Send one letter.

    from_: Who writes
    reply_to: (email)
    """
    return await call("Mail Room (3rd floor)", "Letters.send-one", locals(), LettersSendOneOutput, names={"from_": "from", "class_": "class", "reply_to": "reply-to", "_2nd_line": "2nd line", "price": "$price", "value": ""})
