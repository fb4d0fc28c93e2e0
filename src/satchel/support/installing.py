"""How to change this installation of Satchel, in the words of the tool that made it: uv, pipx or pip."""

import json
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse


def how_to_install(extra: str | None = None, prefix: Path | None = None) -> str:
    """The command that reinstalls Satchel with an extra. `prefix` is the place of this installation."""
    prefix = prefix or Path(sys.prefix)
    source, is_editable = _origin(prefix)
    wanted = f"'{source}[{extra}]'" if extra else f"'{source}'"
    if (prefix / "uv-receipt.toml").is_file():
        return f"uv tool install --force {'--editable ' if is_editable else ''}{wanted}"
    if (prefix / "pipx_metadata.json").is_file():
        return f"pipx install --force {'--editable ' if is_editable else ''}{wanted}"
    if {"archive-v0", "environments-v2"} & set(prefix.parts):  # of uv's cache, where uvx makes them
        return f"uvx --from {wanted} satchel"
    return f"{_pip_install(prefix)} {'--editable ' if is_editable else ''}{wanted}"


def _pip_install(prefix: Path) -> str:
    """The program that installs into `prefix`: environments made by uv have no pip."""
    found = shutil.which("pip")
    if found is not None and Path(found).parent == prefix / "bin":
        return "pip install"
    python = prefix / "bin" / "python"
    is_here = prefix == Path(sys.prefix)
    if not (find_spec("pip") if is_here else any(prefix.glob("lib/python*/site-packages/pip"))):
        return f"uv pip install --python {python}"
    return f"{python} -m pip install"


def _origin(prefix: Path) -> tuple[str, bool]:
    """The source of this installation, as the installer recorded it: (a path or its name, is editable)."""
    recorded = next(prefix.glob("lib/python*/site-packages/satchel-*.dist-info/direct_url.json"), None)
    try:
        origin: Any = json.loads(recorded.read_text()) if recorded is not None else {}
        place = urlparse(str(origin["url"]))
        if place.scheme == "file":
            return unquote(place.path), bool(origin.get("dir_info", {}).get("editable"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass  # from an index, or recorded in a way of its own
    return "satchel", False
