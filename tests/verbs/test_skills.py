"""Skills as agents see them: whose are whose, what is found, and what of them can be read."""

import gc
import json
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from satchel import open_satchel
from satchel.config import Configuration, find_paths, read_configuration
from satchel.errors import ArgumentError, NotFoundError
from satchel.library.sources import mounts
from satchel.model import Skill
from satchel.search.tool_documents import split_sentence
from satchel.verbs.skill_library import SkillLibrary
from satchel.verbs.skills import ShownSkills
from tests.library.skill_files import NO_PLUGINS, PLUGINS, make_skill, real_skills, swapping, text_of
from tests.projects import Project

SECRET = "the secret"
BASE = "/mnt/skills"


class Skills(ShownSkills):
    """Those of a project that tests write to; its settings are read anew each time."""

    def __init__(self, directory: Path) -> None:
        self.project = directory / "project"
        self.root = self.project / "skills"
        self.root.mkdir(parents=True)
        self.user = directory / "home" / ".config" / "satchel" / "skills"
        self.configure({})
        super().__init__(self.read_configuration)

    def configure(self, settings: Mapping[str, Any]) -> None:
        new = self.project / "settings.new"
        new.write_text(json.dumps(settings))
        new.replace(self.project / "satchel.yaml")

    def read_configuration(self) -> Configuration:
        environment = {"HOME": str(self.user.parents[2])}
        return read_configuration(find_paths(config=self.project, environment=environment))

    def switch(self, **states: bool) -> None:
        text = json.dumps({"skills": {name: {"enabled": state} for name, state in states.items()}})
        (self.project / "extensions_config.json").write_text(text)

    def make(self, place: str, **more: str) -> Path:
        return make_skill(self.root / place, **more)

    def names(self, agent: str = "default") -> list[str]:
        return [skill.identity for skill in self.of(agent)]


@pytest.fixture
def skills(tmp_path: Path) -> Skills:
    return Skills(tmp_path)


# Who sees what


@pytest.fixture
def everybody(skills: Skills) -> Skills:
    for place in ("public/pdf", "custom/word", "community/shared", "default/mine", "writer/theirs"):
        skills.make(place)
    make_skill(skills.user / "personal")
    return skills


def test_an_agent_sees_what_is_everybodys_and_its_own(everybody: Skills) -> None:
    assert everybody.names() == ["default:mine", "public:pdf", "user:personal", "custom:word"]
    assert everybody.names("writer") == ["public:pdf", "user:personal", "writer:theirs", "custom:word"]
    assert everybody.names("reader") == ["public:pdf", "user:personal", "custom:word"]


def test_what_agents_share_is_shown_when_it_was_promoted(everybody: Skills) -> None:
    everybody.switch(**{"community:shared": True})

    assert all("community:shared" in everybody.names(agent) for agent in ("default", "writer", "reader"))


def test_no_state_shows_an_agent_the_skills_of_another(everybody: Skills) -> None:
    everybody.switch(theirs=True, **{"writer:theirs": True})

    assert "writer:theirs" not in everybody.names()
    assert "writer:theirs" in everybody.names("writer")


def test_an_agents_own_skill_stands_before_that_of_the_community_of_the_same_name(skills: Skills) -> None:
    skills.make("default/report", description="Mine.")
    skills.make("community/report", description="Shared.")
    skills.switch(**{"community:report": True})

    assert skills.prompt("default").count("<name>report</name>") == 1
    assert skills.find("report", "default").category == "default"
    assert [skill.identity for skill in skills.ranked("report", "default")] == ["default:report"]
    assert [row["location"] for row in skills.search("", "default")["skills"]] == [
        f"{BASE}/default/report/SKILL.md"
    ]
    assert skills.find("report", "writer").category == "community"
    for name in ("community:report", f"{BASE}/community/report", f"{BASE}/community/report/SKILL.md"):
        assert skills.find(name, "default").category == "community"
    assert b"Shared." in skills.read_file(f"{BASE}/community/report/SKILL.md", "default")

    skills.switch(**{"community:report": True, "default:report": False})
    assert skills.find("report", "default").category == "community"


@pytest.mark.anyio
async def test_a_disabled_skill_is_in_no_search_and_stays_readable(tmp_path: Path) -> None:
    project = Project(tmp_path / "project", {})
    environment = {**os.environ, "HOME": str(tmp_path / "home")}
    find_paths(config=project.directory, environment=environment).prepare_state()
    for place in ("skills/public/quarterly", "skills/custom/weekly", ".satchel/skills/default/monthly"):
        make_skill(project.directory / place, description="Writes the zebra report.")
    async with open_satchel(project.directory, environment=environment) as satchel:

        def found() -> set[str]:
            rows = satchel.tools.search_everything("zebra report")
            assert not any("---" in row["text"] or "name:" in row["text"] for row in rows)
            return {row["path"].split("/")[4] for row in rows if row["kind"] == "skill"}

        assert found() == {"quarterly", "weekly", "monthly"}
        states = {"quarterly": {"enabled": False}, "default:monthly": {"enabled": False}}
        project.file.write_text(json.dumps({"mcpServers": {}, "skills": states}))
        assert found() == {"weekly"}
        assert [skill["name"] for skill in satchel.skills.search("", "default")["skills"]] == ["weekly"]
        shown = mounts(satchel.saved_skills.sources("default"))
        assert (shown["public"] / "quarterly/SKILL.md").is_file()


