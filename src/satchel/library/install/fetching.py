"""Lines that run what they fetch or decode, as `curl … | sh` and `base64 -d | sh` do, and whom they trust.

A file or a name that one command gives what it fetches, and that a later one runs, counts as well; what is
done with it in between is not followed. Walked through piece by piece rather than matched by one pattern, so
that no line takes long.
"""

import re
from collections.abc import Iterator
from itertools import zip_longest

_FETCH = re.compile(
    r"\b(?:curl|wget|iwr|irm|Invoke-WebRequest|Invoke-RestMethod|DownloadString|aria2c|lynx|lwp-\w+|nc|ncat"
    r"|netcat|telnet|dig|openssl\s+s_client)\b|/dev/tcp/",
    re.IGNORECASE,
)
_DECODE = re.compile(
    r"\b(?:base64|base32|basenc)\b[^|;]{0,40}?\s(?:-\w{0,3}d\w{0,3}|--decode)\b|\bxxd\s+-\w{0,3}r|\buudecode\b"
    r"|\bopenssl\b[^|;]{0,60}?\s-d\b|\brev\b(?!-)|\btr\b[^|;]{0,20}?n-z|\bprintf\b[^|;]{0,20}?\\x"
    r"|\btail\s+-[cn]\s{0,9}\+\d|\b(?:gunzip|zcat|bunzip2|bzcat|unxz|xzcat|zstdcat)\b|\b(?:gzip|xz|bzip2|zstd)\s+-\w{0,3}d",
    re.IGNORECASE,
)
# What a text must have in it, in small letters, to fetch or decode anything.
_SOURCES = (
    *("curl", "wget", "iwr ", "irm ", "invoke-", "downloadstring", "aria2c", "lynx", "lwp-", "nc ", "ncat"),
    *("netcat", "telnet", "dig ", "s_client", "/dev/tcp", "mshta", "regsvr32", "requests.", "httpx."),
    *("urlopen", "fetch(", "base64", "base32", "basenc", "xxd ", "uudecode", "openssl", " rev", "n-z"),
    *("printf", "tail -", "b64decode", "atob(", "unhexlify", "zcat", "gunzip", "bunzip", "unxz", "gzip "),
    *("bzip2 ", "xz -", "zstd "),
)
_ADDRESS = re.compile(r"://|\$\w|\$\{|\w\.\w")
# Programs that only start another one.
_STARTERS = frozenset(
    (
        *("sudo", "doas", "env", "command", "builtin", "exec", "nohup", "busybox", "timeout", "nice"),
        *("ionice", "setsid", "stdbuf", "time", "xargs"),
    )
)
_SHELLS = re.compile(
    r"(?:(?:ba|z|da|k|a)?sh|\$\{?(?:SHELL|BASH)\}?|iex|invoke-expression)(?![\w.-])", re.IGNORECASE
)
_LANGUAGES = re.compile(r"(?:python[\d.]*|perl|ruby|node)(?![\w.-])", re.IGNORECASE)
_ASSIGNED = re.compile(r"\w{1,40}=")
_NUMBER = re.compile(r"[\d.]+[smhd]?")
_OPENING = " \t&({\"'"
_CLOSING_BRACKET = re.compile(r"[)`]")
_CLOSING = re.compile(r"[;&)}`\"']")
_INSIDE = re.compile(
    r"(?:\b(?:(?:ba|z|da|k)?sh|eval|source)|(?<![^\s;&|])\.)\s+(?:-\w+\s+){0,2}[\"']?"
    r"(?:<{1,3}\s{0,9}[\"']?)?(?:<\(|\$\(|`)"
    r"|\b(?:python3?|perl|ruby|node)\s+<\(|(?:^|[;&|])\s{0,9}\$\((?=\s{0,9}(?:curl|wget)\b)",
    re.IGNORECASE,
)
_INTO = re.compile(r">\(\s{0,9}(?:sudo\s+)?(?:ba|z|da|k)?sh\b")  # `tee >(sh)`
_EVALUATED = re.compile(
    r"\b(?:exec|eval|Function)\s{0,3}\(\s{0,3}(?:compile\()?(?:\(?await\s{1,3}){0,3}\(?"
    r"(?:(?:requests|httpx)\.\w+\(|(?:urllib\.request\.|request\.)?urlopen\(|fetch\()"
    r"|\b(?:mshta(?:\.exe)?\s{1,9}[\"']?|regsvr32\b[^|;&]{0,40}?/i:)(?=https?:)"
)
_EXPRESSION = re.compile(
    r"\b(?:iex|Invoke-Expression)\b|\[scriptblock\]::Create\(|\.then\(\s{0,9}eval\b", re.IGNORECASE
)
_APART = re.compile(r"&&|\|\||;")
_OUTPUT = re.compile(r"(?:\s(?:-\w*o|-O|--output|--output-document)[\s=]\s*|>\s*)([^\s;&|>]+)")
_BY_ITS_NAME = re.compile(r"\bwget\b|\s(?:-\w{0,8}O\w{0,8}|--remote-name)(?=\s)")
_INTERPRETERS = frozenset(
    ("sh", "bash", "zsh", "dash", "ksh", "source", ".", "python", "python3", "perl", "ruby", "node")
)
# `x = requests.get(…)`, `with urlopen(…) as x`, `x=$(curl …)`; and what runs the text of that name.
_NAMED = re.compile(
    r"(\w{1,40})\s{0,3}=\s{0,3}\(?(?:await\s{1,3}\(?){0,2}(?:await\s{1,3})?(?:\w{1,40}\.){0,3}"
    r"(?:(?:(?:requests|httpx)\.(?:get|post)|urlopen|fetch)\(|(?P<decoded>b64decode|atob|unhexlify)\()"
)
_NAMED_AFTER = re.compile(r"\b(?:urlopen|requests\.get|httpx\.(?:get|stream))\(.{0,400}?\)\s+as\s+(\w{1,40})")
_NAMED_IN_SHELL = re.compile(r"(?<![\w$])(\w{1,40})=[\"']?(?:\$\(|`)")
_RENAMED = re.compile(r"(\w{1,40})\s{0,3}=\s{0,3}\(?(?:await\s{1,3})?(\w{1,40})\.(?!\w{0,40}json\b)\w")
_RUN = re.compile(
    r"(?<![\w.])(?:exec|eval|Function)\s{0,3}\(\s{0,3}(?:compile\s{0,3}\(\s{0,3})?(\w{1,40})"
    r"|\bos\.system\(\s{0,3}(\w{1,40})"
    r"|\b(?:eval|sh\s+-c|sh\s+<<<)\s+[\"']?\$\{?(\w{1,40})"
    r"|\b(?:echo|printf\s+%s)\s+[\"']?\$\{?(\w{1,40})\}?[\"']?\s{0,9}\|\s{0,9}(?:ba|z|da|k)?sh\b"
)
_MOST_NAMES = 1_000
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
ENCODED = "encoded-execution"
_ORDER = (ENCODED, "pipe-to-shell-plain", "pipe-to-shell", "pipe-to-shell-hosted", "pipe-to-shell-known")


