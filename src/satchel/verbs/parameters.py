"""Parameters of tools, for people: what each takes, and what is wrong with a value or a schema."""

from satchel.calls.arguments import argument_problem, describe_parameter
from satchel.calls.schemas import schema_problem

__all__ = ["argument_problem", "describe_parameter", "schema_problem"]
