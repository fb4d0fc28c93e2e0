"""extensions_config.json: read in both shapes, and written without losing anything."""

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from satchel.config import read_extensions, set_enabled, update_extensions, update_servers
from satchel.errors import ConfigError, NotFoundError
from tests.writers import read_meanwhile, start_writer


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "extensions_config.json"


def write(file: Path, content: object) -> str:
    text = content if isinstance(content, str) else json.dumps(content, indent=2)
    file.write_text(text, encoding="utf-8")
    return text


def names(file: Path) -> list[str]:
    return [entry.name for entry in read_extensions(file)]


def add(name: str, entry: Any) -> Any:
    def change(servers: dict[str, Any]) -> None:
        servers[name] = entry

    return change


def remove(name: str) -> Any:
    def change(servers: dict[str, Any]) -> None:
        del servers[name]

    return change


def fail(_: dict[str, Any]) -> None:
    raise ZeroDivisionError


# Reading


def test_a_missing_file_has_no_servers(file: Path) -> None:
    assert read_extensions(file) == ()


@pytest.mark.parametrize("text", ["", "  \n", "{}", '{"mcpServers": {}}', '{"skills": {"a": {}}}'])
def test_a_file_without_servers_has_none(file: Path, text: str) -> None:
    write(file, text)

    assert read_extensions(file) == ()


def test_servers_are_read_from_the_shape_that_every_client_uses_in_their_order(file: Path) -> None:
    write(file, {"mcpServers": {"b": {"command": "b"}, "a": {"url": "http://a.example"}}, "skills": {}})

    first, second = read_extensions(file)

    assert (first.name, first.command, first.transport) == ("b", "b", "stdio")
    assert (second.name, second.url, second.transport) == ("a", "http://a.example", "http")


def test_servers_are_read_from_a_bare_map(file: Path) -> None:
    write(file, {"b": {"command": "b"}, "a": {"url": "http://a.example"}})

    assert names(file) == ["b", "a"]


def test_a_bare_map_may_have_the_other_known_keys_beside_its_servers(file: Path) -> None:
    write(file, {"a": {"command": "a"}, "plugins": {"p": {"enabled": True}}})

    assert names(file) == ["a"]


def test_a_faulty_entry_of_a_bare_map_does_not_hide_the_others(file: Path) -> None:
    write(file, {"good": {"command": "x"}, "bad": {"comand": "y"}})

    entries = {entry.name: entry for entry in read_extensions(file)}

    assert entries["good"].problem is None
    assert entries["bad"].problem is not None


def test_a_byte_order_mark_is_passed_over(file: Path) -> None:
    file.write_bytes(b'\xef\xbb\xbf{"mcpServers": {"a": {"command": "x"}}}')

    assert names(file) == ["a"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{\n "mcpServers": {\n  "a": {"command": "x",}\n }\n}', 3),
        ('{\n "mcpServers": {}\n', 3),
        ("{\n // no comments in JSON\n}", 2),
        ("mcpServers: {}", 1),
    ],
)
def test_what_is_not_valid_json_names_file_and_line(file: Path, text: str, line: int) -> None:
    write(file, text)

    with pytest.raises(ConfigError, match="not valid JSON") as caught:
        read_extensions(file)

    assert (caught.value.file, caught.value.line) == (file, line)
    assert f"{file}:{line}:" in caught.value.message
    assert "no comma after the last item" in (caught.value.hint or "")


@pytest.mark.parametrize("text", ["[]", '"text"', "5", "null"])
def test_a_file_that_is_no_object_is_refused(file: Path, text: str) -> None:
    write(file, text)

    with pytest.raises(ConfigError, match="must be an object"):
        read_extensions(file)


@pytest.mark.parametrize(
    "text",
    ['{"mcpServers": ' + "[" * 100_000 + "]" * 100_000 + "}", '{"mcpServers": {}, "n": ' + "9" * 5_000 + "}"],
    ids=["depth", "digits"],
)
def test_what_the_json_parser_can_not_take_is_an_error_of_the_file(file: Path, text: str) -> None:
    write(file, text)

    with pytest.raises(ConfigError) as caught:
        read_extensions(file)

    assert caught.value.file == file


def test_servers_that_are_no_object_are_refused(file: Path) -> None:
    write(file, '{\n "skills": {},\n "mcpServers": []\n}')

    with pytest.raises(ConfigError, match="'mcpServers' must be an object") as caught:
        read_extensions(file)

    assert (caught.value.file, caught.value.line) == (file, 3)


