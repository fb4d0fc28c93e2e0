"""The section `plugins` of satchel.yaml."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class PluginsSettings:
    path: str = "plugins/installed"
    container_path: str = "/mnt/plugins"
    auto_merge_mcp: bool = True
    allow_fetch: bool = False  # clone sources that are somewhere else
    blocked: tuple[str, ...] = ()  # names, sources or digests that are never loaded
