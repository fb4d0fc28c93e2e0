"""Paths as programs know them: the workspace, and what its links lead to."""

from collections.abc import Sequence

WORKSPACE = "/workspace"
CODE_API = "/mnt/code-api"
MEMORY = "/mnt/memory"


def seen_at(path: str, *, skills: str) -> str:
    """A path in full: `servers/` in the workspace is `/mnt/code-api/servers`. `skills` is where those are."""
    linked = {
        "servers": f"{CODE_API}/servers",
        "tools": f"{CODE_API}/tools",
        "skills": skills,
        "memory": MEMORY,
    }
    whole = path if path.startswith("/") else f"{WORKSPACE}/{path.removeprefix('./')}"
    top, slash, rest = whole.removeprefix(f"{WORKSPACE}/").partition("/")
    return f"{linked[top]}{slash}{rest}" if top in linked else whole


def is_within(path: str, folders: Sequence[str]) -> bool:
    places = [folder.rstrip("/") for folder in folders]
    return any(path == place or path.startswith(f"{place}/") for place in places)
