"""custom_tools of satchel.yaml: checked, and made into server entries without importing anything."""

import json
import os
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from satchel.config import Paths, ServerEntry, find_paths, read_configuration, resolve
from satchel.config.follow import LiveConfiguration
from satchel.config.settings import read_settings
from satchel.errors import ConfigError

SECOND = 1_000_000_000


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "satchel.yaml"


def paths_of(file: Path) -> Paths:
    return find_paths(config=file.parent, environment={"HOME": str(file.parent / "home")})


def entries(file: Path, text: str) -> dict[str, ServerEntry]:
    file.write_text(text)
    return {entry.name: entry for entry in read_configuration(paths_of(file)).servers}


def error_of(file: Path, text: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        entries(file, text)
    assert caught.value.file == file
    return caught.value


def write_module(file: Path, text: str, *, seconds: int) -> None:
    """Written at a given time, so that no test depends on the clock of the file system."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    os.utime(file, ns=(seconds * SECOND, seconds * SECOND))


def test_each_group_is_one_server_with_its_functions_in_order(file: Path) -> None:
    found = entries(file, "custom_tools:\n  web.go: a.b:go\n  disk.free: c:free\n  web.back: a.b:back\n")

    assert list(found) == ["web", "disk"]
    assert all(entry.custom and entry.enabled and entry.transport == "stdio" for entry in found.values())
    assert found["web"].command == sys.executable
    assert found["web"].args[-3:] == ("web", "go=a.b:go", "back=a.b:back")
    assert found["disk"].written["tools"] == {"free": "c:free"}


def test_groups_stand_after_the_servers_of_the_other_file(file: Path) -> None:
    (file.parent / "extensions_config.json").write_text('{"mcpServers": {"drive": {"command": "x"}}}')

    found = entries(file, "custom_tools: { web.go: 'a:go' }")

    assert list(found) == ["drive", "web"]
    assert not found["drive"].custom


def test_the_group_is_what_stands_before_the_first_dot(file: Path) -> None:
    assert entries(file, "custom_tools: { web.page.open: 'a:f' }")["web"].written["tools"] == {
        "page.open": "a:f"
    }


def test_without_custom_tools_there_are_no_groups(file: Path) -> None:
    assert entries(file, "mode: code\n") == {}


def test_a_function_may_be_an_attribute_of_a_class(file: Path) -> None:
    assert "web" in entries(file, "custom_tools: { web.go: 'a.b:Browser.go' }")


@pytest.mark.parametrize("name", ["navigate", ".navigate", "web.", "."])
def test_a_name_without_group_or_tool_is_refused_with_its_line(file: Path, name: str) -> None:
    error = error_of(file, f"mode: code\ncustom_tools:\n  web.good: a:f\n  '{name}': a:g\n")

    assert error.line == 4
    assert error.key == f"custom_tools.{name}"
    assert f"satchel.yaml:4: custom tool '{name}' has no group" in error.message
    assert error.hint == "write group.name"


@pytest.mark.parametrize(
    "target",
    ["a.b", "a.b.f", ":f", "a:", "a..b:f", "a b:f", "a:f()", "a-b:f", "a:1f", "./a.py:f", "a:b:c", ""],
)
def test_a_target_that_is_no_function_of_a_module_is_refused_with_its_line(file: Path, target: str) -> None:
    error = error_of(file, f"custom_tools:\n  web.good: a:f\n  web.bad: '{target}'\n")

    assert error.line == 3
    assert error.key == "custom_tools.web.bad"
    assert f"'{target}' is not a function of a module" in error.message
    assert error.hint == "write module:function"


def test_a_target_that_is_no_text_is_refused(file: Path) -> None:
    error = error_of(file, "custom_tools:\n  web.bad: [a, b]\n")

    assert error.line == 2
    assert "'custom_tools.web.bad' must be a string" in error.message


def test_a_group_with_the_name_of_a_server_is_refused_with_both_places(file: Path) -> None:
    servers = file.parent / "extensions_config.json"
    servers.write_text(
        json.dumps({"mcpServers": {"drive": {"command": "x"}, "web": {"command": "y"}}}, indent=1)
    )

    error = error_of(file, "custom_tools:\n  disk.free: c:free\n  web.go: a:go\n")

    line = next(i for i, text in enumerate(servers.read_text().splitlines(), 1) if '"web"' in text)
    assert (error.line, error.key) == (3, "custom_tools.web.go")
    assert f"the group 'web' of custom_tools has the name of a server in {servers}:{line}" in error.message
    assert error.hint


def test_a_group_tells_where_it_is_written(file: Path) -> None:
    found = entries(file, "mode: code\ncustom_tools:\n  disk.free: c:free\n\n  web.go: a:go\n")

    assert found["web"].locate(()) == (file, 5)


def test_the_project_is_the_directory_of_the_settings_and_the_whole_environment_is_passed_on(
    file: Path,
) -> None:
    target = resolve(entries(file, "custom_tools: { web.go: 'a:go' }")["web"], {"TOKEN": "s3cret-value"})

    assert target.cwd == file.parent
    assert target.inherited == {"TOKEN": "s3cret-value"}
    assert target.env == {}
    assert "s3cret-value" in target.secrets
    assert "s3cret-value" not in repr(target)


def test_nothing_in_a_name_is_taken_for_a_variable(file: Path) -> None:
    entry = entries(file, "custom_tools: { 'web.${NOT_SET}': 'a:go' }")["web"]

    assert resolve(entry, {}).args[-1] == "${NOT_SET}=a:go"


@pytest.mark.parametrize("source", ["pkg/web.py", "pkg/web/__init__.py"])
def test_an_edit_of_the_source_changes_the_entry_and_nothing_is_imported(file: Path, source: str) -> None:
    text = "custom_tools: { web.go: 'pkg.web:go' }"
    module = file.parent / source
    seen = [entries(file, text)["web"].written]
    for seconds, code in ((1, "raise SystemExit(1)"), (2, "raise SystemExit(2)"), (2, "raise SystemExit")):
        write_module(module, code, seconds=seconds)
        seen.append(entries(file, text)["web"].written)

    assert all(one != other for one, other in pairwise(seen))
    assert entries(file, text)["web"].written == seen[-1]


def test_the_source_of_one_group_does_not_concern_another(file: Path) -> None:
    text = "custom_tools: { web.go: 'web:go', disk.free: 'disk:free' }"
    before = entries(file, text)
    write_module(file.parent / "web.py", "", seconds=1)

    after = entries(file, text)

    assert after["web"] != before["web"]
    assert after["disk"] == before["disk"]


def test_a_running_program_sees_changed_settings_and_changed_sources(file: Path) -> None:
    file.write_text("custom_tools: { web.go: 'web:go' }")
    write_module(file.parent / "web.py", "a = 1", seconds=1)
    source = LiveConfiguration(paths_of(file))
    first = source.follow()
    assert source.follow() is first

    write_module(file.parent / "web.py", "a = 2", seconds=2)
    second = source.follow()
    assert second != first
    assert source.follow() is second

    file.write_text("custom_tools: { web.go: 'web:go', web.back: 'web:back' }")
    assert list(source.follow().servers[0].written["tools"]) == ["go", "back"]


def test_a_faulty_change_leaves_the_groups_of_a_running_program_as_they_were(file: Path) -> None:
    file.write_text("custom_tools: { web.go: 'web:go' }")
    source = LiveConfiguration(paths_of(file))

    file.write_text("custom_tools: { go: 'web:go' }")

    assert [entry.name for entry in source.follow().servers] == ["web"]
    assert source.error is not None
    assert source.error.key == "custom_tools.go"


def test_the_settings_hold_the_names_as_written(file: Path) -> None:
    file.write_text("custom_tools:\n  web.go: pkg.web:go\n")

    assert read_settings(file).custom_tools == {"web.go": "pkg.web:go"}