class Fetched:
    """The names under which the lines of a text have fetched or decoded data so far."""

    def __init__(self, text: str) -> None:
        self.sources = [source for source in _SOURCES if source in text]  # there are
        self._files: dict[str, str] = {}  # the rule that a line breaks by running it
        self._names: dict[str, str] = {}

    def rule(self, line: str) -> str | None:
        """The rule that a line breaks by running what it, or a line before, has fetched or decoded."""
        if not self.sources:
            return None
        found = set(self._run_later(line)) if self._files or self._names else set[str]()
        lowered = line.lower()
        if any(source in lowered for source in self.sources):
            found.update(_run_at_once(line))
            if len(self._files) + len(self._names) < _MOST_NAMES:
                self._names |= _named(line)
                self._files |= _files(line, by_name=False)
                found.update(self._run_later(line, of_files=False))
        return next((rule for rule in _ORDER if rule in found), None)

    def _run_later(self, line: str, *, of_files: bool = True) -> Iterator[str]:
        for command in _APART.split(line) if of_files and self._files else ():
            name = _run_by(command, named=False)
            if name in self._files:
                yield self._files.pop(name)  # once is enough
        for match in _RENAMED.finditer(line) if self._names else ():
            if match[2] in self._names:
                self._names[match[1]] = self._names[match[2]]
        for match in _RUN.finditer(line) if self._names else ():
            name = next(filter(None, match.groups()))
            if name in self._names:
                yield self._names[name]


