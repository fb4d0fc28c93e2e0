from satchel_runtime import call, JsonOrText
from typing import Any

async def ask(**arguments: Any) -> JsonOrText:
    """Ask the old oracle.

    Input schema not understood: type "tablet" is not known.
    """
    return await call("oracle-of-old", "ask", arguments)
