"""Paths as programs know them: the workspace, and what its links lead to."""

from collections.abc import Sequence

WORKSPACE = "/workspace"
CODE_API = "/mnt/code-api"
MEMORY = "/mnt/memory"
TASKS = "/mnt/tasks"
AGENTS = "/mnt/agents"
SHARED = "/massgen_workspace"
"""A tree of links that all agents seem to share, of which each has its own part."""


def seen_at(path: str, *, skills: str) -> str:
    """A path in full: `servers/` in the workspace is `/mnt/code-api/servers`. `skills` is where those are."""
    shared = {"servers": f"{CODE_API}/servers", "tools": f"{CODE_API}/tools", "skills": skills}
    linked = {**shared, "memory": MEMORY, "tasks": TASKS, "agents": AGENTS}
    whole = path if path.startswith("/") else f"{WORKSPACE}/{path.removeprefix('./')}"
    for place, links in ((WORKSPACE, linked), (SHARED, shared)):
        top, slash, rest = whole.removeprefix(f"{place}/").partition("/")
        if whole.startswith(f"{place}/") and top in links:
            return f"{links[top]}{slash}{rest}"
    return whole


def is_within(path: str, folders: Sequence[str]) -> bool:
    places = [folder.rstrip("/") for folder in folders]
    return any(path == place or path.startswith(f"{place}/") for place in places)
