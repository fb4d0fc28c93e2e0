"""Configured servers that can't be used: every surface names them first, with the same reason.

One project has a real server in each state; `git` works, and looks like an answer to much that is asked.
"""

import os
import shlex
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import dedent
from typing import Any

import anyio
import pytest

from satchel import Satchel, open_satchel
from satchel.catalog import Snapshot
from satchel.codegen.places import about
from satchel.config.agents import AgentSettings
from satchel.context.lists import servers_as_text, tools_as_text
from satchel.model import Caller, Execution, ExecutionRequest, Json, Server
from satchel.names import assign_servers
from satchel.search.tool_index import ToolIndex
from satchel.toolset import Toolset
from satchel.verbs.server_rows import list_servers
from satchel.verbs.tool_rows import ToolRows
from satchel.verbs.tool_search import search_tools
from tests.codegen.helpers import make_server
from tests.projects import Project
from tests.servers import http_server, raw

pytestmark = pytest.mark.anyio

WAIT = 90  # seconds; only a hang reaches it
SETUP = "needs setup (UNSET_TOKEN is not set)"
CRASHED = "failed when last asked (exited with code 3: RuntimeError: DATABASE_URL is not set)"


@dataclass(frozen=True, kw_only=True)
class Case:
    """A server that can't be used; `is_known` is whether it was listed before. `spelled` names it too."""

    name: str
    state: str
    why: str
    step: str
    is_known: bool = False
    spelled: str = ""

    @property
    def sentence(self) -> str:
        so = "can't be used now" if self.is_known else "has no tools"
        return f"{self.name} {so}: it {self.why}; satchel {self.step}"

    @property
    def shows_tools(self) -> bool:
        return self.is_known and self.state != "disabled"


CASES = (
    Case(name="git-hub", state="needs setup", why=SETUP, step="doctor git-hub tells more", spelled="Git Hub"),
    Case(name="chat", state="needs setup", why=SETUP, step="doctor chat tells more", is_known=True),
    Case(name="crm", state="needs authorization", why="needs a login", step="auth crm logs in"),
    Case(
        name="google-drive",
        state="needs authorization",
        why="needs a login",
        step="auth google-drive logs in",
        is_known=True,
        spelled="google drive",
    ),
    Case(name="data", state="failed", why=CRASHED, step="doctor data tells more"),
    Case(name="notes", state="failed", why=CRASHED, step="doctor notes tells more", is_known=True),
    Case(name="off", state="disabled", why="is disabled", step="enable off enables it", is_known=True),
)
UNKNOWN = [case for case in CASES if not case.shows_tools]
KNOWN = [case for case in CASES if case.shows_tools]
each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name}: {case.state}")


class Place:
    """The project, with servers in each state, and its environment."""

    def __init__(self, directory: Path, url: str, login_url: str, script: Path) -> None:
        needs_variable = {"env": {"TOKEN": "${UNSET_TOKEN}"}}
        self.environment = {"HOME": str(directory / "home"), "UNSET_TOKEN": "set while it is prepared"}
        self.servers: dict[str, Json] = {
            "git": raw("good"),
            "chat": raw("good") | needs_variable,
            "google-drive": {"url": url},
            "notes": {"command": "sh", "args": [str(script)]},
            "off": raw("good"),
        }
        self.others: dict[str, Json] = {
            "git-hub": raw("named") | needs_variable | {"description": "Issues and pull requests"},
            "crm": {"url": login_url},
            "data": raw("crash_start"),
        }
        self.project = Project(directory / "project", self.servers)

    def run(self, *arguments: str) -> str:
        outcome = self.project.run(*arguments, environment=self.environment)
        assert "Traceback" not in outcome.err
        return outcome.out

    @property
    def whole_environment(self) -> Mapping[str, str]:
        return {**os.environ, **self.environment}


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


def write_script(file: Path, behaviour: str) -> Path:
    """What starts a server of tests: the same entry can work at first, and fail later."""
    server = raw(behaviour)
    file.write_text(f"exec {shlex.join([server['command'], *server['args']])}\n")
    return file


