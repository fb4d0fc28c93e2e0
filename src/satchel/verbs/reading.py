"""Schemas and results, read as the chain reads them: pure functions, for surfaces that show them."""

from satchel.calls.arguments import argument_problem, describe_parameter
from satchel.calls.schemas import follow
from satchel.calls.values import binary_of, decoded, ending_of, holders_of

__all__ = [
    "argument_problem",
    "binary_of",
    "decoded",
    "describe_parameter",
    "ending_of",
    "follow",
    "holders_of",
]
