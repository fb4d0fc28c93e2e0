"""A plugin's folder, read without being led out of it, and the problems in it."""

import json
import os
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from satchel.config.positions import lines_in_json
from satchel.model import Json, Remark, is_list, is_object
from satchel.support.files import Stamp, read_small, stamp_of
from satchel.support.json import is_too_deep
from satchel.support.text import label

LARGEST = 256 * 1024  # bytes of a manifest or a file of servers
MOST_ENTRIES = 20_000
MOST_NAMED = 1_000
"""Paths of a list that are looked at."""
_MOST_REMARKS = 50
_DEEPEST = 16  # levels of folders


@dataclass(frozen=True, kw_only=True)
class Document:
    """A file of JSON, or what is wrong with it."""

    file: str
    data: object = None
    text: str = field(default="", repr=False)
    repeated: tuple[str, ...] = ()
    problem: str | None = None
    problem_line: int | None = None

    @cached_property
    def _lines(self) -> dict[tuple[str | int, ...], int]:
        return lines_in_json(self.text)

    def line(self, key: Sequence[str | int]) -> int | None:
        """Where a key stands, or the nearest one around it."""
        return next(
            (
                self._lines[tuple(key[:end])]
                for end in range(len(key), 0, -1)
                if tuple(key[:end]) in self._lines
            ),
            None,
        )


