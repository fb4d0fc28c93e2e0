"""Plugins and lists of plugins on the disk, for the tests of where they come from."""

import json
import subprocess
from pathlib import Path

GIT = ("git", "-c", "user.name=n", "-c", "user.email=e@example.com", "-c", "init.defaultBranch=main")


def make_plugin(folder: Path, name: str = "sales", **manifest: object) -> Path:
    """A plugin with a skill, a command and a remote server."""
    write(folder / ".claude-plugin" / "plugin.json", {"name": name, "version": "1.0.0", **manifest})
    write(
        folder / ".mcp.json", {"mcpServers": {"crm": {"type": "http", "url": "https://crm.example.com/mcp"}}}
    )
    skill = "---\nname: call-prep\ndescription: Prepares calls.\n---\nPrepare a call.\n"
    write(folder / "skills" / "call-prep" / "SKILL.md", skill)
    write(folder / "commands" / "forecast.md", "---\ndescription: A forecast.\n---\nForecast $1.\n")
    return folder


def make_marketplace(folder: Path, *plugins: object, name: str = "tools", **more: object) -> Path:
    """A list of plugins."""
    listed = {"name": name, "owner": {"name": "Somebody"}, "plugins": list(plugins), **more}
    write(folder / ".claude-plugin" / "marketplace.json", listed)
    return folder


def write(file: Path, content: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content, indent=2))


def commit(folder: Path, message: str = "change") -> str:
    """Make a folder a repository where it is not one, and commit all that is in it."""
    if not (folder / ".git").exists():
        git(folder, "init", "-q")
    git(folder, "add", "-A", "-f")
    git(folder, "commit", "-qm", message, "--allow-empty")
    return git(folder, "rev-parse", "HEAD")


def git(folder: Path, *arguments: str) -> str:
    said = subprocess.run([*GIT, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return said.stdout.strip()
