"""The models that satchel.yaml names: which provider has them, and where they are reached."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from satchel.config.reader import Locate
from satchel.errors import ConfigError

PROVIDER_AND_NAME = re.compile(r"[^:\s]+:\S.*")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    """One model, under a name of the user's own."""

    model: str  # provider:name
    base_url: str = ""  # of a compatible server
    api_key: str = ""  # a reference to a variable: ${NAME}
    display_name: str = ""
    description: str = ""
    max_tokens: int | None = None  # of an answer


def check_models(models: Mapping[str, ModelSettings], locate: Locate) -> None:
    """Refuse names that no agent could write, models without a provider, and keys in plain text."""
    for name, model in models.items():
        if not _NAME.fullmatch(name):
            raise _error(f"'{name[:80]}' can't be the name of a model", ("models", name), locate, _NAMES)
        if not PROVIDER_AND_NAME.fullmatch(model.model):
            raise _error(
                f"'{model.model[:80]}' names no provider",
                ("models", name, "model"),
                locate,
                f"write the provider before the model: openai:{model.model[:80] or 'gpt-4o'}",
            )
        if model.base_url and not model.base_url.startswith(("http://", "https://")):
            raise _error(
                f"'{model.base_url[:80]}' is not an HTTP address",
                ("models", name, "base_url"),
                locate,
                "write the address up to /v1: http://127.0.0.1:8080/v1",
            )
        if model.api_key and not model.api_key.startswith("${"):
            raise _error(
                "the key is written out",
                ("models", name, "api_key"),
                locate,
                "name a variable instead: ${MY_KEY}; this file may be shared",
            )


_NAMES = "use letters, digits, '_', '-' and '.', at most 64; '-' and '.' not at the beginning"


def _error(message: str, key: tuple[str, ...], locate: Locate, hint: str) -> ConfigError:
    file, line = locate(key)
    return ConfigError(message, file=file, line=line, key=".".join(key), hint=hint)
