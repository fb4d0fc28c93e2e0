"""Having a repository on this machine: fetched into Satchel's cache, and only where the settings allow it.

Git is given nothing of the user's: no credentials, no helpers, no hooks. Nothing is checked out, so that no
filter and no submodule of the repository counts.
"""

import os
import subprocess
from hashlib import sha256
from pathlib import Path

from satchel.errors import ArgumentError, SatchelError
from satchel.library.install.repositories import GIT_SETTINGS, git_environment
from satchel.library.plugins.places import PluginSource, is_fetchable
from satchel.support.files import locked

_PATIENCE = 600.0  # seconds
_MOST_SAID = 64 * 1024
_PASSED_ON = (
    *("https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO"),
)
_WANTED = "refs/satchel/wanted"
_EVERYTHING = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")


def clone(cache: Path, source: PluginSource) -> tuple[Path, str]:
    """(the repository of an address, how the commit, branch or tag is called in it).

    A commit that is there already is not fetched again.
    """
    url, wanted = source.url, source.sha or source.ref or "HEAD"
    if not is_fetchable(url):
        raise ArgumentError(f"{url[:200]} is not fetched", hint="only https:// addresses are")
    repository, name = _place(cache, url, wanted)
    is_commit = name == wanted
    with locked(cache):
        if not (repository / "HEAD").is_file():
            _check(_git(cache, url, "init", "--quiet", "--bare", "--template=", str(repository)), url)
        if is_commit and _git(repository, url, "cat-file", "-e", f"{wanted}^{{commit}}").returncode == 0:
            return repository, name
        one = f"+{wanted}:{_WANTED}"
        if _fetch(repository, url, "--depth=1", "--", url, one).returncode:
            # Some servers give no single commit, and some no shallow history.
            every = _EVERYTHING if is_commit else (one, *_EVERYTHING)
            _check(_fetch(repository, url, "--", url, *every), url)
    return repository, name


def fetched(cache: Path, source: PluginSource) -> tuple[Path, str]:
    """The same for what was fetched before; nothing is fetched."""
    repository, name = _place(cache, source.url, source.sha or source.ref or "HEAD")
    if not (repository / "HEAD").is_file():
        hint = "satchel plugins marketplace refresh fetches it"
        raise SatchelError(f"{source.url} has not been fetched", hint=hint)
    return repository, name


def _place(cache: Path, url: str, wanted: str) -> tuple[Path, str]:
    is_commit = len(wanted) in (40, 64) and set(wanted) <= set("0123456789abcdef")
    return cache / f"{sha256(url.encode()).hexdigest()[:32]}.git", wanted if is_commit else _WANTED


def _fetch(repository: Path, url: str, *arguments: str) -> "subprocess.CompletedProcess[bytes]":
    return _git(repository, url, "fetch", "--quiet", "--no-tags", "--no-recurse-submodules", *arguments)


def _check(said: "subprocess.CompletedProcess[bytes]", url: str) -> None:
    if said.returncode:
        lines = said.stderr[-_MOST_SAID:].decode("utf-8", "replace").strip().splitlines()
        reason = lines[-1][:300] if lines else f"exit code {said.returncode}"
        raise SatchelError(f"git could not fetch {url}: {reason}", hint=f"try: git clone {url}")


def _git(directory: Path, url: str, *arguments: str) -> "subprocess.CompletedProcess[bytes]":
    given = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    protocol = {"GIT_ALLOW_PROTOCOL": url.partition(":")[0]}  # and no other one that it is redirected to
    try:
        return subprocess.run(
            ["git", *GIT_SETTINGS, "-c", "transfer.fsckObjects=true", "-C", str(directory), *arguments],
            env={**git_environment(directory), **protocol, **given},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
        )
    except FileNotFoundError:
        raise SatchelError("git is not installed", hint="install it") from None
    except subprocess.TimeoutExpired:
        raise SatchelError(f"git did not end within {_PATIENCE:g} s about {url}") from None
