"""satchel.yaml: the defaults of the design, and errors that say where and what."""

from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from satchel.config.settings import Settings, find_agent, read_settings
from satchel.errors import ConfigError, NotFoundError

# As the design has them; a change here is a change of the design.
DEFAULTS = """
mode: auto
auto_threshold: 20
servers: { timeout: 60, startup_timeout: 30, idle_timeout: 300 }
code_execution:
  language: python
  timeout: 30
  max_timeout: 120
  max_output_chars: 10000
  session_idle_timeout: 900
  max_sessions: 16
  queue_timeout: 30
  required: false
  read_only_tool: false
  total:
    memory_mb: null
    processes: null
    programs: null
    sessions: 64
  sandbox:
    backend: bubblewrap
    memory_mb: 1024
    cpu_seconds: 60
    processes: 64
    open_files: 256
    disk_mb: 512
    max_calls: 1000
    max_calls_in_flight: 50
    prepared: 4
    allow_read: []
    allow_write: []
    allow_net: []
    allow_run: []
    allow_env: []
    python_env: null
search: { embeddings: '', model: '', api_key: '' }
skills:  { path: skills,  container_path: /mnt/skills, include: [], budget: 2000 }
plugins:
  path: plugins/installed
  container_path: /mnt/plugins
  budget: 1500
  auto_merge_mcp: true
  allow_fetch: false
  blocked: []
custom_tools: {}
in_context_tools: []
read_only_tools: []
http: { allowed_hosts: [], allowed_origins: [], max_sessions: 100 }
templates: { path: templates }
credentials: file
database: null
clients: {}
agents:
  default:
    allow: ["*"]
    deny: []
    mode: null
    promote_skills: false
    enforce_allowed_tools: false
    approve: []
    model: null
    instructions: ""
    contexts: auto
    universal_tools: []
    global_resources: []
    delegates: []
    limits: { requests: 50, tokens: null, cost: null, seconds: 600 }
    memory:
      enabled: true
      path: null
      budget: 1500
      tool: false
      allow_read_from: []
      allow_write_to: []
approvals:
  wait: 10m
  expire: 24h
  trust_clients: []
  notify: ""
models: {}
trusted: []
definitions: warn
flows: { rules: [], sensitive: [], private: [], egress: [], files: track }
privacy: { detect: [], servers: {}, kinds: {}, programs: values, reveal_to: [], user: hide }
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "satchel.yaml"


def read(file: Path, text: str) -> Settings:
    file.write_text(text, encoding="utf-8")
    return read_settings(file)


def error_of(file: Path, text: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        read(file, text)
    assert caught.value.file == file
    assert str(file) in caught.value.message
    return caught.value


def with_lists(value: Any) -> Any:
    """Tuples as the lists that YAML has."""
    if isinstance(value, dict):
        return {key: with_lists(part) for key, part in value.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, tuple):
        return [with_lists(part) for part in value]  # pyright: ignore[reportUnknownVariableType]
    return value


def test_without_a_file_every_default_is_the_one_of_the_design() -> None:
    assert with_lists(asdict(read_settings(None))) == yaml.safe_load(DEFAULTS)


def test_a_file_that_spells_out_every_default_changes_nothing(file: Path) -> None:
    assert read(file, DEFAULTS) == Settings()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "   \n",
        "# only a comment\n",
        "---\n",
        "--- # and nothing\n...\n",
        "{}\n",
        "servers:\n",
        "null",
    ],
)
def test_a_file_without_values_is_all_defaults(file: Path, text: str) -> None:
    assert read(file, text) == Settings()


def test_a_byte_order_mark_is_passed_over(file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbfmode: code\n")

    assert read_settings(file).mode == "code"


def test_a_nested_value_leaves_its_neighbours_at_their_defaults(file: Path) -> None:
    settings = read(file, "code_execution:\n  sandbox:\n    memory_mb: 2048\n")

    assert settings.code_execution.sandbox.memory_mb == 2048
    assert settings.code_execution.sandbox.processes == 64
    assert settings.code_execution.timeout == 30


def test_agents_are_named_by_whoever_writes_the_file(file: Path) -> None:
    settings = read(
        file,
        "agents:\n  reader: { allow: ['drive.*'], memory: { allow_read_from: [team] } }\n  team: {}\n",
    )

    assert settings.agents["reader"].allow == ("drive.*",)
    assert settings.agents["reader"].deny == ()
    assert settings.agents["reader"].memory.allow_read_from == ("team",)


def test_whole_numbers_do_for_seconds(file: Path) -> None:
    assert read(file, "servers: { timeout: 5, idle_timeout: 0.5 }").servers.timeout == 5


def places(kind: Any, above: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Every place that has keys of its own."""
    found = [above]
    for field in fields(kind):
        if is_dataclass(field.type):
            found += places(field.type, (*above, field.name))
    return found


