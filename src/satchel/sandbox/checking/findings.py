"""Whether a program fits the wrappers, said before it runs: the checker's command, and what its words mean.

Nothing is started here. Python is checked by ty, TypeScript by `deno check`. Both run in the box, for the
program that they read may be hostile, and so may what they print about it: everything is bounded. A finding
keeps a program from running, so only those count that would fail, or are very likely wrong; what is merely
not proven right may pass.
"""

import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, takewhile
from typing import Literal

from satchel.errors import SandboxError

Checked = Literal["python", "typescript"]
CHECKERS: Mapping[Checked, str] = {"python": "ty", "typescript": "deno"}
"""The program that must be in the box."""
_FILES: Mapping[Checked, str] = {"python": "main.py", "typescript": "main.ts"}
_SHOWN, _KEPT, _READ = 20, 200, 1000  # findings
_LONGEST_MESSAGE, _LONGEST_LINE = 400, 110
_LONGEST_OUTPUT, _LONGEST_ROW = 1024 * 1024, 1200


@dataclass(frozen=True, kw_only=True)
class Places:
    """Where things lie for the checker; by default, in the box."""

    program: str = "/program"  # the folder that it is in
    wrappers: str = "/mnt/code-api"
    runtime: str = "/opt/satchel/python"  # satchel_runtime, for Python
    support: str = "/opt/satchel/python/satchel_check"  # what a program has without an import
    programs: str = "/opt/satchel/bin"
    packages: str = ""  # of python_env


BOX = Places()


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One mistake. Lines and columns count from 1."""

    line: int
    column: int
    message: str
    rule: str = ""


def check_command(
    language: Checked,
    places: Places = BOX,
    *,
    python_version: str = f"{sys.version_info.major}.{sys.version_info.minor}",
) -> list[str]:
    """What checks the program, whose path comes last. It writes to /tmp only."""
    checker = f"{places.programs}/{CHECKERS[language]}"
    program = f"{places.program}/{_FILES[language]}"
    if language == "typescript":
        options = ["--quiet", "--no-remote", "--no-npm", "--no-lock", f"--config={places.program}/deno.json"]
        return [checker, "check", *options, program]
    # Not the workspace: what a program has left there would stand in for modules of Python.
    paths = [places.support, places.wrappers, places.runtime, places.packages]
    return [
        *[checker, "check", "--output-format", "concise", "--no-progress", "--color", "never"],
        *["--python-version", python_version, "--project", places.program],
        *["--config-file", "/dev/null"],  # with one, a comment in the program can't bring settings
        *["--ignore", "all", *(part for rule in _PYTHON_RULES for part in ("--error", rule))],
        *(part for path in paths if path for part in ("--extra-search-path", path)),
        program,
    ]


def read_findings(
    language: Checked,
    code: str,
    *,
    stdout: str,
    stderr: str,
    exit_code: int,
    places: Places = BOX,
    local: Collection[str] = (),
) -> tuple[Finding, ...]:
    """What the checker found in this program, by its lines. `local` are modules of the workspace."""
    output = [row[:_LONGEST_ROW] for row in _lines(f"{stdout}\n{stderr}"[:_LONGEST_OUTPUT])]
    read = _read_python(output) if language == "python" else _read_typescript(output)
    found = list(islice(read, _READ))
    if exit_code not in (0, 1) or (exit_code == 1 and not found):
        raise _failed(language, stderr or stdout, exit_code)
    lines = _lines(code)
    if language == "python":
        likely = _likely_in_python(found, lines, local)
    else:
        likely = _likely_in_typescript(found, lines)
    told = {(row.line, row.column, row.message): row for row in likely}
    findings = sorted(told.values(), key=lambda row: (row.line, row.column))[:_KEPT]
    return tuple(replace(row, message=_presentable(row.message, places)) for row in findings)


def describe(language: Checked, code: str, findings: Sequence[Finding]) -> str:
    """What the program's author reads."""
    lines = _lines(code)
    parts = [f"{len(findings)} error{'' if len(findings) == 1 else 's'}; nothing was run"]
    for row in findings[:_SHOWN]:
        parts.append(f"{_FILES[language]}:{row.line}:{row.column}: {row.message}")
        parts += _excerpt(lines, row)
    if len(findings) > _SHOWN:
        parts.append(f"… and {len(findings) - _SHOWN} more")
    return "\n".join(parts)


