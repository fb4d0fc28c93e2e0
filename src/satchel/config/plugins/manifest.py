"""A plugin's manifest: `.claude-plugin/plugin.json`, the root's `plugin.json`, or none at all."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from satchel.config.plugins.inside import Document, Inside
from satchel.config.plugins.listed import ONLY, listed_parts, with_parts
from satchel.model import is_list, is_object
from satchel.model.plugins import Layout
from satchel.support.text import label

CLAUDE = ".claude-plugin/plugin.json"
AGENT_PLUGINS = "plugin.json"
_SCHEMA = re.compile(r"https://agent-plugins\.org/schemas/1\.\d+\.\d+/plugin\.schema\.json")
_SCRIPTS = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC"})
"""Scripts with letters that look alike."""
_LONGEST_NAME = 64
_RESERVED = frozenset({"public", "custom", "community", "user", "installed"})
_UNFIT = re.compile(
    r"[/\\:@\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff=%]|\.\.|\A[-. ]|[. ]\Z"
)

_TEXT, _TEXTS, _OBJECT, _TRUTH = "a string", "a list of strings", "an object", "true or false"
_PATHS = "a path or a list of paths"
_ANY = ""
_KINDS: Mapping[str, str] = {
    "$schema": _TEXT,
    "name": _TEXT,
    "displayName": _TEXT,
    "version": _TEXT,
    "description": _TEXT,
    "author": _ANY,  # an object, or a string
    "homepage": _TEXT,
    "repository": _ANY,  # a string, or an object as npm has it
    "license": _TEXT,
    "keywords": _TEXTS,
    "skills": _PATHS,
    "commands": _ANY,  # paths, or an object
    "mcpServers": _ANY,  # paths, an object, or both
    "userConfig": _OBJECT,
    "defaultEnabled": _TRUTH,
    "metadata": _OBJECT,
    "extensions": _OBJECT,
    **dict.fromkeys(
        (
            "agents",
            "hooks",
            "outputStyles",
            "lspServers",
            "monitors",
            "workflows",
            "channels",
            "settings",
            "experimental",
            "dependencies",
            "themes",
        ),
        _ANY,  # any value; it means nothing here
    ),
}


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """The fields that have a right type, as written."""

    layout: Layout
    document: Document
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    only_listed: bool = False  # it has no skills but those that are named
    error: str | None = None

    def line(self, *key: str | int) -> int | None:
        return self.document.line(key)


def read_manifest(inside: Inside) -> Manifest:
    """The manifest that counts; a wrong field is left out, with a remark."""
    layout, document = _find(inside)
    listed = listed_parts(inside)
    only_listed = listed.get(ONLY) is True
    parts = {key: value for key, value in listed.items() if _fits(value, _KINDS.get(key, _ANY))}
    if layout == "plain":
        values = with_parts({}, parts)
        return Manifest(layout="plain", document=document, values=values, only_listed=only_listed)
    if document.problem is not None:
        where = f"{document.file}:{document.problem_line}" if document.problem_line else document.file
        return Manifest(layout=layout, document=document, error=f"{where}: {document.problem}")
    if not is_object(document.data):
        return Manifest(layout=layout, document=document, error=f"{document.file}: must be an object")
    for name in document.repeated:
        inside.note(f"'{label(name, 60)}' is given twice; the last one counts", document.file)
    values: dict[str, Any] = {}
    for key, value in document.data.items():
        kind = _KINDS.get(key)
        if kind is None:
            inside.note(f"unknown key '{label(key, 60)}'", document.file, document.line((key,)))
        elif not _fits(value, kind):
            inside.note(f"'{key}' must be {kind}; it is not used", document.file, document.line((key,)))
            continue
        values[key] = value
    values = with_parts(values, parts)
    return Manifest(layout=layout, document=document, values=values, only_listed=only_listed)


def name_of(manifest: Manifest, folder: str, given: str | None) -> tuple[str, str | None]:
    """The name of a plugin: as installed, in its manifest, or of its folder; and why it can't be."""
    name = given or manifest.values.get("name", folder)
    return label(name, _LONGEST_NAME), refused_name(name)


def refused_name(name: str) -> str | None:
    """Why a plugin can't have a name, which becomes part of paths and of other names."""
    shown = label(name, _LONGEST_NAME)
    if not name.strip():
        return "the name of the plugin is empty"
    if len(name) > _LONGEST_NAME:
        return f"the name of the plugin, '{shown}', has more than {_LONGEST_NAME} characters"
    if _UNFIT.search(name):
        return f"the name of the plugin, '{shown}', can't be that of a folder"
    if name.casefold() in _RESERVED:
        return f"the name of the plugin, '{shown}', has a meaning of its own here"
    if len(_SCRIPTS & {unicodedata.name(letter, "").partition(" ")[0] for letter in name}) > 1:
        return f"the name of the plugin, {name!a}, looks like a different one: it mixes letters of scripts"
    return None


def author_of(manifest: Manifest) -> dict[str, str]:
    author: object = manifest.values.get("author")
    if isinstance(author, str):
        return {"name": author}
    if not is_object(author):
        return {}
    return {key: text for key, text in author.items() if isinstance(text, str)}


def _find(inside: Inside) -> tuple[Layout, Document]:
    if inside.exists(CLAUDE):
        return "claude", inside.read_json(CLAUDE)
    if inside.exists(AGENT_PLUGINS):
        document = inside.read_json(AGENT_PLUGINS)
        schema: object = document.data.get("$schema") if is_object(document.data) else None
        if document.problem is not None or (isinstance(schema, str) and _SCHEMA.fullmatch(schema)):
            return "agent-plugins", document
        inside.note("is not read: its '$schema' is not that of Agent Plugins 1.0", AGENT_PLUGINS)
    return "plain", Document(file=".")


def _fits(value: object, kind: str) -> bool:
    if kind == _TEXT:
        return isinstance(value, str)
    if kind == _OBJECT:
        return is_object(value)
    if kind == _TRUTH:
        return isinstance(value, bool)
    if kind in (_TEXTS, _PATHS):
        is_texts = is_list(value) and all(isinstance(part, str) for part in value)
        return is_texts or (kind == _PATHS and isinstance(value, str))
    return True
