"""Lines that run what they fetch from the network: `curl … | sh` and its kin, and whom they trust with it.

A file that one command of a line fetches and a later one runs counts as well; over several lines it does not.

Walked through piece by piece rather than matched by one pattern, so that no line takes long.
"""

import re
from collections.abc import Iterator
from itertools import zip_longest

_FETCH = re.compile(r"\b(?:curl|wget|iwr|irm|Invoke-WebRequest)\b", re.IGNORECASE)
FETCHERS = ("curl", "wget", "iwr", "irm", "invoke-webrequest", "requests.", "httpx.", "urlopen", "fetch(")
_ADDRESS = re.compile(r"://|\$\w|\$\{|\w\.\w")
_SHELL = re.compile(
    r"\s*(?:sudo\s+(?:-\w+\s+)?)?(?:/(?:usr/)?bin/)?(?:env\s+)?(?:(?:ba|z|da|k)?sh\b(?!\s+-c|[\w.-])|iex\b"
    r"|(?:python3?|perl|ruby|node)\s*(?:-\s*)?(?=$|[;&|\"'`)]))",  # not those that only read it as data
    re.IGNORECASE,
)
_INSIDE = re.compile(
    r"\b(?:(?:ba|z|da|k)?sh|eval|source)\s+(?:-c\s+)?[\"']?(?:<\(|\$\(|`)\s*(?=curl\b|wget\b)", re.IGNORECASE
)
_EVALUATED = re.compile(
    r"\b(?:exec|eval|Function)\s{0,3}\(\s{0,3}(?:compile\()?(?:\(?await\s{1,3}){0,3}\(?"
    r"(?:(?:requests|httpx)\.\w+\(|(?:urllib\.request\.|request\.)?urlopen\(|fetch\()"
)
_APART = re.compile(r"&&|\|\||;")
_OUTPUT = re.compile(r"(?:\s(?:-\w*o|-O|--output|--output-document)[\s=]\s*|>\s*)([^\s;&|>]+)")
_INTERPRETERS = frozenset(
    ("sh", "bash", "zsh", "dash", "ksh", "source", ".", "python", "python3", "perl", "ruby", "node")
)
_URL = re.compile(r"(https?)://([^/\s\"')|]+)", re.IGNORECASE)
_WHOLE = re.compile(r"https?://[^\s\"'<>|)]+", re.IGNORECASE)
_NUMBERS = re.compile(r"[\d.]+|\[.*\]?")
_LOCAL = re.compile(r"localhost|127\.[\d.]+|\[::1\]")
# Where anybody can put something, and take it away again.
_FLEETING = frozenset(
    (
        *("bit.ly", "tinyurl.com", "t.co", "is.gd", "pastebin.com", "paste.ee", "rentry.co"),
        *("transfer.sh", "webhook.site", "ngrok.io", "ngrok-free.app"),
    )
)
_HOSTED = frozenset(
    {"raw.githubusercontent.com", "gist.githubusercontent.com", "gist.github.com", "github.com"}
)
# Installers that people are told to run like this by those who make the program.
_KNOWN = frozenset(
    (
        *("astral.sh", "sh.rustup.rs", "rustup.rs", "bun.sh", "deno.land", "get.docker.com", "get.pnpm.io"),
        *("ollama.com", "get.nextflow.io", "fly.io", "install.python-poetry.org", "pixi.sh", "mise.run"),
        *("deb.nodesource.com", "get.sdkman.io", "nixos.org", "hf.co", "cli.github.com", "starship.rs"),
        *("brew.sh", "bootstrap.pypa.io", "get.helm.sh", "get.volta.sh"),
    )
)


def fetch_rule(line: str) -> str | None:
    """The rule that a line breaks by running what it fetches, if it does."""
    found = [_judged(text) for text in _fetched(line)]
    order = ("pipe-to-shell-plain", "pipe-to-shell", "pipe-to-shell-hosted", "pipe-to-shell-known")
    return next((rule for rule in order if rule in found), None)


def _fetched(line: str) -> Iterator[str]:
    """The commands whose output a line runs."""
    yield from (before + after for before, after in _each(_EVALUATED, line))
    if not _FETCH.search(line):
        return
    parts = line.split("|")
    fetching = False
    for number, part in enumerate(parts):
        if fetching and _SHELL.match(part):
            yield "|".join(parts[:number])
            break
        fetching = fetching or bool(_FETCH.search(part) and _ADDRESS.search(part))
    for _, after in _each(_INSIDE, line):
        yield re.split(r"[)`]", after, maxsplit=1)[0]
    yield from _kept(line)


def _each(pattern: re.Pattern[str], line: str) -> Iterator[tuple[str, str]]:
    """What matches, and what follows up to the next match: no part of a line is looked at twice."""
    matches = list(pattern.finditer(line))
    for match, following in zip_longest(matches, matches[1:]):
        end = following.start() if following is not None else len(line)
        yield match[0], line[match.end() : min(match.end() + 500, end)]


def _kept(line: str) -> Iterator[str]:
    """The commands that write what they fetch to a file which a later command of the line runs."""
    fetched: dict[str, str] = {}
    for command in _APART.split(line):
        name = _run_by(command)
        if name in fetched:
            yield fetched.pop(name)  # once is enough
        if _FETCH.search(command) and _ADDRESS.search(command):
            names = [*_OUTPUT.findall(command), *(url.rsplit("/", 1)[-1] for url in _WHOLE.findall(command))]
            fetched |= {_plain(name): command for name in names if _plain(name)}


def _run_by(command: str) -> str:
    """The file that a command runs: its first word, or what it gives to an interpreter."""
    words = [word for word in command.split()[:12] if word not in ("sudo", "env", "exec")]
    if words and words[0].rsplit("/", 1)[-1] in _INTERPRETERS:
        words = [word for word in words[1:] if not word.startswith("-")]
    return _plain(words[0]) if words else ""


def _plain(name: str) -> str:
    return name.strip("\"'`()").removeprefix("./")


def _judged(text: str) -> str:
    urls = [(scheme.lower(), _host(place)) for scheme, place in _URL.findall(text)]
    outside = [(scheme, host) for scheme, host in urls if not _LOCAL.fullmatch(host)]
    if any(
        scheme == "http" or _NUMBERS.fullmatch(host) or _is_of(host, _FLEETING) for scheme, host in outside
    ):
        return "pipe-to-shell-plain"
    hosts = [host for _, host in outside]
    if hosts and all(host in _KNOWN for host in hosts):
        return "pipe-to-shell-known"
    if hosts and all(host in _KNOWN or host in _HOSTED for host in hosts):
        return "pipe-to-shell-hosted"
    return "pipe-to-shell"


def _host(place: str) -> str:
    """What stands between user and port, which only look like it."""
    host = place.rsplit("@", 1)[-1].lower()
    return host if host.startswith("[") else host.split(":")[0].rstrip(".")


def _is_of(host: str, names: frozenset[str]) -> bool:
    return host in names or any(host.endswith(f".{name}") for name in names)
