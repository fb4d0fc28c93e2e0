"""The place of a project's database."""

import os
from collections.abc import Mapping
from pathlib import Path

from satchel.config.configuration import Configuration
from satchel.config.variables import UnresolvedVariableError, expand
from satchel.errors import JournalError


def database_of(configuration: Configuration, environment: Mapping[str, str] | None = None) -> Path | str:
    """The file of the project, made ready to be written, or the URL that the settings name."""
    chosen = configuration.settings.database
    if chosen is None:
        configuration.paths.prepare_state()
        return configuration.paths.database
    try:
        return expand(chosen, os.environ if environment is None else environment)
    except UnresolvedVariableError as error:
        raise JournalError(
            f"database in satchel.yaml refers to {error.variable}, which is not set",
            hint=f"export {error.variable}=…",
        ) from error
