"""satchel.yaml: the settings, their types and their defaults. The dataclasses are the schema."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from satchel.config.custom import check_custom_tools
from satchel.config.entries import ServerEntry
from satchel.config.reader import Key, Locate, read_dataclass
from satchel.errors import ConfigError, NotFoundError
from satchel.names import closest

Mode = Literal["auto", "code", "search", "direct"]


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
class CodeExecutionSettings:
    language: Literal["python", "typescript"] = "python"
    timeout: float = field(default=30, metadata={"positive": True})
    max_timeout: float = field(default=120, metadata={"positive": True})
    max_output_chars: int = 10_000
    session_idle_timeout: float = field(default=900, metadata={"positive": True})
    required: bool = False  # refuse to serve where programs can't be run
    read_only_tool: bool = False  # offer execute_code_readonly as well
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
class PluginsSettings:
    path: str = "plugins"
    container_path: str = "/mnt/plugins"
    auto_merge_mcp: bool = True


@dataclass(frozen=True, kw_only=True)
class SearchSettings:
    embeddings: str = ""  # a package or directory with weights, or the address of an endpoint
    model: str = ""  # of the endpoint
    api_key: str = ""


@dataclass(frozen=True, kw_only=True)
class MemorySettings:
    allow_read_from: tuple[str, ...] = ()
    allow_write_to: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class AgentSettings:
    allow: tuple[str, ...] = ("*",)
    deny: tuple[str, ...] = ()
    mode: Mode | None = None
    promote_skills: bool = False  # from a program; people always may
    enforce_allowed_tools: bool = False  # those of the skill that it has viewed last
    memory: MemorySettings = field(default_factory=MemorySettings)


@dataclass(frozen=True, kw_only=True)
class ClientSettings:
    """What is otherwise for one MCP client, by the name it gives itself."""

    mode: Mode | None = None


@dataclass(frozen=True, kw_only=True)
class HttpSettings:
    """Who may reach `satchel serve --http` besides this machine."""

    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class TemplatesSettings:
    path: str = "templates"


@dataclass(frozen=True, kw_only=True)
class PrivacySettings:
    detect: tuple[str, ...] = ()
    reveal_to: tuple[str, ...] = ()


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
    agents: Mapping[str, AgentSettings] = field(default_factory=_default_agents)
    clients: Mapping[str, ClientSettings] = field(default_factory=dict[str, ClientSettings])
    privacy: PrivacySettings = field(default_factory=PrivacySettings)


@dataclass(frozen=True, kw_only=True)
class SettingsFile:
    """A satchel.yaml, read. `servers` are those that stand in it as other programs have them."""

    settings: Settings = field(default_factory=Settings)
    servers: tuple[ServerEntry, ...] = ()
    remarks: tuple[tuple[Key, str], ...] = ()  # each with the key that it is about
    locate: Locate = lambda key: (Path(), None)

    def notes(self, more: Iterable[tuple[Key, str]] = ()) -> tuple[str, ...]:
        """The remarks, and more of them, as texts in the order of the file. Lines take time to find."""
        placed = [(*self.locate(key), text) for key, text in (*self.remarks, *more)]
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
    hint = "agents in satchel.yaml are the ones there are"
    raise NotFoundError("agent", name, closest=closest(name, settings.agents), hint=hint)


def read_settings(file: Path | None) -> Settings:
    """The settings of `file`, or the defaults where there is none."""
    return read_settings_file(file).settings


def read_settings_file(file: Path | None) -> SettingsFile:
    """All that `file` says, names from elsewhere included, or the defaults where there is none."""
    if file is None:
        return SettingsFile()
    import yaml

    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"can't be read: {error}", file=file) from error
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        data = yaml.load(text, Loader=loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error)
        raise ConfigError(
            f"not valid YAML: {problem}", file=file, line=mark.line + 1 if mark else None
        ) from error
    except (ValueError, RecursionError) as error:  # a date that is none, a nesting without end
        raise ConfigError(f"not valid YAML: {str(error)[:200]}", file=file) from error

    def locate(key: Key) -> tuple[Path, int | None]:
        from satchel.config.positions import line_in_yaml

        return file, line_in_yaml(text, key)

    try:  # most files have current names only, and need not wait for the table of others
        settings = read_dataclass(Settings, data, lambda key: (file, None))
    except ConfigError:
        return _read_translated(data, file, locate)
    _check(settings, locate)
    return SettingsFile(settings=settings)


def _read_translated(data: object, file: Path, locate: Locate) -> SettingsFile:
    from satchel.config.aliases import server_entries, translate

    translation = translate(data, locate)
    settings = read_dataclass(Settings, translation.data, locate)
    _check(settings, locate, translation.origins)
    return SettingsFile(
        settings=settings,
        servers=server_entries(translation.servers, file),
        remarks=translation.notes,
        locate=locate,
    )


def _check(settings: Settings, locate: Locate, origins: Mapping[Key, Key] | None = None) -> None:
    check_custom_tools(settings.custom_tools, locate)
    _refuse_unsupported(settings.code_execution.sandbox, locate, origins or {})


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
