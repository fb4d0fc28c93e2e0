"""What programs had read that could write to a place is kept, bounded, and never lost."""

import os
import threading
from pathlib import Path

import pytest

from satchel.errors import SatchelError
from satchel.library.memory.marks import WORKSPACE, mark
from satchel.library.memory.traces import MEMORY, forget, trace, traced
from satchel.model import Source

CRM = Source(server="crm", what="get_contact", labels=frozenset({"sensitive"}))
WEB = Source(server="web", what="search", labels=frozenset({"untrusted"}))


def test_what_is_noted_of_a_place_is_there_until_it_is_forgotten(tmp_path: Path) -> None:
    own = tmp_path / "agent"
    assert traced(own, WORKSPACE) == ()
    trace(own, WORKSPACE, [CRM])
    trace(own, WORKSPACE, [CRM, WEB])
    trace(own, MEMORY, [WEB])
    assert (traced(own, WORKSPACE), traced(own, MEMORY)) == ((CRM, WEB), (WEB,))
    forget(own, WORKSPACE)
    forget(own, WORKSPACE)
    assert (traced(own, WORKSPACE), traced(own, MEMORY)) == ((), (WEB,))


def test_a_line_that_a_crash_has_cut_spoils_no_later_one(tmp_path: Path) -> None:
    trace(tmp_path, WORKSPACE, [CRM])
    with open(tmp_path / "workspace.reads.jsonl", "a") as stream:
        stream.write('{"server": "we')
    trace(tmp_path, WORKSPACE, [WEB])
    assert traced(tmp_path, WORKSPACE) == (CRM, WEB)


def test_a_place_that_was_marked_before_there_were_rules_stays_untrusted(tmp_path: Path) -> None:
    mark(tmp_path, WORKSPACE, "e1")
    trace(tmp_path, WORKSPACE, [CRM])
    assert traced(tmp_path, WORKSPACE) == (Source(what=WORKSPACE, labels=frozenset({"untrusted"})), CRM)


def test_however_much_is_read_the_file_stays_small_and_every_server_is_named(tmp_path: Path) -> None:
    for number in range(1_000):
        trace(tmp_path, WORKSPACE, [Source(server="web", what=f"resource:{number}")])
    trace(tmp_path, WORKSPACE, [CRM])
    found = traced(tmp_path, WORKSPACE)
    assert len(found) < 210
    assert Source(server="crm", what="others", labels=CRM.labels, is_cut=True) in found
    assert Source(server="web", what="others", is_cut=True) in found


def test_what_can_not_be_noted_or_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "workspace.reads.jsonl").mkdir()
    with pytest.raises(SatchelError, match="can't be"):
        trace(tmp_path, WORKSPACE, [CRM])
    with pytest.raises(SatchelError, match="can't be read"):
        traced(tmp_path, WORKSPACE)


def test_no_link_is_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("")
    os.symlink(target, tmp_path / "workspace.reads.jsonl")
    with pytest.raises(SatchelError):
        trace(tmp_path, WORKSPACE, [CRM])
    assert target.read_text() == ""


def test_many_at_once_lose_nothing(tmp_path: Path) -> None:
    def work(number: int) -> None:
        for count in range(10):
            trace(tmp_path, WORKSPACE, [Source(server=f"s{number}", what=f"t{count}")])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(set(traced(tmp_path, WORKSPACE))) == 80
