"""Programs as documents of other projects write them run here, but for what docs/programs.md names."""

import os
import sys
from collections.abc import AsyncGenerator
from textwrap import dedent
from typing import Any

import anyio
import pytest

from satchel import Satchel, open_satchel
from satchel.model import Execution
from tests.projects import Project
from tests.servers import raw

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

WAIT = 90  # seconds; only a hang reaches it
SETTINGS = """
code_execution: { timeout: 20, max_timeout: 40 }
agents: { agent_a: {}, agent-b: { promote_skills: true, deny: ["admin-panel"] } }
custom_tools:
  web.playwright_navigate: web_tools:navigate
  multimodal.vision_understanding: web_tools:understand
"""
FILES = '''
from mcp.server import MCPServer

server = MCPServer("filesystem", log_level="WARNING")
files = {}


@server.tool()
def write_file(path: str, content: str) -> dict[str, int]:
    """Write a file."""
    files[path] = content
    return {"size_bytes": len(content)}


@server.tool()
def read_file(path: str, encoding: str = "utf-8") -> dict[str, str]:
    """Read contents of a file from the filesystem."""
    return {"content": files[path]}


server.run()
'''
TOOLS = '''
from dataclasses import dataclass


@dataclass
class Page:
    title: str
    final_url: str
    screenshot_path: str | None = None


def navigate(url: str, screenshot: bool = False, wait_for: str | None = None) -> Page:
    """Navigate to a URL using Playwright."""
    return Page(title=f"Page of {url}", final_url=url, screenshot_path="shot.png" if screenshot else None)


def understand(image_path: str, prompt: str) -> str:
    """Look at an image."""
    return f"{image_path}: {prompt}"
'''


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """For the whole module, so that one Satchel can serve its tests."""
    return "asyncio"


@pytest.fixture(scope="module")
async def satchel(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Satchel]:
    home = tmp_path_factory.mktemp("others")
    servers: dict[str, Any] = {
        "filesystem": {"command": sys.executable, "args": [str(home / "files.py")]},
        "google-drive": raw("good"),
        "admin-panel": raw("good"),
    }
    project = Project(home / "project", servers)
    (home / "files.py").write_text(FILES)
    (project.directory / "web_tools.py").write_text(TOOLS)
    (project.directory / "satchel.yaml").write_text(SETTINGS)
    async with open_satchel(project.directory, environment={**os.environ, "HOME": str(home)}) as satchel:
        yield satchel


async def run(satchel: Satchel, code: str, **more: Any) -> Execution:
    with anyio.fail_after(WAIT):
        return await satchel.execute(dedent(code), **more)


async def printed(satchel: Satchel, code: str, **more: Any) -> list[str]:
    """What a program prints that is expected to succeed without a word to stderr."""
    execution = await run(satchel, code, **more)
    assert (execution.exit_code, execution.stderr) == (0, ""), execution
    return execution.stdout.splitlines()


async def test_a_call_needs_no_await_in_a_program_without_one(satchel: Satchel) -> None:
    told = await printed(
        satchel,
        """
        from helpers.call_mcp_tool import call_mcp_tool
        result = call_mcp_tool("google_drive__echo", {"text": "by the helper"})
        print(result["text"])
        print(call_mcp_tool("google_drive__echo", {"text": "without an import"})["text"])
        """,
    )
    assert told == ["by the helper", "without an import"]


async def test_calls_are_gathered_beside_a_search_that_is_not_awaited(satchel: Satchel) -> None:
    told = await printed(
        satchel,
        """
        import asyncio

        async def main():
            made = [call_mcp_tool("google_drive__add", {"a": n, "b": 1}) for n in range(8)]
            calls = [asyncio.create_task(call) for call in made]
            await asyncio.sleep(0)
            print(search_tools(keyword="echo", limit=1)["showing"])
            print(sum(each["sum"] for each in await asyncio.gather(*calls)))

        asyncio.run(main())
        print(asyncio.run(call_mcp_tool("google_drive__echo", {"text": "x"}))["text"])
        """,
    )
    assert told == ["1", "36", "x"]


