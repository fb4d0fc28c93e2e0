"""Files of plugins by the paths that programs know: /mnt/plugins/<plugin>/….

Everything of a plugin can be read, as programs can read it; not what lies in a skill that is disabled.
"""

import os
import posixpath
from collections.abc import Iterable, Mapping
from pathlib import Path

from satchel.errors import NotFoundError
from satchel.library.commands.expanding import Inside
from satchel.library.skills.files import LARGEST, is_record, open_below
from satchel.model import Command, Skill


def is_below(path: str, base: str) -> bool:
    return path.startswith(base.rstrip("/") + "/")


def read_plugin_file(
    path: str, mounts: Mapping[str, Path], *, base: str, hidden: Iterable[Skill] = ()
) -> bytes:
    """The content of a file. `..` is a way within the plugin, as its texts link to their own files."""
    plain = posixpath.normpath(path)
    name, _, relative = plain.removeprefix(base.rstrip("/") + "/").partition("/")
    if "\0" in path or not is_below(plain, base) or name not in mounts or not relative:
        raise NotFoundError("file", path, hint="it is in none of the plugins that can be read here")
    parts = relative.split("/")
    if is_record(parts) or any(is_below(plain, skill.get_container_path()) for skill in hidden):
        raise NotFoundError("file", path, hint="it is not a file that can be read here")
    try:
        descriptor = open_below(Path(os.path.realpath(mounts[name])), parts)
    except OSError as error:
        reason = error.strerror.lower() if error.strerror else str(error)
        raise NotFoundError("file", path, hint=reason) from None
    with os.fdopen(descriptor, "rb") as stream:
        data = stream.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise NotFoundError("file", path, hint=f"it has more than {LARGEST // 1024:,} KiB")
    return data


def inside(command: Command, folder: Path) -> Inside:
    """Tells where programs find what a command names with `@`, if that is in its plugin. Nothing is read."""
    root = os.path.normpath(folder)
    own = os.path.dirname(command.file) if command.file is not None else root

    def find(path: str) -> str | None:
        for start in (own, root):
            place = os.path.normpath(f"{start}/{path}")
            if place.startswith(f"{root}/") and os.path.lexists(place):
                return f"{command.root}/{place[len(root) + 1 :]}"
        return None

    return find
