"""A tool as a TypeScript file."""

import re
from collections.abc import Iterable

from satchel.codegen.signature import Signature, resolve, told_by
from satchel.codegen.text import WIDTH, doc_comment, readable, typescript_string, wrap
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

RUNTIME = "../../satchel-runtime/index.ts"
_SCALARS = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
_WORDS = re.compile(r"[^\W\d]\w*")
_PLAIN_KEY = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
# Types that the file itself needs, and those of the language.
_TAKEN = frozenset(
    ["JsonOrText", "Promise", "Record", "Array", "Object", "String", "Number", "Boolean", "Symbol",
     "Function", "Date", "Error", "Map", "Set"]
)  # fmt: skip


def tool_file(signature: Signature) -> str:
    """The whole file of one tool."""
    return _File(signature).text()


def head_of(signature: Signature) -> str:
    """The line by which it is called: name, parameters, what it returns."""
    file = _File(signature)
    file.text()
    return file.head


def property_name(name: str) -> str:
    """A property's name as it is written in a type or an object."""
    return name if _PLAIN_KEY.fullmatch(name) else typescript_string(name)


class _File:
    def __init__(self, signature: Signature) -> None:
        self._signature = signature
        self._function = signature.spelling.typescript
        self._taken = {self._function, "call", *_TAKEN}
        self._names: dict[str, str] = {}  # of the definitions of the shape that is being written
        self._repeated: dict[Object, str] = {}  # objects that come more than once, with their names
        self._declared: list[str] = []
        self.head = ""

    def text(self) -> str:
        signature = self._signature
        call = "call" if self._function != "call" else "call_"
        imported = call if call == "call" else "call as call_"
        parameter, given = self._parameter()
        output, unknown = "JsonOrText", ", type JsonOrText"
        if signature.output is not None:
            unknown = ""
            output = self._declare(signature.output.type, signature.output, f"{signature.type_name}Output")
        told = "\n\n".join(told_by(signature, "typescript"))
        lines = wrap(told, WIDTH - 3) if told else []
        arguments = [typescript_string(signature.server), typescript_string(signature.name)]
        arguments += [given] if given else ["{}"] if signature.unwrap else []
        arguments += ["true"] if signature.unwrap else []
        self.head = f"function {self._function}({parameter}): Promise<{output}>"
        return (
            f'import {{ {imported}{unknown} }} from "{RUNTIME}";\n\n'
            + "".join(self._declared)
            + doc_comment(lines, "")
            + f"export {self.head} {{\n"
            + f"  return {call}({', '.join(arguments)});\n}}\n"
        )

    def _parameter(self) -> tuple[str, str]:
        """The one parameter, and what is handed on; both empty for a tool that takes nothing."""
        signature = self._signature
        parameters = signature.parameters
        if not parameters.fields and parameters.extra is None:
            return "", ""
        if not parameters.fields:
            values = self._type(parameters.extra or ANY, signature.input, "")
            return f"input: Record<string, {values}> = {{}}", "input"
        name = self._declare(signature.input.type, signature.input, f"{signature.type_name}Input")
        kind = resolve(signature.input.type, signature.input)
        options = kind.options if isinstance(kind, Union) else (kind,)
        optional = any(_may_be_empty(resolve(option, signature.input)) for option in options)
        return f"input: {name}{' = {}' if optional else ''}", "input"

    def _declare(self, kind: Type, shape: Shape, name: str) -> str:
        """Write the named types of a shape; tell how its own type is called or spelled."""
        self._names = {key: self._free(key) for key in shape.definitions}
        self._repeated = dict.fromkeys(_repeated([kind, *shape.definitions.values()]), "")
        for key, definition in shape.definitions.items():
            self._declared.append(self._declaration(self._names[key], definition, shape))
        if isinstance(kind, Object):
            name = self._free(kind.name or name)
            self._declared.append(self._declaration(name, kind, shape))
            return name
        if isinstance(kind, Union) and any(isinstance(option, Object) for option in kind.options):
            name = self._free(name)
            self._declared.append(self._declaration(name, kind, shape))
            return name
        return self._type(kind, shape, "")

    def _declaration(self, name: str, kind: Type, shape: Shape) -> str:
        if isinstance(kind, Object):
            about = doc_comment(wrap(readable(kind.text), WIDTH - 3), "") if kind.text else ""
            return f"{about}export interface {name} {self._body(kind, shape, '')}\n\n"
        return f"export type {name} = {self._type(kind, shape, '')};\n\n"

    def _object(self, kind: Object, shape: Shape, indent: str) -> str:
        """In place where it is met once; by a name where it comes again."""
        if kind not in self._repeated:
            return self._body(kind, shape, indent)
        if not self._repeated[kind]:
            self._repeated[kind] = self._free(kind.name)
            self._declared.append(self._declaration(self._repeated[kind], kind, shape))
        return self._repeated[kind]

    def _body(self, kind: Object, shape: Shape, indent: str) -> str:
        inner = indent + "  "
        rows = [self._row(field, shape, inner) for field in kind.fields]
        if kind.extra is not None:
            rows.append(f"{inner}[key: string]: unknown;\n")
        return "{\n" + "".join(rows) + indent + "}"

    def _row(self, field: Field, shape: Shape, indent: str) -> str:
        lines = wrap(readable(field.text), WIDTH - len(indent) - 7) if field.text else []
        mark = "" if field.required else "?"
        kind = self._type(field.type, shape, indent)
        return f"{doc_comment(lines, indent)}{indent}{property_name(field.name)}{mark}: {kind};\n"

    def _type(self, kind: Type, shape: Shape, indent: str) -> str:
        if isinstance(kind, Scalar):
            return _SCALARS[kind.kind]
        if isinstance(kind, Array):
            items = self._type(kind.items, shape, indent)
            return f"({items})[]" if isinstance(kind.items, Union | Choice) else f"{items}[]"
        if isinstance(kind, Object):
            return self._object(kind, shape, indent)
        if isinstance(kind, Union):
            return " | ".join(dict.fromkeys(self._type(option, shape, indent) for option in kind.options))
        if isinstance(kind, Choice):
            return " | ".join(map(_literal, kind.values))
        if isinstance(kind, Map):
            values = self._type(kind.values, shape, indent)
            # A named type may contain itself in one of these forms only.
            named = set(self._names.values()) & set(_WORDS.findall(values))
            return f"{{ [key: string]: {values} }}" if named else f"Record<string, {values}>"
        if isinstance(kind, Tuple):
            return f"[{', '.join(self._type(item, shape, indent) for item in kind.items)}]"
        if isinstance(kind, Reference):
            return self._names.get(kind.name, "unknown")
        assert isinstance(kind, Unknown)
        return "unknown"

    def _free(self, name: str) -> str:
        if name in self._taken:  # an output after an input of that name, or a name that the file needs
            name += "Item" if name in _TAKEN else "Output"
        candidate, number = name, 2
        while candidate in self._taken:
            candidate, number = f"{name}{number}", number + 1
        self._taken.add(candidate)
        return candidate


def _repeated(kinds: Iterable[Type]) -> set[Object]:
    """The objects that occur more than once, and are worth a name."""
    seen: set[Object] = set()
    again: set[Object] = set()
    waiting = list(kinds)
    while waiting:
        kind = waiting.pop()
        if isinstance(kind, Object):
            if kind in seen:
                again.add(kind)
                continue  # what is in it has been looked at
            seen.add(kind)
            waiting += [field.type for field in kind.fields]
        elif isinstance(kind, Array):
            waiting.append(kind.items)
        elif isinstance(kind, Map):
            waiting.append(kind.values)
        elif isinstance(kind, Tuple):
            waiting += kind.items
        elif isinstance(kind, Union):
            waiting += kind.options
    return {kind for kind in again if len(kind.fields) > 1}


def _may_be_empty(kind: Type) -> bool:
    return not isinstance(kind, Object) or not any(field.required for field in kind.fields)


def _literal(value: str | int | float | bool | None) -> str:
    if isinstance(value, str):
        return typescript_string(value)
    if value is None or isinstance(value, bool):
        return {True: "true", False: "false", None: "null"}[value]
    return repr(value) if abs(value) < 1e15 else "number"