def _run_at_once(line: str) -> Iterator[str]:
    """The rules that a line breaks by running what it fetches or decodes itself."""
    yield from (_judged(before + after) for before, after in _each(_EVALUATED, line))
    source = ""
    parts = line.split("|")
    for number, part in enumerate(parts):
        if source and _runs_its_input(part):
            yield _judged("|".join(parts[:number])) if source != ENCODED else ENCODED
            break
        source = source or _of_source(part)
    for _, after in _each(_INSIDE, line):
        if rule := _of_source(_CLOSING_BRACKET.split(after, maxsplit=1)[0]):
            yield rule
    if _INTO.search(line) or _EXPRESSION.search(line):
        yield _of_source(line)
    files = dict[str, str]()
    for command in _APART.split(line):
        name = _run_by(command, named=True)
        if name in files:
            yield files.pop(name)
        files |= _files(command, by_name=True)


def _of_source(command: str) -> str:
    """The rule that running the output of a command breaks: what it fetches, or decodes; empty for others."""
    if (_FETCH.search(command) or "fetch(" in command) and _ADDRESS.search(command):
        return _judged(command)
    return ENCODED if _DECODE.search(command) else ""


def _named(line: str) -> dict[str, str]:
    """The names that a line gives to what it fetches or decodes."""
    matches = [*_NAMED.finditer(line), *_NAMED_AFTER.finditer(line)]
    fetched = _judged(line) if matches else ""
    names = {match[1]: ENCODED if match.groupdict().get("decoded") else fetched for match in matches}
    for before, after in _each(_NAMED_IN_SHELL, line):
        if rule := _of_source(_CLOSING_BRACKET.split(after, maxsplit=1)[0]):
            names[before.partition("=")[0]] = rule
    return names


def _files(line: str, *, by_name: bool) -> dict[str, str]:
    """The files to which a line writes what it fetches; `by_name` counts any address as the name of one."""
    files = dict[str, str]()
    for command in _APART.split(line):
        if _FETCH.search(command) and _ADDRESS.search(command):
            names = _OUTPUT.findall(command)
            if by_name or _BY_ITS_NAME.search(command):
                names += [url.rsplit("/", 1)[-1] for url in _WHOLE.findall(command)]
            rule = _judged(command) if names else ""
            files |= {_plain(name): rule for name in names if _plain(name)}
    return files


def _runs_its_input(command: str) -> bool:
    """Whether a command of a pipe runs what it is given, rather than reads it as data."""
    program, arguments = _program(command)
    if program in ("source", "."):
        return arguments[:1] == ["/dev/stdin"]
    if _SHELLS.match(program):
        return not arguments[:1] or not arguments[0].startswith("-c") or "xargs" in command
    if program == "while":
        return "eval" in command
    is_language = _LANGUAGES.match(program) is not None
    return is_language and all(
        argument in ("-", "/dev/stdin") or (argument.startswith("-") and argument[1:2] not in "cme")
        for argument in arguments
    )


def _program(command: str) -> tuple[str, list[str]]:
    """The program that a command starts, without those that only start another one, and its arguments."""
    words = _CLOSING.split(command.lstrip(_OPENING), maxsplit=1)[0].split()[:16]
    is_started, before = False, ""
    for number, word in enumerate(words):
        name = word.rsplit("/", 1)[-1]
        if name in _STARTERS:
            is_started = True
        elif _ASSIGNED.match(word) or (is_started and (word.startswith("-") or _NUMBER.fullmatch(word))):
            pass
        elif not before.startswith("-") or not is_started or _SHELLS.match(name):
            return name, words[number + 1 :]
        before = word
    return "", []


def _each(pattern: re.Pattern[str], line: str) -> Iterator[tuple[str, str]]:
    """Each match, with the text up to the next match: no part of a line is looked at twice."""
    matches = list(pattern.finditer(line))
    for match, following in zip_longest(matches, matches[1:]):
        end = following.start() if following is not None else len(line)
        yield match[0], line[match.end() : min(match.end() + 500, end)]


def _run_by(command: str, *, named: bool) -> str:
    """The file that a command runs: what it gives to an interpreter, or its first word.

    Unless any command may be `named` so, that one needs a path: `./x`.
    """
    words = [word for word in command.split()[:12] if word not in ("sudo", "env", "exec")]
    if words and words[0].rsplit("/", 1)[-1] in _INTERPRETERS:
        words = [word for word in words[1:] if not word.startswith("-")]
    elif words and not named and "/" not in words[0]:
        return ""
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
    """The host in a place, without a user or a port, which may look like one."""
    host = place.rsplit("@", 1)[-1].lower()
    return host if host.startswith("[") else host.split(":")[0].rstrip(".")


def _is_of(host: str, names: frozenset[str]) -> bool:
    return host in names or any(host.endswith(f".{name}") for name in names)
