"""Parts of results for people and frameworks: text, and data that belongs into files."""

from satchel.calls.values import binary_of, decoded, ending_of, holders_of

__all__ = ["binary_of", "decoded", "ending_of", "holders_of"]
