"""Connections: shared, lazy, restarted, stopped; each fault stays with its own server."""

import os
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import anyio
import pytest

from satchel.config.settings import ServersSettings
from satchel.errors import (
    NeedsSetupError,
    NotFoundError,
    ServerError,
    ServerFailedError,
    ToolError,
)
from satchel.model import Listing, Progress
from satchel.upstream import slot
from satchel.upstream.pool import open_pool
from tests.servers import raw
from tests.upstream.helpers import (
    QUICK,
    alive,
    call,
    entry,
    lines,
    prompting,
    reading,
    see_that_none_is_left,
    until,
)

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def no_child_is_left() -> Generator[None]:
    yield
    see_that_none_is_left()


async def test_a_server_is_started_by_its_first_call_and_then_shared(tmp_path: Path) -> None:
    log = tmp_path / "log"
    server = entry("good", raw("good", log=log), tmp_path)
    async with open_pool(QUICK) as pool:
        assert lines(log) == []
        for text in ("a", "b"):
            result = await pool.send(server, call("good", "echo", {"text": text}))
            assert result.structured == {"text": text}
    assert lines(log).count("start") == 1


@pytest.mark.parametrize("era", ["legacy", "modern", "both"])
async def test_both_protocol_eras_list_and_call(tmp_path: Path, era: str) -> None:
    server = entry("good", raw("good", era=era), tmp_path)
    async with open_pool(QUICK) as pool:
        listing = await pool.list_server(server)
        result = await pool.send(server, call("good", "add", {"a": 2, "b": 3}))
    assert "echo" in {tool["name"] for tool in listing.tools}
    assert (listing.protocol_version >= "2026") == (era != "legacy")
    assert result.structured == {"sum": 5}


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
async def test_every_older_version_is_spoken(tmp_path: Path, version: str) -> None:
    server = entry("old", raw("good", version=version), tmp_path)
    async with open_pool(QUICK) as pool:
        assert (await pool.list_server(server)).protocol_version == version
        assert (await pool.send(server, call("old", "echo", {"text": "x"}))).text == "x"


async def test_a_server_known_to_be_old_is_not_asked_the_new_question(tmp_path: Path) -> None:
    log = tmp_path / "log"
    server = entry("old", raw("good", log=log), tmp_path)
    async with open_pool(QUICK, is_legacy=lambda entry: True) as pool:
        await pool.list_server(server)
    assert "server/discover" not in lines(log)


async def test_a_server_that_has_become_modern_since_is_still_reached(tmp_path: Path) -> None:
    server = entry("new", raw("good", era="modern"), tmp_path)
    async with open_pool(QUICK, is_legacy=lambda entry: True) as pool:
        assert (await pool.list_server(server)).protocol_version == "2026-07-28"


@pytest.mark.slow
async def test_an_old_server_that_breaks_on_the_new_question_is_started_again_the_old_way(
    tmp_path: Path,
) -> None:
    log = tmp_path / "log"
    server = entry("silent", raw("silent_discover", log=log), tmp_path, startup_timeout=9)
    async with open_pool(QUICK) as pool:
        assert len((await pool.list_server(server)).tools) > 0
    assert lines(log).count("start") == 2


@pytest.mark.parametrize(("timeout", "second"), [(3, 1), (30, 10), (300, 10)])
def test_a_server_that_hangs_gets_one_whole_time_to_start_and_not_two(timeout: float, second: float) -> None:
    assert slot.second_time(timeout) == second


