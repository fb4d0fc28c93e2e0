"""What a file is: what runs is told, whatever it begins with, and what only looks like it is not."""

import io
import pickle
import random
import zipfile
from pathlib import Path

import pytest

from satchel.library.install.kinds import HEAD, kind_of
from satchel.library.install.scan import scan
from tests.library.skill_files import make_skill

PICTURE = b"\x89PNG\r\n\x1a\n" + random.Random(4).randbytes(9_000)


def packed(comment: bytes = b"") -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("__main__.py", "print('hello')\n" * 100)
        archive.comment = comment
    return stream.getvalue()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("logo.png", PICTURE + packed()),
        ("logo.png", PICTURE + packed(b"x" * 65_535)),
        ("logo.png", PICTURE + packed() + bytes(5_000)),
        ("paper.pdf", b"%PDF-1.7\n" + PICTURE + packed()),
        ("notes.md", b"# Notes\n" * 2_000 + packed()),
    ],
    ids=["behind a picture", "with a comment", "before padding", "behind a document", "behind a text"],
)
def test_an_archive_behind_something_else_is_one(tmp_path: Path, name: str, data: bytes) -> None:
    folder = make_skill(tmp_path / "demo")
    (folder / name).write_bytes(data)

    findings = [(item.file, item.severity) for item in scan(folder) if item.rule == "nested-archive"]

    assert findings == [(name, "critical")]


def test_a_picture_alone_is_no_archive(tmp_path: Path) -> None:
    folder = make_skill(tmp_path / "demo")
    (folder / "logo.png").write_bytes(PICTURE * 20)

    assert scan(folder) == []


class Calls:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return print, ("hello",)


@pytest.mark.parametrize(
    "data",
    [
        b"cos\nsystem\n(S'id'\ntR.",
        b"(cos\nsystem\nS'id'\no.",
        b"(S'id'\nios\nsystem\n.",
        b"I1\n0cpydoc\npipepager\n(S'x'\nS'id'\ntR.",
        b"\x8c\x02os\x8c\x06system\x93\x8c\x02id\x85R.",
        b"cposix\nsystem\nq\x00(X\x02\x00\x00\x00idtR.",
        *(pickle.dumps(Calls(), protocol=protocol) for protocol in range(6)),
    ],
)
@pytest.mark.parametrize("name", ["data.txt", "data.dat"])
def test_a_pickle_that_calls_something_is_told(name: str, data: bytes) -> None:
    assert kind_of(name, data[:HEAD]).rule == "executable-file"


@pytest.mark.parametrize(
    "text",
    [
        "cos\nsin\n",
        "cos\nsin\ntan\nlog\n",
        "cos\nsin\n(t) are functions; R is a ring.",
        "(import\nfoo\nbar)\n",
        "cat\ndog\n",
        "(in-package :app)\n(defun run () 1)\n",
        "I\nam\na text.",
        "L1\nN.\n",
        "",
    ],
)
def test_a_text_that_begins_like_a_pickle_is_a_text(text: str) -> None:
    assert kind_of("notes.txt", text.encode()) == (True, None, "")
