"""Types as Python: annotations, and the records and other names that they speak of."""

import re
from collections.abc import Iterable

from satchel.codegen.merge import union
from satchel.codegen.text import WIDTH, docstring, one_line, python_string, readable, wrap
from satchel.codegen.types import (
    ANY,
    Array,
    Choice,
    Field,
    Map,
    Object,
    Reference,
    Scalar,
    Shape,
    Tuple,
    Type,
    Union,
    Unknown,
)
from satchel.names import assign_parameters

_SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_IMPORTS = {
    "Any": "typing",
    "Literal": "typing",
    "TypeAlias": "typing",
    "call": "satchel_runtime",
    "omit": "satchel_runtime",
    "Record": "satchel_runtime",
    "JsonOrText": "satchel_runtime",
    "renamed": "satchel_runtime",
}
# A field of these names would hide a method of every record.
_METHODS = frozenset(name for name in dir(dict) if name[0] != "_")
# A key given in a record's head must not be taken for an option of the class statement.
_CLASS_OPTIONS = frozenset(
    ["metaclass", "init", "repr", "eq", "order", "unsafe_hash", "frozen", "match_args", "kw_only", "slots",
     "weakref_slot", "cls"]
)  # fmt: skip
_ANY_OBJECT = Map(ANY)
_QUOTED = re.compile(r'"(?:[^"\\\\]|\\\\.)*"')
_WORDS = re.compile(r"[^\W\d]\w*")
# Comments that mean something to a checker or a formatter.
_DIRECTIVES = r"(?:type|pyright|mypy|ruff|fmt|yapf|pylint|isort|pragma)\s*:|noqa\b|nosec\b"
_DIRECTIVE = re.compile(rf"(?i)\s*(?:{_DIRECTIVES})")
_HIDDEN_DIRECTIVE = re.compile(rf"(?i)#[#\s]*(?={_DIRECTIVES})")


