"""Files as documents, whoever wrote them."""

import os
import socket
from pathlib import Path

from satchel.search.documents import Document
from satchel.search.file_documents import FIELDS, TextIndex, documents_in, text_document
from satchel.search.index import Index, make_section
from satchel.search.rank import search


def test_texts_are_found_by_what_they_say_and_what_they_are_called(tmp_path: Path) -> None:
    (tmp_path / "people").mkdir()
    (tmp_path / "people" / "customers.md").write_text("Ada prefers to be called in the morning.")
    (tmp_path / "plan.txt").write_text("Launch in October.\n")
    documents = documents_in(tmp_path, "/mnt/memory")
    assert [document.key for document in documents] == [
        "/mnt/memory/plan.txt",
        "/mnt/memory/people/customers.md",
    ]
    index = Index()
    index.put("memory", make_section(documents, FIELDS))
    for query, path in (
        ("when does Ada like calls", "/mnt/memory/people/customers.md"),
        ("customers", "/mnt/memory/people/customers.md"),
        ("month of the launch", "/mnt/memory/plan.txt"),
    ):
        assert search(index, query, limit=1)[0].key == path


def test_nothing_hostile_is_followed_waited_for_or_read_whole(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("do not read")
    memory = tmp_path / "memory"
    memory.mkdir()
    os.symlink(secret / "key", memory / "link")
    os.symlink(secret, memory / "linked")
    os.symlink(memory, memory / "loop")
    os.mkfifo(memory / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.getcwd()
        os.chdir(memory)
        listener.bind("socket")
        os.chdir(here)
    (memory / "binary").write_bytes(b"\0\1\2")
    (memory / b"no text \xff".decode("utf-8", "surrogateescape")).write_text("odd name")
    (memory / "large").write_text("word " * 1_000_000)
    deep = memory
    for _ in range(30):
        deep = deep / ("d" * 50)
        deep.mkdir()
    (deep / "deep").write_text("too deep")
    for number in range(300):
        (memory / f"zz{number}").write_text("many")
    documents = documents_in(memory, "/mnt/memory")
    assert len(documents) == 200
    texts = ["".join(document.fields.values()) for document in documents]
    assert not any("do not read" in text or "too deep" in text for text in texts)
    assert max(map(len, texts)) < 20_000
    assert documents_in(tmp_path / "missing", "/x") == []


def test_files_that_are_no_text_count_among_those_that_are_opened(tmp_path: Path) -> None:
    for number in range(1_500):
        (tmp_path / f"{number:04}").write_bytes(b"\0")
    (tmp_path / "last.md").write_text("after all the others")
    assert documents_in(tmp_path, "/mnt/memory") == []
    for number in range(501):
        (tmp_path / f"{number:04}").unlink()
    assert [document.key for document in documents_in(tmp_path, "/mnt/memory")] == ["/mnt/memory/last.md"]


def test_only_so_many_bytes_are_read_and_so_many_entries_looked_at(tmp_path: Path) -> None:
    (tmp_path / "large").mkdir()
    for number in range(300):
        (tmp_path / "large" / f"{number:03}").write_bytes(b"\0" + b"x" * 20_000)
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "plan.md").write_text("a plan")
    assert documents_in(tmp_path, "/mnt/memory") == []  # what comes first has used it up
    entries = tmp_path / "entries"
    for folder in range(12):
        (entries / f"{folder:02}").mkdir(parents=True)
        for number in range(1_000):
            (entries / f"{folder:02}" / str(number)).mkdir()
    (entries / "11" / "zz.md").write_text("beyond what is looked at")
    assert documents_in(entries, "/mnt/memory") == []
    (entries / "00" / "zz.md").write_text("near")
    assert [document.key for document in documents_in(entries, "/mnt/memory")] == ["/mnt/memory/00/zz.md"]


def test_texts_are_indexed_anew_when_they_have_changed() -> None:
    index = TextIndex()
    plan = text_document("/plan.md", "plan.md", "Launch in October.")
    people = text_document("/people.md", "people.md", "Ada likes tea.")

    def found(*documents: Document, query: str) -> list[str]:
        return [hit.key for hit in index.hits({"memory": documents}, query, 5)]

    assert found(plan, query="launch") == ["/plan.md"]
    made = index._index
    assert found(plan, query="october") == ["/plan.md"] and index._index is made
    assert found(plan, people, query="tea") == ["/people.md"] and index._index is not made
    assert found(people, query="launch") == []
