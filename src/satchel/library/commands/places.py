"""The variables that stand for a plugin's folders, as a model reads them: where programs find the folders.

The same variables in a server's entry are folders of this machine; those are not read here.
"""

import re
from collections.abc import Mapping

WORKSPACE = "/workspace"
_VARIABLE = re.compile(r"\$\{((?:CLAUDE_)?PLUGIN_(?:ROOT|DATA)|CLAUDE_SKILL_DIR|CLAUDE_PROJECT_DIR)\}")


def places_of(folder: str, plugin: str = "", root: str = "") -> dict[str, str]:
    """The value of each variable: for the folder of a skill or command, and for its plugin if it has one."""
    places = {"CLAUDE_SKILL_DIR": folder, "CLAUDE_PROJECT_DIR": WORKSPACE}
    if plugin:
        data = f"{WORKSPACE}/.plugin-data/{plugin}"
        places |= dict.fromkeys(("CLAUDE_PLUGIN_ROOT", "PLUGIN_ROOT"), root)
        places |= dict.fromkeys(("CLAUDE_PLUGIN_DATA", "PLUGIN_DATA"), data)
    return places


def with_places(text: str, places: Mapping[str, str]) -> str:
    """A text with these variables filled in, and nothing else."""
    return _VARIABLE.sub(lambda found: places.get(found[1], found[0]), text)
