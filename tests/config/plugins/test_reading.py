"""Reading plugins' folders: layouts, path fields, and what a broken part costs."""

import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from satchel.config import resolve
from satchel.config.plugins.reading import read_plugin
from satchel.config.plugins.record import Installed, Record
from satchel.config.plugins.servers import entries_of
from satchel.errors import NeedsSetupError
from satchel.model import Plugin
from tests.config.plugins.folders import paths_of
from tests.conftest import SHARED

_CORPUS = SHARED / "plugins"
_SCHEMA = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json"
_ENTRY = {"type": "http", "url": "https://mcp.example.com/mcp"}


def _write(file: Path, content: object = "") -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return file


def _skill(folder: Path, name: str = "prep") -> Path:
    return _write(folder / "SKILL.md", f"---\nname: {name}\ndescription: Prepares.\n---\nDo it.\n").parent


def _manifest(folder: Path, **fields: object) -> Path:
    _write(folder / ".claude-plugin" / "plugin.json", {"name": "sales", **fields})
    return folder


def _relative(plugin: Plugin) -> list[str]:
    return [os.path.relpath(place, plugin.folder) for place in plugin.skills]


def _remarks(plugin: Plugin) -> str:
    return "\n".join(map(str, plugin.remarks))


def test_a_plugin_without_a_manifest_is_called_like_its_folder(tmp_path: Path):
    _skill(tmp_path / "crm" / "skills" / "prep")
    _write(tmp_path / "crm" / "commands" / "build" / "web.md", "Build.")
    _write(tmp_path / "crm" / "commands" / "README.md", "Not a command.")
    _skill(tmp_path / "crm" / "commands" / "plan")
    _write(tmp_path / "crm" / ".mcp.json", {"mcpServers": {"slack": _ENTRY}})
    plugin = read_plugin(tmp_path / "crm")
    assert (plugin.name, plugin.layout, plugin.error, plugin.remarks) == ("crm", "plain", None, ())
    assert _relative(plugin) == ["skills/prep"]
    assert [command.name for command in plugin.commands] == ["build:web", "plan"]
    assert [(server.name, server.key) for server in plugin.servers] == [("slack", ("mcpServers", "slack"))]


def test_a_manifest_of_agent_plugins_counts_where_there_is_none_of_claude(tmp_path: Path):
    _write(tmp_path / "plugin.json", {"$schema": _SCHEMA, "name": "open", "version": "2.0.0"})
    _write(tmp_path / "mcp.json", {"slack": _ENTRY})
    _skill(tmp_path / "skills" / "prep")
    plugin = read_plugin(tmp_path)
    assert (plugin.name, plugin.layout, plugin.version) == ("open", "agent-plugins", "2.0.0")
    assert [server.name for server in plugin.servers] == ["slack"]
    _manifest(tmp_path)
    _write(tmp_path / ".mcp.json", {"hubspot": _ENTRY})
    plugin = read_plugin(tmp_path)
    assert (plugin.name, plugin.layout) == ("sales", "claude")
    assert [server.name for server in plugin.servers] == ["hubspot"]


def test_skills_are_added_while_commands_are_replaced(tmp_path: Path):
    _manifest(tmp_path, skills=["./extra/one", "./more", "./skills/prep"], commands="./prompts")
    for place in ("skills/prep", "extra/one", "more/two", "more/two/inner", "skills/prep/inner"):
        _skill(tmp_path / place)
    _write(tmp_path / "commands" / "old.md")
    _write(tmp_path / "prompts" / "new.md")
    plugin = read_plugin(tmp_path)
    assert _relative(plugin) == ["extra/one", "more/two", "skills/prep"]
    assert [command.name for command in plugin.commands] == ["new"]
    assert not plugin.remarks