def test_a_skill_is_searched_by_what_its_instructions_say_now(skills: Skills) -> None:
    file = skills.make("public/pdf") / "SKILL.md"
    file.write_text(file.read_text() + "Ask for the wombat.")
    (document,) = skills.documents("default")
    assert document.key == f"{BASE}/public/pdf/SKILL.md"
    assert "wombat" in document.fields["first"]
    assert "description:" not in document.fields["first"]
    file.write_text(file.read_text().replace("wombat", "tiger's tail"))
    (document,) = skills.documents("default")
    assert "tiger" in document.fields["first"]
    assert [document.key for document in skills.documents("writer")] == [f"{BASE}/public/pdf/SKILL.md"]


def test_a_name_that_other_categories_share_has_to_be_told_apart(skills: Skills) -> None:
    skills.make("public/report")
    skills.make("default/report")
    with pytest.raises(ArgumentError, match="2 skills are called 'report'"):
        skills.find("report", "default")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("pfd", "did you mean pdf? search_skills finds what there is"),
        ("nope", "search_skills finds what there is"),
    ],
)
def test_an_unknown_skill_is_told_with_the_closest_names_and_how_to_find_others(
    everybody: Skills, name: str, hint: str
) -> None:
    with pytest.raises(NotFoundError, match=f"unknown skill '{name}'") as caught:
        everybody.view(name, "default")
    assert caught.value.hint == hint


def test_a_disabled_skill_is_nowhere_from_that_moment_on(everybody: Skills) -> None:
    assert everybody.find("pdf", "default").name == "pdf"

    everybody.switch(pdf=False, **{"custom:word": False})

    assert everybody.names() == ["default:mine", "user:personal"]
    assert everybody.ranked("pdf", "default") == []
    assert "pdf" not in everybody.prompt("default")
    for name in ("pdf", "public:pdf", f"{BASE}/public/pdf", f"{BASE}/public/pdf/SKILL.md"):
        with pytest.raises(NotFoundError):
            everybody.find(name, "default")
    with pytest.raises(NotFoundError):
        everybody.read_file(f"{BASE}/public/pdf/SKILL.md", "default")


BROKEN = {
    "no front matter": "# Only a body\n",
    "neither end nor description": "---\nname: broken\n\nbody\n",
    "no description": "---\nname: broken\n---\nbody\n",
    "no yaml": "---\n{[}\n---\nbody\n",
    "not keys": "---\n- a\n- b\n---\nbody\n",
    "empty": "",
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_skill_is_not_shown_and_hides_no_other(skills: Skills, fault: str) -> None:
    skills.make("public/good")
    (skills.make("public/broken") / "SKILL.md").write_text(BROKEN[fault])

    assert skills.names() == ["public:good"]
    skills.switch(broken=True)
    assert skills.names() == ["public:good"]


def test_a_skill_whose_path_is_no_text_is_not_shown(skills: Skills) -> None:
    skills.make("public/good")
    make_skill(Path(os.fsdecode(os.fsencode(skills.root / "public") + b"/b\xffd")), name="bad")

    assert skills.names() == ["public:good"]


def test_while_the_file_with_the_states_is_invalid_the_last_ones_count(everybody: Skills) -> None:
    everybody.switch(pdf=False)
    before = everybody.names()
    configuration = everybody.read_configuration()
    running = ShownSkills(lambda: configuration)
    assert [skill.identity for skill in running.of("default")] == before

    for text in ("{", '{"skills": [1]}', '{"skills": 1}', "\0", ""):
        (everybody.project / "extensions_config.json").write_text(text)
        assert [skill.identity for skill in running.of("default")] == before
    (everybody.project / "extensions_config.json").unlink()
    assert "public:pdf" in [skill.identity for skill in running.of("default")]


def test_skills_of_other_programs_are_shown_on_request(skills: Skills) -> None:
    make_skill(skills.project / ".claude" / "skills" / "theirs")
    assert skills.names() == []

    skills.configure({"skills": {"include": [".claude/skills"]}})

    assert skills.names() == ["claude:theirs"]
    assert skills.view("theirs", "default")["location"] == f"{BASE}/claude/theirs"


def test_a_skill_that_stands_alone_is_shown_to_all_by_the_path_that_programs_know(skills: Skills) -> None:
    folder = skills.make("pdf")
    (folder / "form.md").write_text("A form.")
    skills.make("public/x")
    skills.make("custom/y")

    for agent in ("default", "writer"):
        assert skills.names(agent) == ["public:pdf", "public:x", "custom:y"]
        assert skills.view("pdf", agent)["location"] == f"{BASE}/public/pdf"
        assert skills.read_text(f"{BASE}/public/pdf/form.md", agent) == "A form."
    assert f"{BASE}/public/pdf" in skills.prompt("default")


def test_a_stray_file_shows_nobody_the_skills_of_another(everybody: Skills) -> None:
    before = everybody.names()
    for category in ("writer", "custom"):
        shutil.copy(everybody.root / "public/pdf/SKILL.md", everybody.root / category)

    assert everybody.names() == before
    assert "writer:theirs" in everybody.names("writer")


def test_a_skill_whose_file_is_in_other_letters_is_viewed_and_read(skills: Skills) -> None:
    folder = skills.make("public/pdf")
    (folder / "SKILL.md").rename(folder / "skill.md")

    assert skills.view("pdf", "default")["body"] == "Do it."
    assert skills.view(f"{BASE}/public/pdf/skill.md", "default")["files"] == []
    (row,) = skills.search("pdf", "default")["skills"]
    assert skills.read_file(row["location"], "default").startswith(b"---")


# Again and again


class Counted:
    """How many folders this process reads. A hook can't be taken away, so there is one for all tests."""

    def __init__(self) -> None:
        self.folders = 0
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[object, ...]) -> None:
        if event in ("os.scandir", "os.listdir"):
            self.folders += 1


