"""The configuration of a process that runs for long follows the files."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from satchel.config import Paths, find_paths, update_servers
from satchel.config.follow import LiveConfiguration
from satchel.errors import ConfigError


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    project = tmp_path / "project"
    project.mkdir()
    (project / "satchel.yaml").write_text("auto_threshold: 20\n")
    write_servers(project, "one")
    return find_paths(directory=project, environment={"HOME": str(tmp_path)})


def write_servers(project: Path, *names: str) -> None:
    servers = {name: {"command": name} for name in names}
    (project / "extensions_config.json").write_text(json.dumps({"mcpServers": servers}))


def names(source: LiveConfiguration) -> list[str]:
    return [entry.name for entry in source.follow().servers]


def test_as_long_as_nothing_changes_the_configuration_is_the_same_object(paths: Paths) -> None:
    source = LiveConfiguration(paths)

    assert source.follow() is source.follow()
    assert source.error is None


def test_a_change_of_the_servers_is_seen_at_once(paths: Paths) -> None:
    source = LiveConfiguration(paths)
    assert names(source) == ["one"]

    def change(servers: dict[str, object]) -> None:
        servers["two"] = {"command": "two"}

    update_servers(paths.extensions_file, change)

    assert names(source) == ["one", "two"]
    write_servers(paths.project, "three")
    assert names(source) == ["three"]


def test_a_change_of_the_settings_is_seen_at_once_even_if_the_file_keeps_its_size(paths: Paths) -> None:
    assert paths.settings_file is not None
    source = LiveConfiguration(paths)
    for threshold in range(21, 99):
        paths.settings_file.write_text(f"auto_threshold: {threshold}\n")
        assert source.follow().settings.auto_threshold == threshold


def test_a_file_that_did_not_exist_is_seen_when_it_is_made(paths: Paths) -> None:
    paths.extensions_file.unlink()
    source = LiveConfiguration(paths)
    assert names(source) == []

    write_servers(paths.project, "late")

    assert names(source) == ["late"]


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("extensions_config.json", '{"mcpServers":\n {"one": }}', 2),
        ("extensions_config.json", '{\n"mcpServer": {"one": {"command": "x"}}}', 2),
        ("satchel.yaml", "mode: auto\nmdoe: code\n", 2),
        ("satchel.yaml", "mode: [\n", 2),
    ],
)
def test_a_broken_file_keeps_the_last_good_configuration_until_it_is_repaired(
    paths: Paths, name: str, text: str, line: int
) -> None:
    source = LiveConfiguration(paths)
    good = source.follow()
    before = (paths.project / name).read_text()

    (paths.project / name).write_text(text)

    assert source.follow() is good
    assert source.error is not None
    assert (source.error.file, source.error.line) == (paths.project / name, line)
    assert source.follow() is good
    assert source.error is not None  # as long as it is broken

    (paths.project / name).write_text(before + "\n")

    assert source.follow() == good
    assert source.error is None


def test_while_one_file_is_broken_the_last_good_one_of_both_stays(paths: Paths) -> None:
    source = LiveConfiguration(paths)
    assert paths.settings_file is not None
    paths.settings_file.write_text("mdoe: code\n")
    write_servers(paths.project, "two")

    assert names(source) == ["one"]

    paths.settings_file.write_text("mode: code\n")
    assert names(source) == ["two"]
    assert source.follow().settings.mode == "code"


def test_settings_that_disappear_are_an_error_and_not_the_defaults(paths: Paths) -> None:
    assert paths.settings_file is not None
    paths.settings_file.write_text("mode: code\n")
    source = LiveConfiguration(paths)

    paths.settings_file.unlink()

    assert source.follow().settings.mode == "code"
    assert source.error is not None


def test_a_file_that_is_broken_from_the_start_is_refused(paths: Paths) -> None:
    paths.extensions_file.write_text("{")

    with pytest.raises(ConfigError):
        LiveConfiguration(paths)


def test_settings_that_become_empty_are_not_used_until_they_have_content_again(paths: Paths) -> None:
    """Many editors empty a file before they write it; empty settings would allow everything."""
    assert paths.settings_file is not None
    paths.settings_file.write_text("mode: code\n")
    source = LiveConfiguration(paths)

    paths.settings_file.write_text("")

    for _ in range(2):
        assert source.follow().settings.mode == "code"
        assert source.error is not None
        assert "has become empty" in source.error.message
    paths.settings_file.unlink()
    assert source.follow().settings.mode == "code"
    paths.settings_file.touch()
    assert source.follow().settings.mode == "code"
    paths.settings_file.write_text("mode: code\nauto_threshold: 7\n")
    assert source.follow().settings.auto_threshold == 7
    assert source.error is None
    paths.settings_file.write_text("{}")
    assert source.follow().settings.mode == "auto"


def test_servers_that_become_empty_are_kept_until_the_file_has_content_again(paths: Paths) -> None:
    """Otherwise clients are told that all tools are gone whenever the file is saved."""
    source = LiveConfiguration(paths)

    for text in ("", "{"):
        paths.extensions_file.write_text(text)
        assert names(source) == ["one"]
        assert source.error is not None
        assert source.error.file == paths.extensions_file
    write_servers(paths.project, "two")
    assert names(source) == ["two"]
    assert source.error is None
    paths.extensions_file.write_text("{}")
    assert names(source) == []


def test_settings_that_were_empty_from_the_start_are_the_defaults(paths: Paths) -> None:
    assert paths.settings_file is not None
    paths.settings_file.write_text("")
    source = LiveConfiguration(paths)
    write_servers(paths.project, "two")
    assert names(source) == ["two"]
    assert source.error is None


# What runs outside of the sandbox


def test_the_code_of_servers_is_their_command_and_the_files_among_their_arguments(
    paths: Paths, tmp_path: Path
) -> None:
    project = paths.project
    (project / "srv").mkdir()
    for name in ("server.py", "srv/run", "srv/hook.js"):
        (project / name).touch()
    servers = {
        "script": {"command": "python", "args": ["server.py", "--port", "${PORT}", "srv"]},
        "own": {"command": "./run", "args": ["--require=hook.js"], "cwd": "srv"},
        "remote": {"url": "https://example.com/mcp"},
        "unset": {"command": "${UNSET}"},
    }
    paths.extensions_file.write_text(json.dumps({"mcpServers": servers}))
    environment = {"PATH": f"{tmp_path}/bin:/usr/bin", "PORT": "1"}

    assert set(LiveConfiguration(paths).follow().code(environment)) == {
        project / "node_modules",
        tmp_path / "bin",
        tmp_path / "bin/python",
        Path("/usr/bin"),
        Path("/usr/bin/python"),
        project / "server.py",
        project / "srv/node_modules",
        project / "srv/run",
        project / "srv/hook.js",
    }


def test_the_code_of_custom_tools_is_their_module_or_its_whole_package(paths: Paths) -> None:
    assert paths.settings_file is not None
    paths.settings_file.write_text("custom_tools: {a.x: 'tools.web.pages:x', a.y: 'single:y'}\n")
    paths.extensions_file.unlink()

    assert set(LiveConfiguration(paths).follow().code({})) == {
        paths.project / name for name in ("tools", "tools.py", "single", "single.py")
    }


def test_a_settings_file_with_nearly_the_right_name_is_told(paths: Paths) -> None:
    (paths.project / "satchel.yaml").rename(paths.project / "satchel.yml")
    source = LiveConfiguration(replace(paths, settings_file=None))

    (warning,) = source.follow().warnings
    assert warning == f"{paths.project / 'satchel.yml'} is not read: rename it to satchel.yaml"

    (paths.project / "satchel.yaml").write_text("mode: code\n")
    assert source.follow().warnings == ()


def test_a_settings_file_of_any_name_that_was_asked_for_is_read(paths: Paths) -> None:
    file = (paths.project / "satchel.yaml").rename(paths.project / "satchel.yml")
    file.write_text("mode: code\n")

    configuration = LiveConfiguration(replace(paths, settings_file=file)).follow()

    assert configuration.settings.mode == "code"
    assert configuration.warnings == ()