def test_a_skill_in_the_root_counts_only_where_there_are_no_others(tmp_path: Path):
    _skill(_manifest(tmp_path))
    assert read_plugin(tmp_path).skills == (tmp_path / ".",)
    _skill(tmp_path / "skills" / "prep")
    assert _relative(read_plugin(tmp_path)) == ["skills/prep"]


def test_commands_can_be_written_in_the_manifest(tmp_path: Path):
    _write(tmp_path / "x.md", "X.")
    commands = {
        "a": {"content": "Do $ARGUMENTS.", "description": "D", "argumentHint": "[x]"},
        "b": {"source": "./x.md"},
        "c": {},
    }
    plugin = read_plugin(_manifest(tmp_path, commands=commands))
    first, second = plugin.commands
    assert (first.content, first.given) == ("Do $ARGUMENTS.", {"description": "D", "argumentHint": "[x]"})
    assert (second.content, second.file) == (None, tmp_path / "x.md")
    assert "'c' has neither" in _remarks(plugin)


def test_servers_are_inline_in_files_and_both(tmp_path: Path):
    _manifest(tmp_path, mcpServers=[{"one": _ENTRY}, "./conf/two.json", {"mcpServers": {"three": _ENTRY}}])
    _write(tmp_path / "conf" / "two.json", {"two": _ENTRY})
    _write(tmp_path / ".mcp.json", {"mcpServers": {"command": "x"}, "four": _ENTRY})
    plugin = read_plugin(tmp_path)
    assert [server.name for server in plugin.servers] == ["one", "two", "three", "mcpServers", "four"]
    assert plugin.servers[2].key == ("mcpServers", "2", "mcpServers", "three")


def test_parts_without_effect_are_named(tmp_path: Path):
    _manifest(tmp_path, lspServers={}, dependencies=[{"name": "other"}, "more"], experimental={"monitors": 1})
    _write(tmp_path / "agents" / "writer.md", "---\ndescription: <example> a: b: c\n---\n")
    _write(tmp_path / "hooks" / "hooks.json", {"hooks": {"Stop": [], "SessionStart": []}})
    _write(tmp_path / "bin" / "run", "#!/bin/sh\n")
    _write(tmp_path / ".claude-plugin" / "commands" / "x.md")
    plugin = read_plugin(tmp_path)
    words = "; ".join(plugin.without_effect)
    for part in (
        "1 agent",
        "hooks (SessionStart, Stop)",
        "LSP servers",
        "monitors",
        "programs in bin",
        "other, more",
    ):
        assert part in words
    assert "move it out of .claude-plugin" in _remarks(plugin)


@pytest.mark.skipif(not _CORPUS.is_dir(), reason="the corpus of plugins is not here")
def test_the_corpus_is_read_without_an_error():
    folders = sorted(file.parent.parent for file in _CORPUS.glob("**/.claude-plugin/plugin.json"))
    plugins = [read_plugin(folder) for folder in folders]
    assert [plugin.error for plugin in plugins if plugin.error] == []
    assert [remark for plugin in plugins for remark in plugin.remarks] == []
    assert len(plugins) == 22
    assert sum(len(plugin.skills) for plugin in plugins) == 185
    assert sum(len(plugin.commands) for plugin in plugins) == 15
    assert sum(len(plugin.servers) for plugin in plugins) == 153


# What is hostile or broken


def _fifo(folder: Path) -> None:
    (folder / ".claude-plugin").mkdir()
    os.mkfifo(folder / ".claude-plugin" / "plugin.json")


def _link(place: str, target: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).unlink(missing_ok=True)
        (folder / place).symlink_to(target)

    return make


def _raw(place: str, content: bytes) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_bytes(content)

    return make