@pytest.fixture(scope="session")
def counted() -> Counted:
    return Counted()


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_only_a_search_after_a_change_walks_all_folders(skills: Skills, counted: Counted) -> None:
    for number in range(100):
        skills.make(f"public/skill-{number}")

    def walked() -> int:
        before = counted.folders
        assert skills.search("skill 7", "default")["match_count"] > 0
        return counted.folders - before

    assert [walked() >= 100 for _ in range(2)] == [True, True]  # whoever searches once sets up nothing
    wait_until(lambda: walked() < 20)
    assert [walked() < 20 for _ in range(5)] == [True] * 5

    (skills.root / "public" / "skill-1" / "more.md").touch()

    assert walked() >= 100
    wait_until(lambda: walked() < 20)


def test_a_search_knows_at_once_what_was_installed_changed_switched_and_removed(skills: Skills) -> None:
    configuration = skills.read_configuration()
    library = SkillLibrary(paths=configuration.paths, settings=configuration.settings.skills)
    skills.make("public/other", description="Does other things.")

    def found() -> list[str]:
        listed: list[str] = []
        for _ in range(3):  # so that what is kept is asked
            listed = [
                f"{row['name']}: {row['description']}" for row in skills.search("", "default")["skills"]
            ]
            assert {row["name"] for row in skills.search("lemons", "default")["skills"]} == {
                each.partition(":")[0] for each in listed if "lemons" in each
            }
        return listed

    assert found() == ["other: Does other things."]
    source = make_skill(skills.project / "elsewhere" / "juice", description="Squeezes lemons.")
    folder = library.install(source).installed.folder
    assert found() == ["juice: Squeezes lemons.", "other: Does other things."]
    with (folder / "SKILL.md").open("r+") as stream:
        stream.write(text_of("juice", "Presses! lemons."))
    assert found() == ["juice: Presses! lemons.", "other: Does other things."]
    library.set_enabled(["juice"], enabled=False)
    assert found() == ["other: Does other things."]
    library.set_enabled(["juice"], enabled=True)
    assert found() == ["juice: Presses! lemons.", "other: Does other things."]
    saved = make_skill(
        configuration.paths.prepare_state() / "skills/default/peel", description="Peels lemons."
    )
    assert "peel: Peels lemons." in found()
    shutil.rmtree(saved)
    library.remove(library.removal("juice"))
    assert found() == ["other: Does other things."]


def test_threads_search_while_skills_come_and_go(skills: Skills) -> None:
    for number in range(20):
        skills.make(f"public/skill-{number}")
    faults: list[object] = []

    def search_often(agent: str) -> None:
        try:
            for _ in range(20):
                count = skills.search("skill", agent)["match_count"]
                if not 20 <= count <= 25:
                    faults.append(count)
        except Exception as error:  # noqa: BLE001  whatever it is, the test is to tell
            faults.append(error)

    threads = [threading.Thread(target=search_often, args=(f"agent-{number}",)) for number in range(6)]
    for thread in threads:
        thread.start()
    for number in range(5):
        skills.make(f"public/skill-{20 + number}")
    for thread in threads:
        thread.join(60)

    assert faults == []
    assert skills.search("skill", "default")["match_count"] == 25


