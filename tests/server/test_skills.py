"""Skills for MCP clients of both eras: tools, resources, the protocol's extension, and what is allowed."""

import json
import os
import shutil
import sys
import time
from base64 import b64decode, b64encode
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

import anyio
import anyio.abc
import mcp_types as types
import pytest
from mcp import Client, MCPError
from pydantic import TypeAdapter

from satchel.config.agents import Mode
from satchel.errors import ArgumentError, NotFoundError
from satchel.server.skills import EXTENSION, SkillOffers
from satchel.server.surface import Surface
from tests.library.skill_files import make_skill, swapping
from tests.projects import Project
from tests.server.clients_helpers import (
    CLIENT_ERAS,
    LEGACY,
    MODERN,
    WAIT,
    Served,
    call,
    client_of,
    client_over_http,
    execute,
    listening,
    own_project,
    served,
    text_from,
    text_of,
    write_settings,
)
from tests.servers import raw

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SECRET = "the secret"
PNG = b"\x89PNG\r\n\x1a\n\0\xff"
AGENTS: dict[str, Any] = {
    "default": {},
    "writer": {},
    "strict": {"enforce_allowed_tools": True},
    "reader": {"deny": ["good.echo"], "enforce_allowed_tools": True},
}
OWN: dict[Mode, list[str]] = {
    "code": ["list_servers", "search_tools", "execute_code"],
    "search": ["search_tools", "call_tool"],
    "direct": [],
}
ABOUT: dict[Mode, list[str]] = {
    "code": ["search_skills", "view_skill", "read_file"],
    "search": ["search_skills", "view_skill", "read_file"],
    "direct": ["search_skills", "view_skill", "read_file"],
}
MODES = pytest.mark.parametrize("mode", list(OWN))


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """For the whole module, so that one Satchel can serve its tests."""
    return "asyncio"


def give_skills(project: Project) -> None:
    root = project.directory / "skills"
    folder = make_skill(root / "public" / "pdf", description="Reads PDFs: all of them")
    (folder / "SKILL.md").write_text(
        "---\nname: pdf\ndescription: >\n  Reads PDFs,\n  all of them.\nallowed-tools: good.add\n"
        "metadata: {level: 1, when: 2026-01-01}\n---\n# PDF\n\nRead [more](references/more.md).\n"
    )
    (folder / "references" / "deep").mkdir(parents=True)
    (folder / "references" / "more.md").write_text("# More\n")
    (folder / "references" / "deep" / "form.txt").write_text("a form")
    (folder / "logo.png").write_bytes(PNG)
    make_skill(root / "custom" / "group" / "report", description="Writes a report.")
    make_skill(root / "writer" / "own", description="Only of the writer.")
    (root / "writer" / "own" / "note.txt").write_text(SECRET)
    (root / "public" / "beside.txt").write_text(SECRET)
    (project.directory / "secret.txt").write_text(SECRET)


@pytest.fixture(scope="module")
async def here(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Served]:
    project = own_project(tmp_path_factory.mktemp("skills"), {"good": raw("good")}, {"agents": AGENTS})
    give_skills(project)
    async with served(project) as opened:
        yield opened


def surface_of(here: Served, mode: Mode, agent: str = "default") -> Surface:
    return Surface(here.satchel, mode=mode, agent=agent)


def folder_of(here: Served, place: str = "public/pdf") -> Path:
    return here.satchel.configuration.paths.project / "skills" / place


async def names(client: Client) -> list[str]:
    return [tool.name for tool in (await client.list_tools()).tools]


async def ask(client: Client, method: str, **params: Any) -> dict[str, Any]:
    """A request that the SDK has no method for."""
    request = types.Request[dict[str, Any], str](method=method, params=params)
    anything: Any = TypeAdapter(dict[str, Any])
    return await client.session.send_request(request, anything)


async def instructions(client: Client) -> str:
    """What the client's model is told; one of the 2026 era asks for it."""
    if client.protocol_version == MODERN:
        return (await ask(client, "server/discover"))["instructions"]
    return client.instructions or ""


async def refusal(client: Client, method: str, **params: Any) -> int:
    with pytest.raises(MCPError) as caught:
        await ask(client, method, **params)
    assert str(Path.cwd().parent) not in caught.value.message
    return caught.value.error.code


# Tools


@MODES
@CLIENT_ERAS
async def test_tools_for_skills_are_listed_where_there_are_skills(
    here: Served, mode: Mode, client_era: str
) -> None:
    async with client_of(surface_of(here, mode), client_era) as client:
        listed = await names(client)

    direct = [name for name in listed if name.startswith("good__")]
    memory = ["memory"] if mode != "code" else []
    assert listed == [*OWN[mode], *ABOUT[mode], *memory, *direct]
    assert bool(direct) == (mode == "direct")