@pytest.mark.slow
async def test_faulty_servers_do_not_touch_the_others(tmp_path: Path) -> None:
    """Every fault at once, and in the middle of it a good server that answers as if alone."""
    behaviours = [
        "hang",
        "crash_start",
        "mcp_version_crash",
        "flood_stderr",
        "flood_stdout",
        "chatty_stdout",
        "odd_tools",
        "many_tools",
        "endless_pages",
        "looping_cursor",
        "wrong_version",
        "no_capabilities",
        "stubborn",
    ]
    outcomes: dict[str, Listing | ServerError] = {}
    good = entry("good", raw("good"), tmp_path)
    async with open_pool(ServersSettings(startup_timeout=12, timeout=30)) as pool:

        async def list_one(behaviour: str) -> None:
            try:
                outcomes[behaviour] = await pool.list_server(entry(behaviour, raw(behaviour), tmp_path))
            except ServerError as error:
                outcomes[behaviour] = error

        async with anyio.create_task_group() as tasks:
            for behaviour in behaviours:
                tasks.start_soon(list_one, behaviour)
            for number in range(50):
                result = await pool.send(good, call("good", "echo", {"text": str(number)}))
                assert result.text == str(number)
    failed = {
        name: type(outcome).__name__ for name, outcome in outcomes.items() if isinstance(outcome, ServerError)
    }
    assert set(failed) == {"hang", "crash_start", "mcp_version_crash", "flood_stdout", "wrong_version"}
    many = outcomes["many_tools"]
    assert isinstance(many, Listing)
    assert len(many.tools) == 5000


async def test_one_odd_tool_does_not_lose_the_others_and_is_reported(tmp_path: Path) -> None:
    async with open_pool(QUICK) as pool:
        listing = await pool.list_server(entry("odd", raw("odd_tools"), tmp_path))
    names = [tool["name"] for tool in listing.tools]
    assert "good" in names
    assert len(names) == len(set(names)) >= 8
    assert all(isinstance(tool["inputSchema"], dict) for tool in listing.tools)
    reports = "\n".join(listing.problems)
    assert "has no name" in reports
    assert "inputSchema is missing" in reports
    assert "listed twice" in reports


@pytest.mark.slow
async def test_endless_and_circular_lists_end(tmp_path: Path) -> None:
    async with open_pool(QUICK) as pool:
        endless = await pool.list_server(entry("endless", raw("endless_pages"), tmp_path))
        circular = await pool.list_server(entry("circular", raw("looping_cursor"), tmp_path))
    assert "the rest is left out" in endless.problems[0]
    assert "same page" in circular.problems[0]


async def test_log_lines_on_stdout_are_survived_and_reported(tmp_path: Path) -> None:
    server = entry("chatty", raw("chatty_stdout"), tmp_path)
    async with open_pool(QUICK) as pool:
        listing = await pool.list_server(server)
        assert (await pool.send(server, call("chatty", "echo", {"text": "x"}))).text == "x"
    assert "to stdout that are not messages" in listing.problems[-1]


async def test_a_crash_at_start_shows_exit_code_and_last_stderr_lines(tmp_path: Path) -> None:
    async with open_pool(QUICK) as pool:
        with pytest.raises(ServerFailedError) as caught:
            await pool.list_server(entry("broken", raw("crash_start"), tmp_path))
    assert "exited with code 3" in caught.value.message
    assert caught.value.stderr[-1] == "RuntimeError: DATABASE_URL is not set"


@pytest.mark.parametrize("variant", ["attribute", "module", "renamed"])
async def test_a_server_written_for_the_old_sdk_is_told_how_to_run(tmp_path: Path, variant: str) -> None:
    async with open_pool(QUICK) as pool:
        with pytest.raises(ServerFailedError) as caught:
            await pool.list_server(entry("old", raw("mcp_version_crash", variant=variant), tmp_path))
    assert "mcp<2" in (caught.value.hint or "")


@pytest.mark.parametrize(("module", "named"), [("mcp", sys.executable), ("flask", "")])
async def test_a_server_whose_python_lacks_a_package_is_told_so_and_which_one_has_it(
    tmp_path: Path, module: str, named: str
) -> None:
    code = f"raise ModuleNotFoundError(\"No module named '{module}'\")"
    async with open_pool(QUICK) as pool:
        with pytest.raises(ServerFailedError) as caught:
            await pool.list_server(entry("bare", {"command": sys.executable, "args": ["-c", code]}, tmp_path))
    hint = caught.value.hint or ""
    assert hint.startswith(f"the Python that starts it has no '{module}'")
    assert hint.endswith(named or "into command")


