"""Sections come back from the cache as they went in; one that can't be used costs time, and nothing else."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from satchel.search import cached
from satchel.search.cached import cached_section
from satchel.search.index import Section, make_section
from satchel.search.tool_documents import FIELDS, document_of


class Maker:
    """Makes a section, and counts how often."""

    def __init__(self, *names: str) -> None:
        self.names = names
        self.made = 0

    def __call__(self) -> Section:
        self.made += 1
        documents = [
            document_of("files", name, None, f"What {name} does: 文件.", None) for name in self.names
        ]
        return make_section(documents, FIELDS)


@pytest.fixture
def make() -> Maker:
    return Maker("read_file", "write_file", "删除文件", "odd\ud800name", "🎉")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "search"


def only_file(directory: Path) -> Path:
    (file,) = directory.iterdir()
    return file


def test_a_section_is_made_once_and_then_read_as_it_was(directory: Path, make: Maker) -> None:
    first = cached_section(directory, "files 1", make)
    second = cached_section(directory, "files 1", make)

    assert make.made == 1
    assert second == first == make()
    assert all(type(sense) is bytes for sense in second.senses)


def test_an_empty_section_is_kept_too(directory: Path) -> None:
    make = Maker()

    assert cached_section(directory, "nothing", make) == cached_section(directory, "nothing", make)
    assert make.made == 1


def test_another_identity_is_another_file(directory: Path, make: Maker) -> None:
    other = Maker("delete_file")
    cached_section(directory, "files 1", make)
    cached_section(directory, "files 2", other)

    assert len(list(directory.iterdir())) == 2
    assert cached_section(directory, "files 1", make).keys == list(make.names)
    assert cached_section(directory, "files 2", other).keys == ["delete_file"]
    assert (make.made, other.made) == (1, 1)


@pytest.mark.parametrize("identity", ["", "../../escape", "a/b\0c", "\ud800", "x" * 100_000])
def test_no_identity_leads_out_of_the_directory(directory: Path, make: Maker, identity: str) -> None:
    cached_section(directory, identity, make)

    assert only_file(directory).parent == directory
    assert [path.name for path in directory.parent.iterdir()] == ["search"]
    cached_section(directory, identity, make)
    assert make.made == 1


def test_the_files_are_for_their_owner_alone(directory: Path, make: Maker) -> None:
    cached_section(directory, "files 1", make)

    assert only_file(directory).stat().st_mode & 0o077 == 0
    assert directory.stat().st_mode & 0o077 == 0


def test_a_new_format_reads_none_of_the_old_files(
    directory: Path, make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    cached_section(directory, "files 1", make)
    monkeypatch.setattr(cached, "FORMAT", cached.FORMAT + 1)
    cached_section(directory, "files 1", make)

    assert make.made == 2


def _flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "cut in half": lambda content: content[: len(content) // 2],
    "cut by a byte": lambda content: content[:-1],
    "longer": lambda content: content + b" ",
    "a bit flipped": _flipped,
    "no check": lambda content: content.partition(b"\n")[2],
    "another check": lambda content: b"0" * 32 + b"\n" + content.partition(b"\n")[2],
    "text": lambda content: b"hello\nworld\n",
    "JSON of somebody else": lambda content: b'{"keys": [], "names": [], "senses": [], "terms": {}}',
    "deep": lambda content: b"[" * 100_000,
    "binary": lambda content: bytes(range(256)) * 100,
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_ignored_and_written_anew(directory: Path, make: Maker, damage: str) -> None:
    first = cached_section(directory, "files 1", make)
    file = only_file(directory)
    good = file.read_bytes()
    file.write_bytes(DAMAGE[damage](good))

    assert cached_section(directory, "files 1", make) == first
    assert make.made == 2
    assert only_file(directory).read_bytes() == good
    assert cached_section(directory, "files 1", make) == first
    assert make.made == 2


@pytest.mark.parametrize(
    "body", [b"[]", b"{}", b"null", b'{"keys": 1, "names": 2, "terms": 3, "senses": 4}', b"["]
)
def test_a_file_that_checks_and_is_no_section_is_ignored(directory: Path, make: Maker, body: bytes) -> None:
    first = cached_section(directory, "files 1", make)
    only_file(directory).write_bytes(cached._check(body) + b"\n" + body)

    assert cached_section(directory, "files 1", make) == first
    assert make.made == 2


def test_a_directory_in_the_place_of_the_file_is_no_error(directory: Path, make: Maker) -> None:
    first = cached_section(directory, "files 1", make)
    file = only_file(directory)
    file.unlink()
    file.mkdir()

    assert cached_section(directory, "files 1", make) == first


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")
def test_a_file_or_directory_without_permission_is_no_error(directory: Path, make: Maker) -> None:
    first = cached_section(directory, "files 1", make)
    only_file(directory).chmod(0)
    directory.chmod(0o500)
    try:
        assert cached_section(directory, "files 1", make) == first
        assert cached_section(directory, "files 2", make) == first
    finally:
        directory.chmod(0o700)


def test_a_cache_that_can_not_be_made_is_no_error(tmp_path: Path, make: Maker) -> None:
    (tmp_path / "file").write_text("in the way")

    assert cached_section(tmp_path / "file" / "search", "files 1", make) == make()
    assert (tmp_path / "file").read_text() == "in the way"


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a directory that nobody can write to")
def test_a_directory_that_nobody_can_write_to_is_no_error(make: Maker) -> None:
    assert cached_section(Path("/proc/self/satchel"), "files 1", make) == make()


def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(directory: Path, make: Maker) -> None:
    cached_section(directory, "files 1", make)
    (file,) = directory.glob("*.json")
    file.unlink()
    os.mkfifo(file)
    assert cached_section(directory, "files 1", make) == make()


def test_what_fails_while_it_is_made_leaves_nothing_behind(directory: Path) -> None:
    def fail() -> Section:
        raise RuntimeError("no section")

    with pytest.raises(RuntimeError, match="no section"):
        cached_section(directory, "files 1", fail)
    assert not directory.exists()


def test_the_oldest_files_go_when_there_are_too_many(
    directory: Path, make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cached, "_MOST_FILES", 10)
    directory.mkdir(parents=True)
    for number in range(10):
        file = directory / f"old{number}.json"
        file.write_text("{}")
        os.utime(file, (1000 + number, 1000 + number))
    cached_section(directory, "files 1", make)

    left = {file.name for file in directory.iterdir()}
    assert {f"old{number}.json" for number in range(5)}.isdisjoint(left)
    assert {f"old{number}.json" for number in range(5, 10)} < left
    cached_section(directory, "files 1", make)
    assert make.made == 1
