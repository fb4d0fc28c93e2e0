from builtins import list as list_
from satchel_runtime import call, omit, Record, renamed

class ListOutput(Record):
    list: list_[str]

@renamed(call_="call")
async def list(
    *,
    list: list_[str] = omit,
    dict: dict[str, list_[int]] = omit,
    str: str = omit,
    call_: bool = omit,
) -> ListOutput:
    """List the apples of an orchard.

    list: Only those of these sorts
    """
    return await call("list", "list", locals(), ListOutput, names={"call_": "call"})