_PLUGIN = ".claude-plugin/plugin.json"
_FATAL: dict[str, Callable[[Path], None]] = {
    "a pipe": _fifo,
    "a link to a file of the system": _link(_PLUGIN, "/etc/passwd"),
    "a link to a device": _link(_PLUGIN, "/dev/zero"),
    "a link to nothing": _link(_PLUGIN, "nowhere"),
    "a folder": lambda folder: (folder / _PLUGIN).mkdir(parents=True),
    "huge": _raw(_PLUGIN, b'{"name": "x", "description": "' + b"a" * 300_000 + b'"}'),
    "not UTF-8": _raw(_PLUGIN, b'{"name": "\xff"}'),
    "with NUL": _raw(_PLUGIN, b'{"name": "a\x00b"}'),
    "with an escaped NUL": _raw(_PLUGIN, b'{"name": "a\\u0000b"}'),
    "nested without end": _raw(_PLUGIN, b'{"name": ' + b"[" * 100_000),
    "nested deeply": _raw(_PLUGIN, b'{"name": "x", "author": ' + b"[" * 300 + b"]" * 300 + b"}"),
    "a number without end": _raw(_PLUGIN, b'{"name": ' + b"1" * 10_000 + b"}"),
    "empty": _raw(_PLUGIN, b""),
    "a list": _raw(_PLUGIN, b"[]"),
    "called ../x": _raw(_PLUGIN, b'{"name": "../x"}'),
    "called a/b": _raw(_PLUGIN, b'{"name": "a/b"}'),
    "called a:b": _raw(_PLUGIN, b'{"name": "a:b"}'),
    "called by nothing": _raw(_PLUGIN, b'{"name": " "}'),
    "called like a flag": _raw(_PLUGIN, b'{"name": "--config"}'),
    "called like a category": _raw(_PLUGIN, b'{"name": "Public"}'),
    "called at length": _raw(_PLUGIN, b'{"name": "' + b"a" * 1000 + b'"}'),
    "called by half a pair": _raw(_PLUGIN, b'{"name": "a\\ud800"}'),
    "called with a turn": _raw(_PLUGIN, '{"name": "a\u202eb"}'.encode()),
}


@pytest.mark.parametrize("broken", _FATAL)
def test_a_manifest_that_cannot_be_used_costs_the_plugin_and_says_why(tmp_path: Path, broken: str):
    folder = tmp_path / "crm"
    _skill(folder / "skills" / "prep")
    _FATAL[broken](folder)
    plugin = read_plugin(folder)
    assert plugin.error
    assert not plugin.skills
    assert "root:" not in f"{plugin}"


_WRONG: list[object] = [
    None,
    1,
    1.5,
    True,
    [],
    {},
    [1],
    [[]],
    "",
    "x",
    [None, {}],
    {"a": 1},
    ["x", 1],
    "é" * 500,
]
_FIELDS = [
    "version",
    "description",
    "author",
    "homepage",
    "repository",
    "license",
    "keywords",
    "skills",
    "commands",
    "agents",
    "hooks",
    "mcpServers",
    "lspServers",
    "outputStyles",
    "workflows",
    "channels",
    "settings",
    "experimental",
    "dependencies",
    "userConfig",
    "displayName",
    "monitors",
    "themes",
    "defaultEnabled",
    "metadata",
    "extensions",
    "name",
    "$schema",
    "unknown",
]


@pytest.mark.parametrize("field", _FIELDS)
def test_a_field_of_a_wrong_type_costs_itself_only(tmp_path: Path, field: str):
    folder = tmp_path / "crm"
    _skill(folder / "skills" / "prep")
    for wrong in _WRONG:
        _manifest(folder, **{field: wrong})
        plugin = read_plugin(folder)
        if field != "name":
            assert plugin.error is None, wrong
        if plugin.error is None:
            assert _relative(plugin) == ["skills/prep"], wrong
        assert all(remark.file for remark in plugin.remarks)


_OUT = [
    "../secret",
    "/etc",
    "skills/../../secret",
    "~/x",
    "C:\\x",
    "..\\secret",
    "link",
    "link/inner",
    "a\x00b",
    "",
]


