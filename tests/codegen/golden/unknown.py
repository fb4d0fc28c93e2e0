from satchel_runtime import call, omit
from typing import Any

async def ask(
    *,
    question: Any,
    offering: Any = omit,
    day: Any = omit,
    witnesses: list[Any] = omit,
    silence: Any = omit,
    anything: Any = omit,
    mood: Any = omit,
) -> Any:
    """Ask the oracle.

    Output schema not understood: $ref https://example.com/schemas/answer.json leads nowhere in the schema.

    question: In verse (schema not understood: type "riddle" is not known)
    offering: (schema not understood: $ref #/$defs/Goat leads nowhere in the schema)
    day: (schema not understood: contradictory)
    witnesses: (schema not understood: its enum is not a list of values)
    silence: (schema not understood: no value is valid)
    """
    return await call("oracle", "ask", locals())
