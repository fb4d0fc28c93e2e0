"""Adds and removes agents in satchel.yaml, by whole lines: every other byte of the file stays as it is.

The file is people's. A change is made only if a parser finds exactly that change in the new text. A file
that is written in a different way (on one line, as a list, with aliases) is left alone, and the person is
told what to write.
"""

import copy
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from satchel.config.agents import AgentSettings, check_name
from satchel.config.paths import SETTINGS_FILE, Paths
from satchel.config.settings import Settings, data_in, read_settings_file, settings_in
from satchel.config.shapes import WRAPPER
from satchel.errors import ArgumentError, ConfigError, ConflictError
from satchel.model import is_list, is_object
from satchel.support.files import locked, write_atomically

_AGENTS = "agents"
_LINE = re.compile("[^\n\r\x85\u2028\u2029]*(?:\r\n|[\n\r\x85\u2028\u2029]|$)")  # as PyYAML counts them
_PLAIN = re.compile(r"[A-Za-z](?:[\w./:@+-]*\w)?", re.ASCII)
_STEP = 2  # columns
_BOM = "\ufeff"
_yaml: Any = yaml  # its stubs leave the nodes untyped

Value = str | tuple[str, ...]


class _NotByLinesError(Exception):
    """The file is written in a way in which lines can't be added or removed."""

    def __init__(self, reason: str, *, is_list: bool = False) -> None:
        super().__init__(reason)
        self.is_list = is_list


@dataclass(frozen=True, kw_only=True)
class _Agents:
    """Where the agents are: the keys above, and the nodes of the key `agents` and of its value."""

    above: tuple[str, ...]
    key: Any
    value: Any


def add_agent(paths: Paths, name: str, values: Mapping[str, Value]) -> AgentSettings:
    """Write an agent into the project's satchel.yaml, and return its settings as they are read."""
    check_name(name)
    file = (paths.settings_file or paths.project / SETTINGS_FILE).resolve()
    entry = {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}

    def change(text: str, data: object) -> tuple[str, object]:
        if is_written(data, name):
            raise ConflictError(
                f"{file.name} has an agent '{name}' already", name=name, hint=f"satchel agents show {name}"
            )
        return _with_entry(text, name, entry), _with_value(data, name, entry)

    try:
        return _edit(file, change).agents[name]
    except _NotByLinesError as error:
        lines = _rendered(name, entry, is_item=error.is_list)
        raise ArgumentError(
            f"{file.name} can't be added to, because {error}; write this below '{_AGENTS}' yourself:\n"
            + "\n".join(lines),
            hint="nothing was changed",
        ) from None


def remove_agent(paths: Paths, name: str) -> bool:
    """Take an agent out of satchel.yaml; false if it is not there. Its files are not touched."""
    file = paths.settings_file.resolve() if paths.settings_file else None
    if file is None or not is_written(data_in(_read(file).removeprefix(_BOM), file), name):
        return False
    try:
        _edit(file, lambda text, data: (_without_entry(text, name), _without_value(data, name)))
    except _NotByLinesError as error:
        line = read_settings_file(file).locate((_AGENTS, name))[1]
        raise ArgumentError(
            f"{file.name}:{line}: the entry of '{name}' can't be removed, because {error}",
            hint="remove it yourself, then run this again for the agent's files",
        ) from None
    return True


def is_written(data: object, name: str) -> bool:
    """Whether the values of a file have an agent of this name, in any form that is accepted."""
    for section in (data, data.get(WRAPPER) if is_object(data) else None):
        agents: object = section.get(_AGENTS) if is_object(section) else None
        if is_list(agents) and any(is_object(agent) and agent.get("id") == name for agent in agents):
            return True
        if is_object(agents) and name in map(str, agents):
            return True
    return False


def _edit(file: Path, change: Callable[[str, object], tuple[str, object]]) -> Settings:
    """Write the text that `change` makes, if its values are those that `change` says, and can be used."""
    try:
        with locked(file.parent):
            before = _read(file)
            text = before.removeprefix(_BOM)
            old = data_in(text, file)
            settings_in(text, file)  # of a file that can't be used, nothing is known
            new, expected = change(text, old)
            if not _says(new, expected, file):
                raise _NotByLinesError("its lines can't be told apart")
            try:
                settings = settings_in(new, file).settings
            except ConfigError as error:  # its line is in a text that nobody has
                raise ArgumentError(error.reason, hint=error.hint) from None
            write_atomically(file, (before[: len(before) - len(text)] + new).encode())
            return settings
    except OSError as error:
        raise ConfigError(
            f"can't be written: {error.strerror or error}", file=file, hint="nothing was changed"
        ) from error


def _says(text: str, expected: object, file: Path) -> bool:
    try:
        return data_in(text, file) == expected
    except (ConfigError, RecursionError):
        return False


def _read(file: Path) -> str:
    try:
        return file.read_bytes().decode()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"can't be read: {error}", file=file) from error


def _with_value(data: object, name: str, entry: object) -> object:
    new: dict[Any, Any] = copy.deepcopy(dict(data)) if is_object(data) else {}
    inside = new.get(WRAPPER)
    section = inside if is_object(inside) and _AGENTS in inside else new
    agents: object = section.get(_AGENTS)
    section[_AGENTS] = {**(agents if is_object(agents) else {}), name: entry}
    return new


