"""The shapes in which other programs write a file of settings, brought into Satchel's own.

`massgen:` around the settings, `agents` as a list, and `flows` as a list of rules. Only places change here;
what keys are called is for config/translation.py. `locate` still finds each key where it was written.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from satchel.config.aliases import dotted, no_effect
from satchel.config.reader import Key, Locate
from satchel.errors import ConfigError
from satchel.model import is_list, is_object

WRAPPER = "massgen"
_AGENTS = "agents"
_ID = "id"
_FLOWS = "flows"
_RULES = "rules"


@dataclass(frozen=True, kw_only=True)
class Unfolded:
    data: dict[Any, Any]
    locate: Locate
    notes: tuple[tuple[Key, str], ...]


def unfold(data: Mapping[Any, Any], locate: Locate) -> Unfolded:
    """The same settings at the top level, with the agents by name and the rules in place, or ConfigError."""
    unfolded = dict(data)
    notes: list[tuple[Key, str]] = []
    inside: set[object] = set()
    if WRAPPER in unfolded:
        inner = _section(unfolded.pop(WRAPPER), locate)
        for name in inner:
            if name in unfolded:
                raise _given_twice(str(name), locate)
        inside = set(inner)
        unfolded |= inner
        notes.append(((WRAPPER,), no_effect((WRAPPER,))))

    places: dict[str, int] = {}

    rules: object = unfolded.get(_FLOWS)
    if is_list(rules):
        unfolded[_FLOWS] = {_RULES: rules}

    def locate_written(key: Key) -> tuple[Path, int | None]:
        if is_list(rules) and key[:2] == (_FLOWS, _RULES):
            key = (_FLOWS, *key[2:])
        if key[:1] == (_AGENTS,) and len(key) > 1 and key[1] in places:
            key = (_AGENTS, places[str(key[1])], *key[2:])
        return locate((WRAPPER, *key) if key and key[0] in inside else key)

    agents: object = unfolded.get(_AGENTS)
    if is_list(agents):
        unfolded[_AGENTS] = _by_name(agents, locate_written, places)
    return Unfolded(data=unfolded, locate=locate_written, notes=tuple(notes))


def _section(value: object, locate: Locate) -> dict[Any, Any]:
    if value is None or is_object(value):
        return dict(value or {})
    file, line = locate((WRAPPER,))
    raise ConfigError(f"'{WRAPPER}' must be keys and values", file=file, line=line, key=WRAPPER)


def _given_twice(name: str, locate: Locate) -> ConfigError:
    key = (WRAPPER, name)
    file, line = locate(key)
    return ConfigError(
        f"'{dotted(key)}' is given twice, here and as '{name}' in line {locate((name,))[1]}",
        file=file,
        line=line,
        key=dotted(key),
        hint="keep one of them",
    )


def _by_name(agents: list[Any], locate: Locate, places: dict[str, int]) -> dict[str, Any]:
    """The agents by their ids; `places` receives where in the list each one is."""
    found: dict[str, Any] = {}
    for index, agent in enumerate(agents):
        name: object = agent.get(_ID) if is_object(agent) else None
        if not is_object(agent) or not isinstance(name, str):
            raise _agent_error(index, f"must have an '{_ID}' that is a string", locate)
        if name in found:
            raise _agent_error(index, f"has the '{_ID}' of a different agent, '{name[:80]}'", locate)
        found[name] = {key: value for key, value in agent.items() if key != _ID}
    places.update({name: index for index, name in enumerate(found)})
    return found


def _agent_error(index: int, message: str, locate: Locate) -> ConfigError:
    file, line = locate((_AGENTS, index))
    hint = f"write - {_ID}: NAME; or agents by name: {_AGENTS}: {{NAME: {{…}}}}"
    return ConfigError(
        f"'{_AGENTS}.{index}' {message}", file=file, line=line, key=f"{_AGENTS}.{index}", hint=hint
    )
