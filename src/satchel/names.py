"""Every naming rule: how a server and a tool are spelled in Python, in TypeScript and on the wire.

Any string is a name here, and gets valid, stable spellings that no other name shares. An ordinary name stays
plain; only a collision, or a name that is empty or too long, is given a suffix: a short hash of the name.

Pure functions without I/O. Keeping the assignments between runs is the catalog's work, and so is finding the
tool that a wire name means: that is a look-up, never a split.
"""

import keyword
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

IDENTIFIER_MAX = 60  # characters; at four bytes each, a file name with its ending is still below 255 bytes
SERVER_WIRE_MAX = 30  # leaves the larger half of a wire name to the tool
WIRE_MAX = 64  # what the APIs of models accept as the name of a tool
WIRE_HASH = 12  # hexadecimal digits at the end of a wire name that was cut
# Characters of a name that are read; the rest counts in its hash only. A name may be a megabyte long, and
# normalising it takes time that is quadratic in a run of combining marks.
READ_MAX = 256

PROGRAM_MAX = 1_000_000  # characters of a program that are read
_SHELL_WORD = re.compile(r"[\w@%+=:,./-]+", re.ASCII)


@dataclass(frozen=True, kw_only=True, slots=True)
class Spelling:
    python: str  # a server's module; a tool's function and file stem
    typescript: str  # a server's folder, in kebab case; a tool's function and file stem, in camel case
    wire: str  # one part of a wire name, ASCII letters, digits and underscores


def assign_servers(names: Iterable[str], kept: Mapping[str, Spelling] = {}) -> dict[str, Spelling]:
    """Spell every server, in input order. Spellings in `kept` stay; then who comes first has the plain."""
    return _assign(names, kept, _SERVER_RULES)


def assign_tools(names: Iterable[str], kept: Mapping[str, Spelling] = {}) -> dict[str, Spelling]:
    """Spell every tool of one server, in input order. `kept` is as for `assign_servers`."""
    return _assign(names, kept, _TOOL_RULES)


def assign_parameters(names: Iterable[str], reserved: Collection[str] = ()) -> dict[str, str]:
    """A Python identifier for every parameter or property, in input order; a fit name stays as it is.

    Nothing in `reserved` is used. Case tells two apart, as it does in JSON.
    """
    unique = list(dict.fromkeys(names))
    assigned = {
        name: name
        for name in unique
        if name.isascii() and name.isidentifier() and _is_parameter(name) and name not in reserved
    }
    used = {*reserved, *assigned.values()}
    for name in unique:
        if name not in assigned:
            assigned[name] = _parameter(name, used)
            used.add(assigned[name])
    return {name: assigned[name] for name in unique}


def type_name(text: str) -> str:
    """The text in Pascal case, as types are called; empty when nothing is left of it."""
    clean = _clean(text).strip("_")
    if not clean:
        return ""
    name = "".join(word[0].upper() + word[1:] for word in filter(None, clean.split("_")))
    name = unicodedata.normalize("NFKC", name)[:IDENTIFIER_MAX]
    return name if _is_identifier(name) else f"T{name}" if _is_identifier(f"T{name}") else ""


def wire_name(server: Spelling, tool: Spelling) -> str:
    """The name of a tool among those of all servers, such as `google_drive__get_document`.

    A server's part has no `__` and no `_` at its end, so the first `__` is always the joint, and different
    parts give different names. Only a name that had to be cut contains `-`, so no other can imitate it.
    """
    joined = f"{server.wire}__{tool.wire}"
    if len(joined) <= WIRE_MAX:
        return joined
    return f"{joined[: WIRE_MAX - WIRE_HASH - 1]}-{_sha256(joined)[:WIRE_HASH]}"


def in_shell(name: str) -> str:
    """A name as a person types it after a command: servers of plugins may have spaces in theirs."""
    return name if _SHELL_WORD.fullmatch(name) else "'" + name.replace("'", "'\"'\"'") + "'"