async def test_the_secrets_of_an_entry_do_not_show_in_its_stderr(tmp_path: Path) -> None:
    code = "import os, sys; sys.stderr.write('token ' + os.environ['API_TOKEN'] + '\\n'); sys.exit(1)"
    written = {"command": sys.executable, "args": ["-c", code], "env": {"API_TOKEN": "${CANARY}"}}
    async with open_pool(QUICK, environment={**os.environ, "CANARY": "s3cret-value"}) as pool:
        with pytest.raises(ServerFailedError) as caught:
            await pool.list_server(entry("leaky", written, tmp_path))
    assert caught.value.stderr == ("token ***",)
    assert "s3cret" not in caught.value.message


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"command": "no-such-command-anywhere"}, "not on the PATH"),
        ({"command": "./no-such-file"}, "was not found"),
        ({"command": sys.executable, "cwd": "no-such-directory"}, "working directory"),
        ({"command": __file__}, "can't be executed"),
        ({"command": "x", "args": ["${NOT_SET_ANYWHERE}"]}, "NOT_SET_ANYWHERE is not set"),
        ({"url": ""}, "url is empty"),
    ],
)
async def test_what_only_a_person_can_mend_needs_setup(
    tmp_path: Path, written: dict[str, Any], message: str
) -> None:
    async with open_pool(QUICK) as pool:
        with pytest.raises(NeedsSetupError) as caught:
            await pool.list_server(entry("x", written, tmp_path))
    assert message in caught.value.message
    assert caught.value.hint


async def test_a_crash_in_the_middle_of_a_call_raises_and_the_call_is_not_sent_again(tmp_path: Path) -> None:
    log = tmp_path / "log"
    server = entry("crashing", raw("crash_call", log=log), tmp_path)
    async with open_pool(QUICK) as pool:
        with pytest.raises(ToolError) as caught:
            await pool.send(server, call("crashing", "echo", {"text": "x"}))
    assert caught.value.kind == "connection"
    assert "exited with code 9" in caught.value.message
    assert sum(line.startswith("tools/call echo") for line in lines(log)) == 1


async def test_after_a_crash_the_next_call_starts_the_server_again(tmp_path: Path) -> None:
    server = entry("flaky", raw("crash_once", marker=tmp_path / "marker"), tmp_path)
    async with open_pool(QUICK) as pool:
        result = await pool.send(server, call("flaky", "echo", {"text": "back"}))
    assert result.text == "back"


async def test_a_server_that_keeps_crashing_is_left_alone_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slot, "_FIRST_PAUSE", 60.0)  # not over before the third call
    log = tmp_path / "log"
    server = entry("crashing", raw("crash_call", log=log), tmp_path)
    async with open_pool(QUICK) as pool:
        for _ in range(2):
            with pytest.raises(ToolError):
                await pool.send(server, call("crashing", "echo", {"text": "x"}))
        with pytest.raises(ServerFailedError) as caught:
            await pool.send(server, call("crashing", "echo", {"text": "x"}))
    assert "started again in" in (caught.value.hint or "")
    assert lines(log).count("start") == 2


async def test_callers_that_come_together_share_one_start(tmp_path: Path) -> None:
    log = tmp_path / "log"
    server = entry("good", raw("good", log=log), tmp_path)
    async with open_pool(QUICK) as pool, anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(pool.send, server, call("good", "echo", {"text": str(number)}))
    assert lines(log).count("start") == 1


