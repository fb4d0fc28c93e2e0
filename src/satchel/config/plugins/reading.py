"""A plugin's folder, read to a `Plugin`. Nothing in it is executed, imported or fetched.

Lenient: what is wrong costs the part that it is in, and is a remark. Only a manifest that can't be read at
all, or a name that can't be one, costs the plugin.
"""

import os
import time
from collections.abc import Mapping
from pathlib import Path

from satchel.config.plugins.inside import Inside
from satchel.config.plugins.manifest import author_of, name_of, read_manifest
from satchel.config.plugins.parts import find_commands, find_skills, note_misplaced, without_effect
from satchel.config.plugins.server_files import BUNDLE, find_servers
from satchel.model import Plugin
from satchel.support.files import Stamp, stamp_of
from satchel.support.text import label

_TICK = 50_000_000  # nanoseconds within which two changes may have one time
_MOST_KNOWN = 4_000
_known: dict[tuple[str, str | None, bool], tuple[Mapping[str, Stamp | None], Plugin]] = {}


def read_plugin(folder: Path, *, name: str | None = None, parts: bool = True) -> Plugin:
    """One plugin. `name` is what it was installed as; without it, it is called as it says itself.

    Without `parts`, only what its servers need is read: the manifest and the files of servers. A folder in
    which nothing has changed is not read again.
    """
    key = str(folder), name, parts
    known = _known.get(key)
    if known is not None and all(stamp_of(path) == stamp for path, stamp in known[0].items()):
        return known[1]
    began = time.time_ns()
    plugin, looked = _read(folder, name, parts=parts)
    # A folder that was changed just now may be changed again without another time.
    if looked and all(stamp is None or stamp[1] < began - _TICK for stamp in looked.values()):
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        _known[key] = looked, plugin
    return plugin


def _read(folder: Path, name: str | None, *, parts: bool) -> tuple[Plugin, Mapping[str, Stamp | None]]:
    """A plugin, and all that it was read from; nothing where a change of that could go unseen."""
    is_link = folder.is_symlink()
    if is_link or not folder.is_dir():
        why = "is a symbolic link" if is_link else "is not a folder"
        return Plugin(name=name or label(folder.name, 64), folder=folder, error=f"{folder} {why}"), {}
    inside = Inside(folder)
    manifest = read_manifest(inside)
    called, refusal = name_of(manifest, os.path.basename(os.path.abspath(folder)), name)
    if error := manifest.error or refusal:
        layout, remarks = manifest.layout, inside.remarks
        return Plugin(name=called, folder=folder, layout=layout, error=error, remarks=remarks), {}
    skills, commands = (), ()
    if parts:
        note_misplaced(inside)
        skills, commands = find_skills(inside, manifest), find_commands(inside, manifest)
    servers = find_servers(inside, manifest)
    bundles = (f"the server {server.name} (a bundle)" for server in servers if BUNDLE in server.written)
    plugin = Plugin(
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
    return plugin, ({} if inside.has_links else inside.looked)