def _without_value(data: object, name: str) -> object:
    new: dict[Any, Any] = copy.deepcopy(dict(data)) if is_object(data) else {}
    inside = new.get(WRAPPER)
    section = inside if is_object(inside) and _AGENTS in inside else new
    agents: object = section[_AGENTS]
    rest = {key: value for key, value in agents.items() if str(key) != name} if is_object(agents) else {}
    if rest:
        section[_AGENTS] = rest
    else:
        del section[_AGENTS]
    if section is not new and not section:
        new[WRAPPER] = None
    return new or None


def _with_entry(text: str, name: str, entry: Mapping[str, Any]) -> str:
    """The text with the lines of an agent below those of the others."""
    root = _root(text)
    lines = _lines(text)
    ending = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    agents = None if root is None else _agents_in(root)
    new = _rendered(name, entry)
    if agents is None:
        column = root.value[0][0].start_mark.column if root is not None and root.value else 0
        place = len(lines)
        new = [f"{_AGENTS}:", *(" " * _STEP + line for line in new)]
    else:
        value = _block(agents)
        column = value.value[0][0].start_mark.column
        place = _last_line(lines, text, value, column)
    before = "".join(lines[:place])
    if before and not before.endswith(("\n", "\r")):
        before += ending
    if agents is None and root is not None:
        before += ending  # set apart from what is above
    return before + "".join(f"{' ' * column}{line}{ending}" for line in new) + "".join(lines[place:])


def _without_entry(text: str, name: str) -> str:
    """The text without the lines of an agent; without the key `agents`, if there are no others."""
    root = _root(text)
    agents = None if root is None else _agents_in(root)
    if agents is None:
        raise _NotByLinesError("it is not in a place of its own")
    value = _block(agents)
    lines = _lines(text)
    keys = [key for key, _ in value.value]
    mine = [place for place, key in enumerate(keys) if key.value == name]
    if len(mine) != 1:
        raise _NotByLinesError("it is not in a place of its own")
    key = keys[mine[0]]
    if len(keys) == 1:
        key = agents.key
    start: int = key.start_mark.line
    column: int = key.start_mark.column
    if lines[start][:column].strip():
        raise _NotByLinesError("it does not begin on a line of its own")
    last = mine[0] == len(keys) - 1
    end = (
        _last_line(lines, text, value, column + 1)
        if last
        else _end_before(lines, keys[mine[0] + 1].start_mark.line, start, column + 1)
    )
    if len(keys) == 1 and end == len(lines):
        start = _end_before(lines[:start], start, 0, 0)  # with the empty lines that set it apart
    return "".join(lines[:start] + lines[end:])


def _root(text: str) -> Any:
    """The node of all that the text says; None where it says nothing."""
    try:
        root = _yaml.compose(text, Loader=_yaml.SafeLoader)
    except (_yaml.YAMLError, RecursionError):
        raise _NotByLinesError("the file has more than one document") from None
    if root is not None and (root.id != "mapping" or root.flow_style):
        raise _NotByLinesError("the file is written in braces")
    return root


def _agents_in(root: Any) -> _Agents | None:
    found = [_Agents(above=(), key=key, value=value) for key, value in root.value if key.value == _AGENTS]
    for outer, section in root.value:
        if outer.value == WRAPPER and section.id == "mapping":
            if section.start_mark.line < outer.start_mark.line:
                raise _NotByLinesError(f"'{WRAPPER}' is an alias")
            found += [
                _Agents(above=(WRAPPER,), key=key, value=value)
                for key, value in section.value
                if key.value == _AGENTS
            ]
    return found[0] if found else None


def _block(agents: _Agents) -> Any:
    """The node of agents by name, each on lines of its own."""
    value = agents.value
    if value.start_mark.index < agents.key.start_mark.index:
        raise _NotByLinesError(f"'{_AGENTS}' is an alias")
    if value.id == "sequence":
        raise _NotByLinesError(f"'{_AGENTS}' is a list", is_list=True)
    if value.id != "mapping" or value.flow_style or not value.value:
        raise _NotByLinesError(f"'{_AGENTS}' is written in braces")
    return value


def _last_line(lines: list[str], text: str, node: Any, column: int) -> int:
    """The number of lines up to the end of a mapping, with the comments that are indented as it is."""
    mark = node.end_mark
    end = len(lines) if mark.index >= len(text) else mark.line
    return _end_before(lines, end, node.start_mark.line, column)


def _end_before(lines: list[str], end: int, start: int, column: int) -> int:
    """Without empty lines and comments at the end, unless these are indented by so many columns."""
    while end > start + 1:
        bare = lines[end - 1].strip()
        indent = len(lines[end - 1]) - len(lines[end - 1].lstrip())
        if bare and not (bare.startswith("#") and indent < column):
            break
        end -= 1
    return end


def _lines(text: str) -> list[str]:
    return [line for line in _LINE.findall(text) if line]


def _rendered(name: str, entry: Mapping[str, Any], *, is_item: bool = False) -> list[str]:
    """The lines of an agent, as people write them."""
    head = f"- id: {_scalar(name)}" if is_item else f"{_scalar(name)}:{'' if entry else ' {}'}"
    return [head, *(f"{' ' * _STEP}{key}: {_written(value)}" for key, value in entry.items())]


def _written(value: object) -> str:
    if isinstance(value, str):
        return _scalar(value)
    return json.dumps(value, ensure_ascii=False)


def _scalar(text: str) -> str:
    if _PLAIN.fullmatch(text) and _yaml.safe_load(text) == text:
        return text
    return json.dumps(text, ensure_ascii=False)
