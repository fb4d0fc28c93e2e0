"""A tool as a Python file."""

import re
from collections.abc import Iterable
from typing import Any

from satchel.codegen.examples import fits
from satchel.codegen.signature import Signature, resolve
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
from satchel.model import Json, is_list, is_object
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
}
_BUILTINS = ("str", "int", "float", "bool", "list", "dict", "tuple", "locals")
# A field of these names would hide a method of every record, or a type in the annotations after it.
_RECORD_WORDS = frozenset([*_IMPORTS, *_BUILTINS, *(name for name in dir(dict) if name[0] != "_")])
# A key given in a record's head must not be taken for an option of the class statement.
_CLASS_OPTIONS = frozenset(
    ["metaclass", "init", "repr", "eq", "order", "unsafe_hash", "frozen", "match_args", "kw_only", "slots",
     "weakref_slot", "cls"]
)  # fmt: skip
_QUOTED = re.compile(r'"(?:[^"\\\\]|\\\\.)*"')
_WORDS = re.compile(r"[^\W\d]\w*")
# Comments that mean something to a checker or a formatter.
_DIRECTIVES = r"(?:type|pyright|mypy|ruff|fmt|yapf|pylint|isort|pragma)\s*:|noqa\b|nosec\b"
_DIRECTIVE = re.compile(rf"(?i)\s*(?:{_DIRECTIVES})")
_HIDDEN_DIRECTIVE = re.compile(rf"(?i)#[#\s]*(?={_DIRECTIVES})")


def tool_file(signature: Signature) -> str:
    """The whole file of one tool."""
    return _File(signature).text()


def head_of(signature: Signature) -> str:
    """The line by which it is called: name, parameters, what it returns."""
    file = _File(signature)
    file.text()
    return file.head


def example_call(signature: Signature, values: Json) -> tuple[str, list[str]]:
    """A call of the tool with those values, and the records that it needs."""
    return _File(signature).example(values)


