"""`satchel search`, as real processes: it answers from what was listed, and starts nothing twice."""

from pathlib import Path

import pytest

from tests.projects import Project
from tests.servers import raw
from tests.upstream.helpers import lines

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the server `good` was sent."""
    return tmp_path_factory.mktemp("logs") / "log"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shared-home")


@pytest.fixture
def shared_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One cache for all tests here, so that the servers are listed once."""
    monkeypatch.setenv("HOME", str(home))


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("search")


@pytest.fixture
def project(shared_home: None, directory: Path, log: Path) -> Project:
    return Project(directory, {"good": raw("good", log=log), "memos": raw("resources")})


def test_what_fits_is_a_line_each_and_servers_start_only_to_be_listed(project: Project, log: Path) -> None:
    first = project.run("search", "add", "two", "numbers")
    assert (first.code, first.err) == (0, "")
    assert first.out.splitlines()[0] == "good.add: Add two numbers."
    assert lines(log).count("start") == 1
    second = project.run("search", "add two numbers")
    assert (second.code, second.out) == (0, first.out)
    assert lines(log).count("start") == 1


def test_json_is_the_answer_that_agents_get(project: Project) -> None:
    answer = project.run("search", "add numbers", "--server", "good", "--limit", "1", "--json").json
    assert (answer["query"], answer["server_filter"], answer["showing"]) == ("add numbers", "good", 1)
    assert answer["tools"] == [
        {
            "name": "good__add",
            "short_name": "add",
            "server": "good",
            "description": "Add two numbers.",
            "allowed": True,
        }
    ]


def test_a_server_without_a_query_is_enumerated_in_pages(project: Project) -> None:
    rows = [
        row["short_name"]
        for offset in ("0", "3", "6")
        for row in project.run(
            "search", "--server", "good", "--detail", "name", "--limit", "3", "--offset", offset, "--json"
        ).json["tools"]
    ]
    assert rows == ["echo", "add", "sleep", "progress", "environment", "fail", "count", "stderr"]


def test_the_detail_says_how_much_of_each_is_shown(project: Project) -> None:
    assert project.run("search", "good.add", "--detail", "name").out.splitlines()[0] == "good.add"
    full = project.run("search", "select:good.add", "--detail", "full").out
    assert "async def add(*, a: int, b: int)" in full
    assert "function add(" in full
    assert "servers/good/add.py" in full
    (tool,) = project.run("search", "select:good.add", "--detail", "full", "--json").json["tools"]
    assert tool["parameters"]["required"] == ["a", "b"]
    assert tool["output"]["required"] == ["sum"]


def test_exactly_those_are_shown_that_are_selected(project: Project) -> None:
    outcome = project.run("search", "select:good__echo,good.add,good.ecko")
    assert outcome.code == 0
    first, second, *rest = outcome.out.splitlines()
    assert (first.split(":")[0], second.split(":")[0]) == ("good.echo", "good.add")
    assert "unknown tool 'good.ecko'" in rest[0]


def test_nothing_found_is_no_failure_and_says_what_next(project: Project) -> None:
    outcome = project.run("search", "xyzzy", "plugh")
    assert outcome.code == 0
    assert "nothing fits" in outcome.out
    assert "good" in outcome.out
    assert project.run("search", "xyzzy", "--json").json["tools"] == []


@pytest.mark.parametrize(
    ("arguments", "texts"),
    [
        ([], ["the query is empty", "hint:"]),
        (["echo", "--server", "gud"], ["unknown server 'gud'", "good"]),
        (["echo", "--limit", "0"], ["limit is 0", "1 to 50"]),
        (["echo", "--offset", "-1"], ["offset -1"]),
        (["echo", "--detail", "everything"], ["everything"]),
        (["echo", "--limit", "many"], ["many"]),
    ],
)
def test_mistakes_exit_with_2_and_say_what_and_what_next(
    project: Project, arguments: list[str], texts: list[str]
) -> None:
    outcome = project.run("search", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    for text in texts:
        assert text in outcome.err
    assert "Traceback" not in outcome.err


def test_what_the_default_agent_may_not_call_is_marked(project: Project) -> None:
    settings = project.directory / "satchel.yaml"
    settings.write_text('agents: { default: { deny: ["*.add"] } }\n')
    try:
        outcome = project.run("search", "select:good.add,good.echo")
    finally:
        settings.unlink()
    assert [line.endswith("(not allowed)") for line in outcome.out.splitlines()] == [True, False]


def test_a_project_without_servers_says_how_to_get_some(tmp_path: Path) -> None:
    outcome = Project(tmp_path, {}).run("search", "anything")
    assert outcome.code == 0
    assert "satchel" in outcome.out + outcome.err
    assert "Traceback" not in outcome.err


def test_a_server_that_fails_keeps_no_other_from_being_found(tmp_path: Path) -> None:
    project = Project(tmp_path, {"broken": raw("crash_start"), "good": raw("good")})
    outcome = project.run("search", "add numbers")
    assert outcome.code == 0
    assert outcome.out.startswith("good.add:")
    assert "Traceback" not in outcome.err