@pytest.mark.parametrize("field", ["skills", "commands", "mcpServers", "agents", "hooks"])
@pytest.mark.parametrize("path", _OUT)
def test_no_path_leads_out_of_a_plugin(tmp_path: Path, field: str, path: str):
    secret = tmp_path / "secret"
    _skill(secret / "inner", "stolen")
    _skill(secret, "stolen")
    _write(secret / "stolen.md")
    _write(secret / "hooks.json", {"mcpServers": {"stolen": _ENTRY}})
    folder = _manifest(tmp_path / "crm", **{field: [path]})
    (folder / "link").symlink_to(secret)
    plugin = read_plugin(folder)
    assert plugin.error is None
    assert not plugin.skills
    assert not plugin.commands
    assert not plugin.servers
    assert not plugin.without_effect or field == "hooks"
    if field in ("skills", "commands", "mcpServers"):
        assert plugin.remarks[0].line == 1


def test_links_count_where_they_lead_into_the_plugin(tmp_path: Path):
    folder = _manifest(tmp_path / "crm")
    _skill(folder / "shared" / "prep")
    _skill(tmp_path / "outside")
    (folder / "skills").mkdir()
    (folder / "skills" / "prep").symlink_to("../shared/prep")
    (folder / "skills" / "gone").symlink_to("nowhere")
    (folder / "skills" / "out").symlink_to(tmp_path / "outside")
    _write(folder / "commands" / "a.md")
    (folder / "commands" / "b.md").symlink_to("/etc/passwd")
    (folder / "commands" / "circle").symlink_to(".")
    (folder / ".mcp.json").symlink_to("/etc/passwd")
    plugin = read_plugin(folder)
    assert _relative(plugin) == ["skills/prep"]
    assert [command.name for command in plugin.commands] == ["a"]
    assert not plugin.servers
    said = _remarks(plugin)
    for place in ("skills/gone", "skills/out", "commands/b.md", "commands/circle", ".mcp.json"):
        assert place in said
    (tmp_path / "alias").symlink_to(folder)
    assert "symbolic link" in (read_plugin(tmp_path / "alias").error or "")


def test_marks_line_ends_and_repeated_keys_are_borne(tmp_path: Path):
    text = '\ufeff{\r\n "name": "one",\r\n "name": "two",\r\n "odd": 1,\r\n "version": 3\r\n}'
    _write(tmp_path / _PLUGIN, text)
    plugin = read_plugin(tmp_path)
    assert plugin.name == "two"
    said = _remarks(plugin)
    assert "'name' is given twice" in said
    assert f"{_PLUGIN}:4: unknown key 'odd'" in said
    assert f"{_PLUGIN}:5: 'version' must be a string" in said


def test_a_broken_file_of_servers_costs_the_servers_only(tmp_path: Path):
    folder = _manifest(tmp_path)
    _skill(folder / "skills" / "prep")
    for content in ("{", "[]", '{"mcpServers": []}', '{"a": 1, "": {}, "b\\u0000": {}}', "x" * 300_000):
        _write(folder / ".mcp.json", content)
        plugin = read_plugin(folder)
        assert plugin.error is None
        assert not plugin.servers
        assert _relative(plugin) == ["skills/prep"]
        assert ".mcp.json" in _remarks(plugin)


def test_a_folder_without_end_is_bounded(tmp_path: Path):
    folder = _manifest(tmp_path, **{f"odd{index}": 1 for index in range(200)})
    deep = folder / "commands"
    for _ in range(40):
        deep = deep / "d"
    _write(deep / "x.md")
    plugin = read_plugin(folder)
    assert not plugin.commands
    assert len(plugin.remarks) == 51
    assert "more remarks" in _remarks(plugin)


