"""A tool as a Python file."""

from typing import Any

from satchel.codegen.examples import fits
from satchel.codegen.python.types import Types, free
from satchel.codegen.signature import Signature, resolve, told_by
from satchel.codegen.text import WIDTH, docstring, python_string, readable, wrap
from satchel.codegen.types import ANY, Array, Field, Map, Object, Tuple, Type, Union
from satchel.model import Json, is_list, is_object
from satchel.names import assign_parameters


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
    def __init__(self, signature: Signature) -> None:
        self._signature = signature
        self._function = signature.spelling.python
        self._types = Types(self._function)
        self.head = ""
        self._arguments: dict[str, str] = {}  # the parameters, by their real names

    def text(self) -> str:
        signature = self._signature
        output = "JsonOrText"
        if signature.output is not None:
            output = self._types.type(signature.output.type, signature.output, is_input=False)
        output = self._types.use("JsonOrText") if output == "JsonOrText" else output
        shape = output if self._types.has_records else ""
        reserved = {self._types.spelled("call"), self._types.spelled("locals")}
        reserved |= self._types.spoken if shape else set()
        names = assign_parameters([field.name for field in signature.parameters.fields], reserved)
        self._arguments = names
        parameters = [self._parameter(field, names[field.name]) for field in signature.parameters.fields]
        given, mapping = "locals()" if parameters else "{}", self._mapping(names)
        if signature.parameters.extra is not None:
            extra = free("arguments" if not parameters else "extra", names.values())
            parameters.append(
                f"**{extra}: {self._types.type(signature.parameters.extra, signature.input, is_input=True)}"
            )
            given = "locals()" if names else extra
            if names:
                mapping.append(f"{python_string(extra)}: None")
        body = self._call(given, shape, mapping)
        decorator = self._decorator(names)
        head = self._head(parameters, output)
        self.head = " ".join(head.rstrip(":\n").split()).replace("( *,", "(*,").replace(", )", ")")
        lines = self._documentation(names)
        text = docstring(lines, "    ") if lines else ""
        return self._header() + self._types.definitions() + decorator + head + text + body

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
            if isinstance(option, Object) and option in self._types.made:
                name, names = self._types.made[option]
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

    def _decorator(self, names: dict[str, str]) -> str:
        """Lets renamed parameters be given by their real names, too."""
        pairs = [f"{name}={python_string(real)}" for real, name in names.items() if real != name]
        if not pairs:
            return ""
        line = f"@{self._types.use('renamed')}({', '.join(pairs)})\n"
        rows = "".join(f"    {pair},\n" for pair in pairs)
        return line if len(line) <= WIDTH + 1 else f"@{self._types.use('renamed')}(\n{rows})\n"

    def _parameter(self, field: Field, name: str) -> str:
        kind = self._types.type(field.type, self._signature.input, is_input=True)
        return f"{name}: {kind}" if field.required else f"{name}: {kind} = {self._types.use('omit')}"

    def _mapping(self, names: dict[str, str]) -> list[str]:
        return [
            f"{python_string(name)}: {python_string(real)}" for real, name in names.items() if real != name
        ]

    def _call(self, given: str, shape: str, mapping: list[str]) -> str:
        signature = self._signature
        if given == "locals()":
            given = f"{self._types.use('locals')}()"
        parts = [python_string(signature.server), python_string(signature.name), given]
        parts += [shape] if shape else []
        parts += [f"names={{{', '.join(mapping)}}}"] if mapping else []
        parts += ["unwrap=True"] if signature.unwrap else []
        return f"    return await {self._types.use('call')}({', '.join(parts)})\n"

    def _documentation(self, names: dict[str, str]) -> list[str]:
        signature = self._signature
        told = "\n\n".join(told_by(signature, "python"))
        lines = wrap(told, WIDTH - 4) if told else []
        described = [field for field in signature.parameters.fields if field.text]
        if described:
            lines += [""] if lines else []
            for field in described:
                lines += _described(names[field.name], field.text)
        return lines

    def _header(self) -> str:
        lines = ["# pyright: reportUnusedFunction=false\n"] if self._function.startswith("_") else []
        return "".join(lines) + self._types.imports() + "\n"


def _described(name: str, text: str) -> list[str]:
    first, *others = readable(text).split("\n")
    lines = wrap(f"{name}: {first}", WIDTH - 4)
    lines = [lines[0], *(f"    {line}" for line in lines[1:])]
    for line in others:
        lines += [f"    {part}" if part else "" for part in wrap(line, WIDTH - 8)]
    return lines
