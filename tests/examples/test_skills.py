"""The example skills: each passes its own test, keeps the rules, and can be found and imported."""

import os
import shutil
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from satchel.library.saved import community
from tests.projects import Project

EXAMPLES = Path(__file__).parents[2] / "examples"
COMMUNITY = EXAMPLES / "skills" / "community"
SKILLS = sorted(file.parent.name for file in COMMUNITY.glob("*/SKILL.md"))

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A copy of the examples, whose state all of these tests share."""
    ignored = shutil.ignore_patterns(".satchel", "universal", "__pycache__")
    return Project(
        Path(shutil.copytree(EXAMPLES, tmp_path_factory.mktemp("project") / "examples", ignore=ignored))
    )


@pytest.fixture(autouse=True)
def one_home(examples: Project, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All tests are one user, whose example servers run with the Python that runs the test."""
    monkeypatch.setenv("HOME", str(examples.directory.parent / "home"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.parametrize("name", SKILLS)
def test_each_example_skill_passes_its_test(examples: Project, name: str) -> None:
    tested = examples.run("skills", "test", f"community:{name}")
    assert tested.code == 0, tested.out + tested.err
    assert f"community:{name} passed" in tested.err


def test_the_example_skills_keep_the_rules_and_the_scan_finds_nothing(examples: Project) -> None:
    assert len(SKILLS) >= 5
    for command in ("lint", "scan"):
        outcome = examples.run("skills", command, "--json")
        assert (outcome.code, outcome.json["findings"]) == (0, [])
        assert outcome.json["checked"] == len(SKILLS)
    for name in SKILLS:
        text = (COMMUNITY / name / "SKILL.md").read_text()
        (module,) = (COMMUNITY / name).glob(f"{name.replace('-', '?')}.[pt][ys]")
        assert sha256(module.read_bytes()).hexdigest() in text
        (example,) = (COMMUNITY / name / "tests").glob("example.*")
        assert example.read_text().strip() in text
    assert examples.run("skills", "check").code == 0  # the tools are those that the skills were made for


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("look up a customer", "find-customer"),
        ("forecast of the sales pipeline", "pipeline-report"),
        ("records as a CSV table", "to-csv"),
        ("find faulty records", "validate-records"),
        ("catch up on a channel", "channel-digest"),
    ],
)
def test_an_agent_finds_the_example_skill_for_a_task(examples: Project, query: str, name: str) -> None:
    found = examples.run("skills", "search", query, "--json").json["skills"]
    assert found[0]["name"] == name


def test_a_program_combines_the_example_skills(examples: Project) -> None:
    code = """
from skills.find_customer import find_customer
from skills.to_csv import to_csv

customer = await find_customer("Meridian Health")
print(to_csv(customer["open_deals"], ["id", "stage"]), end="")
"""
    done = examples.run("run", "-", "--agent", "default", stdin=code)
    assert done.code == 0, done.err
    assert done.out.startswith("id,stage\nOPP-001,")


def test_the_folder_of_the_examples_explains_itself_as_satchel_does() -> None:
    written = Path(community.__file__).with_name("community.md")
    assert (COMMUNITY / "README.md").read_bytes() == written.read_bytes()
