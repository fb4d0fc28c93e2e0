"""Plugins: folders that bring skills, commands and servers. Values only; nothing here reads a file."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from satchel.model.skills import Skill

Layout = Literal[
    "claude",  # .claude-plugin/plugin.json
    "agent-plugins",  # plugin.json in the root, with the $schema of Agent Plugins 1.0
    "plain",  # no manifest: parts in their default places
]


@dataclass(frozen=True, kw_only=True)
class Remark:
    """A problem with one part of a plugin. Everything else of the plugin can be used."""

    text: str
    file: str  # relative to the plugin's folder
    line: int | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}" if self.line else f"{self.file}: {self.text}"


@dataclass(frozen=True, kw_only=True)
class PluginServer:
    """One entry of a plugin's servers, as written; nothing in it is expanded or resolved."""

    name: str  # below its plugin: `slack`, not `sales:slack`
    written: Mapping[str, Any]
    file: Path
    key: tuple[str, ...]  # where it stands in the file


@dataclass(frozen=True, kw_only=True)
class CommandFile:
    """Where a command is written: a file of its own, or text in the manifest."""

    name: str  # below its plugin: `call-prep`, `build:web`
    file: Path
    content: str | None = None  # given in the manifest itself; else it is read from the file
    given: Mapping[str, Any] = field(default_factory=dict[str, Any])  # what the manifest says of it


@dataclass(frozen=True, kw_only=True)
class Plugin:
    """A plugin's folder, read: where its parts are. Skills and commands are read by who needs them."""

    name: str
    folder: Path
    layout: Layout = "plain"
    version: str = ""
    description: str = ""
    author: Mapping[str, str] = field(default_factory=dict[str, str])
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])  # the manifest as written
    skills: tuple[Path, ...] = ()  # folders with a SKILL.md
    commands: tuple[CommandFile, ...] = ()
    servers: tuple[PluginServer, ...] = ()
    without_effect: tuple[str, ...] = ()  # parts that mean nothing here, in words
    remarks: tuple[Remark, ...] = ()
    enabled: bool = True
    error: str | None = None  # why none of it can be used

    def get_container_path(self, base: str = "/mnt/plugins") -> str:
        """Its folder as programs see it."""
        return f"{base}/{self.name}"


@dataclass(frozen=True, kw_only=True)
class Command:
    """A prompt that a person invokes by its name: instructions, then the person's words."""

    name: str
    description: str = ""
    argument_hint: str = ""
    content: str = ""
    plugin_name: str = ""
    arguments: tuple[str, ...] = ()  # names that the text may use as $name
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])  # all of its front matter
    folder: str = ""  # its folder as programs see it
    root: str = ""  # its plugin's folder as programs see it
    file: Path | None = None  # where it is written, on this machine
    skill: Skill | None = None  # where a skill is invoked as a command
    for_model: bool = True  # whether a model is told of it

    @property
    def identity(self) -> str:
        """The text that a person types after the slash."""
        return f"{self.plugin_name}:{self.name}" if self.plugin_name else self.name


@dataclass(frozen=True, kw_only=True)
class PluginManifest:
    """A plugin with its skills and commands read."""

    name: str
    version: str = ""
    description: str = ""
    author: Mapping[str, str] = field(default_factory=dict[str, str])
    skills: tuple[Skill, ...] = ()
    commands: tuple[Command, ...] = ()
    mcp_servers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    plugin: Plugin