@pytest.fixture(scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Place]:
    directory = tmp_path_factory.mktemp("unusable")
    script = write_script(directory / "server", "good")
    async with http_server(token="secret") as login_url:
        async with http_server() as url:
            place = Place(directory, url, login_url, script)
            await anyio.to_thread.run_sync(place.run, "refresh")
        del place.environment["UNSET_TOKEN"]
        write_script(script, "crash_start")
        place.servers["off"] |= {"enabled": False}
        place.project.write(place.servers | place.others)
        port = url.split(":")[2].split("/")[0]
        async with http_server(token="secret", port=port):  # the same server, which now wants a login
            await anyio.to_thread.run_sync(place.run, "refresh")
            yield place


@pytest.fixture(scope="module")
async def satchel(place: Place) -> AsyncGenerator[Satchel]:
    async with open_satchel(place.project.directory, environment=place.whole_environment) as satchel:
        yield satchel


async def tell(satchel: Satchel, tool: str, **arguments: Any) -> tuple[str, Json]:
    with anyio.fail_after(WAIT):
        result = await Toolset(satchel, mode="code").call(tool, arguments)
    return result.text, result.structured


async def run(satchel: Satchel, code: str, language: str = "python") -> Execution:
    request = ExecutionRequest(code=dedent(code), language=language)
    with anyio.fail_after(WAIT):
        return await satchel.executions.run(request, Caller(agent="default"))


# Searches and lists


@pytest.mark.slow
@each_case
async def test_a_command_says_first_why_the_server_can_not_be_used(place: Place, case: Case) -> None:
    for arguments in ([case.name], [case.spelled or case.name.upper()], ["--server", case.name]):
        lines = place.run("search", *arguments).splitlines()
        assert lines[0] == case.sentence
        tools = lines[1:]
        assert bool(tools) == case.shows_tools
        assert all(line.startswith(f"{case.name}.") and f"({case.state})" in line for line in tools), tools


@pytest.mark.slow
@each_case
async def test_a_model_that_searches_is_told_the_same(satchel: Satchel, case: Case) -> None:
    for arguments in ({"query": case.name}, {"query": "", "server": case.name}):
        text, answer = await tell(satchel, "search_tools", **arguments)
        assert text.splitlines()[0] == case.sentence
        assert [(row["server"], row["state"]) for row in answer["unusable"]] == [(case.name, case.state)]
        assert {row["server"] for row in answer["tools"]} == ({case.name} if case.shows_tools else set())
        for row in answer["tools"]:
            assert row["server_state"] == case.state
            assert row["reason"] == f"{case.why}; satchel {case.step}"


@pytest.mark.slow
@each_case
async def test_a_selection_says_it_too(satchel: Satchel, case: Case) -> None:
    text, answer = await tell(satchel, "search_tools", query=f"select:{case.name}.echo")
    assert case.sentence in text
    assert [row["short_name"] for row in answer["tools"]] == (["echo"] if case.shows_tools else [])
    assert "did you mean" not in text


@pytest.mark.slow
async def test_the_list_of_servers_has_a_reason_for_each(satchel: Satchel) -> None:
    text, answer = await tell(satchel, "list_servers")
    rows = {row["name"]: row for row in answer["servers"]}
    assert "reason" not in rows["git"]
    for case in CASES:
        assert (rows[case.name]["state"], rows[case.name]["reason"]) == (
            case.state,
            f"{case.why}; satchel {case.step}",
        )
        assert f"; it {case.why}; satchel {case.step}" in text


# Programs


@pytest.mark.slow
async def test_a_program_that_asks_or_calls_is_told_why(satchel: Satchel) -> None:
    names = [case.name for case in CASES]
    execution = await run(
        satchel,
        f"""
        from satchel_runtime import ToolError, call_mcp_tool, list_servers, search_tools
        rows = {{row["name"]: row for row in (await list_servers())["servers"]}}
        result = {{}}
        for name in {names}:
            try:
                await call_mcp_tool(name.replace("-", "_") + "__echo", {{"text": "x"}})
            except ToolError as error:
                called = str(error)
            result[name] = (await search_tools(name))["unusable"][0]["note"], rows[name]["reason"], called
        """,
    )
    assert execution.exit_code == 0, execution.stderr
    for case in CASES:
        searched, listed, called = execution.result[case.name]
        assert searched == case.sentence
        assert listed == f"{case.why}; satchel {case.step}"
        assert case.why in called
        assert "did you mean" not in called
        assert str(Path.home()) not in called