def _excerpt(lines: Sequence[str], row: Finding) -> list[str]:
    """The line with a mark under the place, or the part of it that is around the place."""
    if not 1 <= row.line <= len(lines):
        return []
    line = lines[row.line - 1]
    start = max(0, row.column - 1 - _LONGEST_LINE // 2) if len(line) > _LONGEST_LINE else 0
    shown = _printable(line[start : start + _LONGEST_LINE])
    mark = row.column - 1 - start - (len(shown) - len(shown.lstrip()))
    marked = [f"  {' ' * mark}^"] if 0 <= mark <= len(shown) else []
    return [f"  {shown.strip()}", *marked] if shown.strip() else []


def _presentable(message: str, places: Places) -> str:
    """A message without the places that only Satchel knows, and not too long."""
    for folder in (places.program, places.wrappers):
        message = message.replace(f"file://{folder}/", "").replace(f"{folder}/", "")
    message = _printable(message)
    return message if len(message) <= _LONGEST_MESSAGE else message[: _LONGEST_MESSAGE - 1] + "…"


def _lines(text: str) -> list[str]:
    """As checkers count them: `splitlines` knows more ends of lines than they do."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)


def _failed(language: Checked, told: str, exit_code: int) -> SandboxError:
    words = [_printable(row).strip() for row in _lines(told[:_LONGEST_ROW])]
    reason = " ".join(filter(None, words))[:_LONGEST_MESSAGE]
    return SandboxError(
        f"{CHECKERS[language]} could not check the program (exit code {exit_code}): {reason}",
        hint="run it without check",
    )


# Python

_PYTHON_RULES = (
    *("missing-argument", "unknown-argument", "too-many-positional-arguments", "parameter-already-assigned"),
    *("positional-only-parameter-as-kwarg", "invalid-argument-type", "missing-attribute", "import-not-found"),
    *("unresolved-reference", "not-iterable", "not-subscriptable", "unsupported-operator", "invalid-await"),
    *("call-non-callable", "unused-awaitable", "invalid-context-manager", "invalid-exception-caught"),
    *("invalid-raise", "index-out-of-bounds"),
)
_CONCISE = re.compile(
    r".*?main\.py:(?P<line>\d{1,9}):(?P<column>\d{1,9}): \w+\[(?P<rule>[\w-]+)\] (?P<text>.+)"
)
_NARROWED = re.compile(r" & ~Always(?:Falsy|Truthy)")  # what an `if` taught ty; nothing for readers
_ASSIGNED = re.compile(r"Unresolved attribute `(\w+)`")
_NO_ATTRIBUTE = re.compile(r"` has no (?:attribute|member) `(?P<name>\w{1,200})`")
_PRIVATE = re.compile(r"`[\w.]+` has no member `_")  # of a module: the checker's stubs don't list them
_FUNCTION = re.compile(r"Argument to [a-z ]{0,40}`(?P<name>[\w.]{1,200})`")
_DEFINITION = re.compile(r"[ \t]*(?:async +def|def|class) +(\w+)")
_OPERANDS = re.compile(r"(?:objects|object) of type (`.+`)")
_MODULE = re.compile(r"Cannot resolve imported module `(?P<name>[\w.]+)`")
_OURS = ("servers", "tools", "helpers", "satchel_runtime")
# A value of one of these types may be something else: `None` is what a server may leave out, an exception
# what `gather` returns.
_VAGUE = re.compile(r"(?:type|and) `(?:None|object|BaseException.*)`| may not be |possibly")
_STRINGS = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")
_LITERALS = re.compile(r"Literal\[(?P<first>.)[^\]]*\]")
_JSON_TYPES = {
    *("str", "int", "float", "bool", "None", "list", "dict", "tuple", "Literal", "Any", "Unknown"),
    *("bytes", "bytearray"),
}


def _read_python(output: Sequence[str]) -> Iterator[Finding]:
    """ty tells about the one file that it was asked about."""
    for row in output:
        if match := _CONCISE.fullmatch(row):
            yield Finding(
                line=int(match["line"]),
                column=int(match["column"]),
                message=_NARROWED.sub("", match["text"]),
                rule=match["rule"],
            )


def _likely_in_python(
    findings: Sequence[Finding], lines: Sequence[str], local: Collection[str]
) -> Iterator[Finding]:
    assigned = {match[1] for row in findings if (match := _ASSIGNED.match(row.message))}
    defined = {match[1] for line in lines if (match := _DEFINITION.match(line))}
    sets_attributes = any("setattr(" in line or "__dict__" in line for line in lines)
    sets_names = any("exec(" in line or "globals()" in line for line in lines)
    around = _surroundings(lines, {row.line for row in findings})
    for row in findings:
        headers = around.get(row.line, [])
        if row.rule == "invalid-syntax":
            is_likely = "outside of an asynchronous" not in row.message or _is_in_function(headers)
        elif row.rule not in _PYTHON_RULES or _VAGUE.search(row.message):
            is_likely = False
        elif row.rule == "missing-attribute":
            is_likely = not _may_have_attribute(row.message, assigned, defined, sets_attributes)
        elif row.rule == "unresolved-reference":
            is_likely = not sets_names
        elif row.rule == "import-not-found":
            module = _MODULE.search(row.message)
            is_local = module is not None and module["name"].partition(".")[0] in local
            is_likely = not (is_local or _is_guarded(row.message, headers) or _PRIVATE.search(row.message))
        elif row.rule in ("unsupported-operator", "invalid-raise"):
            operands = _OPERANDS.search(row.message)
            is_likely = not (operands and " | " in operands[1])
        elif row.rule == "unused-awaitable":
            is_likely = "`CoroutineType[" in row.message  # a task runs by itself
        elif row.rule == "invalid-argument-type":
            is_likely = _is_wrong_argument(row.message, defined)
        else:
            is_likely = True
        if is_likely:
            yield _with_await(row)


def _may_have_attribute(message: str, assigned: set[str], defined: set[str], sets_attributes: bool) -> bool:
    """Whether it may be there when the program runs: assigned, set by its name, or of a derived class."""
    match = _NO_ATTRIBUTE.search(message)
    if match is None or match["name"] in assigned or _PRIVATE.search(message):
        return True
    kind = message[: match.start()].rpartition("`")[2]
    is_self = kind.startswith("Self@")
    return (is_self and match["name"] in defined) or (sets_attributes and (is_self or kind in defined))


def _is_wrong_argument(message: str, defined: set[str]) -> bool:
    """Whether the value can't do. Types that the program itself declares don't matter when it runs."""
    # By parting the text: what a program wrote is in it, and could keep an expression busy for long.
    _, is_known, types = message.partition(": Expected `")
    expected, _, found = types.removesuffix("`").rpartition("`, found `")
    if not is_known or not expected or "CoroutineType[" in found:
        return True
    function = _FUNCTION.match(message)
    if function is not None and defined.intersection(function["name"].split(".")):
        return False
    found, expected = (_STRINGS.sub('"', text) for text in (found, expected))
    if " | " in found or " & " in found:  # one of these may do
        return False
    if _names(expected) - _JSON_TYPES and ("dict" in _names(found) or _names(found) - _JSON_TYPES):
        return False  # a dict does for a record
    widened = _LITERALS.sub(lambda literal: "str" if literal["first"] == '"' else "int", expected)
    options = {widened, *widened.split(" | ")}
    twins = {found, re.sub(r"\bint\b", "float", found)}  # lists of these are different to a checker only
    if found.startswith("tuple[") and "list[" in expected:
        return False  # JSON has only lists
    return not options & twins


def _names(text: str) -> set[str]:
    return set(re.findall(r"[A-Za-z_]\w*", text))


def _with_await(row: Finding) -> Finding:
    """A coroutine where its result was meant is what the wrappers make easy to get wrong."""
    if "CoroutineType[" not in row.message or row.rule == "unused-awaitable":
        return row
    return replace(row, message=f"{row.message}; is an `await` missing?")


def _is_in_function(headers: Sequence[str]) -> bool:
    return any(header.startswith("def ") for header in headers)


def _is_guarded(message: str, headers: Sequence[str]) -> bool:
    """Whether the program has thought of the module not being there. Wrappers are always there."""
    match = _MODULE.match(message)
    if match is None or match["name"].split(".")[0] in _OURS:
        return False
    return any(header.startswith(("try:", "except")) for header in headers)


def _surroundings(lines: Sequence[str], wanted: set[int]) -> dict[int, list[str]]:
    """What these lines are inside of, by their indentation: hostile code is not parsed on this side."""
    found: dict[int, list[str]] = {}
    open_blocks: list[tuple[int, str]] = []
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        indent = len(line) - len(line.lstrip())
        while open_blocks and open_blocks[-1][0] >= indent:
            open_blocks.pop()
        if number in wanted:
            found[number] = [header for _, header in open_blocks]
        open_blocks.append((indent, text[:20]))
    return found


# TypeScript

_HEAD = re.compile(r"(?:TS(?P<code>\d{1,5}) \[ERROR\]|error): +(?P<text>.+)")
_AT = re.compile(r" +at (?P<file>\S+?):(?P<line>\d{1,9}):(?P<column>\d{1,9})")
_MARKS = re.compile(r" *[~^]+ *")
_FORGOTTEN_AWAIT = "TS2773"
_NO_PROPERTY = ("TS2339", "TS2551")
# Overloads, whose choice says little, and what only matters in strict mode: no type given, maybe no value.
_VAGUE_RULES = re.compile(r"TS(?:2769|2454|253[123]|2571|272[12]|1804[6789]|7\d{3})")
# Properties of an object that begins empty; a choice that went through a variable.
_VAGUE_TYPES = re.compile(
    r"on type '(?:\{\}|never|unknown|object)'|[Tt]ype 'string' is not assignable to .*type '\""
)
_WORD = re.compile(r"[\w$]{1,100}")
_ASSIGNMENT = re.compile(r" {0,9}(?:\?\?|\|\||[+*/-])?=(?![=>])")
_LONGEST_BLOCK = 40


def _read_typescript(output: Sequence[str]) -> Iterator[Finding]:
    """A message is about the first place that is named after it. Line 0: in another file."""
    for number, row in enumerate(output):
        head = _HEAD.fullmatch(row)
        if head is None:
            continue
        block = list(takewhile(bool, output[number + 1 : number + 1 + _LONGEST_BLOCK]))
        end = next((index for index, text in enumerate(block) if _AT.fullmatch(text)), None)
        place = _AT.fullmatch(block[end]) if end is not None else None
        if place is not None:
            yield Finding(
                line=int(place["line"]) if place["file"].endswith("/main.ts") else 0,
                column=int(place["column"]),
                message=" ".join([head["text"], *_last_reason(block[:end])]),
                rule=f"TS{head['code']}" if head["code"] else "",
            )


def _last_reason(block: Sequence[str]) -> list[str]:
    """The innermost of the indented reasons that follow a message; then come the line and its marks."""
    if len(block) < 3 or not _MARKS.fullmatch(block[-1]):
        return []
    return [text.strip() for text in block[:-2] if text.startswith("  ") and "|" not in text[:8]][-1:]


def _likely_in_typescript(findings: Sequence[Finding], lines: Sequence[str]) -> list[Finding]:
    assigned = {name for row in findings if (name := _assigned_property(lines, row))}
    likely: list[Finding] = []
    for row in findings:
        if row.rule == _FORGOTTEN_AWAIT:  # it follows what it explains
            if likely and (likely[-1].line, likely[-1].column) == (row.line, row.column):
                likely[-1] = replace(likely[-1], message=f"{likely[-1].message} {row.message}")
            continue
        is_vague = _VAGUE_RULES.fullmatch(row.rule) or _VAGUE_TYPES.search(row.message)
        is_added = row.rule in _NO_PROPERTY and _word_at(lines, row) in assigned
        if row.line and not is_vague and not is_added:
            likely.append(row)
    return likely


def _assigned_property(lines: Sequence[str], row: Finding) -> str:
    """The name of a property that the program adds to an object: it may, whatever the object's type."""
    if row.rule not in _NO_PROPERTY:
        return ""
    name = _word_at(lines, row)
    return name if name and _ASSIGNMENT.match(lines[row.line - 1], row.column - 1 + len(name)) else ""


def _word_at(lines: Sequence[str], row: Finding) -> str:
    if not 1 <= row.line <= len(lines):
        return ""
    match = _WORD.match(lines[row.line - 1], max(0, row.column - 1))
    return match[0] if match else ""
