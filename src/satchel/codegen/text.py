"""Text that came from a server, made fit to stand in source code.

Nothing in it can end a comment or a string, and nothing in it is invisible to the reader.
"""

import re

WIDTH = 110
# What a reader would not see, or what would make a line read differently from what it says. Joiners and the
# emoji selector are ordinary writing.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160"
    "\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\uf8ff\ufe00-\ufe0e\ufeff"
    "\uffa0\ufff0-\ufffb\U000110bd\U000110cd\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\u2800\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"
    # Joiners where they join nothing, and rows of them: they could spell a text of their own.
    "|(?<=[\x00-\x7f])[\u200c\u200d]|[\u200c\u200d\ufe0f]{3,}"
)
_OTHER_SPACES = re.compile("[\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_FAR = re.compile(r"(?<=\S) {40,}|\n{4,}")  # what would put a text out of sight
_COMPILER = re.compile(r"^(\s*)@(ts-)")  # what TypeScript takes for an instruction, in any comment
_MARK = re.compile(r"(?:[-*•‣+–]|\d{1,3}[.)]|[a-z][.)]) {1,3}")  # of an item in a list
_NO_PROSE = ("```", "|", "#", "{", "[")
_STOPS = (".", "!", "?", ":", ";", ")", "`", "|")  # after these a line may well be at its end
_SPACE = re.compile(r"\s+")
_END = re.compile(r"[.!?…](?=\s)")  # of a sentence
_BETWEEN = re.compile(r"(?<=[.!?…])\s+|\n\s*\n|\n(?=\W*deprecated\b)", re.IGNORECASE)  # sentences
# What a sentence says of the tool itself, and not of what the tool is about.
_DEPRECATED = re.compile(r"^\W*deprecated\b|\b(?:is|been|now)\s+deprecated\b", re.IGNORECASE)


def readable(text: str) -> str:
    """The text with plain line ends, without its common indentation, and with what is unseen spelled out."""
    if text.isprintable() and (text.isascii() or not _UNSEEN.search(text)):
        return _without_gaps(text).strip()
    text = text.expandtabs(4).replace("\r\n", "\n").replace("\r", "\n")
    text = text if text.isascii() else _OTHER_SPACES.sub(" ", text)
    text = _UNSEEN.sub(lambda match: "".join(f"<U+{ord(unseen):04X}>" for unseen in match.group()), text)
    return _without_gaps(_dedent(text.strip("\n"))).strip()


def _without_gaps(text: str) -> str:
    has_any = " " * 40 in text or "\n" * 4 in text  # of a hundred texts hardly one, and quick to see
    return _FAR.sub(_nearer, text) if has_any else text


def _nearer(far: re.Match[str]) -> str:
    return "\n\n\n" if far.group().startswith("\n") else " "


def has_unseen(text: str) -> bool:
    return not text.isprintable() and _UNSEEN.search(text) is not None


def one_line(text: str) -> str:
    """The text as a single line."""
    text = readable(text)
    return _SPACE.sub(" ", text) if "\n" in text or "  " in text else text


def summary(text: str, limit: int = 120) -> str:
    """The first sentence, or as much of it as fits; and, where a later one says so, that it is deprecated."""
    whole = readable(text[:2000])
    first = _first_sentence(one_line(whole.lstrip("#*= ").split("\n\n", 1)[0]))
    warning = _warning(whole) if "deprecated" not in first.lower() else None
    if warning is None:
        return _cut(first, limit)
    warning = _cut(warning, max(limit // 2, limit - len(first) - 1))
    return f"{_cut(first, limit - len(warning) - 1)} {warning}"


def _first_sentence(line: str) -> str:
    end = _END.search(line)
    if end and end.end() >= 12 and not line[: end.end()].endswith(("e.g.", "i.e.")):
        return line[: end.end()]
    return line


def _warning(whole: str) -> str | None:
    """The sentence that says that the tool is deprecated. A quick look first: few descriptions have one."""
    if "deprecated" not in whole.lower():
        return None
    return next((one_line(part) for part in _BETWEEN.split(whole) if _DEPRECATED.search(part)), None)


def _cut(line: str, limit: int) -> str:
    return line if len(line) <= limit else line[: limit - 1].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"


def is_prose(text: str) -> bool:
    """Whether its lines are one paragraph, so that they can be broken elsewhere."""
    lines = [line.lstrip(" ") for line in text.strip().split("\n")]
    is_list = any(not line or _MARK.match(line) or line.startswith(_NO_PROSE) for line in lines)
    return not is_list and all(len(line) > 50 for line in lines[:-1])


def wrap(text: str, width: int) -> list[str]:
    """The lines of the text, long ones broken at spaces; those of a list hang below its mark.

    What is left of a broken line goes on with the next one where both are of a sentence. Code that is fenced
    stays as it is.
    """
    lines: list[str] = []
    left, hang, is_fenced = "", "", False
    for line in map(str.rstrip, text.split("\n")):
        is_fence = line.lstrip().startswith("```")
        if left and not is_fence and _goes_on(line, hang):
            line = f"{hang}{left} {line.lstrip()}"
        elif left:
            lines.append(hang + left)
        left = ""
        if is_fenced or is_fence or len(line) <= width:
            lines.append(line)
            is_fenced ^= is_fence
            continue
        hang, pieces = _broken(line, width)
        if line.endswith(_STOPS):
            lines += pieces
        else:
            *whole, left = pieces
            lines += whole
            left = left.lstrip(" ")
    return [*lines, hang + left] if left else lines


def _goes_on(line: str, hang: str) -> bool:
    """Whether a line goes on with the sentence of the one before it, which hangs like that."""
    body = line.lstrip(" ")
    return (
        bool(body) and len(line) - len(body) == len(hang) and not _MARK.match(body) and body[0] not in "#|>"
    )


def _broken(line: str, width: int) -> tuple[str, list[str]]:
    """A long line in pieces, and what those after the first begin with."""
    body = line.lstrip(" ")
    indent = line[: len(line) - len(body)][: width // 2]
    mark = _MARK.match(body)
    hang = indent + " " * len(mark.group()) if mark else indent
    pieces: list[str] = []
    start, end, room, before = 0, len(body), max(width - len(indent), 1), indent
    while end - start > room:
        cut = body.rfind(" ", start + (len(mark.group()) if mark and not start else 1), start + room + 1)
        if cut < 0:
            cut = body.find(" ", start + room)
            if cut < 0:
                break
        pieces.append(before + body[start:cut].rstrip())
        start, room, before = cut + 1, max(width - len(hang), 1), hang
        while body.startswith(" ", start):
            start += 1
    return hang, [*pieces, before + body[start:]]


def python_string(text: str) -> str:
    """A Python literal of the text."""
    return _literal(text, "\\U{:08x}")


def typescript_string(text: str) -> str:
    """A TypeScript literal of the text."""
    return _literal(text, "\\u{{{:x}}}")


def _literal(text: str, wide: str) -> str:
    """A literal in double quotes; `wide` is the form of escapes that four digits are not enough for."""
    if text.isascii() and text.isprintable():
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return '"' + "".join(_character(character, wide) for character in text) + '"'


def docstring(lines: list[str], indent: str) -> str:
    """A docstring of those lines, with its quotes and its line end."""
    body = f"\n{indent}".join(lines).replace(f"\n{indent}\n", "\n\n").replace(f"\n{indent}\n", "\n\n")
    if "\\" in body or '"' in body:
        body = body.replace("\\", "\\\\")
        inner = body.rstrip('"')
        body = inner.replace('"""', '\\"\\"\\"') + '\\"' * (len(body) - len(inner))
    end = f"\n{indent}" if len(lines) > 1 else ""
    return f'{indent}"""{body}{end}"""\n'


def doc_comment(lines: list[str], indent: str) -> str:
    """A `/** … */` comment of those lines, with its line end; nothing for no lines."""
    if not lines:
        return ""
    lines = [_COMPILER.sub(r"\1@ \2", line.replace("*/", "*\\/")) for line in lines]
    if len(lines) == 1:
        return f"{indent}/** {lines[0]} */\n"
    body = "".join(f"{indent} * {line}\n" if line else f"{indent} *\n" for line in lines)
    return f"{indent}/**\n{body}{indent} */\n"


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _character(character: str, wide: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable() and not _UNSEEN.match(character):
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else wide.format(code)


def _dedent(text: str) -> str:
    """Without the indentation that paragraphs share, but for the first line, as in docstrings."""
    first, _, rest = text.partition("\n")
    if not rest:
        return text
    lines = rest.split("\n")
    indents = [len(line) - len(line.lstrip(" ")) if line.strip(" ") else None for line in lines]
    begun = [indent for before, indent in zip([None, *indents], indents, strict=False) if before is None]
    margin = min((indent for indent in begun if indent is not None), default=0)
    kept = [line[min(margin, indent or 0) :].rstrip() for line, indent in zip(lines, indents, strict=True)]
    return "\n".join([first.strip(), *kept])
