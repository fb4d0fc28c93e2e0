"""Files as documents, whoever wrote them."""

import os
import socket
from pathlib import Path

from satchel.search.file_documents import FIELDS, documents_in
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
