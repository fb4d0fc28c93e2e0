"""`satchel generate`, as a real process on real servers."""

import json
import os
import pty
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from satchel import open_satchel
from satchel.catalog import Catalog
from satchel.config import find_paths, read_configuration
from satchel.model import Listing
from satchel.support.files import locked
from tests.codegen.trees import Content, contents, damage, marks, tool
from tests.projects import Outcome, Project
from tests.servers import raw
from tests.upstream.helpers import lines, until

pytestmark = pytest.mark.e2e

PYTHON = Path(".satchel/code-api/python")
TYPESCRIPT = Path(".satchel/code-api/typescript")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return known(tmp_path, {"good": raw("good"), "memos": raw("resources")})


def known(directory: Path, servers: Mapping[str, Mapping[str, Any]]) -> Project:
    """A project whose servers have been listed; here, because this process has loaded the SDK already."""
    project = Project(directory / "project", servers)

    async def refresh() -> None:
        async with open_satchel(project.directory) as satchel:
            await satchel.servers.refresh()

    anyio.run(refresh)
    return project


def generate(project: Project, *arguments: str) -> Outcome:
    outcome = project.run("generate", *arguments)
    assert outcome.code == 0, outcome.err
    return outcome


def listed(tree: Path) -> list[str]:
    return [row["name"] for row in json.loads((tree / "servers/index.json").read_text())["servers"]]


def test_servers_that_nothing_is_known_of_are_listed_first_and_only_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    project = Project(tmp_path / "project", {"good": raw("good", log=log)})
    outcome = generate(project)
    assert "8 tools from 1 server" in outcome.err
    assert (project.directory / PYTHON / "servers/good/echo.py").exists()
    assert (project.directory / TYPESCRIPT / "servers/good/echo.ts").exists()
    generate(project)
    assert lines(log).count("start") == 1


def test_it_says_what_was_written_where_and_what_to_try(project: Project) -> None:
    first = generate(project)
    python, typescript = (len(contents(project.directory / tree)) for tree in (PYTHON, TYPESCRIPT))
    assert first.out.splitlines() == [
        f"{PYTHON}: {python} files written, 0 unchanged",
        f"{TYPESCRIPT}: {typescript} files written, 0 unchanged",
    ]
    assert first.err.splitlines() == [
        "16 tools from 2 servers",
        "try:",
        f"  ls {PYTHON}/servers",
        f"  cat {PYTHON}/servers/good/echo.py",
        f"  cat {PYTHON}/README.md",
        f"  deno run {TYPESCRIPT}/example.ts",
    ]
    assert (project.directory / PYTHON / "README.md").exists()
    before = marks(project.directory / PYTHON)
    second = generate(project)
    assert second.out.splitlines()[0] == f"{PYTHON}: 0 files written, {python} unchanged"
    assert marks(project.directory / PYTHON) == before


def test_json_has_all_of_it(project: Project) -> None:
    generate(project, "--language", "python")
    (project.directory / PYTHON / "mine.txt").write_text("mine")
    outcome = generate(project, "--language", "python", "--json")
    files = len(contents(project.directory / PYTHON)) - 1
    tree = {"directory": str(project.directory / PYTHON), "written": 0, "unchanged": files, "removed": 0}
    assert outcome.json == {
        "tools": 16,
        "servers": 2,
        "not_generated": {},
        "trees": [{**tree, "foreign": ["mine.txt"]}],
    }
    assert outcome.err == ""


def test_a_named_server_is_generated_and_no_other_is_started(tmp_path: Path) -> None:
    logs = [tmp_path / name for name in ("one", "two", "three")]
    project = Project(tmp_path / "project", {log.name: raw("good", log=log) for log in logs})
    outcome = generate(project, "--server", "two")
    assert "8 tools from 1 server\n" in outcome.err
    assert [lines(log).count("start") for log in logs] == [0, 1, 0]
    assert listed(project.directory / PYTHON) == ["two"]
    before = marks(project.directory / PYTHON / "servers/two")
    outcome = generate(project, "--server", "one", "--server", "three", "--language", "python")
    assert "16 tools from 2 servers" in outcome.err
    assert listed(project.directory / PYTHON) == ["one", "two", "three"]
    assert listed(project.directory / TYPESCRIPT) == ["two"]
    assert marks(project.directory / PYTHON / "servers/two") == before


