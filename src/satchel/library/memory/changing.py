"""Changes to a memory, under its lock: read, check, compare with what is there, and replace whole files.

What may be shown is recorded before the file is there: a kill between the two leaves nothing that anybody
sees, and who reads the file finds its standing.
"""

import os
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from satchel.errors import ArgumentError, SatchelError
from satchel.library.memory import files, running
from satchel.library.memory.contents import Parsed, decode, encode, look, parse, parse_kept
from satchel.library.memory.formats.formats import format_of
from satchel.library.memory.formats.pieces import Fault
from satchel.library.memory.places import EMPTY
from satchel.library.memory.standing import Standing, reason_to_wait, save
from satchel.model import MemoryProblem, Writer

LARGEST_BY_TOOL = 256 * 1024  # bytes
_ATTEMPTS = 400
_SETTLING = 1.0  # seconds that a program may take to write a file
_PAUSE = 0.005  # seconds
MADE_OF_WAITING = "it was made from an entry that waits for review, or from a file that was broken"

Edit = Callable[[str, Parsed], str]
"""A file's text and its entries, to its new text. It is asked again if the file changes meanwhile."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """What a file had, and what it has now."""

    before: Parsed
    after: Parsed

    @property
    def new(self) -> list[str]:
        """The digests of entries that were not there before."""
        old = set(self.before.digests)
        return [digest for digest in self.after.digests if digest not in old]

    @property
    def gone(self) -> set[str]:
        return set(self.before.digests).difference(self.after.digests)


@dataclass(kw_only=True)
class Held:
    """A memory whose lock is held."""

    root: int
    file: Path  # of its standing
    running: Path
    standing: Standing
    owner: int | None

    def edit(
        self,
        path: str,
        edit: Edit,
        writer: Writer,
        *,
        exists: bool | None = None,
        largest: int = files.LARGEST,
        mends: bool = False,
        anew: bool = True,
    ) -> Change:
        """Change a file, or make it. `exists`: it must, or must not; if not `anew`, the standing is left.

        `mends`: it may be broken, because its text is changed, not its entries.
        """
        for _ in range(_ATTEMPTS):
            data, status = self._read(path)
            self._check_exists(path, status is not None, exists)
            before = parse(path, data) if status is None else parse_kept(path, data)
            if _is_settling(path, before, status):
                time.sleep(_PAUSE)
                continue
            if before.problems and not mends:
                raise broken(path, before.problems[0])
            try:
                text = edit(decode(data), before)
            except Fault as fault:
                problem = MemoryProblem(file=path, line=fault.line, message=fault.message)
                raise broken(path, problem) from None
            new = _encoded(text, data, largest)
            change = Change(before=before, after=parse(path, new))
            self._check(path, change, writer)
            if status is None:
                self._check_count(path)
            if anew:
                self.record(path, change, writer)
            save(self.file, self.standing)
            if new == data and status is not None:
                return change
            if files.write(self.root, path, new, status, self.owner):
                self._forget(change)
                return change
            time.sleep(_PAUSE)  # a program was quicker
        raise _busy(path)

    def remove(self, path: str, writer: Writer) -> None:
        """Remove a file, or a directory with all that is in it."""
        for _ in range(_ATTEMPTS):
            status = files.status_of(self.root, path)
            if status is None:
                raise missing(path)
            contents = look(self.root)
            inside = [name for name in contents.files if name == path or name.startswith(f"{path}/")]
            for name in inside:
                self.check_read_only(contents.files[name].digests, (), writer)
            if stat.S_ISDIR(status.st_mode):
                self._empty(path, contents.found)
                status = files.status_of(self.root, path) or status
            if files.remove(self.root, path, status):
                self.standing.forget(digest for name in inside for digest in contents.files[name].digests)
                save(self.file, self.standing)
                return
            time.sleep(_PAUSE)
        raise _busy(path)

    def _empty(self, path: str, found: files.Found) -> None:
        inside = f"{path}/"
        for name, status in found.files.items():
            if name.startswith(inside):
                files.remove(self.root, name, status)
        for name in sorted((name for name in found.folders if name.startswith(inside)), reverse=True):
            status = files.status_of(self.root, name)
            if status is not None:
                files.remove(self.root, name, status)

    def rename(self, old: str, new: str, writer: Writer) -> None:
        """Rename a file or directory. What waits goes on waiting; all of it does if the writer's must."""
        contents = look(self.root)
        inside = [name for name in contents.files if f"{name}/".startswith(f"{old}/")]
        why = reason_to_wait(writer)
        for name in inside:
            renamed = new + name[len(old) :]
            files.check_path(renamed)
            parsed = contents.files[name]
            self.check_read_only(parsed.digests, (), writer)
            data, _ = files.read(self.root, name)
            after = parse(renamed, data)
            _check_whole(renamed, after)
            digests = {piece.canonical: digest for digest, piece in parsed.by_digest.items()}
            known = all(digest in self.standing.shown for digest in parsed.digests) and not parsed.problems
            for digest, piece in after.by_digest.items():
                if piece.canonical in digests and not why:
                    self.standing.carry(renamed, digests[piece.canonical], digest)
                else:
                    reason = why or ("" if known else MADE_OF_WAITING)
                    self.standing.record(renamed, [digest], writer, reason)
        save(self.file, self.standing)
        try:
            files.rename(self.root, old, new, self.owner)
        except FileExistsError:
            raise ArgumentError(f"The destination {new} already exists", argument="new_path") from None
        self.standing.forget(digest for name in inside for digest in contents.files[name].digests)
        save(self.file, self.standing)

        if why:
            running.meet_all(self.running)

    def record(self, path: str, change: Change, writer: Writer) -> None:
        """Whether new entries may be shown. What is made of something that waits has to wait as well."""
        new = change.new
        if not new:
            return
        why = reason_to_wait(writer)
        if not why:
            claims = change.before.problems or any(d not in self.standing.shown for d in change.gone)
            why = MADE_OF_WAITING if claims else ""
        self.standing.record(path, new, writer, why)
        if why:
            running.meet_all(self.running)  # a program may read it, and would be trusted with it

    def put_back(self) -> None:
        """Give entries that only people change back to the files that have lost them."""
        if not self.standing.read_only:
            return
        there = look(self.root).digests
        for digest, kept in list(self.standing.read_only.items()):
            if digest in there:
                continue
            with suppress(SatchelError, OSError):  # a broken file is left as it is; reading has them anyway
                self._put(str(kept["file"]), str(kept["canonical"]))

    def _put(self, path: str, canonical: str) -> None:
        def put(text: str, before: Parsed) -> str:
            whole = format_of(path).put(text, canonical)
            # Where it would not be read, as in a fence without an end, it would be put back again and again.
            is_there = any(piece.canonical == canonical for piece in parse(path, whole.encode()).pieces)
            return whole if is_there else text

        self.edit(path, put, Writer(kind="person"), anew=False)

    def check_read_only(self, before: tuple[str, ...], after: tuple[str, ...], writer: Writer) -> None:
        if writer.kind == "person":
            return
        for digest in set(before).difference(after):
            kept = self.standing.read_only.get(digest)
            if kept is not None:
                raise ArgumentError(
                    f"'{kept['key']}' in {kept['file']} is read-only: only people change it",
                    hint="leave it as it is, or ask the user",
                )

    def _check(self, path: str, change: Change, writer: Writer) -> None:
        _check_whole(path, change.after)
        self.check_read_only(change.before.digests, change.after.digests, writer)

    def _check_exists(self, path: str, is_there: bool, wanted: bool | None) -> None:
        if wanted is True and not is_there:
            raise missing(path)
        if wanted is False and is_there:
            raise ArgumentError(f"File {path} already exists", argument="path")

    def _check_count(self, path: str) -> None:
        if len(files.find(self.root).files) >= files.MOST_FILES:
            raise ArgumentError(
                f"{path} would be one of more than {files.MOST_FILES} files in the memory",
                hint="write to one of those that are there",
            )

    def _read(self, path: str) -> tuple[bytes, os.stat_result | None]:
        try:
            return files.read(self.root, path)
        except FileNotFoundError:
            return EMPTY.get(path, "").encode(), None
        except OSError as error:
            raise ArgumentError(f"{path} can't be used: {files.worded(error)}", argument="path") from None

    def _forget(self, change: Change) -> None:
        if change.gone:
            self.standing.forget(change.gone)
            save(self.file, self.standing)