@pytest.mark.slow
async def test_a_caller_that_gives_up_while_the_server_starts_does_not_stop_the_start(tmp_path: Path) -> None:
    log = tmp_path / "log"
    server = entry("slow", raw("slow_start", seconds=1, log=log), tmp_path)
    async with open_pool(QUICK) as pool:
        with anyio.move_on_after(0.2):
            await pool.send(server, call("slow", "echo", {"text": "x"}))
        assert (await pool.send(server, call("slow", "echo", {"text": "y"}))).text == "y"
    assert lines(log).count("start") == 1


async def test_cancelling_a_call_reaches_the_server(tmp_path: Path) -> None:
    log = tmp_path / "log"
    server = entry("good", raw("good", log=log), tmp_path)
    async with open_pool(QUICK) as pool:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pool.send, server, call("good", "sleep", {"seconds": 60}))
            await until(lambda: any(line.startswith("tools/call sleep") for line in lines(log)))
            tasks.cancel_scope.cancel()
        await until(lambda: any(line.startswith("cancelled") for line in lines(log)))
        assert (await pool.send(server, call("good", "echo", {"text": "x"}))).text == "x"


async def test_progress_is_passed_on(tmp_path: Path) -> None:
    seen: list[Progress] = []
    server = entry("good", raw("good"), tmp_path)
    async with open_pool(QUICK) as pool:
        await pool.send(server, call("good", "progress", {"steps": 3}, tell=seen.append))
    assert [progress.progress for progress in seen] == [1, 2, 3]


async def test_many_calls_in_flight_get_their_own_answers(tmp_path: Path) -> None:
    server = entry("good", raw("good"), tmp_path)
    async with open_pool(QUICK) as pool, anyio.create_task_group() as tasks:

        async def check(number: int) -> None:
            result = await pool.send(server, call("good", "echo", {"text": str(number)}))
            assert result.text == str(number)

        for number in range(100):
            tasks.start_soon(check, number)


async def test_answers_that_come_twice_or_unasked_are_ignored(tmp_path: Path) -> None:
    server = entry("double", raw("duplicate_answers"), tmp_path)
    async with open_pool(QUICK) as pool:
        for number in range(5):
            assert (await pool.send(server, call("double", "echo", {"text": str(number)}))).text == str(
                number
            )


async def test_explicit_null_is_sent_and_what_is_not_given_is_not(tmp_path: Path) -> None:
    code = (
        "import json,sys\n"
        "for line in sys.stdin:\n"
        "    m=json.loads(line)\n"
        "    if 'id' not in m: continue\n"
        "    r={'jsonrpc':'2.0','id':m['id']}\n"
        "    if m['method']=='initialize': r['result']={'protocolVersion':'2025-11-25','capabilities':{},"
        "'serverInfo':{'name':'x','version':'1'}}\n"
        "    elif m['method']=='tools/call':\n"
        "        r['result']={'content':[],'structuredContent':m['params']['arguments']}\n"
        "    else: r['error']={'code':-32601,'message':'no'}\n"
        "    print(json.dumps(r),flush=True)\n"
    )
    server = entry("mirror", {"command": sys.executable, "args": ["-c", code]}, tmp_path)
    async with open_pool(QUICK) as pool:
        result = await pool.send(server, call("mirror", "x", {"given": None, "deep": {"also": None}}))
    assert result.structured == {"given": None, "deep": {"also": None}}


async def test_a_result_that_breaks_the_tools_own_schema_is_not_lost(tmp_path: Path) -> None:
    server = entry("wrong", raw("wrong_output"), tmp_path)
    async with open_pool(QUICK) as pool:
        await pool.list_server(server)
        wrong = await pool.send(server, call("wrong", "wrong"))
        missing = await pool.send(server, call("wrong", "missing"))
    assert wrong.has_structured
    assert not missing.has_structured
    assert missing.content


async def test_content_of_every_kind_arrives_even_one_from_the_future(tmp_path: Path) -> None:
    server = entry("media", raw("media"), tmp_path)
    async with open_pool(QUICK) as pool:
        kinds = {
            name: (await pool.send(server, call("media", name))).content[0]["type"]
            for name in ("image", "audio", "embedded", "link", "future")
        }
    assert kinds == {
        "image": "image",
        "audio": "audio",
        "embedded": "resource",
        "link": "resource_link",
        "future": "x-future",
    }


