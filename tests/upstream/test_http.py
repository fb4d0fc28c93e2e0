"""Remote servers: streamable HTTP in both eras, SSE, headers, refusals."""

import logging
from contextlib import suppress
from pathlib import Path

import anyio
import pytest

from satchel.errors import NeedsAuthorizationError, ServerFailedError, ToolError
from satchel.model import Progress
from satchel.upstream.pool import open_pool
from tests.servers import http_server
from tests.upstream.helpers import QUICK, call, entry, lines, reading, until

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.mark.parametrize(
    ("transport", "era"), [("http", "modern"), ("http", "legacy"), ("http", None), ("sse", None)]
)
async def test_every_transport_lists_and_calls(tmp_path: Path, transport: str, era: str | None) -> None:
    options = {"era": era} if era else {}
    async with http_server(transport, **options) as url, open_pool(QUICK) as pool:
        server = entry("remote", {"url": url, "type": transport}, tmp_path)
        listing = await pool.list_server(server)
        result = await pool.send(server, call("remote", "add", {"a": 2, "b": 3}))
        resource = await pool.send(server, reading("memo://text"))
    assert {"echo", "add"} <= {tool["name"] for tool in listing.tools}
    assert result.structured == {"result": 5}
    assert resource.structured["contents"]


async def test_configured_headers_are_sent_with_variables_resolved(tmp_path: Path) -> None:
    async with (
        http_server("http", token="open-sesame") as url,
        open_pool(QUICK, environment={"TOKEN": "open-sesame"}) as pool,
    ):
        written = {"url": url, "headers": {"Authorization": "Bearer ${TOKEN}", "X-Team": "blue"}}
        server = entry("remote", written, tmp_path)
        result = await pool.send(server, call("remote", "headers"))
    headers = result.structured.get("result", result.structured)
    assert headers["x-team"] == "blue"
    assert headers["authorization"] == "***"  # it came, or it had been refused; it does not come back


async def test_a_server_that_wants_a_login_says_so_and_how(tmp_path: Path) -> None:
    async with http_server("http", token="open-sesame") as url, open_pool(QUICK) as pool:
        with pytest.raises(NeedsAuthorizationError) as caught:
            await pool.list_server(entry("remote", {"url": url}, tmp_path))
    assert "satchel auth remote" in (caught.value.hint or "")


async def test_a_refusing_server_shows_its_status(tmp_path: Path) -> None:
    async with http_server("http", status=500) as url, open_pool(QUICK) as pool:
        with pytest.raises(ServerFailedError, match="HTTP 500"):
            await pool.list_server(entry("remote", {"url": url}, tmp_path))


async def test_a_server_that_is_not_there_is_said_to_be_unreachable_without_its_secrets(
    tmp_path: Path,
) -> None:
    url = "http://user:hunter22@127.0.0.1:9/mcp?key=s3cret-value"
    for transport in ("http", "sse"):
        async with open_pool(QUICK) as pool:
            with pytest.raises(ServerFailedError, match="can't be reached") as caught:
                await pool.list_server(entry("gone", {"url": url, "type": transport}, tmp_path))
        assert "http://127.0.0.1:9/mcp" in caught.value.message
        assert "s3cret" not in caught.value.message
        assert "hunter22" not in caught.value.message


async def test_annotated_arguments_are_mirrored_into_headers_without_a_listing(tmp_path: Path) -> None:
    schema = {
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
        "required": ["region"],
    }
    async with http_server("http", era="modern") as url, open_pool(QUICK) as pool:
        server = entry("remote", {"url": url}, tmp_path)
        result = await pool.send(server, call("remote", "region", {"region": "north"}, schema=schema))
    assert not result.is_error
    assert result.text.count("north") >= 2


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_cancelling_and_progress_work_over_http(tmp_path: Path, era: str) -> None:
    log = tmp_path / "log"
    seen: list[Progress] = []
    async with http_server("http", era=era, log=log) as url, open_pool(QUICK) as pool:
        server = entry("remote", {"url": url}, tmp_path)
        await pool.send(server, call("remote", "progress", {"steps": 3}, tell=seen.append))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pool.send, server, call("remote", "sleep", {"seconds": 30}))
            await until(lambda: any("tools/call sleep" in line for line in lines(log)))
            tasks.cancel_scope.cancel()
        await until(lambda: any(line.startswith("cancelled") for line in lines(log)))
        assert (await pool.send(server, call("remote", "echo", {"text": "x"}))).text == "x"
    assert [progress.progress for progress in seen] == [1, 2, 3]


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_result_beyond_the_sdks_event_limit_passes(tmp_path: Path, era: str) -> None:
    async with http_server("http", era=era) as url, open_pool(QUICK) as pool:
        server = entry("remote", {"url": url}, tmp_path)
        result = await pool.send(server, call("remote", "big", {"bytes": 3_000_000}))
    assert len(result.text) >= 3_000_000


