"""Servers of plugins in use: called by every name, permitted, taken over, approved, refused."""

import json
import os
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from satchel import Satchel, open_satchel
from satchel.errors import NeedsApprovalError, NotAllowedError, ServerError
from satchel.model import Caller
from satchel.plugins import install_plugin_from_dir
from satchel.verbs.plugins.installing import PluginSources
from satchel.verbs.plugins.library import open_plugin_library
from tests.config.plugins.folders import approve_all, paths_of, remote, trust, write_plugin
from tests.projects import Project
from tests.servers import http_server, oauth_server, raw

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

_SPELLINGS = (
    "alpha:chat.add",
    "alpha_chat__add",
    "alpha_chat.add",
    "alpha-chat/add",
    "plugin:alpha:chat.add",
    "mcp__plugin_alpha_chat__add",
    "beta:talk and more.add",
    "beta_talk_and_more__add",
    "beta-talk-and-more.add",
    "mcp__plugin_beta_talk_and_more__add",
    "plugin:beta:talk and more.add",
)


@pytest.fixture
async def url() -> AsyncGenerator[str]:
    async with http_server() as url:
        yield url


def _two_plugins(project: Path, url: str) -> None:
    write_plugin(project, "alpha", {"chat": remote(url)})
    write_plugin(project, "beta", {"talk and more": remote(f"{url}/")})
    trust(paths_of(project), "alpha", "beta")


async def test_a_server_is_called_by_each_of_its_names_and_listed_once(tmp_path: Path, url: str) -> None:
    _two_plugins(tmp_path, url)
    async with open_satchel(tmp_path) as satchel:
        await satchel.servers.refresh()
        assert [server.name for server in satchel.catalog.servers] == ["alpha:chat"]
        assert satchel.catalog.tool_count == len(satchel.catalog.tools)
        for name in _SPELLINGS:
            result = await satchel.call(name, {"a": 1, "b": 2})
            assert result.structured == {"result": 3}, name
        wire = [name for tool in satchel.catalog.tools for name in tool.wire_names]
        assert all(len(name) <= 64 for name in wire)


@pytest.mark.parametrize("name", ["mcp__plugin_beta_talk_and_more__add", "beta:talk and more.add"])
async def test_only_the_server_that_a_name_means_is_listed_for_a_call(
    tmp_path: Path, url: str, name: str
) -> None:
    _two_plugins(tmp_path, url)
    log = tmp_path / "log"
    async with http_server(log=log) as other:
        write_plugin(tmp_path, "gamma", {"different": remote(other)})
        trust(paths_of(tmp_path), "gamma")
        async with open_satchel(tmp_path) as satchel:
            assert (await satchel.call(name, {"a": 1, "b": 2})).structured == {"result": 3}
    assert not log.exists()


@pytest.mark.parametrize("name", ["alpha:chat", "beta:talk and more"])
async def test_permissions_for_one_name_hold_for_all(tmp_path: Path, url: str, name: str) -> None:
    _two_plugins(tmp_path, url)
    agents = {
        "denied": {"deny": [f"{name}.add"]},
        "allowed": {"allow": [f"{name}.add"]},
        "other": {"allow": ["gamma:chat"]},
        "resources": {"deny": [f"{name}.resource:*"]},
    }
    settings = {"agents": agents, "read_only_tools": [f"{name}.add"], "in_context_tools": [f"{name}.add"]}
    (tmp_path / "satchel.yaml").write_text(json.dumps(settings))
    async with open_satchel(tmp_path) as satchel:
        await satchel.servers.refresh()
        for spelling in ("alpha_chat__add", "beta_talk_and_more__add"):
            for agent in ("denied", "other"):
                with pytest.raises(NotAllowedError):
                    await satchel.tools.call(spelling, {"a": 1, "b": 2}, caller=Caller(agent=agent))
            caller = Caller(agent="allowed", read_only=True)
            result = await satchel.tools.call(spelling, {"a": 1, "b": 2}, caller=caller)
            assert result.structured == {"result": 3}
            with pytest.raises(NotAllowedError):
                await satchel.tools.call(
                    spelling.replace("add", "echo"), {"text": "x"}, caller=Caller(agent="allowed")
                )
            skill = Caller(only=(f"mcp__plugin_{name.replace(':', '_').replace(' ', '_')}__add",))
            await satchel.tools.call(spelling, {"a": 1, "b": 2}, caller=skill)
        for server in ("alpha:chat", "beta:talk and more"):
            with pytest.raises(NotAllowedError):
                await satchel.resources.read(server, "memo://text", caller=Caller(agent="resources"))
            with pytest.raises(NotAllowedError):
                await satchel.resources.read(server, "memo://other", caller=Caller(agent="resources"))