async def test_a_protocol_error_becomes_a_tool_error_with_its_code(tmp_path: Path) -> None:
    server = entry("refusing", raw("error_codes"), tmp_path)
    async with open_pool(QUICK) as pool:
        with pytest.raises(ToolError) as caught:
            await pool.send(server, call("refusing", "refuse", {"code": -32099, "message": "out of paper"}))
    assert caught.value.kind == "protocol"
    assert "out of paper (code -32099)" in caught.value.message


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_tool_that_asks_for_input_does_not_hang(tmp_path: Path, era: str) -> None:
    server = entry("asking", raw("elicits", era=era), tmp_path)
    async with open_pool(QUICK) as pool:
        with anyio.fail_after(60):
            try:
                result = await pool.send(server, call("asking", "ask", {"question": "why?"}))
            except ToolError as error:
                assert error.kind in ("input", "protocol")
            else:
                assert "can't be asked" in result.text


@pytest.mark.slow
async def test_results_of_many_megabytes_pass(tmp_path: Path) -> None:
    server = entry("big", raw("big"), tmp_path)
    async with open_pool(QUICK) as pool:
        result = await pool.send(server, call("big", "big", {"bytes": 12_000_000}))
    assert len(result.text) == 12_000_000


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_an_announced_change_of_the_tools_replaces_the_list_at_once(tmp_path: Path, era: str) -> None:
    log = tmp_path / "log"
    seen: list[Listing] = []
    server = entry("growing", raw("list_changed", era=era, log=log), tmp_path)
    async with open_pool(QUICK, on_listing=lambda entry, listing: seen.append(listing)) as pool:
        await pool.list_server(server)
        if era == "modern":  # where changes are told only to those who have asked for them
            await until(lambda: "subscriptions/listen" in lines(log))
        await pool.send(server, call("growing", "grow"))
        await until(lambda: any(tool["name"].startswith("grown") for tool in seen[-1].tools))


async def test_a_call_on_a_new_connection_lists_once_in_the_background(tmp_path: Path) -> None:
    log = tmp_path / "log"
    seen: list[Listing] = []
    server = entry("good", raw("good", log=log), tmp_path)
    async with open_pool(QUICK, on_listing=lambda entry, listing: seen.append(listing)) as pool:
        for _ in range(5):
            await pool.send(server, call("good", "echo", {"text": "x"}))
        await until(lambda: seen)
    assert lines(log).count("tools/list") == len(seen) == 1


@pytest.mark.slow
async def test_an_idle_server_is_stopped_and_comes_back(tmp_path: Path) -> None:
    log = tmp_path / "log"
    server = entry("good", raw("good", log=log), tmp_path, idle_timeout=0.2)
    async with open_pool(QUICK) as pool:
        await pool.send(server, call("good", "echo", {"text": "x"}))
        await until(lambda: "eof" in lines(log))
        assert (await pool.send(server, call("good", "echo", {"text": "y"}))).text == "y"
    assert lines(log).count("start") == 2


@pytest.mark.slow
async def test_a_server_at_work_is_not_idle(tmp_path: Path) -> None:
    log = tmp_path / "log"
    server = entry("good", raw("good", log=log), tmp_path, idle_timeout=0.1)
    async with open_pool(QUICK) as pool:
        await pool.send(server, call("good", "sleep", {"seconds": 1}))
    assert lines(log).count("start") == 1