# Word of changes


def changed(skills: Skills, change: Callable[[], object]) -> bool:
    """Whether the stamp becomes another by a change, within a time that is bounded."""
    before = skills.stamp()
    change()
    end = time.monotonic() + 30  # only a hang reaches it
    while time.monotonic() < end:
        if skills.stamp() != before:
            return True
        time.sleep(0.01)
    return False


def test_the_stamp_is_another_after_every_change(everybody: Skills) -> None:
    root = everybody.root
    assert changed(everybody, lambda: everybody.make("public/group/deeper/new"))
    assert changed(everybody, lambda: everybody.make("writer/second"))
    assert changed(everybody, lambda: make_skill(everybody.user / "group" / "another"))
    assert changed(everybody, lambda: (root / "public/pdf/SKILL.md").write_text("---\nname: other\n---"))
    assert changed(everybody, lambda: shutil.rmtree(root / "public/group"))
    assert changed(everybody, lambda: everybody.switch(pdf=False))
    before = everybody.stamp()
    time.sleep(0.2)
    assert everybody.stamp() == before


def test_a_skill_whose_file_comes_after_its_folder_is_noticed(skills: Skills) -> None:
    folder = skills.root / "public" / "late"
    folder.mkdir(parents=True)
    skills.stamp()

    assert changed(skills, lambda: (folder / "SKILL.md").write_text("---\ndescription: Is late\n---\n"))


# Search


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Skills:
    """Every real skill, as a folder of its own."""
    if not PLUGINS.is_dir():
        pytest.skip(NO_PLUGINS)
    skills = Skills(tmp_path_factory.mktemp("real"))
    for folder in real_skills():
        target = skills.root / "public" / folder.relative_to(PLUGINS).as_posix().replace("/", "-")
        target.mkdir(parents=True)
        shutil.copy(folder / "SKILL.md", target)
    return skills


def test_all_real_skills_are_shown(real: Skills) -> None:
    assert len(real.of("default")) == len(real_skills()) == 212


@pytest.mark.slow
@pytest.mark.parametrize("asked", ["name", "first sentence"])
def test_a_real_skill_is_found_by_its_name_and_by_its_first_sentence(real: Skills, asked: str) -> None:
    missed: list[str] = []
    every = real.of("default")
    configuration = real.read_configuration()
    shown = ShownSkills(lambda: configuration)
    for skill in every:
        name = skill.name.replace("-", " ").replace("_", " ")
        query = name if asked == "name" else split_sentence(skill.description)[0]
        found = shown.search(query, "default", limit=1)["skills"]
        if not found or found[0]["name"] != skill.name:
            missed.append(skill.name)

    assert len(missed) <= 0.02 * len(every), missed


CROWDED = {
    "react": "React best practices.",
    "react-best-practices": "Writes React in the way of React, with best practices of React.",
    "c": "Write C programs. Write C++ programs with another one.",
    "cpp": "Write C++ programs.",
    "C#": "Write C# programs.",
    "of-the": "Says nothing.",
}


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("React best practices.", ["react-best-practices", "react"]),
        ("react best practices", ["react-best-practices", "react"]),
        ("React_Best-Practices", ["react-best-practices", "react"]),
        ("Write C++ programs.", ["cpp"]),
        ("write c programs", ["c"]),
        ("Write C# programs", ["C#"]),
        ("of the", ["of-the"]),
        ("Says nothing!", ["of-the"]),
    ],
)
def test_what_is_asked_for_by_its_name_is_first_and_then_by_its_first_sentence(
    skills: Skills, query: str, first: list[str]
) -> None:
    for name, description in CROWDED.items():
        skills.make(f"public/{name}", description=f'"{description}"')

    found = [skill.name for skill in skills.ranked(query, "default")]

    assert found[: len(first)] == first
    assert len(set(found)) == len(found)


def test_a_search_tells_where_each_is_and_how_many_there_are(everybody: Skills) -> None:
    answer = everybody.search("does what it says", "default", limit=2)

    assert (answer["match_count"], len(answer["skills"])) == (4, 2)
    for row in answer["skills"]:
        assert everybody.read_file(row["location"], "default").startswith(b"---")
        assert row["description"] == "Does what it says."


@pytest.mark.parametrize("query", ["", "  \n"])
def test_without_a_query_all_are_listed_by_name(everybody: Skills, query: str) -> None:
    rows = everybody.search(query, "default")["skills"]

    assert [row["name"] for row in rows] == ["mine", "pdf", "personal", "word"]


@pytest.mark.parametrize("limit", [-1, 0, 51, 10**9])
def test_a_limit_that_is_none_is_refused(everybody: Skills, limit: int) -> None:
    with pytest.raises(ArgumentError):
        everybody.search("pdf", "default", limit=limit)


