"""A plugin's folder, read to a `Plugin`. Nothing in it is executed, imported or fetched.

Lenient: what is wrong costs the part that it is in, and is a remark. Only a manifest that can't be read at
all, or a name that can't be one, costs the plugin.
"""

import os
from pathlib import Path

from satchel.config.plugins.inside import Inside
from satchel.config.plugins.manifest import author_of, name_of, read_manifest
from satchel.config.plugins.parts import find_commands, find_skills, note_misplaced, without_effect
from satchel.config.plugins.server_files import BUNDLE, find_servers
from satchel.model import Plugin
from satchel.support.text import label


def read_plugin(folder: Path, *, name: str | None = None, parts: bool = True) -> Plugin:
    """One plugin. `name` is what it was installed as; without it, it is called as it says itself.

    Without `parts`, only what its servers need is read: the manifest and the files of servers.
    """
    if folder.is_symlink():
        return Plugin(
            name=name or label(folder.name, 64), folder=folder, error=f"{folder} is a symbolic link"
        )
    if not folder.is_dir():
        return Plugin(name=name or label(folder.name, 64), folder=folder, error=f"{folder} is not a folder")
    inside = Inside(folder)
    manifest = read_manifest(inside)
    called, refusal = name_of(manifest, os.path.basename(os.path.abspath(folder)), name)
    error = manifest.error or refusal
    if error is not None:
        return Plugin(name=called, folder=folder, layout=manifest.layout, error=error, remarks=inside.remarks)
    skills, commands = (), ()
    if parts:
        note_misplaced(inside)
        skills, commands = find_skills(inside, manifest), find_commands(inside, manifest)
    servers = find_servers(inside, manifest)
    bundles = (f"the server {server.name} (a bundle)" for server in servers if BUNDLE in server.written)
    return Plugin(
        name=called,
        folder=folder,
        layout=manifest.layout,
        version=label(manifest.values.get("version", ""), 60),
        description=label(" ".join(manifest.values.get("description", "").split()), 1000),
        author=author_of(manifest),
        values=manifest.values,
        skills=tuple(folder / path for path in skills),
        commands=commands,
        servers=servers,
        without_effect=(*without_effect(inside, manifest), *bundles) if parts else (),
        remarks=inside.remarks,
    )
