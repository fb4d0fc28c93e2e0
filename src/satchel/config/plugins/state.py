"""Whether plugins and their servers are enabled, as extensions_config.json has it.

    "plugins": {"sales": {"enabled": false, "servers": {"slack": {"enabled": false, "endpoint": "…"}}}}

A server that is switched off is remembered by its endpoint: a different one that is later called the same is
not meant, and the same one under a different name is.
"""

from collections.abc import Mapping
from pathlib import Path

from satchel.config.extensions import load_document, update_extensions
from satchel.model import Json, Plugin, is_object

KEY = "plugins"


def read_states(file: Path) -> Mapping[str, object]:
    """The entries about plugins, by their names; empty if that is not an object."""
    states: object = load_document(file).get(KEY)
    return states if is_object(states) else {}


def is_enabled(plugin: Plugin, states: Mapping[str, object]) -> bool:
    """As a person has said, else as its manifest has, else true."""
    state = states.get(plugin.name)
    said: object = state.get("enabled") if is_object(state) else state
    if not isinstance(said, bool):
        said = plugin.values.get("defaultEnabled")
    return said is not False


def disabled_endpoints(states: Mapping[str, object]) -> set[str]:
    """The endpoints that a person has switched off, under whichever name."""
    found: set[str] = set()
    for state in states.values():
        servers: object = state.get("servers") if is_object(state) else None
        for row in servers.values() if is_object(servers) else ():
            if is_object(row) and row.get("enabled") is False and isinstance(row.get("endpoint"), str):
                found.add(row["endpoint"])
    return found


def user_values(plugin: Plugin, states: Mapping[str, object]) -> dict[str, str]:
    """The values of `userConfig`, as texts: those that a person has given, else the defaults."""
    state = states.get(plugin.name)
    given: object = state.get("config") if is_object(state) else None
    options: object = plugin.values.get("userConfig")
    values: dict[str, object] = {}
    for key, option in options.items() if is_object(options) else ():
        if is_object(option) and "default" in option:
            values[key] = option["default"]
    values |= given if is_object(given) else {}
    return {key: _text(value) for key, value in values.items() if isinstance(value, (str, int, float))}


def set_plugin_enabled(file: Path, name: str, *, enabled: bool) -> None:
    """Switch a plugin on or off; what else is said of it stays."""

    def change(document: Json) -> None:
        _state_in(document, name)["enabled"] = enabled

    update_extensions(file, change)


def set_server_enabled(file: Path, plugin: str, server: str, endpoint: str, *, enabled: bool) -> None:
    """Switch one server of a plugin on or off, by its endpoint, whichever of its names was given."""

    def change(document: Json) -> None:
        if enabled:
            for state in _objects(document.get(KEY)):
                known = _rows(state.get("servers"))
                left = {name: row for name, row in known if row.get("endpoint") != endpoint}
                if len(left) < len(known):
                    state["servers"] = left
                    if not left:
                        del state["servers"]
            _drop_empty(document)
            return
        state = _state_in(document, plugin)
        rows = state.get("servers")
        if not is_object(rows):
            rows = state["servers"] = {}
        rows[server] = {"enabled": False, "endpoint": endpoint}

    update_extensions(file, change)


def forget_plugin(file: Path, name: str) -> None:
    """Take out all that is said of a plugin."""

    def change(document: Json) -> None:
        states: object = document.get(KEY)
        if is_object(states) and states.pop(name, None) is not None and not states:
            del document[KEY]

    update_extensions(file, change)


def _drop_empty(document: Json) -> None:
    """Plugins of which nothing is said any more."""
    states: object = document.get(KEY)
    if is_object(states):
        for name in [name for name, state in states.items() if state == {}]:
            del states[name]
        if not states:
            del document[KEY]


def _state_in(document: Json, name: str) -> Json:
    states: object = document.get(KEY)
    if not is_object(states):
        states = document[KEY] = {}
    state: object = states.get(name)
    if not is_object(state):
        state = states[name] = {"enabled": state} if isinstance(state, bool) else {}
    return state


def _objects(value: object) -> list[Json]:
    return [one for one in value.values() if is_object(one)] if is_object(value) else []


def _rows(value: object) -> list[tuple[str, Json]]:
    return [(name, row) for name, row in value.items() if is_object(row)] if is_object(value) else []


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
