"""The functions of a format. The modules json_text and toml_text are the formats."""

from collections.abc import Collection, Sequence
from typing import Protocol

from satchel.model import Json


class NotParsedError(ValueError):
    """The text is not valid; `line` is where. Becomes a ConfigError, which names the file."""

    def __init__(self, message: str, line: int | None) -> None:
        super().__init__(message)
        self.line = line


class Format(Protocol):
    """Pure functions on a whole text. All but `parse` take only what `parse` accepts."""

    def parse(self, text: str) -> Json: ...
    def read(self, text: str) -> Json: ...
    def line_of(self, text: str, path: Sequence[str]) -> int | None: ...
    def put(self, text: str, path: Sequence[str], value: object) -> str: ...
    def remove(self, text: str, path: Sequence[str]) -> str: ...
    def masked(self, text: str, path: Sequence[str], keys: Collection[str]) -> str: ...