@MODES
async def test_without_skills_nothing_is_said_of_them(tmp_path: Path, mode: Mode) -> None:
    project = own_project(tmp_path, {"good": raw("good")})
    (project.directory / "skills" / "public" / "empty").mkdir(parents=True)

    async with served(project, mode=mode) as opened, client_of(opened.surface, LEGACY) as client:
        assert not set(ABOUT[mode]) & set(await names(client))
        assert "skill" not in await instructions(client)
        assert [r for r in (await client.list_resources()).resources if r.uri.startswith("skill:")] == []
        assert (await client.list_resource_templates()).resource_templates == []
        assert (await ask(client, "skills/list"))["skills"] == []
        told = await call(client, "view_skill", name="pdf")
        assert told.is_error and "view_skill" in text_of(told)


@MODES
@CLIENT_ERAS
async def test_the_instructions_tell_of_skills(here: Served, mode: Mode, client_era: str) -> None:
    async with client_of(surface_of(here, mode), client_era) as client:
        told = await instructions(client)

    assert "<name>pdf</name><description>Reads PDFs, all of them.</description>" in told
    assert "/mnt/skills/custom/group/report/SKILL.md" in told
    assert "Only of the writer" not in told


@MODES
@CLIENT_ERAS
async def test_a_skill_is_found_viewed_and_read(here: Served, mode: Mode, client_era: str) -> None:
    async with client_of(surface_of(here, mode), client_era) as client:
        found = await call(client, "search_skills", query="write reports")
        viewed = await call(client, "view_skill", name="pdf")

        assert found.structured_content is not None and viewed.structured_content is not None
        assert found.structured_content["skills"][0] == {
            "name": "report",
            "description": "Writes a report.",
            "location": "/mnt/skills/custom/group/report/SKILL.md",
        }
        assert "report: Writes a report. (/mnt/skills/custom/group/report/SKILL.md)" in text_of(found)
        assert viewed.structured_content["body"] == "# PDF\n\nRead [more](references/more.md)."
        assert viewed.structured_content["allowed_tools"] == ["good.add"]
        told = text_of(viewed)
        assert told.startswith("# PDF") and "references/deep/form.txt" in told and "good.add" in told
        text = await text_from(client, "read_file", path="/mnt/skills/public/pdf/references/more.md")
        assert text == "# More\n"


@MODES
async def test_read_file_reads_wrappers_and_skills_in_every_mode(here: Served, mode: Mode) -> None:
    async with client_of(surface_of(here, mode), MODERN) as client:
        assert "read_file" in await names(client)
        assert (await text_from(client, "read_file", path="/mnt/skills/public/pdf/SKILL.md")).startswith(
            "---"
        )
        assert await text_from(client, "read_file", path="skills/public/pdf/references/more.md") == "# More\n"
        python = await text_from(client, "read_file", path="/mnt/code-api/servers/good/echo.py")
        assert "async def echo(" in python
        typescript = await text_from(client, "read_file", path="servers/good/echo.ts")
        assert "export function echo(" in typescript
        assert '"tools":' in await text_from(
            client, "read_file", path="/mnt/code-api/servers/good/index.json"
        )


@MODES
async def test_a_skill_is_viewed_by_another_name_of_the_argument(here: Served, mode: Mode) -> None:
    async with client_of(surface_of(here, mode), MODERN) as client:
        assert (await text_from(client, "view_skill", skill_name="pdf")).startswith("# PDF")


async def test_a_servers_tool_of_that_name_is_called_where_there_are_no_skills(tmp_path: Path) -> None:
    script = tmp_path / "files.py"
    script.write_text(
        "from mcp.server.mcpserver import MCPServer\n"
        "server = MCPServer('files')\n"
        "@server.tool()\n"
        "def read_file(path: str) -> str:\n"
        "    return f'the server read {path}'\n"
        "server.run()\n"
    )
    project = own_project(tmp_path, {"files": {"command": sys.executable, "args": [str(script)]}})
    async with served(project, mode="direct") as opened, client_of(opened.surface, LEGACY) as client:
        assert await text_from(client, "read_file", path="x") == "the server read x"
        make_skill(project.directory / "skills" / "public" / "pdf")
        told = await call(client, "read_file", path="x")
        assert told.is_error
        assert await text_from(client, "files__read_file", path="x") == "the server read x"


async def test_an_image_is_not_read_as_text(here: Served) -> None:
    async with client_of(surface_of(here, "search"), LEGACY) as client:
        told = await call(client, "read_file", path="/mnt/skills/public/pdf/logo.png")

    assert told.is_error and "not text" in text_of(told)


PATHS = [
    "/mnt/skills/public/pdf/../beside.txt",
    "/mnt/skills/public/pdf/../../writer/own/note.txt",
    "/mnt/skills/public/beside.txt",
    "/mnt/skills/writer/own/note.txt",
    "/mnt/skills/../secret.txt",
    "/etc/passwd",
    "/mnt/skills/public/pdf/\0",
    "/mnt/skills/public/pdf/\udcff",
    "/mnt/skills/public/pdf/" + "x" * 10_000,
    "/mnt/code-api/../../secret.txt",
    "/mnt/code-api/servers/../../../secret.txt",
    "servers/../secret.txt",
    "/mnt/code-api",
    "/mnt/code-api/\0",
    "/mnt/code-api/\udcff",
    "/mnt/code-api/" + "x" * 10_000,
    "/workspace/notes.txt",
    "",
]


