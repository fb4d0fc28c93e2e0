"""A skill that a program saved after reading what strangers wrote is known by its folder."""

from satchel.config import Paths
from satchel.library.saved.marks import marked_skills
from satchel.library.sources import saved_root
from satchel.model import UNTRUSTED, Source
from tests.library.saved.saved_files import find, give, save

READS = (Source(server="web", what="page", labels=frozenset({UNTRUSTED})),)


def test_a_mark_goes_with_a_skill_to_those_that_can_import_it(paths: Paths) -> None:
    root = saved_root(paths)
    assert marked_skills(root, "default") == []
    save(paths, reads=(Source(server="known", what="page"),))
    assert marked_skills(root, "default") == []
    save(paths, reads=READS)
    assert marked_skills(root, "default") == ["create-report"]
    assert marked_skills(root, "other") == []
    give(paths, find(paths, "create-report", "default"), by="agent", force=True)
    assert marked_skills(root, "other") == ["create-report"]


def test_what_a_person_saves_or_gives_has_no_mark(paths: Paths) -> None:
    save(paths, reads=READS)
    place = give(paths, find(paths, "create-report", "default"), by="person", force=True)
    assert not list(place.glob(".*"))
    save(paths)  # in its place
    assert marked_skills(saved_root(paths), "default") == []


def test_a_place_that_can_not_be_read_counts_as_marked(paths: Paths) -> None:
    root = saved_root(paths)
    root.mkdir(parents=True)
    (root / "default").touch()
    assert marked_skills(root, "default") == ["that can't be read"]
