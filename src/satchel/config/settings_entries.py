"""Servers that stand in satchel.yaml, as other programs have them: `mcp.servers`."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import yaml

from satchel.config.entries import ServerEntry, read_entry
from satchel.config.positions import line_in_yaml
from satchel.config.reader import Key
from satchel.model import is_list, is_object


class SettingsEntry(ServerEntry):
    """A server of `mcp.servers` in satchel.yaml."""

    def locate(self, key: Key) -> tuple[Path, int | None]:
        try:
            text = self.file.read_text(encoding="utf-8-sig")
            return self.file, line_in_yaml(text, ("mcp", "servers", self.name, *key))
        except (OSError, ValueError, yaml.YAMLError):  # no longer what it was when the entry was read
            return self.file, None


def server_entries(servers: Mapping[str, object], file: Path) -> tuple[ServerEntry, ...]:
    """The entries of `mcp.servers`, read as those of `mcpServers` are."""
    return tuple(_entry(name, data, file) for name, data in servers.items())


def _entry(name: str, data: object, file: Path) -> ServerEntry:
    entry = read_entry(name, data, file, SettingsEntry)
    return replace(entry, written=cast("Mapping[str, Any]", _plain(entry.written)))


def _plain(value: object, depth: int = 5) -> object:
    """As JSON has it, because the key of the cache is made of it: YAML has dates, and maps in themselves."""
    if is_object(value) and depth:
        return {str(name): _plain(part, depth - 1) for name, part in value.items()}
    if is_list(value) and depth:
        return [_plain(part, depth - 1) for part in value]
    return value if value is None or isinstance(value, str | int | float) else type(value).__name__
