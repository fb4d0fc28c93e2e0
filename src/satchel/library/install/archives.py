"""Archives: ZIP files with one skill (`.skill`) or one plugin in them, at their root or in one folder.

The maker of an archive may be hostile. It is read strictly: one directory at its end that accounts
for every byte, entries one behind the other that say of themselves what the directory says of them, plain
files and folders, stored or deflated. All else is refused.
"""

import io
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from satchel.errors import ArgumentError
from satchel.library.install.members import (
    MIB,
    SKILL,
    Limits,
    Member,
    check_path,
    checked,
    measured,
    refused,
    rooted,
)
from satchel.support.files import read_small

ENDING = ".skill"
_CHUNK = 64 * 1024
_END = struct.Struct("<4s4H2LH")  # the record at the end of the directory
_LOCATOR = 20  # bytes before it in which a larger record would be named
_LOCAL = struct.Struct("<4s5H3L2H")  # what stands before the content of an entry
_DESCRIBED = 0x8  # the flag of an entry whose sizes stand behind its content
_FLAGS = 0x1 | _DESCRIBED | 0x40 | 0x800 | 0x2000  # those that change what is read
_LARGEST_ENTRY = 600  # bytes of the directory: a name and a few dates
# Extra fields: sizes of ZIP64, another path and another comment, and what a link of Unix leads to.
_ZIP64, _PATH, _COMMENT, _LINKS = 0x0001, 0x7075, 0x6375, {0x000D: 12, 0x756E: 14}
_BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError, NotImplementedError)


def read_archive(archive: Path | bytes) -> list[Member]:
    """The files of the one skill in an archive, checked as far as they can be before they are unpacked."""
    return rooted(archive_members(archive))


def archive_members(archive: Path | bytes, limits: Limits = SKILL) -> list[Member]:
    """All files in an archive, checked in the same way."""
    data = archive if isinstance(archive, bytes) else _read(archive, limits)
    if len(data) > limits.archive:
        raise refused(f"the archive has more than {limits.archive // MIB} MiB")
    total, start = _check_end(data, limits)
    try:
        opened = zipfile.ZipFile(io.BytesIO(data))
    except (*_BROKEN, RuntimeError) as error:
        raise refused(f"it is not a valid ZIP archive: {error}") from None
    entries = opened.infolist()
    if len(entries) != total or opened.start_dir != start:
        raise refused("it is not a valid ZIP archive: its end does not say what is in it")
    _check_entries(entries, data, start, limits)
    files = [entry for entry in entries if not entry.is_dir()]
    return checked((_member(opened, entry) for entry in files), limits)


def pack(members: Iterable[Member], name: str) -> bytes:
    """An archive of a skill, in a folder of its name: the same bytes for the same files."""
    target = io.BytesIO()
    left = SKILL.total
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for member in checked(members):
            data = b"".join(measured(member, left))
            left -= len(data)
            entry = zipfile.ZipInfo(f"{name}/{member.path}", (1980, 1, 1, 0, 0, 0))
            entry.create_system = 3  # the one whose modes are those below
            entry.external_attr = (stat.S_IFREG | (0o755 if member.executable else 0o644)) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    packed = target.getvalue()
    read_archive(packed)  # what can't be installed is not handed out
    return packed


def _read(path: Path, limits: Limits) -> bytes:
    endings = " or ".join(limits.endings)
    if not os.path.lexists(path):
        raise refused(
            f"{path}: no such file or folder", hint=f"name a folder, or an archive NAME{limits.endings[0]}"
        )
    if path.suffix.lower() not in limits.endings:
        hint = f"archives of {limits.what}s are NAME{limits.endings[0]}"
        raise refused(f"{path.name} does not end in {endings}", hint=hint)
    try:
        return read_small(path, limits.archive)
    except OSError as error:
        reason = error.strerror or f"it is not a file of at most {limits.archive // MIB} MiB"
        raise refused(f"{path} can't be read: {reason}") from None


def _check_end(data: bytes, limits: Limits) -> tuple[int, int]:
    """How many entries there are, and where their directory begins, which ends where its record begins.

    Otherwise two programs could see two different archives in one file.
    """
    place = data.rfind(b"PK\x05\x06", max(0, len(data) - _END.size - 0xFFFF))
    if not data.startswith(b"PK") or place < 0 or place + _END.size > len(data):
        raise refused("it is not a ZIP archive")
    _, disk, first, here, total, size, offset, comment = _END.unpack_from(data, place)
    is_located = data[max(0, place - _LOCATOR) :].startswith(b"PK\x06\x07")
    if is_located or 0xFFFF in (disk, here, total) or 0xFFFFFFFF in (size, offset):
        raise refused(f"it is a ZIP64 archive, for which a {limits.what} is too small")
    if place + _END.size + comment != len(data) or disk or first or here != total:
        raise refused("it is not a valid ZIP archive: its end is not that of one archive")
    if offset + size != place:
        raise refused("it is not a valid ZIP archive: there is something before or behind its directory")
    if total > 2 * limits.files or size > 2 * limits.files * _LARGEST_ENTRY:
        raise refused(f"it has {total:,} entries; at most {limits.files:,} files are allowed")
    return total, offset


