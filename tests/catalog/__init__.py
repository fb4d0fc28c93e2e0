"""A project on disk with servers in it, and listings as they would have answered."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from satchel.catalog import Catalog
from satchel.config import Paths, ServerEntry, find_paths, read_configuration
from satchel.model import Json, Listing


class Project:
    """Its own home and environment; nothing is started."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.directory = root / "project"
        self.home.mkdir()
        self.directory.mkdir()

    @property
    def paths(self) -> Paths:
        return find_paths(config=self.directory, environment={"HOME": str(self.home)})

    def configure(self, servers: Mapping[str, Mapping[str, Any]]) -> None:
        self.paths.extensions_file.write_text(json.dumps({"mcpServers": servers}))

    def catalog(
        self, servers: Mapping[str, Mapping[str, Any]] | None = None, /, **environment: str
    ) -> Catalog:
        """The catalog of a new process."""
        if servers is not None:
            self.configure(servers)
        return Catalog(read_configuration(self.paths), environment)

    def entries(self) -> dict[str, ServerEntry]:
        return {entry.name: entry for entry in read_configuration(self.paths).servers}

    def cached_files(self) -> list[Path]:
        return sorted(self.paths.catalog.glob("*.jsonl"))

    def cached_file(self) -> Path:
        (file,) = self.cached_files()
        return file

    def failure_file(self) -> Path:
        (file,) = self.paths.catalog.glob("*.failure.json")
        return file


def command(name: str = "x", **keys: Any) -> Json:
    return {"command": name, **keys}


def tool(name: str, **keys: Any) -> Json:
    return {"name": name, "description": f"What {name} does", "inputSchema": {"type": "object"}, **keys}


def listing(*tools: Json, **keys: Any) -> Listing:
    return Listing(tools=tools, **keys)