def test_an_unknown_server_ends_with_2_and_the_closest_names(project: Project) -> None:
    outcome = project.run("generate", "--server", "gud", "--server", "memos")
    assert outcome.code == 2
    assert "unknown server 'gud'" in outcome.err
    assert "good" in outcome.err
    assert not (project.directory / ".satchel").exists()


def test_any_spelling_of_a_server_will_do(tmp_path: Path) -> None:
    project = known(tmp_path, {"my-server": raw("good"), "other": raw("good")})
    generate(project, "--server", "my_server")
    assert listed(project.directory / PYTHON) == ["my-server"]


@pytest.mark.parametrize("language", ["python", "typescript"])
def test_one_language_can_be_asked_for(project: Project, language: str) -> None:
    generate(project, "--language", language)
    assert [path.name for path in (project.directory / ".satchel/code-api").iterdir()] == [language]


def test_another_place_can_be_asked_for(project: Project, own_home: Path) -> None:
    outcome = generate(project, "--output", "generated/code")
    assert outcome.out.startswith("generated/code/python: ")
    assert (project.directory / "generated/code/typescript/servers/good/echo.ts").exists()
    assert not (project.directory / ".satchel").exists()
    assert not any((project.directory / "generated").glob("**/.gitignore"))
    generate(project, "--output", "~/code", "--language", "python")
    assert listed(own_home / "code/python") == ["good", "memos"]


def test_a_place_that_cannot_be_written_to_is_named_with_a_way_out(project: Project) -> None:
    outcome = project.run("generate", "--output", "/proc/satchel")
    assert outcome.code == 1
    assert "/proc/satchel" in outcome.err
    assert "hint: choose another place with --output" in outcome.err
    assert "Traceback" not in outcome.err
    (project.directory / "file").write_text("mine")
    outcome = project.run("generate", "--output", "file")
    assert outcome.code == 1
    assert "file is in the way" in outcome.err
    assert (project.directory / "file").read_text() == "mine"


def test_clean_writes_everything_anew_but_foreign_files(project: Project) -> None:
    generate(project)
    tree = project.directory / PYTHON
    files = len(contents(tree))
    (tree / "servers/good/mine.py").write_text("mine")
    outcome = generate(project, "--clean", "--language", "python")
    assert f"{PYTHON}: {files} files written, 0 unchanged, {files} removed" in outcome.out
    assert f"left alone, not generated by Satchel: {PYTHON}/servers/good/mine.py\n" in outcome.err
    assert (tree / "servers/good/mine.py").read_text() == "mine"


def test_many_foreign_files_are_named_briefly(project: Project) -> None:
    generate(project)
    for number in range(14):
        (project.directory / PYTHON / f"mine-{number:02}").write_text("mine")
    outcome = generate(project)
    assert outcome.err.count("not generated by Satchel") == 10
    assert "left alone: 4 more such files" in outcome.err


def test_a_failing_server_is_named_and_stops_no_other(tmp_path: Path) -> None:
    project = known(tmp_path, {"bad": raw("crash_start"), "good": raw("good")})
    outcome = generate(project)
    reason = "it failed when last asked (exited with code 3: RuntimeError: DATABASE_URL is not set)"
    assert f"not generated: bad has no tools: {reason}; satchel doctor bad tells more\n" in outcome.err
    assert "8 tools from 1 server\n" in outcome.err
    assert listed(project.directory / PYTHON) == ["good"]
    assert "DATABASE_URL" in generate(project, "--json").json["not_generated"]["bad"]
    alone = project.run("generate", "--server", "bad")
    assert alone.code == 1
    assert f"error: bad has no tools: {reason}; satchel doctor bad tells more\n" in alone.err


