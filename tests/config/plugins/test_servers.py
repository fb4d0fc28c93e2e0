"""The servers of plugins as entries: names, endpoints, approvals, and what stays apart."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from satchel.catalog import Catalog
from satchel.config import find_paths, read_configuration, resolve
from satchel.config.plugins.approving import approve, needs_of
from satchel.config.plugins.endpoints import plain_address
from satchel.config.plugins.finding import read_plugins
from satchel.config.plugins.record import read_record, record_file, update_record
from satchel.config.plugins.settings import PluginsSettings
from satchel.config.plugins.state import set_plugin_enabled, set_server_enabled
from satchel.config.positions import lines_in_json
from satchel.errors import NeedsApprovalError, NeedsSetupError
from tests.config.plugins.folders import approve_all, entries, paths_of, remote, trust, write_plugin
from tests.conftest import SHARED

_CORPUS = SHARED / "plugins"
_SLACK = "https://mcp.slack.com/mcp"
_PROGRAM = {"command": "${CLAUDE_PLUGIN_ROOT}/run", "args": ["--data", "${PLUGIN_DATA}"]}


@pytest.mark.skipif(not _CORPUS.is_dir(), reason="the corpus of plugins is not here")
def test_the_corpus_has_as_many_servers_as_were_counted(tmp_path: Path):
    (tmp_path / "satchel.yaml").write_text(f"plugins: {{path: {_CORPUS}}}\n")
    paths = find_paths(config=tmp_path)
    unapproved = Catalog(read_configuration(paths), {}).snapshot.servers
    assert Counter(server.state for server in unapproved) == {"needs approval": 121, "needs setup": 32}

    settings = PluginsSettings(path=str(_CORPUS))
    trust(paths, *(plugin.name for plugin in read_plugins(paths, settings)))
    servers = Catalog(read_configuration(paths), {}).snapshot.servers
    assert Counter(server.state for server in servers) == {
        "not listed": 52,
        "needs approval": 1,
        "needs setup": 35,
    }
    assert sum(len(server.spellings) for server in servers) == 153
    assert Counter(server.transport for server in servers if server.state == "needs approval") == {"stdio": 1}
    assert all(len(spelling.wire) <= 30 for server in servers for spelling in server.spellings.values())
    reasons = {server.reason for server in servers if server.state == "needs setup"}
    assert "its url is empty" in reasons
    assert "ZOOM_MCP_ACCESS_TOKEN is not set" in reasons
    where = [server.error or "" for server in servers if server.name == "sales:gmail"]
    assert ".mcp.json:" in where[0]
    assert "sales" in where[0]


def test_without_plugins_nothing_of_them_is_loaded(tmp_path: Path):
    assert read_configuration(paths_of(tmp_path)).servers == ()


def test_nothing_of_a_plugin_that_nobody_approved_can_be_used(tmp_path: Path):
    paths = paths_of(tmp_path)
    write_plugin(tmp_path, "sales", {"slack": remote(_SLACK), "run": _PROGRAM})
    for entry in entries(paths).values():
        with pytest.raises(NeedsApprovalError) as caught:
            resolve(entry, {})
        assert caught.value.hint == "satchel plugins approve sales shows what it needs"
    # What came with the project can't approve itself: the record is elsewhere.
    assert not record_file(paths).is_relative_to(tmp_path)


def test_remote_servers_that_were_approved_count_and_changed_ones_do_not(tmp_path: Path):
    paths = paths_of(tmp_path)
    write_plugin(tmp_path, "sales", {"slack": remote(_SLACK), "run": _PROGRAM})
    trust(paths, "sales")
    known = entries(paths)
    assert resolve(known["sales:slack"], {}).url == _SLACK
    with pytest.raises(NeedsApprovalError, match="command line"):
        resolve(known["sales:run"], {})
    for changed in (remote("https://other.example/mcp"), remote(_SLACK, headers={"X": "1"})):
        write_plugin(tmp_path, "sales", {"slack": changed})
        with pytest.raises(NeedsApprovalError, match="address"):
            resolve(entries(paths)["sales:slack"], {})
    config = {"host": {"type": "string", "default": "mcp.example.com"}}
    asked = {"slack": remote("https://${user_config.host}/mcp")}
    write_plugin(tmp_path, "sales", asked, userConfig=config)
    trust(paths, "sales")
    assert resolve(entries(paths)["sales:slack"], {}).url == "https://mcp.example.com/mcp"
    write_plugin(tmp_path, "sales", asked, userConfig={"host": {"default": "evil.example"}})
    with pytest.raises(NeedsApprovalError, match="address"):
        resolve(entries(paths)["sales:slack"], {})


def test_a_program_is_started_as_it_was_approved_and_asks_again_when_it_changes(tmp_path: Path):
    paths = paths_of(tmp_path)
    folder = write_plugin(tmp_path, "sales", {"run": _PROGRAM})
    approve_all(paths, "sales")
    assert folder in read_configuration(paths).code({})
    target = resolve(entries(paths)["sales:run"], {})
    assert target.command == f"{folder}/run"
    assert target.cwd == folder
    assert target.data is not None
    assert target.args == ("--data", str(target.data))
    assert not target.data.is_relative_to(tmp_path)
    assert target.env["CLAUDE_PLUGIN_ROOT"] == target.env["PLUGIN_ROOT"] == str(folder)
    assert target.env["CLAUDE_PLUGIN_DATA"] == target.env["PLUGIN_DATA"] == str(target.data)
    changes: list[dict[str, Any]] = [
        {"args": ["--data", "${PLUGIN_DATA}", "-x"]},
        {"command": "sh"},
        {"env": {"NODE_OPTIONS": "--require=./x.js"}},
        {"cwd": ".."},
    ]
    for change in changes:
        write_plugin(tmp_path, "sales", {"run": {**_PROGRAM, **change}})
        with pytest.raises(NeedsApprovalError):
            resolve(entries(paths)["sales:run"], {})


def test_each_variable_is_approved_by_name_and_for_where_it_goes(tmp_path: Path):
    paths = paths_of(tmp_path)
    header = {"Authorization": "Bearer ${CRM_TOKEN}"}
    write_plugin(tmp_path, "sales", {"crm": remote(headers=header)})
    trust(paths, "sales")
    with pytest.raises(NeedsSetupError, match="CRM_TOKEN is not set"):
        resolve(entries(paths)["sales:crm"], {})
    environment = {"CRM_TOKEN": "secret", "OTHER": "more"}
    with pytest.raises(NeedsApprovalError, match="CRM_TOKEN"):
        resolve(entries(paths)["sales:crm"], environment)
    approve_all(paths, "sales")
    target = resolve(entries(paths)["sales:crm"], environment)
    assert target.headers == {"Authorization": "Bearer secret"}
    assert "secret" in target.secrets
    for changed in (
        remote(headers={**header, "X": "${OTHER}"}),
        remote("https://evil.example/mcp", headers=header),
        remote("https://mcp.example.com@evil.example/mcp", headers=header),
    ):
        write_plugin(tmp_path, "sales", {"crm": changed})
        with pytest.raises(NeedsApprovalError):
            resolve(entries(paths)["sales:crm"], environment)


def test_a_default_stands_in_and_values_are_never_looked_at_again(tmp_path: Path):
    paths = paths_of(tmp_path)
    config = {"region": {"type": "string", "default": "eu"}, "note": {"type": "string", "default": "${HOME}"}}
    headers = {"R": "${user_config.region}", "N": "${user_config.note}", "D": "${NOT_SET:-x}"}
    write_plugin(tmp_path, "sales", {"crm": remote(headers=headers)}, userConfig=config)
    trust(paths, "sales")
    target = resolve(entries(paths)["sales:crm"], {"HOME": "/home/me"})
    assert target.headers == {"R": "eu", "N": "${HOME}", "D": "x"}
    state = {"plugins": {"sales": {"config": {"region": "us"}}}}
    paths.extensions_file.write_text(json.dumps(state))
    with pytest.raises(NeedsApprovalError):  # a value may be what tells one server from another
        resolve(entries(paths)["sales:crm"], {})
    trust(paths, "sales")
    assert resolve(entries(paths)["sales:crm"], {"HOME": "/home/me"}).headers["R"] == "us"
    write_plugin(tmp_path, "sales", {"crm": remote(headers={"R": "${user_config.other}"})})
    trust(paths, "sales")
    with pytest.raises(NeedsSetupError, match=r"user_config\.other"):
        resolve(entries(paths)["sales:crm"], {})


def test_the_same_endpoint_is_one_server_and_the_plugin_known_first_names_it(tmp_path: Path):
    paths = paths_of(tmp_path)
    write_plugin(tmp_path, "alpha", {"slack": remote("https://MCP.slack.com:443/mcp/")})
    write_plugin(tmp_path, "beta", {"slack": remote(_SLACK)})
    write_plugin(tmp_path, "gamma", {"chat": remote(_SLACK), "slack": remote(f"{_SLACK}?x=1")})
    trust(paths, "beta", "gamma", "alpha")
    known = entries(paths)
    assert set(known) == {"beta:slack", "gamma:slack"}
    assert known["beta:slack"].aliases == ("gamma:chat", "alpha:slack")
    paths.extensions_file.write_text(json.dumps({"mcpServers": {"slack": remote(_SLACK)}}))
    known = entries(paths)
    assert set(known) == {"slack", "gamma:slack"}
    assert known["slack"].aliases == ("beta:slack", "gamma:chat", "alpha:slack")


def test_what_only_looks_like_an_endpoint_is_a_server_of_its_own(tmp_path: Path):
    paths = paths_of(tmp_path)
    write_plugin(tmp_path, "alpha", {"slack": remote(_SLACK)})
    others: list[dict[str, Any]] = [
        remote("http://mcp.slack.com/mcp"),
        remote("https://mcp.slack.com.evil.example/mcp"),
        remote("https://mcp.slack.com@evil.example/mcp"),
        remote("https://mcp.slack.com\\@evil.example/mcp"),
        remote("https://mcp.slack.com:8443/mcp"),
        remote("https://mcp.slac\u212a.com/mcp"),
        remote("https://mcp.slack.com./mcp"),
        remote("https://mcp.slack.com/MCP"),
        remote("https://mcp.slack.com/mcp#x"),
        remote(_SLACK, headers={"X": "1"}),
        remote(_SLACK, oauth={"clientId": "x"}),
        {"type": "sse", "url": _SLACK},
    ]
    write_plugin(tmp_path, "beta", {f"s{index}": other for index, other in enumerate(others)})
    trust(paths, "alpha", "beta")
    assert all(not entry.aliases for entry in entries(paths).values())
    assert len(entries(paths)) == len(others) + 1
    assert plain_address("HTTPS://Example.com:443/") == "https://example.com"


def test_the_same_command_with_a_different_environment_is_a_different_server(tmp_path: Path):
    paths = paths_of(tmp_path)
    command = {"command": "node", "args": ["server.js"]}
    write_plugin(tmp_path, "alpha", {"one": command, "two": {**command, "env": {"A": "1"}}, "three": command})
    write_plugin(tmp_path, "beta", {"one": {"command": "${CLAUDE_PLUGIN_ROOT}/x"}})
    write_plugin(tmp_path, "gamma", {"one": {"command": "${PLUGIN_ROOT}/x"}})
    approve_all(paths, "alpha", "beta", "gamma")
    known = entries(paths)
    assert set(known) == {"alpha:one", "alpha:two", "beta:one", "gamma:one"}
    assert known["alpha:one"].aliases == ("alpha:three",)


def test_the_same_command_for_a_file_of_its_own_is_a_different_server(tmp_path: Path):
    paths = paths_of(tmp_path)
    for name in ("alpha", "beta"):
        folder = write_plugin(tmp_path, name, {"own": {"command": "node", "args": ["server.js"]}})
        (folder / "server.js").touch()
    approve_all(paths, "alpha", "beta")
    assert set(entries(paths)) == {"alpha:own", "beta:own"}
    for name in ("alpha", "beta"):
        (tmp_path / "plugins/installed" / name / "server.js").unlink()
    approve_all(paths, "alpha", "beta")
    assert set(entries(paths)) == {"alpha:own"}


def test_an_entry_that_cannot_be_used_costs_only_itself(tmp_path: Path):
    paths = paths_of(tmp_path)
    odd: dict[str, Any] = {
        "empty": remote(""),
        "socket": {"type": "ws", "url": "wss://x.example"},
        "helper": remote(headersHelper="touch /tmp/marker"),
        "itself": {"command": "satchel", "args": ["serve"]},
        "python": {"command": "python", "args": ["-m", "satchel", "serve"]},
        "shell": {"command": "sh", "args": ["-c", "exec /usr/bin/satchel serve"]},
        "both": {"command": "x", "url": "https://x.example"},
        "wrong": {"command": 1},
        "nothing": {},
        "header": remote(headers={"a\nb": "c\r\nd"}),
        "plain": {"url": "https://x.example/mcp", "_docs": 1, "note": "x"},
        "folder": {"command": "x", "cwd": "~nobody-of-this-name/x"},
    }
    folder = write_plugin(tmp_path, "sales", odd, mcpServers="./server.mcpb")
    approve_all(paths, "sales")
    known = entries(paths)
    problems: dict[str, str] = {}
    for name, entry in known.items():
        try:
            resolve(entry, {})
        except NeedsSetupError as error:
            problems[name] = error.message
    assert set(known) - set(problems) == {"sales:plain", "sales:folder"}
    assert problems["sales:header"].startswith("sales:header: header a\ufffdb has a line break")
    assert "headersHelper" in problems["sales:helper"]
    assert "Satchel itself" in problems["sales:itself"]
    assert "Satchel itself" in problems["sales:python"]
    assert "Satchel itself" in problems["sales:shell"]
    assert ".mcpb" in problems["sales:server"]
    assert "ws" in problems["sales:socket"]
    for text in problems.values():
        assert str(folder) in text


def test_servers_are_listed_and_not_added_where_the_settings_say_so(tmp_path: Path):
    (tmp_path / "satchel.yaml").write_text("plugins: {auto_merge_mcp: false}\n")
    paths = paths_of(tmp_path)
    write_plugin(tmp_path, "sales", {"slack": remote(_SLACK)})
    trust(paths, "sales")
    assert entries(paths) == {}
    (plugin,) = read_plugins(paths, PluginsSettings())
    assert [server.name for server in plugin.servers] == ["slack"]


def test_a_disabled_plugin_has_no_servers_and_what_else_is_said_stays(tmp_path: Path):
    paths = paths_of(tmp_path)
    write_plugin(tmp_path, "sales", {"slack": remote(_SLACK)})
    trust(paths, "sales")
    paths.extensions_file.write_text(json.dumps({"odd": 1, "plugins": {"sales": {"mine": 2}}}))
    set_plugin_enabled(paths.extensions_file, "sales", enabled=False)
    assert entries(paths) == {}
    kept = json.loads(paths.extensions_file.read_text())
    assert kept == {"odd": 1, "plugins": {"sales": {"mine": 2, "enabled": False}}}
    set_plugin_enabled(paths.extensions_file, "sales", enabled=True)
    assert set(entries(paths)) == {"sales:slack"}


def test_a_server_that_is_switched_off_stays_so_by_every_name_and_no_different_one_does(tmp_path: Path):
    paths = paths_of(tmp_path)
    write_plugin(tmp_path, "alpha", {"slack": remote(_SLACK)})
    write_plugin(tmp_path, "beta", {"slack": remote(_SLACK)})
    trust(paths, "alpha", "beta")
    origin = entries(paths)["alpha:slack"].plugin
    assert origin is not None
    file = paths.extensions_file
    set_server_enabled(file, "alpha", "slack", origin.endpoint, enabled=False)
    assert [(entry.name, entry.enabled) for entry in entries(paths).values()] == [("alpha:slack", False)]
    set_plugin_enabled(file, "alpha", enabled=False)
    assert [(entry.name, entry.enabled) for entry in entries(paths).values()] == [("beta:slack", False)]
    set_plugin_enabled(file, "alpha", enabled=True)
    write_plugin(tmp_path, "alpha", {"slack": remote("https://mcp.different.example/mcp")})
    assert entries(paths)["alpha:slack"].enabled
    set_server_enabled(file, "beta", "slack", origin.endpoint, enabled=True)
    assert entries(paths)["beta:slack"].enabled


def test_the_users_entry_of_a_plugins_name_counts(tmp_path: Path):
    paths = paths_of(tmp_path)
    write_plugin(tmp_path, "sales", {"slack": remote(_SLACK)})
    trust(paths, "sales")
    own = {"mcpServers": {"sales:slack": remote("https://own.example/mcp")}}
    paths.extensions_file.write_text(json.dumps(own))
    assert [entry.url for entry in read_configuration(paths).servers] == ["https://own.example/mcp"]


def test_what_a_plugin_needs_is_listed_with_what_is_approved(tmp_path: Path):
    paths = paths_of(tmp_path)
    servers: dict[str, Any] = {
        "crm": remote(headers={"A": "${CRM_TOKEN}"}),
        "run": {"command": "node", "args": ["a b"], "env": {"TOKEN": "${TOKEN}"}},
        "empty": remote(""),
    }
    write_plugin(tmp_path, "sales", servers)
    (plugin,) = read_plugins(paths, PluginsSettings())
    needs = needs_of(plugin, paths)
    assert [(need.what, need.shown) for need in needs] == [
        ("remote", "https://mcp.example.com/mcp with A"),
        ("variable", "CRM_TOKEN, sent to mcp.example.com"),
        ("command", "TOKEN='${TOKEN}' node 'a b'"),
        ("variable", "TOKEN, given to the program"),
    ]
    assert not any(need.approved for need in needs)
    approve(paths, "sales", needs[:1])
    assert [need.approved for need in needs_of(plugin, paths)] == [True, False, False, False]
    approve(paths, "sales", needs[1:])
    assert all(need.approved for need in needs_of(plugin, paths))
    assert record_file(paths).stat().st_mode & 0o777 == 0o600
    update_record(paths, lambda record: record.without("sales"))
    assert read_record(paths).approved == {}


def test_what_is_wrong_with_each_of_many_entries_is_found_by_reading_their_file_once(tmp_path: Path):
    write_plugin(tmp_path, "sales", {f"s{number}": {"type": "ws", "url": "a"} for number in range(100)})
    before = lines_in_json.cache_info().misses
    found = entries(paths_of(tmp_path))
    assert len(found) == 100
    assert all(entry.problem is not None and entry.problem.line for entry in found.values())
    assert lines_in_json.cache_info().misses - before <= 1


def test_a_manifest_that_names_any_number_of_files_costs_each_call_little(tmp_path: Path):
    files = [f"./{number}.json" for number in range(5_000)]
    folder = write_plugin(tmp_path, "sales", mcpServers=files, skills=files)
    for name in ("0.json", "4999.json"):
        (folder / name).write_text(json.dumps({name: remote()}))
    assert set(entries(paths_of(tmp_path))) == {"sales:0.json"}
    configuration = read_configuration(paths_of(tmp_path))
    assert len(configuration._stamps) < 50  # pyright: ignore[reportPrivateUsage]
    (plugin,) = read_plugins(paths_of(tmp_path), PluginsSettings())
    assert sum("the others are not read" in remark.text for remark in plugin.remarks) == 1
    assert len(plugin.remarks) < 60