@CLIENT_ERAS
async def test_read_file_reads_nothing_else(here: Served, client_era: str) -> None:
    async with client_of(surface_of(here, "search"), client_era) as client:
        for path in PATHS:
            told = await call(client, "read_file", path=path)
            assert told.is_error, path
            assert SECRET not in text_of(told)
            assert "its log says why" not in text_of(told), path


# Word of changes


class Changes:
    """What a client has been told of changes, in whichever way its era has."""

    def __init__(self) -> None:
        self.told: set[str] = set()

    async def heed(self, message: object) -> None:
        for kind, name in (
            (types.ToolListChangedNotification, "tools"),
            (types.ResourceListChangedNotification, "resources"),
        ):
            if isinstance(message, kind):
                self.told.add(name)

    async def listen(self, client: Client, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        async with client.listen(tools_list_changed=True, resources_list_changed=True) as events:
            task_status.started()
            async for event in events:
                self.told.add(type(event).__name__.removesuffix("ListChanged").lower())

    async def hear(self, *wanted: str) -> None:
        """Wait for word of exactly these."""
        with anyio.fail_after(WAIT):
            while not self.told >= set(wanted):  # noqa: ASYNC110  it is told by several
                await anyio.sleep(0.02)
        assert self.told == set(wanted)
        self.told.clear()


@asynccontextmanager
async def hearing(surface: Surface, era: str) -> AsyncGenerator[tuple[Client, Changes]]:
    changes = Changes()
    handler = changes.heed if era == LEGACY else None
    async with (
        client_of(surface, era, message_handler=handler) as client,
        anyio.create_task_group() as tasks,
    ):
        await client.list_tools()
        if era == MODERN:
            await tasks.start(changes.listen, client)
        yield client, changes
        tasks.cancel_scope.cancel()


@CLIENT_ERAS
@MODES
async def test_clients_hear_of_the_first_skill_and_of_the_last(
    tmp_path: Path, mode: Mode, client_era: str
) -> None:
    project = own_project(tmp_path, {"good": raw("good")})
    root = project.directory / "skills"
    async with (
        served(project, mode=mode) as opened,
        hearing(opened.surface, client_era) as (client, changes),
    ):
        assert not set(ABOUT[mode]) & set(await names(client))
        folder = root / "public" / "group" / "first"
        folder.mkdir(parents=True)
        await anyio.sleep(0.7)  # so that the folder has been seen without its file
        (folder / "SKILL.md").write_text("---\ndescription: The first.\n---\n")
        await changes.hear("tools", "resources")
        assert set(ABOUT[mode]) <= set(await names(client))

        make_skill(root / "default" / "second")
        await changes.hear("resources")
        (folder / "SKILL.md").write_text("---\ndescription: The first, in other words.\n---\n")
        await changes.hear("resources")

        make_skill(root / "other" / "unseen")  # of an agent that this one is not
        (root / "public" / "group" / "note.txt").write_text("no skill")
        await anyio.sleep(1.2)  # more than two looks for changes: nothing says that no word will come
        assert changes.told == set()

        shutil.rmtree(root / "public" / "group")
        await changes.hear("resources")
        shutil.rmtree(root / "default" / "second")
        await changes.hear("tools", "resources")
        assert not set(ABOUT[mode]) & set(await names(client))


async def test_clients_hear_when_the_only_skill_is_switched_off_and_on(tmp_path: Path) -> None:
    project = own_project(tmp_path, {"good": raw("good")})
    make_skill(project.directory / "skills" / "public" / "pdf")

    def switch(enabled: bool) -> None:
        text = json.dumps(
            {"mcpServers": {"good": raw("good")}, "skills": {"pdf": {"enabled": enabled}}}, indent=2
        )
        new = project.directory / "new"
        new.write_text(text)
        new.replace(project.file)

    async with (
        served(project, mode="search") as opened,
        hearing(opened.surface, LEGACY) as (client, changes),
    ):
        assert "view_skill" in await names(client)
        switch(False)
        await changes.hear("tools", "resources")
        assert "view_skill" not in await names(client)
        switch(True)
        await changes.hear("tools", "resources")
        assert "view_skill" in await names(client)


async def test_a_file_of_states_that_became_invalid_ends_nothing(tmp_path: Path) -> None:
    project = own_project(tmp_path, {"good": raw("good")})
    make_skill(project.directory / "skills" / "public" / "pdf")
    async with (
        served(project, mode="search") as opened,
        hearing(opened.surface, LEGACY) as (client, changes),
    ):
        project.file.write_text('{"skills": [')
        make_skill(project.directory / "skills" / "public" / "word")
        await changes.hear("resources")  # it still looks for changes
        assert "view_skill" in await names(client)


# Resources


@MODES
@CLIENT_ERAS
async def test_skills_are_resources_in_every_mode(here: Served, mode: Mode, client_era: str) -> None:
    async with client_of(surface_of(here, mode), client_era) as client:
        listed = (await client.list_resources()).resources
        templates = (await client.list_resource_templates()).resource_templates
        texts = [(await client.read_resource(str(each.uri))).contents[0] for each in listed]

    assert [str(each.uri) for each in listed] == [
        "skill://public/pdf/SKILL.md",
        "skill://custom/report/SKILL.md",
    ]
    assert [each.name for each in listed] == ["pdf", "report"]
    assert {each.mime_type for each in listed} == {"text/markdown"}
    assert [template.uri_template for template in templates] == ["skill://{+path}"]
    for each, place in zip(texts, ("public/pdf", "custom/group/report"), strict=True):
        assert isinstance(each, types.TextResourceContents)
        assert each.text == (folder_of(here, place) / "SKILL.md").read_text()
        assert each.mime_type == "text/markdown"


@CLIENT_ERAS
async def test_files_of_skills_are_resources(here: Served, client_era: str) -> None:
    async with client_of(surface_of(here, "code"), client_era) as client:
        text = (await client.read_resource("skill://public/pdf/references/deep/form.txt")).contents[0]
        image = (await client.read_resource("skill://public/pdf/logo.png")).contents[0]

    assert isinstance(text, types.TextResourceContents)
    assert (text.text, text.mime_type) == ("a form", "text/plain")
    assert isinstance(image, types.BlobResourceContents)
    assert (b64decode(image.blob), image.mime_type) == (PNG, "image/png")


ADDRESSES = [
    "skill://",
    "skill:///",
    "skill://public",
    "skill://public/",
    "skill://public/pdf",
    "skill://public/pdf/",
    "skill://public/pdf/references",
    "skill://public/pdf/nothing.md",
    "skill://public/nothing/SKILL.md",
    "skill://PUBLIC/pdf/SKILL.md",
    "skill://public/beside.txt",
    "skill://public/pdf/../beside.txt",
    "skill://public/pdf/%2e%2e/beside.txt",
    "skill://public/pdf/%2E%2E/beside.txt",
    "skill://public/pdf/..%2fbeside.txt",
    "skill://public/pdf/%2e%2e%2fbeside.txt",
    "skill://public/pdf/references/..%2f..%2f..%2fbeside.txt",
    "skill://public/pdf/%252e%252e/beside.txt",
    "skill://public/pdf%2f..%2fbeside.txt",
    "skill://public%2fpdf%2fSKILL.md",
    "skill://public/pdf/..\\beside.txt",
    "skill://public/pdf/%5c..%5cbeside.txt",
    "skill://public/pdf//SKILL.md",
    "skill://public/pdf/./SKILL.md",
    "skill://public/pdf/%2fetc%2fpasswd",
    "skill://public/pdf//etc/passwd",
    "skill://public/pdf/SKILL.md%00",
    "skill://public/pdf/%00",
    "skill://public/pdf/%ff",
    "skill://public/pdf/%ed%a0%80",
    "skill://public/pdf/SKILL.md/",
    "skill://public/pdf/SKILL.md?x=/../beside.txt",
    "skill://public/pdf/SKILL.md#/../beside.txt",
    "skill://public/pdf/" + "x" * 5_000,
    "skill://public/pdf/" + "x/" * 3_000,
    "skill://writer/own/SKILL.md",
    "skill://writer/own/note.txt",
    "skill://public/../writer/own/note.txt",
    "skill://public/pdf/../../writer/own/note.txt",
    "skill://user@public/pdf/SKILL.md",
    "skill://public:80/pdf/SKILL.md",
    "SKILL://public/pdf/SKILL.md",
    "file:///etc/passwd",
    "/etc/passwd",
    "public/pdf/SKILL.md",
    "",
]


@CLIENT_ERAS
async def test_no_address_reads_anything_else(here: Served, client_era: str) -> None:
    async with client_of(surface_of(here, "direct"), client_era) as client:
        for uri in ADDRESSES:
            wanted = -32602 if client_era == MODERN else -32002
            assert await refusal(client, "resources/read", uri=uri) == wanted, uri
            assert await refusal(client, "skills/get", uri=uri) == -32602, uri
        folders = {"skill://public/pdf", "skill://public/pdf/", "skill://public/pdf/references"}
        for uri in set(ADDRESSES) - folders:
            assert await refusal(client, "resources/directory/read", uri=uri) == -32602, uri


ODD: dict[str, Callable[[Path], object]] = {
    "link": lambda place: place.symlink_to("../beside.txt"),
    "link inside": lambda place: place.symlink_to("SKILL.md"),
    "environment": lambda place: place.symlink_to("/proc/self/environ"),
    "hard link": lambda place: place.hardlink_to(place.parents[1] / "beside.txt"),
    "pipe": lambda place: os.mkfifo(place),
    "device": lambda place: place.symlink_to("/dev/zero"),
    "linked folder": lambda place: place.symlink_to("../../writer/own", target_is_directory=True),
}


@pytest.mark.parametrize("odd", ODD)
async def test_what_is_no_plain_file_is_no_resource(here: Served, odd: str) -> None:
    place = folder_of(here) / "odd"
    ODD[odd](place)
    try:
        async with client_of(surface_of(here, "direct"), MODERN) as client:
            for uri in ("skill://public/pdf/odd", "skill://public/pdf/odd/note.txt"):
                assert await refusal(client, "resources/read", uri=uri) == -32602
            entry = (await ask(client, "skills/get", uri="skill://public/pdf/SKILL.md"))["skill"]
            children = await ask(client, "resources/directory/read", uri="skill://public/pdf")
    finally:
        place.unlink()
    assert "odd" not in json.dumps([entry, children])


async def test_a_skill_that_becomes_a_link_meanwhile_shows_nothing_else(tmp_path: Path) -> None:
    project = own_project(tmp_path, {})
    give_skills(project)
    outside = project.directory / "outside"
    outside.mkdir()
    for name in ("SKILL.md", "logo.png", "stolen.txt"):
        (outside / name).write_text(SECRET)
    answers = 0
    async with served(project) as opened:
        known = SkillOffers(opened.satchel, "default")
        with swapping(project.directory / "skills" / "public" / "pdf", outside, outside.parent):
            end = time.monotonic() + 3
            while time.monotonic() < end:
                for offers in (known, SkillOffers(opened.satchel, "default")):
                    for said in said_of_pdf(offers):
                        answers += 1
                        assert SECRET not in said and "stolen" not in said
                        assert b64encode(SECRET.encode()).decode() not in said
                        assert sha256(SECRET.encode()).hexdigest() not in said
    assert answers


def said_of_pdf(offers: SkillOffers) -> Iterator[str]:
    """All that can be had of it at this moment."""
    asks: list[Callable[[], object]] = [
        lambda: offers.read("skill://public/pdf/logo.png"),
        lambda: offers.read("skill://public/pdf/SKILL.md"),
        lambda: offers.children("skill://public/pdf"),
        lambda: offers.entries(),
    ]
    for ask_for in asks:
        with suppress(NotFoundError, ArgumentError):
            yield json.dumps(ask_for())


# The extension


async def test_the_extension_is_declared(here: Served) -> None:
    async with client_of(surface_of(here, "code"), MODERN) as client:
        capabilities = (await ask(client, "server/discover"))["capabilities"]

    assert capabilities["resources"] == {"listChanged": True, "subscribe": True}
    assert capabilities["extensions"] == {EXTENSION: {"directoryRead": True}}


@CLIENT_ERAS
async def test_skills_are_listed_as_the_extension_has_them(here: Served, client_era: str) -> None:
    async with client_of(surface_of(here, "code"), client_era) as client:
        listed = await ask(client, "skills/list")
        for entry in listed["skills"]:
            assert (await ask(client, "skills/get", uri=entry["uri"]))["skill"] == entry
            for resource in entry["resources"]:
                content = (await client.read_resource(resource["uri"])).contents[0]
                is_text = isinstance(content, types.TextResourceContents)
                data = content.text.encode() if is_text else b64decode(content.blob)
                assert resource["digest"] == f"sha256:{sha256(data).hexdigest()}"
                assert resource["size"] == len(data)

    pdf, report = listed["skills"]
    assert pdf["uri"] == "skill://public/pdf/SKILL.md"
    assert pdf["frontmatter"] == {
        "name": "pdf",
        "description": "Reads PDFs, all of them.\n",
        "allowed-tools": "good.add",
        "metadata": {"level": 1, "when": "2026-01-01"},
    }
    assert [resource["uri"].removeprefix("skill://public/pdf/") for resource in pdf["resources"]] == [
        "SKILL.md",
        "logo.png",
        "references/more.md",
        "references/deep/form.txt",
    ]
    assert report["uri"] == "skill://custom/report/SKILL.md"
    assert "nextCursor" not in listed
    if client_era == MODERN:
        assert (listed["resultType"], listed["ttlMs"], listed["cacheScope"]) == ("complete", 0, "private")


@CLIENT_ERAS
async def test_folders_of_skills_are_read_one_level_at_a_time(here: Served, client_era: str) -> None:
    async with client_of(surface_of(here, "code"), client_era) as client:

        async def children(uri: str) -> list[tuple[str, str]]:
            found = (await ask(client, "resources/directory/read", uri=uri))["resources"]
            assert all(each["uri"] == f"{uri.rstrip('/')}/{each['name']}" for each in found)
            return [(each["name"], each["mimeType"]) for each in found]

        top = [("SKILL.md", "text/markdown"), ("logo.png", "image/png"), ("references", "inode/directory")]
        assert await children("skill://public/pdf") == top
        assert await children("skill://public/pdf/") == top
        below = [("more.md", "text/markdown"), ("deep", "inode/directory")]
        assert await children("skill://public/pdf/references") == below
        assert await children("skill://public/pdf/references/deep") == [("form.txt", "text/plain")]


async def test_many_skills_come_in_pages(tmp_path: Path) -> None:
    project = own_project(tmp_path, {})
    for number in range(230):
        make_skill(project.directory / "skills" / "public" / f"skill-{number:03d}")
    async with served(project) as opened, client_of(opened.surface, MODERN) as client:
        first = await ask(client, "skills/list")
        shutil.rmtree(project.directory / "skills" / "public" / "skill-050")
        second = await ask(client, "skills/list", cursor=first["nextCursor"])
        third = await ask(client, "skills/list", cursor=second["nextCursor"])
        assert await refusal(client, "skills/list", cursor="nonsense") == -32602

    found = [entry["frontmatter"]["name"] for page in (first, second, third) for entry in page["skills"]]
    assert found == [f"skill-{number:03d}" for number in range(230)]
    assert "nextCursor" not in third


async def test_two_skills_of_one_name_have_addresses_of_their_own(tmp_path: Path) -> None:
    project = own_project(tmp_path, {})
    root = project.directory / "skills"
    places = ["public/pdf", "public/other", "public/group/pdf", "public/group/pdf/pdf", "custom/pdf"]
    for place in places:
        make_skill(root / place, name="pdf", description=f"At {place}.")
    async with served(project) as opened, client_of(opened.surface, MODERN) as client:
        listed = (await client.list_resources()).resources
        texts = {str(each.uri): (await client.read_resource(str(each.uri))).contents[0] for each in listed}
        entries = (await ask(client, "skills/list"))["skills"]

    assert len(texts) == len(places)
    for each in listed:
        content = texts[str(each.uri)]
        assert isinstance(content, types.TextResourceContents)
        assert f"description: {each.description}" in content.text
        assert str(each.uri).endswith("/pdf/SKILL.md")  # as the extension wants it
    assert {entry["uri"] for entry in entries} == texts.keys()
    assert {entry["frontmatter"]["description"] for entry in entries} == {f"At {place}." for place in places}


ODD_SKILLS = {
    "slash": "---\nname: a/../b\ndescription: x\n---\n",
    "dots": "---\nname: ..\ndescription: x\n---\n",
    "space": "---\nname: My Skill %41 ü\ndescription: x\n---\n",
    "newline": '---\nname: "a\\nb"\ndescription: x\n---\n',
    "number": "---\nname: 12\ndescription: 34\n---\n",
    "no numbers": "---\nname: nan\ndescription: x\nvalue: .nan\nother: [.inf, -.inf]\n---\n",
    "deep": "---\nname: deep\ndescription: x\nvalue: " + "[" * 300 + "]" * 300 + "\n---\n",
    "list": "---\nname: [a, b]\ndescription: [c, d]\n---\n",
    "long": f"---\nname: {'n' * 3_000}\ndescription: {'d' * 30_000}\n---\n",
    "quotes": "---\nname: '\"'\ndescription: \"it's <b> & {{ x }}\"\n---\n",
}


@pytest.mark.parametrize("odd", ODD_SKILLS)
@CLIENT_ERAS
async def test_an_odd_skill_hides_no_other(tmp_path: Path, odd: str, client_era: str) -> None:
    project = own_project(tmp_path, {})
    root = project.directory / "skills" / "public"
    make_skill(root / "good")
    (make_skill(root / "odd") / "SKILL.md").write_text(ODD_SKILLS[odd])
    with open(os.fsencode(root / "odd") + b"/b\xffd\nname.md", "w") as stream:
        stream.write("odd")

    async with served(project, mode="search") as opened, client_of(opened.surface, client_era) as client:
        assert "<name>good</name>" in await instructions(client)
        listed = [str(each.uri) for each in (await client.list_resources()).resources]
        assert len(listed) == 2 and "skill://public/good/SKILL.md" in listed
        for uri in listed:
            content = (await client.read_resource(uri)).contents[0]
            assert isinstance(content, types.TextResourceContents)
            entry = (await ask(client, "skills/get", uri=uri))["skill"]
            for resource in entry["resources"]:
                assert (await client.read_resource(resource["uri"])).contents
            assert await ask(client, "resources/directory/read", uri=uri.removesuffix("/SKILL.md"))
        assert len((await ask(client, "skills/list"))["skills"]) == 2
        assert not (await call(client, "search_skills")).is_error
        assert not (await call(client, "view_skill", name="/mnt/skills/public/odd")).is_error


async def test_a_skill_with_more_than_the_protocol_takes_lists_no_files(tmp_path: Path) -> None:
    project = own_project(tmp_path, {})
    root = project.directory / "skills" / "public"
    for number in range(600):
        (make_skill(root / "many") if number == 0 else root / "many").joinpath(f"{number}.md").touch()
    with open(make_skill(root / "large") / "large.bin", "wb") as stream:
        stream.truncate(17 * 1024 * 1024)
    async with served(project) as opened, client_of(opened.surface, MODERN) as client:
        entries = (await ask(client, "skills/list"))["skills"]

    assert [entry["resources"] for entry in entries] == ["dynamic", "dynamic"]


# Agents


@CLIENT_ERAS
async def test_each_agent_sees_its_own_skills(here: Served, client_era: str) -> None:
    own = "skill://writer/own/note.txt"
    async with listening(surface_of(here, "search")) as url:
        async with client_over_http(url, client_era, agent="writer") as client:
            resources = [str(each.uri) for each in (await client.list_resources()).resources]
            assert "skill://writer/own/SKILL.md" in resources
            content = (await client.read_resource(own)).contents[0]
            assert isinstance(content, types.TextResourceContents) and content.text == SECRET
            assert await text_from(client, "read_file", path="/mnt/skills/writer/own/note.txt") == SECRET
            assert "own" in await text_from(client, "search_skills", query="only of the writer")
        async with client_over_http(url, client_era, agent="default") as client:
            resources = [str(each.uri) for each in (await client.list_resources()).resources]
            assert resources == ["skill://public/pdf/SKILL.md", "skill://custom/report/SKILL.md"]
            assert await refusal(client, "resources/read", uri=own) in (-32002, -32602)
            assert await refusal(client, "skills/get", uri="skill://writer/own/SKILL.md") == -32602
            listed = await ask(client, "skills/list")
            assert "writer" not in json.dumps(listed)
            for name in ("own", "writer:own", "/mnt/skills/writer/own"):
                assert (await call(client, "view_skill", name=name)).is_error
            found = await call(client, "search_skills", query="only of the writer")
            assert "writer" not in text_of(found)


# Programs


async def test_a_program_reads_what_it_is_told_of(here: Served) -> None:
    code = """
import pathlib
base = pathlib.Path("/mnt/skills")
print((base / "public/pdf/references/more.md").read_text().strip())
print((base / "custom/group/report/SKILL.md").exists(), (base / "writer").exists())
try:
    (base / "public/pdf/SKILL.md").write_text("changed")
except OSError as error:
    print("not written")
"""
    async with client_of(surface_of(here, "code"), MODERN) as client:
        execution = await execute(client, code)

    assert execution["exit_code"] == 0, execution
    assert execution["stdout"] == "# More\nTrue False\nnot written\n"


async def test_every_location_that_is_told_can_be_read_by_a_program(here: Served) -> None:
    async with client_of(surface_of(here, "code", "writer"), MODERN) as client:
        found = await call(client, "search_skills")
        assert found.structured_content is not None
        places = [row["location"] for row in found.structured_content["skills"]]
        execution = await execute(client, f"for place in {places!r}: print(open(place).readline().strip())")

    assert execution["stdout"] == "---\n" * 3, execution


# What a skill allows

Way = Literal["direct", "search", "code"]
WAYS = pytest.mark.parametrize("way", ["direct", "search", "code"])
ADD = {"a": 1, "b": 2}


async def add(client: Client, way: Way) -> str | None:
    """Call good.add; None where it is refused."""
    if way == "code":
        program = (
            "from servers.good import add\n"
            "try:\n    print((await add(a=1, b=2))['sum'])\n"
            "except PermissionError as error:\n    print('refused:', error)\n"
        )
        execution = await execute(client, program)
        assert execution["exit_code"] == 0, execution
        said = execution["stdout"]
        if not said.startswith("refused:"):
            return said.strip()
        assert "the active skill allows only" in said
        assert [made["status"] for made in execution["tools_called"]] == ["denied"]
        return None
    if way == "search":
        answer = await call(client, "call_tool", name="good__add", arguments=ADD)
    else:
        answer = await call(client, "good__add", **ADD)
    if answer.is_error:
        assert "the active skill allows only" in text_of(answer)
        return None
    assert answer.structured_content is not None
    return str(answer.structured_content["sum"])


ALLOWING = [
    *("good.add", "good__add", "mcp__good__add", "mcp__good", "good.*", "*.add", "*", "mcp__*"),
    *("mcp__good__*", "good__a?d", "Read, good.add", "Bash(git:*) good.add", "[Read, mcp__good__add]"),
]
REFUSING = [
    *("good.echo", "good__echo", "mcp__good__echo", "mcp__other", "Read", "Bash(*)", "add", "GOOD.ADD"),
    *("good.ad", "good.add.x", "mcp__goo", "Read, Write, Edit"),
]


@asynccontextmanager
async def allowing(here: Served, allowed: str) -> AsyncGenerator[None]:
    """A skill `narrow` that allows this."""
    folder = folder_of(here, "custom/narrow")
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: narrow\ndescription: x\nallowed-tools: {allowed}\n---\n")
    try:
        yield
    finally:
        shutil.rmtree(folder)


def quoted(allowed: str) -> str:
    return allowed if allowed.startswith("[") else json.dumps(allowed)


@pytest.mark.parametrize("allowed", ALLOWING)
async def test_a_tool_that_the_viewed_skill_names_can_be_called(here: Served, allowed: str) -> None:
    async with (
        allowing(here, quoted(allowed)),
        client_of(surface_of(here, "search", "strict"), MODERN) as client,
    ):
        await text_from(client, "view_skill", name="narrow")
        assert await add(client, "search") == "3"


@pytest.mark.parametrize("allowed", REFUSING)
async def test_a_tool_that_it_does_not_name_is_refused(here: Served, allowed: str) -> None:
    async with (
        allowing(here, quoted(allowed)),
        client_of(surface_of(here, "search", "strict"), MODERN) as client,
    ):
        assert await add(client, "search") == "3"  # nothing has been viewed yet
        await text_from(client, "view_skill", name="narrow")
        assert await add(client, "search") is None


@WAYS
@CLIENT_ERAS
async def test_what_is_allowed_holds_for_every_way_to_call(here: Served, way: Way, client_era: str) -> None:
    async with (
        allowing(here, "good.echo"),
        client_of(surface_of(here, way, "strict"), client_era) as client,
    ):
        assert await add(client, way) == "3"
        await text_from(client, "view_skill", name="narrow")
        assert await add(client, way) is None
        await text_from(client, "view_skill", name="pdf")  # allows good.add
        assert await add(client, way) == "3"
        await text_from(client, "view_skill", name="narrow")
        assert await add(client, way) is None
        await call(client, "view_skill", name="no such skill")
        assert await add(client, way) is None
        await text_from(client, "view_skill", name="report")  # names no tools, so it restricts none
        assert await add(client, way) == "3"


@WAYS
async def test_without_the_setting_nothing_is_enforced(here: Served, way: Way) -> None:
    async with allowing(here, "good.echo"), client_of(surface_of(here, way), MODERN) as client:
        await text_from(client, "view_skill", name="narrow")
        assert await add(client, way) == "3"


async def test_a_skill_allows_nothing_that_the_agent_may_not(here: Served) -> None:
    async with (
        allowing(here, '"*"'),
        client_of(surface_of(here, "search", "reader"), MODERN) as client,
    ):
        await text_from(client, "view_skill", name="narrow")
        answer = await call(client, "call_tool", name="good__echo", arguments={"text": "x"})
        assert answer.is_error and "reader" in text_of(answer)
        assert await add(client, "search") == "3"


async def test_a_session_keeps_to_what_the_skill_allows_that_is_viewed_meanwhile(here: Served) -> None:
    program = (
        "from servers.good import add\n"
        "try:\n    print((await add(a=1, b=2))['sum'])\nexcept PermissionError:\n    print('refused')\n"
    )
    async with (
        allowing(here, "good.echo"),
        client_of(surface_of(here, "code", "strict"), MODERN) as client,
    ):
        first = await execute(client, program, session="new")
        await text_from(client, "view_skill", name="narrow")
        second = await execute(client, program, session=first["session"])

    assert (first["stdout"], second["stdout"]) == ("3\n", "refused\n")


@pytest.mark.parametrize("way", ["read_file", "resource", "skills/get"])
async def test_a_skill_that_is_read_in_another_way_counts_as_well(here: Served, way: str) -> None:
    async with (
        allowing(here, "good.echo"),
        client_of(surface_of(here, "search", "strict"), MODERN) as client,
    ):
        assert await add(client, "search") == "3"
        if way == "read_file":
            await text_from(client, "read_file", path="/mnt/skills/custom/narrow/SKILL.md")
        elif way == "resource":
            await client.read_resource("skill://custom/narrow/SKILL.md")
        else:
            await ask(client, "skills/get", uri="skill://custom/narrow/SKILL.md")
        assert await add(client, "search") is None


async def test_the_setting_counts_from_the_moment_it_is_written(tmp_path: Path) -> None:
    project = own_project(tmp_path, {"good": raw("good")})
    narrow = make_skill(project.directory / "skills" / "public" / "narrow") / "SKILL.md"
    narrow.write_text("---\nname: narrow\ndescription: x\nallowed-tools: good.echo\n---\n")
    async with served(project, mode="search") as opened, client_of(opened.surface, MODERN) as client:
        await text_from(client, "view_skill", name="narrow")
        assert await add(client, "search") == "3"
        write_settings(project, {"agents": {"default": {"enforce_allowed_tools": True}}})
        assert await add(client, "search") is None
