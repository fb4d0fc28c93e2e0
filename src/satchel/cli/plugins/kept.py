"""plugins list, show, enable, disable, approve, remove."""

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path

from satchel.cli import output
from satchel.cli.deciding import decided
from satchel.config.plugins.approving import Need
from satchel.errors import SatchelError
from satchel.model import Json, Plugin
from satchel.names import count
from satchel.support.text import label
from satchel.verbs.plugins.installing import PluginSources
from satchel.verbs.plugins.library import PluginInfo, PluginLibrary, open_plugin_library
from satchel.verbs.plugins.servers import ServerRow

_KINDS = {"remote": "contacts", "command": "starts", "variable": "reads the variable"}
STATES = {"enabled": "green", "disabled": "dim", "error": "red"}


def list_command(options: argparse.Namespace) -> int:
    library = library_of(options)
    plugins = library.plugins()
    if options.json:
        output.show_json({"plugins": [as_json(plugin) for plugin in plugins]})
        return 0
    output.show_table(
        [(plugin.name, state_of(plugin), _parts(plugin), _about(plugin)) for plugin in plugins],
        headings=("plugin", "state", "parts", "about"),
        optional=("parts",),
        styles={"state": STATES},
    )
    if not plugins:
        output.note("no plugins")
        output.note("hint: satchel plugins install adds one; satchel docs plugins says where from")
        return 0
    enabled = sum(plugin.enabled for plugin in plugins)
    output.note(f"{count(len(plugins), 'plugin')}, {enabled} enabled")
    return 0


def show_command(options: argparse.Namespace) -> int:
    if "@" in options.name:
        return _show_offer(options)
    info = library_of(options).info(options.name)
    plugin = info.plugin
    if options.json:
        output.show_json(as_json(plugin, info))
        return 0
    version = f" {plugin.version}" if plugin.version else ""
    output.show(output.styled(plugin.name, "bold") + f"{version}  {state_of(plugin)}")
    if plugin.error is not None:
        output.show(f"error: {plugin.error}")
    if plugin.description:
        output.show_lines(plugin.description)
    author = plugin.author.get("name", "")
    rows = [("folder", output.from_here(plugin.folder)), *([("author", author)] if author else [])]
    output.show_table([*rows, *_origin(info)], indent="  ")
    show_parts(plugin, info.servers)
    waiting = sum(bool(server.awaits) for server in info.servers)
    if waiting and plugin.enabled:
        output.note(f"hint: satchel plugins approve {plugin.name} shows what waits for you, and asks")
    return 0


def _show_offer(options: argparse.Namespace) -> int:
    """A plugin as a marketplace lists it: where it is, at which commit, and the command that gets it."""
    sources = PluginSources(library=library_of(options))
    offer = sources.offer(options.name)
    source, command = offer.source, sources.command_for(offer)
    if options.json:
        output.show_json(
            {
                "name": offer.identity,
                "version": offer.version,
                "description": offer.description,
                "source": source.url or source.path,
                "folder": source.path if source.url else None,
                "pin": source.sha or source.ref,
                "problem": source.problem or None,
                "command": command or None,
            }
        )
        return 0
    version = f" {offer.version}" if offer.version else ""
    output.show(output.styled(offer.identity, "bold") + version)
    if offer.description:
        output.show_lines(offer.description)
    rows = [
        ("repository", source.url),
        ("commit", source.sha or ""),
        ("branch or tag", source.ref or ""),
        ("folder", source.path or ("." if source.form == "folder" else "")),
        ("problem", source.problem),
    ]
    for name, text in rows:
        if text:
            output.show(f"  {name.ljust(13)}  {text}")
    if command:
        output.note(f"hint: {command}")
    return 0


def show_parts(plugin: Plugin, servers: Sequence[ServerRow], *, proposed: bool = False) -> None:
    """What a plugin brings: its skills, commands and servers, what has no effect, what is wrong.

    Of one that is only proposed, nothing has been approved yet.
    """
    _show_list("skills", [folder.name for folder in plugin.skills])
    _show_list("commands", [f"/{plugin.name}:{command.name}" for command in plugin.commands])
    if servers:
        output.show("servers")
        width = max(len(server.name) for server in servers)
        for server in servers:
            # Whole, however long: a person agrees to what is shown here.
            cells = (server.name.ljust(width), server.where, _state(server, proposed=proposed))
            output.show_lines("  " + "  ".join(cell for cell in cells if cell))
            for line in server.given:
                output.show_lines(f"    {server.name}: {line}")
    _show_list("has no effect here", list(plugin.without_effect))
    for remark in plugin.remarks:
        output.note(str(remark))


