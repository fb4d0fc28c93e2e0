"""The section `plugins` of satchel.yaml."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class PluginsSettings:
    path: str = "plugins/installed"
    container_path: str = "/mnt/plugins"
    budget: int = 1500  # tokens about commands in what a model is told
    auto_merge_mcp: bool = True
    allow_fetch: bool = False  # clone sources that are somewhere else
    blocked: tuple[str, ...] = ()  # names, sources or digests that are never loaded
