"""Listings that are kept: the same list while nothing changes, and another one as soon as something does."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from satchel.library.skills.changes import Look, Watch, open_watch
from satchel.library.skills.listing import Listings
from satchel.library.sources import Source
from satchel.model import Skill
from tests.library.skill_files import make_skill, text_of

MODES: dict[str, Callable[[], Watch | None]] = {"watched": open_watch, "looked at": lambda: None}


class Skills:
    """The skills below a folder, listed again and again by one `Listings`."""

    def __init__(self, root: Path, mode: str) -> None:
        self.root = root
        self.listings = Listings(MODES[mode])

    def listed(self) -> list[Skill]:
        found_in = (Source(root=self.root, category="public", enabled=True),)
        return self.listings.find(found_in, self.root.parent / "cache.json")

    def names(self) -> set[str]:
        return {f"{skill.name}: {skill.description}" for skill in self.listed()}

    def settle(self) -> None:
        """Until what is listed is kept: files are old enough, and were asked for twice."""
        end = time.monotonic() + 30
        while self.listed() is not self.listed():
            assert time.monotonic() < end
            time.sleep(0.02)


@pytest.fixture(
    params=[
        pytest.param("watched", marks=pytest.mark.skipif(sys.platform != "linux", reason="no inotify")),
        "looked at",
    ]
)
def skills(request: pytest.FixtureRequest, tmp_path: Path) -> Skills:
    root = tmp_path / "above" / "skills"
    for name in ("one", "two"):
        make_skill(root / name, description="Old.")
    (root / "one" / "references").mkdir()
    return Skills(root, request.param)


def test_the_same_list_is_returned_while_nothing_changes(skills: Skills) -> None:
    skills.settle()
    before = skills.listed()
    time.sleep(0.1)

    assert skills.listed() is before
    assert skills.names() == {"one: Old.", "two: Old."}


def write_in_place(root: Path) -> set[str]:
    with (root / "one" / "SKILL.md").open("r+") as stream:
        stream.write(text_of("one", "New."))  # as many bytes as before
    return {"one: New.", "two: Old."}


def write_in_place_and_set_the_time_back(root: Path) -> set[str]:
    status = (root / "one" / "SKILL.md").stat()
    write_in_place(root)
    os.utime(root / "one" / "SKILL.md", ns=(status.st_atime_ns, status.st_mtime_ns))
    return {"one: New.", "two: Old."}


def replace_file(root: Path) -> set[str]:
    (root / "one" / "new").write_text(text_of("one", "New."))
    (root / "one" / "new").replace(root / "one" / "SKILL.md")
    return {"one: New.", "two: Old."}


def add_skill(root: Path) -> set[str]:
    make_skill(root / "three", description="New.")
    return {"one: Old.", "two: Old.", "three: New."}


def add_skill_in_a_skill(root: Path) -> set[str]:
    make_skill(root / "one" / "references" / "inner", description="New.")
    return {"one: Old.", "two: Old.", "inner: New."}


def move_skill_in(root: Path) -> set[str]:
    make_skill(root.parent / "three", description="New.").rename(root / "three")
    return {"one: Old.", "two: Old.", "three: New."}


def remove_file(root: Path) -> set[str]:
    (root / "one" / "SKILL.md").unlink()
    return {"two: Old."}


def move_skill_away(root: Path) -> set[str]:
    (root / "one").rename(root.parent / "elsewhere")
    return {"two: Old."}


def move_the_root_away(root: Path) -> set[str]:
    root.rename(root.parent / "elsewhere")
    make_skill(root / "one", description="New.")
    return {"one: New."}


def move_what_is_above_the_root_away(root: Path) -> set[str]:
    root.parent.rename(root.parent.parent / "elsewhere")
    make_skill(root / "one", description="New.")
    return {"one: New."}


def change_in_another_process(root: Path) -> set[str]:
    program = "import sys, pathlib; pathlib.Path(sys.argv[1]).write_text(sys.argv[2])"
    command = [sys.executable, "-c", program, str(root / "one" / "SKILL.md"), text_of("one", "New.")]
    subprocess.run(command, check=True)
    return {"one: New.", "two: Old."}


CHANGES = [
    *(write_in_place, write_in_place_and_set_the_time_back, replace_file, add_skill, add_skill_in_a_skill),
    *(move_skill_in, remove_file, move_skill_away, move_the_root_away, move_what_is_above_the_root_away),
    change_in_another_process,
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_change_counts_at_once(skills: Skills, change: Callable[[Path], set[str]]) -> None:
    skills.settle()

    expected = change(skills.root)

    assert skills.names() == expected
    skills.settle()
    assert skills.names() == expected


def test_two_changes_right_after_each_other_both_count(skills: Skills) -> None:
    file = skills.root / "one" / "SKILL.md"
    for number in range(50):  # many of them within one tick of the clock that files have
        file.write_text(text_of("one", f"Text {number:02}."))

        assert f"one: Text {number:02}." in skills.names()


def test_a_write_by_a_second_name_counts(skills: Skills) -> None:
    os.link(skills.root / "one" / "SKILL.md", skills.root.parent / "other.md")
    skills.settle()

    with (skills.root.parent / "other.md").open("r+") as stream:
        stream.write(text_of("one", "New."))

    assert skills.names() == {"one: New.", "two: Old."}


def test_a_root_that_is_made_later_is_seen(tmp_path: Path) -> None:
    for mode in MODES:
        skills = Skills(tmp_path / mode, mode)
        skills.settle()
        assert skills.names() == set()

        make_skill(skills.root / "one", description="New.")

        assert skills.names() == {"one: New."}


def test_threads_share_what_was_listed_and_all_see_a_change(skills: Skills) -> None:
    skills.settle()
    faults: list[object] = []

    def list_often() -> None:
        try:
            for _ in range(30):
                if len(skills.listed()) not in (2, 3):
                    faults.append(skills.names())
        except Exception as error:  # noqa: BLE001  whatever it is, the test is to tell
            faults.append(error)

    threads = [threading.Thread(target=list_often) for _ in range(6)]
    for thread in threads:
        thread.start()
    make_skill(skills.root / "three")
    for thread in threads:
        thread.join(60)

    assert faults == []
    assert len(skills.listed()) == 3


def test_no_more_listings_are_kept_than_there_are_agents_at_a_time(tmp_path: Path) -> None:
    listings = Listings()
    sources = [
        (Source(root=make_skill(tmp_path / name / name).parent, category=name),) for name in "abcdefghijkl"
    ]
    for _ in range(2):
        for found_in in sources:
            assert len(listings.find(found_in, None)) == 1
    first = listings.find(sources[-1], None)

    for found_in in sources[:8]:
        listings.find(found_in, None)

    assert listings.find(sources[-1], None) is not first


@pytest.mark.skipif(sys.platform != "linux", reason="no inotify")
def test_after_a_fork_both_processes_see_changes(tmp_path: Path) -> None:
    skills = Skills(tmp_path / "skills", "watched")
    make_skill(skills.root / "one", description="Old.")
    skills.settle()
    child = os.fork()
    if child == 0:
        skills.listed()
        write_in_place(skills.root)
        os._exit(0 if skills.names() == {"one: New."} else 1)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert skills.names() == {"one: New."}


@pytest.mark.skipif(sys.platform != "linux", reason="no inotify")
def test_a_watch_is_not_believed_for_ever(tmp_path: Path) -> None:
    watch = open_watch()
    assert watch is not None
    (tmp_path / "watched").mkdir()
    look = Look(watch, rest=0.0)
    look.at_folder(str(tmp_path / "watched"))
    (tmp_path / "file").write_text("a")
    look.at_file(str(tmp_path / "file"), (tmp_path / "file").stat())
    assert look.is_same()

    (tmp_path / "file").write_text("bc")  # in a folder of which the watch knows nothing

    assert not watch.is_over()
    assert not look.is_same()