@pytest.mark.parametrize(
    "query", ["zzzzqqqq", "\0", "\ud800", "'\"; DROP TABLE", "?" * 100_000, "a " * 50_000]
)
def test_any_query_is_answered(everybody: Skills, query: str) -> None:
    assert isinstance(everybody.search(query, "default")["skills"], list)


def test_a_search_of_one_agent_shows_nothing_of_another(everybody: Skills) -> None:
    assert [skill.name for skill in everybody.ranked("theirs", "writer")][:1] == ["theirs"]
    assert "theirs" not in [skill.name for skill in everybody.ranked("theirs", "default")]


def test_a_search_sees_what_has_just_changed(skills: Skills) -> None:
    folder = skills.make("public/one", description="Folds paper.")
    assert [skill.name for skill in skills.ranked("paper", "default")] == ["one"]

    (folder / "SKILL.md").write_text("---\nname: one\ndescription: Sharpens every kind of pencil.\n---\n")
    skills.make("public/two", description="Sharpens knives.")

    assert [skill.name for skill in skills.ranked("pencil", "default")] == ["one"]
    assert {skill.name for skill in skills.ranked("sharpen", "default")} == {"one", "two"}


# View


def test_a_view_is_the_body_the_files_and_the_tools(skills: Skills) -> None:
    folder = skills.make("public/group/pdf")
    head = "name: pdf\ndescription: Reads\n  PDFs.\nallowed-tools: Read, Bash(git add:*), a.b\n"
    text = f"---\n{head}---\n\n# PDF\n\nDo.\n"
    (folder / "SKILL.md").write_text(text)
    for file in ("scripts/fill.py", "reference.md", "assets/deep/er/logo.png"):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(b"x")

    assert skills.view("pdf", "default") == {
        "name": "pdf",
        "description": "Reads PDFs.",
        "location": f"{BASE}/public/group/pdf",
        "body": "# PDF\n\nDo.",
        "files": ["reference.md", "assets/deep/er/logo.png", "scripts/fill.py"],
        "allowed_tools": ["Read", "Bash(git add:*)", "a.b"],
    }


HEAD = "---\nname: pdf\ndescription: Reads it.\n---\n# Title\n\n---\nnot the end\n"
WRITTEN = {
    "plain": HEAD.encode(),
    "crlf": HEAD.replace("\n", "\r\n").encode(),
    "cr": HEAD.replace("\n", "\r").encode(),
    "bom": b"\xef\xbb\xbf" + HEAD.encode(),
    "bom and crlf": b"\xef\xbb\xbf" + HEAD.replace("\n", "\r\n").encode(),
    "utf-16": HEAD.encode("utf-16"),
    "blank lines before": b"\n\n" + HEAD.encode(),
}


@pytest.mark.parametrize("written", WRITTEN)
def test_a_body_has_no_front_matter_however_it_is_written(skills: Skills, written: str) -> None:
    (skills.make("public/pdf") / "SKILL.md").write_bytes(WRITTEN[written])

    assert skills.view("pdf", "default")["body"] == "# Title\n\n---\nnot the end"


@pytest.mark.parametrize(
    "name",
    ["pdf", "public:pdf", f"{BASE}/public/g/pdf", f"{BASE}/public/g/pdf/", f"{BASE}/public/g/pdf/SKILL.md"],
)
def test_a_skill_is_named_in_several_ways(skills: Skills, name: str) -> None:
    skills.make("public/g/pdf")

    assert skills.view(name, "default")["location"] == f"{BASE}/public/g/pdf"


@pytest.mark.parametrize(
    "name", ["", "/", "PDF", "pd", "custom:pdf", "../pdf", f"{BASE}/public/pd", "pdf\0", "*"]
)
def test_what_is_no_name_of_a_skill_is_unknown(skills: Skills, name: str) -> None:
    skills.make("public/pdf")

    with pytest.raises(NotFoundError):
        skills.view(name, "default")


def test_two_of_one_name_are_told_apart_by_their_paths_which_are_no_paths_of_this_machine(
    skills: Skills,
) -> None:
    skills.make("public/a/pdf", description="The first.")
    skills.make("public/b/pdf", description="The second.")
    skills.make("custom/pdf", description="The third.")

    for name, count in (("pdf", 3), ("public:pdf", 2)):
        with pytest.raises(ArgumentError) as caught:
            skills.view(name, "default")
        said = f"{caught.value.message} {caught.value.hint}"
        assert f"{count} skills" in said and f"{BASE}/public/b/pdf" in said
        assert str(skills.project) not in said
    assert skills.view(f"{BASE}/public/b/pdf", "default")["description"] == "The second."
    assert skills.view("custom:pdf", "default")["description"] == "The third."


