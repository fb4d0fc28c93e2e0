"""A program that holds every lock it can get, while people and other programs go on."""

import fcntl
import os
from pathlib import Path

import anyio
import pytest

from satchel import open_satchel
from tests.library.skill_files import make_skill
from tests.projects import Project
from tests.servers import raw

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.e2e]

HOLD = """
import fcntl, os
held, seen = [], set()
def hold(path):
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        status = os.fstat(descriptor)
        if (status.st_dev, status.st_ino) in seen:
            os.close(descriptor)
            return
        seen.add((status.st_dev, status.st_ino))
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        held.append(path)
    except OSError:
        pass
for top in ("/", "/mnt", "/workspace", "/program", "/opt", "/tmp", *granted):
    for directory, folders, files in os.walk(top, followlinks=False):
        if top == "/" and directory != "/":
            break
        for name in ("", *folders, *files[:20]):
            hold(os.path.join(directory, name))
print(len(held))
print([path for path in held if path.startswith("/mnt/skills")])
"""
WAIT = 60  # seconds


async def test_no_command_waits_for_a_lock_that_a_program_holds(tmp_path: Path) -> None:
    project = Project(tmp_path / "project", {"good": raw("good")})
    granted = project.directory / "granted"
    granted.mkdir()
    settings = f"code_execution:\n  sandbox:\n    open_files: 4096\n    allow_read: ['{granted}']\n"
    (project.directory / "satchel.yaml").write_text(settings)
    for name in ("first", "second"):
        make_skill(tmp_path / name)

    async def satchel(*arguments: str) -> str:
        done = await anyio.to_thread.run_sync(lambda: project.run(*arguments, timeout=WAIT))
        assert done.code == 0, done
        assert "locked" not in done.err
        return done.out

    await satchel("skills", "install", str(tmp_path / "first"))
    async with open_satchel(project.directory) as opened:
        held = await opened.execute(f"granted = [{str(granted)!r}]\n{HOLD}", session="new")
        assert "/mnt/skills/custom" in held.stdout, held
        descriptor = os.open(project.directory / "skills/custom", os.O_RDONLY)
        with pytest.raises(BlockingIOError):  # it is hostile
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(descriptor)
        await satchel("skills", "install", str(tmp_path / "second"))
        await satchel("skills", "remove", "custom:first", "--yes")
        await satchel("skills", "disable", "custom:second")
        await satchel("generate")
        await satchel("refresh")
        saved = await opened.execute("""
from satchel_runtime import save_skill
print(await save_skill("count", "def count(): return 1", "Counts."))
""")
        assert saved.exit_code == 0, saved
        await satchel("skills", "list")
        others = await opened.execute(f"granted = []\n{HOLD}")
        assert others.exit_code == 0, others
    assert os.listdir(project.directory / "skills/custom") == ["second"]
