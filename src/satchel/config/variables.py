"""References to the environment in configuration values: `${VAR}`, `${VAR:-default}`, `${env:VAR}`.

They are resolved when a server is started and never written back to disk.
"""

import re
from collections.abc import Mapping

_REFERENCE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


class UnresolvedVariableError(Exception):
    """A variable without value and default. Becomes a NeedsSetupError where the server is known."""

    def __init__(self, variable: str) -> None:
        super().__init__(variable)
        self.variable = variable


def expand(text: str, environment: Mapping[str, str], used: dict[str, str] | None = None) -> str:
    """Replace every reference. As in a shell, a default also stands in for an empty value.

    `used` receives the variables that were taken from the environment.
    """

    def replace(match: re.Match[str]) -> str:
        name, default = match.group(1), match.group(2)
        value = environment.get(name)
        if value and used is not None:
            used[name] = value
        if default is not None:
            return value or default
        if value is None:
            raise UnresolvedVariableError(name)
        return value

    return _REFERENCE.sub(replace, text)