def _encoded(text: str, before: bytes, largest: int) -> bytes:
    if "\0" in text:
        raise ArgumentError("a text of a memory can't have the character NUL")
    try:
        data = encode(text, before)
    except UnicodeEncodeError:
        raise ArgumentError("a text of a memory can't have half a surrogate pair") from None
    if len(data) > max(largest, len(before) - 1):  # a file that a program made larger may get smaller
        raise ArgumentError(
            f"the file would have {len(data):,} bytes; at most {largest:,} are kept",
            hint="remove what is not needed, or use another file",
        )
    return data


def _check_whole(path: str, after: Parsed) -> None:
    """Refuse to break a file that programs open by its name."""
    if path in EMPTY and after.problems:
        problem = after.problems[0]
        raise ArgumentError(
            f"{path} would be broken at line {problem.line}: {problem.message}",
            hint="nothing was changed; write it so that it can be read",
        )


def _is_settling(path: str, parsed: Parsed, status: os.stat_result | None) -> bool:
    """Whether a program may be in the middle of writing a file: it has just begun anew, or is not whole."""
    is_whole = path not in EMPTY or not EMPTY[path] or (parsed.size > 0 and not parsed.problems)
    return not is_whole and status is not None and 0 <= time.time() - status.st_mtime < _SETTLING


def missing(path: str) -> ArgumentError:
    return ArgumentError(f"The path {path} does not exist. Please provide a valid path.", argument="path")


def broken(path: str, problem: MemoryProblem) -> SatchelError:
    place = path if problem.line is None else f"{path}:{problem.line}"
    return SatchelError(
        f"{place}: {problem.message}; it was left as it is", hint="repair it, or remove the file"
    )


def _busy(path: str) -> SatchelError:
    return SatchelError(
        f"{path} was changed by programs again and again; nothing was written", hint="try again later"
    )