async def test_a_child_gets_a_small_environment_and_what_its_entry_declares(tmp_path: Path) -> None:
    written = raw("good") | {"env": {"DECLARED": "${WISH}"}, "cwd": str(tmp_path)}
    environment = {**os.environ, "WISH": "granted"}
    os.environ["SATCHEL_TEST_SECRET"] = "not for children"
    try:
        async with open_pool(QUICK, environment=environment) as pool:
            result = await pool.send(entry("env", written, tmp_path), call("env", "environment"))
    finally:
        del os.environ["SATCHEL_TEST_SECRET"]
    seen = result.structured
    assert seen["environ"]["DECLARED"] == "granted"
    assert "SATCHEL_TEST_SECRET" not in seen["environ"]
    assert set(seen["environ"]) - {"DECLARED", "SATCHEL_PROCESS", "LC_CTYPE"} <= {
        "HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"
    }  # fmt: skip
    assert seen["pgid"] == seen["pid"] != os.getpgid(0)
    assert Path(seen["cwd"]) == tmp_path


@pytest.mark.slow
async def test_a_stubborn_server_and_its_grandchildren_are_gone_after_the_pool(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    async with open_pool(QUICK) as pool:
        await pool.list_server(entry("stubborn", raw("stubborn"), tmp_path))
        await pool.list_server(entry("parent", raw("grandchildren", pids=pids), tmp_path))
        await until(lambda: len(lines(pids)) == 2)
        grandchildren = [int(line) for line in lines(pids)]
        assert all(alive(process) for process in grandchildren)
    await until(lambda: not any(map(alive, grandchildren)))  # nobody else ends them


async def test_resources_templates_prompts_and_instructions_are_listed_and_read(tmp_path: Path) -> None:
    server = entry("resources", raw("resources"), tmp_path)
    async with open_pool(QUICK) as pool:
        listing = await pool.list_server(server)
        text = await pool.send(server, reading("memo://text"))
        blob = await pool.send(server, reading("memo://blob"))
        prompt = await pool.send(server, prompting("greet", {"who": "Ada"}))
        with pytest.raises(NotFoundError, match="nothing-there"):
            await pool.send(server, reading("memo://nothing-there"))
    assert {resource["uri"] for resource in listing.resources} == {"memo://text", "memo://blob"}
    assert listing.resource_templates[0]["uriTemplate"] == "memo://note/{id}"
    assert listing.prompts[0]["name"] == "greet"
    assert listing.instructions
    assert "text" in text.structured["contents"][0]
    assert "blob" in blob.structured["contents"][0]
    assert "Ada" in prompt.structured["messages"][0]["content"]["text"]


async def test_forgetting_a_server_stops_it(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with open_pool(QUICK) as pool:
        await pool.list_server(entry("good", raw("good", log=log), tmp_path))
        assert pool.state("good") == ("running", None)
        pool.forget("good")
        await until(lambda: "eof" in lines(log))


async def test_an_error_comes_out_of_the_pool_as_it_is_and_not_in_a_group(tmp_path: Path) -> None:
    with pytest.raises(NeedsSetupError):
        async with open_pool(QUICK) as pool:
            await pool.list_server(entry("x", {"command": "no-such-command-anywhere"}, tmp_path))


async def test_a_changed_entry_gets_a_new_connection(tmp_path: Path) -> None:
    async with open_pool(QUICK) as pool:
        first = await pool.list_server(entry("x", raw("named", name="first"), tmp_path))
        second = await pool.list_server(entry("x", raw("named", name="second"), tmp_path))
    assert (first.implementation, second.implementation) == ("first", "second")


async def test_a_listing_that_fails_in_the_background_is_logged_without_secrets(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    leaky = Path(__file__).parents[1] / "server" / "leaky.py"
    written = {
        "command": sys.executable,
        "args": ["-I", str(leaky), "list"],
        "env": {"API_TOKEN": "canary-1"},
    }
    server = entry("leaky", written, tmp_path)
    async with open_pool(QUICK) as pool:
        assert not (await pool.send(server, call("leaky", "echo"))).is_error
        await until(lambda: "listing failed" in caplog.text)
    assert "listing failed: no access with *** (code -32603)" in caplog.text
    assert "canary" not in caplog.text