def claude_names(server: str) -> tuple[str, ...]:
    """How Claude Code calls a plugin's server `sales:slack`, which texts of plugins do."""
    plugin, colon, name = server.partition(":")
    if not colon or not plugin or not name:
        return ()
    tools = re.sub(r"[^A-Za-z0-9_-]", "_", f"{plugin}_{name}"[:READ_MAX])
    return f"plugin:{server}", f"mcp__plugin_{tools}"


def servers_in_program(code: str) -> set[str]:
    """Words of a program in either language that may be servers: those that it imports, and some others."""
    imports = _IMPORT.findall(code[:PROGRAM_MAX])
    return {word for places in imports for place in places for word in _WORD.findall(place)}


def count(number: int, word: str) -> str:
    """`1 tool`, `2 tools`."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def closest(name: str, known: Iterable[str], limit: int = 3) -> list[str]:
    """Known names that `name` may have meant, best first. Case and punctuation don't count."""
    from difflib import get_close_matches  # only needed once something has gone wrong

    by_key: dict[str, list[str]] = {}
    for candidate in dict.fromkeys(known):
        by_key.setdefault(_letters(candidate), []).append(candidate)
    keys = get_close_matches(_letters(name[:READ_MAX]), by_key, n=max(limit, 1))
    return [candidate for key in keys for candidate in by_key[key]][: max(limit, 0)]


_PYTHON_WORDS = frozenset(keyword.kwlist)
_TYPESCRIPT_WORDS = frozenset(
    re.findall(
        r"\w+",
        "arguments await break case catch class const continue debugger default delete do else enum eval "
        "export extends false finally for function if implements import in instanceof interface let new null "
        "package private protected public return static super switch this throw true try typeof undefined "
        "var void while with yield "
        "then",  # a module that exports it is taken for a promise by `await import()`
    )
)
# Names of devices, which Windows has in every folder.
_DEVICES = frozenset(
    ["con", "nul", "aux", "prn"] + [f"{device}{number}" for device in ("com", "lpt") for number in range(10)]
)
# Stems of files that are generated next to the tools; on some file systems `Sync.py` is `sync.py`.
_PYTHON_FILES = _DEVICES | {"example", "prompts", "resources", "sync"}
_TYPESCRIPT_FILES = _DEVICES | {"example", "index", "prompts", "resources", "version"}
# `index` and `readme` lie next to the folders of servers; the others mean something to Windows or to Node.
_FOLDERS = _DEVICES | {"index", "readme", "node_modules"}

_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")
_GAP = re.compile(r"_* [ _]*")
_UNDERSCORES = re.compile(r"_+")
_WORD_ENDS = re.compile(r"_+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_CAMEL = re.compile(r"[a-z][A-Za-z0-9]*")
_SERVER_WIRE = re.compile(r"[A-Za-z0-9]+(?:_[A-Za-z0-9]+)*")
_WORD = re.compile(r"[\w-]+")
# Bounded everywhere: a program may be anything, and is looked at while others wait.
_IMPORT = re.compile(
    r"\bservers\b(?:\s{0,9}[./]\s{0,9}([\w-]{1,300})"  # servers.crm, './servers/crm/index.ts'
    r"|[\s\\]{1,99}import\b[\s\\]{0,99}(?:\(([\w\s,#]{0,500})|([\w ,]{1,500})))"  # … import crm, git
)
# Identifiers may contain these, but nobody sees them, so two names could look the same.
_INVISIBLE = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f"
    + "".join(map(chr, [*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]))
)
_LETTER_CATEGORIES = frozenset(["Lu", "Ll", "Lt", "Lm", "Lo", "Nl", "Nd", "Mn", "Mc", "Pc"])


def _others(text: str) -> list[str]:
    """The characters in it that one of the languages doesn't allow in an identifier, or that nobody sees."""
    return [
        character
        for character in set(text) - _PLAIN
        if not f"_{character}".isidentifier()
        or unicodedata.category(character) not in _LETTER_CATEGORIES
        or character in _INVISIBLE
    ]


