"""Puts the current names of settings in place of those from elsewhere.

Plain data goes in, and comes out with current keys only. Nothing after this knows of another name, except for
`Translation.origins`, by which errors name a key as it was written, and `Translation.locate`, by which they
find it.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, make_dataclass, replace
from pathlib import Path
from typing import Any, cast

from satchel.config.aliases import Alias, dotted, key_of, no_effect, rows_for, section_note
from satchel.config.reader import Key, Locate, read_dataclass
from satchel.config.settings import CodeExecutionSettings
from satchel.config.shapes import Unfolded, unfold
from satchel.errors import ConfigError
from satchel.model import is_list, is_object

_BY_NAME = "programs without any protection have to be asked for by name: backend: process"
_BY_ENTRY = "write each with its entry, as in mcpServers: name: {command: …}; enabled: false switches it off"
# What people call a process that nothing protects. None of these may become one unnoticed.
_UNPROTECTED = ("subprocess", "none", "local")
_TOP_LEVEL = ("execution_mode", "available_mcp_servers", "available_custom_tools", "search_tools")
# What Satchel does itself, by the names it has elsewhere: the group of tools, and the tools in it.
_OWN_GROUP, _OWN_TOOLS = "code_execution", ("execute_python", "execute_bash", "*")
# Providers of models that have a different name elsewhere.
_PROVIDERS = {"claude": "anthropic", "gemini": "google"}
_LOCAL = re.compile(r"(localhost|127\.0\.0\.1|::1|\[::1\])(:\d+)?")  # where a bridge is, elsewhere


@dataclass(frozen=True, kw_only=True)
class Translation:
    """`data` with current keys; `notes` with the key that each is about; `servers` as they were written.

    `expected` are servers that the file names and that have to have an entry somewhere.
    """

    data: object
    locate: Locate
    origins: Mapping[Key, Key] = field(default_factory=dict[Key, Key])
    servers: Mapping[str, object] = field(default_factory=dict[str, object])
    expected: tuple[str, ...] = ()
    notes: tuple[tuple[Key, str], ...] = ()


def translate(data: object, locate: Locate) -> Translation:
    """Put the current names for those from elsewhere, or raise ConfigError. Other data stays as it is."""
    if not is_object(data):
        return Translation(data=data, locate=locate)
    unfolded = unfold(data, locate)
    return _Translator(unfolded).translate()


@dataclass(frozen=True, kw_only=True)
class _Said:
    """The setting that one written key stands for."""

    key: Key
    now: Key
    sets: Mapping[Key, Any]
    row: Alias | None = None  # none for a current name in a section that is now elsewhere
    value: object = None

    def note(self, targets: Collection[Key]) -> str:
        """Its present name, given the settings that it really sets."""
        assert self.row is not None
        key = dotted(self.key)
        shown = f"'{key}: {_word(self.value)}'" if self.row.values else f"'{key}'"
        if not self.sets:
            return f"{shown} has no effect: {self.row.remark}"
        if self.sets == {self.now: self.value}:
            return f"'{key}' is now '{dotted(self.now)}'"
        now = " and ".join(f"'{dotted(target)}: {_word(self.sets[target])}'" for target in targets)
        kept = "".join(f"; '{dotted(target)}' is given" for target in self.sets if target not in targets)
        return f"{shown} is now {now}{kept}"


@dataclass(frozen=True, kw_only=True)
class _Mcp:
    """The keys below `mcp`. Two of them are looked at one by one."""

    execution_mode: object = None
    servers: Mapping[str, object] | None = None
    code_execution: object = None


@dataclass(frozen=True, kw_only=True)
class _Group:
    """A group of tools that is written as a map."""

    tools: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class _Groups:
    """Groups of tools that are written as lists."""

    in_context_tools: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, kw_only=True)
class _Backend:
    """What other programs say about the model of an agent. Each is looked at by its row."""

    type: object = None
    model: object = None
    mcp_servers: object = None


class _Translator:
    def __init__(self, unfolded: Unfolded) -> None:
        self._data = unfolded.data
        self._locate = unfolded.locate
        self._said: list[_Said] = []
        self._servers: Mapping[str, object] = {}
        self._expected: tuple[str, ...] = ()
        self._notes = list(unfolded.notes)

    def translate(self) -> Translation:
        data = self._data
        for name in _TOP_LEVEL:
            if name in data:
                self._take((name,), data.pop(name))
        if is_object(data.get("code_execution")):
            section = self._without_local(("code_execution",), data["code_execution"])
            data["code_execution"] = self._take_known(("code_execution",), section)
        if "mcp" in data:
            self._take_mcp(data.pop("mcp"))
        if isinstance(data.get("in_context_tools"), Mapping):
            data["in_context_tools"] = self._patterns(data["in_context_tools"])
        if is_object(data.get("agents")):
            data["agents"] = {
                name: self._take_backend(("agents", str(name)), agent)
                for name, agent in data["agents"].items()
            }
        origins = self._settle()
        return Translation(
            data=data,
            locate=_as_written(self._locate, origins),
            origins=origins,
            servers=self._servers,
            expected=self._expected,
            notes=tuple(self._notes),
        )

    def _take_known(self, key: Key, section: Mapping[Any, Any]) -> dict[Any, Any]:
        """Take what the table has of a section; the rest is returned."""
        rest: dict[Any, Any] = {}
        for name, value in section.items():
            is_section = name == "sandbox" and (value is None or is_object(value))
            if isinstance(name, str) and rows_for((*key, name)) and not is_section:
                self._take((*key, name), value)
            else:
                rest[name] = value
        return rest

    def _take(self, key: Key, value: object) -> None:
        row = next(
            (row for row in rows_for(key) if (row.kind is bool) == isinstance(value, bool)), rows_for(key)[0]
        )
        value = self._check(row, key, value)
        if key[-1] == "available_mcp_servers":
            self._expected = cast("tuple[str, ...]", value)
        if isinstance(value, tuple):
            value = list(cast("tuple[object, ...]", value))  # as in a file
        sets = {key_of(now, key): part for now, part in row.sets(value).items()}
        self._said.append(_Said(key=key, now=key_of(row.now, key), sets=sets, row=row, value=value))

    def _take_backend(self, key: Key, agent: object) -> object:
        """The agent without what other programs have under `backend`."""
        if not is_object(agent) or "backend" not in agent:
            return agent
        here = (*key, "backend")
        read_dataclass(_Backend, agent["backend"], self._locate, here)
        backend = dict(cast("Mapping[str, object]", agent["backend"] or {}))
        if "model" in backend:
            self._take_model(here, backend.pop("type", None), backend.pop("model"))
        for name, value in backend.items():
            self._take((*here, name), value)
        return {name: value for name, value in agent.items() if name != "backend"}

    def _take_model(self, key: Key, provider: object, model: object) -> None:
        """The model of an agent with its provider, which have a key each elsewhere."""
        row, now = rows_for((*key, "model"))[0], (*key[:-1], "model")
        full = self._check(row, (*key, "model"), model)
        if provider is not None:
            name = self._check(rows_for((*key, "type"))[0], (*key, "type"), provider)
            prefix = f"{_PROVIDERS.get(name, name)}:"
            full = full if full.startswith(prefix) else prefix + full
        self._said.append(_Said(key=(*key, "model"), now=now, sets={now: full}, row=row, value=model))

    def _without_local(self, key: Key, section: Mapping[Any, Any]) -> Mapping[Any, Any]:
        """The section without a grant that names nothing but this machine, where a bridge is elsewhere."""
        sandbox: object = section.get("sandbox")
        granted: object = sandbox.get("allow_net") if is_object(sandbox) else None
        if not is_object(sandbox) or not is_list(granted) or not granted:
            return section
        if not all(isinstance(host, str) and _LOCAL.fullmatch(host) for host in granted):
            return section
        here = (*key, "sandbox", "allow_net")
        self._notes.append((here, no_effect(here)))
        return {**section, "sandbox": {name: part for name, part in sandbox.items() if name != "allow_net"}}

    def _check(self, row: Alias, key: Key, value: object) -> Any:
        """The value, if it is one that the row has."""
        name = str(key[-1])
        kind: type[Any] = make_dataclass(
            "Written", [(name, row.kind, field(default=None, metadata={"positive": row.positive}))]
        )
        try:
            return getattr(read_dataclass(kind, {name: value}, self._locate, key[:-1]), name)
        except ConfigError as error:
            raise error.copy(hint=f"it is now '{row.now}'" if row.now else None) from None

    def _take_mcp(self, mcp: object) -> None:
        try:
            section = read_dataclass(_Mcp, mcp, self._locate, ("mcp",))
        except ConfigError as error:
            raise error.copy(hint=_BY_ENTRY if error.key == "mcp.servers" else None) from None
        if "execution_mode" in cast("Mapping[str, Any]", mcp or {}):
            self._take(("mcp", "execution_mode"), section.execution_mode)
        self._servers = section.servers or {}
        if self._servers:
            self._note_section(("mcp", "servers"))
        for name, entry in self._servers.items():
            if is_object(entry) and "envs" in entry:
                self._note_section(("mcp", "servers", name, "envs"))
        self._take_code(("mcp", "code_execution"), section.code_execution)

    def _take_code(self, key: Key, section: object) -> None:
        """Everything below `mcp.code_execution`: aliases by the table, all else by its current name."""
        if is_object(section):
            sandbox: object = section.get("sandbox")
            self._refuse_unprotected((*key, "sandbox"), sandbox)
            if is_object(sandbox):
                self._refuse_unprotected((*key, "sandbox", "backend"), sandbox.get("backend"))
            section = self._take_known(key, self._without_local(key, section))
        read_dataclass(CodeExecutionSettings, section, self._locate, key)
        values = cast("Mapping[str, Any]", section or {})
        for path, value in _leaves(values):
            now = ("code_execution", *path)
            self._said.append(_Said(key=(*key, *path), now=now, sets={now: value}))
        if values:
            self._note_section(key)

    def _refuse_unprotected(self, key: Key, backend: object) -> None:
        if isinstance(backend, str) and backend.lower() in _UNPROTECTED:
            file, line = self._locate(key)
            message = f"'{dotted(key)}' is '{backend}'; it can be bubblewrap, process"
            raise ConfigError(message, file=file, line=line, key=dotted(key), hint=_BY_NAME)

    def _patterns(self, groups: Mapping[Any, Any]) -> list[str]:
        """Groups are the server of every pattern in them that names none; `all` is any server."""
        key = ("in_context_tools",)
        self._note_section(key)
        found: list[str] = []
        for group, value in groups.items():
            if value == "*":
                tools = ("*",)
            elif is_object(value):
                tools = read_dataclass(_Group, value, self._locate, (*key, str(group))).tools
            else:
                read = read_dataclass(_Groups, {key[0]: {group: value}}, self._locate)
                (tools,) = read.in_context_tools.values()
            if group == _OWN_GROUP and set(tools) <= set(_OWN_TOOLS):
                self._notes.append(((*key, group), no_effect((*key, group))))
                continue
            server = "*" if group == "all" else group
            found += [tool if "." in tool or "__" in tool else f"{server}.{tool}" for tool in tools]
        return list(dict.fromkeys(found))

    def _note_section(self, key: Key) -> None:
        self._notes.append((key, section_note(key)))

    def _settle(self) -> dict[Key, Key]:
        """Set what was said, unless its current name is given. Two that differ are an error."""
        chosen: dict[Key, _Said] = {}
        for said in self._said:
            if said.sets and self._is_given(said.now):
                reason = f"'{dotted(said.key)}' is not used, because '{dotted(said.now)}' is given"
                self._notes.append((said.key, reason))
                continue
            targets = [target for target in said.sets if not self._is_given(target)]
            for target in targets:
                if chosen.setdefault(target, said).sets[target] != said.sets[target]:
                    raise self._contradiction(chosen[target], said, target)
            if said.row is not None:
                self._notes.append((said.key, said.note(targets)))
        self._raise_longest(chosen)
        for target, said in chosen.items():
            _put(self._data, target, said.sets[target])
        return {target: said.key for target, said in chosen.items()}

    def _raise_longest(self, chosen: dict[Key, _Said]) -> None:
        """Elsewhere there was one time for programs; here there is also a longest one to ask for."""
        longest = ("code_execution", "max_timeout")
        said = chosen.get(("code_execution", "timeout"))
        if said is None or said.key[-1] != "sandbox_timeout" or longest in chosen or self._is_given(longest):
            return
        value = said.sets[said.now]
        if value > CodeExecutionSettings.max_timeout:
            chosen[longest] = replace(said, sets={longest: value})
            self._notes.append((said.key, f"'{dotted(said.key)}' raises '{dotted(longest)}' as well"))

    def _contradiction(self, first: _Said, second: _Said, target: Key) -> ConfigError:
        file, line = self._locate(second.key)
        other = self._locate(first.key)[1]
        return ConfigError(
            f"'{dotted(second.key)}' contradicts '{dotted(first.key)}' in line {other}",
            file=file,
            line=line,
            key=dotted(second.key),
            hint=f"keep one of them; it is now '{dotted(target)}'",
        )

    def _is_given(self, key: Key) -> bool:
        place: object = self._data
        for part in key:
            if not is_object(place) or part not in place:
                return False
            place = place[str(part)]
        return True


def _as_written(locate: Locate, origins: Mapping[Key, Key]) -> Locate:
    """Finds settings, and what is in their lists, by their current keys as well."""

    def located(key: Key) -> tuple[Path, int | None]:
        for end in (len(key), len(key) - 1):
            if key[:end] in origins:
                return locate((*origins[key[:end]], *key[end:]))
        return locate(key)

    return located


def _leaves(values: Mapping[str, Any], above: Key = ()) -> Iterator[tuple[Key, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _leaves(cast("Mapping[str, Any]", value), (*above, name))
        elif value is not None or name != "sandbox":  # an empty section says nothing
            yield (*above, name), value


def _put(data: dict[Any, Any], target: Key, value: object) -> None:
    """Set a value in maps that are copied on the way: YAML can have one map in several places."""
    for part in target[:-1]:
        inner = data.get(part)
        if inner is not None and not is_object(inner):
            return  # wrong; the code that reads the settings reports it
        outer, data = data, dict(inner or {})
        outer[part] = data
    data[target[-1]] = value


def _word(value: object) -> str:
    """A value as YAML has it, shortened."""
    if value is None or isinstance(value, bool):
        return {True: "true", False: "false", None: "null"}[value]
    return str(value)[:60]
