"""A look through the files of a skill for what a person should see before an agent does what they say.

It finds what is written plainly, not what is well hidden: that nothing was found means little, and programs
run in the sandbox all the same.
"""

import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import takewhile
from pathlib import Path
from typing import BinaryIO

from satchel.errors import ArgumentError, SatchelError
from satchel.library.install.disguise import joined, shown
from satchel.library.install.fetching import Fetched
from satchel.library.install.kinds import (
    HEAD,
    SLASHED,
    TAIL,
    TEXTS,
    Kind,
    declared_encoding,
    is_archive_behind,
    is_script,
    is_wide,
    kind_of,
)
from satchel.library.install.members import is_left_out
from satchel.library.install.origins import Entry, entries_of, file_reader
from satchel.library.install.reading import BREAKS, Allowance, Reader
from satchel.library.install.run_by_tools import looks_through_folders, tool_that_runs
from satchel.library.install.scan_rules import (
    BY_FILE,
    FETCH_RULES,
    FILE_RULES,
    KEY_BEGINS,
    RULE_NAMES,
    SCAN_RULES,
    ScanRule,
    Severity,
    without_quotations,
)
from satchel.library.skills.directory import FILE
from satchel.library.skills.files import open_below
from satchel.names import closest

MIB = 1024 * 1024
LARGEST_TEXT = 8 * MIB  # bytes of text that are looked through, in all files together
LARGEST_REST = 128 * MIB  # bytes of all else that are searched for text
_DIGITS = 32  # of a file's SHA-256, by which it is accepted: enough that nobody makes two files of one
_LONGEST = 4_000  # characters of a line that are looked at together
_LONGEST_JOINED = 8_000  # and of lines that a shell joins
_OPEN = re.compile(r"(?:\||\|&|&&)(?:\s*$|\s+#)")  # what ends so, comment aside, goes on in the next line
_NOTE = re.compile(r"(?<=[|&])\s+#")
_BEFORE = 100  # characters of the lines joined so far that are looked at again with the next one
_SHORTEST = 6  # below this there is nothing to find
_MOST_ALIKE = 5  # findings of one rule in a file that are told one by one
_MOST_IN_ALL = 100  # and in all files
# England, Scotland and Wales, the only flags that are written so: letters in them are not hidden text.
_FLAGS = re.compile(
    "\U0001f3f4\U000e0067\U000e0062"
    "(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074|\U000e0077\U000e006c\U000e0073)"
    "\U000e007f"
)
_NAMED_FILE = re.compile(rf".+@[0-9a-f]{{{_DIGITS}}}", re.DOTALL)
_UNQUOTED = [
    rule for rule in SCAN_RULES if not rule.but_quoted
]  # those to which quotation marks mean nothing
_SPACES = re.compile(r"[ \t]{2,}")
_KEY_LINES = 5  # below the one that announces a private key, until the key itself must have begun
_KEY_LINE = re.compile(r"[\s\"'#/*,+-]{0,40}[A-Za-z0-9+/=]{24,80}(?:\\n)?[\s\"'\\,+;)-]{0,40}")


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Something that was found in a file of a skill."""

    rule: str
    severity: Severity
    file: str
    line: int
    text: str
    accept: str  # what --accept names to install it all the same: the rule, or this file as it is

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text} [{self.rule}]"


def scan(folder: Path, most_text: int = LARGEST_TEXT) -> list[Finding]:
    """All findings in a folder, the most serious first. No file is skipped."""
    found: list[Finding] = []
    entries: list[Entry] = []
    try:
        entries.extend(entries_of(folder))
    except (OSError, SatchelError):
        found.append(_of_file("unreadable", "."))
    text, rest = Allowance(most_text), Allowance(LARGEST_REST)
    for entry in sorted(entries, key=_priority):
        if not entry.is_file:
            found.append(_of_file("not-a-file", entry.path))
            continue
        try:
            with os.fdopen(open_below(folder, entry.path.split("/"), single=False), "rb") as stream:
                found += _scan_file(folder, entry.path, stream, text, rest)
        except OSError:
            found.append(_of_file("unreadable", entry.path))
    return sorted(_counted(sorted(found, key=_order), _MOST_IN_ALL), key=_order)


def _priority(entry: Entry) -> tuple[bool, bool, bool, int, str]:
    """The most important files first, so that no other file uses up the allowance."""
    name = entry.path.rpartition("/")[2]
    is_beside = any(map(is_left_out, entry.path.split("/")))  # no part of the skill
    is_run = entry.executable or is_script(entry.path)
    return is_beside, name.upper() != FILE.upper(), not is_run, entry.size, entry.path


def _order(finding: Finding) -> tuple[int, str, int]:
    return ("critical", "warning", "note").index(finding.severity), finding.file, finding.line


def _counted(findings: Iterable[Finding], most: int) -> Iterator[Finding]:
    """The first ones of each rule and severity; of the others the last, with how many there are.

    Those that are accepted file by file are all told.
    """
    counts, last = Counter[tuple[str, Severity]](), dict[tuple[str, Severity], Finding]()
    for finding in findings:
        if finding.rule in BY_FILE:
            yield finding
            continue
        key = finding.rule, finding.severity
        counts[key] += 1
        if counts[key] <= most:
            yield finding
        else:
            last[key] = finding
    for key, finding in last.items():
        others = counts[key] - most - 1
        yield replace(finding, text=f"{finding.text} (and {others:,} more)") if others else finding


def scan_text(text: str, file: str, first: int = 1) -> Iterator[Finding]:
    """The findings in a text whose first line has the number `first`; each rule once in a line."""
    text = _FLAGS.sub("", text)
    found = dict[tuple[int, str], Finding]()
    as_shown = shown(text)
    ways = {text: SCAN_RULES, as_shown: SCAN_RULES}
    ways |= {as_joined: _UNQUOTED} if (as_joined := joined(as_shown)) not in ways else {}
    lines = set[tuple[int, str]]()  # that were looked at
    for way, rules in ways.items():
        for number, rule, severity, reason in _broken_rules(way, file.lower(), rules, lines):
            line = first + number - 1
            if (line, rule) not in found:
                found[line, rule] = Finding(
                    rule=rule, severity=severity, file=file, line=line, text=reason, accept=rule
                )
    yield from sorted(found.values(), key=lambda finding: finding.line)


def _broken_rules(
    text: str, file: str, among: Iterable[ScanRule], looked_at: set[tuple[int, str]]
) -> Iterator[tuple[int, str, Severity, str]]:
    """The rules that a text breaks: for each the line's number, the name, how much it matters, and why."""
    lowered = text.lower().replace("\\\n", "")  # as it is joined
    rules = [rule for rule in among if _may_break(rule, text, lowered)]
    fetched = Fetched(lowered)
    if not rules and not fetched.sources:
        return
    is_text = file.endswith(TEXTS)
    mark = "//" if file.endswith(SLASHED) else "#"
    for rule in () if is_text else rules:
        for way in rule.in_files:
            ends = [match.end() for match in takewhile(bool, (part.search(text) for part in way)) if match]
            if len(ends) == len(way):
                end = max(ends)
                yield len(BREAKS.findall(text, 0, end)) + 1, rule.name, rule.severity, rule.text
    for number, line in _lines(text, mark):
        if len(line) < _SHORTEST and line.isascii():
            continue
        is_said = is_text or _is_comment(line, mark)  # and not done
        name = fetched.rule(line)
        if name is not None:
            in_code, in_texts, reason = FETCH_RULES[name]
            yield number, name, in_texts if is_said else in_code, reason
        if (number, line) in looked_at:
            continue
        looked_at.add((number, line))
        for piece in _pieces(line):
            for name, severity, reason in _broken(piece, piece.lower(), rules, is_said):
                yield number, name, severity, reason