def test_a_folder_that_did_not_change_is_not_read_again_and_any_change_is_seen(tmp_path: Path):
    folder = _manifest(tmp_path / "crm", mcpServers="./conf/more.json")
    _skill(folder / "skills" / "prep")
    _write(folder / "commands" / "group" / "a.md")
    _write(folder / "conf" / "more.json", {"two": _ENTRY})
    _write(folder / ".mcp.json", {"one": _ENTRY})
    deadline = time.monotonic() + 30
    while read_plugin(folder) is not read_plugin(folder):  # what was written just now may be written again
        assert time.monotonic() < deadline
        time.sleep(0.02)

    def seen() -> tuple[object, ...]:
        plugin = read_plugin(folder)
        servers = [server.name for server in plugin.servers]
        return (
            plugin.version,
            _relative(plugin),
            [one.name for one in plugin.commands],
            servers,
            plugin.without_effect,
        )

    before = seen()
    changes = (
        lambda: _manifest(folder, version="2", mcpServers="./conf/more.json"),
        lambda: _write(folder / "skills" / "late" / "notes.md"),
        lambda: _skill(folder / "skills" / "late"),
        lambda: (folder / "skills" / "late" / "SKILL.md").unlink(),
        lambda: _write(folder / "commands" / "group" / "b.md"),
        lambda: _write(folder / "conf" / "more.json", {"three": _ENTRY}),
        lambda: (folder / ".mcp.json").unlink(),
        lambda: _write(folder / "agents" / "x.md"),
    )
    for place, change in enumerate(changes):
        change()
        after = seen()
        assert (after == before) == (place == 1), place
        before = after


@pytest.mark.skipif(not _CORPUS.is_dir(), reason="the corpus of plugins is not here")
def test_listing_again_reads_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folders = sorted(file.parent.parent for file in _CORPUS.glob("**/.claude-plugin/plugin.json"))
    plugins = [read_plugin(folder) for folder in folders]
    monkeypatch.setattr("satchel.config.plugins.inside.read_small", None)
    assert all(read_plugin(folder) is plugin for folder, plugin in zip(folders, plugins, strict=True))


@pytest.mark.slow
def test_two_thousand_mutated_files_end_in_a_plugin(tmp_path: Path):
    """Whatever the bytes are: no exception but those that become remarks or an error, and no hang."""
    random = Random(19)
    folder = tmp_path / "crm"
    _skill(folder / "skills" / "prep")
    manifest: dict[str, object] = {
        "name": "crm",
        "version": "1",
        "skills": ["./more"],
        "commands": {"a": {"content": "x"}},
        "mcpServers": {"one": _ENTRY},
        "hooks": {"Stop": []},
        "userConfig": {"k": {"default": 1}},
    }
    servers = {
        "mcpServers": {
            "s": {"command": "x", "args": ["a"], "env": {"A": "${B:-c}"}, "oauth": {"scopes": ["a"]}}
        }
    }
    texts = {_PLUGIN: json.dumps(manifest).encode(), ".mcp.json": json.dumps(servers, indent=1).encode()}
    pieces = [
        b"null",
        b"[]",
        b"{}",
        b'"',
        b"\x00",
        b"\xff",
        b"../",
        b"1e999",
        b"[" * 500,
        b'"\\ud800"',
        b"}",
        b"-",
        b":",
    ]
    paths = paths_of(tmp_path / "project")
    record = Record(installed={"crm": Installed(name="crm")})
    usable = 0
    for index in range(2_000):
        place = (_PLUGIN, ".mcp.json")[index % 2]
        content = bytearray(texts[place])
        for _ in range(random.randrange(1, 4)):
            at = random.randrange(len(content))
            content[at : at + random.choice((0, 1, 1, 5, 20))] = random.choice(pieces)
        for name, text in {**texts, place: bytes(content)}.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(text)
        plugin = read_plugin(folder)
        usable += plugin.error is None
        assert all(map(str, plugin.remarks))
        for entry in entries_of(plugin, paths, {}, record):
            with suppress(NeedsSetupError):
                resolve(entry, {})
    assert usable > 800
