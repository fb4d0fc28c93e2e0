"""Servers of plugins through `satchel serve`: every spelling is called, and a change counts while it runs."""

import os
from pathlib import Path

import anyio
import pytest

from satchel.config.plugins.state import set_plugin_enabled
from satchel.verbs.plugins.library import open_plugin_library
from tests.config.plugins.folders import paths_of, remote, trust, write_plugin
from tests.projects import Project
from tests.server.helpers import call, connected_over_stdio, own_environment, text_of
from tests.servers import http_server

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

_NAMES = ("alpha_chat__add", "beta_chat__add", "mcp__plugin_alpha_chat__add", "mcp__plugin_beta_chat__add")


async def test_a_running_satchel_serves_every_name_and_follows_the_plugins(tmp_path: Path) -> None:
    project = Project(tmp_path / "project", {})
    (project.directory / "satchel.yaml").write_text("mode: direct\n")
    environment = own_environment(Path(os.environ["HOME"]))  # where the approvals are
    async with http_server() as url:
        for name in ("alpha", "beta"):
            folder = write_plugin(project.directory, name, {"chat": remote(url)})
            if name == "beta":
                (folder / "commands").mkdir()
                (folder / "commands" / "greet.md").write_text("Greet $ARGUMENTS.\n")
        paths = paths_of(project.directory)
        trust(paths, "alpha", "beta")
        async with connected_over_stdio(project, environment, "auto") as client:

            async def shown() -> set[str]:
                return {
                    tool.name for tool in (await client.list_tools()).tools if tool.name.endswith("__add")
                }

            await call(client, _NAMES[0], a=1, b=2)
            assert await shown() == {"alpha_chat__add"}
            for name in _NAMES:
                answer = await call(client, name, a=1, b=2)
                assert (answer.is_error, text_of(answer)) == (False, "3"), name
            set_plugin_enabled(paths.extensions_file, "alpha", enabled=False)
            assert await shown() == {"beta_chat__add"}
            assert not (await call(client, "beta_chat__add", a=1, b=2)).is_error
            assert [prompt.name for prompt in (await client.list_prompts()).prompts] == ["beta:greet"]
            open_plugin_library(project.directory).remove("beta")
            assert await shown() == set()
            with anyio.fail_after(60):
                while (await client.list_prompts()).prompts:  # noqa: ASYNC110  it is another process
                    await anyio.sleep(0.1)
