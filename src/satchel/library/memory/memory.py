"""An agent's memory: one directory of files, and what Satchel knows of the entries in them.

All of this is for threads: it reads, waits for a lock and writes. Programs write to the same files without
asking; they are told apart from everyone else by what is there when they begin and end.
"""

import re
import time
from collections.abc import Collection, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from errno import ENOENT
from pathlib import Path

from satchel.errors import ArgumentError, SatchelError
from satchel.library.memory import adding, files, running, tool
from satchel.library.memory.changing import Change, Held
from satchel.library.memory.contents import Contents, Parsed, look
from satchel.library.memory.entries import meant, remembered
from satchel.library.memory.formats import json_items
from satchel.library.memory.formats.formats import format_of
from satchel.library.memory.glance import Glance, glance
from satchel.library.memory.places import CORE, HISTORY
from satchel.library.memory.ranking import line_within, rank
from satchel.library.memory.standing import (
    DOUBTFUL,
    OVERLAPPED,
    Standing,
    load,
    reason_to_wait,
    save,
    sweep_beside,
)
from satchel.model import Entry, FoundLine, Json, Remembered, Writer
from satchel.support.files import PATIENCE, locked_by

_LONGEST_FOUND = 500  # characters of a line that was found
_MOST_SHORT = 12  # names that say nothing by themselves, with those that are always there
_SHORT_WORD = re.compile(r"[A-Za-z0-9_.]{1,24}")


_swept: dict[Path, float] = {}  # when this process last did, by the standing of a memory


@dataclass(frozen=True, kw_only=True)
class Began:
    """What was in a memory when a program began. `is_doubtful`: it can see what nobody vouches for."""

    digests: frozenset[str]
    is_doubtful: bool
    agents: frozenset[str]  # others, that wrote some of it
    place: running.Place


@dataclass(frozen=True, kw_only=True)
class Sight:
    """A memory as seen by a program that reads it and does not write to it."""

    is_empty: bool
    is_doubtful: bool  # there is something that nobody vouches for
    is_busy: bool  # a program runs that can write to it
    agents: frozenset[str] = frozenset()  # others, that wrote some of it


