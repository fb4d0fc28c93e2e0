"""A project with plugins that bring skills and commands, for tests."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PLUGINS_ROOT = Path("plugins/installed")

SALES: Mapping[str, str] = {
    ".claude-plugin/plugin.json": '{"name": "sales", "version": "1.0"}',
    "CONNECTORS.md": "What is connected to sales.\n",
    "commands/forecast.md": (
        "---\ndescription: Forecasts <sales>\nargument-hint: [period]\n---\n"
        "Forecast $ARGUMENTS, read @CONNECTORS.md and ${CLAUDE_PLUGIN_ROOT}/a.\n"
    ),
    "skills/call-prep/SKILL.md": (
        "---\nname: call-prep\ndescription: Prepares sales calls\n---\n"
        "See [connectors](../../CONNECTORS.md), ${CLAUDE_SKILL_DIR}/notes.md. It costs $5,000.\n"
    ),
    "skills/call-prep/notes.md": "Notes of call-prep.\n",
    "skills/call-prep/deeper/SKILL.md": "---\nname: deeper\ndescription: A file of its parent\n---\nx\n",
    "skills/quiet/SKILL.md": (
        "---\nname: quiet\ndescription: For people\ndisable-model-invocation: true\n---\nQuietly.\n"
    ),
    "skills/told/SKILL.md": "---\nname: told\ndescription: For models\nuser-invocable: false\n---\nTold.\n",
}


def write_files(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


def add_sales(project: Path) -> Path:
    return write_files(project / PLUGINS_ROOT / "sales", SALES)


def switch(project: Path, key: str, **states: bool) -> None:
    """Enable and disable what extensions_config.json has under a key, in one step."""
    file = project / "extensions_config.json"
    document: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    named = {name.replace("__", ":").replace("_", "-"): {"enabled": state} for name, state in states.items()}
    document[key] = {**document.get(key, {}), **named}
    new = file.with_suffix(".new")
    new.write_text(json.dumps(document))
    new.replace(file)
