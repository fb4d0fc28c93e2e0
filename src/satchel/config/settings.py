"""satchel.yaml: the settings, their types and their defaults. The dataclasses are the schema."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from satchel.config.agents import AgentSettings, Mode, check_agents
from satchel.config.control.approvals import ApprovalsSettings, check_approvals
from satchel.config.control.flows import FlowsSettings, check_flows
from satchel.config.custom import check_custom_tools
from satchel.config.entries import ServerEntry
from satchel.config.models import ModelSettings, check_models
from satchel.config.plugins.settings import PluginsSettings
from satchel.config.positions import line_in_yaml
from satchel.config.reader import Key, Locate, read_dataclass
from satchel.errors import ConfigError, NotFoundError
from satchel.languages import Language
from satchel.model import Definitions, is_object
from satchel.names import closest

_MERGE = "tag:yaml.org,2002:merge"
_MOST_NAMES = 20  # in a hint


@dataclass(frozen=True, kw_only=True)
class SandboxSettings:
    """The box programs run in."""

    backend: Literal["bubblewrap", "process"] = "bubblewrap"
    memory_mb: int = field(default=1024, metadata={"positive": True})
    cpu_seconds: float = field(default=60, metadata={"positive": True})
    processes: int = field(default=64, metadata={"positive": True})
    open_files: int = field(default=256, metadata={"positive": True})
    disk_mb: int = field(default=512, metadata={"positive": True})
    max_calls: int = field(default=1000, metadata={"positive": True})
    max_calls_in_flight: int = field(default=50, metadata={"positive": True})
    prepared: int = 4
    allow_read: tuple[str, ...] = ()
    allow_write: tuple[str, ...] = ()
    allow_net: tuple[str, ...] = ()
    allow_run: tuple[str, ...] = ()
    allow_env: tuple[str, ...] = ()
    python_env: str | None = None


@dataclass(frozen=True, kw_only=True)
class TotalSettings:
    """The limits of all programs together. Those that are not set are computed from the machine."""

    memory_mb: int | None = field(default=None, metadata={"positive": True})
    processes: int | None = field(default=None, metadata={"positive": True})
    programs: int | None = field(default=None, metadata={"positive": True})
    sessions: int = field(default=64, metadata={"positive": True})


@dataclass(frozen=True, kw_only=True)
class CodeExecutionSettings:
    language: Language = "python"
    timeout: float = field(default=30, metadata={"positive": True})
    max_timeout: float = field(default=120, metadata={"positive": True})
    max_output_chars: int = 10_000
    session_idle_timeout: float = field(default=900, metadata={"positive": True})
    max_sessions: int = field(default=16, metadata={"positive": True})  # of one agent
    queue_timeout: float = 30
    required: bool = False  # refuse to serve where programs can't be run
    read_only_tool: bool = False  # offer execute_code_readonly as well
    total: TotalSettings = field(default_factory=TotalSettings)
    sandbox: SandboxSettings = field(default_factory=SandboxSettings)


@dataclass(frozen=True, kw_only=True)
class ServersSettings:
    """Defaults for every server; an entry in extensions_config.json can say otherwise for itself."""

    timeout: float = field(default=60, metadata={"positive": True})
    startup_timeout: float = field(default=30, metadata={"positive": True})
    idle_timeout: float = 300


@dataclass(frozen=True, kw_only=True)
class SkillsSettings:
    path: str = "skills"
    container_path: str = "/mnt/skills"
    include: tuple[str, ...] = ()  # folders of other programs, such as .claude/skills
    budget: int = 2000  # tokens about skills in what a model is told


@dataclass(frozen=True, kw_only=True)
class SearchSettings:
    embeddings: str = ""  # a package or directory with weights, or the address of an endpoint
    model: str = ""  # of the endpoint
    api_key: str = ""


@dataclass(frozen=True, kw_only=True)
class ClientSettings:
    """Overrides for one MCP client, by the name it reports."""

    mode: Mode | None = None


@dataclass(frozen=True, kw_only=True)
class HttpSettings:
    """The hosts and origins that may reach `satchel serve --http`, and the limits of one agent."""

    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    max_sessions: int = field(default=100, metadata={"positive": True})  # of one agent


@dataclass(frozen=True, kw_only=True)
class TemplatesSettings:
    path: str = "templates"


@dataclass(frozen=True, kw_only=True)
class PrivacySettings:
    """Which personal data models don't see, and which servers may get it besides those it came from."""

    detect: tuple[str, ...] = ()
    servers: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    kinds: Mapping[str, str] = field(default_factory=dict[str, str])  # own ones, by regular expression
    programs: Literal["values", "tokens"] = "values"
    reveal_to: tuple[str, ...] = ()
    user: Literal["hide", "show"] = "hide"  # what people write to agents

    @property
    def is_on(self) -> bool:
        return bool(self.detect or any(self.servers.values()))


