"""One server entry of `mcpServers`: read, checked, and resolved when the server is started."""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from satchel.config.hiding import returned_secrets, said_secrets, secrets_in, spelled, with_tokens
from satchel.config.reader import Key, read_dataclass
from satchel.config.shown import hidden_in
from satchel.config.variables import USER_CONFIG, UnresolvedVariableError, expand, references
from satchel.errors import ConfigError, NeedsApprovalError, NeedsSetupError
from satchel.model import Definitions, is_object
from satchel.names import in_shell
from satchel.support.files import read_small
from satchel.support.text import label

Transport = Literal["stdio", "http", "sse"]
PLUGIN_VARIABLES = (
    "CLAUDE_PLUGIN_ROOT",
    "PLUGIN_ROOT",
    "CLAUDE_PLUGIN_DATA",
    "PLUGIN_DATA",
    "CLAUDE_PROJECT_DIR",
)
"""The variables in the environment of a plugin's server."""

# Keys that other clients keep in their entries and that mean nothing here.
FOREIGN_KEYS = {"alwaysAllow", "autoApprove", "disabledTools", "trust", "icon", "$schema"}
_BARE = re.compile(r"\A\$([A-Za-z_][A-Za-z0-9_]*)\Z")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_TRANSPORTS: dict[str, Transport] = {
    "stdio": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamable_http": "http",
    "streamableHttp": "http",
    "sse": "sse",
}


@dataclass(frozen=True, kw_only=True)
class OAuthHints:
    """The hints for a server's authorization."""

    clientId: str | None = None
    callbackPort: int | None = None
    scopes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class WrittenEntry:
    """The keys of an entry, with their types."""

    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    cwd: str | None = None
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    type: str | None = None
    transport: str | None = None
    enabled: bool = True
    description: str = ""
    timeout: float | None = field(default=None, metadata={"positive": True})
    startup_timeout: float | None = field(default=None, metadata={"positive": True})
    idle_timeout: float | None = None
    redact_results: bool = True
    definitions: Definitions | None = None
    oauth: OAuthHints | None = None


@dataclass(frozen=True, kw_only=True)
class FromPlugin:
    """The origin of a plugin's entry, and the values that resolve it."""

    plugin: str
    server: str  # below its plugin
    folder: Path
    key: tuple[str, ...]  # where it stands in its file
    values: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)  # of the plugin's variables
    variables: frozenset[str] = frozenset()  # of the environment, that a person approved
    endpoint: str = ""  # equal for all names of one server
    files: str = ""  # those that a program is started from: different ones after an update


@dataclass(frozen=True, kw_only=True)
class ServerEntry:
    """An entry as written. `problem` is set when it can't be used; other entries are not affected."""

    name: str
    file: Path
    written: Mapping[str, Any]
    transport: Transport = "stdio"
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    cwd: str | None = None
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    enabled: bool = True
    description: str = ""
    timeout: float | None = None
    startup_timeout: float | None = None
    idle_timeout: float | None = None
    redact_results: bool = True
    definitions: Definitions | None = None  # otherwise as the settings say
    oauth: OAuthHints | None = None
    problem: ConfigError | None = None
    custom: bool = False
    """Made from `custom_tools` in satchel.yaml; see config/custom.py for what `written` has then."""
    plugin: FromPlugin | None = None
    aliases: tuple[str, ...] = ()  # what plugins call the same server
    awaits: str = ""  # what a person has to approve before it is contacted

    @property
    def lasting_name(self) -> str:
        """By which what is known of a server is kept: of a plugin's, another name may come to count."""
        return self.name if self.plugin is None else f"plugin {self.plugin.endpoint}"

    def connects_like(self, other: "ServerEntry") -> bool:
        """Whether a connection that was opened by `other` is one that this entry would open."""
        if (self.plugin is None) != (other.plugin is None):
            return False
        if self.plugin is None or other.plugin is None:
            return self.written == other.written
        return (
            self.plugin == other.plugin
            and self.written == other.written
            and self.awaits == other.awaits
            and str(self.problem) == str(other.problem)
        )

    def locate(self, key: Key) -> tuple[Path, int | None]:
        """File and line of one of this entry's keys; of a group of custom tools, of the first one."""
        from satchel.config.positions import line_in_json, line_in_yaml  # only to tell of a mistake

        try:
            text = read_small(self.file).decode("utf-8-sig")
        except (OSError, UnicodeDecodeError):
            return self.file, None
        if self.plugin is not None:
            return self.file, line_in_json(text, (*self.plugin.key, *key))
        if self.custom:
            first = next(iter(self.written["tools"]))
            return self.file, line_in_yaml(text, ("custom_tools", f"{self.name}.{first}"))
        under = ("mcpServers", self.name, *key)
        return self.file, line_in_json(text, under) or line_in_json(text, under[1:])


