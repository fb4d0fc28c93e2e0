"""Decides which of the servers found are added, and under which names: each server once, each name once."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import dropwhile
from pathlib import PurePath
from typing import Any

from satchel.config.clients.importing.model import Found, Plan, as_list, as_object

_PACKAGE = re.compile(r"satchel(?:$|[\[@=<>~!])")  # satchel, satchel[check], satchel@latest


def plan_import(found: Sequence[Found], existing: Mapping[str, Mapping[str, Any]]) -> Plan:
    """What to add to `existing`, which is what `mcpServers` says now; it stays as it is."""
    names = set(existing)
    servers = {_identity(entry): name for name, entry in reversed(list(existing.items()))}
    preferred: dict[tuple[str, str], Found] = {}
    additions: list[Found] = []
    duplicates: list[tuple[Found, str]] = []
    skipped: list[tuple[Found, str]] = []
    for item in found:
        identity = _identity(item.entry)
        winner = preferred.setdefault((item.client, item.name), item)
        if is_satchel(item.entry):
            skipped.append((item, "it is Satchel itself"))
        elif identity in servers:
            duplicates.append((item, servers[identity]))
        elif winner is not item:
            skipped.append((item, f"{item.client} uses the '{item.name}' of {winner.origin} instead"))
        else:
            additions.append(_with_free_name(item, names))
            servers[identity] = additions[-1].name
            names.add(additions[-1].name)
    return Plan(additions=tuple(additions), duplicates=tuple(duplicates), skipped=tuple(skipped))


def _with_free_name(item: Found, taken: set[str]) -> Found:
    if item.name not in taken:
        return item
    stem = f"{item.name}-{item.client.lower().replace(' ', '-')}"
    name, number = stem, 2
    while name in taken:
        name, number = f"{stem}-{number}", number + 1
    note = f"called '{item.name}' in {item.client}; another server has that name"
    return replace(item, name=name, notes=(*item.notes, note))


def _identity(entry: Mapping[str, Any]) -> str:
    """Equal for entries that reach the same server in the same way."""
    if command := entry.get("command"):
        args = as_list(entry.get("args"))
        if PurePath(str(command)).name == "npx" and args[:1] in (["-y"], ["--yes"]):
            args = args[1:]  # only answers npx's question
        cwd = os.path.normpath(str(entry.get("cwd") or "."))
        parts: list[Any] = [command, args, entry.get("env") or {}, cwd]
    else:
        headers = {str(name).lower(): value for name, value in as_object(entry.get("headers")).items()}
        parts = [str(entry.get("url")).rstrip("/"), headers]
    return json.dumps(parts, sort_keys=True, default=str).replace("${env:", "${")


def is_satchel(entry: Mapping[str, Any]) -> bool:
    """Whether an entry starts Satchel itself: by its own name, or through what runs Python's programs."""
    words = [str(word) for word in (entry.get("command", ""), *as_list(entry.get("args")))]
    if PurePath(words[0]).name == "env":  # its own options and variables come first
        words = [*dropwhile(lambda word: word.startswith("-") or "=" in word, words[1:]), ""]
    if re.fullmatch(r"uvx?|pipx|pypy[\d.]*|python[\d.]*t?", PurePath(words[0]).name):
        words = [*dropwhile(lambda word: not _PACKAGE.match(word), words), ""]
        return "serve" in words[1:]
    return PurePath(words[0]).name == "satchel" and "serve" in words[1:]
