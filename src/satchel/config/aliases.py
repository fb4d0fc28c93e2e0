"""Keys of satchel.yaml that people bring from elsewhere: one table of them, and what each one is now.

Not what is done with the table: config/translation.py puts the current names, config/shapes.py the current
places. A name is never guessed: what is not in the table, or has a value that is not, stays an error.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from satchel.config.reader import Key

_DIRECT, _CODE, _AUTO = {"mode": "direct"}, {"mode": "code"}, {"mode": "auto"}
_TYPESCRIPT = {"code_execution.language": "typescript"}
_ISOLATED = "bubblewrap isolates programs, without an image and without a network"
NAME = "<name>"
"""In a key of the table: a name that people choose."""


@dataclass(frozen=True, kw_only=True)
class _SearchTools:
    enable_ripgrep: bool = True
    enable_ast_grep: bool = True
    enable_semtools: bool = False


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
        kind=Literal["auto", "always", "never", "docker"],
        values={"auto": _AUTO, "always": _CODE, "never": _DIRECT, "docker": {}},
        remark=_ISOLATED,
    ),
    Alias(written="code_execution.docker", kind=Mapping[str, object], remark=_ISOLATED),
    Alias(
        written="code_execution.runtime",
        now="code_execution.language",
        kind=Literal["deno", "node"],
        values={"deno": _TYPESCRIPT, "node": _TYPESCRIPT},
    ),
    Alias(
        written="code_execution.sandbox.allow_net",
        remark="programs reach tools without a network, and nothing else",
    ),
    Alias(written="code_execution.auto_threshold", now="auto_threshold", kind=int),
    Alias(written="code_execution.sandbox_timeout", now="code_execution.timeout", kind=float, positive=True),
    Alias(written="mcp.servers", in_words="'mcpServers' in extensions_config.json"),
    Alias(written="mcp.servers.<name>.envs", in_words="'env'"),
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
    Alias(
        written="in_context_tools.code_execution",
        remark="'execute_code' is shown wherever programs can be run; it takes Python, TypeScript and shell",
    ),
    Alias(written="massgen", remark="its keys count as if they stood at the top level"),
    Alias(
        written="available_mcp_servers",
        kind=tuple[str, ...],
        remark="every server with an entry is available, unless that says enabled: false",
    ),
    Alias(
        written="available_custom_tools",
        kind=tuple[str, ...],
        remark="every tool in 'custom_tools' is available",
    ),
    Alias(
        written="search_tools",
        kind=_SearchTools,
        remark="programs always have rg and ast-grep; 'search.embeddings' is for searching by meaning",
    ),
    Alias(
        written="agents.<name>.backend.type",
        kind=str,
        remark="it is the provider of 'backend.model', which is not given",
    ),
    Alias(written="agents.<name>.backend.model", now="agents.<name>.model", kind=str),
    Alias(written="agents.<name>.backend.mcp_servers", now="agents.<name>.allow", kind=tuple[str, ...]),
)


def rows_for(key: Key) -> list[Alias]:
    """The rows for a key. One below `mcp` that has none has that of the same key without `mcp`."""
    for name in (dotted(key), dotted(_generic(key)), dotted(key).removeprefix("mcp.")):
        if rows := [row for row in ALIASES if row.written == name]:
            return rows
    return []


def section_note(key: Key) -> str:
    """What a whole section, or its shape, is now."""
    return f"'{dotted(key)}' is now {rows_for(key)[0].in_words}"


def no_effect(key: Key) -> str:
    return f"'{dotted(key)}' has no effect: {rows_for(key)[0].remark}"


def key_of(name: str, written: Key) -> Key:
    """The key of a setting in the table; a name that people choose is that of the key that was written."""
    if not name:
        return ()
    return tuple(str(written[1]) if part == NAME else part for part in name.split("."))


def dotted(key: Key) -> str:
    return ".".join(map(str, key))


def _generic(key: Key) -> Key:
    """With `<name>` for the name of an agent or a server."""
    place = {"agents": 1, "mcp": 2}.get(str(key[0])) if key else None
    if place is None or len(key) <= place + 1:
        return key
    return (*key[:place], NAME, *key[place + 1 :])
