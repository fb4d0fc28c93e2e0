"""The kind of a skill's file, by its first bytes: text, a picture or the like, or unreadable data.

Only the beginning is looked at, and the end for a ZIP, which is read from there: this is what a file claims
to be. The scan looks for text in all of them.
"""

import codecs
import pickletools
import re
from pathlib import PurePosixPath
from typing import NamedTuple

HEAD = 8192  # bytes that tell what a file is
TAIL = 66_000  # bytes in which programs look for the end of a ZIP: its comment has 65,535 at most

TEXTS = (".md", ".mdx", ".markdown", ".txt", ".rst", ".html")
# Code with comments after two slashes; in all other files a comment begins with a hash.
SLASHED = (
    *(".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".c", ".h", ".cc", ".cpp", ".hpp"),
    *(".java", ".kt", ".go", ".rs", ".cs", ".swift", ".scala", ".dart", ".php", ".scss", ".less"),
)
_SCRIPTS = (
    *SLASHED,
    *(".sh", ".bash", ".zsh", ".fish", ".ps1", ".psm1", ".bat", ".cmd", ".py", ".pyw", ".rb", ".pl"),
    *(".lua", ".r", ".sql", ".awk", ".ipynb"),
)
# Files that are read or run as text, no matter which bytes they contain.
_READ = (*TEXTS, *_SCRIPTS, ".json", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".xml", ".svg", ".csv")

_MACHINE_CODE = re.compile(rb"\x7fELF|[\xce\xcf]\xfa\xed\xfe|\xfe\xed\xfa[\xce\xcf]|\xca\xfe\xba\xbe|\x00asm")
_MACHINE_CODE_WITH_ZEROS = re.compile(rb"MZ|!<arch>\n")  # which texts begin with, too
_BYTE_CODE = re.compile(rb"..\r\n[^\n]{0,11}\0", re.DOTALL)
_PICKLE = re.compile(rb"\x80[\x02-\x05][\x00-\x9f]")
_NAMED = re.compile(r"[\w.]+ [\w.]+")  # the module and the name, as pickletools gives them
_CALLS = frozenset({"REDUCE", "OBJ", "NEWOBJ", "BUILD"})
_PICKLED = (".pkl", ".pickle", ".dill", ".joblib")
_ARCHIVE = re.compile(
    rb"PK\x03\x04|PK\x05\x06|\x1f\x8b|7z\xbc\xaf|BZh[1-9]1AY&SY|\xfd7zXZ|\x28\xb5\x2f\xfd|\x04\x22\x4d\x18"
    rb"|Rar!\x1a|MSCF\0|xar!|.{257}ustar",
    re.DOTALL,
)
# Pictures, fonts, sound, film, PDF: data that no common program runs.
_MEDIA = re.compile(
    rb"\x89PNG\r\n\x1a\n|\xff\xd8\xff|GIF8[79]a|RIFF....(?:WEBP|WAVE|AVI )|BM....\x00\x00"
    rb"|\x00\x00[\x01\x02]\x00|II\*\x00|MM\x00\*|\x00\x01\x00\x00\x00|OTTO\x00|wOF[F2]|ttcf|true\x00|%PDF-|ID3[\x02-\x04]|OggS"
    rb"|fLaC|\xff[\xfb\xf3\xf2]|\x00\x00..ftyp|\x1aE\xdf\xa3",
    re.DOTALL,
)
_CODING = re.compile(rb"\A(?:[^\n]*\n)?[^\n]{0,200}?coding[:=][ \t]*([-\w.]{1,40})")  # as in PEP 263
_WIDE = (b"\xff\xfe", b"\xfe\xff")
_CONTROL = re.compile(rb"[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_MOST_CONTROL = 0.02  # the share of control characters that a text may have
_MOST_ZEROS = 0.6  # and of zeros: half of UTF-16


class Kind(NamedTuple):
    """The kind of a file."""

    is_text: bool  # to be read as a whole; of all else, what looks like text
    rule: str | None = None  # the rule of the scan that it breaks by being what it is
    what: str = ""


def kind_of(path: str, head: bytes) -> Kind:
    """The kind of a file, by its name and its first bytes."""
    is_read = ending_of(path) in _READ or head.startswith(b"#!")
    if what := _unreadable_code(path, head):
        return Kind(is_read, "executable-file", what)
    if _ARCHIVE.match(head):
        return Kind(is_read, "nested-archive")
    is_media = _MEDIA.match(head) is not None
    if is_read or (not is_media and _is_like_text(head)):
        return Kind(True)
    return Kind(False, None if is_media else "binary-file")


def is_wide(head: bytes) -> bool:
    """Whether a text begins as UTF-16 or UTF-32 does."""
    return head.startswith((*_WIDE, b"\0\0\xfe\xff"))


def is_script(path: str) -> bool:
    """Whether a file is likely to be run, by its name."""
    return ending_of(path) in ("", *_SCRIPTS)


def ending_of(path: str) -> str:
    return PurePosixPath(path).suffix.lower()


def _unreadable_code(path: str, head: bytes) -> str | None:
    if _MACHINE_CODE.match(head) or (_MACHINE_CODE_WITH_ZEROS.match(head) and b"\0" in head[:1024]):
        return "a program in machine code"
    if _BYTE_CODE.match(head):
        return "compiled Python"
    if _PICKLE.match(head) or ending_of(path) in _PICKLED or _calls_as_pickle(head):
        return "a pickle, which runs code when it is loaded"
    return None


def is_archive_behind(tail: bytes) -> bool:
    """Whether a file ends with a ZIP, no matter how it begins: Python runs it as a program."""
    return b"PK\x05\x06" in tail


def declared_encoding(head: bytes) -> str:
    """The encoding in which a program says that it is written; UTF-8 if it says nothing."""
    declared = _CODING.match(head)
    try:
        found = codecs.lookup(declared[1].decode("ascii")) if declared else None
        "".encode(found.name if found else "utf-8")  # of text: no compression and the like
    except (LookupError, UnicodeError):
        found = None
    return "utf-8-sig" if found is None or found.name in ("utf-8", "ascii", "iso8859-1") else found.name


def _calls_as_pickle(head: bytes) -> bool:
    """Whether loading this as a text pickle makes a call before it meets data that is not a pickle."""
    before, is_named = "", False
    try:
        for opcode, argument, _ in pickletools.genops(head):
            is_named = is_named or opcode.name == "STACK_GLOBAL"
            if opcode.name in ("GLOBAL", "INST") and _NAMED.fullmatch(str(argument)):
                is_named = is_named or opcode.name == "GLOBAL"
                if opcode.name == "INST" and before != "MARK":  # with what it is given, as no text has
                    return True
            if is_named and opcode.name in _CALLS:
                return True
            before = opcode.name
    except ValueError:
        pass
    return False


def _is_like_text(head: bytes) -> bool:
    """Whether there is little in it but what is printed: zeros aside, between which text can be hidden."""
    rest = head.replace(b"\0", b"")
    has_few_zeros = len(head) - len(rest) <= _MOST_ZEROS * len(head)
    has_few_others = len(_CONTROL.findall(rest)) <= _MOST_CONTROL * len(rest)
    return is_wide(head) or (has_few_zeros and has_few_others)
