"""A tool's parameters and results as a table, with the fields of nested objects indented below them."""

from collections.abc import Iterator
from itertools import islice

from satchel.cli import output
from satchel.model import Json, is_list, is_object
from satchel.verbs.reading import describe_parameter, follow

_DEEPEST = 4  # levels of objects in objects; a schema may contain itself
_MOST = 200  # rows


def show_parameters(schema: object, indent: str) -> None:
    """A row for each field. A terminal shows as much as fits; a pipe gets all of it."""
    fields = list(islice(rows(schema, schema, "", 0), _MOST + 1))  # one that contains itself has very many
    if not fields:
        empty = is_object(schema) and schema.get("properties") == {}
        output.show(f"{indent}{'none' if empty else describe_parameter(schema, schema)}")
        return
    output.show_table(fields[:_MOST], indent=indent, whole=True)
    if len(fields) > _MOST:
        output.show(f"{indent}… and more; --json has the whole schema")


def rows(schema: object, root: object, indent: str, depth: int) -> Iterator[tuple[str, str, str]]:
    """Name, type and description of each field; optional ones in brackets."""
    schema = _followed(schema, root)
    properties, required = schema.get("properties"), schema.get("required")
    for name, parameter in properties.items() if is_object(properties) else ():
        details = _followed(parameter, root)
        default = f" (default {details['default']!r})" if "default" in details else ""
        text = output.first_line(str(details.get("description", "")) + default)
        shown = name if is_list(required) and name in required else f"[{name}]"
        nested, kind = _fields_of(details, root)
        yield indent + shown, kind or describe_parameter(parameter, root), text
        if nested is not None and depth < _DEEPEST:
            yield from rows(nested, root, indent + "  ", depth + 1)


def _fields_of(details: Json, root: object, depth: int = 0) -> tuple[Json | None, str]:
    """The object whose fields are to be shown below, and what to call the value; its own words if ''."""
    if is_object(details.get("properties")):
        return details, ""
    items = _followed(details.get("items"), root)
    if is_object(items.get("properties")):
        return items, "a list of objects"
    for key in ("anyOf", "oneOf") if depth < 2 else ():
        parts = details.get(key)
        # Only one of them can be shown, so none of several objects is.
        found = (
            [_fields_of(_followed(part, root), root, depth + 1) for part in parts] if is_list(parts) else []
        )
        objects = [(nested, kind) for nested, kind in found if nested is not None]
        if len(objects) == 1:
            return objects[0][0], objects[0][1] and f"{objects[0][1]}, or something else"
    return None, ""


def _followed(schema: object, root: object) -> Json:
    """The schema, or the one that it refers to; one that can't be found takes anything."""
    for _ in range(10):
        if not is_object(schema) or "$ref" not in schema:
            break
        schema = follow(schema["$ref"], root)
    return schema if is_object(schema) else {}