class _File:
    """Gathers the imports and the records while the signature is written."""

    def __init__(self, signature: Signature) -> None:
        self._signature = signature
        self._function = signature.spelling.python
        self._imports: dict[str, set[str]] = {}
        self._records: dict[tuple[bool, str | Object, Type], str] = {}
        self._names: set[str] = {self._function, *_IMPORTS, "None", "True", "False"}
        self._classes: list[str] = []
        self._aliases: list[str] = []
        self._unfinished: set[str] = set()
        self._unfinished_aliases: set[str] = set()
        self._forward = False
        self.head = ""
        self._arguments: dict[str, str] = {}  # the parameters, by their real names
        self._made: dict[Object, tuple[str, dict[str, str]]] = {}  # records of the input, with their fields

    def text(self) -> str:
        signature = self._signature
        output = "JsonOrText"
        if signature.output is not None:
            output = self._type(signature.output.type, signature.output, is_input=False)
        output = self._use("JsonOrText") if output == "JsonOrText" else output
        shape = output if self._records else ""
        reserved = {self._spelled("call"), self._spelled("locals"), *_WORDS.findall(shape)}
        names = assign_parameters([field.name for field in signature.parameters.fields], reserved)
        self._arguments = names
        parameters = [self._parameter(field, names[field.name]) for field in signature.parameters.fields]
        given, mapping = "locals()" if parameters else "{}", self._mapping(names)
        if signature.parameters.extra is not None:
            extra = _free("arguments" if not parameters else "extra", names.values())
            parameters.append(
                f"**{extra}: {self._type(signature.parameters.extra, signature.input, is_input=True)}"
            )
            given = "locals()" if names else extra
            if names:
                mapping.append(f"{python_string(extra)}: None")
        body = self._call(given, shape, mapping)
        head = self._head(parameters, output)
        self.head = " ".join(head.rstrip(":\n").split()).replace("( *,", "(*,").replace(", )", ")")
        lines = self._documentation(names)
        text = docstring(lines, "    ") if lines else ""
        # Other names for types are real values, so they come after the classes they speak of.
        types = "".join(self._classes) + "".join(self._aliases) + ("\n" if self._aliases else "")
        return self._header() + types + head + text + body

    def example(self, values: Json) -> tuple[str, list[str]]:
        self.text()
        types = {field.name: field.type for field in self._signature.parameters.fields}
        needed: list[str] = []
        parts = [
            f"{self._arguments[name]}={self._value(types[name], value, needed)}"
            for name, value in values.items()
        ]
        return f"{self._function}({', '.join(parts)})", list(dict.fromkeys(needed))

    def _value(self, kind: Type, value: Any, needed: list[str]) -> str:
        """A value as code; objects are made with their records, which join the needed ones."""
        if is_object(value):
            option = self._option(kind, value)
            if isinstance(option, Object) and option in self._made:
                name, names = self._made[option]
                needed.append(name)
                types = {field.name: field.type for field in option.fields}
                parts = [
                    f"{names[key]}={self._value(types[key], part, needed)}" for key, part in value.items()
                ]
                return f"{name}({', '.join(parts)})"
            inner = option.values if isinstance(option, Map) else ANY
            pairs = [
                f"{python_string(key)}: {self._value(inner, part, needed)}" for key, part in value.items()
            ]
            return f"{{{', '.join(pairs)}}}"
        if is_list(value):
            option = self._option(kind, value)
            if isinstance(option, Tuple):
                places = zip(option.items, value, strict=True)
                return f"({', '.join(self._value(item, part, needed) for item, part in places)},)"
            inner = option.items if isinstance(option, Array) else ANY
            return f"[{', '.join(self._value(inner, part, needed) for part in value)}]"
        return python_string(value) if isinstance(value, str) else repr(value)

    def _option(self, kind: Type, value: Any) -> Type:
        """The type itself, or the first of its options, that the value is of."""
        shape = self._signature.input
        kind = resolve(kind, shape)
        options = kind.options if isinstance(kind, Union) else (kind,)
        return next(
            (resolve(option, shape) for option in options if fits(option, value, shape)),
            resolve(options[0], shape),
        )

    def _head(self, parameters: list[str], output: str) -> str:
        start = "" if not parameters or parameters[0].startswith("**") else "*, "
        line = f"async def {self._function}({start}{', '.join(parameters)}) -> {output}:"
        if len(line) > WIDTH:
            first = "    *,\n" if start else ""
            rows = "".join(f"    {parameter},\n" for parameter in parameters)
            line = f"async def {self._function}(\n{first}{rows}) -> {output}:"
        return f"{line}\n"

    def _parameter(self, field: Field, name: str) -> str:
        kind = self._type(field.type, self._signature.input, is_input=True)
        return f"{name}: {kind}" if field.required else f"{name}: {kind} = {self._use('omit')}"

    def _mapping(self, names: dict[str, str]) -> list[str]:
        return [
            f"{python_string(name)}: {python_string(real)}" for real, name in names.items() if real != name
        ]

    def _call(self, given: str, shape: str, mapping: list[str]) -> str:
        signature = self._signature
        if given == "locals()":
            given = f"{self._use('locals')}()"
        parts = [python_string(signature.server), python_string(signature.name), given]
        parts += [shape] if shape else []
        parts += [f"names={{{', '.join(mapping)}}}"] if mapping else []
        parts += ["unwrap=True"] if signature.unwrap else []
        return f"    return await {self._use('call')}({', '.join(parts)})\n"

    def _documentation(self, names: dict[str, str]) -> list[str]:
        signature = self._signature
        lines = wrap(signature.text, WIDTH - 4) if signature.text else []
        if signature.notes:
            lines += ["", *signature.notes] if lines else list(signature.notes)
        described = [field for field in signature.parameters.fields if field.text]
        if described:
            lines += [""] if lines else []
            for field in described:
                lines += _described(names[field.name], field.text)
        return lines

    def _header(self) -> str:
        lines = ["# pyright: reportUnusedFunction=false\n"] if self._function.startswith("_") else []
        lines += ["from __future__ import annotations\n"] if self._forward else []
        for module in sorted(self._imports):
            names = ", ".join(sorted(self._imports[module], key=str.lower))
            lines.append(f"from {module} import {names}\n")
        return "".join(lines) + "\n"

    def _spelled(self, name: str) -> str:
        """How a name that the file needs is called in it: the tool may have taken that name for itself."""
        return f"{name}_" if name == self._function else name

    def _use(self, name: str) -> str:
        """The same, and it is imported."""
        spelled = self._spelled(name)
        if name in _IMPORTS:
            self._imports.setdefault(_IMPORTS[name], set()).add(
                name if spelled == name else f"{name} as {spelled}"
            )
        elif spelled != name:
            self._imports.setdefault("builtins", set()).add(f"{name} as {spelled}")
        return spelled

    def _type(self, kind: Type, shape: Shape, *, is_input: bool) -> str:
        if isinstance(kind, Scalar):
            word = _SCALARS[kind.kind]
            return word if word != self._function else self._use(word)
        if isinstance(kind, Array):
            return f"{self._use('list')}[{self._inner(kind.items, shape, is_input=is_input)}]"
        if isinstance(kind, Object):
            return self._record(kind, kind, shape, is_input=is_input)
        if isinstance(kind, Union):
            options = [self._type(option, shape, is_input=is_input) for option in kind.options]
            return " | ".join(dict.fromkeys(options)) if len(options) > 1 else options[0]
        if isinstance(kind, Choice):
            return self._choice(kind)
        if isinstance(kind, Map):
            values = self._inner(kind.values, shape, is_input=is_input)
            return f"{self._use('dict')}[{self._use('str')}, {values}]"
        if isinstance(kind, Tuple):
            items = ", ".join(self._inner(item, shape, is_input=is_input) for item in kind.items)
            return f"{self._use('tuple')}[{items}]"
        if isinstance(kind, Reference):
            target = shape.definitions.get(kind.name, ANY)
            return self._record(kind.name, target, shape, is_input=is_input)
        assert isinstance(kind, Unknown)
        return self._use("Any")

    def _inner(self, kind: Type, shape: Shape, *, is_input: bool) -> str:
        """A type within another. One that is not defined yet where Python will look for it is quoted."""
        text = self._type(kind, shape, is_input=is_input)
        plain = _QUOTED.sub("", text)  # what is quoted already needs it no more
        return python_string(text) if self._unfinished_aliases & set(_WORDS.findall(plain)) else text

    def _choice(self, kind: Choice) -> str:
        """A Literal; it can't hold fractions, so those are any number."""
        exact = [value for value in kind.values if not isinstance(value, float)]
        texts = [python_string(value) if isinstance(value, str) else repr(value) for value in exact]
        parts = [f"{self._use('Literal')}[{', '.join(texts)}]"] if texts else []
        if len(exact) < len(kind.values):
            parts.append(self._use("float"))
        return " | ".join(parts)

    def _record(self, key: str | Object, kind: Type, shape: Shape, *, is_input: bool) -> str:
        """The name of a record or of a named type; its text is written when it is met first."""
        is_input = is_input and not _is_complete(kind)  # complete ones are the same both ways
        known = self._records.get((is_input, key, kind))
        if known is not None:
            self._forward = self._forward or known in self._unfinished
            return known
        wanted = key if isinstance(key, str) else key.name
        name = _free(wanted, self._names)
        self._names.add(name)
        self._records[is_input, key, kind] = name
        self._unfinished.add(name)
        if isinstance(kind, Object):
            self._classes.append(self._class(name, kind, shape, is_input=is_input))
        else:
            self._forward = True  # what uses it may stand before it
            self._unfinished_aliases.add(name)
            text = self._type(kind, shape, is_input=is_input)
            self._unfinished_aliases.discard(name)
            self._aliases.append(f"{name}: {self._use('TypeAlias')} = {text}\n")
        self._unfinished.discard(name)
        return name

    def _class(self, name: str, kind: Object, shape: Shape, *, is_input: bool) -> str:
        types = {field.name: self._type(field.type, shape, is_input=is_input) for field in kind.fields}
        used = {word for text in types.values() for word in _WORDS.findall(text)}
        names = assign_parameters(types, _RECORD_WORDS | used | {f"{self._function}_"})
        for real, python in names.items():
            if real != python and python in _CLASS_OPTIONS:
                names[real] = _free(f"{python}_", names.values())
        self._made[kind] = name, names
        keys = "".join(f", {new}={python_string(real)}" for real, new in names.items() if real != new)
        lines = [f"class {name}({self._use('Record')}{keys}):\n"]
        if kind.text:
            lines.append(docstring(wrap(readable(kind.text), WIDTH - 4), "    "))
        for field in kind.fields:
            lines += self._field(field, names[field.name], types[field.name], is_input=is_input)
        return "".join(lines) + "\n"

    def _field(self, field: Field, name: str, kind: str, *, is_input: bool) -> list[str]:
        if field.required:
            code = f"    {name}: {kind}"
        elif is_input:
            code = f"    {name}: {kind} = {self._use('omit')}"
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


def _is_complete(kind: Type) -> bool:
    """Whether nothing in it is optional: then it reads the same as an input and as an output."""
    if isinstance(kind, Object):
        return all(field.required and _is_complete(field.type) for field in kind.fields)
    if isinstance(kind, Array):
        return _is_complete(kind.items)
    if isinstance(kind, Map):
        return _is_complete(kind.values)
    if isinstance(kind, Union):
        return all(map(_is_complete, kind.options))
    if isinstance(kind, Tuple):
        return all(map(_is_complete, kind.items))
    return not isinstance(kind, Reference)


def _described(name: str, text: str) -> list[str]:
    first, *others = readable(text).split("\n")
    lines = wrap(f"{name}: {first}", WIDTH - 4)
    lines = [lines[0], *(f"    {line}" for line in lines[1:])]
    for line in others:
        lines += [f"    {part}" if part else "" for part in wrap(line, WIDTH - 8)]
    return lines


def _free(name: str, used: Iterable[str]) -> str:
    taken = set(used)
    candidate, number = name, 2
    while candidate in taken:
        candidate, number = f"{name}{number}", number + 1
    return candidate
