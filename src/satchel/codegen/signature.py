"""One tool as both languages write it: its texts, its parameters, and what it returns."""

from dataclasses import dataclass, replace

from satchel.codegen.arguments import split_arguments
from satchel.codegen.constraints import unknown_note
from satchel.codegen.manual import limits_of, manual_of, shortened, with_short_texts
from satchel.codegen.merge import union
from satchel.codegen.places import folder_of, manual_file_of
from satchel.codegen.schema import read_schema
from satchel.codegen.text import readable
from satchel.codegen.types import ANY, Field, Map, Object, Reference, Shape, Type, Union, Unknown
from satchel.languages import Language
from satchel.model import Json, Server, Tool, is_list, is_object
from satchel.names import Spelling, type_name


@dataclass(frozen=True, kw_only=True)
class Signature:
    server: str
    name: str
    spelling: Spelling
    place: Server  # whose folder its file is in
    type_name: str  # stem of the names of its own types
    text: str
    manual: str  # the whole of texts that are too long for a wrapper; empty where none is
    notes: tuple[str, ...]  # what a model should heed: annotations, conditions
    input: Shape
    parameters: Object  # the input as named parameters, whatever shape it has
    output: Shape | None  # None: the server does not say
    read_only: bool
    destructive: bool
    unwrap: bool  # the value is in `result`, as some servers put every value


def read_signature(tool: Tool, server: Server) -> Signature:
    """The signature of a server's tool, for any schemas."""
    stem = type_name(tool.spelling.typescript) or "Tool"
    text, schema = split_arguments(readable(tool.description), tool.definition.get("inputSchema"))
    result: object = tool.definition.get("outputSchema")
    limits, manual = limits_of(tool), ""
    if limits is not None:
        manual = manual_of(tool, limits)
        text = shortened(text, limits.text)
        schema, result = (with_short_texts(part, limits.part) for part in (schema, result))
    input_shape = _input(schema, f"{stem}Input")
    output, unwrap = _output(result, stem)
    unknown = [
        f"{what} schema not understood: {note}."
        for what, shape in (("Input", input_shape), ("Output", output))
        if shape is not None and (note := unknown_note(shape.type))
    ]
    return Signature(
        server=tool.server,
        name=tool.name,
        spelling=tool.spelling,
        place=server,
        type_name=stem,
        text=text or readable(tool.title or ""),
        manual=manual,
        notes=(*_heed(tool), *input_shape.notes, *unknown),
        input=input_shape,
        parameters=_parameters(input_shape),
        output=output,
        unwrap=unwrap,
        read_only=_read_only(tool),
        destructive=_destructive(tool),
    )


def told_by(signature: Signature, language: Language) -> list[str]:
    """The text of a wrapper above its parameters, a paragraph each."""
    paragraphs = [signature.text] if signature.text else []
    if signature.manual:
        folder = folder_of(signature.place, language)
        paragraphs.append(f"The whole text: {folder}/{manual_file_of(signature.spelling, language)}")
    return paragraphs + (["\n".join(signature.notes)] if signature.notes else [])


def resolve(kind: Type, shape: Shape) -> Type:
    """The type itself where it is a reference."""
    for _ in range(len(shape.definitions) + 1):
        if not isinstance(kind, Reference):
            return kind
        kind = shape.definitions.get(kind.name, ANY)
    return ANY


def _heed(tool: Tool) -> list[str]:
    """The annotations, as lines a model will heed."""
    hints = tool.annotations
    lines: list[str] = []
    if _read_only(tool):
        return ["Read-only: changes nothing."]
    if _destructive(tool):
        lines.append("Destructive: may delete or overwrite. Be sure before calling it.")
    if hints.get("idempotentHint") is True:
        lines.append("Idempotent: repeating a call changes nothing more.")
    return lines


def _read_only(tool: Tool) -> bool:
    return tool.annotations.get("readOnlyHint") is True and not _destructive(tool)  # of two claims, the worse


def _destructive(tool: Tool) -> bool:
    return tool.annotations.get("destructiveHint") is True


def _input(schema: object, name: str) -> Shape:
    """The shape of the arguments. They are always an object, even if a schema allows more."""
    shape = read_schema(schema, name)
    kind = resolve(shape.type, shape)
    if isinstance(kind, Union):
        objects = [option for option in kind.options if isinstance(resolve(option, shape), Object | Map)]
        return replace(shape, type=union(objects)) if objects else Shape(Unknown("not an object"))
    if isinstance(kind, Map) and _is_empty(schema):
        return replace(shape, type=Object(name, ()))
    if not isinstance(kind, Object | Map | Unknown):
        return Shape(Unknown("not an object"))
    return shape


def _is_empty(schema: object) -> bool:
    """Whether a schema says that there are no arguments, rather than nothing about them."""
    if not is_object(schema) or schema.get("patternProperties"):
        return False
    more = schema.get("additionalProperties")
    return more is False or (schema.get("properties") == {} and more is None)


def _output(schema: object, stem: str) -> tuple[Shape | None, bool]:
    if not is_object(schema):
        return None, False
    inner = _wrapped(schema)
    if inner is not None:
        return read_schema(inner, f"{stem}Output", root=schema), True
    title = schema.get("title")
    name = f"{stem}Output"
    if isinstance(title, str) and title.isidentifier() and title[:1].isupper() and len(title) <= 40:
        name = title
    return read_schema(schema, name), False


def _wrapped(schema: Json) -> Json | None:
    """The schema of `result`, where that is all there is."""
    properties = schema.get("properties")
    if schema.get("type") != "object" or not is_object(properties) or set(properties) != {"result"}:
        return None
    required = schema.get("required")
    inner: object = properties["result"]
    if not is_list(required) or "result" not in required or not is_object(inner):
        return None
    return inner


def _parameters(shape: Shape) -> Object:
    """The input as one list of parameters. Alternatives are laid over each other."""
    kind = resolve(shape.type, shape)
    if isinstance(kind, Object):
        return kind
    if isinstance(kind, Union):
        options = [resolve(option, shape) for option in kind.options]
        objects = [option for option in options if isinstance(option, Object)]
        if objects:
            return _laid_over(objects, always=len(objects) == len(options))
    return Object("", (), kind.values if isinstance(kind, Map) else ANY)


def _laid_over(objects: list[Object], *, always: bool) -> Object:
    found: dict[str, list[Field]] = {}
    for kind in objects:
        for field in kind.fields:
            found.setdefault(field.name, []).append(field)
    fields = [
        Field(
            name,
            union([field.type for field in same]),
            always and len(same) == len(objects) and all(field.required for field in same),
            next((field.text for field in same if field.text), ""),
            next((field.sample for field in same if field.sample is not None), None),
        )
        for name, same in found.items()
    ]
    extra = next((kind.extra for kind in objects if kind.extra is not None), None)
    return Object(objects[0].name, tuple(fields), extra, objects[0].text)