class Memory:
    """The memory in a directory, with its standing in a file that no program sees."""

    def __init__(self, directory: Path, standing: Path, *, owner: int | None = None) -> None:
        self._directory = directory
        self._standing = standing
        self._running = standing.with_suffix(".running")
        self._owner = owner  # of new files, where programs run as another user

    # Reading

    def read(self) -> Remembered:
        contents, standing = self._look()
        return remembered(contents, standing)

    def search(self, query: str, limit: int) -> list[FoundLine]:
        """The places that fit a query best, of all files."""
        contents, standing = self._look()
        parsed = list(contents.files.values())
        found: list[FoundLine] = []
        for _, number, place in rank(query, [one.index for one in parsed])[:limit]:
            piece, digest = parsed[number].pieces[place], parsed[number].digests[place]
            below, text = (0, piece.text) if piece.value is not None else line_within(piece, query)
            found.append(
                FoundLine(
                    file=parsed[number].path,
                    line=piece.line + below,
                    text=text[:_LONGEST_FOUND],
                    is_waiting=digest not in standing.shown,
                    agent=standing.agent(digest),
                )
            )
        return found

    # The commands of Claude's memory tool

    def view(self, path: str, view_range: Sequence[int] | None = None) -> str:
        with files.opened(self._directory) as root:
            return tool.view(root, load(self._standing), tool.Path(path), view_range)

    def create(self, path: str, file_text: str, writer: Writer) -> str:
        with self._held() as held:
            return tool.create(held, tool.Path(path), file_text, writer)

    def str_replace(self, path: str, old_str: str, new_str: str, writer: Writer) -> str:
        with self._held() as held:
            return tool.str_replace(held, tool.Path(path), old_str, new_str, writer)

    def insert(self, path: str, insert_line: int, insert_text: str, writer: Writer) -> str:
        with self._held() as held:
            return tool.insert(held, tool.Path(path), insert_line, insert_text, writer)

    def delete(self, path: str, writer: Writer) -> str:
        with self._held() as held:
            return tool.delete(held, tool.Path(path), writer)

    def rename(self, old_path: str, new_path: str, writer: Writer) -> str:
        with self._held() as held:
            return tool.rename(held, tool.Path(old_path), tool.Path(new_path), writer)

    # For people, and for Satchel itself

    def add(
        self,
        content: str,
        writer: Writer,
        *,
        topic: str | None = None,
        file: str = CORE,
        read_only: bool = False,
    ) -> Entry:
        """Add an entry at the end of a file. `topic` is that of an item, a heading, or a key."""
        path = tool.Path(file).file()
        if read_only and writer.kind != "person":
            raise ArgumentError("only people write entries that only people change", argument="read_only")

        def edit(text: str, before: Parsed) -> str:
            return adding.added(text, before, content, topic, writer, read_only=read_only)

        with self._held() as held:
            change = held.edit(path, edit, writer)
            return self._written(held, path, change, (change.new or change.after.digests)[-1], read_only)

    def edit(self, key: str, content: str, writer: Writer) -> Entry:
        """Give an entry another text. The rest of it stays, so that one that waits goes on waiting."""
        with self._held() as held:
            entry = self._meant(held, key)

            def edit(text: str, before: Parsed) -> str:
                return adding.with_content(text, entry.file, adding.still(before, entry), content)

            change = held.edit(entry.file, edit, writer, exists=True)
            digest = (change.new or [entry.digest])[-1]
            return self._written(held, entry.file, change, digest, entry.read_only)

    def forget(self, key: str, writer: Writer) -> None:
        """Remove an entry."""
        with self._held() as held:
            entry = self._meant(held, key)
            self._remove(held, entry.file, [entry.digest], writer)

    def approve(self, digests: Iterable[str]) -> int:
        """Let entries that wait be shown; returns how many did."""
        wanted = set(digests)
        writer = Writer(kind="person")
        with self._held() as held:
            count = 0
            for path, parsed in look(held.root).files.items():
                approved = [d for d in parsed.by_digest if d in wanted and d not in held.standing.shown]
                if approved:
                    held.standing.record(path, approved, writer, "")
                flagged = [d for d in approved if (parsed.by_digest[d].value or {}).get("read_only") is True]
                for digest in flagged:
                    held.standing.protect(path, digest, parsed.by_digest[digest])
                count += len(approved)
            save(self._standing, held.standing)
        return count

    def reject(self, digests: Iterable[str]) -> int:
        """Remove entries that wait; returns how many there were."""
        wanted = set(digests)
        with self._held() as held:
            count = 0
            for path, parsed in look(held.root).files.items():
                rejected = [d for d in parsed.by_digest if d in wanted and d not in held.standing.shown]
                if rejected:
                    self._remove(held, path, rejected, Writer(kind="person"))
                count += len(rejected)
        return count

    def append_task(self, task: Json, writer: Writer) -> None:
        """Add what became of a task; of the older ones, the oldest go to another file."""
        with self._held() as held:
            held.edit(HISTORY, lambda text, before: json_items.add(text, [task]), writer)
            with suppress(SatchelError):  # the task is kept; reading tells of a broken file
                adding.move_older(held)

    def add_all(self, items: Iterable[Json], writer: Writer) -> tuple[int, int]:
        """Add items to the core memories; returns how many were new, and how many were known."""
        given = list(items)
        added = 0

        def edit(text: str, before: Parsed) -> str:
            nonlocal added
            new = adding.unknown(given, before, writer)
            added = len(new)
            return json_items.add(text, new) if new else text

        with self._held() as held:
            held.edit(CORE, edit, writer)
        return added, len(given) - added

    # Around programs

    def sight(self) -> Sight:
        """What a program sees that begins now."""
        contents, standing = self._look()
        is_doubtful = _is_doubtful(contents, standing)
        return Sight(
            is_empty=not contents.digests and not is_doubtful,
            is_doubtful=is_doubtful,
            is_busy=running.is_anybody(self._running),
            agents=standing.agents(contents.digests),
        )

    def begin(self, execution: str | None, *, box: str | None = None, patience: float = PATIENCE) -> Began:
        """A program that can write to the memory begins. Programs of one `box` count as one writer."""
        with self._held(patience) as held:
            self._sweep(held.root)
            contents = look(held.root)
            self._forget_missing(held, contents)
            return Began(
                digests=contents.digests,
                is_doubtful=_is_doubtful(contents, held.standing),
                agents=held.standing.agents(contents.digests),
                place=running.enter(self._running, execution, box),
            )

    def is_mixed(self, began: Began) -> bool:
        """Whether it may have read what another program wrote meanwhile, which nobody vouches for yet."""
        return not running.was_alone(began.place) and self.sight().is_doubtful

    def end(self, began: Began, writer: Writer, *, patience: float = PATIENCE) -> tuple[Entry, ...]:
        """It has ended: what it wrote may be shown, or waits. Returns the entries that are new."""
        with self._held(patience) as held:
            was_alone = running.was_alone(began.place)
            held.put_back()
            contents = look(held.root)
            why = reason_to_wait(writer)
            why = why or (OVERLAPPED if not was_alone else DOUBTFUL if began.is_doubtful else "")
            new: set[str] = set()
            for path, parsed in contents.files.items():
                mine = [d for d in parsed.digests if d not in began.digests and not held.standing.knows(d)]
                if mine:
                    held.standing.record(path, mine, writer, why)
                new.update(mine)
            if why and new:
                running.meet_all(self._running)
            running.leave(began.place)  # not before: what fails above is tried again
            self._forget_missing(held, contents)
            entries = remembered(contents, held.standing).entries if new else ()
        return tuple(entry for entry in entries if entry.digest in new)

    def abandon(self, began: Began) -> None:
        """Where its end could not be noted: the next program learns that there was one."""
        running.abandon(began.place)

    def glance(self) -> Glance | None:
        """See `glance.py`."""
        return glance(self._directory, self._standing)

    # Within the lock

    def _sweep(self, root: int) -> None:
        """Now and then: what was left has to lie for a while before it is taken away."""
        now = time.monotonic()
        if now - _swept.get(self._standing, float("-inf")) > files.FORGOTTEN:
            _swept[self._standing] = now
            files.sweep(root)
            sweep_beside(self._standing)

    @contextmanager
    def _held(self, patience: float = PATIENCE) -> Generator[Held]:
        try:
            with (
                locked_by(self._standing.with_suffix(".lock"), patience),
                files.opened(self._directory, make=True, owner=self._owner) as root,
            ):
                if root is None:
                    raise FileNotFoundError(ENOENT, "it was removed meanwhile")
                yield Held(
                    root=root,
                    file=self._standing,
                    running=self._running,
                    standing=load(self._standing),
                    owner=self._owner,
                )
        except OSError as error:
            raise self._unusable(error) from error

    def _look(self) -> tuple[Contents, Standing]:
        """The files before what is known of them: that is recorded first."""
        try:
            with files.opened(self._directory) as root:
                contents = look(root)
        except OSError as error:
            raise self._unusable(error) from error
        return contents, load(self._standing)

    def _unusable(self, error: OSError) -> SatchelError:
        return SatchelError(
            f"the memory {self._directory} can't be used: {files.worded(error)}",
            hint="let Satchel read and write there",
        )

    def _meant(self, held: Held, key: str) -> Entry:
        return meant(key, remembered(look(held.root), held.standing).entries)

    def _written(self, held: Held, path: str, change: Change, digest: str, read_only: bool) -> Entry:
        """The entry that a change has made."""
        if read_only:
            held.standing.protect(path, digest, change.after.by_digest[digest])
            save(self._standing, held.standing)
        contents = Contents(files={path: change.after}, problems=(), found=files.Found())
        entries = remembered(contents, held.standing).entries
        return next(entry for entry in entries if entry.digest == digest)

    def _remove(self, held: Held, path: str, digests: Sequence[str], writer: Writer) -> None:
        def edit(text: str, before: Parsed) -> str:
            gone = [p for d, p in zip(before.digests, before.pieces, strict=True) if d in digests]
            return format_of(path).remove(text, gone)

        if files.status_of(held.root, path) is not None:
            held.edit(path, edit, writer, exists=True)
        if writer.kind == "person":
            held.standing.forget(digests)  # also where only the standing has it
        save(self._standing, held.standing)

    def _forget_missing(self, held: Held, contents: Contents) -> None:
        """Only while nobody can be in the middle of writing a file anew."""
        if not running.is_anybody(self._running):
            unsure = {problem.file for problem in contents.problems}
            unsure |= {path for path, parsed in contents.files.items() if not parsed.size}
            held.standing.forget_missing(contents.digests, unsure)
        save(self._standing, held.standing)


def _is_doubtful(contents: Contents, standing: Standing) -> bool:
    """Whether a program can read here what nobody vouches for: also in files that Satchel does not read."""
    is_waiting = any(digest not in standing.shown for digest in contents.digests)
    if is_waiting or contents.problems or contents.found.has_hidden:
        return True
    vouched = {path for path, parsed in contents.files.items() if parsed.pieces}
    names = [path for path in (*contents.files, *contents.found.folders) if path not in vouched]
    if len(names) > _MOST_SHORT:  # words in a row say something
        return True
    return any(not _says_nothing(path, vouched) for path in names)


def _says_nothing(path: str, vouched: Collection[str]) -> bool:
    """A name without entries, of a file or a folder: a short word is not taken for an instruction."""
    return bool(_SHORT_WORD.fullmatch(path)) or any(name.startswith(f"{path}/") for name in vouched)