@pytest.mark.parametrize("key", ["mcpServer", "mcp_servers", "McpServers", "servers"])
def test_a_typing_error_in_the_key_of_the_servers_is_not_taken_for_no_servers(file: Path, key: str) -> None:
    write(file, {"skills": {}, key: {"a": {"command": "x"}}})

    with pytest.raises(ConfigError, match=f"unknown key '{key}'") as caught:
        read_extensions(file)

    assert (caught.value.line, caught.value.key) == (3, key)
    assert caught.value.hint == "did you mean 'mcpServers'?"


def test_a_file_that_is_not_text_is_refused(file: Path) -> None:
    file.write_bytes(b'{"mcpServers": {"\xff": {}}}')

    with pytest.raises(ConfigError, match="can't be read"):
        read_extensions(file)


# Writing


def test_the_first_server_makes_the_file(file: Path) -> None:
    update_servers(file, add("a", {"command": "x"}))

    assert json.loads(file.read_text()) == {"mcpServers": {"a": {"command": "x"}}}
    assert file.read_text().endswith("}\n")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("text", ["", "\n", "{}", "\ufeff"])
def test_the_first_server_of_an_empty_file_is_written_to_it(file: Path, text: str) -> None:
    write(file, text)

    update_servers(file, add("a", {"command": "x"}))

    assert names(file) == ["a"]


@pytest.mark.parametrize("indent", [1, 2, 4, "\t"])
def test_a_write_keeps_indentation_order_and_every_key_it_does_not_know(
    file: Path, indent: int | str
) -> None:
    before: dict[str, Any] = {
        "$schema": "https://example.org/schema.json",
        "zeta": {"nested": [1, {"deep": None}]},
        "mcpServers": {
            "z": {"command": "x", "x-note": "kept", "alwaysAllow": ["a"], "enabled": True},
            "a": {"url": "http://a.example"},
        },
        "skills": {"s": {"enabled": False}},
        "alpha": "größer → 大",
    }
    file.write_text(json.dumps(before, indent=indent, ensure_ascii=False) + "\n", encoding="utf-8")

    update_servers(file, add("m", {"command": "y"}))

    before["mcpServers"]["m"] = {"command": "y"}
    expected = json.dumps(before, indent=indent, ensure_ascii=False) + "\n"
    assert file.read_text(encoding="utf-8") == expected


def test_a_bare_map_stays_one(file: Path) -> None:
    write(file, {"a": {"command": "x"}})

    update_servers(file, add("b", {"command": "y"}))
    update_servers(file, remove("a"))

    assert json.loads(file.read_text()) == {"b": {"command": "y"}}


@pytest.mark.parametrize("beside", [{}, {"skills": {"s": {}}}])
@pytest.mark.parametrize("wrapped", [True, False])
def test_the_last_server_can_be_removed(file: Path, wrapped: bool, beside: dict[str, Any]) -> None:
    servers: dict[str, Any] = {"a": {"command": "x"}}
    write(file, {**beside, "mcpServers": servers} if wrapped else {**beside, **servers})

    update_servers(file, remove("a"))

    assert read_extensions(file) == ()
    assert "a" not in json.loads(file.read_text())


def test_a_server_stands_only_once_in_the_file_after_a_write(file: Path) -> None:
    write(file, {"skills": {"s": {}}, "a": {"command": "x"}})

    update_servers(file, add("b", {"command": "y"}))

    assert sorted(names(file)) == ["a", "b"]
    assert file.read_text().count('"a"') == 1


def test_a_write_that_changes_nothing_leaves_the_file_as_it_is(file: Path) -> None:
    text = write(file, '{"mcpServers":{"a":{"command":"x"}}}')
    before = file.stat()

    update_servers(file, add("a", {"command": "x"}))

    assert file.read_text() == text
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_the_whole_document_can_be_changed(file: Path) -> None:
    write(file, {"mcpServers": {"a": {"command": "x"}}})

    def change(document: dict[str, Any]) -> None:
        document["skills"] = {"s": {"enabled": False}}

    update_extensions(file, change)

    assert json.loads(file.read_text())["skills"] == {"s": {"enabled": False}}
    assert names(file) == ["a"]


@pytest.mark.parametrize(
    "text", ['{"mcpServers": {"a": {"command": "x",}}}', "[]", '{"mcpServers": []}', "\xff"]
)
def test_an_invalid_file_is_never_overwritten(file: Path, text: str) -> None:
    file.write_text(text, encoding="latin-1")

    with pytest.raises(ConfigError):
        update_servers(file, add("b", {"command": "y"}))

    assert file.read_text(encoding="latin-1") == text
    assert os.listdir(file.parent) == [file.name]


def test_a_file_with_a_typing_error_in_the_key_of_its_servers_is_not_overwritten(file: Path) -> None:
    text = write(file, {"mcpServer": {"a": {"command": "x"}}})

    with pytest.raises(ConfigError):
        update_servers(file, add("b", {"command": "y"}))

    assert file.read_text() == text