@pytest.mark.slow
@pytest.mark.parametrize("language", ["python", "typescript"])
async def test_an_import_of_a_server_that_can_not_be_used_says_why(satchel: Satchel, language: str) -> None:
    for case in UNKNOWN:
        code = f"from servers.{case.name.replace('-', '_')} import echo"
        if language == "typescript":
            code = f"import {{ echo }} from './servers/{case.name}'; console.log(echo)"
        execution = await run(satchel, code, language)
        assert execution.exit_code == 1
        assert execution.stderr.splitlines()[-1] == f"hint: {case.sentence}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "begins", "ends"),
    [
        ("from servers import git_hub", "git-hub has no tools", "tells more"),
        ("import servers.git_hub.create_issue", "git-hub has no tools", "tells more"),
        ("import servers.git_hubb", "did you mean servers.git_hub", CASES[0].sentence),
        ("import servers.gitt", "did you mean servers.git or", "servers.git_hub?"),
    ],
)
async def test_every_way_to_import_it_says_why(satchel: Satchel, code: str, begins: str, ends: str) -> None:
    hint = (await run(satchel, code)).stderr.splitlines()[-1]
    assert hint.startswith(f"hint: {begins}")
    assert hint.endswith(ends)


@pytest.mark.slow
async def test_the_wrappers_last_known_are_there_and_say_why_when_they_are_called(satchel: Satchel) -> None:
    for language, code in (
        (
            "python",
            """
            from importlib import import_module
            from satchel_runtime import ToolError
            result = {}
            for name in NAMES:
                try:
                    await import_module("servers." + name.replace("-", "_")).echo(text="x")
                except ToolError as error:
                    result[name] = str(error)
            """,
        ),
        (
            "typescript",
            """
            const found: Record<string, string> = {};
            for (const name of NAMES) {
              const { echo } = await import(`./servers/${name}/index.ts`);
              await echo({ text: "x" }).catch((error: Error) => found[name] = error.message);
            }
            export const result = found;
            """,
        ),
    ):
        named = code.replace("NAMES", str([case.name for case in KNOWN]))
        execution = await run(satchel, named, language)
        assert execution.exit_code == 0, execution.stderr
        for case in KNOWN:
            assert case.why in execution.result[case.name]


@pytest.mark.slow
async def test_a_server_that_nobody_has_listed_yet_is_found_by_its_name(tmp_path: Path) -> None:
    project = Project(tmp_path / "project", {"fresh": raw("hang") | {"description": "Weather forecasts"}})
    environment = {**os.environ, "HOME": str(tmp_path)}
    sentence = "fresh has no tools: it has not been listed yet; satchel refresh fresh lists it"
    async with open_satchel(project.directory, environment=environment) as satchel:
        for query in ("fresh", "get the weather forecast"):
            assert satchel.search_tools(query)["unusable"][0]["note"] == sentence
        assert satchel.list_servers()["servers"][0]["reason"] in sentence
        toolset = Toolset(satchel, mode="code", patience=0.1)
        result = await toolset.call("search_tools", {"query": "forecasts"})
        assert result.text.splitlines()[0] == sentence
        assert "still being listed, search again in a moment: fresh" in result.text
        request = ExecutionRequest(code="import servers.fresh_")
        execution = await satchel.executions.run(request, Caller(agent="default"), patience=0.1)
        assert f"{sentence}\n" in execution.stderr


@pytest.mark.slow
async def test_what_a_call_finds_out_is_told_by_searches_at_once(tmp_path: Path) -> None:
    script = write_script(tmp_path / "server", "good")
    project = Project(tmp_path / "project", {"notes": {"command": "sh", "args": [str(script)]}})
    environment = {**os.environ, "HOME": str(tmp_path)}
    assert project.run("refresh", environment=environment).code == 0
    write_script(script, "crash_start")
    async with open_satchel(project.directory, environment=environment) as satchel:
        assert "unusable" not in satchel.search_tools("echo")
        with pytest.raises(Exception, match="exited with code 3"):
            await satchel.call("notes.echo", {"text": "x"})
        answer = satchel.search_tools("echo")
        assert answer["unusable"][0]["note"].startswith("notes can't be used now: it failed when last asked")
        assert answer["tools"][0]["server_state"] == "failed"
        assert satchel.search_tools("echo")["tools"] == answer["tools"]


