"""The marks of directories that programs wrote to which had read something untrusted."""

import json
import os
from pathlib import Path

import pytest

from satchel.errors import SatchelError
from satchel.library.memory.marks import TASKS, WORKSPACE, is_marked, mark, unmark


def test_a_mark_says_which_execution_came_first_and_stays_until_it_is_removed(tmp_path: Path) -> None:
    own = tmp_path / "agents/default"
    assert not is_marked(own, WORKSPACE)
    mark(own, WORKSPACE, "abc", ["web.search"])
    mark(own, WORKSPACE, "def", ["web.other"])
    assert is_marked(own, WORKSPACE) and not is_marked(own, TASKS)
    (file,) = own.iterdir()
    assert json.loads(file.read_text()) == {"execution": "abc", "reads": ["web.search"]}
    assert file.stat().st_mode & 0o777 == 0o600
    unmark(own, WORKSPACE)
    unmark(own, WORKSPACE)
    assert not is_marked(own, WORKSPACE)


@pytest.mark.parametrize("content", ["", "{", "null"])
def test_a_mark_counts_whatever_is_in_it(tmp_path: Path, content: str) -> None:
    mark(tmp_path, WORKSPACE, "abc")
    (file,) = tmp_path.iterdir()
    file.write_text(content)
    assert is_marked(tmp_path, WORKSPACE)


def test_a_link_in_its_place_is_a_mark_and_is_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    own = tmp_path / "own"
    mark(own, WORKSPACE, "abc")
    (file,) = own.iterdir()
    file.unlink()
    file.symlink_to(elsewhere)
    assert is_marked(own, WORKSPACE)
    mark(own, WORKSPACE, "abc")
    assert not elsewhere.exists()


def test_what_cannot_be_marked_is_an_error_with_the_file(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.write_text("not a directory")
    with pytest.raises(SatchelError, match=str(own)):
        mark(own, WORKSPACE, "abc")
    assert os.path.isfile(own)