def _show_list(heading: str, names: list[str]) -> None:
    if names:
        output.show_lines(f"{heading}: {', '.join(label(name) for name in names)}")


def _state(server: ServerRow, *, proposed: bool) -> str:
    if server.problem or not proposed:
        return server.problem or server.awaits
    return "is started only once you approve it" if server.transport == "stdio" else ""


def _origin(info: PluginInfo) -> list[tuple[str, str]]:
    installed = info.installed
    if installed is None:
        return [("from", "not installed by Satchel on this machine")]
    commit = f", commit {installed.commit[:12]}" if installed.commit else ""
    changed = ", and changed since then" if info.changed else ""
    return [("from", f"{installed.source}{commit}"), ("installed", f"{installed.at}{changed}")]


def enable_command(options: argparse.Namespace) -> int:
    return _switch(options, enabled=True)


def disable_command(options: argparse.Namespace) -> int:
    return _switch(options, enabled=False)


def _switch(options: argparse.Namespace, *, enabled: bool) -> int:
    for plugin in library_of(options).set_enabled(options.name, enabled=enabled):
        output.note(f"{plugin.name} is {'enabled' if enabled else 'disabled'}")
    return 0


def approve_command(options: argparse.Namespace) -> int:
    library = library_of(options)
    waiting = library.waiting(options.name)
    if not waiting:
        output.note(f"nothing of {options.name} waits for an approval")
        return 0
    output.note(f"{options.name} needs this, on this machine and for this project:")
    show_needs(waiting)
    question = f"Approve all of this for {options.name}?"
    if not options.yes and not decided(question, without="--yes approves without asking"):
        return 2
    library.approve(options.name, waiting)
    output.note(f"approved; satchel list shows what {options.name} brings")
    return 0


def show_needs(needs: Sequence[Need], sign: str = "") -> None:
    """The parts of a plugin that need a person's approval, a line each."""
    for need in needs:
        output.note(f"  {sign}{need.server}: {_KINDS[need.what]} {need.shown}")


def remove_command(options: argparse.Namespace) -> int:
    library = library_of(options)
    info = library.info(options.name)
    loss = "exists only here" if info.installed is None else "is not as it was installed"
    is_lost = info.installed is None or info.changed
    place = output.from_here(info.plugin.folder)
    if is_lost and not options.yes and not output.confirmed(f"{options.name} {loss}; delete {place}? [y/N] "):
        return 2
    removed = library.remove(options.name, keep_data=options.keep_data)
    output.note(f"removed {options.name}")
    for address in removed.logins:
        output.note(f"no server here is at {address} any more, and its login is still stored")
        output.note(f"hint: satchel auth {shlex.quote(address)} --logout forgets it")
    return 0


def library_of(options: argparse.Namespace) -> PluginLibrary:
    return open_plugin_library(getattr(options, "config", None))


def known_plugins(config: Path | None) -> list[str]:
    """Names to complete. A broken configuration completes nothing and says nothing."""
    try:
        return open_plugin_library(config).names()
    except SatchelError:
        return []


def known_marketplaces(config: Path | None) -> list[str]:
    """The same of marketplaces."""
    try:
        return list(PluginSources(library=open_plugin_library(config)).marketplaces.known())
    except SatchelError:
        return []


def state_of(plugin: Plugin) -> str:
    return "error" if plugin.error is not None else "enabled" if plugin.enabled else "disabled"


def _about(plugin: Plugin) -> str:
    return plugin.error or output.first_line(plugin.description, 1000)


def _parts(plugin: Plugin) -> str:
    numbers = (("skill", plugin.skills), ("command", plugin.commands), ("server", plugin.servers))
    return ", ".join(count(len(parts), name) for name, parts in numbers if parts)


def as_json(plugin: Plugin, info: PluginInfo | None = None) -> Json:
    value: Json = {
        "name": plugin.name,
        "version": plugin.version,
        "description": plugin.description,
        "author": dict(plugin.author),
        "enabled": plugin.enabled,
        "error": plugin.error,
        "folder": str(plugin.folder),
        "skills": [folder.name for folder in plugin.skills],
        "commands": [command.name for command in plugin.commands],
        "servers": [server.name for server in plugin.servers],
        "without_effect": list(plugin.without_effect),
        "remarks": list(map(str, plugin.remarks)),
    }
    if info is not None:
        value["servers"] = [_server_json(server) for server in info.servers]
        value["installed"] = None if info.installed is None else {**vars(info.installed)}
        value["changed"] = info.changed
    return value


def _server_json(server: ServerRow) -> Json:
    return {
        "name": server.name,
        "transport": server.transport,
        "where": server.where,
        "given": list(server.given),
        "problem": server.problem or None,
        "awaits": server.awaits or None,
    }
