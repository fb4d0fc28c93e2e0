"""Keys of satchel.yaml that people bring from elsewhere: one table of them, and what each one is now.

Plain data goes in, and comes out with current keys only. Nothing after this knows of another name, except for
`Translation.origins`, by which errors name a key as it was written. A name is never guessed: what is not in
the table, or has a value that is not, stays an error.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, make_dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast

import yaml

from satchel.config.entries import ServerEntry, read_entry
from satchel.config.positions import line_in_yaml
from satchel.config.reader import Key, Locate, read_dataclass
from satchel.config.settings import CodeExecutionSettings
from satchel.errors import ConfigError
from satchel.model import is_list, is_object

_DIRECT, _CODE, _AUTO = {"mode": "direct"}, {"mode": "code"}, {"mode": "auto"}
_BY_NAME = "programs without any protection have to be asked for by name: backend: process"
_BY_ENTRY = "write each with its entry, as in mcpServers: name: {command: …}; enabled: false switches it off"


@dataclass(frozen=True, kw_only=True)
class Alias:
    """One key from elsewhere. It sets what `values` has for its value; without them, `now` to its value."""

    written: str
    now: str = ""  # the setting that it is now; one that is none has no effect, or `in_words`
    in_words: str = ""  # what a whole section is now
    kind: Any = object  # as in the dataclasses of the settings
    positive: bool = False
    values: Mapping[Any, Mapping[str, Any]] | None = None
    remark: str = ""  # why it, or the value that sets nothing, has no effect

    def sets(self, value: object) -> Mapping[str, Any]:
        if self.values is not None:
            return self.values[value]
        return {self.now: value} if self.now else {}


ALIASES = (
    Alias(
        written="execution_mode",
        now="mode",
        kind=Literal["direct", "code", "auto", "filesystem_first", "context_based"],
        values={
            "direct": _DIRECT,
            "code": _CODE,
            "auto": _AUTO,
            "filesystem_first": {**_CODE, "code_execution.required": True},
            "context_based": _DIRECT,
        },
    ),
    Alias(
        written="code_execution.enabled",
        now="mode",
        kind=bool,
        values={False: _DIRECT, True: {}},
        remark="'mode' says what a model is shown",
    ),
    Alias(
        written="code_execution.mode",
        now="mode",
        kind=Literal["auto", "always", "never"],
        values={"auto": _AUTO, "always": _CODE, "never": _DIRECT},
    ),
    Alias(written="code_execution.auto_threshold", now="auto_threshold", kind=int),
    Alias(written="code_execution.sandbox_timeout", now="code_execution.timeout", kind=float, positive=True),
    Alias(written="mcp.servers", in_words="'mcpServers' in extensions_config.json"),
    Alias(written="mcp.code_execution", in_words="'code_execution'"),
    Alias(
        written="mcp.code_execution.workspace_dir",
        kind=str,
        remark="workspaces are in .satchel/agents of the project",
    ),
    Alias(
        written="mcp.code_execution.regenerate_on_startup",
        kind=bool,
        remark="wrappers are always brought up to date",
    ),
    Alias(
        written="mcp.code_execution.sandbox",
        now="code_execution.sandbox.backend",
        kind=Literal["bubblewrap", "process"],
    ),
    Alias(
        written="mcp.code_execution.sandbox",
        now="mode",
        kind=bool,
        values={False: _DIRECT, True: {}},
        remark="'code_execution.sandbox.backend' says where programs run",
    ),
    Alias(written="in_context_tools", in_words="a list of patterns 'server.tool'"),
)
# What people call a process that nothing protects. None of these may become one unnoticed.
_UNPROTECTED = ("subprocess", "none", "local")


@dataclass(frozen=True, kw_only=True)
class Translation:
    """`data` with current keys; `notes` with the key that each is about; `servers` as they were written."""

    data: object
    origins: Mapping[Key, Key]
    servers: Mapping[str, object]
    notes: tuple[tuple[Key, str], ...]


def translate(data: object, locate: Locate) -> Translation:
    """Put the current names for those from elsewhere, or raise ConfigError. What is no map stays as it is."""
    if not is_object(data):
        return Translation(data=data, origins={}, servers={}, notes=())
    return _Translator(data, locate).translate()


@dataclass(frozen=True, kw_only=True)
class _Said:
    """What one key that was written would set."""

    key: Key
    now: Key
    sets: Mapping[Key, Any]
    row: Alias | None = None  # none for a current name in a section that is now elsewhere
    value: object = None

    def note(self, targets: Collection[Key]) -> str:
        """What it is now, given the settings that it really sets."""
        assert self.row is not None
        key = _dotted(self.key)
        shown = f"'{key}: {_word(self.value)}'" if self.row.values else f"'{key}'"
        if not self.sets:
            return f"{shown} has no effect: {self.row.remark}"
        if self.sets == {self.now: self.value}:
            return f"'{key}' is now '{_dotted(self.now)}'"
        now = " and ".join(f"'{_dotted(target)}: {_word(self.sets[target])}'" for target in targets)
        kept = "".join(f"; '{_dotted(target)}' is given" for target in self.sets if target not in targets)
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


class _Translator:
    def __init__(self, data: Mapping[Any, Any], locate: Locate) -> None:
        self._data = dict(data)
        self._locate = locate
        self._said: list[_Said] = []
        self._servers: Mapping[str, object] = {}
        self._notes: list[tuple[Key, str]] = []

    def translate(self) -> Translation:
        data = self._data
        if "execution_mode" in data:
            self._take(("execution_mode",), data.pop("execution_mode"))
        if isinstance(data.get("code_execution"), Mapping):
            data["code_execution"] = self._take_known(("code_execution",), data["code_execution"])
        if "mcp" in data:
            self._take_mcp(data.pop("mcp"))
        if isinstance(data.get("in_context_tools"), Mapping):
            data["in_context_tools"] = self._patterns(data["in_context_tools"])
        origins = self._settle()
        return Translation(data=self._data, origins=origins, servers=self._servers, notes=tuple(self._notes))

    def _take_known(self, key: Key, section: Mapping[Any, Any]) -> dict[Any, Any]:
        """Take what the table has of a section; the rest is returned."""
        rest: dict[Any, Any] = {}
        for name, value in section.items():
            is_section = name == "sandbox" and (value is None or is_object(value))
            if isinstance(name, str) and _rows((*key, name)) and not is_section:
                self._take((*key, name), value)
            else:
                rest[name] = value
        return rest

    def _take(self, key: Key, value: object) -> None:
        row = next(
            (row for row in _rows(key) if (row.kind is bool) == isinstance(value, bool)), _rows(key)[0]
        )
        value = self._check(row, key, value)
        sets = {_key(now): part for now, part in row.sets(value).items()}
        self._said.append(_Said(key=key, now=_key(row.now), sets=sets, row=row, value=value))

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
        self._take_code(("mcp", "code_execution"), section.code_execution)

    def _take_code(self, key: Key, section: object) -> None:
        """Everything below `mcp.code_execution`: aliases by the table, all else by its current name."""
        if is_object(section):
            sandbox: object = section.get("sandbox")
            self._refuse_unprotected((*key, "sandbox"), sandbox)
            if is_object(sandbox):
                self._refuse_unprotected((*key, "sandbox", "backend"), sandbox.get("backend"))
            section = self._take_known(key, section)
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
            message = f"'{_dotted(key)}' is '{backend}'; it can be bubblewrap, process"
            raise ConfigError(message, file=file, line=line, key=_dotted(key), hint=_BY_NAME)

    def _patterns(self, groups: Mapping[Any, Any]) -> list[str]:
        """Groups are the server of every pattern in them that names none; `all` is any server."""
        key = ("in_context_tools",)
        self._note_section(key)
        found: list[str] = []
        for group, value in groups.items():
            if is_object(value):
                tools = read_dataclass(_Group, value, self._locate, (*key, str(group))).tools
            else:
                read = read_dataclass(_Groups, {key[0]: {group: value}}, self._locate)
                (tools,) = read.in_context_tools.values()
            server = "*" if group == "all" else group
            found += [tool if "." in tool or "__" in tool else f"{server}.{tool}" for tool in tools]
        return list(dict.fromkeys(found))

    def _note_section(self, key: Key) -> None:
        self._notes.append((key, f"'{_dotted(key)}' is now {_rows(key)[0].in_words}"))

    def _settle(self) -> dict[Key, Key]:
        """Set what was said, unless its current name is given. Two that differ are an error."""
        chosen: dict[Key, _Said] = {}
        for said in self._said:
            if said.sets and self._is_given(said.now):
                reason = f"'{_dotted(said.key)}' is not used, because '{_dotted(said.now)}' is given"
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
            self._notes.append((said.key, f"'{_dotted(said.key)}' raises '{_dotted(longest)}' as well"))

    def _contradiction(self, first: _Said, second: _Said, target: Key) -> ConfigError:
        file, line = self._locate(second.key)
        other = self._locate(first.key)[1]
        return ConfigError(
            f"'{_dotted(second.key)}' contradicts '{_dotted(first.key)}' in line {other}",
            file=file,
            line=line,
            key=_dotted(second.key),
            hint=f"keep one of them; it is now '{_dotted(target)}'",
        )

    def _is_given(self, key: Key) -> bool:
        place: object = self._data
        for part in key:
            if not is_object(place) or part not in place:
                return False
            place = place[str(part)]
        return True


class SettingsEntry(ServerEntry):
    """A server of `mcp.servers` in satchel.yaml."""

    def locate(self, key: Key) -> tuple[Path, int | None]:
        try:
            text = self.file.read_text(encoding="utf-8-sig")
            return self.file, line_in_yaml(text, ("mcp", "servers", self.name, *key))
        except (OSError, ValueError, yaml.YAMLError):  # no longer what it was when the entry was read
            return self.file, None


def server_entries(servers: Mapping[str, object], file: Path) -> tuple[ServerEntry, ...]:
    """The entries of `mcp.servers`, read as those of `mcpServers` are."""
    return tuple(_entry(name, data, file) for name, data in servers.items())


def _entry(name: str, data: object, file: Path) -> ServerEntry:
    entry = read_entry(name, data, file, SettingsEntry)
    return replace(entry, written=cast("Mapping[str, Any]", _plain(entry.written)))


def _plain(value: object, depth: int = 5) -> object:
    """As JSON has it, because the key of the cache is made of it: YAML has dates, and maps in themselves."""
    if is_object(value) and depth:
        return {str(name): _plain(part, depth - 1) for name, part in value.items()}
    if is_list(value) and depth:
        return [_plain(part, depth - 1) for part in value]
    return value if value is None or isinstance(value, str | int | float) else type(value).__name__


def _rows(key: Key) -> list[Alias]:
    """The rows for a key. One below `mcp` that has none has that of the same key without `mcp`."""
    name = _dotted(key)
    own = [row for row in ALIASES if row.written == name]
    return own or [row for row in ALIASES if f"mcp.{row.written}" == name]


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
            return  # wrong as it is, which whoever reads the settings says
        outer, data = data, dict(inner or {})
        outer[part] = data
    data[target[-1]] = value


def _key(name: str) -> Key:
    return tuple(name.split(".")) if name else ()


def _dotted(key: Key) -> str:
    return ".".join(map(str, key))


def _word(value: object) -> str:
    """A value as YAML has it, shortened."""
    if value is None or isinstance(value, bool):
        return {True: "true", False: "false", None: "null"}[value]
    return str(value)[:60]