class Types:
    """Gathers imports and records while the types of one file are written."""

    def __init__(self, function: str) -> None:
        """`function` is the one that the file is about; nothing else in it may be called so."""
        self._function = function
        self._imports: dict[str, set[str]] = {}
        self._records: dict[tuple[bool, str | Object, Type], str] = {}
        self._names: set[str] = {function, *_IMPORTS, "None", "True", "False"}
        self._classes: list[str] = []
        self._aliases: list[str] = []
        self._unfinished: set[str] = set()
        self._unfinished_aliases: set[str] = set()
        self._forward = False
        self.spoken: set[str] = set()  # what the annotations that are being written speak of
        self.made: dict[Object, tuple[str, dict[str, str]]] = {}  # records with their fields, by real name

    @property
    def has_records(self) -> bool:
        return bool(self._records)

    def imports(self) -> str:
        lines = ["from __future__ import annotations\n"] if self._forward else []
        for module in sorted(self._imports):
            names = ", ".join(sorted(self._imports[module], key=str.lower))
            lines.append(f"from {module} import {names}\n")
        return "".join(lines)

    def definitions(self) -> str:
        """The records; then other names for types, which are real values and speak of records."""
        return "".join(self._classes) + "".join(self._aliases) + ("\n" if self._aliases else "")

    def spelled(self, name: str) -> str:
        """How a name that the file needs is called in it: the tool may have taken that name for itself."""
        return f"{name}_" if name == self._function else name

    def use(self, name: str) -> str:
        """The same, and it is imported."""
        spelled = self.spelled(name)
        self.spoken.add(spelled)
        if name in _IMPORTS:
            self._imports.setdefault(_IMPORTS[name], set()).add(
                name if spelled == name else f"{name} as {spelled}"
            )
        elif spelled != name:
            self._imports.setdefault("builtins", set()).add(f"{name} as {spelled}")
        return spelled

    def type(self, kind: Type, shape: Shape, *, is_input: bool) -> str:
        options = self._options(kind, shape, is_input=is_input)
        return " | ".join(reversed(dict.fromkeys(reversed(options))))

    def _options(self, kind: Type, shape: Shape, *, is_input: bool) -> list[str]:
        """The types that a value may be of. Among arguments, plain dicts and lists do as well."""
        if isinstance(kind, Union):
            return [
                text for option in kind.options for text in self._options(option, shape, is_input=is_input)
            ]
        text = self._one(kind, shape, is_input=is_input)
        if is_input and isinstance(kind, Tuple):
            return [text, self._one(Array(union(list(kind.items))), shape, is_input=True)]
        target = shape.definitions.get(kind.name, ANY) if isinstance(kind, Reference) else kind
        if is_input and isinstance(target, Object):
            return [text, self._one(_ANY_OBJECT, shape, is_input=True)]
        return [text]

    def _one(self, kind: Type, shape: Shape, *, is_input: bool) -> str:
        """A type that is not a union."""
        if isinstance(kind, Scalar):
            return self.use(_SCALARS[kind.kind])
        if isinstance(kind, Array):
            return f"{self.use('list')}[{self._inner(kind.items, shape, is_input=is_input)}]"
        if isinstance(kind, Object):
            return self._record(kind, kind, shape, is_input=is_input)
        if isinstance(kind, Choice):
            return self._choice(kind)
        if isinstance(kind, Map):
            values = self._inner(kind.values, shape, is_input=is_input)
            return f"{self.use('dict')}[{self.use('str')}, {values}]"
        if isinstance(kind, Tuple):
            items = ", ".join(self._inner(item, shape, is_input=is_input) for item in kind.items)
            return f"{self.use('tuple')}[{items}]"
        if isinstance(kind, Reference):
            target = shape.definitions.get(kind.name, ANY)
            return self._record(kind.name, target, shape, is_input=is_input)
        assert isinstance(kind, Unknown)
        return self.use("Any")

    def _inner(self, kind: Type, shape: Shape, *, is_input: bool) -> str:
        """A type within another. One that is not defined yet where Python will look for it is quoted."""
        text = self.type(kind, shape, is_input=is_input)
        plain = _QUOTED.sub("", text)  # what is quoted already needs it no more
        return python_string(text) if self._unfinished_aliases & set(_WORDS.findall(plain)) else text

    def _choice(self, kind: Choice) -> str:
        """A Literal; it can't hold fractions, so those are any number."""
        exact = [value for value in kind.values if not isinstance(value, float)]
        texts = [python_string(value) if isinstance(value, str) else repr(value) for value in exact]
        parts = [f"{self.use('Literal')}[{', '.join(texts)}]"] if texts else []
        if len(exact) < len(kind.values):
            parts.append(self.use("float"))
        return " | ".join(parts)

    def _record(self, key: str | Object, kind: Type, shape: Shape, *, is_input: bool) -> str:
        """The name of a record or of a named type; its text is written when it is met first."""
        is_input = is_input and not _is_the_same(kind)
        known = self._records.get((is_input, key, kind))
        if known is not None:
            self._forward = self._forward or known in self._unfinished
            self.spoken.add(known)
            return known
        wanted = key if isinstance(key, str) else key.name
        if wanted in self._names:  # an input after an output of that name, or a name that the file needs
            wanted += "Input" if is_input else "Item"
        name = free(wanted, self._names)
        self._names.add(name)
        self._records[is_input, key, kind] = name
        self._unfinished.add(name)
        outer, self.spoken = self.spoken, set()
        if isinstance(kind, Object):
            self._classes.append(self._class(name, kind, shape, is_input=is_input))
        else:
            self._forward = True  # what uses it may stand before it
            self._unfinished_aliases.add(name)
            text = self.type(kind, shape, is_input=is_input)
            self._unfinished_aliases.discard(name)
            self._aliases.append(f"{name}: {self.use('TypeAlias')} = {text}\n")
        self._unfinished.discard(name)
        self.spoken = outer | {name}
        return name

    def _class(self, name: str, kind: Object, shape: Shape, *, is_input: bool) -> str:
        types = {field.name: self.type(field.type, shape, is_input=is_input) for field in kind.fields}
        if is_input and not all(field.required for field in kind.fields):
            self.use("omit")
        names = assign_parameters(types, _METHODS | self.spoken)
        for real, python in names.items():
            if real != python and python in _CLASS_OPTIONS:
                names[real] = free(f"{python}_", names.values())
        self.made[kind] = name, names
        keys = "".join(f", {new}={python_string(real)}" for real, new in names.items() if real != new)
        lines = [f"class {name}({self.use('Record')}{keys}):\n"]
        if kind.text:
            lines.append(docstring(wrap(readable(kind.text), WIDTH - 4), "    "))
        for field in kind.fields:
            lines += self._field(field, names[field.name], types[field.name], is_input=is_input)
        return "".join(lines) + "\n"

    def _field(self, field: Field, name: str, kind: str, *, is_input: bool) -> list[str]:
        if field.required:
            code = f"    {name}: {kind}"
        elif is_input:
            code = f"    {name}: {kind} = {self.use('omit')}"
        else:
            is_optional = kind in ("Any", "Any_", "None") or kind.endswith("| None")
            optional = kind if is_optional else f"{kind} | None"
            code = f"    {name}: {optional} = None"
        comment = _HIDDEN_DIRECTIVE.sub("", one_line(field.text))
        if not comment:
            return [code + "\n"]
        if len(code) + len(comment) + 4 <= WIDTH:
            return [f"{code}  # {_harmless(comment)}\n"]
        return [*(f"    # {_harmless(line)}\n" for line in wrap(comment, WIDTH - 8)), code + "\n"]


def _harmless(line: str) -> str:
    """A line of a comment that no checker or formatter takes for an instruction."""
    return f"- {line}" if _DIRECTIVE.match(line) else line


def _is_the_same(kind: Type) -> bool:
    """Whether a record reads the same as an input and as an output: all of it is needed, and plain."""
    if isinstance(kind, Object):
        return all(field.required and _is_plain(field.type) for field in kind.fields)
    return _is_plain(kind)


def _is_plain(kind: Type) -> bool:
    """Whether there is no record in it."""
    if isinstance(kind, Array):
        return _is_plain(kind.items)
    if isinstance(kind, Map):
        return _is_plain(kind.values)
    if isinstance(kind, Union):
        return all(map(_is_plain, kind.options))
    if isinstance(kind, Tuple):
        return all(map(_is_plain, kind.items))
    return not isinstance(kind, Object | Reference)


def free(name: str, used: Iterable[str]) -> str:
    taken = set(used)
    candidate, number = name, 2
    while candidate in taken:
        candidate, number = f"{name}{number}", number + 1
    return candidate