async def test_a_server_that_stops_in_the_middle_fails_that_call_and_is_found_again(tmp_path: Path) -> None:
    async with open_pool(QUICK) as pool:
        async with http_server("http") as url:
            port = url.split(":")[2].split("/")[0]
            server = entry("remote", {"url": url}, tmp_path)
            await pool.send(server, call("remote", "echo", {"text": "x"}))
        with pytest.raises((ToolError, ServerFailedError)):
            await pool.send(server, call("remote", "echo", {"text": "y"}))
        async with http_server("http", port=port):
            result = None
            with anyio.fail_after(60):  # a busy machine may need more than one attempt
                while result is None:
                    with suppress(ToolError, ServerFailedError):
                        result = await pool.send(server, call("remote", "echo", {"text": "z"}))
                    await anyio.sleep(0.1)
    assert result.text == "z"


async def test_concurrent_calls_do_not_wait_for_each_other(tmp_path: Path) -> None:
    async with http_server("http") as url, open_pool(QUICK) as pool:
        server = entry("remote", {"url": url}, tmp_path)
        await pool.send(server, call("remote", "echo", {"text": "warm"}))
        with anyio.fail_after(55):  # one after the other takes 60 s
            async with anyio.create_task_group() as tasks:
                for _ in range(20):
                    tasks.start_soon(pool.send, server, call("remote", "sleep", {"seconds": 3}))


@pytest.mark.parametrize(
    ("transport", "options"), [("http", {}), ("http", {"json": 1}), ("http", {"era": "legacy"}), ("sse", {})]
)
async def test_half_a_surrogate_pair_costs_that_character_and_not_the_result(
    tmp_path: Path, transport: str, options: dict[str, object]
) -> None:
    async with http_server(transport, broken=1, **options) as url, open_pool(QUICK) as pool:
        server = entry("remote", {"url": url, "type": transport}, tmp_path)
        result = await pool.send(server, call("remote", "echo", {"text": "half (half) and \U0001f600"}))
    assert result.text == "half \ufffd and \U0001f600"


async def test_what_can_not_be_read_fails_its_call_and_is_not_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    async with http_server("http", era="legacy", broken=1) as url, open_pool(QUICK) as pool:
        server = entry("remote", {"url": url}, tmp_path)
        with pytest.raises(ToolError, match="can't be read: recursion limit exceeded") as caught:
            await pool.send(server, call("remote", "echo", {"text": "(deep)"}))
        await pool.send(server, call("remote", "echo", {"text": "x"}))
    assert "[[[" not in str(caught.value)
    assert "Error parsing SSE message" in caplog.text
    assert "[[[" not in caplog.text and "]]]" not in caplog.text


async def test_what_the_sdk_logs_of_a_server_has_no_secret_in_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    written = {"url": "http://127.0.0.1:9/mcp", "headers": {"X-Key": "canary-in-a-header"}}
    async with open_pool(QUICK) as pool:
        with pytest.raises(ServerFailedError):
            await pool.list_server(entry("gone", written, tmp_path))
    for name in ("client", "mcp.client.sse", "mcp.client.streamable_http"):
        logging.getLogger(name).warning("not followed: %s", "http://a.example/?k=canary-in-a-header")
    assert "canary" not in caplog.text
    assert caplog.text.count("not followed: http://a.example/?k=***") == 3
