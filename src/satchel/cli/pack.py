"""pack."""

import argparse
import json
import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

import yaml

from satchel.cli import output
from satchel.errors import ArgumentError, SatchelError
from satchel.model import Json, is_object
from satchel.names import count
from satchel.support.files import write_atomically
from satchel.version import __version__

_TEXTS = Path(__file__).with_name("plugin")  # README and skill, as they go into the plugin
_DESCRIPTION = (
    "Every MCP tool you have, for programs that Claude writes: found when needed, run in a sandbox."
)
_MANIFEST = Path(".claude-plugin/plugin.json")


def pack_command(options: argparse.Namespace) -> int:
    files = plugin_files(options.agent)
    problems = problems_of(files)
    if problems:
        raise SatchelError("the plugin would not be valid: " + "; ".join(problems))
    directory = Path(os.path.expanduser(options.directory)).resolve()
    if directory.exists() and not directory.is_dir():
        raise ArgumentError(f"{directory} is not a directory")
    try:
        if directory.is_dir() and any(directory.iterdir()):
            if not options.force:
                raise ArgumentError(
                    f"{directory} has something in it", hint="--force writes the plugin's files into it"
                )
            _write_into(directory, files)
        else:
            _write_new(directory, files)
    except OSError as error:
        place = error.filename2 or error.filename or directory
        raise SatchelError(f"the plugin could not be written: {place}: {error.strerror}") from error
    output.show(str(directory))
    output.note(f"wrote {count(len(files), 'file')}")
    output.note(f"next: claude --plugin-dir {directory} tries it; `satchel` has to be on the PATH")
    return 0


def plugin_files(agent: str | None) -> dict[Path, bytes]:
    """Every file of the plugin. It is for other machines: nothing of this one or of the project is in it."""
    server = {"command": "satchel", "args": ["serve", *(("--agent", agent) if agent else ())]}
    manifest: Json = {
        "name": "satchel",
        "version": __version__,
        "description": _DESCRIPTION,
        "author": {"name": "Satchel"},
    }
    texts = {path.relative_to(_TEXTS): path.read_bytes() for path in sorted(_TEXTS.rglob("*.md"))}
    return {
        _MANIFEST: _encode(manifest),
        Path(".mcp.json"): _encode({"mcpServers": {"satchel": server}}),
        **texts,
    }


def problems_of(files: Mapping[Path, bytes]) -> list[str]:
    """Reasons for Claude to refuse it: a file that is not JSON, or a skill whose head breaks the rules."""
    problems: list[str] = []
    for path, data in files.items():
        if path.suffix == ".json":
            try:
                json.loads(data)
            except ValueError as error:
                problems.append(f"{path}: {error}")
        elif path.name == "SKILL.md":
            problems += [f"{path}: {problem}" for problem in _front_matter_problems(path, data.decode())]
    return problems


def _front_matter_problems(path: Path, text: str) -> list[str]:
    block = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
    try:
        fields: object = yaml.safe_load(block[1]) if block else None
    except yaml.YAMLError as error:
        return [f"its front matter is not valid: {error}"]
    if not is_object(fields):
        return ["it has no front matter"]
    name, description = str(fields.get("name", "")), str(fields.get("description", ""))
    rules = {
        "name is not in lower case with single hyphens": re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name),
        "name is longer than 64 characters": len(name) <= 64,
        "name is not that of its folder": name == path.parent.name,
        "description is empty or longer than 1024 characters": 0 < len(description.strip()) <= 1024,
        "description has an angle bracket": not re.search("[<>]", description),
    }
    return [problem for problem, kept in rules.items() if not kept]


def _encode(value: object) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


def _write_new(directory: Path, files: Mapping[Path, bytes]) -> None:
    """Written aside and moved in one step, so that readers see all of it or nothing."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(dir=directory.parent, prefix=f".{directory.name}."))
    try:
        plugin = aside / "plugin"
        for path, data in files.items():
            (plugin / path).parent.mkdir(parents=True, exist_ok=True)
            (plugin / path).write_bytes(data)
        os.rename(plugin, directory)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _write_into(directory: Path, files: Mapping[Path, bytes]) -> None:
    """One file after the other, each in one step; what else is there stays."""
    for path, data in files.items():
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        write_atomically(directory / path, data, mode=0o644)