def _clean(name: str) -> str:
    """The name with every run of other characters as one underscore, and none of those at the ends."""
    if name.isascii() and name.isidentifier():
        return name[:READ_MAX]
    text = unicodedata.normalize("NFKC", name[:READ_MAX])  # as Python does with every identifier it reads
    others = {ord(character): " " for character in _others(text)}
    return _GAP.sub("_", text.translate(others).strip(" "))


def _fold(text: str) -> str:
    """What a file system that ignores case, and composes or decomposes letters, may take the text for."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def _letters(text: str) -> str:
    folded = _fold(text[:READ_MAX])
    return "".join(filter(str.isalnum, folded)) or folded


def _sha256(text: str) -> str:
    from hashlib import sha256  # loads OpenSSL, and plain names don't need it

    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _suffixes(name: str) -> Iterator[str]:
    """Ever longer hashes of the name, without end: somebody may have named tools after the first ones."""
    digest = _sha256(name)
    while True:
        for length in range(6, 17):
            yield digest[:length]
        digest = _sha256(digest)


# Shapes: from a clean name to a spelling, before reserved words are looked at. Empty when nothing is left.


def _as_identifier(text: str) -> str:
    return text if not text or _starts_well(text) else f"_{text}"


def _snake(clean: str) -> str:
    # Names like `__init__` belong to Python, and one more underscore at the end would not change that.
    return _as_identifier(clean.strip("_") + "_" if _is_dunder(clean) else clean)


def _camel(clean: str) -> str:
    if _CAMEL.fullmatch(clean):
        return clean
    leading = clean[: len(clean) - len(clean.lstrip("_"))]
    words = clean.split("_") if clean.islower() else _WORD_ENDS.split(clean)
    first, *others = list(filter(None, words)) or [""]
    text = leading + first.lower() + "".join(map(str.capitalize, others))
    return _as_identifier(unicodedata.normalize("NFKC", text))  # words that now touch may compose


def _kebab(clean: str) -> str:
    # Not split where the case changes: servers carry the names of products, and `GitHub` is `github`.
    return unicodedata.normalize("NFKC", _UNDERSCORES.sub("-", clean.strip("_")).lower())


def _tool_wire(clean: str) -> str:
    return clean if clean.isascii() else _server_wire(clean)


def _server_wire(clean: str) -> str:
    ascii_only = unicodedata.normalize("NFKD", clean).encode("ascii", "ignore").decode()  # `é` leaves its `e`
    return _UNDERSCORES.sub("_", ascii_only).strip("_")


def _parameter(name: str, used: Collection[str]) -> str:
    clean = _clean(name)
    text = "_" + clean.lstrip("_") if clean.startswith("__") else clean
    plain = _as_identifier(text)[:IDENTIFIER_MAX]
    if not plain or not _is_identifier(plain):
        plain = "value"
    if plain in _PYTHON_WORDS or plain in used or not _is_parameter(plain):
        plain = f"{plain}_"
    if plain not in used:
        return plain
    return next(text for text in (f"{plain}{suffix}" for suffix in _suffixes(name)) if text not in used)


# Checks: whether a spelling, ours or one from a file that somebody edited, has the right characters.


def _starts_well(text: str) -> bool:
    # Two marks may begin an identifier, to the letter of the standard; no reader expects it.
    return text.isidentifier() and unicodedata.category(text[0]) != "Mn"


def _is_dunder(text: str) -> bool:
    return text.startswith("__") and text.endswith("__")


def _is_identifier(text: str) -> bool:
    if text.isascii():
        return text.isidentifier()
    return _starts_well(text) and unicodedata.is_normalized("NFKC", text) and not _others(text)


def _is_parameter(text: str) -> bool:
    # Two underscores at the beginning change a name inside a class; those at both ends belong to Python.
    return len(text) <= IDENTIFIER_MAX and text not in _PYTHON_WORDS and not text.startswith("__")


def _is_python(text: str) -> bool:
    return _is_identifier(text) and not _is_dunder(text)


def _is_folder(text: str) -> bool:
    return text != "" and not text.startswith("-") and _is_identifier("_" + text.replace("-", "_"))


def _is_server_wire(text: str) -> bool:
    return _SERVER_WIRE.fullmatch(text) is not None


def _is_tool_wire(text: str) -> bool:
    return text != "" and _PLAIN.issuperset(text)


@dataclass(frozen=True, kw_only=True)
class _Rule:
    """How one noun is spelled in one place."""

    noun: str  # stands in for a name of which nothing is left
    shape: Callable[[str], str]
    check: Callable[[str], bool]
    words: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()  # reserved in upper and lower case
    limit: int = IDENTIFIER_MAX
    joint: str = "_"

    def accepts(self, text: str) -> bool:
        return len(text) <= self.limit and self.check(text) and not self._reserves(text)

    def spell(self, name: str, clean: str, used: set[str]) -> str:
        """The plain spelling if it can be had, else one with a suffix. Its fold joins the used ones."""
        chosen = plain = self._plain(clean)
        if not plain or len(plain) > self.limit or _fold(plain) in used:
            chosen = next(text for text in self._suffixed(name, plain) if _fold(text) not in used)
        used.add(_fold(chosen))
        return chosen

    def _plain(self, clean: str) -> str:
        text = self.shape(clean)
        if self._reserves(text):
            text += "_"
        return text if self.check(text) else ""

    def _suffixed(self, name: str, plain: str) -> Iterator[str]:
        for suffix in _suffixes(name):
            stem = plain[: self.limit - len(suffix) - 1].rstrip("_-")
            yield f"{stem or self.noun}{self.joint}{suffix}"

    def _reserves(self, text: str) -> bool:
        return text in self.words or _fold(text) in self.files


_Rules = tuple[_Rule, _Rule, _Rule]  # Python, TypeScript, wire: the order of the fields of Spelling

_SERVER_RULES: _Rules = (
    _Rule(noun="server", shape=_snake, check=_is_python, words=_PYTHON_WORDS, files=_DEVICES),
    _Rule(noun="server", shape=_kebab, check=_is_folder, files=_FOLDERS, joint="-"),
    _Rule(noun="server", shape=_server_wire, check=_is_server_wire, limit=SERVER_WIRE_MAX),
)
_TOOL_RULES: _Rules = (
    _Rule(noun="tool", shape=_snake, check=_is_python, words=_PYTHON_WORDS, files=_PYTHON_FILES),
    _Rule(
        noun="tool",
        shape=_camel,
        check=_is_identifier,
        words=_TYPESCRIPT_WORDS,
        files=_TYPESCRIPT_FILES | _DEVICES,
    ),
    _Rule(noun="tool", shape=_tool_wire, check=_is_tool_wire),
)


def _assign(names: Iterable[str], kept: Mapping[str, Spelling], rules: _Rules) -> dict[str, Spelling]:
    unique = list(dict.fromkeys(names))
    taken: tuple[set[str], set[str], set[str]] = (set(), set(), set())
    assigned: dict[str, Spelling] = {}
    for name in unique:
        spelling = kept.get(name)
        if spelling and _claim(spelling, rules, taken):
            assigned[name] = spelling
    for name in unique:
        if name not in assigned:
            clean = _clean(name)
            python, typescript, wire = (
                rule.spell(name, clean, used) for rule, used in zip(rules, taken, strict=True)
            )
            assigned[name] = Spelling(python=python, typescript=typescript, wire=wire)
    return {name: assigned[name] for name in unique}


def _claim(spelling: Spelling, rules: _Rules, taken: tuple[set[str], ...]) -> bool:
    """Take a kept spelling, unless a part of it is invalid or already taken."""
    parts = (spelling.python, spelling.typescript, spelling.wire)
    if not all(
        rule.accepts(part) and _fold(part) not in used
        for rule, part, used in zip(rules, parts, taken, strict=True)
    ):
        return False
    for part, used in zip(parts, taken, strict=True):
        used.add(_fold(part))
    return True
