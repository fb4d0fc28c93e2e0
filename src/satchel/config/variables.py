"""References to the environment in configuration values: `${VAR}`, `${VAR:-default}`, `${env:VAR}`.

They are resolved when a server is started and never written back to disk.
"""

import re
from collections.abc import Mapping

USER_CONFIG = "user_config."
"""The prefix of values that a plugin asks its user for."""
_REFERENCE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_OF_PLUGIN = re.compile(r"\$\{(?:env:)?((?:user_config\.)?[A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


class UnresolvedVariableError(Exception):
    """A variable without value and default. Becomes a NeedsSetupError where the server is known."""

    def __init__(self, variable: str) -> None:
        super().__init__(variable)
        self.variable = variable


def references(text: str) -> list[str]:
    """The variables that a text of a plugin refers to."""
    return [match[1] for match in _OF_PLUGIN.finditer(text)]


def fill(text: str, given: Mapping[str, str]) -> str:
    """Put in what a plugin brings, just as `expand` does, and leave the environment's variables."""

    def replace(match: re.Match[str]) -> str:
        return (given[match[1]] or match[2] or "") if match[1] in given else match[0]

    return _OF_PLUGIN.sub(replace, text)


def expand(
    text: str,
    environment: Mapping[str, str],
    used: dict[str, str] | None = None,
    given: Mapping[str, str] | None = None,
) -> str:
    """Replace every reference, once. As in a shell, a default also stands in for an empty value.

    `used` receives the variables that were taken from the environment. `given`, for a plugin's entries, are
    values that come before those.
    """

    def replace(match: re.Match[str]) -> str:
        name, default = match.group(1), match.group(2)
        if given is not None and (name in given or name.startswith(USER_CONFIG)):
            if name not in given and default is None:
                raise UnresolvedVariableError(name)
            return given.get(name) or default or ""
        value = environment.get(name)
        if value and used is not None:
            used[name] = value
        if default is not None:
            return value or default
        if value is None:
            raise UnresolvedVariableError(name)
        return value

    return (_REFERENCE if given is None else _OF_PLUGIN).sub(replace, text)