@pytest.mark.slow
def test_a_folder_with_more_files_than_anybody_reads_is_cut(skills: Skills) -> None:
    folder = skills.make("public/pdf")
    for number in range(1200):
        (folder / f"{number:04d}.md").touch()

    assert len(skills.view("pdf", "default")["files"]) == 512


def test_what_satchel_keeps_of_an_installation_is_no_file_of_the_skill(skills: Skills) -> None:
    (skills.make("custom/pdf") / ".origin.json").write_text(SECRET)

    assert skills.view("pdf", "default")["files"] == []
    with pytest.raises(NotFoundError):
        skills.read(skills.find("pdf", "default"), ".origin.json")
    with pytest.raises(NotFoundError):
        skills.read_file(f"{BASE}/custom/pdf/.origin.json", "default")


def test_a_skill_with_folders_that_do_not_end_is_viewed(skills: Skills) -> None:
    folder = skills.make("public/pdf")
    deeper = [f"{folder}{'/d' * depth}" for depth in range(1, 1500)]
    for path in deeper:
        os.mkdir(path)

    try:
        assert skills.view("pdf", "default")["files"] == []
    finally:
        for path in reversed(deeper):  # which is more than is taken away after a test
            os.rmdir(path)


def test_files_with_odd_names_can_be_told(skills: Skills) -> None:
    folder = skills.make("public/pdf")
    with open(os.fsencode(folder) + b"/b\xffd.md", "w") as stream:
        stream.write("x")
    (folder / "two\nlines.md").write_text("x")

    files = skills.view("pdf", "default")["files"]

    assert json.loads(json.dumps(files).encode()) == ["b\\udcffd.md", "two\nlines.md"]


def test_a_skill_that_breaks_while_it_is_viewed_is_unknown(skills: Skills) -> None:
    skill_file = skills.make("public/pdf") / "SKILL.md"
    skill = skills.find("pdf", "default")
    skill_file.unlink()

    with pytest.raises(NotFoundError):
        skills.read(skill, "SKILL.md")
    shutil.rmtree(skill_file.parent)
    assert skills.files(skill) == []
    with pytest.raises(NotFoundError):
        skills.view("pdf", "default")


# Text of files


TEXTS = {
    "plain": (b"a\nb", "a\nb"),
    "empty": (b"", ""),
    "crlf": (b"a\r\nb", "a\nb"),
    "bom": (b"\xef\xbb\xbfa", "a"),
    "utf-16": ("ü".encode("utf-16"), "ü"),
    "utf-32": ("ü".encode("utf-32"), "ü"),
    "windows": (b"\xfcber", "über"),
    "chinese": ("技能".encode(), "技能"),
}


@pytest.mark.parametrize("kind", TEXTS)
def test_a_model_reads_text_however_it_is_encoded(skills: Skills, kind: str) -> None:
    data, text = TEXTS[kind]
    (skills.make("public/pdf") / "file").write_bytes(data)

    assert skills.read_text(f"{BASE}/public/pdf/file", "default") == text
    assert skills.read_file(f"{BASE}/public/pdf/file", "default") == data


@pytest.mark.parametrize(
    "data", [b"\x89PNG\r\n\x1a\n\0\0", b"a\0b", b"\x1f\x8b\x08\x03\xff", bytes(range(256))]
)
def test_what_is_no_text_is_not_made_one(skills: Skills, data: bytes) -> None:
    (skills.make("public/pdf") / "file").write_bytes(data)

    with pytest.raises(ArgumentError):
        skills.read_text(f"{BASE}/public/pdf/file", "default")
    assert skills.read_file(f"{BASE}/public/pdf/file", "default") == data


# Nothing outside is ever read


@pytest.fixture
def guarded(skills: Skills) -> Skills:
    """Secrets wherever a path could lead to."""
    folder = skills.make("public/pdf")
    (folder / "scripts").mkdir()
    (folder / "scripts" / "fill.py").write_text("print()")
    skills.make("public/group/inner")
    skills.make("writer/theirs")
    outside = skills.project.parent / "outside"
    (outside / "scripts").mkdir(parents=True)
    for place in (
        outside / "SKILL.md",
        outside / "fill.py",
        outside / "scripts" / "fill.py",
        skills.project / "secret.txt",
        skills.root / "secret.txt",
        skills.root / "public" / "secret.txt",
        skills.root / "public" / "group" / "secret.txt",
        skills.root / "writer" / "theirs" / "secret.txt",
    ):
        place.write_text(SECRET)
    return skills