async def test_a_tool_file_of_massgen_works_as_it_is(satchel: Satchel) -> None:
    """`servers/filesystem/read_file.py` of its design, written to the workspace."""
    told = await printed(
        satchel,
        """
        open("their_read_file.py", "w").write('''
        from dataclasses import dataclass
        from typing import Optional

        @dataclass
        class ReadFileOutput:
            content: str
            size_bytes: int

        async def read_file(path: str, encoding: str = "utf-8") -> ReadFileOutput:
            from _massgen_runtime import call_mcp_tool
            result = await call_mcp_tool(
                server="filesystem",
                tool="read_file",
                arguments={"path": path, "encoding": encoding}
            )
            return ReadFileOutput(
                content=result["content"], size_bytes=len(result["content"].encode(encoding))
            )
        '''.replace("\\n        ", "\\n"))
        from servers.filesystem import write_file
        from their_read_file import read_file
        await write_file(path="a.txt", content="grüße")
        print(await read_file("a.txt"))
        """.replace("\\\\n", "\\n"),
    )
    assert told == ["ReadFileOutput(content='grüße', size_bytes=7)"]


async def test_the_workflow_of_massgen_runs(satchel: Satchel) -> None:
    """The appendix of its design, with arguments as keywords and a skill called like its function."""
    told = await printed(
        satchel,
        """
        import os, subprocess
        print(sorted(os.listdir("servers/")), sorted(os.listdir("tools/")))
        found = subprocess.run(["rg", "navigate|browser|webpage", "tools/", "servers/", "-i", "-l"],
                               capture_output=True, text=True)
        print("tools/web/playwright_navigate.py" in found.stdout, found.stderr)
        with open("tools/web/playwright_navigate.py") as f:
            print("Navigate to a URL" in f.read())

        from tools.web import playwright_navigate
        ref_result = await playwright_navigate(url="https://ag2.ai/", screenshot=True, wait_for="main")
        print(ref_result.title, ref_result.screenshot_path)

        from tools.multimodal import vision_understanding
        print(await vision_understanding(image_path=ref_result.screenshot_path, prompt="Describe it"))

        from servers.filesystem import write_file
        await write_file(path="my_project/index.html", content="<html>")

        from _massgen_runtime import save_skill
        save_skill(
            name="create_website",
            code='''
        import servers.filesystem as fs
        import tools.web as web

        async def create_website(project_name: str, style_reference: str):
            "Create a modern website based on a style reference."
            page = await web.playwright_navigate(url=style_reference, screenshot=True)
            await fs.write_file(path=f"{project_name}/index.html", content=page.title)
            return f"Website created at {project_name}/"
        '''.replace("\\n        ", "\\n"),
            description="Create a website by analyzing a reference site's design",
        )
        """.replace("\\\\n", "\\n"),
        agent="agent_a",
    )
    servers = ["__init__.py", "admin_panel", "filesystem", "google_drive", "index.json"]
    assert told[0] == f"{servers} {['__init__.py', 'index.json', 'multimodal', 'web']}"
    assert told[1:] == [
        "True ",
        "True",
        "Page of https://ag2.ai/ shot.png",
        "shot.png: Describe it",
    ]
    used = await printed(
        satchel,
        """
        from skills.create_website import create_website
        print(await create_website(project_name="my_project", style_reference="https://ag2.ai/"))
        from skills.agent_a import create_website as own
        print(own is create_website)
        """,
        agent="agent_a",
    )
    assert used == ["Website created at my_project/", "True"]


