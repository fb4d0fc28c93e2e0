"""Python is checked by ty: its options, its words, and which of its findings would fail."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from satchel.sandbox.checking.model import Checker, Finding, Places

_RULES = (
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


def _read(output: Sequence[str]) -> Iterator[Finding]:
    """ty tells about the one file that it was asked about."""
    for row in output:
        if match := _CONCISE.fullmatch(row):
            yield Finding(
                line=int(match["line"]),
                column=int(match["column"]),
                message=_NARROWED.sub("", match["text"]),
                rule=match["rule"],
            )


def _likely(findings: Sequence[Finding], lines: Sequence[str], local: Collection[str]) -> Iterator[Finding]:
    assigned = {match[1] for row in findings if (match := _ASSIGNED.match(row.message))}
    defined = {match[1] for line in lines if (match := _DEFINITION.match(line))}
    sets_attributes = any("setattr(" in line or "__dict__" in line for line in lines)
    sets_names = any("exec(" in line or "globals()" in line for line in lines)
    around = _surroundings(lines, {row.line for row in findings})
    for row in findings:
        headers = around.get(row.line, [])
        if row.rule == "invalid-syntax":
            is_likely = "outside of an asynchronous" not in row.message or _is_in_function(headers)
        elif row.rule not in _RULES or _VAGUE.search(row.message):
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
    """The blocks around these lines, by indentation: hostile code is not parsed on this side."""
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


def _options(places: Places, python_version: str) -> list[str]:
    # Not the workspace: what a program has left there would stand in for modules of Python.
    paths = [places.support, places.wrappers, places.runtime, places.packages]
    return [
        *["--output-format", "concise", "--no-progress", "--color", "never"],
        *["--python-version", python_version, "--project", places.program],
        *["--config-file", "/dev/null"],  # with one, a comment in the program can't bring settings
        *["--ignore", "all", *(part for rule in _RULES for part in ("--error", rule))],
        *(part for path in paths if path for part in ("--extra-search-path", path)),
    ]


CHECKER = Checker(name="ty", file="main.py", options=_options, read=_read, likely=_likely)