def _check_entries(entries: list[zipfile.ZipInfo], data: bytes, end: int, limits: Limits) -> None:
    for entry in entries:
        reason = _fault(entry, limits)
        if reason:
            raise refused(f"{entry.orig_filename[:200]!a} {reason}")
        check_path(entry.filename.removesuffix("/"))
    # Entries that share their bytes make a large archive out of a small one, again and again. Those that only
    # stand between others are found by programs that read an archive from its beginning.
    last, contents = 0, data[:end]
    for entry in sorted(entries, key=lambda entry: entry.header_offset):
        if entry.header_offset < last:
            raise refused(f"{entry.filename!a} overlaps another entry")
        if entry.header_offset > last:
            raise refused(f"there is something before {entry.filename!a} that the directory does not name")
        last = _end_of(entry, contents)
    if last != end:
        raise refused("there is something before the directory of the archive that it does not name")


def _end_of(entry: zipfile.ZipInfo, data: bytes) -> int:
    """Where an entry ends, if its own header agrees with the directory."""
    if entry.header_offset + _LOCAL.size > len(data):
        raise refused(f"{entry.filename!a} reaches into the directory of the archive")
    header = _LOCAL.unpack_from(data, entry.header_offset)
    mark, _, flags, method, _, _, *sizes, name_size, extra_size = header
    name = entry.header_offset + _LOCAL.size
    extra = name + name_size
    content = extra + extra_size
    end = content + entry.compress_size
    expected = [entry.CRC, entry.compress_size, entry.file_size]
    is_described = bool(entry.flag_bits & _DESCRIBED)
    if (
        mark != b"PK\x03\x04"
        or (flags ^ entry.flag_bits) & _FLAGS
        or method != entry.compress_type
        or data[name:extra] != _written(entry)
        or any(
            size != right and (size or not is_described) for size, right in zip(sizes, expected, strict=True)
        )
    ):
        raise _disagreement(entry)
    if reason := _extra_fault(data[extra:content], _written(entry)):
        raise refused(f"{entry.filename!a} {reason}")
    return end + (
        _described(entry, data[end : end + 16], struct.pack("<3L", *expected)) if is_described else 0
    )


def _described(entry: zipfile.ZipInfo, found: bytes, expected: bytes) -> int:
    """How long that is which follows the content, and says once more what it was."""
    if found == b"PK\x07\x08" + expected:
        return 16
    if found.startswith(expected):
        return 12
    raise _disagreement(entry)


def _disagreement(entry: zipfile.ZipInfo) -> ArgumentError:
    return refused(f"{entry.filename!a} says something else of itself than the directory does")


def _fault(entry: zipfile.ZipInfo, limits: Limits) -> str | None:
    mode = stat.S_IFMT(entry.external_attr >> 16)
    if not entry.filename:  # `is_dir` looks at its last character
        return "has no name"
    if entry.filename != entry.orig_filename:
        return "has two different names"
    if entry.flag_bits & (0x1 | 0x40 | 0x2000):
        return "is encrypted"
    if mode == stat.S_IFLNK:
        return "is a symbolic link"
    if mode not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "is a device, a pipe or a socket"
    if (mode == stat.S_IFDIR) != entry.is_dir() and mode:
        return "is a file by its name and a folder by its mode, or the other way round"
    if entry.is_dir() and entry.file_size:
        return "is a folder with content"
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "is neither stored nor deflated"
    if entry.file_size > limits.file:
        return f"has more than {limits.file // MIB} MiB"
    return _extra_fault(entry.extra, _written(entry))


def _written(entry: zipfile.ZipInfo) -> bytes:
    """The name of an entry as the directory has it."""
    return entry.orig_filename.encode("utf-8" if entry.flag_bits & 0x800 else "cp437")


def _extra_fault(extra: bytes, name: bytes) -> str | None:
    """Why the fields that programs add to an entry make another one of it."""
    while len(extra) >= 4:
        kind, size = struct.unpack_from("<2H", extra)
        field, extra = extra[4 : 4 + size], extra[4 + size :]
        if kind in _LINKS and size > _LINKS[kind]:
            return "is a link"
        if kind == _ZIP64:
            return "is of a ZIP64 archive, which nothing to be installed is large enough for"
        if kind == _COMMENT or (kind == _PATH and field[5:] != name):
            return "has two different names"
    return None


def _member(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Member:
    def read() -> Iterator[bytes]:
        try:
            with archive.open(entry) as stream:
                while chunk := stream.read(_CHUNK):
                    yield chunk
        except ArgumentError:
            raise
        except (*_BROKEN, RuntimeError) as error:
            raise refused(f"{entry.filename!a} can't be unpacked: {error}") from None

    return Member(
        path=entry.filename,
        read=read,
        executable=bool(entry.external_attr >> 16 & 0o111),
        packed=entry.compress_size,
    )