def _default_agents() -> Mapping[str, AgentSettings]:
    return {"default": AgentSettings()}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Everything that satchel.yaml can say."""

    mode: Mode = "auto"
    auto_threshold: int = 20
    servers: ServersSettings = field(default_factory=ServersSettings)
    code_execution: CodeExecutionSettings = field(default_factory=CodeExecutionSettings)
    search: SearchSettings = field(default_factory=SearchSettings)
    skills: SkillsSettings = field(default_factory=SkillsSettings)
    plugins: PluginsSettings = field(default_factory=PluginsSettings)
    custom_tools: Mapping[str, str] = field(default_factory=dict[str, str])
    in_context_tools: tuple[str, ...] = ()
    read_only_tools: tuple[str, ...] = ()
    http: HttpSettings = field(default_factory=HttpSettings)
    templates: TemplatesSettings = field(default_factory=TemplatesSettings)
    credentials: Literal["file", "keyring"] = "file"
    database: str | None = None
    models: Mapping[str, ModelSettings] = field(default_factory=dict[str, ModelSettings])
    agents: Mapping[str, AgentSettings] = field(default_factory=_default_agents)
    approvals: ApprovalsSettings = field(default_factory=ApprovalsSettings)
    trusted: tuple[str, ...] = ()  # servers whose content no stranger can write
    definitions: Definitions = "warn"
    flows: FlowsSettings = field(default_factory=FlowsSettings)
    clients: Mapping[str, ClientSettings] = field(default_factory=dict[str, ClientSettings])
    privacy: PrivacySettings = field(default_factory=PrivacySettings)


@dataclass(frozen=True, kw_only=True)
class SettingsFile:
    """A satchel.yaml, read. `servers` are those that stand in it as other programs have them.

    `expected` are servers that it names and that should have an entry in either file.
    """

    settings: Settings = field(default_factory=Settings)
    servers: tuple[ServerEntry, ...] = ()
    expected: tuple[str, ...] = ()
    remarks: tuple[tuple[Key, str], ...] = ()  # each with the key that it is about
    locate: Locate = lambda key: (Path(), None)

    def notes(self, more: Iterable[tuple[Key, str]] = ()) -> tuple[str, ...]:
        """The remarks, and more of them, as texts in the order of the file."""
        return self._placed((*self.remarks, *more))

    def _placed(self, remarks: Iterable[tuple[Key, str]]) -> tuple[str, ...]:
        """Each with its line, which takes time to find."""
        placed = [(*self.locate(key), text) for key, text in remarks]
        placed.sort(key=lambda note: note[1] or 0)
        return tuple(
            f"{file.name}:{line}: {text}" if line else f"{file.name}: {text}" for file, line, text in placed
        )


def find_agent(settings: Settings, name: str) -> AgentSettings:
    """The settings of an agent. There is always the agent `default`."""
    if name in settings.agents:
        return settings.agents[name]
    if name == "default":
        return AgentSettings()
    known = list(dict.fromkeys(("default", *settings.agents)))
    near = closest(name, known)
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    more = f" and {len(known) - _MOST_NAMES} more" if len(known) > _MOST_NAMES else ""
    hint = f"{meant}the agents are {', '.join(known[:_MOST_NAMES])}{more}; satchel.yaml names them"
    raise NotFoundError("agent", name, closest=near, hint=hint)


def read_settings(file: Path | None) -> Settings:
    """The settings of `file`, or the defaults where there is none."""
    return read_settings_file(file).settings


def read_settings_file(file: Path | None) -> SettingsFile:
    """All that `file` says, names from elsewhere included, or the defaults where there is none."""
    if file is None:
        return SettingsFile()
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"can't be read: {error}", file=file) from error
    return settings_in(text, file)


def settings_in(text: str, file: Path) -> SettingsFile:
    """All that a text says which is, or may become, the content of `file`."""
    data = data_in(text, file)

    def locate(key: Key) -> tuple[Path, int | None]:
        return file, line_in_yaml(text, key)

    def no_line(key: Key) -> tuple[Path, int | None]:
        return file, None

    try:  # most files have current names only, and need not wait for the table of others
        settings = read_dataclass(Settings, data, no_line)
        _check(settings, no_line)
    except ConfigError:
        return _read_translated(data, file, locate)
    return SettingsFile(settings=settings, locate=locate)


def data_in(text: str, file: Path) -> object:
    """The values of a text in YAML, or ConfigError."""
    import yaml  # the defaults need none

    try:
        return _load_yaml(text, file)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error)
        raise ConfigError(
            f"not valid YAML: {problem}", file=file, line=mark.line + 1 if mark else None
        ) from error
    except (ValueError, RecursionError) as error:  # a date that is none, a nesting without end
        raise ConfigError(f"not valid YAML: {str(error)[:200]}", file=file) from error


def _load_yaml(text: str, file: Path) -> object:
    """What the text says. Parsers take the last of two equal keys: a `deny` would be lost without a word."""
    import yaml  # the defaults need none

    kind: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    loader = kind(text)
    try:
        root = loader.get_single_node()
        if root is None:
            return None
        _refuse_repeated(root, file)
        return loader.construct_document(root)
    finally:
        loader.dispose()


def _refuse_repeated(root: Any, file: Path) -> None:
    """Looks at the text before anything is merged; what stands behind several aliases is looked at once."""
    waiting, seen = [root], {id(root)}
    while waiting:
        node = waiting.pop()
        inner: list[Any] = node.value if node.id == "sequence" else []
        if node.id == "mapping":
            _refuse_repeated_keys([key for key, _ in node.value], file)
            inner = [value for _, value in node.value]
        new = [part for part in inner if part.id != "scalar" and id(part) not in seen]
        seen.update(map(id, new))
        waiting += new


def _refuse_repeated_keys(keys: Iterable[Any], file: Path) -> None:
    lines: dict[tuple[str, str], int] = {}
    for key in keys:
        if key.id != "scalar" or key.tag == _MERGE:
            continue
        name, line = (key.tag, key.value), key.start_mark.line + 1
        if name in lines:
            raise ConfigError(
                f"'{key.value[:60]}' is given twice, here and in line {lines[name]}",
                file=file,
                line=line,
                key=key.value,
                hint="keep one of them; of a list, write all parts into one",
            )
        lines[name] = line


def _read_translated(data: object, file: Path, locate: Locate) -> SettingsFile:
    # Most files have current names only.
    from satchel.config.settings_entries import server_entries
    from satchel.config.translation import translate

    translation = translate(data, locate)
    locate = translation.locate
    _refuse_servers(translation.data, locate)
    settings = read_dataclass(Settings, translation.data, locate)
    _check(settings, locate, translation.origins)
    return SettingsFile(
        settings=settings,
        servers=server_entries(translation.servers, file),
        expected=translation.expected,
        remarks=translation.notes,
        locate=locate,
    )


def _check(settings: Settings, locate: Locate, origins: Mapping[Key, Key] | None = None) -> None:
    check_custom_tools(settings.custom_tools, locate)
    check_models(settings.models, locate)
    check_agents(settings.agents, settings.models, locate)
    check_flows(settings.flows, locate)
    check_approvals(settings.approvals, locate)
    if settings.privacy != PrivacySettings():
        from satchel.config.personal.kinds import check_privacy  # few have any

        check_privacy(settings.privacy, locate)
    _refuse_unsupported(settings.code_execution.sandbox, locate, origins or {})


def _refuse_servers(data: object, locate: Locate) -> None:
    """MCP servers where other programs have them. `servers` is what all of them have in common."""
    if not is_object(data):
        return
    keys: list[Key] = [(name,) for name in ("mcpServers", "mcp_servers", "mcp-servers") if name in data]
    common: object = data.get("servers")
    if is_object(common):
        keys += [
            ("servers", str(name))
            for name, part in common.items()
            if is_object(part) and ("command" in part or "url" in part)
        ]
    for key in keys:
        file, line = locate(key)
        name = ".".join(map(str, key))
        raise ConfigError(
            f"'{name}' is not for this file",
            file=file,
            line=line,
            key=name,
            hint="MCP servers are in extensions_config.json, under mcpServers; satchel add writes them there",
        )


def _refuse_unsupported(sandbox: SandboxSettings, locate: Locate, origins: Mapping[Key, Key]) -> None:
    for name, given, reason, hint in (
        (
            "allow_net",
            sandbox.allow_net,
            "programs can't be given network access yet",
            "remove the entries: programs reach the outside through tools",
        ),
        (
            "allow_run",
            sandbox.allow_run,
            "programs can't be given commands of this machine yet",
            "remove the entries: rg, ast-grep and what is in /usr/bin can be run; all else is for tools",
        ),
    ):
        if given:
            current: Key = ("code_execution", "sandbox", name)
            key = origins.get(current, current)
            file, line = locate(key)
            raise ConfigError(reason, file=file, line=line, key=".".join(map(str, key)), hint=hint)
