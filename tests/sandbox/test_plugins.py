"""Plugins in the box: each as a whole, read-only, and no longer once it is disabled or gone."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from satchel import Satchel, open_satchel
from satchel.errors import NotFoundError, SandboxError
from tests.plugin_folders import PLUGINS_ROOT, add_sales, switch, write_files
from tests.projects import Project

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

PYTHON = """
import os
folder = "/mnt/plugins/sales/skills/call-prep"
print(open(folder + "/../../CONNECTORS.md").read().strip() if os.path.exists(folder) else "nothing")
try:
    open("/mnt/plugins/sales/new", "w")
except OSError as error:
    print(type(error).__name__)
print(sorted(os.listdir("/mnt/plugins")) if os.path.exists("/mnt/plugins") else [])
"""
TYPESCRIPT = """
const folder = '/mnt/plugins/sales/skills/call-prep';
console.log((await Deno.readTextFile(folder + '/../../CONNECTORS.md')).trim());
"""


@pytest.fixture
def project(tmp_path: Path, own_home: Path) -> Path:
    directory = Project(tmp_path / "project", {}).directory
    (directory / "satchel.yaml").write_text("code_execution: { timeout: 60, max_timeout: 60 }\n")
    add_sales(directory)
    return directory


async def output(satchel: Satchel, code: str, **more: Any) -> list[str]:
    done = await satchel.execute(code, **more)
    assert done.exit_code == 0, done.stderr
    return done.stdout.splitlines()


async def test_programs_of_both_languages_read_a_plugin_as_a_whole(project: Path) -> None:
    seen = ["What is connected to sales.", "OSError", "['sales']"]
    async with open_satchel(project, environment=dict(os.environ)) as satchel:
        assert await output(satchel, PYTHON) == seen
        assert await output(satchel, TYPESCRIPT, language="typescript") == seen[:1]
        assert await output(satchel, PYTHON, session="new") == seen


async def test_boxes_that_are_ready_show_no_plugin_that_was_disabled_replaced_or_removed(
    project: Path,
) -> None:
    folder = project / PLUGINS_ROOT / "sales"
    async with open_satchel(project, environment=dict(os.environ)) as satchel:
        for _ in range(2):  # the second in a box that was prepared, where there is any
            assert (await output(satchel, PYTHON))[0] == "What is connected to sales."

        switch(project, "plugins", sales=False)
        assert await output(satchel, PYTHON) == ["nothing", "FileNotFoundError", "[]"]
        switch(project, "plugins", sales=True)
        old = folder.with_name(".old")
        new = write_files(project / "new", {"CONNECTORS.md": "Replaced.", "skills/call-prep/SKILL.md": "x"})
        folder.rename(old)
        new.rename(folder)
        assert (await output(satchel, PYTHON))[0] == "Replaced."
        shutil.rmtree(folder)
        assert await output(satchel, PYTHON) == ["nothing", "FileNotFoundError", "[]"]


async def test_plugins_are_shown_where_the_settings_say(project: Path) -> None:
    (project / "satchel.yaml").write_text("plugins: { container_path: /mnt/extras }\n")
    async with open_satchel(project, environment=dict(os.environ)) as satchel:
        assert await output(satchel, "import os; print(os.listdir('/mnt/extras'))") == ["['sales']"]
        assert "/mnt/extras/sales/a" in satchel.commands.expand("sales:forecast")
    (project / "satchel.yaml").write_text("plugins: { container_path: /mnt/skills }\n")
    async with open_satchel(project, environment=dict(os.environ)) as satchel:
        with pytest.raises(SandboxError, match="container_path"):
            await satchel.execute("1")


async def test_a_session_ends_with_a_plugin_that_it_shows_and_outlives_others(project: Path) -> None:
    async with open_satchel(project, environment=dict(os.environ)) as satchel:
        session = (await satchel.execute("a = 1", session="new")).session
        assert session is not None
        write_files(project / PLUGINS_ROOT / "more", {"commands/a.md": "A"})
        assert await output(satchel, "print(a)", session=session) == ["1"]

        switch(project, "plugins", sales=False)
        with pytest.raises(NotFoundError) as caught:
            await satchel.execute("print(a)", session=session)
        assert "the plugin sales was disabled, replaced or removed" in str(caught.value.hint)
