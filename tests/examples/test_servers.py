"""The example servers, each started as a process of its own and spoken to over stdio."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp_types import CallToolResult, TextContent, TextResourceContents

pytestmark = [pytest.mark.anyio, pytest.mark.e2e]

EXAMPLES = Path(__file__).parents[2] / "examples"
CONFIGURATION = EXAMPLES / "extensions_config.json"

TOOLS = {
    "google-drive": {
        "list_documents",
        "search_documents",
        "get_document",
        "get_document_metadata",
        "list_folders",
        "create_document",
        "share_document",
        "list_comments",
    },
    "salesforce": {
        "query_records",
        "get_record",
        "create_record",
        "update_record",
        "delete_record",
        "list_opportunities",
        "update_opportunity",
        "add_note",
        "list_notes",
        "log_activity",
        "list_accounts",
        "describe_object",
    },
    "slack": {
        "list_channels",
        "post_message",
        "get_channel_history",
        "list_users",
        "search_messages",
        "add_reaction",
    },
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def started(server: str, state: Path) -> AsyncGenerator[Client]:
    """A process for the server as configured, in the directory of the configuration."""
    entry = json.loads(CONFIGURATION.read_text())["mcpServers"][server]
    parameters = StdioServerParameters(
        command=sys.executable, args=entry["args"], cwd=EXAMPLES, env={"SATCHEL_EXAMPLES_STATE": str(state)}
    )
    async with Client(parameters, read_timeout_seconds=60) as client:
        yield client


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text_of(result)
    return result.structured_content


async def message_of_failure(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return text_of(result)


def text_of(result: CallToolResult) -> str:
    return "".join(part.text for part in result.content if isinstance(part, TextContent))


def arrays_in(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """The array properties of a schema and of the definitions it carries."""
    objects = [schema, *schema.get("$defs", {}).values()]
    return [one for each in objects for one in each["properties"].values() if one.get("type") == "array"]


def defined(schema: dict[str, Any], reference: dict[str, str]) -> dict[str, Any]:
    return schema["$defs"][reference["$ref"].removeprefix("#/$defs/")]


def test_the_configuration_names_the_three_servers_with_descriptions() -> None:
    servers = json.loads(CONFIGURATION.read_text())["mcpServers"]

    assert list(servers) == list(TOOLS)
    for entry in servers.values():
        assert entry["command"] == "python"
        assert (EXAMPLES / entry["args"][0]).is_file()
        assert entry["description"] and "\n" not in entry["description"]


@pytest.mark.parametrize("server", TOOLS)
async def test_every_tool_is_described_typed_and_annotated(server: str, tmp_path: Path) -> None:
    async with started(server, tmp_path) as client:
        tools = (await client.list_tools()).tools
        instructions = client.instructions

    assert instructions
    assert {tool.name for tool in tools} == TOOLS[server]
    assert len(tools) == len(TOOLS[server])
    for tool in tools:
        assert tool.description and "\n" not in tool.description, tool.name
        for name, parameter in tool.input_schema.get("properties", {}).items():
            assert parameter.get("description"), f"{tool.name}({name})"
        assert tool.output_schema is not None, tool.name
        assert tool.output_schema["required"], tool.name
        for array in arrays_in(tool.output_schema):
            item = array["items"]
            assert item.get("type") == "string" or defined(tool.output_schema, item)["required"], tool.name
        assert tool.annotations is not None, tool.name
        assert tool.annotations.read_only_hint is not None, tool.name
        assert tool.annotations.destructive_hint is not None, tool.name
        assert tool.annotations.idempotent_hint is not None, tool.name


async def test_the_latest_quarterly_report_is_found_by_date_and_is_long(tmp_path: Path) -> None:
    async with started("google-drive", tmp_path) as client:
        listed = await call(
            client, "list_documents", folder="Finance/Quarterly Reports", query="quarterly report"
        )
        reports = [one for one in listed["documents"] if one["title"].startswith("Q")]
        latest = max(reports, key=lambda one: one["modified_at"])
        document = await call(client, "get_document", document_id=latest["id"])

    assert len(reports) >= 4
    assert latest["title"] == "Q3 2026 Quarterly Report"
    assert latest["title"] != max(one["title"] for one in reports)
    assert len(document["content"].encode()) == document["size"] >= 100 * 1024
    findings = [line for line in document["content"].splitlines() if line.startswith("Finding: ")]
    assert len(findings) >= 5
    assert "Key figure: Revenue: $48.72M" in document["content"]


async def test_a_long_report_hardly_repeats_itself(tmp_path: Path) -> None:
    async with started("google-drive", tmp_path) as client:
        hits = (await call(client, "search_documents", query="Q3 2026", limit=1))["hits"]
        document = await call(client, "get_document", document_id=hits[0]["document_id"])

    lines = [line for line in document["content"].splitlines() if len(line) > 100]
    assert len(lines) > 200
    assert len(set(lines)) == len(lines)


async def test_the_same_data_is_made_every_time(tmp_path: Path) -> None:
    contents: list[dict[str, Any]] = []
    for name in ("first", "second"):
        async with started("google-drive", tmp_path / name) as client:
            contents.append(await call(client, "get_document", document_id="doc-006"))

    assert contents[0] == contents[1]


async def test_the_drive_has_a_resource_a_template_and_a_prompt(tmp_path: Path) -> None:
    async with started("google-drive", tmp_path) as client:
        about = (await client.read_resource("drive://about")).contents[0]
        text = (await client.read_resource("drive://documents/doc-001")).contents[0]
        prompt = await client.get_prompt("summarise_document", {"document_id": "doc-006"})
        with pytest.raises(MCPError, match="no document with the id 'doc-999'"):
            await client.read_resource("drive://documents/doc-999")

    assert isinstance(about, TextResourceContents) and "Finance/Quarterly Reports" in about.text
    assert isinstance(text, TextResourceContents) and text.text
    assert isinstance(prompt.messages[0].content, TextContent)
    assert "doc-006" in prompt.messages[0].content.text


async def test_a_created_and_shared_document_is_seen_by_a_second_process(tmp_path: Path) -> None:
    async with started("google-drive", tmp_path) as client:
        created = await call(client, "create_document", title="Summary", content="Ähnlich\n", folder="Sales")
        await call(client, "share_document", document_id=created["id"], email="a@example.com", role="editor")
    async with started("google-drive", tmp_path) as client:
        document = await call(client, "get_document", document_id=created["id"])
        sharing = await call(client, "share_document", document_id=created["id"], email="a@example.com")

    assert (document["content"], document["size"]) == ("Ähnlich\n", 9)
    assert {"email": "a@example.com", "role": "editor"} in sharing["permissions"]


async def test_a_changed_opportunity_is_seen_by_a_second_process(tmp_path: Path) -> None:
    async with started("salesforce", tmp_path) as writer, started("salesforce", tmp_path) as reader:
        before = await call(reader, "get_record", object_type="Opportunity", record_id="OPP-001")
        await call(
            writer,
            "update_record",
            object_type="Opportunity",
            record_id="OPP-001",
            data={"description": "Revenue grew 18.5%", "stage": "Closed Won"},
        )
        after = await call(reader, "get_record", object_type="Opportunity", record_id="OPP-001")

    assert before["fields"]["stage"] == "Negotiation"
    assert after["fields"] == before["fields"] | {
        "description": "Revenue grew 18.5%",
        "stage": "Closed Won",
        "probability": 100,
    }
    assert after["updated_at"] > before["updated_at"]


async def test_two_processes_that_start_on_nothing_and_write_at_once_lose_nothing(tmp_path: Path) -> None:
    async def add_notes(name: str) -> None:
        async with started("salesforce", tmp_path) as client, anyio.create_task_group() as tasks:
            for number in range(10):
                arguments = {"record_id": "OPP-001", "title": f"{name} {number}", "body": "…"}
                tasks.start_soon(lambda given=arguments: call(client, "add_note", **given))

    async with anyio.create_task_group() as processes:
        processes.start_soon(add_notes, "first")
        processes.start_soon(add_notes, "second")
    async with started("salesforce", tmp_path) as client:
        notes = (await call(client, "list_notes", record_id="OPP-001"))["notes"]
        opportunities = await call(client, "list_opportunities")

    assert len({note["id"] for note in notes}) == len({note["title"] for note in notes}) == 21
    assert opportunities["total"] == 25


async def test_records_are_created_queried_and_deleted(tmp_path: Path) -> None:
    async with started("salesforce", tmp_path) as client:
        lead = await call(
            client, "create_record", object_type="Lead", data={"name": "Zoe Adler", "company": "Hollin Water"}
        )
        condition = {"field": "company", "operator": "contains", "value": "hollin"}
        found = await call(client, "query_records", object_type="Lead", conditions=[condition])
        await call(client, "delete_record", object_type="Lead", record_id=lead["id"])
        left = await call(client, "query_records", object_type="Lead", conditions=[condition])
        again = await call(
            client, "create_record", object_type="Lead", data={"name": "Zoe Adler", "company": "Hollin Water"}
        )

    assert [one["id"] for one in found["records"]] == [lead["id"]]
    assert left["total"] == 0
    assert again["id"] != lead["id"]


async def test_records_are_filtered_by_number_and_sorted(tmp_path: Path) -> None:
    async with started("salesforce", tmp_path) as client:
        conditions = [{"field": "amount", "operator": ">=", "value": 100_000}]
        result = await call(
            client,
            "query_records",
            object_type="Opportunity",
            conditions=conditions,
            order_by="-amount",
            limit=3,
        )
        contacts = await call(client, "query_records", object_type="Contact")

    amounts = [one["fields"]["amount"] for one in result["records"]]
    assert amounts == sorted(amounts, reverse=True) and len(amounts) == 3 < result["total"]
    assert all(one["fields"]["email"].endswith("@example.com") for one in contacts["records"])


async def test_a_logged_activity_becomes_a_completed_task(tmp_path: Path) -> None:
    async with started("salesforce", tmp_path) as client:
        logged = await call(client, "log_activity", record_id="OPP-001", kind="Call", subject="Findings")
        task = await call(client, "get_record", object_type="Task", record_id=logged["id"])

    assert task["fields"]["status"] == "Completed"
    assert task["fields"]["related_to"] == "OPP-001"


async def test_text_that_looks_like_json_stays_text(tmp_path: Path) -> None:
    text = '{"findings": ["one"]}'
    async with started("salesforce", tmp_path) as client:
        changed = await call(client, "update_opportunity", opportunity_id="OPP-001", description=text)
    async with started("slack", tmp_path) as client:
        posted = await call(client, "post_message", channel="sales", text=text)

    assert changed["description"] == text
    assert posted["text"] == text


async def test_a_posted_message_and_its_reaction_are_seen_by_a_second_process(tmp_path: Path) -> None:
    async with started("slack", tmp_path) as client:
        posted = await call(client, "post_message", channel="#sales", text="OPP-001 has the summary")
        for name in ("eyes", ":eyes:"):
            await call(client, "add_reaction", channel="C002", ts=posted["ts"], name=name)
    async with started("slack", tmp_path) as client:
        history = await call(client, "get_channel_history", channel="sales", limit=1)
        found = await call(client, "search_messages", query="summary opp-001", channel="sales")

    assert history["has_more"]
    assert history["messages"] == [posted | {"reactions": [{"name": "eyes", "users": ["U000"]}]}]
    assert history["messages"][0] in found["messages"]


async def test_state_is_kept_under_the_current_directory_by_default(tmp_path: Path) -> None:
    script = str(EXAMPLES / "servers" / "slack.py")
    parameters = StdioServerParameters(command=sys.executable, args=[script], cwd=tmp_path)
    async with Client(parameters, read_timeout_seconds=60) as client:
        await call(client, "list_channels")

    assert (tmp_path / ".examples" / "slack.sqlite3").is_file()


async def test_a_directory_that_cannot_be_used_is_named_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    async with started("slack", tmp_path / "file") as client:
        message = await message_of_failure(client, "list_channels")

    assert str(tmp_path / "file") in message
    assert "Set SATCHEL_EXAMPLES_STATE" in message


async def test_the_drive_says_what_to_do_instead(tmp_path: Path) -> None:
    async with started("google-drive", tmp_path) as client:

        async def message(tool: str, **arguments: Any) -> str:
            return await message_of_failure(client, tool, **arguments)

        assert "Did you mean 'doc-006'?" in await message("get_document", document_id="doc-0006")
        assert "Call list_documents" in await message("get_document", document_id="nonsense")
        assert "The id of that document is 'doc-006'" in await message(
            "get_document", document_id="q3 2026 quarterly report"
        )
        assert "Did you mean 'Finance'?" in await message("list_documents", folder="Finanse")
        assert "neither a date" in await message("list_documents", modified_after="last week")
        assert "not an e-mail address" in await message(
            "share_document", document_id="doc-001", email="nobody"
        )


async def test_salesforce_says_what_to_do_instead(tmp_path: Path) -> None:
    opportunity = {"object_type": "Opportunity", "record_id": "OPP-001"}
    async with started("salesforce", tmp_path) as client:

        async def message(tool: str, **arguments: Any) -> str:
            return await message_of_failure(client, tool, **arguments)

        assert "Did you mean 'OPP-001'?" in await message(
            "update_opportunity", opportunity_id="OP-001", amount=1
        )
        assert "Nothing to change" in await message("update_opportunity", opportunity_id="OPP-001")
        assert "is of type Opportunity, not Lead" in await message(
            "get_record", object_type="Lead", record_id="OPP-001"
        )
        assert "Did you mean 'description'?" in await message(
            "update_record", **opportunity, data={"descripton": "…"}
        )
        assert "one of Prospecting," in await message("update_record", **opportunity, data={"stage": "Won"})
        assert "131,072 are allowed" in await message(
            "update_record", **opportunity, data={"description": "x" * 131_073}
        )
        assert "also needs account_id" in await message(
            "create_record", object_type="Contact", data={"name": "Zoe Adler"}
        )
        assert "refer to it" in await message("delete_record", object_type="Account", record_id="ACC-001")


async def test_slack_says_what_to_do_instead(tmp_path: Path) -> None:
    async with started("slack", tmp_path) as client:

        async def message(tool: str, **arguments: Any) -> str:
            return await message_of_failure(client, tool, **arguments)

        assert "Did you mean '#sales'?" in await message("post_message", channel="#sale", text="Hello")
        assert "is archived" in await message("post_message", channel="office-move-2025", text="Hello")
        assert "40,000 are allowed" in await message("post_message", channel="sales", text="x" * 40_001)
        assert "Call get_channel_history" in await message(
            "add_reaction", channel="sales", ts="1.000100", name="eyes"
        )
        assert "Did you mean 'amara'?" in await message("search_messages", query="findings", user="amora")
