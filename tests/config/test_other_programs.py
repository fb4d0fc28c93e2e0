"""Whole files of settings in the formats of other programs: each is read as it is."""

from pathlib import Path

import pytest

from satchel.config import Configuration, find_paths, read_configuration, resolve
from satchel.config.settings import Settings

CODE_MODE = """\
mcp:
  execution_mode: "code"
  code_execution:
    runtime: "deno"
    workspace_dir: ".tools/mcp"
    regenerate_on_startup: true
    sandbox:
      allow_read:
        - ".tools/mcp"
        - "./workspace"
      allow_write:
        - "./workspace"
      allow_net:
        - "localhost"
      allow_env:
        - "MCP_RPC_ENDPOINT"
  servers:
    google-drive:
      command: "npx"
      args: ["-y", "drive-server"]
      envs:
        DRIVE_KEY: "$GOOGLE_KEY"
"""
FILES_FIRST = """\
agents:
  - id: "agent_a"
    backend:
      type: "openai"
      model: "gpt-4o"
massgen:
  execution_mode: "filesystem_first"
  in_context_tools:
    filesystem:
      - read_file
      - write_file
    code_execution:
      - execute_python
      - execute_bash
  available_mcp_servers:
    - google-drive
    - slack
  available_custom_tools:
    - web.playwright_navigate
  search_tools:
    enable_ripgrep: true
    enable_ast_grep: true
    enable_semtools: false
"""
IN_A_CONTAINER = """\
massgen:
  execution_mode: "filesystem_first"
  code_execution:
    enabled: true
    mode: "docker"
    docker:
      image: "files-first:latest"
      network: "host"
"""
MORE_IN_CONTEXT = """\
massgen:
  execution_mode: "filesystem_first"
  in_context_tools:
    filesystem: "*"
    code_execution: "*"
    web: [playwright_navigate]
"""
FEW_IN_CONTEXT = """\
massgen:
  execution_mode: "filesystem_first"
  in_context_tools:
    filesystem: [read_file, write_file, list_directory]
    code_execution: [execute_python]
"""
IN_CONTEXT = 'massgen:\n  execution_mode: "context_based"\n'
FEW_SERVERS = """\
massgen:
  execution_mode: "context_based"
agents:
  - id: "agent"
    backend:
      type: "openai"
      model: "gpt-4o"
      mcp_servers:
        - filesystem
        - github
"""
EVERY_SERVER = """\
massgen:
  execution_mode: "filesystem_first"
  code_execution:
    enabled: true
    mode: "docker"
agents:
  - id: "universal_agent"
    backend:
      type: "openai"
      model: "gpt-4o"
available_mcp_servers:
  - google-drive
  - gmail
"""
MEMORY = """\
agents:
  - id: "agent_a"
    memory:
      allow_read_from: ["agent_b"]
      allow_write_to: []
  - id: "agent_b"
    memory:
      allow_read_from: ["agent_a"]
"""
SAMPLES = {
    name: text
    for name, text in globals().items()
    if name.isupper() and isinstance(text, str) and not name.startswith("_")
}


def read(directory: Path, text: str) -> Configuration:
    (directory / "satchel.yaml").write_text(text)
    return read_configuration(find_paths(config=directory, environment={"HOME": str(directory)}))


def lines_of(configuration: Configuration) -> set[int]:
    """The lines that a note or a warning is about."""
    said = (*configuration.notes, *configuration.warnings)
    return {int(text.split(":")[1]) for text in said}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_file_is_read_as_it_is_with_a_note_that_names_its_line_for_every_key(
    tmp_path: Path, name: str
) -> None:
    configuration = read(tmp_path, SAMPLES[name])

    assert configuration.settings != Settings()
    assert configuration.notes or name == "MEMORY"  # a list of agents needs none
    for text in configuration.notes:
        assert text.startswith("satchel.yaml:")


def test_code_mode_with_servers(tmp_path: Path) -> None:
    configuration = read(tmp_path, CODE_MODE)
    settings = configuration.settings

    assert settings.mode == "code"
    assert settings.code_execution.language == "typescript"
    sandbox = settings.code_execution.sandbox
    assert (sandbox.allow_read, sandbox.allow_write) == ((".tools/mcp", "./workspace"), ("./workspace",))
    assert (sandbox.allow_net, sandbox.allow_env) == ((), ("MCP_RPC_ENDPOINT",))
    (server,) = configuration.servers
    assert dict(resolve(server, {"GOOGLE_KEY": "k"}).env) == {"DRIVE_KEY": "k"}
    # allow_read, allow_write and allow_env mean what they say, and so need no note.
    assert lines_of(configuration) == {2, 3, 4, 5, 6, 13, 17, 21}


def test_files_first(tmp_path: Path) -> None:
    configuration = read(tmp_path, FILES_FIRST)
    settings = configuration.settings

    assert (settings.mode, settings.code_execution.required) == ("code", True)
    assert settings.in_context_tools == ("filesystem.read_file", "filesystem.write_file")
    assert list(settings.agents) == ["agent_a"]
    assert settings.agents["agent_a"].model == "openai:gpt-4o"
    assert lines_of(configuration) == {5, 6, 7, 8, 12, 15, 18, 20}
    assert any("no entry for google-drive, slack" in note for note in configuration.notes)


def test_programs_in_a_container_are_programs_in_a_box(tmp_path: Path) -> None:
    configuration = read(tmp_path, IN_A_CONTAINER)

    assert configuration.settings.code_execution.sandbox.backend == "bubblewrap"
    assert configuration.settings.mode == "code"
    assert lines_of(configuration) == {1, 2, 4, 5, 6}


def test_an_agent_with_servers_may_use_those_and_no_others(tmp_path: Path) -> None:
    agents = read(tmp_path, FEW_SERVERS).settings.agents

    assert agents["agent"].allow == ("filesystem", "github")


def test_what_agents_may_remember_of_each_other_is_read(tmp_path: Path) -> None:
    configuration = read(tmp_path, MEMORY)

    assert configuration.settings.agents["agent_a"].memory.allow_read_from == ("agent_b",)
    assert configuration.settings.agents["agent_b"].memory.allow_read_from == ("agent_a",)
