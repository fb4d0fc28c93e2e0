"""The JSON schemas of both configuration files, made from the dataclasses that read them.

They know current names only. Names of other programs are accepted too; `satchel doctor` says what they are.
"""

import json
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin

from satchel.config.entries import FOREIGN_KEYS, WrittenEntry
from satchel.config.paths import EXTENSIONS_FILE, SETTINGS_FILE, STATE_DIRECTORY, Paths, find_paths
from satchel.config.reader import is_required, key_in_file
from satchel.config.settings import Settings
from satchel.model import Json
from satchel.support.files import write_atomically

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_SCALARS = {str: "string", int: "integer", float: "number", bool: "boolean"}
_ANY: Json = {}
FILES = {"extensions": EXTENSIONS_FILE, "satchel": SETTINGS_FILE}
"""The names of the schemas, and the files that they are for."""
DIRECTORY = f"{STATE_DIRECTORY}/schemas"
"""Where editors find them, from the file that names them."""


_SETTINGS = """\
# yaml-language-server: $schema={schema}
#
# The settings of Satchel. Everything has a default: satchel docs configuration lists them all.
# mode: auto            # auto, code, search or direct: what models are shown
# agents:
#   default:
#     allow: ["*"]      # patterns of tools, such as github.* or *.get_*
#     deny: []
"""


def schema_of(name: str) -> Json:
    """The schema of one of FILES."""
    return _extensions() if name == "extensions" else _headed(SETTINGS_FILE, _dataclass(Settings))


def place_of(name: str) -> str:
    """The path from a file's directory to its schema."""
    return f"{DIRECTORY}/{FILES[name].partition('.')[0]}.schema.json"


def _encoded(name: str) -> bytes:
    return (json.dumps(schema_of(name), indent=2) + "\n").encode()


def _extensions() -> Json:
    entry = _dataclass(WrittenEntry)
    others = dict.fromkeys(sorted(FOREIGN_KEYS), _ANY)
    spellings = {
        "disabled": {"type": "boolean", "description": "`enabled`, as other clients spell it"},
        "envs": {**entry["properties"]["env"], "description": "`env`, as other programs spell it"},
    }
    entry["properties"] = {**entry["properties"], **spellings, **others}
    entry["anyOf"] = [{"required": ["command"]}, {"required": ["url"]}]
    switch = {
        "type": "object",
        "additionalProperties": {"type": "object", "properties": {"enabled": {"type": "boolean"}}},
    }
    properties = {
        "$schema": {"type": "string"},
        "mcpServers": {"type": "object", "additionalProperties": entry},
        "skills": switch,
        "plugins": switch,
    }
    return _headed(EXTENSIONS_FILE, {"type": "object", "properties": properties})


def _headed(file: str, schema: Json) -> Json:
    return {"$schema": _DRAFT, "title": f"Satchel's {file}", **schema}


def _dataclass(kind: type[Any]) -> Json:
    described = _first_sentence(kind)
    properties = {key_in_file(field): _field(field) for field in fields(kind)}
    required = [key_in_file(field) for field in fields(kind) if is_required(field)]
    return {
        "type": "object",
        **({"description": described} if described else {}),
        "properties": properties,
        **({"required": required} if required else {}),
        "additionalProperties": False,
    }


def _field(field: Field[Any]) -> Json:
    schema: Json = _kind(field.type)
    if field.metadata.get("positive"):
        for part in schema.get("anyOf", [schema]):
            if part.get("type") in ("integer", "number"):
                part.pop("minimum", None)
                part["exclusiveMinimum"] = 0
    if field.metadata.get("one"):
        schema = {"anyOf": [{"type": "string"}, schema]}
    default: Any = field.default
    if default is not MISSING and not is_dataclass(default):
        schema = {**schema, "default": [*default] if type(default) is tuple else default}
    return schema


def _kind(kind: Any) -> Json:
    if isinstance(kind, UnionType) or get_origin(kind) is Union:
        return {"anyOf": [_kind(option) for option in get_args(kind)]}
    origin = get_origin(kind)
    if kind is NoneType:
        return {"type": "null"}
    if origin is Literal:
        return {"enum": list(get_args(kind))}
    if origin is tuple:
        return {"type": "array", "items": _kind(get_args(kind)[0])}
    if origin is not None and issubclass(cast("type[Any]", origin), Mapping):
        return {"type": "object", "additionalProperties": _kind(get_args(kind)[1])}
    if is_dataclass(kind):
        # A section without a word in it is one with the defaults.
        return {"anyOf": [_dataclass(cast("type[Any]", kind)), {"type": "null"}]}
    number = {"minimum": 0} if kind in (int, float) else {}
    return {"type": _SCALARS[kind], **number}


def _first_sentence(kind: type[Any]) -> str:
    text = (kind.__doc__ or "").strip().split("\n", 1)[0]
    return "" if text.startswith(f"{kind.__name__}(") else text


def write_schemas(paths: Paths) -> list[Path]:
    """Write the schemas into the project's state; tell where they are."""
    state = paths.prepare_state()
    written: list[Path] = []
    for name in FILES:
        file = state.parent / place_of(name)
        write_atomically(file, _encoded(name))
        written.append(file)
    return written


def start_settings(directory: Path) -> Path | None:
    """Write a settings file to begin with, which says nothing yet; None where there is one already."""
    file = directory / SETTINGS_FILE
    if file.exists():
        return None
    write_schemas(find_paths(config=directory))
    write_atomically(file, _SETTINGS.format(schema=place_of("satchel")).encode())
    return file