# What a query is about


class Shelf:
    """Servers in made-up states, and somebody who searches in them."""

    def __init__(self, cache: Path, servers: Mapping[str, Mapping[str, Any]]) -> None:
        spellings = assign_servers(servers)
        made: list[Server] = []
        for name, keys in servers.items():
            tools = [{"name": tool, "description": text} for tool, text in keys.get("tools", {}).items()]
            server = make_server(name, tools, spelling=spellings[name])
            state = {key: value for key, value in keys.items() if key != "tools"}
            made.append(replace(server, **state))
        self.snapshot = Snapshot(tuple(made))
        self.index = ToolIndex(cache, about)

    def search(self, query: str, **options: Any) -> Json:
        rows = ToolRows(self.snapshot, "python", AgentSettings())
        return search_tools(self.index, rows, query, **options)

    def told(self, query: str) -> list[str]:
        return [row["server"] for row in self.search(query).get("unusable", ())]


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(
        tmp_path,
        {
            "git": {"tools": {"git_show": "Show a commit", "git_log": "List the commits"}},
            "GitHub": {"state": "needs setup", "description": "Issues, pull requests and releases"},
            "sales-force": {"state": "failed", "description": "Accounts and deals of the sales team"},
            "gitlab": {
                "state": "needs authorization",
                "tools": {"create_merge_request": "Create a merge request"},
            },
        },
    )


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("github", ["GitHub"]),
        ("create an issue on GitHub", ["GitHub"]),
        ("git-hub: releases", ["GitHub"]),
        ("salesforce contacts", ["sales-force"]),
        ("Sales Force", ["sales-force"]),
        ("list my pull requests", ["GitHub"]),
        ("find a deal", ["sales-force"]),
        ("create a merge request", ["gitlab", "GitHub"]),
        ("show a commit", []),
        ("list", []),
        ("weather in Paris", []),
    ],
)
def test_a_query_is_about_servers_that_it_names_finds_or_describes(
    shelf: Shelf, query: str, told: list[str]
) -> None:
    found = shelf.told(query)
    assert set(told) <= set(found)
    assert set(found) - set(told) <= {"gitlab"}  # whose tool may be among those that are near


def test_a_name_alone_brings_no_tools_of_other_servers(shelf: Shelf) -> None:
    assert shelf.search("github")["tools"] == []
    assert "closest" not in shelf.search("github")
    assert [row["short_name"] for row in shelf.search("gitlab")["tools"]] == ["create_merge_request"]
    text = tools_as_text(shelf.search("gitlab"))
    assert text.splitlines() == [
        "gitlab can't be used now: it needs a login; satchel auth gitlab logs in",
        "gitlab.create_merge_request: Create a merge request (needs authorization)",
    ]


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("slack", ["sales:slack"]),
        ("post a message to slack", ["sales:slack"]),
        ("Google Calendar", ["sales:google calendar"]),
        ("sales", ["sales:slack", "sales:google calendar"]),
        ("show a commit of sales", []),
    ],
)
def test_a_server_of_a_plugin_is_meant_by_its_own_name_and_by_the_plugins_alone(
    tmp_path: Path, query: str, told: list[str]
) -> None:
    waiting = {"state": "needs approval"}
    git = {"tools": {"git_show": "Show a commit"}}
    servers = {"git": git, "sales:slack": waiting, "sales:google calendar": waiting}
    assert Shelf(tmp_path, servers).told(query) == told


def test_however_many_servers_can_not_be_used_little_is_said_of_them(tmp_path: Path) -> None:
    reason = "exited with code 1: " + "very long\n" * 100
    states: dict[str, dict[str, Any]] = {
        f"server-{number}": {"state": "failed", "reason": reason, "description": "Everything"}
        for number in range(300)
    }
    shelf = Shelf(tmp_path, states)
    every = " ".join(states)
    assert len(shelf.search(every)["unusable"]) == 5
    assert len(tools_as_text(shelf.search(every))) < 2500
    answer = list_servers(shelf.snapshot.servers)
    assert answer["unusable_count"] == 300
    text = servers_as_text(answer)
    assert "can't be used: server-0 failed when last asked (exited with code 1" in text
    assert "can't be used: 270 more" in text
    assert len(text) < 12_000