@dataclass(frozen=True, kw_only=True)
class Target:
    """An entry with every variable resolved: what a connection is opened to. Holds secrets; never stored."""

    name: str
    transport: Transport
    command: str = ""
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    cwd: Path = Path()
    url: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    oauth: OAuthHints | None = None
    variables: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """The values that the entry took from the environment."""
    inherited: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """What a child gets of the environment besides `env`. It does not tell one server from another."""

    data: Path | None = None
    """A folder of its plugin's, which is made before its process starts."""

    redact_results: bool = True
    tokens: list[str] = field(default_factory=list[str], repr=False, compare=False)
    """Those of a login, as far as they have been used here."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """The values that must not show up in an error or a log, in every spelling, longest first."""
        return with_tokens(self._said, tuple(self.tokens))

    @property
    def result_secrets(self) -> tuple[str, ...]:
        """The same for what the server returns, where fewer values count."""
        if not self.redact_results:
            return ()
        return with_tokens(self._returned, tuple(self.tokens))

    @cached_property
    def _said(self) -> tuple[str, ...]:
        values = said_secrets({**self.inherited, **self.env}, self.variables)
        headers = [part for value in self.headers.values() for part in (value, _last_word(value))]
        words = hidden_in([*self.command.split(), *self.args])
        return spelled([*values, *headers, *secrets_in(self.url), *words])

    @cached_property
    def _returned(self) -> tuple[str, ...]:
        last_words = {name: _last_word(value) for name, value in self.headers.items()}
        places = (self.inherited, self.env, self.variables, self.headers, last_words, {"url": self.url})
        return spelled(secret for values in places for secret in returned_secrets(values))


def _last_word(header: str) -> str:
    """The token in `Bearer …`."""
    return header.rpartition(" ")[2]


def read_entry(
    name: str, data: object, file: Path, kind: Callable[..., ServerEntry] = ServerEntry
) -> ServerEntry:
    """Read one entry. A faulty one is returned with its problem rather than raised."""
    blank = kind(name=name, file=file, written=data if is_object(data) else {})
    try:
        return _read(blank, data)
    except ConfigError as error:
        enabled = blank.written.get("enabled") is not False and blank.written.get("disabled") is not True
        return replace(blank, problem=error, enabled=enabled)


def _read(blank: ServerEntry, data: object) -> ServerEntry:
    if not is_object(data):
        raise _problem(blank, (), "must be an object with 'command' or 'url'")
    keys = {key: value for key, value in data.items() if key not in FOREIGN_KEYS}
    if "disabled" in keys:  # how several clients spell `enabled: false`
        disabled = keys.pop("disabled")
        if not isinstance(disabled, bool):
            raise _problem(blank, ("disabled",), "has a 'disabled' that is neither true nor false")
        keys.setdefault("enabled", not disabled)
    if "envs" in keys:
        if "env" in keys:
            raise _problem(blank, ("envs",), "has both 'env' and 'envs'", hint="keep 'env'")
        keys["env"] = keys.pop("envs")
    entry = read_dataclass(WrittenEntry, keys, lambda key: blank.locate(_as_written(blank, key)))
    transport = _transport_of(blank, entry)
    if entry.command is not None and entry.url is not None:
        raise _problem(blank, ("url",), "has both 'command' and 'url'", hint="keep the one you mean")
    return replace(
        blank,
        transport=transport,
        command=entry.command or "",
        args=entry.args,
        env=_with_braces(entry.env) if "envs" in data else entry.env,
        cwd=entry.cwd,
        url=entry.url or "",
        headers=entry.headers,
        enabled=entry.enabled,
        description=entry.description,
        timeout=entry.timeout,
        startup_timeout=entry.startup_timeout,
        idle_timeout=entry.idle_timeout,
        redact_results=entry.redact_results,
        definitions=entry.definitions,
        oauth=entry.oauth,
    )


def _as_written(entry: ServerEntry, key: Key) -> Key:
    """Some programs call the variables `envs`."""
    return ("envs", *key[1:]) if key[:1] == ("env",) and "envs" in entry.written else key


def _with_braces(variables: Mapping[str, str]) -> Mapping[str, str]:
    """Where `envs` is written, a value that is `$NAME` means the variable of that name."""
    return {name: _BARE.sub(r"${\1}", value) for name, value in variables.items()}


def is_bare_reference(value: str) -> bool:
    """Whether it is `$NAME`: text here, a variable in some other programs."""
    return bool(_BARE.match(value))


def _transport_of(blank: ServerEntry, entry: WrittenEntry) -> Transport:
    word = entry.type or entry.transport
    if word is None:
        if entry.command is not None:
            return "stdio"
        if entry.url is None:
            raise _problem(blank, (), "has neither 'command' nor 'url'")
        return "sse" if entry.url.rstrip("/").endswith("/sse") else "http"
    if word not in _TRANSPORTS:
        key = "type" if entry.type else "transport"
        raise _problem(blank, (key,), f"has {key} '{word}'; it can be stdio, http or sse")
    transport = _TRANSPORTS[word]
    needed = "command" if transport == "stdio" else "url"
    if getattr(entry, needed) is None:
        raise _problem(blank, (), f"is of type {word} but has no '{needed}'")
    return transport


def _problem(entry: ServerEntry, key: Key, message: str, *, hint: str | None = None) -> ConfigError:
    file, line = entry.locate(key)
    return ConfigError(f"server '{entry.name}' {message}", file=file, line=line, hint=hint)


def _needs_approval(entry: ServerEntry, reason: str) -> NeedsApprovalError:
    plugin = "" if entry.plugin is None else entry.plugin.plugin
    return NeedsApprovalError(
        entry.name, reason, hint=f"satchel plugins approve {in_shell(plugin)} shows what it needs"
    )


def _how_to_set(variable: str, plugin: FromPlugin | None) -> str:
    key = variable.removeprefix(USER_CONFIG)
    if plugin is not None and key != variable:
        return f"set plugins.{plugin.plugin}.config.{key} in extensions_config.json"
    if plugin is not None:  # its files are not the user's to edit
        return f"export {variable}=…"
    return f"export {variable}=…, or write ${{{variable}:-default}}"


def resolve(entry: ServerEntry, environment: Mapping[str, str] | None = None) -> Target:
    """The entry with its variables expanded, or NeedsSetupError saying what is missing and where."""
    environment = os.environ if environment is None else environment
    if entry.problem is not None:
        problem = entry.problem
        raise NeedsSetupError(entry.name, problem.message, brief=problem.brief, hint=problem.hint)
    if entry.awaits:
        raise _needs_approval(entry, entry.awaits)
    if entry.custom:  # nothing in it was written as a value with variables, and its code is the user's own
        return Target(
            name=entry.name,
            transport="stdio",
            command=entry.command,
            args=entry.args,
            cwd=entry.file.parent,
            inherited=dict(environment),
        )

    used: dict[str, str] = {}
    plugin = entry.plugin
    given = plugin.values if plugin is not None else None

    def value(text: str, *key: str | int) -> str:
        if plugin is not None:
            for name in references(text):
                if name not in plugin.values and name not in plugin.variables and environment.get(name):
                    raise _needs_approval(entry, f"nobody has approved that it reads the variable {name}")
        try:
            return expand(text, environment, used, given)
        except UnresolvedVariableError as error:
            key = _as_written(entry, key)
            file, line = entry.locate(key)
            raise NeedsSetupError(
                entry.name,
                f"variable {error.variable} is not set ('{'.'.join(map(str, key))}' in {file}:{line})",
                brief=f"{error.variable} is not set",
                hint=_how_to_set(error.variable, plugin),
            ) from None

    def needs(what: str) -> NeedsSetupError:
        file, line = entry.locate((what,))
        message, brief = f"{what} is empty in {file}:{line}", f"its {what} is empty"
        return NeedsSetupError(entry.name, message, brief=brief, hint=f"fill in its {what}")

    def header(text: str, name: str) -> str:
        found = value(text, "headers", name)
        if _CONTROL.search(found):  # what sends it would refuse it, and show it
            file, line = entry.locate(("headers", name))
            raise NeedsSetupError(
                entry.name,
                f"header {label(name)} has a line break or another control character ({file}:{line})",
                brief=f"header {label(name)} has a line break or another control character",
                hint="take it out of the value, or of the variable that it comes from",
            )
        return found

    if entry.transport == "stdio":
        command = value(entry.command, "command")
        if not command.strip():
            raise needs("command")
        directory = Path(os.path.expanduser(value(entry.cwd, "cwd"))) if entry.cwd else Path()
        base = entry.file.parent if plugin is None else plugin.folder
        own = {} if plugin is None else {name: plugin.values[name] for name in PLUGIN_VARIABLES}
        return Target(
            name=entry.name,
            transport="stdio",
            command=os.path.expanduser(command),
            args=tuple(value(text, "args", index) for index, text in enumerate(entry.args)),
            env={name: value(text, "env", name) for name, text in entry.env.items()} | own,
            cwd=base / directory,
            data=Path(own["PLUGIN_DATA"]) if own else None,
            variables=used,
            redact_results=entry.redact_results,
        )
    url = value(entry.url, "url").strip()
    if not url:
        raise needs("url")
    return Target(
        name=entry.name,
        transport=entry.transport,
        url=url,
        headers={name: header(text, name) for name, text in entry.headers.items()},
        oauth=entry.oauth,
        cwd=entry.file.parent,
        variables=used,
        redact_results=entry.redact_results,
    )
