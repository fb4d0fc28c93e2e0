"""Files that programs laid into a memory to harm who reads or writes them."""

import os
import shutil
import stat
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from satchel.errors import ArgumentError, SatchelError
from satchel.library.memory import files
from satchel.library.memory.memory import Memory
from satchel.library.memory.places import CORE, PATTERNS, PREFERENCES
from tests.library.memory.writers import MODEL, PERSON, SATCHEL, memory_in, shown, write

SECRET = "a secret of the host"


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    (tmp_path / "memory").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.md").write_text(f"# Secret\n\n{SECRET}\n")
    return memory_in(tmp_path)


def problems(memory: Memory) -> dict[str, str]:
    return {problem.file: problem.message for problem in memory.read().problems}


def test_no_link_is_followed(memory: Memory, tmp_path: Path) -> None:
    inside = tmp_path / "memory"
    (inside / CORE).symlink_to(tmp_path / "outside" / "secret.md")
    (inside / "folder").symlink_to(tmp_path / "outside")
    assert problems(memory) == {CORE: "it is a symbolic link", "folder": "it is a symbolic link"}
    for attempt in (
        lambda: memory.view(f"/memories/{CORE}"),
        lambda: memory.view("/memories/folder/secret.md"),
        lambda: memory.add("x", PERSON),
        lambda: memory.create("folder/new.md", "x", MODEL),
        lambda: memory.str_replace("folder/secret.md", "Secret", "x", MODEL),
        lambda: memory.rename("folder/secret.md", "mine.md", MODEL),
    ):
        with pytest.raises(SatchelError) as caught:
            attempt()
        assert SECRET not in str(caught.value)
    assert SECRET in (tmp_path / "outside" / "secret.md").read_text()
    assert os.listdir(tmp_path / "outside") == ["secret.md"]
    memory.delete("folder", MODEL)
    assert os.listdir(tmp_path / "outside") == ["secret.md"]


def test_pipes_and_sockets_are_named_and_not_waited_for(memory: Memory, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "memory" / CORE)
    os.mkfifo(tmp_path / "memory" / "pipe")
    assert problems(memory) == {CORE: "it is not a plain file", "pipe": "it is not a plain file"}
    for attempt in (
        lambda: memory.add("x", PERSON),
        lambda: memory.view(CORE),
        lambda: memory.str_replace("pipe", "a", "b", MODEL),
    ):
        with pytest.raises(ArgumentError):
            attempt()


def test_what_is_too_large_too_deep_or_too_much_hides_nothing_else(memory: Memory, tmp_path: Path) -> None:
    write(tmp_path, PREFERENCES, "a: 1\n")
    write(tmp_path, "large.txt", "x" * (files.LARGEST + 1))
    write(tmp_path, "1/2/3/4/5.txt", "x")
    for number in range(70):
        write(tmp_path, f"many/{number:02}.txt", "x")
    found = problems(memory)
    assert found["large.txt"] == "it has more than 4,096 KiB"
    assert found["1/2/3/4"] == "it is more than 4 levels deep"
    assert found["many/69.txt"] == "there are more than 64 files; it is not read"
    assert "preferences.yaml" in {entry.file for entry in memory.read().entries}


def test_files_are_read_up_to_a_size_in_all(memory: Memory, tmp_path: Path) -> None:
    for number in range(4):
        write(tmp_path, f"{number}.txt", "x" * (3 * 1024 * 1024))
    assert len(memory.read().entries) == 2
    assert "more than 20,000 entries or 8 MiB" in problems(memory)["3.txt"]


def test_very_many_names_are_not_all_looked_at(memory: Memory, tmp_path: Path) -> None:
    for number in range(1_100):
        (tmp_path / "memory" / f".{number}").touch()
    assert problems(memory) == {".": "more than 1,000 names; the others are not read"}


@pytest.mark.parametrize("name", [b"a\nb", b"a\xffb", "a\u202eb".encode(), "a\u200bb".encode(), b"a\x1b[31m"])
def test_names_that_show_as_something_else_are_not_read(memory: Memory, tmp_path: Path, name: bytes) -> None:
    with open(os.fsencode(tmp_path / "memory") + b"/" + name, "w") as stream:
        stream.write("x")
    remembered = memory.read()
    assert remembered.entries == ()
    (problem,) = remembered.problems
    assert problem.file.isprintable()
    problem.file.encode()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"# a\n\n\xff\n", "it is not UTF-8"),
        ("# a\n".encode("utf-16"), "it is not UTF-8"),
        (b"# a\n\xed\xa0\x80\n", "it is not UTF-8"),
    ],
)
def test_what_is_not_utf8_is_named_with_its_line(
    memory: Memory, tmp_path: Path, data: bytes, message: str
) -> None:
    (tmp_path / "memory" / PATTERNS).write_bytes(data)
    (problem,) = memory.read().problems
    assert problem.message == message
    assert problem.line == data.count(b"\n", 0, 6) + (data[0] == 0x23 and data.count(b"\n") == 3 and 1) or 1
    with pytest.raises(SatchelError):
        memory.add("x", PERSON, file=PATTERNS)
    assert (tmp_path / "memory" / PATTERNS).read_bytes() == data


