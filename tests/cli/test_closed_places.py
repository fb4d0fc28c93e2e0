"""Where nothing can be written, or root has lost its rights: an error and what to do, and no traceback."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from satchel.catalog import cache
from satchel.cli.main import main
from tests.library.skill_files import make_skill
from tests.projects import Outcome, Project
from tests.servers import raw
from tests.terminals import decide
from tests.upstream.helpers import lines

pytestmark = pytest.mark.e2e

_ALL = "-all"
_OTHERS_FILES = "-dac_override,-dac_read_search"
as_root = pytest.mark.skipif(
    os.geteuid() != 0 or not sys.platform.startswith("linux") or shutil.which("setpriv") is None,
    reason="needs root, and setpriv to take its rights away",
)


def run_without(
    rights: str, project: Project, *arguments: str, environment: Mapping[str, str] | None = None
) -> Outcome:
    """Run a command with fewer capabilities than root has, which would make permissions count for nothing."""
    done = subprocess.run(
        [*without(rights), *project.command(*arguments)],
        cwd=project.directory,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def without(rights: str) -> list[str]:
    """What comes before such a command."""
    setpriv = shutil.which("setpriv")
    if os.geteuid() != 0:
        return []
    if setpriv is None:
        pytest.skip("root can write everywhere, and there is no setpriv")
    return [setpriv, f"--bounding-set={rights}", f"--inh-caps={rights}"]


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    """A directory that can be read, and not written to."""
    directory = tmp_path / "closed"
    directory.mkdir()
    directory.chmod(0o555)
    return directory


@pytest.mark.parametrize(
    "arguments",
    [
        ["add", "other", "--no-check", "--", "true"],
        ["remove", "good"],
        ["disable", "good"],
        ["skills", "disable", "demo"],
        ["skills", "enable", "demo"],
    ],
    ids=" ".join,
)
def test_a_project_that_can_not_be_written_to_stays_as_it_is_and_is_named(
    tmp_path: Path, arguments: list[str]
) -> None:
    project = Project(tmp_path / "project", {"good": raw("good")})
    make_skill(project.directory / "skills" / "custom" / "demo")
    before = project.file.read_text()
    project.directory.chmod(0o555)

    outcome = run_without(_OTHERS_FILES, project, *arguments)

    assert outcome.code == 3
    assert f"error: {project.file}: can't be written: Permission denied\n" in outcome.err
    assert f"hint: nothing was changed; make {project.directory} writable" in outcome.err
    assert "Traceback" not in outcome.err
    assert project.file.read_text() == before


def test_a_token_that_can_not_be_kept_is_not_given_out(tmp_path: Path, closed: Path) -> None:
    outcome = run_without(
        _OTHERS_FILES, Project(tmp_path / "project", {}), "token", environment={"XDG_DATA_HOME": str(closed)}
    )

    assert (outcome.code, outcome.out) == (3, "")
    assert f"error: {closed}/satchel/tokens/" in outcome.err
    assert "can't be written: Permission denied\nhint: " in outcome.err
    assert "Traceback" not in outcome.err


def test_an_archive_that_can_not_be_written_is_an_error(tmp_path: Path, closed: Path) -> None:
    project = Project(tmp_path / "project", {})
    folder = make_skill(project.directory / "demo")

    outcome = run_without(
        _OTHERS_FILES, project, "skills", "pack", str(folder), "--output", f"{closed}/demo.skill"
    )

    assert outcome.code == 2
    assert f"error: {closed}/demo.skill can't be written: Permission denied\nhint: " in outcome.err


def test_without_a_cache_servers_are_listed_all_the_same_and_a_warning_says_why_that_takes_time(
    tmp_path: Path, closed: Path
) -> None:
    log = tmp_path / "log"
    servers = {"good": raw("good", log=log), "broken": raw("crash_start")}
    project = Project(tmp_path / "project", servers)

    outcome = run_without(_OTHERS_FILES, project, "list", environment={"XDG_CACHE_HOME": str(closed)})

    assert outcome.code == 0
    assert "good    8 tools  listed  stdio" in outcome.out
    assert "broken  -        failed  stdio" in outcome.out
    assert "DATABASE_URL is not set" in outcome.err
    warning = f"warning: {closed}/satchel/catalog can't be written: Permission denied"
    assert outcome.err.count(warning) == 1
    assert "hint: make it writable" in outcome.err
    assert lines(log).count("start") == 1


def test_without_a_place_for_its_key_the_cache_is_of_no_use_and_that_is_said(
    tmp_path: Path, closed: Path
) -> None:
    project = Project(tmp_path / "project", {"good": raw("good")})
    outcome = run_without(_OTHERS_FILES, project, "list", environment={"XDG_DATA_HOME": str(closed)})
    assert f"warning: {closed}/satchel can't be written: Permission denied" in outcome.err
    assert outcome.err.count(f"{closed}/satchel") == 1


def test_changes_that_can_not_be_recorded_as_accepted_are_an_error(tmp_path: Path, own_home: Path) -> None:
    project = Project(tmp_path / "project", {"good": raw("good")})
    assert project.run("list").code == 0
    catalog = own_home / ".cache/satchel/catalog"
    (file,) = catalog.iterdir()
    file.write_text(file.read_text().replace('"changes": []', _CHANGE, 1))
    catalog.chmod(0o555)

    command = [*without(_OTHERS_FILES), *project.command("refresh", "good", "--accept")]
    code, said = decide(command, project.directory)

    assert code == 1
    assert f"nothing was accepted: {file} can't be written" in said
    assert "Traceback" not in said


_CHANGE = (
    '"changes": [{"tool": "echo", "before": "a", "after": "b", "fields": ["title"], "at": "2026-01-01"}]'
)


@as_root
@pytest.mark.parametrize("rights", [_ALL, _OTHERS_FILES])
def test_root_without_its_rights_is_told_to_be_an_ordinary_user(tmp_path: Path, rights: str) -> None:
    project = Project(tmp_path / "project", {})
    (project.directory / "program.py").write_text("print(1)")

    outcome = run_without(rights, project, "run", "program.py")

    assert outcome.code == 5
    workspace = project.directory / ".satchel/agents/default/workspace"
    assert f"error: {workspace} can't be given to the user of programs (uid 62014): " in outcome.err
    assert "run it as an ordinary user" in outcome.err
    assert "Traceback" not in outcome.err
    assert workspace.stat().st_uid == 0


@as_root
@pytest.mark.parametrize("rights", [_ALL, _OTHERS_FILES])
def test_doctor_tells_root_without_its_rights_the_same_and_leaves_nothing_behind(
    tmp_path: Path, rights: str
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()

    outcome = run_without(
        rights, Project(tmp_path / "project", {}), "doctor", environment={"TMPDIR": str(temporary)}
    )

    assert outcome.code == 4
    assert "  FAIL  sandbox: " in outcome.out
    assert "run it as an ordinary user" in outcome.out
    assert "Traceback" not in outcome.err
    assert not list(temporary.iterdir())


@as_root
def test_a_workspace_from_before_that_is_closed_to_root_now_has_the_same_hint(tmp_path: Path) -> None:
    project = Project(tmp_path / "project", {})
    (project.directory / "program.py").write_text("print(1)")
    assert project.run("run", "program.py").out == "1\n"

    outcome = run_without(_OTHERS_FILES, project, "run", "program.py")

    assert outcome.code == 5
    assert "can't be used: Permission denied" in outcome.err
    assert "run it as an ordinary user" in outcome.err


def test_a_command_says_nothing_of_what_another_could_not_write(capsys: pytest.CaptureFixture[str]) -> None:
    cache.faults[Path("/somewhere")] = "Permission denied"

    assert main(["completion", "bash"]) == 0
    assert capsys.readouterr().err == ""