@pytest.mark.parametrize("place", [*places(Settings), ("agents", "reader"), ("agents", "reader", "memory")])
def test_an_unknown_key_at_any_depth_names_file_line_and_key(file: Path, place: tuple[str, ...]) -> None:
    lines = ["# a comment"] + ["  " * depth + f"{key}:" for depth, key in enumerate(place)]
    lines.append("  " * len(place) + "zzzzzz: 1")

    error = error_of(file, "\n".join(lines))

    assert error.line == len(lines)
    assert error.key == ".".join((*place, "zzzzzz"))
    assert f"{file}:{len(lines)}: unknown key '{error.key}'" in error.message
    assert error.hint is not None
    assert error.hint.startswith("known keys: ")


@pytest.mark.parametrize(
    ("text", "line", "meant"),
    [
        ("mdoe: code", 1, "mode"),
        ("mode: code\ncode-execution: {}", 2, "code_execution"),
        ("servers:\n  start_timeout: 3", 2, "startup_timeout"),
        ("code_execution:\n  timeuot: 3", 2, "timeout"),
        ("code_execution:\n  sandbox:\n    memory: 3\n", 3, "memory_mb"),
        ("code_execution: { sandbox: { memory_md: 3 } }", 1, "memory_mb"),
        ("skills: { Path: x }", 1, "path"),
        ("plugins:\n\n  auto_merge: true", 3, "auto_merge_mcp"),
        ("agents:\n  reader:\n    allows: []", 3, "allow"),
        ("agents:\n  reader:\n    memory:\n      allow_read: []", 4, "allow_read_from"),
        ("privacy:\n  revealto: []", 2, "reveal_to"),
    ],
)
def test_an_unknown_key_comes_with_the_closest_known_one(
    file: Path, text: str, line: int, meant: str
) -> None:
    error = error_of(file, text)

    assert error.line == line
    assert error.hint == f"did you mean '{meant}'?"


@pytest.mark.parametrize(
    ("text", "line", "key", "expected"),
    [
        ("mode: fast", 1, "mode", "'mode' is 'fast'; it can be auto, code, search, direct"),
        ("mode: [auto]", 1, "mode", "it can be auto, code, search, direct"),
        ("mode: off", 1, "mode", "'mode' is false; it can be auto"),
        ("credentials: vault", 1, "credentials", "it can be file, keyring"),
        ("code_execution:\n  language: ruby", 2, "code_execution.language", "python, typescript"),
        ("a: &a 1\n", 1, "a", "unknown key 'a'"),
        ("auto_threshold: many", 1, "auto_threshold", "must be a whole number, not 'many'"),
        ("auto_threshold: 1.5", 1, "auto_threshold", "must be a whole number, not 1.5"),
        ("auto_threshold: yes", 1, "auto_threshold", "must be a whole number, not true"),
        ("auto_threshold: null", 1, "auto_threshold", "must be a whole number, not null"),
        ("servers:\n  timeout: '5'", 2, "servers.timeout", "must be a number, not '5'"),
        ("servers:\n  timeout: true", 2, "servers.timeout", "must be a number, not true"),
        ("servers: 5", 1, "servers", "expected keys and values, found 5"),
        ("servers: []", 1, "servers", "expected keys and values, found []"),
        ("skills:\n  path: 5", 2, "skills.path", "must be a string, not 5"),
        ("plugins:\n  auto_merge_mcp: 1", 2, "plugins.auto_merge_mcp", "must be true or false, not 1"),
        ("in_context_tools: drive.*", 1, "in_context_tools", "must be a list, not 'drive.*'"),
        ("in_context_tools:\n- a\n- 5", 3, "in_context_tools.1", "must be a string, not 5"),
        ("agents: all", 1, "agents", "must be keys and values, not 'all'"),
        ("agents:\n  reader: all", 2, "agents.reader", "expected keys and values, found 'all'"),
        ("agents:\n  reader:\n    allow:\n    - '*'\n    - [x]", 5, "agents.reader.allow.1", "a string"),
    ],
)
def test_a_value_of_the_wrong_type_or_choice_names_line_key_and_what_it_can_be(
    file: Path, text: str, line: int, key: str, expected: str
) -> None:
    error = error_of(file, text)

    assert (error.line, error.key) == (line, key)
    assert expected in error.message


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("auto_threshold: -1", 1),
        ("servers:\n  timeout: -0.5", 2),
        ("code_execution:\n  sandbox:\n    memory_mb: -1", 3),
        ("code_execution:\n  sandbox:\n    prepared: -1", 3),
    ],
)
def test_a_negative_number_is_refused(file: Path, text: str, line: int) -> None:
    error = error_of(file, text)

    assert error.line == line
    assert "must not be negative" in error.message


