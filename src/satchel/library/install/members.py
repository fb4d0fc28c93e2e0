"""The files that are to become a skill or a plugin, wherever they are from: names, sizes, collisions.

An archive, a folder and a repository all give members, and nothing is written that was not checked here. How
large they are is counted while they are written: what a header says of it is not believed.
"""

import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from satchel.errors import ArgumentError
from satchel.library.skills.directory import FILE

MIB = 1024 * 1024
LARGEST_RATIO = 200  # bytes that one byte of an archive may become, beyond the first MiB
LONGEST_NAME = 200  # bytes of a file's name, and of its whole path twice as many
DEEPEST = 16
RECORD = ".origin.json"  # what Satchel keeps beside a SKILL.md that it installed
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
_LITTER = re.compile(r"(^|/)(\.DS_Store|\._[^/]*|Thumbs\.db)$|^__MACOSX/")
_VERSIONING = ".git"
_MADE_AGAIN = frozenset({"node_modules", "__pycache__", ".venv"})  # when the skill's code is run


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How much there may be of what is installed."""

    what: str  # in the words of an error
    endings: tuple[str, ...]  # of its archives
    files: int
    file: int  # bytes of one file
    total: int  # bytes of all files
    archive: int  # bytes of an archive


SKILL = Limits(
    what="skill", endings=(".skill",), files=2_000, file=32 * MIB, total=100 * MIB, archive=50 * MIB
)
# As much as Claude Code takes: whole repositories are plugins.
PLUGIN = Limits(
    what="plugin",
    endings=(".zip", ".plugin"),
    files=20_000,
    file=64 * MIB,
    total=256 * MIB,
    archive=256 * MIB,
)


@dataclass(frozen=True, kw_only=True)
class Member:
    """One file: its path with slashes, and a way to read it."""

    path: str
    read: Callable[[], Iterator[bytes]]
    executable: bool = False
    packed: int | None = None  # how many bytes of an archive it is made of


def refused(reason: str, hint: str | None = None) -> ArgumentError:
    return ArgumentError(reason, hint=hint)


def too_many(limits: Limits) -> ArgumentError:
    return refused(f"there are more than {limits.files:,} files; a {limits.what} may have no more")


def checked(members: Iterable[Member], limits: Limits = SKILL) -> list[Member]:
    """The members in the order of their paths, or an error that names the one which is not acceptable."""
    kept: list[Member] = []
    for member in members:
        if _is_litter(member.path):
            continue
        kept.append(member)
        if len(kept) > limits.files:
            raise refused(
                f"there are more than {limits.files:,} files, which is the limit for a {limits.what}"
            )
    for member in kept:
        check_path(member.path)
        if _folded(member.path.split("/")[-1]) == RECORD:
            raise refused(f"'{member.path}' has a name that Satchel keeps for itself")
    check_collisions(member.path for member in kept)
    _check_repositories((member.path for member in kept), limits.what)
    return sorted(kept, key=lambda member: member.path)


def is_left_out(name: str) -> bool:
    """Whether a file or folder of that name is not part of the skill or plugin in whose folder it lies."""
    return name == RECORD or _folded(name) in (_VERSIONING, *_MADE_AGAIN)


def _is_litter(path: str) -> bool:
    return bool(_LITTER.search(path)) or not _MADE_AGAIN.isdisjoint(map(_folded, path.split("/")))


def _check_repositories(paths: Iterable[str], what: str) -> None:
    """Refuse what git takes for a repository: its settings name commands, which any `git status` runs."""
    inside: dict[str, set[str]] = {}
    for path in paths:
        parts = _folded(path).split("/")
        if _VERSIONING in parts:
            raise refused(f"{path!a} belongs to a git repository")
        for number, part in enumerate(parts):
            inside.setdefault("/".join(parts[:number]), set()).add(part)
    for folder, names in inside.items():  # one without files checked out needs no .git
        if "head" in names and ("commondir" in names or {"objects", "refs"} <= names):
            raise refused(f"{folder or f'the {what}'!a} is a git repository itself")


def check_path(path: str) -> None:
    """Refuse a path that is not plain everywhere."""
    reason = _fault(path)
    if reason:
        raise refused(f"the path {path[:200]!a} {reason}")


def _fault(path: str) -> str | None:
    parts = path.split("/")
    alike = unicodedata.normalize("NFKC", path)
    if path.startswith("/"):
        return "is absolute"
    if re.match(r"[A-Za-z]:", path):
        return "has a drive letter"
    if "\\" in path:
        return "has a backslash"
    if ".." in parts:
        return "leads out with '..'"
    if ".." in alike.split("/") or alike.count("/") != len(parts) - 1 or "\\" in alike:
        return "has characters that look like others"
    if len(path.encode("utf-8", "surrogatepass")) > 2 * LONGEST_NAME or len(parts) > DEEPEST:
        return "is too long or too deep"
    return next((reason for part in parts if (reason := _part_fault(part))), None)


def _part_fault(part: str) -> str | None:
    if part in ("", "."):
        return "has an empty part"
    if ":" in part:
        return "has a colon"
    if any(unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp") for letter in part):
        return "has a control character"
    if part != part.strip() or part.endswith("."):
        return "has a part that begins or ends with a space, or ends with a dot"
    if len(part.encode()) > LONGEST_NAME:
        return f"has a name of more than {LONGEST_NAME} bytes"
    if _DEVICES.fullmatch(part):
        return "has the name of a device on other systems"
    return None


def check_collisions(paths: Iterable[str]) -> None:
    """Refuse two that are one file where case, or the way a letter is composed, does not count."""
    seen: dict[str, tuple[str, bool]] = {}
    for path in paths:
        parts = path.split("/")
        for length in range(1, len(parts) + 1):
            part, is_file = "/".join(parts[:length]), length == len(parts)
            other, was_file = seen.get(_folded(part), (part, False))
            if other != part:
                raise refused(f"{other!a} and {part!a} are one file on some systems")
            if is_file and was_file:
                raise refused(f"{part!a} is there twice")
            if _folded(part) in seen and was_file != is_file:
                raise refused(f"{part!a} is both a file and a folder")
            seen[_folded(part)] = (part, is_file)


def _folded(path: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", path).casefold())


def rooted(members: list[Member], folder: str | None = None, *, deep: bool = False) -> list[Member]:
    """Only what belongs to the one skill, with paths from its folder.

    That is `folder`, or where the SKILL.md is: at the root, in the one folder there, or, with `deep`, in the
    only folder that has one.
    """
    if folder:
        members = _below(members, folder.strip("/"))
    paths = {member.path for member in members}
    if FILE in paths:
        return members
    homes = sorted(path[: -len(FILE) - 1] for path in paths if path.endswith(f"/{FILE}"))
    homes = [home for home in homes if not any(home.startswith(f"{other}/") for other in homes)]
    if len(homes) == 1 and (deep or all(path.startswith(f"{homes[0]}/") for path in paths)):
        return _below(members, homes[0])
    if not homes:
        raise refused(f"there is no {FILE}", hint=f"a skill is a folder with a {FILE}")
    listed = ", ".join(homes[:10]) + ("…" if len(homes) > 10 else "")
    hint = "--path names the one" if deep else f"pack one skill, with its {FILE} at the root or in one folder"
    raise refused(f"the {FILE} is not at the root; there are some in {listed}", hint=hint)


def _below(members: Iterable[Member], folder: str) -> list[Member]:
    start = f"{folder}/"
    return [
        replace(member, path=member.path[len(start) :])
        for member in members
        if member.path.startswith(start) and len(member.path) > len(start)
    ]


def write_members(members: Iterable[Member], folder: Path, limits: Limits = SKILL) -> None:
    """Write checked members into a new folder that nobody else can enter yet."""
    _make_folder(folder)
    left = limits.total
    for member in members:
        target = folder / member.path
        _make_folder(target.parent)
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(descriptor, "wb") as stream:
            os.fchmod(descriptor, 0o755 if member.executable else 0o644)  # programs may run as another user
            for chunk in measured(member, left, limits):
                left -= len(chunk)
                stream.write(chunk)


def _make_folder(path: Path) -> None:
    if not path.is_dir():
        _make_folder(path.parent)
        path.mkdir()
        path.chmod(0o755)


def measured(member: Member, left: int, limits: Limits = SKILL) -> Iterator[bytes]:
    """The content of a member as long as it is within the limits; `left` is what others have not used."""
    size = 0
    for chunk in member.read():
        size += len(chunk)
        if size > min(limits.file, left):
            limit, what = (
                (limits.file, "a file") if size > limits.file else (limits.total, "all files together")
            )
            raise refused(f"{member.path!a}: {what} may have {limit // MIB} MiB")
        if member.packed is not None and size > max(MIB, member.packed * LARGEST_RATIO):
            raise refused(f"{member.path!a} becomes more than {LARGEST_RATIO} times as large as it is")
        yield chunk
