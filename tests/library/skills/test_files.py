"""Virtual paths: whatever is tried, only plain files of the given skills are read."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from satchel.errors import NotFoundError
from satchel.library.skills.files import open_virtual, read_virtual
from satchel.library.skills.finding import find_skills
from satchel.library.sources import sources_in
from satchel.model import Skill
from tests.library.skill_files import make_skill, swapping

SECRET = b"the secret"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = make_skill(tmp_path / "skills" / "public" / "pdf")
    (folder / "scripts").mkdir()
    (folder / "scripts" / "fill.py").write_text("print()")
    (folder / ".origin.json").write_bytes(SECRET)  # where it was installed from
    make_skill(tmp_path / "skills" / "public" / "group" / "inner")
    (tmp_path / "skills" / "public" / "group" / "beside.txt").write_bytes(SECRET)
    make_skill(tmp_path / "skills" / "writer" / "own")
    (tmp_path / "secret.txt").write_bytes(SECRET)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "fill.py").write_bytes(SECRET)
    return tmp_path / "skills"


@pytest.fixture
def skills(root: Path) -> list[Skill]:
    return [skill for skill in find_skills(sources_in(root)) if skill.category == "public"]


def test_files_are_read_by_the_paths_that_programs_know(skills: list[Skill]) -> None:
    assert read_virtual("/mnt/skills/public/pdf/scripts/fill.py", skills) == b"print()"
    assert read_virtual("/mnt/skills/public/group/inner/SKILL.md", skills).startswith(b"---")
    assert read_virtual("/other/public/pdf/scripts/fill.py", skills, base="/other/") == b"print()"
    for skill in skills:
        assert read_virtual(skill.get_container_file_path(), skills) == skill.file.read_bytes()


def test_folders_are_listed(root: Path, skills: list[Skill]) -> None:
    (root / "public" / "pdf" / "linked").symlink_to("/etc")


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "/etc/passwd",
        "/mnt",
        "/mnt/skills",
        "/mnt/skills/",
        "/mnt/skills/public",
        "/mnt/skills/public/pdf",
        "/mnt/skills/public/pdf/",
        "/mnt/skills/public/pdf/scripts",
        "/mnt/skills/public/pdf/nothing.md",
        "/mnt/skills/public/pdf/SKILL.md/x",
        "/mnt/skills/public/pdf/../../../secret.txt",
        "/mnt/skills/public/pdf/../group/beside.txt",
        "/mnt/skills/public/pdf/scripts/../SKILL.md",
        "/mnt/skills/public/pdf/./SKILL.md",
        "/mnt/skills/public/pdf//SKILL.md",
        "/mnt/skills//public/pdf/SKILL.md",
        "/mnt/skills/../skills/public/pdf/SKILL.md",
        "/mnt/skills/./public/pdf/SKILL.md",
        "mnt/skills/public/pdf/SKILL.md",
        "//mnt/skills/public/pdf/SKILL.md",
        "/mnt/skillsx/public/pdf/SKILL.md",
        "/mnt/skills/../../../../../../etc/passwd",
        "/mnt/skills/..",
        "/mnt/skills/public/../../secret.txt",
        "/mnt/skills/public/group/beside.txt",
        "/mnt/skills/public/pd/SKILL.md",
        "/mnt/skills/public/pdf2/SKILL.md",
        "/mnt/skills/PUBLIC/pdf/SKILL.md",
        "/mnt/skills/writer/own/SKILL.md",
        "/mnt/skills/public/pdf/SKILL.md\0.png",
        "/mnt/skills/public/pdf\\..\\SKILL.md",
        "/mnt/skills/public/pdf/%2e%2e/SKILL.md",
        "/mnt/skills/public/pdf/" + "x" * 5000,
        "/mnt/skills/public/pdf/" + "x/" * 5000,
        "/mnt/skills/public/pdf/~/secret",
        "/mnt/skills/public/pdf/.origin.json",
        "/mnt/skills/public/pdf/\udcff",
    ],
)
def test_any_other_path_is_unknown(skills: list[Skill], path: str) -> None:
    with pytest.raises(NotFoundError):
        read_virtual(path, skills)


ODD: dict[str, Callable[[Path], object]] = {
    "link": lambda place: place.symlink_to(place.parents[3] / "secret.txt"),
    "link inside": lambda place: place.symlink_to("scripts/fill.py"),
    "process": lambda place: place.symlink_to("/proc/self/environ"),
    "hard link": lambda place: place.hardlink_to(place.parents[3] / "secret.txt"),
    "pipe": lambda place: os.mkfifo(place),
    "device": lambda place: place.symlink_to("/dev/zero"),
    "folder": lambda place: place.mkdir(),
}


@pytest.mark.parametrize("odd", ODD)
def test_what_is_no_plain_file_is_not_opened(root: Path, skills: list[Skill], odd: str) -> None:
    ODD[odd](root / "public" / "pdf" / "odd")

    with pytest.raises(NotFoundError):
        read_virtual("/mnt/skills/public/pdf/odd", skills)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a device")
def test_a_device_is_not_opened(root: Path, skills: list[Skill]) -> None:
    try:
        os.mknod(root / "public" / "pdf" / "zero", 0o020666, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("devices can't be made in this container")

    with pytest.raises(NotFoundError):
        read_virtual("/mnt/skills/public/pdf/zero", skills)


@pytest.mark.parametrize("place", ["pdf", "pdf/scripts"])
def test_a_folder_that_is_a_link_is_not_entered(root: Path, skills: list[Skill], place: str) -> None:
    folder = root / "public" / place
    folder.rename(root / "moved")
    folder.symlink_to(root.parent / "outside")

    for path in ("/mnt/skills/public/pdf/scripts/fill.py", "/mnt/skills/public/pdf/fill.py"):
        with pytest.raises(NotFoundError):
            read_virtual(path, skills)


def test_an_error_tells_no_path_of_this_machine(root: Path, skills: list[Skill]) -> None:
    with pytest.raises(NotFoundError) as caught:
        read_virtual("/mnt/skills/public/pdf/nothing", skills)

    assert str(root) not in f"{caught.value.message} {caught.value.hint}"


def test_a_large_file_is_refused(root: Path, skills: list[Skill]) -> None:
    with open(root / "public" / "pdf" / "large", "wb") as stream:
        stream.truncate(1 << 40)

    with pytest.raises(NotFoundError):
        read_virtual("/mnt/skills/public/pdf/large", skills)


def test_no_descriptor_is_left_open(root: Path, skills: list[Skill]) -> None:
    (root / "public" / "pdf" / "odd").symlink_to("/etc/passwd")
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0

    for _ in range(50):
        for name in ("odd", "nothing", "scripts", "SKILL.md/x"):
            with pytest.raises(NotFoundError):
                open_virtual(f"/mnt/skills/public/pdf/{name}", skills)

    assert (len(os.listdir("/proc/self/fd")) if before else 0) == before


@pytest.mark.slow
def test_a_folder_that_becomes_a_link_meanwhile_leads_nowhere(root: Path, skills: list[Skill]) -> None:
    outcomes = {"read": 0, "refused": 0}
    with swapping(root / "public/pdf/scripts", root.parent / "outside", root):
        for _ in range(20_000):
            try:
                assert read_virtual("/mnt/skills/public/pdf/scripts/fill.py", skills) == b"print()"
                outcomes["read"] += 1
            except NotFoundError:
                outcomes["refused"] += 1
    assert min(outcomes.values()) > 0  # the race was on
