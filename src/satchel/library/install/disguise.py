r"""A text as a shell, an interpreter or a model takes it: without what stands in it only for other readers.

`c""url`, `c"u"rl`, `c\url`, `cu<zero-width space>rl`, `\x63url` and `&#99;url` all become `curl`. The number
of lines stays. It undoes what a reader undoes by itself, and follows no variables and no code.
"""

import html
import re
from unicodedata import normalize

# What Unicode says to show as nothing where it is not supported (Default_Ignorable_Code_Point).
IGNORED = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_IGNORED = re.compile(f"[{IGNORED}]")
_ON_TERMINALS = re.compile("\x1b\\[[0-9;]{0,20}m|[^\n]\x08")  # colours, and letters taken back
_MOVES = re.compile("\x1b\\[[0-9;?]{0,20}[A-Za-ln-z]")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z]{2,12});")
_NUMBERED = re.compile(r"\\(?:x|u00|u\{)([2-7][0-9a-fA-F])\}?")
# Quotation marks and escapes within a word, of a shell, of PowerShell and of cmd.
_WITHIN_WORDS = re.compile(
    r"(?<=\w)(?:''|\"\"|\\(?=\w)|`(?=\w)|\^(?=\w)|\$[@*](?=\w))|(?<![\w\\])\\(?=[a-z]{2})"
)
_QUOTED_LETTERS = re.compile(
    r"(?<=\w)(?P<after>[\"'])(\w{1,20})(?P=after)|(?P<before>[\"'])(\w{1,20})(?P=before)(?=\w)"
)
_OCTAL = re.compile(r"\\0?(1[0-7]{2}|[4-7][0-7])(?!\d)")
_ANSI_QUOTED = re.compile(r"\$'([^'\n]{1,200})'")
_SPACE = re.compile(r"\$\{?IFS\b\}?")
_PATH = re.compile(r"(?<=\w)[\"'][ \t]{0,9}[,/][ \t]{0,9}[\"'](?=[.\w])")  # `".aws" / "credentials"`
_PLUS = re.compile(r"[\"'][ \t]{0,9}\+[ \t]{0,9}[\"']")


def shown(text: str) -> str:
    """The text, as it reads where it is shown."""
    if not text.isascii():
        text = _IGNORED.sub("", normalize("NFKC", text))
    text = _MOVES.sub(" ", _ON_TERMINALS.sub("", text))
    text = _ENTITY.sub(_of_entity, text)
    return _NUMBERED.sub(lambda match: chr(int(match[1], 16)), text)


def joined(text: str) -> str:
    """The text, with its words put together as a program that runs it does."""
    text = _OCTAL.sub(lambda match: chr(int(match[1], 8)), text)
    text = _SPACE.sub(" ", _ANSI_QUOTED.sub(r"\1", text))
    text = _PLUS.sub("", _PATH.sub("/", text))
    text = _QUOTED_LETTERS.sub(lambda match: match[2] or match[4], text)
    return _WITHIN_WORDS.sub("", text)


def _of_entity(match: re.Match[str]) -> str:
    meant = html.unescape(match[0])
    return meant if meant.isprintable() else match[0]