def _may_break(rule: ScanRule, text: str, lowered: str) -> bool:
    if rule.words:
        return any(word in lowered for word in rule.words)
    return not text.isascii() and any(all(part.search(text) for part in way) for way in rule.ways)


def _broken(
    line: str, lowered: str, rules: Iterable[ScanRule], is_said: bool
) -> Iterator[tuple[str, Severity, str]]:
    seen = set[str]()
    for rule in rules:
        if rule.unless in seen or not _may_break(rule, line, lowered):
            continue
        subject = without_quotations(line) if rule.but_quoted else line
        if any(all(part.search(subject) for part in way) for way in rule.ways):
            seen.add(rule.name)
            yield rule.name, (rule.in_texts if is_said else None) or rule.severity, rule.text


def check_scan_rules(names: Collection[str], *, files_alone: bool = False) -> None:
    """Refuse unknown names of rules, so that nobody believes a rule to be accepted that is not.

    `FILE@DIGEST` is a name, too. With `files_alone`, so must be all for rules that are accepted file by file.
    """
    for name in names:
        if files_alone and name in BY_FILE:
            raise ArgumentError(
                f"what '{name}' finds is accepted file by file",
                hint="leave it out, and the error names what --accept takes for each file",
            )
        if name not in RULE_NAMES and not _NAMED_FILE.fullmatch(name):
            near = closest(name, RULE_NAMES, limit=1)
            hint = f"did you mean {near[0]}?" if near else "the rules are " + ", ".join(RULE_NAMES)
            raise ArgumentError(f"the scan has no rule '{name}'", hint=hint)


def is_accepted(finding: Finding, accept: Collection[str]) -> bool:
    """Whether somebody has accepted this, by its rule, or by its file as it is."""
    return finding.rule in accept or finding.accept in accept


