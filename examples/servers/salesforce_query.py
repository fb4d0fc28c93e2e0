"""Conditions on records, and sorting them: pure functions, no storage."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Literal

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, Field
from salesforce_objects import Value, check_field_name
from state import Record

Operator = Literal["=", "!=", "<", "<=", ">", ">=", "contains"]

ORDERINGS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
# What a record has besides the fields of its type.
COMMON_FIELDS = ("id", "created_at", "updated_at")


class Condition(BaseModel):
    """A comparison that a record has to pass."""

    field: str = Field(description="Name of a field, or id, created_at, updated_at.")
    operator: Operator = Field(default="=", description="contains compares text in any case.")
    value: Value = Field(description="What to compare with; = null finds empty fields.")


def matching(object_type: str, everything: Sequence[Record], conditions: Sequence[Condition]) -> list[Record]:
    for condition in conditions:
        check_field_name(object_type, condition.field, *COMMON_FIELDS)
    return [
        record
        for record in everything
        if all(holds(condition, value_of(record, condition.field)) for condition in conditions)
    ]


def ordered(object_type: str, found: Sequence[Record], order_by: str) -> list[Record]:
    """Sorted by a field, from the largest with a leading minus; empty fields come last either way."""
    name = order_by.removeprefix("-")
    check_field_name(object_type, name, *COMMON_FIELDS)

    def key(record: Record) -> Any:
        return value_of(record, name)

    filled = [record for record in found if key(record) is not None]
    empty = [record for record in found if key(record) is None]
    return [*sorted(filled, key=key, reverse=order_by.startswith("-")), *empty]


def holds(condition: Condition, value: Value) -> bool:
    if condition.operator == "=":
        return value == condition.value
    if condition.operator == "!=":
        return value != condition.value
    if value is None:
        return False
    if condition.operator == "contains":
        return str(condition.value).lower() in str(value).lower()
    if isinstance(value, str) != isinstance(condition.value, str) or condition.value is None:
        kind = "a text" if isinstance(value, str) else "a number"
        raise ToolError(
            f"{condition.field} holds {kind} and can't be compared with {condition.value!r} by"
            f" {condition.operator}. Give {kind} as value."
        )
    return ORDERINGS[condition.operator](value, condition.value)


def value_of(record: Record, name: str) -> Value:
    return record[name] if name in COMMON_FIELDS else record["fields"][name]