async def test_the_next_plugin_takes_over_without_another_listing(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with http_server(log=log) as url:
        _two_plugins(tmp_path, url)
        write_plugin(tmp_path, "beta", {"talk and more": remote(url)})
        async with open_satchel(tmp_path) as satchel:
            await satchel.servers.refresh()
            listed = log.read_text().count("tools/list")
            write_state(tmp_path, {"alpha": {"enabled": False}})
            assert [server.name for server in satchel.servers.known().servers] == ["beta:talk and more"]
            assert satchel.catalog.server("beta:talk and more").state == "listed"
            assert log.read_text().count("tools/list") == listed
            result = await satchel.call("mcp__plugin_beta_talk_and_more__add", {"a": 1, "b": 2})
            assert result.structured == {"result": 3}
            write_state(tmp_path, {})
            assert [server.name for server in satchel.servers.known().servers] == ["alpha:chat"]


def write_state(project: Path, plugins: dict[str, Any]) -> None:
    (project / "extensions_config.json").write_text(json.dumps({"plugins": plugins}))


async def test_wire_names_stay_when_plugins_come_and_go(tmp_path: Path, url: str) -> None:
    _two_plugins(tmp_path, url)

    async def names(satchel: Satchel) -> set[str]:
        await satchel.servers.refresh()
        return {tool.wire_name for tool in satchel.catalog.tools}

    async with open_satchel(tmp_path) as satchel:
        before = await names(satchel)
        write_plugin(tmp_path, "aaa", {"chat": remote(url)})
        trust(paths_of(tmp_path), "aaa")
        assert await names(satchel) == before
        write_state(tmp_path, {"beta": {"enabled": False}, "aaa": {"enabled": False}})
        assert await names(satchel) == before


async def test_a_failure_is_told_by_the_name_that_counts_now(tmp_path: Path) -> None:
    url = "http://127.0.0.1:9/mcp"
    _two_plugins(tmp_path, url)
    write_plugin(tmp_path, "beta", {"talk and more": remote(url)})
    async with open_satchel(tmp_path) as satchel:
        await satchel.servers.list_new(30)
    write_state(tmp_path, {"alpha": {"enabled": False}})
    async with open_satchel(tmp_path) as satchel:
        (server,) = satchel.servers.now().servers
        assert (server.error or "").startswith(f"beta:talk and more: {url}")
        assert "alpha" not in json.dumps(satchel.list_servers())
        assert "satchel doctor 'beta:talk and more' tells more" in json.dumps(satchel.list_servers())


async def test_a_login_that_is_wanted_is_not_asked_for_twice(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with http_server(log=log, token="secret") as url:
        _two_plugins(tmp_path, url)
        for _ in range(2):
            async with open_satchel(tmp_path) as satchel:
                await satchel.servers.list_new(30)
                (server,) = satchel.servers.now().servers
                assert server.state == "needs authorization"
        (failure,) = Path.home().rglob("*.failure.json")
        row = json.loads(failure.read_text())
        failure.write_text(json.dumps({**row, "at": "2020-01-01T00:00:00+00:00"}))
        async with open_satchel(tmp_path) as satchel:
            assert satchel.catalog.servers[0].state == "needs authorization"


async def test_a_program_of_a_plugin_starts_only_after_approval(tmp_path: Path) -> None:
    log = tmp_path / "log"
    entry = raw("good", log=log)
    write_plugin(tmp_path, "alpha", {"run": {**entry, "env": {"MARK": "${CLAUDE_PLUGIN_ROOT}"}}})
    trust(paths_of(tmp_path), "alpha")
    async with open_satchel(tmp_path) as satchel:
        await satchel.servers.refresh()
        server = satchel.catalog.server("alpha:run")
        assert (server.state, log.exists()) == ("needs approval", False)
        listed = satchel.list_servers()["servers"][0]
        assert "satchel plugins approve alpha" in listed["reason"]
        assert str(tmp_path) not in json.dumps(listed)
        approve_all(paths_of(tmp_path), "alpha")
        result = await satchel.call("alpha:run.add", {"a": 1, "b": 2})
        assert result.structured == {"sum": 3}
        changed = {**entry, "args": [*entry["args"], "more=1"]}
        write_plugin(tmp_path, "alpha", {"run": changed})
        with pytest.raises(NeedsApprovalError):
            await satchel.call("alpha:run.add", {"a": 1, "b": 2})


_SERVER = """
from mcp.server import MCPServer

server = MCPServer("numbers")


@server.tool()
def {tool}() -> str:
    "{about}"
    return "{tool}"


server.run()
"""


async def test_an_updated_program_takes_the_place_of_the_one_that_runs(tmp_path: Path) -> None:
    """The entry is the same as before, and so is the command line that a person approved."""
    project, source = tmp_path / "project", tmp_path / "numbers"
    (project).mkdir()

    def write(tool: str, about: str) -> Path:
        (source / "skills").mkdir(parents=True, exist_ok=True)
        program = {"command": sys.executable, "args": ["${CLAUDE_PLUGIN_ROOT}/server.py"]}
        (source / ".mcp.json").write_text(json.dumps({"run": program}))
        (source / "server.py").write_text(_SERVER.format(tool=tool, about=about))
        return source

    install_plugin_from_dir(write("one", "Counts."), project)
    approve_all(paths_of(project), "numbers")
    async with open_satchel(project) as satchel:
        assert (await satchel.call("numbers:run.one")).structured == {"result": "one"}
        write("one", "Counts on.")
        with PluginSources(library=open_plugin_library(project)).updated("numbers") as proposal:
            proposal.go_on()
        await satchel.servers.list_new(60)
        (change,) = satchel.catalog.server("numbers:run").changes
        assert (change.tool, change.fields) == ("one", ("description",))

        write("two", "Counts.")
        with PluginSources(library=open_plugin_library(project)).updated("numbers") as proposal:
            proposal.go_on()
        assert (await satchel.call("numbers:run.two")).structured == {"result": "two"}
        assert [tool.name for tool in satchel.catalog.tools] == ["two"]


async def test_nothing_of_a_plugin_that_nobody_approved_is_contacted(tmp_path: Path) -> None:
    log = tmp_path / "log"
    marker = tmp_path / "marker"
    async with http_server(log=log) as url:
        shell = {"command": sys.executable, "args": ["-c", f"open({str(marker)!r}, 'w')"]}
        write_plugin(
            tmp_path, "alpha", {"chat": remote(url), "run": shell, "helper": remote(url, headersHelper="x")}
        )
        async with open_satchel(tmp_path) as satchel:
            await satchel.servers.refresh()
            await satchel.servers.list_new(1, ["alpha:chat"])
            with pytest.raises(ServerError):
                await satchel.call("alpha:chat.add", {"a": 1, "b": 2})
            states = {server.name: server.state for server in satchel.servers.now().servers}
    assert states == dict.fromkeys(("alpha:chat", "alpha:run"), "needs approval") | {
        "alpha:helper": "needs setup"
    }
    assert not log.exists()
    assert not marker.exists()


async def test_a_connection_ends_when_its_plugin_is_not_approved_any_more(tmp_path: Path, url: str) -> None:
    from satchel.config.plugins.record import Record, update_record

    write_plugin(tmp_path, "alpha", {"chat": remote(url)})
    trust(paths_of(tmp_path), "alpha")
    async with open_satchel(tmp_path) as satchel:
        await satchel.call("alpha:chat.add", {"a": 1, "b": 2})
        update_record(paths_of(tmp_path), lambda record: Record())
        with pytest.raises(NeedsApprovalError):
            await satchel.call("alpha:chat.add", {"a": 1, "b": 2})


@pytest.mark.slow
async def test_one_login_is_for_all_names(tmp_path: Path) -> None:
    from satchel.upstream.credentials import Credentials

    async with oauth_server() as url:
        _two_plugins(tmp_path, url)
        paths = paths_of(tmp_path)
        async with open_satchel(tmp_path) as satchel:
            first, second = ("alpha:chat", "beta:talk and more")
            entries = {entry.name: entry for entry in satchel.configuration.servers}
            assert entries[first].aliases == (second,)
            store = Credentials(paths.credentials, entries[first].url)
            store.save(tokens={"access_token": "x"})
            write_state(tmp_path, {"alpha": {"enabled": False}})
            satchel.servers.known()
            (entry,) = satchel.configuration.servers
            assert entry.name == second
            assert Credentials(paths.credentials, entry.url.rstrip("/")).load() == store.load()


_PROGRAMS = {
    "python": """
from servers.alpha_chat import add
from servers.beta_talk_and_more import add as same, echo
from servers import beta_talk_and_more
from servers.beta_talk_and_more.add import add as third
result = [await add(a=1, b=2), await same(a=2, b=2), await beta_talk_and_more.add(a=3, b=2)]
result.append(await third(a=4, b=2))
""",
    "typescript": """
import { add } from "./servers/alpha-chat";
import { add as same } from "./servers/beta-talk-and-more";
export const result = [await add({ a: 1, b: 2 }), await same({ a: 2, b: 2 })];
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("language", _PROGRAMS)
async def test_programs_import_a_server_by_each_of_its_names(tmp_path: Path, url: str, language: str) -> None:
    _two_plugins(tmp_path, url)
    async with open_satchel(tmp_path, environment={**os.environ}) as satchel:
        execution = await satchel.execute(_PROGRAMS[language], language=language)
    assert execution.stderr == ""
    assert execution.result == [3, 4, 5, 6][: 4 if language == "python" else 2]


def test_servers_of_plugins_are_enabled_and_disabled_like_others(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", {})
    write_plugin(project.directory, "alpha", {"chat": remote()})
    write_plugin(project.directory, "beta", {"chat": remote()})
    trust(paths_of(project.directory), "alpha", "beta")
    assert project.run("disable", "beta:chat").code == 0
    assert json.loads(project.run("list", "--json").out)["servers"][0]["state"] == "disabled"
    assert project.run("enable", "alpha:chat").code == 0
    outcome = project.run("remove", "alpha:chat")
    assert outcome.code == 2
    assert "satchel plugins remove alpha" in outcome.err