def test_a_number_that_is_none_is_refused(file: Path) -> None:
    assert error_of(file, "mode: code\nservers: { timeout: .nan }").line == 2


def test_an_error_shows_only_the_beginning_of_a_long_value(file: Path) -> None:
    assert len(error_of(file, f"auto_threshold: {'x' * 10_000}").message) < len(str(file)) + 200


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("mode: auto\nskills: {path: [}\n", 2),
        ("mode: auto\n\tskills: x\n", 2),
        ("mode: 'auto\n", 2),
        ("mode: auto\nmode\n", 3),
        ("skills: *nowhere\n", 1),
        ("mode: auto\n---\nmode: code\n", 2),
        ("mode: auto\nskills: !!python/object:os.system {}\n", 2),
        ("mode: auto\n? [a]\n: b\n", 2),
    ],
)
def test_what_is_not_valid_yaml_names_the_line(file: Path, text: str, line: int) -> None:
    error = error_of(file, text)

    assert "not valid YAML" in error.message
    assert error.line == line


@pytest.mark.parametrize(
    "text",
    [
        "mode: auto\nskills: { path: 2020-13-45 }\n",  # looks like a date, and is none
        "mode: auto\nauto_threshold: !!int many\n",
        "mode: auto\nskills: \x07\n",
        "mode: auto\nskills:\n" + "- " * 1_200 + "x\n",
    ],
    ids=["date", "number", "control", "depth"],
)
def test_what_yaml_itself_can_not_take_is_an_error_of_the_file(file: Path, text: str) -> None:
    error_of(file, text)


@pytest.mark.parametrize("key", ["on", "5", "2020-01-02", "'[x'", "'a: b: c'", "'2020-13-45'", "'- x'", "~"])
def test_a_key_of_any_kind_has_its_line(file: Path, key: str) -> None:
    error = error_of(file, f"mode: auto\n{key}: true\n")

    assert error.line == 2


@pytest.mark.parametrize("text", ["- mode\n", "just text\n", "5\n"])
def test_a_file_that_is_no_mapping_is_refused(file: Path, text: str) -> None:
    assert "expected keys and values" in error_of(file, text).message


def test_a_file_that_is_not_text_is_refused(file: Path) -> None:
    file.write_bytes(b"mode: \xff\xfe\n")

    with pytest.raises(ConfigError, match="can't be read"):
        read_settings(file)


def test_a_file_that_is_not_there_any_more_is_refused(file: Path) -> None:
    with pytest.raises(ConfigError, match="can't be read"):
        read_settings(file)


def test_programs_can_not_be_given_the_network(file: Path) -> None:
    error = error_of(file, "code_execution:\n  sandbox:\n    allow_env: []\n    allow_net: [example.org]\n")

    assert error.line == 4
    assert error.key == "code_execution.sandbox.allow_net"
    assert "network" in error.message
    assert error.hint is not None


