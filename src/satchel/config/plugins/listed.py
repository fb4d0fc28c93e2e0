"""The additions of a list of plugins to the manifest of a plugin that was installed from it.

It is kept beside the plugin's files, which stay as they are.
"""

from collections.abc import Mapping
from typing import Any

from satchel.config.plugins.inside import Inside
from satchel.model import Json, is_list, is_object

FILE = ".origin.json"
KEY = "entry"
ONLY = "only"
"""The key that says that the plugin has no skills but those listed: others share its folder."""


def listed_parts(inside: Inside) -> Json:
    """The parts that the list names; nothing for a plugin that is from nowhere else."""
    if not inside.is_file(FILE):
        return {}
    data = inside.read_json(FILE).data
    entry: object = data.get(KEY) if is_object(data) else None
    return entry if is_object(entry) else {}


def with_parts(values: Mapping[str, Any], parts: Mapping[str, Any]) -> Json:
    """The manifest's values with those of the list: texts where it has none, and more parts of each kind."""
    joined = dict(values)
    for key, value in parts.items():
        if key == ONLY:
            continue
        own: object = values.get(key)
        if own is None:
            joined[key] = value
        elif key not in ("description", "version"):
            joined[key] = [*_as_list(own), *_as_list(value)]
    return joined


def _as_list(value: object) -> list[object]:
    return list(value) if is_list(value) else [value]