def test_a_mark_and_line_ends_of_other_systems_are_kept(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "memory" / PREFERENCES
    file.write_bytes(b"\xef\xbb\xbfa: 1\r\nb: 2\r\n")
    memory.edit("a", "3", PERSON)
    assert file.read_bytes() == b"\xef\xbb\xbfa: 3\r\nb: 2\r\n"


def test_owner_and_mode_are_kept_and_given(tmp_path: Path) -> None:
    if os.geteuid():
        pytest.skip("only root gives files to others")
    memory = Memory(tmp_path / "memory", tmp_path / "memory.json", owner=12345)
    memory.create("sub/a.txt", "one", MODEL)
    for path in ("", "sub", "sub/a.txt"):
        status = (tmp_path / "memory" / path).stat()
        assert (status.st_uid, status.st_gid, status.st_mode & 0o77) == (12345, 12345, 0)
    other = write(tmp_path, "b.txt", "one")
    os.chown(other, 54321, 54321)
    other.chmod(0o640)
    memory.insert("b.txt", 0, "zero", MODEL)
    status = other.stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (54321, 54321, 0o640)


def test_leftovers_of_writers_that_were_killed_are_removed(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "memory" / "sub").mkdir()
    old = [tmp_path / "memory" / ".satchel-0123", tmp_path / "memory" / "sub" / ".satchel-4567"]
    new, other = tmp_path / "memory" / ".satchel-89ab", tmp_path / "memory" / ".mine"
    for file in (*old, new, other):
        file.write_text("half of a fi")
    for file in (*old, other):
        os.utime(file, (1, 1))
    (tmp_path / ".memory.json.abcd").write_text("half of a fi")
    memory.end(memory.begin("e1"), MODEL)
    assert [file.exists() for file in (*old, new, other)] == [False, False, True, True]
    assert not (tmp_path / ".memory.json.abcd").exists()


def test_a_write_gives_way_to_what_a_program_wrote_meanwhile(memory: Memory, tmp_path: Path) -> None:
    file = write(tmp_path, "a.txt", "one")
    root = os.open(tmp_path / "memory", os.O_RDONLY)
    try:
        before = files.status_of(root, "a.txt")
        assert before is not None
        file.write_text("program's")
        assert not files.write(root, "a.txt", b"ours", before, None)
        assert not files.write(root, "a.txt", b"ours", None, None)
        assert file.read_text() == "program's"
        # It wrote after we had looked for the last time.
        ours = root_file(root, ".satchel-1", b"ours")
        assert not files._take_place(root, ".satchel-1", ours, "a.txt", before)
        assert file.read_text() == "program's"
        assert not files._take_place(root, ".satchel-1", ours, "a.txt", None)
        assert (tmp_path / "memory" / ".satchel-1").read_text() == "ours"
    finally:
        os.close(root)


def root_file(root: int, name: str, data: bytes) -> os.stat_result:
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=root)
    with open(descriptor, "wb") as stream:
        stream.write(data)
    return os.stat(name, dir_fd=root)


@pytest.mark.slow
def test_directories_that_turn_into_links_all_the_time_lead_nowhere(memory: Memory, tmp_path: Path) -> None:
    inside, outside = tmp_path / "memory", tmp_path / "outside"
    is_over = threading.Event()

    def swap() -> None:
        while not is_over.is_set():
            with suppress(OSError):
                os.symlink(outside, inside / "sub")
            with suppress(OSError):
                os.unlink(inside / "sub")
            shutil.rmtree(inside / "sub", ignore_errors=True)

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        deadline = time.monotonic() + 2
        while time.monotonic() < deadline:
            for attempt in (
                lambda: memory.create("sub/new.md", "ours", SATCHEL),
                lambda: memory.str_replace("sub/secret.md", SECRET, "ours", SATCHEL),
                lambda: memory.delete("sub/secret.md", SATCHEL),
                lambda: memory.view("sub/secret.md"),
            ):
                with suppress(SatchelError):
                    assert SECRET not in attempt()
            assert all(SECRET not in entry.text for entry in memory.read().entries)
    finally:
        is_over.set()
        swapper.join(60)
    assert os.listdir(outside) == ["secret.md"]
    assert SECRET in (outside / "secret.md").read_text()


def test_a_lock_that_is_held_for_too_long_is_told(memory: Memory, tmp_path: Path) -> None:
    from satchel.support.files import locked_by

    with (
        locked_by(tmp_path / "memory.lock"),
        pytest.raises(SatchelError, match=r"memory\.lock has been locked by another process for 0\.05 s"),
        locked_by(tmp_path / "memory.lock", 0.05),
    ):
        pass
    memory.add("one", PERSON)
    assert shown(memory) == ["general: one"]


@pytest.mark.slow
def test_more_yaml_than_is_quickly_taken_apart_is_not_read(memory: Memory, tmp_path: Path) -> None:
    memory.add("German", PERSON, topic="language", file=PREFERENCES)
    for number in range(5):
        write(tmp_path, f"{number}.yaml", f"a: [{'[],' * 40_000}]\n")
    assert sorted(problems(memory)) == ["4.yaml"]
    assert "YAML counts 16 times" in problems(memory)["4.yaml"]
    assert "language: German" in shown(memory)


def test_who_makes_many_folders_holds_nobody_up(memory: Memory, tmp_path: Path) -> None:
    for number in range(1200):
        left = write(tmp_path, f"{number // 40}/.satchel-{number}", "")
        os.utime(left, (1, 1))
    memory.end(memory.begin("e"), MODEL)
    assert 0 < len(list(tmp_path.rglob(".satchel-*"))) < 1200