def _scan_file(
    folder: Path, path: str, stream: BinaryIO, text: Allowance, rest: Allowance
) -> Iterable[Finding]:
    head = stream.read(HEAD)
    kind, reader = kind_of(path, head), Reader(stream, text, rest)
    found: list[Finding] = []
    for encoding in _encodings(kind, head):
        blocks = reader.text(encoding, _goes_on) if encoding else reader.printed()
        each = (finding for number, block in blocks for finding in scan_text(block, path, number))
        # In binary data, only findings that are hardly ever innocent: all others are chance.
        told = each if encoding else (one for one in _at_first_line(each) if one.severity == "critical")
        found += _counted(told, _MOST_ALIKE)
    rules = {kind.rule: kind.what} if kind.rule else {}
    rules |= {"nested-archive": ""} if is_archive_behind(_tail(stream)) else {}
    tool = tool_that_runs(path)
    if tool is not None:
        rules["run-by-tools" if looks_through_folders(tool) else "run-by-tools-there"] = tool
    rules |= {"too-large": ""} if reader.is_cut else {}
    rules |= {"zero-byte": ""} if reader.has_zeros and not is_wide(head) else {}
    digest = _digest(folder, path) if not BY_FILE.isdisjoint(rules) else ""
    found += [_of_file(rule, path, digest=digest, what=what) for rule, what in rules.items()]
    return list(dict.fromkeys(found))


def _tail(stream: BinaryIO) -> bytes:
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, size - TAIL))
    return stream.read(TAIL)


def _encodings(kind: Kind, head: bytes) -> tuple[str, ...]:
    """How a file is read as text; empty: only what looks like text in it."""
    if not kind.is_text:
        return ("",)
    if not is_wide(head):
        return tuple(dict.fromkeys(("utf-8-sig", declared_encoding(head))))
    # A shell does not know of wide characters: it reads bytes.
    return ("utf-32" if head.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")) else "utf-16", "utf-8-sig")


def _at_first_line(findings: Iterable[Finding]) -> Iterator[Finding]:
    yield from dict.fromkeys(replace(finding, line=1) for finding in findings)


def _digest(folder: Path, path: str) -> str:
    total = sha256()
    with suppress(SatchelError):  # it has gone meanwhile
        for chunk in file_reader(folder, path, single=False)():
            total.update(chunk)
    return total.hexdigest()[:_DIGITS]


def _of_file(rule: str, path: str, *, digest: str = "", what: str = "") -> Finding:
    severity, text = FILE_RULES[rule]
    accept = f"{path}@{digest}" if rule in BY_FILE else rule
    return Finding(
        rule=rule, severity=severity, file=path, line=1, text=text.format(what=what), accept=accept
    )


def _is_comment(line: str, mark: str) -> bool:
    return line.lstrip().startswith(mark) and not line.startswith("#!")


def _lines(text: str, mark: str) -> Iterator[tuple[int, str]]:
    """The lines with their numbers, those joined that a shell would join."""
    lines = BREAKS.split(text)
    following = 0
    while following < len(lines):
        number, line, start = following + 1, _narrowed(lines[following]), 0
        following += 1
        is_comment = _is_comment(line, mark)  # which ends with its line in any case
        while following < len(lines) and not is_comment and _goes_on(line, lines[following], start):
            if not line.endswith("\\"):
                while following < len(lines) and _is_between(lines[following]):
                    if lines[following]:
                        yield following + 1, lines[following]
                    following += 1
                if following == len(lines):
                    break
            start = max(0, len(line) - _BEFORE)
            line, left = _joined(line, _narrowed(lines[following]))
            following += 1
            if left:
                yield following, left
        if KEY_BEGINS.search(line):
            line += _key_below(lines[following : following + _KEY_LINES])
        yield number, line.replace("\\|", "|")  # as it is written in the tables of Markdown


def _key_below(lines: Iterable[str]) -> str:
    """The first line of a key, which stands below the line that announces it."""
    return next((f" {line.strip()}" for line in lines if _KEY_LINE.fullmatch(line)), "")


def _narrowed(line: str) -> str:
    """A long line without the spaces that push its end out of sight."""
    return _SPACES.sub(" ", line) if len(line) > _LONGEST // 2 else line


def _goes_on(line: str, following: str, start: int = 0) -> bool:
    """Whether the command in a line, from `start`, goes on below. The row of a table is not a pipe."""
    if len(line) >= _LONGEST_JOINED or not line.strip():
        return False
    if line.endswith("\\") or (following.lstrip().startswith("|") and not following.rstrip().endswith("|")):
        return True
    return not line.lstrip().startswith("|") and _OPEN.search(line, start) is not None


def _is_between(line: str) -> bool:
    """Whether a line may stand between two parts of a pipe without ending it."""
    return not line.strip() or line.lstrip().startswith("#")


def _joined(line: str, following: str) -> tuple[str, str]:
    """Two lines as a shell takes them, and the first as it was if a comment is left out between them."""
    if line.endswith("\\"):
        return line.removesuffix("\\") + following, ""
    note = _NOTE.search(line)
    if note is None:
        return f"{line} {following}", ""
    return f"{line[: note.start()]} {following}", line  # which may only look like a comment


def _pieces(line: str) -> Iterator[str]:
    for start in range(0, max(1, len(line)), _LONGEST // 2):
        yield line[start : start + _LONGEST]
