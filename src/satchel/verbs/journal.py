"""The journal: where it is, and what it has of executions and calls."""

import os
from collections.abc import Mapping
from pathlib import Path

from satchel.config import Configuration
from satchel.config.variables import UnresolvedVariableError, expand
from satchel.errors import JournalError


def database_of(configuration: Configuration, environment: Mapping[str, str] | None = None) -> Path | str:
    """Where the journal is: the file of the project, made ready to be written, or what the settings name."""
    environment = os.environ if environment is None else environment
    chosen = configuration.settings.database
    if chosen is None:
        configuration.paths.prepare_state()
        return configuration.paths.database
    try:
        return expand(chosen, environment)
    except UnresolvedVariableError as error:
        raise JournalError(
            f"database in satchel.yaml refers to {error.variable}, which is not set",
            hint=f"export {error.variable}=…",
        ) from error