def test_programs_can_not_be_given_commands(file: Path) -> None:
    error = error_of(file, "code_execution:\n  sandbox:\n    allow_run: [git]\n")

    assert (error.line, error.key) == (3, "code_execution.sandbox.allow_run")
    assert error.hint is not None


@pytest.mark.parametrize(
    ("text", "line", "key"),
    [
        ("mcpServers:\n  drive: {command: drive}\n", 1, "mcpServers"),
        ("mode: code\nmcp_servers: {}\n", 2, "mcp_servers"),
        ("servers:\n  timeout: 5\n  drive: {command: drive}\n", 3, "servers.drive"),
        ("servers:\n  far: {url: 'https://a.example/mcp'}\n", 2, "servers.far"),
    ],
)
def test_servers_in_this_file_are_sent_to_the_other_one(file: Path, text: str, line: int, key: str) -> None:
    error = error_of(file, text)

    assert (error.line, error.key) == (line, key)
    assert error.hint is not None
    assert "extensions_config.json" in error.hint


@pytest.mark.parametrize(
    ("text", "lines", "key"),
    [
        ("mode: code\nauto_threshold: 3\nmode: direct\n", (1, 3), "mode"),
        ("mode: code\n'mode': code\n", (1, 2), "mode"),
        ("agents:\n  default:\n    deny: [a]\n    allow: ['*']\n    deny: [b]\n", (3, 5), "deny"),
        ("agents: {default: {deny: [a], deny: [b]}}\n", (1, 1), "deny"),
        ("mcp:\n  servers:\n    a: {command: a}\n    a: {command: b}\n", (3, 4), "a"),
        ("clients:\n  - {a: 1,\n    a: 2}\n", (2, 3), "a"),
    ],
)
def test_a_key_that_is_given_twice_is_refused_with_both_lines(
    file: Path, text: str, lines: tuple[int, int], key: str
) -> None:
    error = error_of(file, text)

    assert (error.line, error.key) == (lines[1], key)
    assert f"'{key}' is given twice, here and in line {lines[0]}" in error.message


def test_what_is_merged_into_a_map_can_be_overridden_there(file: Path) -> None:
    text = (
        "agents:\n"
        "  a: &a {deny: [x], promote_skills: true}\n"
        "  b: &b {<<: *a, deny: [y]}\n"
        "  c: {<<: *b, deny: [z]}\n"
        "  d: *b\n"
    )

    agents = read(file, text).agents

    assert [agents[name].deny for name in "abcd"] == [("x",), ("y",), ("z",), ("y",)]
    assert agents["c"].promote_skills


@pytest.mark.parametrize("name", ["a b", "../up", "-x", ".hidden", "a/b", "ä", "x" * 65, "''"])
def test_an_agent_that_could_have_no_directory_is_refused(file: Path, name: str) -> None:
    error = error_of(file, f"agents:\n  default: {{}}\n  {name}: {{}}\n")

    assert error.line == 3
    assert error.hint is not None
    assert "at most 64" in error.hint


def test_the_names_that_agents_can_have_are_those_that_their_directories_can() -> None:
    from satchel.config import agents
    from satchel.sandbox.running import home

    assert agents._AGENT == home._NAME  # pyright: ignore[reportPrivateUsage]


def test_an_unknown_agent_is_answered_with_the_closest_and_with_all(file: Path) -> None:
    settings = read(file, "agents: {reporter: {}, writer: {}}")

    with pytest.raises(NotFoundError) as caught:
        find_agent(settings, "reportr")

    assert caught.value.closest == ("reporter",)
    hint = "did you mean reporter? the agents are default, reporter, writer; satchel.yaml names them"
    assert caught.value.hint == hint


def test_of_many_agents_the_hint_has_some(file: Path) -> None:
    settings = read(file, "agents: {" + ", ".join(f"a{number}: {{}}" for number in range(50)) + "}")

    with pytest.raises(NotFoundError) as caught:
        find_agent(settings, "zzz")

    assert "a18 and 31 more; satchel.yaml" in str(caught.value.hint)