async def test_what_is_given_to_the_community_is_imported_from_there(satchel: Satchel) -> None:
    code = "def shared(): return 'shared by all'\n"
    saving = f"""
        from satchel_runtime import promote_skill, save_skill
        save_skill("shared", {code!r}, "For all.", example="from skills.shared import shared\\nshared()")
        from skills.agent_b import shared
        print(shared())
    """
    assert await printed(satchel, saving, agent="agent-b") == ["shared by all"]
    await satchel.saved_skills.promote("shared", agent="agent-b", force=True)
    importing = """
        from skills.community import shared
        from skills.community.shared import shared as same
        from skills.shared import shared as flat
        print(shared(), same is flat is shared)
    """
    assert await printed(satchel, importing, agent="agent_a") == ["shared by all True"]
    typescript = "export function sharedToo() { return 'in TypeScript'; }"
    saving = f"""
        import {{ saveSkill }} from "satchel-runtime";
        await saveSkill("shared-too", {typescript!r}, "For all.");
    """
    assert await printed(satchel, saving, agent="agent-b", language="typescript") == []
    importing = """
        import { sharedToo } from "./skills/agent_b/shared-too";
        console.log(sharedToo());
    """
    assert await printed(satchel, importing, agent="agent-b", language="typescript") == ["in TypeScript"]


async def test_a_search_by_meaning_of_massgen_runs(satchel: Satchel) -> None:
    told = await printed(
        satchel,
        """
        from _massgen_runtime import semantic_search
        results = semantic_search(
            query="Navigate to a URL in the browser",
            search_paths=["servers/", "tools/"],
            top_k=5
        )
        for result in results:
            print(f"{result.path}: {result.relevance_score > 0}")
        """,
    )
    assert told[0] == "/mnt/code-api/tools/web/playwright_navigate.py: True"
    assert len(told) <= 5


async def test_a_custom_tool_is_called_by_its_full_name(satchel: Satchel) -> None:
    told = await printed(
        satchel,
        """
        from _massgen_runtime import call_custom_tool
        print((await call_custom_tool("web.playwright_navigate", url="https://ag2.ai/"))["title"])
        """,
    )
    assert told == ["Page of https://ag2.ai/"]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        ('call_mcp_tool("filesystem", "reed_file", {})', "ValueError", "did you mean filesystem.read_file"),
        ('call_mcp_tool("filesystem", "read_file", {"pth": "a"})', "ValueError", "pth"),
        ('call_mcp_tool("admin-panel", "echo", {"text": "x"})', "PermissionError", "agent 'agent-b'"),
        ('call_mcp_tool("admin-panel", "echo", {"text": "x"})', "PermissionError", "admin-panel"),
    ],
)
async def test_a_failed_call_raises_what_massgen_names(
    satchel: Satchel, call: str, error: str, text: str
) -> None:
    told = await printed(
        satchel,
        f"""
        from _massgen_runtime import call_mcp_tool
        try:
            await {call}
        except {error} as error:
            print(error)
        """,
        agent="agent-b",
    )
    assert text in told[0]


@pytest.mark.parametrize("language", ["python", "typescript"])
async def test_a_time_out_above_the_highest_is_cut_and_told(satchel: Satchel, language: str) -> None:
    execution = await run(satchel, "result = 1", timeout=500, language=language)
    assert (execution.exit_code, execution.result) == (0, 1)
    assert execution.reason == "timeout 500 s is more than max_timeout allows: it had 40 s"
    (record,) = [each for each in await satchel.journal.executions() if each.id == execution.id]
    assert record.outcome is not None and record.outcome["reason"] == execution.reason


async def test_the_names_of_the_calls_are_those_that_a_search_shows(satchel: Satchel) -> None:
    execution = await run(satchel, 'call_mcp_tool("google-drive.echo", {"text": "x"})')
    (use,) = execution.tools_called
    assert use.tool in [tool["name"] for tool in satchel.search_tools("echo")["tools"]]
    assert use.tool == "google_drive__echo"


async def test_a_promise_that_is_printed_says_how_its_value_comes(satchel: Satchel) -> None:
    code = 'import { echo } from "./servers/google-drive";\nconsole.log(echo({ text: "x" }));'
    assert await printed(satchel, code, language="typescript") == ["Promise { its value comes with await }"]
