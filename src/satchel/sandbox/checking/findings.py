"""Whether a program fits the wrappers, said before it runs: the checker's command, and what its words mean.

Nothing is started here. Python is checked by ty, TypeScript by `deno check`. Both run in the box, for the
program that they read may be hostile, and so may what they print about it: everything is bounded. A finding
keeps a program from running, so only those count that would fail, or are very likely wrong; what is merely
not proven right may pass.
"""

import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from satchel.errors import SandboxError
from satchel.languages import Language
from satchel.sandbox.checking import python, typescript
from satchel.sandbox.checking.model import BOX, Checker, Finding, Places

CHECKERS: Mapping[Language, Checker] = {"python": python.CHECKER, "typescript": typescript.CHECKER}
_SHOWN, _KEPT, _READ = 20, 200, 1000  # findings
_LONGEST_MESSAGE, _LONGEST_LINE = 400, 110
_LONGEST_OUTPUT, _LONGEST_ROW = 1024 * 1024, 1200


def check_command(
    language: Language,
    places: Places = BOX,
    *,
    python_version: str = f"{sys.version_info.major}.{sys.version_info.minor}",
) -> list[str]:
    """The command of the checker, with the program's path at its end. It writes to /tmp only."""
    checker = CHECKERS[language]
    options = checker.options(places, python_version)
    return [f"{places.programs}/{checker.name}", "check", *options, f"{places.program}/{checker.file}"]


def read_findings(
    language: Language,
    code: str,
    *,
    stdout: str,
    stderr: str,
    exit_code: int,
    places: Places = BOX,
    local: Collection[str] = (),
) -> tuple[Finding, ...]:
    """The checker's findings in this program, by line. `local` are modules of the workspace."""
    output = [row[:_LONGEST_ROW] for row in _lines(f"{stdout}\n{stderr}"[:_LONGEST_OUTPUT])]
    checker = CHECKERS[language]
    found = list(islice(checker.read(output), _READ))
    if exit_code not in (0, 1) or (exit_code == 1 and not found):
        raise _failed(language, stderr or stdout, exit_code)
    lines = _lines(code)
    likely = checker.likely(found, lines, local)
    told = {(row.line, row.column, row.message): row for row in likely}
    findings = sorted(told.values(), key=lambda row: (row.line, row.column))[:_KEPT]
    return tuple(replace(row, message=_presentable(row.message, places)) for row in findings)


def describe(language: Language, code: str, findings: Sequence[Finding]) -> str:
    """The findings as text for the program's author."""
    lines = _lines(code)
    parts = [f"{len(findings)} error{'' if len(findings) == 1 else 's'}; nothing was run"]
    for row in findings[:_SHOWN]:
        parts.append(f"{CHECKERS[language].file}:{row.line}:{row.column}: {row.message}")
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


def _failed(language: Language, told: str, exit_code: int) -> SandboxError:
    words = [_printable(row).strip() for row in _lines(told[:_LONGEST_ROW])]
    reason = " ".join(filter(None, words))[:_LONGEST_MESSAGE]
    return SandboxError(
        f"{CHECKERS[language].name} could not check the program (exit code {exit_code}): {reason}",
        hint="run it without check",
    )
