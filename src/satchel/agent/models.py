"""Models by their names: `provider:name`, or a name of the settings. Keys come from the environment."""

from collections.abc import Mapping
from typing import Any

from satchel.config.models import PROVIDER_AND_NAME, ModelSettings
from satchel.config.variables import UnresolvedVariableError, expand
from satchel.errors import ArgumentError, ConfigError
from satchel.names import closest
from satchel.support.installing import how_to_install

try:
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.models import Model, infer_model
    from pydantic_ai.providers import Provider, infer_provider_class
except ImportError as error:
    raise ArgumentError(
        f"the agent loop needs pydantic-ai-slim ({error})", hint=how_to_install("agent")
    ) from error

_EXTRAS = {"anthropic": "agent-anthropic", "google": "agent-google", "google-cloud": "agent-google"}
_NO_KEY = "none"  # local servers ask for no key, and clients insist on one
WHAT_TO_WRITE = (
    "write one: `model: openai:gpt-5-mini` or `model: anthropic:claude-sonnet-4-5` below agents.NAME in"
    " satchel.yaml, or --model PROVIDER:NAME"
)


def model_settings(name: str, models: Mapping[str, ModelSettings]) -> ModelSettings:
    """What is known of a model: by a name of the settings, or by its provider and its own name."""
    if name in models:
        return models[name]
    if not PROVIDER_AND_NAME.fullmatch(name):
        raise ArgumentError(
            f"there is no model '{name[:80]}'",
            argument="model",
            hint=f"did you mean {closest(name, list(models), limit=1)[0]}?"
            if closest(name, list(models), limit=1)
            else "write PROVIDER:NAME, or name it below `models` in satchel.yaml",
        )
    return ModelSettings(model=name)


def open_model(settings: ModelSettings, environment: Mapping[str, str]) -> Model[Any]:
    """The model itself. ConfigError says which variable or extra is missing."""
    provider, _, name = settings.model.partition(":")
    kind = "openai-chat" if provider == "openai" and settings.base_url else provider  # what others speak

    def make_provider(named: str) -> Provider[Any]:
        given: dict[str, str] = {}
        if settings.base_url:
            given["base_url"] = _expanded(settings.base_url, environment)
        if settings.api_key:
            given["api_key"] = _expanded(settings.api_key, environment)
        elif settings.base_url:
            given["api_key"] = _NO_KEY
        return infer_provider_class(named)(**given)

    try:
        return infer_model(f"{kind}:{name}", make_provider)
    except ImportError as error:
        extra = _EXTRAS.get(provider)
        hint = how_to_install(extra) if extra else f"pip install 'pydantic-ai-slim[{provider}]'"
        raise ConfigError(
            f"the models of {provider} need a package that is not installed", hint=hint
        ) from error
    except (UserError, ValueError, TypeError) as error:
        reason = str(error).split("\n")[0].replace("`", "'")
        raise ConfigError(
            f"the model {settings.model} can't be used: {reason}",
            hint="satchel docs agents says how models are named, and which variables have their keys",
        ) from error


def _expanded(text: str, environment: Mapping[str, str]) -> str:
    try:
        return expand(text, environment)
    except UnresolvedVariableError as error:
        raise ConfigError(
            f"the variable {error.variable} is not set, and a model needs it",
            hint=f"export {error.variable}=…",
        ) from error
