"""A look through the files of a skill for what a person should see before an agent does what they say.

It finds what is written plainly, not what is well hidden: that nothing was found means little, and programs
run in the sandbox all the same.
"""

import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from satchel.errors import ArgumentError, SatchelError
from satchel.library.install.fetching import FETCHERS, fetch_rule
from satchel.library.install.members import is_left_out
from satchel.library.install.origins import Entry, entries_of
from satchel.library.install.run_by_tools import tool_that_runs
from satchel.library.install.scan_rules import (
    FETCH_RULES,
    FILE_RULES,
    RULE_NAMES,
    SCAN_RULES,
    ScanRule,
    Severity,
)
from satchel.library.skills.files import open_below
from satchel.library.skills.front_matter import decode
from satchel.names import closest

LARGEST = 1024 * 1024  # bytes of a file that are looked through
LARGEST_TOTAL = 4 * LARGEST
_LONGEST = 4_000  # characters of a line that are looked at together
_SHORTEST = 6  # below this there is nothing to find
_MOST_ALIKE = 5  # findings of one rule in a file that are told one by one
_MOST_IN_ALL = 100  # and in all files
_TEXTS = (".md", ".mdx", ".markdown", ".txt", ".rst", ".html")
# Code with comments after two slashes; in all other files a comment begins with a hash.
_SLASHED = (
    *(".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".c", ".h", ".cc", ".cpp", ".hpp"),
    *(".java", ".kt", ".go", ".rs", ".cs", ".swift", ".scala", ".dart", ".php", ".scss", ".less"),
)
# Files that are read or run as text whatever bytes are in them.
_READ = (
    *_TEXTS,
    *_SLASHED,
    *(".sh", ".bash", ".zsh", ".fish", ".ps1", ".psm1", ".bat", ".cmd", ".py", ".pyw", ".rb", ".pl"),
    *(".lua", ".r", ".sql", ".awk", ".json", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".xml", ".svg"),
)
_MAGIC = (b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"\xfe\xed\xfa\xcf")
_ARCHIVES = re.compile(rb"PK\x03\x04|\x1f\x8b\x08|7z\xbc\xaf|BZh[1-9]1AY&SY|\xfd7zXZ")
# England, Scotland and Wales, the only flags that are written so: letters in them are no hidden text.
_FLAGS = re.compile(
    "\U0001f3f4\U000e0067\U000e0062"
    "(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074|\U000e0077\U000e006c\U000e0073)"
    "\U000e007f"
)
_BREAKS = re.compile("[\n\u2028\u2029]")  # where a line ends, in JavaScript too


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Something that was found in a file of a skill."""

    rule: str
    severity: Severity
    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text} [{self.rule}]"


def scan(folder: Path) -> list[Finding]:
    """What there is to see in a folder, the most serious first. Nothing in it is passed over."""
    found: list[Finding] = []
    entries: list[Entry] = []
    left = LARGEST_TOTAL
    try:
        entries.extend(entries_of(folder))
    except (OSError, SatchelError):
        found.append(_of_file("unreadable", "."))
    # What does not belong to a skill comes last: it must not use up what is looked through.
    for entry in sorted(entries, key=lambda entry: _is_beside(entry.path)):
        if not entry.is_file:
            found.append(_of_file("not-a-file", entry.path))
            continue
        tool = tool_that_runs(entry.path)
        if tool is not None:
            found.append(_of_file("run-by-tools", entry.path, tool=tool))
        data = _read(folder, entry.path)
        found += _scan_file(data, entry.path, left)
        left -= min(len(data or b""), LARGEST, left)
    return sorted(_counted(sorted(found, key=_order), _MOST_IN_ALL), key=_order)


def _order(finding: Finding) -> tuple[int, str, int]:
    return ("critical", "warning", "note").index(finding.severity), finding.file, finding.line


def _is_beside(path: str) -> bool:
    return any(map(is_left_out, path.split("/")))


def _counted(findings: Iterable[Finding], most: int) -> Iterator[Finding]:
    """The first ones of each rule and severity; of the others the last, with how many there are."""
    counts, last = Counter[tuple[str, Severity]](), dict[tuple[str, Severity], Finding]()
    for finding in findings:
        key = finding.rule, finding.severity
        counts[key] += 1
        if counts[key] <= most:
            yield finding
        else:
            last[key] = finding
    for key, finding in last.items():
        others = counts[key] - most - 1
        yield replace(finding, text=f"{finding.text} (and {others:,} more)") if others else finding


def scan_text(text: str, file: str) -> Iterator[Finding]:
    """What the rules find in a text; each rule once in a line."""
    text = _FLAGS.sub("", text)
    lowered = text.lower()
    rules = [rule for rule in SCAN_RULES if _may_break(rule, lowered)]
    fetches = any(word in lowered for word in FETCHERS)
    if not rules and not fetches:
        return
    is_text = file.lower().endswith(_TEXTS)
    mark = "//" if file.lower().endswith(_SLASHED) else "#"
    for number, line in _lines(text, mark):
        if len(line) < _SHORTEST and line.isascii():
            continue
        lowered = line.lower()
        is_said = is_text or _is_comment(line, mark)  # and not done
        broken = _broken(line, lowered, rules, is_said)
        for rule, severity, reason in (*(_fetched(line, is_said) if fetches else ()), *broken):
            yield Finding(rule=rule, severity=severity, file=file, line=number, text=reason)


def _may_break(rule: ScanRule, lowered: str) -> bool:
    return any(word in lowered for word in rule.words) if rule.words else not lowered.isascii()


def _fetched(line: str, is_said: bool) -> Iterator[tuple[str, Severity, str]]:
    rule = fetch_rule(line)
    if rule is not None:
        in_code, in_texts, reason = FETCH_RULES[rule]
        yield rule, in_texts if is_said else in_code, reason


def _broken(
    line: str, lowered: str, rules: Iterable[ScanRule], is_said: bool
) -> Iterator[tuple[str, Severity, str]]:
    seen = set[str]()
    for rule in rules:
        if rule.unless in seen or not _may_break(rule, lowered):
            continue
        if any(all(part.search(line) for part in way) for way in rule.ways):
            seen.add(rule.name)
            yield rule.name, (rule.in_texts if is_said else None) or rule.severity, rule.text


def check_scan_rules(names: Collection[str]) -> None:
    """Refuse names of rules that there are not: whoever accepts one should know that it counts."""
    for name in names:
        if name not in RULE_NAMES:
            near = closest(name, RULE_NAMES, limit=1)
            hint = f"did you mean {near[0]}?" if near else "the rules are " + ", ".join(RULE_NAMES)
            raise ArgumentError(f"the scan has no rule '{name}'", hint=hint)


def _read(folder: Path, path: str) -> bytes | None:
    try:
        descriptor = open_below(folder, path.split("/"), single=False)
        with os.fdopen(descriptor, "rb") as stream:
            return stream.read(LARGEST + 1)
    except OSError:
        return None


def _scan_file(data: bytes | None, path: str, left: int) -> Iterable[Finding]:
    if data is None:
        return [_of_file("unreadable", path)]
    found: list[Finding] = []
    if data.startswith(_MAGIC) and b"\0" in data[:1024]:
        found.append(_of_file("executable-file", path))
    elif _ARCHIVES.match(data):
        found.append(_of_file("nested-archive", path))
    ending = PurePosixPath(path).suffix.lower()
    if found and ending not in _READ:
        return found
    is_wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    if b"\0" in data and not is_wide:
        if ending and ending not in _READ and b"\0" in data[:8192]:
            return found  # a picture, a font: nothing to read
        found.append(_of_file("zero-byte", path))
    limit = min(left, LARGEST)
    if len(data) > limit:
        found.append(_of_file("too-large", path))
    data = data[:limit]
    texts = [data.replace(b"\0", b"")]  # shells and models read on behind a zero
    if is_wide:  # which a shell does not know of
        texts = [data, texts[0][2:]]
    for text in texts:
        found += _counted(scan_text(decode(text)[0], path), _MOST_ALIKE)
    return list(dict.fromkeys(found))


def _of_file(rule: str, path: str, **details: str) -> Finding:
    severity, text = FILE_RULES[rule]
    return Finding(rule=rule, severity=severity, file=path, line=1, text=text.format(**details))


def _is_comment(line: str, mark: str) -> bool:
    return line.lstrip().startswith(mark) and not line.startswith("#!")


def _lines(text: str, mark: str) -> Iterator[tuple[int, str]]:
    """The lines with their numbers, those joined that a shell would join; long ones in pieces."""
    lines = _BREAKS.split(text)
    following = 0
    while following < len(lines):
        number, line = following + 1, lines[following]
        following += 1
        is_comment = _is_comment(line, mark)  # which ends with its line in any case
        while following < len(lines) and not is_comment and _goes_on(line, lines[following]):
            line = line.removesuffix("\\") + " " + lines[following]
            following += 1
        yield from _pieces(number, line)


def _goes_on(line: str, following: str) -> bool:
    """Whether the command in a line does not end with it. The row of a table is no pipe."""
    if len(line) >= _LONGEST or not line.strip():
        return False
    piped = following.lstrip().startswith("|") and not following.rstrip().endswith("|")
    goes_on = line.rstrip().endswith(("|", "&&")) and not line.lstrip().startswith("|")
    return line.endswith("\\") or piped or goes_on


def _pieces(number: int, line: str) -> Iterator[tuple[int, str]]:
    line = line.replace("\\|", "|")  # as it is written in the tables of Markdown
    for start in range(0, max(1, len(line)), _LONGEST // 2):
        yield number, line[start : start + _LONGEST]
