"""The sources of a plugin, as lists of plugins and people write them. Nothing is opened here."""

import re
import shlex
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from satchel.model import Json

_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,99}/[A-Za-z0-9_.-]{1,100}")
_REFERENCE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./+@-]{0,250}")
_PATH = r"[^\s\\@'\"`$<>|;&()\x00-\x1f]{1,2000}"
_REMOTE = re.compile(rf"https://{_PATH}", re.ASCII)
_LOOPBACK = re.compile(rf"http://(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{{1,5}})?/{_PATH}", re.ASCII)
_NEVER = {
    "command": "it is a shell command, which Satchel never runs",
    "npm": "it is an npm package, which Satchel does not install",
    "pip": "it is a Python package, which Satchel does not install",
    "archive": "it is an archive on the network: download it, then install the file",
}


@dataclass(frozen=True, kw_only=True)
class PluginSource:
    """A folder of the list's own place, or a git repository with a folder in it."""

    form: Literal["folder", "git", "unsupported"]
    path: str = ""  # from the root of the list's place or the repository
    url: str = ""
    ref: str | None = None
    sha: str | None = None
    problem: str = ""

    def __str__(self) -> str:
        if self.form == "unsupported":
            return self.problem
        if self.form == "folder":
            return self.path or "."
        pin = self.sha or self.ref
        return f"{self.url}{f'#{pin[:12]}' if pin else ''}{f' in {self.path}' if self.path else ''}"

    def clone_command(self, command: str = "install") -> str:
        """The command that puts a repository on this machine, at the right version."""
        name = self.url.rstrip("/").rsplit("/", 1)[-1].removesuffix(".git")
        folder = name.lstrip("-.") or "plugin"  # not an option of git, nor a folder that is there
        pin = self.sha or self.ref
        path = f" --path {shlex.quote(self.path)}" if self.path else ""
        ref = f" --ref {shlex.quote(pin)}" if pin else ""
        clone = f"git clone {shlex.quote(self.url)} {shlex.quote(folder)}"
        return f"{clone} && satchel plugins {command} ./{shlex.quote(folder)}{ref}{path}"


def unsupported(problem: str) -> PluginSource:
    return PluginSource(form="unsupported", problem=problem)


def place_of(source: str | Json) -> PluginSource:
    """The place that the `source` of an entry means, relative to the root of its list."""
    if isinstance(source, str):
        return _folder(source)
    kind: object = source.get("source")
    if kind == "local":
        return _folder(source.get("path"))
    if kind == "github":
        repository: object = source.get("repo")
        if not isinstance(repository, str) or not _REPOSITORY.fullmatch(repository):
            return unsupported(f"its repository {repository!a} is not OWNER/NAME"[:200])
        return _git(f"https://github.com/{repository}.git", source)
    if kind in ("url", "git-subdir", "git"):
        url: object = source.get("url")
        if isinstance(url, str) and kind == "git-subdir" and _REPOSITORY.fullmatch(url):
            url = f"https://github.com/{url}.git"
        return _git(url, source)
    if isinstance(kind, str) and kind in _NEVER:
        return unsupported(_NEVER[kind])
    return unsupported(f"its source {kind!a} is not known"[:200])


def is_fetchable(url: str) -> bool:
    """Whether git may be asked to fetch it: encrypted, or from this machine itself."""
    return bool(_REMOTE.fullmatch(url) or _LOOPBACK.fullmatch(url))


def checked_path(path: object) -> str | None:
    """A path below a root, without dots; None where it leads out, or is none."""
    if not isinstance(path, str) or "\\" in path or "\0" in path or path.startswith("/"):
        return None
    parts = PurePosixPath(path).parts
    if ".." in parts or any(":" in part for part in parts[:1]):
        return None
    return "/".join(part for part in parts if part != ".")


def _folder(path: object) -> PluginSource:
    below = checked_path(path)
    if below is None:
        return unsupported(f"its path {path!a} leads out of the marketplace"[:200])
    return PluginSource(form="folder", path=below)


def _git(url: object, source: Json) -> PluginSource:
    """Only plain text reaches git, and none of it can be taken for an option or a transport."""
    ref, sha, path = source.get("ref"), source.get("sha"), checked_path(source.get("path", ""))
    if not (isinstance(url, str) and (is_fetchable(url) or _is_local(url))):
        return unsupported(f"its address {url!a} is not one that is cloned: https://…"[:200])
    if ref is not None and not (isinstance(ref, str) and _REFERENCE.fullmatch(ref) and ".." not in ref):
        return unsupported(f"its ref {ref!a} is not a branch or tag"[:200])
    if sha is not None and not (isinstance(sha, str) and _HASH.fullmatch(sha)):
        return unsupported(f"its sha {sha!a} is not that of a commit"[:200])
    if path is None:
        return unsupported(f"its path {source.get('path')!a} leads out of the repository"[:200])
    return PluginSource(form="git", url=url, ref=ref, sha=sha, path=path)


def _is_local(url: str) -> bool:
    """Whether it is the path of a repository on this machine."""
    return url.startswith("/") and not re.search(r"[\x00-\x1f]|::", url)