class Inside:
    """One plugin's folder. Paths are relative to it; a link counts if it leads to something in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._root = str(folder)  # paths are plain text below: there are many in each listing
        self._real = os.path.realpath(folder)
        self.looked: dict[str, Stamp | None] = {}
        """How each folder and file was that the answers here depend on, before it was looked at."""
        self.has_links = False  # what they lead to may change unseen
        self._inside: dict[str, bool] = {"": True, ".": True}
        self._seen: set[str] = set()
        self._remarks: list[Remark] = []
        self._unsaid = 0

    @property
    def remarks(self) -> tuple[Remark, ...]:
        if not self._unsaid:
            return tuple(self._remarks)
        return (*self._remarks, Remark(text=f"and {self._unsaid} more remarks", file="."))

    def note(self, text: str, file: str, line: int | None = None) -> None:
        if len(self._remarks) < _MOST_REMARKS:
            self._remarks.append(Remark(text=label(text, 300), file=label(file), line=line))
        else:
            self._unsaid += 1

    def refusal(self, relative: str) -> str | None:
        """Why a path that somebody wrote is not used, if it isn't."""
        if not relative.strip() or "\x00" in relative:
            return "is not a path"
        if relative.startswith(("/", "~", "\\")) or "\\" in relative or relative[1:2] == ":":
            return "is not relative to the plugin"
        try:
            real = os.path.realpath(f"{self._root}/{relative}")
            self._look(os.path.dirname(os.path.normpath(relative)))
            self.has_links |= real != os.path.normpath(f"{self._real}/{relative}")
        except (OSError, ValueError):
            return "can't be followed"
        if not self._has(real):
            return "leads out of the plugin"
        if os.path.lexists(real):
            return None
        return "matches nothing: patterns are not read" if set("*?[{") & set(relative) else "is not there"

    def is_folder(self, relative: str) -> bool:
        return self._kind(relative) == "folder"

    def is_link(self, relative: str) -> bool:
        is_link = os.path.islink(f"{self._root}/{relative}")
        self.has_links |= is_link
        return is_link

    def is_file(self, relative: str) -> bool:
        return self._kind(relative) == "file"

    def exists(self, relative: str) -> bool:
        self._look(os.path.dirname(relative))
        return os.path.lexists(f"{self._root}/{relative}")

    def entries(self, relative: str) -> list[str]:
        """The names in a folder, in order; none where it can't be read."""
        if not self.is_folder(relative):
            return []
        self._look(relative)
        try:
            with os.scandir(f"{self._root}/{relative}") as found:
                names = [entry.name for _, entry in zip(range(MOST_ENTRIES), found, strict=False)]
        except OSError as error:
            self.note(f"can't be read: {error.strerror}", relative)
            return []
        return sorted(names)

    def walk(self, relative: str) -> Iterator[str]:
        """The files below a folder, up to a number; links to folders are not followed."""
        count = 0
        waiting = [(relative, 0)]
        while waiting:
            place, depth = waiting.pop(0)
            for name in self.entries(place):
                count += 1
                if count > MOST_ENTRIES:
                    self.note(
                        f"has more than {MOST_ENTRIES:,} files and folders; the others are not read", relative
                    )
                    return
                path = name if place == "." else f"{place}/{name}"
                if os.path.islink(f"{self._root}/{path}") and not self.is_file(
                    path
                ):  # one could lead in a circle
                    self.note("is a symbolic link that is not followed", path)
                elif self.is_folder(path):
                    if depth < _DEEPEST:
                        waiting.append((path, depth + 1))
                    else:
                        self.note("lies too deep", path)
                else:
                    yield path

    def read_json(self, relative: str) -> Document:
        """A file of JSON. Whatever is wrong with it is said in the document, and nowhere else."""
        kind = self._kind(relative)
        if kind != "file":
            return Document(file=relative, problem=_NOT_READ.get(kind, f"is {kind}, not a file"))
        self._look(relative)
        repeated: list[str] = []

        def pairs(found: list[tuple[str, Any]]) -> Json:
            keys = dict(found)
            if len(keys) < len(found):
                repeated.extend(
                    name for name, count in Counter(name for name, _ in found).items() if count > 1
                )
            return keys

        text = ""
        try:
            text = read_small(Path(os.path.realpath(f"{self._root}/{relative}")), LARGEST).decode("utf-8-sig")
            data: object = json.loads(text, object_pairs_hook=pairs)
        except json.JSONDecodeError as error:
            return Document(file=relative, problem=f"not valid JSON: {error.msg}", problem_line=error.lineno)
        except UnicodeDecodeError:
            return Document(file=relative, problem="is not UTF-8")
        except OSError:
            return Document(file=relative, problem=f"can't be read, or is larger than {LARGEST // 1024} KiB")
        except (ValueError, RecursionError):  # a number or a nesting without end
            return Document(file=relative, problem="not valid JSON: a number or a nesting without end")
        if is_too_deep(data):
            return Document(file=relative, problem="not valid JSON: nested too deeply")
        return Document(file=relative, data=data, text=text, repeated=tuple(repeated[:10]))

    def _kind(self, relative: str) -> str:
        path = f"{self._root}/{relative}"
        self._look(os.path.dirname(relative))
        try:
            if not self._is_inside(os.path.dirname(relative)):
                return "a link out of the plugin"
            mode = os.lstat(path).st_mode
            if stat.S_ISLNK(mode):
                self.has_links = True
                if not self._has(os.path.realpath(path)):
                    return "a link out of the plugin"
                mode = os.stat(path).st_mode
        except (OSError, ValueError):
            return "missing"
        if stat.S_ISDIR(mode):
            return "folder"
        return "file" if stat.S_ISREG(mode) else "special"

    def _look(self, relative: str) -> None:
        """A file that comes, goes or becomes something else shows in the folder that it is in."""
        if relative not in self._seen:
            self._seen.add(relative)
            path = self._root if relative in ("", ".") else f"{self._root}/{relative}"
            self.looked[path] = stamp_of(path)

    def _is_inside(self, folder: str) -> bool:
        """Whether a folder is where it seems to be; looked at once, because many files lie in one."""
        known = self._inside.get(folder)
        if known is None:
            path = f"{self._root}/{folder}"
            if os.path.islink(path) or ".." in folder:
                self.has_links = True
                known = self._has(os.path.realpath(path))
            else:
                known = self._is_inside(os.path.dirname(folder))
            self._inside[folder] = known
        return known

    def _has(self, real: str) -> bool:
        return real == self._real or real.startswith(self._real.rstrip("/") + "/")


_NOT_READ = {
    "missing": "is not there",
    "folder": "is a folder, not a file",
    "special": "is a pipe, a device or a socket, not a file",
}


def texts_in(value: object) -> list[str]:
    """A text, or the texts of a list, as far as it is read."""
    if isinstance(value, str):
        return [value]
    return [part for part in value[:MOST_NAMED] if isinstance(part, str)] if is_list(value) else []


def names_of(value: object) -> list[str]:
    return [label(name, 60) for name in value] if is_object(value) else []