WAYS = [
    *(
        "..",
        ".",
        "",
        "/",
        "//",
        "\0",
        "SKILL.md\0",
        "SKILL.md\0.png",
        "\ud800",
        "\udcff",
        "x" * 5000,
        "x/" * 3000,
    ),
    *(
        "../secret.txt",
        "../../secret.txt",
        "../../../secret.txt",
        "./../secret.txt",
        "scripts/../../secret.txt",
    ),
    *("scripts/../SKILL.md", "./SKILL.md", "/SKILL.md", "SKILL.md/.", "SKILL.md/..", "scripts"),
    *("%2e%2e/secret.txt", "..%2fsecret.txt", "%2e%2e%2fsecret.txt", "..%5csecret.txt", "..\\secret.txt"),
    *("%252e%252e/secret.txt", "..%00/secret.txt", "～/secret.txt", "~root/secret.txt", "．．/secret.txt"),
    *(
        "..;/secret.txt",
        "....//secret.txt",
        "../pdf/SKILL.md",
        "/etc/passwd",
        "//etc/passwd",
        "CON",
        "fill.py",
    ),
    *("../group/secret.txt", "../../writer/theirs/secret.txt", "../../writer/theirs/SKILL.md"),
]


@pytest.mark.parametrize("way", WAYS)
def test_no_way_leads_out_of_a_skill(guarded: Skills, way: str) -> None:
    skill = guarded.find("pdf", "default")

    for read in (
        lambda: guarded.read(skill, way),
        lambda: guarded.read_file(f"{BASE}/public/pdf/{way}", "default"),
        lambda: guarded.read_text(f"{BASE}/public/pdf/{way}", "default"),
    ):
        with pytest.raises(NotFoundError) as caught:
            read()
        said = f"{caught.value.message} {caught.value.hint}"
        said.encode()
        assert str(guarded.project) not in said
        assert len(said) < 7000


@pytest.mark.parametrize(
    "path",
    [
        f"{BASE}/writer/theirs/SKILL.md",
        f"{BASE}/writer/theirs/secret.txt",
        f"{BASE}/public/secret.txt",
        f"{BASE}/public/group/secret.txt",
        f"{BASE}/secret.txt",
        f"{BASE}/../secret.txt",
        f"{BASE}/public/../writer/theirs/SKILL.md",
        f"{BASE}/default/../writer/theirs/SKILL.md",
        f"{BASE}//writer/theirs/SKILL.md",
        f"{BASE}/Writer/theirs/SKILL.md",
        f"{BASE}",
        "/mnt/skillsx/public/pdf/SKILL.md",
        "public/pdf/SKILL.md",
        "/etc/passwd",
        "/proc/self/environ",
        "skill://public/pdf/SKILL.md",
        "file:///etc/passwd",
        "",
    ],
)
def test_only_the_agents_skills_have_paths(guarded: Skills, path: str) -> None:
    with pytest.raises(NotFoundError):
        guarded.read_file(path, "default")


ODD: dict[str, Callable[[Path], object]] = {
    "link": lambda place: place.symlink_to(place.parents[2] / "secret.txt"),
    "relative link": lambda place: place.symlink_to("../secret.txt"),
    "link inside": lambda place: place.symlink_to("scripts/fill.py"),
    "environment": lambda place: place.symlink_to("/proc/self/environ"),
    "own memory": lambda place: place.symlink_to("/proc/self/mem"),
    "hard link": lambda place: place.hardlink_to(place.parents[2] / "secret.txt"),
    "pipe": lambda place: os.mkfifo(place),
    "device": lambda place: place.symlink_to("/dev/zero"),
    "folder": lambda place: place.mkdir(),
}


