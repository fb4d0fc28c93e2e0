"""Who gives skills to all agents, to which place, and what must not come among the files of a project."""

import os
from pathlib import Path

import pytest

from satchel.config import Paths
from satchel.errors import ArgumentError
from satchel.library.install.run_by_tools import RUN_BY
from satchel.library.saved.naming import Language, names_of
from satchel.library.saved.saved import keep_outcome, saved_skills
from satchel.library.sources import saved_root
from tests.library.saved.saved_files import CODE, find, give, modules_of, save, sources_of


def earlier(paths: Paths, name: str, code: str, agent: str = "default") -> Path:
    """A skill as earlier versions saved it, among the files of the project."""
    folder = save(paths, name=name, code=code, agent=agent)
    place = paths.project / "skills" / agent / name
    place.parent.mkdir(parents=True, exist_ok=True)
    os.rename(folder, place)
    return place


def test_what_an_earlier_version_saved_stays_usable_where_it_is(paths: Paths) -> None:
    old = earlier(paths, "old", "def old(): return 1")
    earlier(paths, "both", "def both(): return 1")
    new = save(paths, name="both", code="def both(): return 2")
    assert modules_of(paths) == {"old.py": "def old(): return 1", "both.py": "def both(): return 2"}
    assert {skill.name: skill.folder for skill in saved_skills(sources_of(paths, None))} == {
        "old": old,
        "both": new,
    }
    keep_outcome(find(paths, "old", "default"), {"passed": True})
    assert give(paths, find(paths, "old", "default"), by="agent") == saved_root(paths) / "community/old"
    assert old.is_dir()
    assert modules_of(paths, "other") == {"old.py": "def old(): return 1"}


def test_an_agent_gives_to_its_own_place_and_a_person_to_the_project(paths: Paths) -> None:
    save(paths)
    saved = find(paths, "create-report", "default")
    assert give(paths, saved, by="agent", force=True) == saved_root(paths) / "community/create-report"
    assert not (paths.project / "skills").exists()
    assert modules_of(paths, "other") == {"create_report.py": CODE}
    place = give(paths, saved, by="person", force=True)
    assert place == paths.project / "skills/community/create-report"


def test_an_agent_does_not_take_the_place_of_what_a_person_gave(paths: Paths) -> None:
    save(paths)
    give(paths, find(paths, "create-report", "default"), force=True)
    save(paths, code=f"{CODE}# newer\n")
    newer = find(paths, "create-report", "default")
    keep_outcome(newer, {"passed": True})
    with pytest.raises(ArgumentError, match="an agent can't replace") as caught:
        give(paths, newer, by="agent")
    assert caught.value.hint == "ask for: satchel skills promote create-report --agent default"
    assert modules_of(paths, "other") == {"create_report.py": CODE}
    give(paths, newer)
    assert modules_of(paths, "other") == {"create_report.py": f"{CODE}# newer\n"}


NAMES: dict[str, tuple[Language, str, str | None]] = {
    "conftest": ("python", "conftest.py", "pytest"),
    "test-report": ("python", "test_report.py", "pytest"),
    "report-test": ("python", "report_test.py", "pytest"),
    "test": ("python", "test.py", "unittest"),
    "setup": ("python", "setup.py", "pip"),
    "noxfile": ("python", "noxfile.py", "nox"),
    "fabfile": ("python", "fabfile.py", "Fabric"),
    "tasks": ("python", "tasks.py", "Invoke"),
    "manage": ("python", "manage.py", "Django"),
    "dodo": ("python", "dodo.py", "doit"),
    "sitecustomize": ("python", "sitecustomize.py", "Python itself"),
    "usercustomize": ("python", "usercustomize.py", "Python itself"),
    "report-test-ts": ("typescript", "report-test-ts.ts", None),
    "a-test": ("typescript", "a-test.ts", "node --test"),
    "test-a": ("typescript", "test-a.ts", "node --test"),
    "gulpfile": ("typescript", "gulpfile.ts", "gulp"),
    "spec": ("typescript", "spec.ts", "Jest"),
    "bench": ("typescript", "bench.ts", "deno bench"),
    "testing": ("python", "testing.py", "unittest"),
    "jupyter-server-config": ("python", "jupyter_server_config.py", "Jupyter"),
    "contest": ("python", "contest.py", None),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_module_that_a_tool_runs_by_itself_is_saved_and_stays_out_of_the_project(
    paths: Paths, name: str
) -> None:
    language, file, tool = NAMES[name]
    function = names_of(name, language).function
    code = f"def {function}(): pass" if language == "python" else f"export function {function}() {{}}"
    folder = save(paths, name=name, code=code, language=language)
    assert (folder / file).is_file()
    saved = find(paths, name, "default")
    assert give(paths, saved, by="agent", force=True).is_relative_to(paths.state)
    if tool is None:
        assert give(paths, saved, force=True) == paths.project / "skills/community" / name
        return
    with pytest.raises(ArgumentError) as caught:
        give(paths, saved, force=True)
    assert f"{tool} would run its file {file}" in caught.value.message
    assert "save it under another name" in (caught.value.hint or "")
    assert not (paths.project / "skills").exists()


@pytest.mark.parametrize("pattern", [pattern for patterns in RUN_BY.values() for pattern in patterns])
def test_no_file_that_a_tool_runs_by_itself_comes_to_the_project(paths: Paths, pattern: str) -> None:
    folder = save(paths)
    place = folder / "inner" / pattern.replace("*", "x").upper()
    place.parent.mkdir(parents=True)
    place.write_text("run me")
    saved = find(paths, "create-report", "default")
    if place.relative_to(folder).as_posix().count("/.") > 0:
        given = give(paths, saved, force=True)  # hidden files are not copied
        assert not [path for path in given.rglob("*") if path.name == place.name]
        return
    with pytest.raises(ArgumentError, match="can't be promoted"):
        give(paths, saved, force=True)
    assert not (paths.project / "skills").exists()


def test_the_folder_says_how_skills_get_there_until_a_person_says_otherwise(paths: Paths) -> None:
    save(paths)
    saved = find(paths, "create-report", "default")
    give(paths, saved, by="agent", force=True)
    assert not (saved_root(paths) / "community/README.md").exists()  # which people don't look into
    readme = give(paths, saved, by="person", force=True).parent / "README.md"
    assert "satchel skills promote" in readme.read_text()
    assert "search_skills" in readme.read_text()
    readme.write_text("ours")
    give(paths, saved, by="person", force=True)
    assert readme.read_text() == "ours"
