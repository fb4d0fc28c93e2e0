"""What has been read only grows, is told to everyone who hears of it, and is bounded."""

import threading

import pytest

from satchel.model import UNTRUSTED, Conversation, Reads, Source
from satchel.model.reads import MOST_SOURCES

STRANGE = Source(server="web", what="search", labels=frozenset({UNTRUSTED}))
KNOWN = Source(server="github", what="get_issue")


def test_what_is_read_is_read_by_all_around_and_by_nobody_beside() -> None:
    conversation, session, other = Reads(), Reads(), Reads()
    first = Reads(within=(session, conversation))
    second = Reads(within=(other, conversation))
    first.add(KNOWN)
    second.add(STRANGE)
    assert (first.own, second.own) == ((KNOWN,), (STRANGE,))
    assert (session.is_untrusted, other.is_untrusted, conversation.is_untrusted) == (False, True, True)
    assert conversation.sources == (KNOWN, STRANGE)


def test_what_was_read_before_counts_and_is_told_apart() -> None:
    session = Reads()
    reads = Reads(within=(session,))
    reads.begin_with(STRANGE)
    reads.add(KNOWN, STRANGE)
    assert (reads.before, reads.own, reads.sources) == ((STRANGE,), (KNOWN, STRANGE), (STRANGE, KNOWN))
    assert reads.is_untrusted and reads.labels == {UNTRUSTED}
    assert session.is_untrusted  # its next program may find what this one was told


def test_a_hundred_thousand_sources_take_no_room_and_lose_no_label() -> None:
    conversation = Conversation()
    reads = Reads(within=(conversation.reads,))
    for number in range(100_000):
        reads.add(Source(server="web", what=f"resource:https://example.com/{number}"))
    reads.add(STRANGE)
    for kept in (reads, conversation.reads):
        assert len(kept.sources) == MOST_SOURCES + 1
        assert kept.is_untrusted
        assert kept.sources[-1] == Source(
            server="web", what="others", labels=frozenset({UNTRUSTED}), is_cut=True
        )


def test_an_address_of_any_length_is_kept_short() -> None:
    reads = Reads()
    reads.add(Source(server="web", what="resource:" + "x" * 1_000_000))
    assert len(reads.sources[0].name) < 300


def test_what_must_be_noted_is_noted_before_anything_untrusted_is_read() -> None:
    noted: list[tuple[Source, bool]] = []
    reads = Reads(on_untrusted=lambda source: noted.append((source, reads.is_untrusted)))
    reads.add(KNOWN)
    assert not noted
    reads.add(STRANGE)
    assert noted == [(STRANGE, False)]


def test_what_cannot_be_noted_is_not_read() -> None:
    def refuse(source: Source) -> None:
        raise OSError("the disk is full")

    outer = Reads()
    reads = Reads(within=(outer,), on_untrusted=refuse)
    with pytest.raises(OSError, match="full"):
        reads.add(STRANGE)
    assert not reads.sources and not outer.sources


def test_threads_lose_nothing() -> None:
    outer = Reads()
    inner = [Reads(within=(outer,)) for _ in range(4)]

    def work(number: int) -> None:
        for count in range(20):
            inner[number].add(Source(server=f"s{number}", what=f"t{count}"))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(outer.sources) == 80