@pytest.mark.parametrize("odd", ODD)
def test_what_is_no_plain_file_is_neither_read_nor_listed(guarded: Skills, odd: str) -> None:
    ODD[odd](guarded.root / "public" / "pdf" / "odd")
    skill = guarded.find("pdf", "default")

    with pytest.raises(NotFoundError):
        guarded.read(skill, "odd")
    with pytest.raises(NotFoundError):
        guarded.read_file(f"{BASE}/public/pdf/odd", "default")
    assert [file.path for file in guarded.files(skill)] == ["SKILL.md", "scripts/fill.py"]
    assert guarded.view("pdf", "default")["files"] == ["scripts/fill.py"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a device")
def test_a_device_is_neither_opened_nor_listed(guarded: Skills) -> None:
    try:
        os.mknod(guarded.root / "public" / "pdf" / "zero", 0o020666, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("devices can't be made in this container")

    with pytest.raises(NotFoundError):
        guarded.read_file(f"{BASE}/public/pdf/zero", "default")
    assert guarded.view("pdf", "default")["files"] == ["scripts/fill.py"]


@pytest.mark.parametrize("place", ["public/pdf", "public/pdf/scripts", "public/group", "public/group/inner"])
def test_a_folder_that_has_become_a_link_is_not_entered(guarded: Skills, place: str) -> None:
    known = guarded.of("default")
    (guarded.root / place).rename(guarded.root / "moved")
    (guarded.root / place).symlink_to(guarded.project.parent / "outside")

    for skill in known:
        for path in ("SKILL.md", "fill.py", "scripts/fill.py", "inner/SKILL.md"):
            assert not is_secret(lambda skill=skill, path=path: guarded.read(skill, path))
            virtual = f"{skill.get_container_path()}/{path}"
            assert not is_secret(lambda virtual=virtual: guarded.read_file(virtual, "default"))
        if place.startswith(f"public/{skill.relative}") and place != "public/pdf/scripts":
            assert guarded.files(skill) == []
    assert all(SECRET not in guarded.view(skill.name, "default")["body"] for skill in guarded.of("default"))


def is_secret(read: Callable[[], bytes]) -> bool:
    try:
        return SECRET.encode() in read()
    except NotFoundError:
        return False


@pytest.mark.slow
@pytest.mark.parametrize("place", ["public/pdf", "public/pdf/scripts"])
def test_a_folder_that_becomes_a_link_meanwhile_leads_nowhere(guarded: Skills, place: str) -> None:
    skill = guarded.find("pdf", "default")
    target = guarded.project.parent / "outside" / ("scripts" if place.endswith("scripts") else "")
    sizes = {len("print()"), skill.file.stat().st_size}
    outcomes = {"read": 0, "refused": 0}

    with swapping(guarded.root / place, target, guarded.project.parent):
        began = time.monotonic()
        end = began + 3
        while (now := time.monotonic()) < end or (min(outcomes.values()) == 0 and now < began + 30):
            try:
                assert guarded.read(skill, "scripts/fill.py") == b"print()"
                outcomes["read"] += 1
            except NotFoundError:
                outcomes["refused"] += 1
            assert {file.size for file in guarded.files(skill)} <= sizes
    assert min(outcomes.values()) > 0  # the race was on


@pytest.mark.slow
def test_whole_verbs_are_safe_while_a_skill_becomes_a_link(guarded: Skills) -> None:
    verbs: list[Callable[[], object]] = [
        lambda: guarded.view("pdf", "default"),
        lambda: guarded.read_file(f"{BASE}/public/pdf/scripts/fill.py", "default"),
        lambda: guarded.read_text(f"{BASE}/public/pdf/SKILL.md", "default"),
        lambda: guarded.prompt("default"),
        lambda: guarded.search("pdf", "default"),
    ]
    with swapping(
        guarded.root / "public" / "pdf", guarded.project.parent / "outside", guarded.project.parent
    ):
        end = time.monotonic() + 3
        while time.monotonic() < end:
            for verb in verbs:
                try:
                    said = repr(verb())
                except NotFoundError:
                    continue
                assert SECRET not in said


def test_no_descriptor_is_left_open(guarded: Skills) -> None:
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("this system does not list descriptors")
    (guarded.root / "public" / "pdf" / "odd").symlink_to("/etc/passwd")
    skill = guarded.find("pdf", "default")
    lost = Skill(name="x", folder=skill.folder / "x", file=skill.file, category="public", relative="pdf/x")
    guarded.view("pdf", "default")  # from now on, changes are watched for
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))

    for _ in range(30):
        for path in ("odd", "nothing", "scripts", "SKILL.md/x", "..", "a\0b"):
            with pytest.raises(NotFoundError):
                guarded.read(skill, path)
        assert guarded.files(skill) and not guarded.files(lost)
        guarded.view("pdf", "default")

    assert len(os.listdir("/proc/self/fd")) == before


def test_a_digest_is_that_of_the_file_as_it_is_now(guarded: Skills) -> None:
    from hashlib import sha256

    skill = guarded.find("pdf", "default")
    for text in ("one", "another"):
        (skill.folder / "scripts" / "fill.py").write_text(text)
        file = guarded.files(skill)[-1]
        assert guarded.digest(skill, file) == sha256(text.encode()).hexdigest()


# On the command line


@pytest.mark.slow
def test_the_command_prints_what_a_model_is_told_with_its_cost(everybody: Skills) -> None:
    project = Project(everybody.project)

    plain, asked = project.run("prompt", "--skills"), project.run("prompt", "--skills", "--query", "word")

    assert (plain.code, asked.code) == (0, 0), plain.err + asked.err
    names = re.findall("<name>(.*?)</name>", plain.out)
    assert names == ["mine", "pdf", "word"]
    assert re.findall("<name>(.*?)</name>", asked.out)[0] == "word"
    assert sorted(re.findall("<name>(.*?)</name>", asked.out)) == names
    assert re.fullmatch(r"at most \d+ tokens; skills.budget is 2,000\n", plain.err)


@pytest.mark.slow
def test_the_command_says_what_it_can_not_do(skills: Skills) -> None:
    project = Project(skills.project)

    assert "there are no skills" in project.run("prompt", "--skills").err
    assert project.run("prompt", "--skills", "--agent", "nobody").code == 2
    assert project.run("prompt", "--query", "word").code == 2
