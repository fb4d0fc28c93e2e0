"""A command's text with what a person typed after its name: one pass over the text as it was written.

What is inserted is never looked at again. No command for a shell is run, and no file is read: both stay as
text, which says so. What could as well be money, a spreadsheet's cell or a script's own variable stays as it
is; where nothing has taken all words of the person, they follow the instructions, marked as theirs.
"""

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from satchel.errors import ArgumentError
from satchel.library.commands.places import places_of
from satchel.library.commands.spans import Kind, is_in, scripts_in, spans_of
from satchel.library.commands.words import words_of
from satchel.model import Command
from satchel.support.text import label, whole_characters

LONGEST = 1_000_000
"""Characters of what a person may type."""
NOT_RUN = "(not run; run it in a program if it is wanted)"
_WHOLE = (
    r"(?<!\\)(?P<escape>\\*)\$(?:(?P<whole>\{ARGUMENTS\}|ARGUMENTS(?![\w\[])|ARGUMENTS(?=\[(?!\d{1,6}\])))"
)
_INDEX = r"|ARGUMENTS\[(?P<index>\d{1,6})\])"
# Neither before nor after it is anything that makes it money, a cell, or part of another word.
_NUMBER = (
    r"(?<![\\$\w])(?<!\d[-–—])(?<![\s(|][-+−])(?P<escape_number>\\*)\$(?P<number>[0-9])"
    r"(?!\w|[.,]\d|[-–—]\$?\d|\s(?:million|billion|trillion|thousand|bn|mn|mm|per|each|USD|EUR)\b)"
)
_NAME = r"(?<![\\$\w])(?P<escape_name>\\*)\$(?P<name>NAMES)(?!\w)"
_PLACE = r"(?P<place>\$\{[A-Z_]{1,40}\})"
_SHELL = r"(?<!\S)!`(?P<shell>[^`\n]+)`"
_FILE = r"(?<![^\s(])@(?:(?P<root>(?=\$\{(?:CLAUDE_)?PLUGIN_ROOT\}/))|(?P<file>[\w.][\w./-]*\w))"
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_MOST_NAMES = 50
_MOST_INSERTED = 8_000_000  # characters; a text may name the arguments many thousand times
_QUOTE = re.compile(r"\\.|['\"]")
_TAKES = re.compile(r"\$(?:ARGUMENTS|\{ARGUMENTS\})")
_LINK = re.compile(r"\]\((?![A-Za-z][A-Za-z0-9+.-]*:|[#/<])[^()\s]+\)")
_LINE_BREAK = re.compile(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_TICKS = re.compile("`+")

Inside = Callable[[str], str | None]
"""Finds the path in programs of a file that a command names, if it is a file of the plugin."""


def _nowhere(path: str) -> str | None:
    return None


def expand(command: Command, arguments: str = "", *, inside: Inside = _nowhere) -> str:
    """The text for a model when a person invokes a command with these arguments."""
    if len(arguments) > LONGEST:
        raise ArgumentError(
            f"the arguments have {len(arguments):,} characters; at most {LONGEST:,} are taken",
            hint="put a long text into a file, and name that",
        )
    given = whole_characters(arguments).replace("\0", "\ufffd")
    filling = _Filling(command=command, given=given, inside=inside)
    instructions = filling.text()
    parts = [f"[COMMAND: /{label(command.identity)}]\n{instructions}"]
    if command.folder and _LINK.search(command.content):
        parts.append(f"[its links lead from {command.folder}]")
    if given.strip() and not filling.has_all:
        parts.append(_marked(given))
    return "\n\n".join(parts)


def _marked(text: str) -> str:
    """The person's arguments, after the instructions, in a block that nothing in them can end."""
    if not _LINE_BREAK.search(text):
        return f"User arguments: {text}"
    fence = _longer_than(text, 3)
    return f"User arguments:\n{fence}text\n{text}\n{fence}"


def _longer_than(text: str, least: int) -> str:
    """Backticks that nothing in a text ends."""
    return "`" * max(least, 1 + max(map(len, _TICKS.findall(text)), default=0))


@dataclass(kw_only=True)
class _Filling:
    """One pass over a command's text; notes which of the person's words it has put where."""

    command: Command
    given: str
    inside: Inside
    has_whole: bool = False
    taken: set[int] = field(default_factory=set[int])
    _inserted: int = 0
    _quote: tuple[int, str] = (0, "")  # up to where quotes were followed, and which one is open there

    def __post_init__(self) -> None:
        command = self.command
        self.content = command.content.strip("\n")
        self.words = words_of(self.given)
        self.names = _names(command)
        root = command.root
        self.places = places_of(command.folder, command.plugin_name if root else "", root)
        self.scripts = scripts_in(self.content)
        self.spans = list(spans_of(self.content))
        self.takes = bool(command.argument_hint or command.arguments or _TAKES.search(self.content))
        numbers = list(self._numbers()) if self.takes else []
        self.has_numbers = any(number != "0" for number, _ in numbers)
        self.has_zero = any(
            number == "0" and (self.has_numbers or kind == "text") for number, kind in numbers
        )

    @property
    def has_all(self) -> bool:
        """Whether nothing of what the person typed is missing in the text."""
        return self.has_whole or (bool(self.words) and len(self.taken) == len(self.words))

    def text(self) -> str:
        return "".join(
            self._shell_block(span.start, span.end)
            if span.kind == "shell"
            else self._filled(span.start, span.end, span.kind)
            for span in self.spans
        )

    def _numbers(self) -> Iterator[tuple[str, Kind]]:
        """Each number that may be an argument's, and where it stands."""
        pattern = re.compile(_NUMBER)
        for span in self.spans:
            for found in pattern.finditer(self.content, span.start, span.end):
                if len(found["escape_number"]) % 2 == 0 and not self._is_other(found):
                    yield found["number"], span.kind

    def _is_other(self, found: re.Match[str]) -> bool:
        """Whether `$1` is a script's own, or `$0` a sum of money."""
        before = self.content[max(0, found.start() - 3) : found.start()].rstrip(" ")[-1:]
        is_sum = found["number"] == "0" and before in ("=", "<", ">", "≤", "≥")
        return is_sum or is_in(found.start(), self.scripts)

    def _filled(self, start: int, end: int, kind: Kind) -> str:
        pieces: list[str] = []
        at = start
        for found in _pattern(tuple(self.names), kind).finditer(self.content, start, end):
            pieces.append(self.content[at : found.start()])
            pieces.append(self._replacement(found, kind, start))
            at = found.end()
        return "".join([*pieces, self.content[at:end]])

    def _replacement(self, found: re.Match[str], kind: Kind, start: int) -> str:
        match found.lastgroup:
            case "place":
                return self.places.get(found["place"][2:-1], found[0])
            case "shell":
                command = self._filled(*found.span("shell"), "shell")
                ticks = _longer_than(command, 1)
                space = " " if len(ticks) > 1 else ""
                return f"{ticks}{space}{command}{space}{ticks} {NOT_RUN}"
            case "root":
                return ""  # the variable after it becomes a path that programs know
            case "file":
                return self.inside(found["file"]) or found[0]
            case _:
                return self._argument(found, kind, start)

    def _argument(self, found: re.Match[str], kind: Kind, start: int) -> str:
        escape = found["escape"] or found["escape_number"] or found["escape_name"] or ""
        if not self._is_placeholder(found, kind):
            return found[0]
        if len(escape) % 2:
            return escape[:-1] + found[0][len(escape) :]
        number = self._number(found)
        if number is not None and not 0 <= number < len(self.words):
            return found[0]  # there is no such word
        value = self.given if number is None else self.words[number]
        self._inserted += len(value)
        if self._inserted > _MOST_INSERTED:
            name = label(self.command.identity)
            raise ArgumentError(
                f"/{name} puts the arguments in so often that the text would have more than "
                f"{_MOST_INSERTED:,} characters",
                hint="shorten the arguments",
            )
        if kind == "shell":  # a person who runs the text runs the command, and no code in the words
            words = self.words if number is None else [value]
            return escape + _quoted(value, words, self._open_quote(start, found.start()))
        if kind == "example" and _breaks_out(value):
            return found[0]
        if number is None:
            self.has_whole = True
        else:
            self.taken.add(number)
        return escape + value

    def _is_placeholder(self, found: re.Match[str], kind: Kind) -> bool:
        if not found["number"]:
            return True
        is_escaped = bool(len(found["escape_number"]) % 2)
        is_used = self.has_numbers or (self.has_zero and kind == "text") or (self.takes and is_escaped)
        return is_used and not self._is_other(found)

    def _number(self, found: re.Match[str]) -> int | None:
        """Which word a placeholder stands for; None for all as typed."""
        if found["number"]:
            return int(found["number"]) - (0 if self.has_zero else 1)
        if found["index"]:
            return int(found["index"])
        return self.names[found["name"]] if found["name"] else None

    def _open_quote(self, start: int, end: int) -> str:
        """Which quote is open at a place in its line; what was gone through before is not looked at again."""
        at, quote = self._quote if self._quote[0] >= start else (start, "")
        line = self.content.rfind("\n", at, end) + 1
        if line:
            at, quote = line, ""
        for found in _QUOTE.finditer(self.content, at, end):
            if found[0] in ("'", '"') and quote in ("", found[0]):
                quote = "" if quote else found[0]
        self._quote = end, quote
        return quote

    def _shell_block(self, start: int, end: int) -> str:
        block = self.content[start:end]
        indent = block[: len(block) - len(block.lstrip(" \t>"))]
        inner = start + (block.find("\n") + 1 or len(block))
        last = self.content.rfind("\n", inner, end)
        is_closed = last >= 0 and not self.content[last + 1 : end].strip(" \t>`~")
        command = self._filled(inner, last + 1 if is_closed else end, "shell")
        fence = _longer_than(command, 3)
        return f"{indent}{NOT_RUN}\n{indent}{fence}sh\n{command.rstrip()}\n{indent}{fence}"


def _pattern(names: tuple[str, ...], kind: Kind) -> re.Pattern[str]:
    parts = [_WHOLE + _INDEX, _NUMBER]
    # A group that is always there and never found, where no name is declared.
    alternatives = "|".join(map(re.escape, sorted(names, key=len, reverse=True))) or r"(?!)"
    parts += [_NAME.replace("NAMES", alternatives), _PLACE]
    if kind == "text":
        parts += [_SHELL, _FILE]
    return re.compile("|".join(parts))


def _names(command: Command) -> Mapping[str, int]:
    """Which word each declared name stands for."""
    names: dict[str, int] = {}
    for number, name in enumerate(command.arguments[:_MOST_NAMES]):
        if _IDENTIFIER.fullmatch(name) and name != "ARGUMENTS":
            names.setdefault(name, number)
    return names


def _breaks_out(text: str) -> bool:
    """Whether a text would end the example that it is put into."""
    return "```" in text or "~~~" in text or _LINE_BREAK.search(text) is not None


def _quoted(text: str, words: list[str], quote: str) -> str:
    """Words for a shell, by which quote is open where they are put."""
    if quote == '"':
        return re.sub(r'([\\"$`])', r"\\\1", text)
    if quote == "'":
        return text.replace("'", "'\\''")
    return " ".join(map(shlex.quote, words))