def test_a_change_that_fails_writes_nothing(file: Path) -> None:
    text = write(file, {"mcpServers": {"a": {"command": "x"}}})

    with pytest.raises(ZeroDivisionError):
        update_servers(file, fail)

    assert file.read_text() == text
    update_servers(file, add("b", {"command": "y"}))  # and gives the lock back
    assert names(file) == ["a", "b"]


def test_half_of_a_character_in_the_file_survives_a_write(file: Path) -> None:
    write(file, '{"mcpServers": {"a": {"command": "x", "description": "\\ud800"}}}')

    update_servers(file, add("b", {"command": "y"}))

    assert json.loads(file.read_text())["mcpServers"]["a"]["description"] == "\ud800"


def test_variables_are_not_expanded_by_a_write(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "hunter2hunter2")
    write(file, {"mcpServers": {"a": {"command": "x", "env": {"T": "${TOKEN}", "U": "${UNSET:-u}"}}}})

    set_enabled(file, "a", enabled=False)

    assert "${TOKEN}" in file.read_text()
    assert "${UNSET:-u}" in file.read_text()
    assert "hunter2" not in file.read_text()


def test_an_update_goes_through_a_symbolic_link(file: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "servers.json"
    real.parent.mkdir()
    write(real, {"mcpServers": {"a": {"command": "x"}}})
    real.chmod(0o640)
    file.symlink_to("dotfiles/servers.json")

    update_servers(file, add("b", {"command": "y"}))

    assert os.readlink(file) == "dotfiles/servers.json"
    assert names(real) == ["a", "b"]
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


# Switching on and off


def test_a_server_is_switched_off_and_on_again(file: Path) -> None:
    write(file, {"mcpServers": {"a": {"command": "x", "icon": "i"}, "b": {"command": "y"}}})

    set_enabled(file, "a", enabled=False)
    assert {entry.name: entry.enabled for entry in read_extensions(file)} == {"a": False, "b": True}
    set_enabled(file, "a", enabled=True)
    assert {entry.name: entry.enabled for entry in read_extensions(file)} == {"a": True, "b": True}
    assert json.loads(file.read_text())["mcpServers"]["a"] == {"command": "x", "icon": "i"}


def test_switching_on_a_server_that_another_client_disabled_takes_its_key_away(file: Path) -> None:
    write(file, {"mcpServers": {"a": {"command": "x", "disabled": True}}})

    set_enabled(file, "a", enabled=True)

    assert read_extensions(file)[0].enabled
    assert json.loads(file.read_text())["mcpServers"]["a"] == {"command": "x"}


def test_a_faulty_entry_can_be_switched_off_too(file: Path) -> None:
    write(file, {"mcpServers": {"a": {"comand": "x"}}})

    set_enabled(file, "a", enabled=False)

    assert not read_extensions(file)[0].enabled


def test_switching_an_unknown_server_names_the_closest(file: Path) -> None:
    text = write(file, {"mcpServers": {"google-drive": {"command": "x"}}})

    with pytest.raises(NotFoundError, match="unknown server 'google_drve'") as caught:
        set_enabled(file, "google_drve", enabled=False)

    assert caught.value.closest == ("google-drive",)
    assert file.read_text() == text


def test_switching_an_entry_that_is_no_object_says_so(file: Path) -> None:
    write(file, {"mcpServers": {"a": "npx thing"}})

    with pytest.raises(ConfigError, match="must be an object"):
        set_enabled(file, "a", enabled=False)


# Several processes

UPDATE = """
import sys
from pathlib import Path
from satchel.config import set_enabled, update_servers

file, own = Path(sys.argv[1]), sys.argv[2]

def add(name):
    def change(servers):
        servers[name] = {"command": own, "args": [own * 200]}
    return change

for number in range(50):
    if number % 5 == 0:
        sys.stdin.readline()
    name = f"{own}{number}"
    update_servers(file, add(name))
    set_enabled(file, name, enabled=False)
"""


@pytest.mark.slow
def test_two_hundred_updates_from_two_processes_lose_none_and_no_reader_sees_a_torn_file(file: Path) -> None:
    write(file, {"mcpServers": {"first": {"command": "x"}}, "x-kept": [1, 2]})
    writers = [start_writer(UPDATE, str(file), own) for own in ("a", "b")]

    seen, _ = read_meanwhile(writers, lambda: tuple(names(file)))

    assert seen > 5  # the reader was there meanwhile
    entries = {entry.name: entry for entry in read_extensions(file)}
    assert set(entries) == {"first"} | {f"{own}{number}" for own in "ab" for number in range(50)}
    assert [entry.name for entry in entries.values() if entry.enabled] == ["first"]
    assert json.loads(file.read_text())["x-kept"] == [1, 2]
    assert os.listdir(file.parent) == [file.name]