def test_a_server_that_fails_now_keeps_its_files(tmp_path: Path) -> None:
    project = known(tmp_path, {"good": raw("good"), "other": raw("good")})
    generate(project)
    before = contents(project.directory / PYTHON / "servers/other")
    project.write({"good": raw("good"), "other": raw("crash_start")})  # so nothing is known of it now
    outcome = generate(project)
    assert "not generated: other has no tools: it failed when last asked" in outcome.err
    assert contents(project.directory / PYTHON / "servers/other") == before
    assert "left alone" not in outcome.err


def test_a_server_that_fails_to_refresh_is_generated_from_what_is_known(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("Say it again.")
    project = known(tmp_path, {"good": raw("rug_pull", text=text)})
    generate(project)
    text.unlink()  # the server dies of it
    assert project.run("refresh").code != 0
    outcome = generate(project)
    assert "1 file written" in outcome.out  # which says that it can't be used
    assert "8 tools from 1 server" in outcome.err
    (row,) = json.loads((project.directory / PYTHON / "servers/unusable.json").read_text())
    assert row["note"].startswith("good can't be used now: it failed when last asked")
    text.write_text("Say it again.")
    assert project.run("refresh").code == 0
    generate(project)
    assert not (project.directory / PYTHON / "servers/unusable.json").exists()


def test_the_files_of_a_disabled_server_go(project: Project) -> None:
    generate(project)
    assert project.run("disable", "good").code == 0
    outcome = generate(project)
    assert listed(project.directory / PYTHON) == ["memos"]
    assert not (project.directory / PYTHON / "servers/good").exists()
    assert "removed" in outcome.out
    assert "good" not in outcome.err
    project.run("enable", "good")
    generate(project)
    assert listed(project.directory / PYTHON) == ["good", "memos"]


def test_a_disabled_server_that_was_asked_for_by_name_is_refused(project: Project) -> None:
    generate(project)
    project.run("disable", "good")
    outcome = project.run("generate", "--server", "good")
    assert outcome.code != 0
    assert "disabled" in outcome.err
    assert "satchel enable good" in outcome.err


def test_the_files_of_a_removed_server_go(project: Project) -> None:
    generate(project)
    assert project.run("remove", "good").code == 0
    outcome = generate(project)
    assert not (project.directory / PYTHON / "servers/good").exists()
    assert "8 tools from 1 server\n" in outcome.err


def test_tools_that_changed_are_written_after_a_refresh(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("Say it again.")
    project = known(tmp_path, {"good": raw("rug_pull", text=text), "memos": raw("resources")})
    generate(project)
    text.write_text("Say it once more.")
    assert "0 files written" in generate(project).out
    project.run("refresh", "good")
    before = marks(project.directory)
    outcome = generate(project, "--language", "python")
    assert f"{PYTHON}: 3 files written" in outcome.out
    folder = PYTHON / "servers/good"
    assert {path for path, mark in marks(project.directory).items() if before.get(path) != mark} == {
        str(folder / name) for name in ("echo.py", "index.json", "__version__.py")
    }
    assert "Say it once more." in (project.directory / folder / "echo.py").read_text()


def test_generated_code_stays_out_of_git(project: Project) -> None:
    generate(project)
    ignored = project.directory / ".satchel/.gitignore"
    assert ignored.read_text() == "*\n"
    ignored.write_text("code-api/\n")
    generate(project)
    assert ignored.read_text() == "code-api/\n"
    if shutil.which("git"):
        subprocess.run(["git", "init", "-q", "."], cwd=project.directory, check=True, timeout=30)
        ignored.write_text("*\n")
        status = subprocess.run(
            ["git", "status", "--porcelain", "--untracked-files=all"],
            cwd=project.directory,
            check=True,
            capture_output=True,
            timeout=30,
        )
        assert status.stdout == b"?? extensions_config.json\n"


@pytest.mark.parametrize("link", [".satchel", ".satchel/code-api", ".satchel/code-api/python"])
def test_a_link_in_the_place_of_the_tree_is_refused(project: Project, tmp_path: Path, link: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    generate(project)
    shutil.rmtree(project.directory / link)
    (project.directory / link).symlink_to(elsewhere)
    outcome = project.run("generate")
    assert outcome.code in (1, 3)
    assert link in outcome.err
    assert "hint: " in outcome.err
    assert contents(elsewhere) == {}


def test_without_servers_it_says_how_to_get_some_and_writes_nothing(tmp_path: Path) -> None:
    project = Project(tmp_path / "project")
    outcome = project.run("generate")
    assert "no servers configured" in outcome.err
    assert "satchel add" in outcome.err
    assert contents(project.directory) == {}


def test_resources_and_prompts_alone_are_generated_too(project: Project) -> None:
    generate(project)
    files = contents(project.directory / PYTHON / "servers")
    assert {"memos/resources.py", "memos/prompts.py"} <= set(files)
    assert not {"good/resources.py", "good/prompts.py"} & set(files)


# Progress


def run_on_terminal(process: "subprocess.Popen[bytes]", master: int) -> str:
    """What a process writes to a terminal until it ends."""
    shown = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:  # how Linux says that nobody has the other end any more
            part = b""
        if not part:
            process.wait(timeout=60)
            os.close(master)
            return shown.decode()
        shown += part


@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc to see what a process waits for")
@pytest.mark.parametrize("terminal", [True, False], ids=["terminal", "pipe"])
async def test_a_bar_is_shown_on_a_terminal_when_it_takes_longer_than_a_second(
    project: Project, own_home: Path, terminal: bool
) -> None:
    """Another process that writes trees makes it wait."""
    generate(project)
    records = own_home / ".local/share/satchel/trees"
    master, slave = pty.openpty() if terminal else (-1, -1)
    with locked(records):
        process = subprocess.Popen(
            project.command("generate", "--clean"),
            cwd=project.directory,
            stdin=slave if terminal else subprocess.DEVNULL,
            stdout=slave if terminal else subprocess.PIPE,
            stderr=slave if terminal else subprocess.STDOUT,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
        )
        if terminal:
            os.close(slave)
        await until(lambda: opened(process.pid, records), 60)
        await anyio.sleep(1.2)  # the first step after a second shows the bar, and there is none before
    if terminal:
        shown = run_on_terminal(process, master)
        assert "generating " + "░" * 30 + " 0/2 servers" in shown
        assert "generating " + "█" * 15 + "░" * 15 + " 1/2 servers" in shown
        shown = shown.rpartition("\r\x1b[K")[2]
    else:
        shown = process.communicate(timeout=60)[0].decode()
    assert "generating" not in shown
    assert "16 tools from 2 servers" in shown
    assert process.returncode == 0


def opened(process: int, path: Path) -> bool:
    """Whether a process has a file open."""
    try:
        return any(link.resolve() == path for link in Path(f"/proc/{process}/fd").iterdir())
    except OSError:
        return False


# Killed at any moment

SERVERS = 6
TOOLS = 50
KILLS = 8


class TwoCatalogs:
    """A project whose catalog can be had in two versions, each in a cache of its own."""

    def __init__(self, directory: Path) -> None:
        self.project = Project(directory / "project")
        self.output = directory / "code-api"
        self.caches = [directory / "cache-0", directory / "cache-1"]
        names = [f"server{number}" for number in range(SERVERS)]
        self.project.write({name: {"command": "true"} for name in names})
        for version, cache in enumerate(self.caches):
            catalog = Catalog(
                read_configuration(
                    find_paths(config=self.project.directory, environment=self.variables(cache))
                )
            )
            for number, name in enumerate(names):
                catalog.record(catalog.entries[name], Listing(tools=tuple(self.tools(number, version))))

    def tools(self, server: int, version: int) -> list[dict[str, Any]]:
        """One server has tools in one version only; of the others some tools come, go, change or stay."""
        if server == version:
            return []
        kept = [tool(f"kept_{number}") for number in range(TOOLS // 2)]
        altered = [tool(f"altered_{number}", f"Version {version}.") for number in range(TOOLS // 4)]
        return [*kept, *altered, *(tool(f"only_{version}_{number}") for number in range(TOOLS // 4))]

    def variables(self, cache: Path) -> Mapping[str, str]:
        return {**os.environ, "XDG_CACHE_HOME": str(cache)}

    def start(self, version: int, output: Path | None = None) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            self.project.command("generate", "--json", "--output", str(output or self.output)),
            cwd=self.project.directory,
            env=self.variables(self.caches[version]),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def complete(self, version: int, output: Path | None = None) -> Sequence[Mapping[str, Any]]:
        process = self.start(version, output)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        return json.loads(out)["trees"]

    def kill(self, version: int, moment: float | None) -> float:
        """Kill a run that many seconds after it began to write, or before that; the seconds it had."""
        before = self.record_time()
        process = self.start(version)
        if moment is None:
            moment = random.uniform(0, 0.3)
        else:
            while self.record_time() == before and process.poll() is None:
                time.sleep(0.002)
        began = time.monotonic()
        try:
            process.communicate(timeout=moment)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate(timeout=60)
        assert process.returncode in (0, -signal.SIGKILL)
        return moment if process.returncode else time.monotonic() - began

    def record_time(self) -> int:
        """Changes when a run has decided what to write."""
        records = Path(os.environ["HOME"]) / ".local/share/satchel/trees"
        return records.stat().st_mtime_ns if records.exists() else 0


def check_completed(catalogs: TwoCatalogs, version: int, right: Mapping[str, Content]) -> None:
    trees = catalogs.complete(version)
    assert contents(catalogs.output) == right
    assert [tree["foreign"] for tree in trees] == [[], []]


@pytest.mark.slow
@pytest.mark.parametrize("updating", [False, True], ids=["a new tree", "an update"])
def test_killed_at_any_moment_it_leaves_whole_files_and_the_next_run_completes(
    tmp_path: Path, updating: bool
) -> None:
    catalogs = TwoCatalogs(tmp_path)
    right: list[dict[str, Content]] = []
    for version in (0, 1):
        catalogs.complete(version, tmp_path / f"right-{version}")
        right.append(contents(tmp_path / f"right-{version}"))
    assert len(right[0]) > 2 * (SERVERS - 1) * TOOLS
    assert right[0] != right[1]
    if updating:
        catalogs.complete(0)
    longest, killed, version = 2.0, 0, 1  # how long writing takes is learned from runs that came to their end
    for number in range(KILLS + 1):
        moment = None if number % 6 == 5 else longest * ((number * 5 % 13) / 13 if number else 1)
        lasted = catalogs.kill(version, moment)
        if moment is not None and lasted < moment:
            longest = 0.9 * lasted
        else:
            killed += 1
        old = right[1 - version] if updating else {}
        assert damage(catalogs.output, old, right[version]) == []
        check_completed(catalogs, version, right[version])
        if updating:
            version = 1 - version
        else:
            shutil.rmtree(catalogs.output)
    assert killed > KILLS / 3


def test_it_is_the_same_as_the_console_script(project: Project) -> None:
    script = Path(sys.executable).parent / "satchel"
    generate(project)
    done = subprocess.run(
        [str(script), "generate"],
        cwd=project.directory,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "0 files written" in done.stdout


def test_a_place_of_your_own_with_files_in_it_is_not_written_over(project: Project) -> None:
    readme = project.directory / "out" / "python" / "README.md"
    readme.parent.mkdir(parents=True)
    readme.write_text("mine")
    outcome = project.run("generate", "--output", "out")
    assert outcome.code == 1
    assert "README.md is there already" in outcome.err
    assert "--clean" in outcome.err
    assert readme.read_text() == "mine"
