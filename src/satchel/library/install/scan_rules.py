r"""The rules of the scan: each has a name, a severity, and patterns for a line that breaks it.

A critical one stands for what hardly anybody means well. What honest skills tell people to do as well, such
as running a known installer, is a warning or a note. A way is several patterns that must all be in the line,
in any order. None has a gap such as `curl.*\|`: whoever writes a skill must not be able to make us wait.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from satchel.library.install.disguise import IGNORED

Severity = Literal["critical", "warning", "note"]
_SEND = (
    r"\b(?:curl|wget|nc|ncat|netcat|socat|dig|nslookup|Invoke-WebRequest|iwr|irm|requests\.p\w+|httpx\.p\w+"
    r"|urlopen|fetch)\b"
)
_SENDERS = ("curl", "wget", "nc", "socat", "invoke", "requests", "httpx", "urlopen", "fetch")
_SECRETS = (
    r"\.ssh[/\\]{1,2}(?:id_\w|\*|config)|\.ssh\b/?(?=[\s\"')|;]|$)|\.aws[/\\]{1,2}credentials|\.netrc\b|\.gnupg\b|\.kube/config"
    r"|\.docker/config\.json|\.config/gcloud|\.azure/|\.git-credentials|\.npmrc\b|\.pypirc\b|/etc/shadow"
    r"|169\.254\.169\.254/latest/meta-data/iam|metadata\.google\.internal/computeMetadata"
    r"|Login Data|cookies\.sqlite|find-generic-password|wallet\.dat"
)
_PLACES = (
    *(
        ".ssh",
        ".aws",
        ".netrc",
        ".gnupg",
        ".kube",
        ".docker",
        "gcloud",
        ".azure",
        ".git-credentials",
        ".npmrc",
    ),
    *(".pypirc", "shadow", "login data", "cookies.sqlite", "find-generic-password", "wallet.dat"),
    *("169.254.169.254", "metadata.google"),
)
_DECODED = (
    r"(?:compile\s*\(\s*)?(?:__import__\([^()]{1,40}\)\.)?(?:\w+\.)*"
    r"(?:b64decode|a85decode|unhexlify|fromhex|decompress|loads)"
)
# The environment, piped where a command can stand. `(env|prod)` is a regular expression.
_ENVIRONMENT = r"(?:/usr/bin/)?(?:env(?:\s+-0)?|printenv(?:\s+-0)?|export\s+-p|declare\s+-x)"
_PIPED = rf"(?:(?:^|[;&`]|\$\()\s{{0,20}}{_ENVIRONMENT}\s{{0,20}}\||[\s(]{_ENVIRONMENT}\s{{1,20}}\|)"
_WRITTEN = (
    rf"(?:^|[;&`]|\$\(|\b(?:sudo|then|do|else)\s)\s{{0,20}}{_ENVIRONMENT}"
    r"\s{0,20}>{1,2}\s{0,20}[\w.~/$\"'&-]"
)
_A_SHELL = r"(?:/?[\w/]{0,20}sh|cmd(?:\.exe)?|powershell(?:\.exe)?)\b"
_IDEOGRAPHS = "\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_ENCODE = r"\|\s{0,20}(?:base64|base32|xxd|openssl|gzip|zip|od|hexdump)\b"
KEY_BEGINS = re.compile(r"-----BEGIN (?:\w{1,20} )?PRIVATE KEY-----")
# A phrase in quotation marks, and no more: orders that follow it would make it longer.
_QUOTATION = re.compile(
    r"(?<![\w\\])(?:\"[^\"]{1,60}\"|'[^']{1,60}'|`[^`]{1,60}`|“[^”]{1,60}”|‘[^’]{1,60}’|«[^»]{1,60}»)(?!\w)"
)
_ORDERED = re.compile(r"\b(?:must|should|shall|now|please|always|then|you|to)[\s:,]{0,5}$", re.IGNORECASE)


def without_quotations(line: str) -> str:
    """A line without what it only quotes, and does not tell anybody to do."""

    def cut(match: re.Match[str]) -> str:
        is_order = _ORDERED.search(line, max(0, match.start() - 20), match.start())
        is_all = not re.search(r"\w", line[: match.start()] + line[match.end() :])
        return match[0] if is_order or (is_all and match[0].endswith(('."', ".”", '!"'))) else " "

    return _QUOTATION.sub(cut, line)


@dataclass(frozen=True, kw_only=True)
class ScanRule:
    """`in_texts` is how much it matters in what people read, where that is otherwise than in code.

    A line without any of the `words` breaks it in no way; without words, only one with letters beyond ASCII.
    It is not asked where the rule `unless` has found the same already.
    """

    name: str
    severity: Severity
    text: str
    words: tuple[str, ...]
    ways: tuple[tuple[re.Pattern[str], ...], ...]
    in_texts: Severity | None = None
    unless: str = ""
    in_files: tuple[
        tuple[re.Pattern[str], ...], ...
    ] = ()  # ways whose parts may be anywhere in a file of code
    but_quoted: bool = False  # a short quotation does not break it: the text only talks about it


def _rule(
    name: str,
    severity: Severity,
    text: str,
    *ways: str | tuple[str, ...],
    words: tuple[str, ...] = (),
    in_texts: Severity | None = None,
    unless: str = "",
    in_files: tuple[tuple[str, ...], ...] = (),
    but_quoted: bool = False,
) -> ScanRule:

    def compiled(
        ways: Iterable[str | tuple[str, ...]], flags: re.RegexFlag = re.IGNORECASE
    ) -> tuple[tuple[re.Pattern[str], ...], ...]:
        tuples = [(way,) if isinstance(way, str) else way for way in ways]
        return tuple(tuple(re.compile(part, flags) for part in way) for way in tuples)

    return ScanRule(
        name=name,
        severity=severity,
        text=text,
        words=words,
        ways=compiled(ways),
        in_files=compiled(in_files, re.NOFLAG),
        in_texts=in_texts,
        unless=unless,
        but_quoted=but_quoted,
    )


_DECODES_FIRST = "decodes text and runs it"
# What a line runs that it has fetched or decoded: fetching.py finds out which of them it is.
FETCH_RULES: dict[str, tuple[Severity, Severity, str]] = {  # in code, in texts
    "encoded-execution": ("critical", "critical", _DECODES_FIRST),
    "pipe-to-shell-plain": (
        "critical",
        "critical",
        "runs code that it fetches from an address that anybody can impersonate",
    ),
    "pipe-to-shell": ("critical", "warning", "runs code that it fetches from the network"),
    "pipe-to-shell-hosted": ("warning", "warning", "runs what anybody may have put on GitHub"),
    "pipe-to-shell-known": ("note", "note", "runs the installer of a known program from the network"),
}

SCAN_RULES: tuple[ScanRule, ...] = (
    _rule(
        "encoded-execution",
        "critical",
        _DECODES_FIRST,
        (r"\b(?:eval|source)\b", r"\bbase64\s+(?:-d|-D|--decode)\b"),
        rf"\b(?:exec|eval)\s*\(\s*{_DECODED}\s*\(",
        r"\bexec\s*\(\s*(?:bytes\(|codecs\.decode\(|[\"']{2}\.join\(\s*(?:map\(\s*)?chr\b)",
        (r"\bgetattr\(\s*(?:__builtins__|builtins|__import__\()", _DECODED),
        r"\b(?:eval|Function)\s*\(\s*(?:atob|Buffer\.from)\s*\(",
        r"\bimport\s*\(\s*[\"'`]data:[^,\"'`\s]{0,60};base64,",
        (r"\b(?:powershell|pwsh)\b", r"\s-e(?:nc|ncodedcommand)?\s+[A-Za-z0-9+/=]{20}"),
        (r"\b(?:iex|Invoke-Expression)\b", r"\bFromBase64String\b"),
        words=("base64", "exec", "eval", "function", "powershell", "pwsh", "getattr", "import"),
    ),
    _rule(
        "environment-upload",
        "critical",
        "sends the environment, where secrets are, to somebody",
        (_PIPED, _SEND),
        (r"(?:\$\(|`)\s*(?:env|printenv)\s*[)`|]", _SEND),
        (r"\.(?:post|put)\(", r"\bos\.environ(?:\.(?:copy|items)\(|\s{0,9}[,)}])"),
        (r"/proc/[\w$]{1,20}/environ\b", _SEND),
        (r"\bfetch\(", r"JSON\.stringify\(process\.env\)"),
        words=("env", "export"),
    ),
    _rule(
        "environment-dump",
        "warning",
        "writes out the whole environment, where secrets are",
        r"(?:json\.dumps?|print|str|pprint)\(\s*(?:dict\()?os\.environ\b(?!\s*[\[.])",
        r"(?:JSON\.stringify|console\.log)\(process\.env\)",
        _WRITTEN,
        rf"{_PIPED}\s{{0,20}}(?!\s|e?grep\b|rg\b)\w",
        (_PIPED, _ENCODE),
        r"(?:^|[;&`]|\$\()\s{0,20}printenv\s{0,20}(?:$|[;&)`])",
        words=("env", "export -p", "declare -x"),
        unless="environment-upload",
    ),
    _rule(
        "secret-upload",
        "critical",
        "sends a file with keys or passwords to somebody",
        (_SECRETS, _SEND, r"\||[=\"']@|\s-[FTd]\s|--upload-file|--post-file|--data|\$\(cat|open\(|<\s*[~/$]"),
        (r"\bcat\s+[\w./~$-]{0,60}\.env\b[\w.]{0,20}\s*\||@[\w./~$-]{0,60}\.env\b", _SEND),
        words=(*_PLACES, ".env"),
    ),
    _rule(
        "secret-files",
        "warning",
        "names a file with keys or passwords",
        _SECRETS,
        words=_PLACES,
        in_texts="note",
        unless="secret-upload",
    ),
    _rule(
        "reverse-shell",
        "critical",
        "gives somebody else a shell on this machine",
        (r"\b(?:ba|z)?sh\s+-i\b", r"/dev/tcp/"),
        (r"\b(?:ba|z|da|k)?sh\s*(?:-i\s*)?\d?[<>]{1,2}&?\s*/dev/(?:tcp|udp)/\w"),
        (r"<>\s*/dev/(?:tcp|udp)/\w", r"\|\s*(?:while|(?:ba|z|da|k)?sh)\b"),
        (r"/inet/(?:tcp|udp)/", r"\bgetline\b"),
        (r"\b(?:nc|ncat|netcat)(?:\.exe)?\s", rf"\s(?:-\w{{0,4}}[ec]|--(?:sh-)?exec)[\s=]*[\"']?{_A_SHELL}"),
        (r"\bmkfifo\b", r"\b(?:nc|ncat|netcat|telnet|socat|s_client)\s"),
        (r"\bsocat\b", rf"\b(?:exec|system):[\"']?{_A_SHELL}"),
        (r"socket\.socket\(", r"\bdup2\("),
        (
            r"\b(?:sockaddr_in|TCPSocket|fsockopen|net\.connect|net\.Socket|createConnection)\b",
            r"\b(?:exec|system|popen|proc_open|spawn|execSync)\b",
            rf"[\"'\s]{_A_SHELL}",
        ),
        (r"\bTCPClient\b", r"\b(?:iex|Invoke-Expression)\b"),
        (r"\bpty\.spawn\(", r"sh[\"']"),
        in_files=(
            (
                r"\bsocket\.socket\(|\bcreate_connection\(",
                r"\bdup2\(",
                rf"[\"']{_A_SHELL}[\"']|\bpty\.spawn\(",
            ),
            (
                r"net\.(?:connect|createConnection|Socket)\b",
                rf"\b(?:spawn|exec|execFile)\(\s*[\"']{_A_SHELL}[\"']",
                r"\.pipe\(\s*\w+\.stdin\b",
            ),
            (r"<>\s*/dev/(?:tcp|udp)/\w", r"\bdo\s+(?:eval\s+)?\"?\$\{?\w+\}?\"?\s+\d?>&"),
        ),
        words=(
            *("/dev/tcp", "/dev/udp", "/inet/", "nc", "netcat", "mkfifo", "socket", "socat", "pty.spawn"),
            *("sockaddr_in", "tcpclient", "net.connect", "createconnection", "fsockopen"),
        ),
    ),
    _rule(
        "destructive",
        "critical",
        "deletes or overwrites all there is",
        r"\brm\s+-(?:rf|fr)\w{0,3}\s+(?:--no-preserve-root\s+)?[\"']?(?:/|~/?|\$HOME/?|\$\{HOME\}/?)\*?[\"']?"
        r"(?:\s|[;&|`)]|$)",
        r"\bmkfs(?:\.\w{1,8})?\s+/dev/",
        (r"\bdd\s", r"\bof=/dev/(?:sd|nvme|disk)"),
        r":\(\)\s?\{\s?:\s?\|\s?:\s?&\s?\}\s?;",
        words=("rm ", "mkfs", "dd ", ":()"),
        in_texts="warning",
    ),
    _rule(
        "persistence",
        "warning",
        "leaves something that is run again later, or lets somebody in",
        r">>?\s*[\"']?(?:~|\$HOME)/\.(?:bashrc|zshrc|profile|bash_profile|zprofile)",
        r"authorized_keys|\bcrontab\s+-(?!l)|LaunchAgents/|/etc/cron|systemctl\s+(?:--user\s+)?enable",
        words=("rc", "profile", "authorized_keys", "cron", "launchagents", "systemctl"),
        in_texts="note",
    ),
    _rule(
        "credential",
        "warning",
        "has what looks like a credential in it",
        r"\bAKIA(?!\w*EXAMPLE)[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{36}\b|\bgithub_pat_\w{50}",
        r"\bsk-(?:ant|proj|live)-[\w-]{20}|\bxox[abposr]-\d[\w-]{20}|\bAIza[\w-]{35}\b|\bsk_live_\w{20}",
        rf"{KEY_BEGINS.pattern}.{{0,80}}?[A-Za-z0-9+/=]{{24}}",  # which is not in an empty template
        r"\bAWS_SECRET_ACCESS_KEY[\"']?\s{0,3}[=:]\s{0,3}[\"']?(?!\S{0,40}EXAMPLE)[\w/+]{40}(?![\w/+])",
        words=("aws_secret", "akia", "gh", "sk-", "sk_", "xox", "aiza", "private key"),
    ),
    _rule(
        "hidden-text",
        "critical",
        "has text that a model reads and nobody sees",
        # Tags, and places of their plane that have no meaning; flags were taken out before.
        "[\U000e0000-\U000e00ff\U000e01f0-\U000e0fff]",
        # Selectors of a variant where no character before them has variants: only ideographs have so many.
        f"(?<![{_IDEOGRAPHS}])[\U000e0100-\U000e01ef]",
        "(?<![^\x00-\x7f])(?<!0)[\ufe00-\ufe0d]|[\ufe07-\ufe0d]|[\ufe0e\ufe0f][\ufe00-\ufe0d]",
        # Nobody writes so many of them in a row, or one after each letter.
        f"[{IGNORED}]{{8}}",
        f"(?:[{IGNORED}][ -~]{{1,3}}){{8}}",
        f"(?:[{_IDEOGRAPHS}][\U000e0100-\U000e01ef]){{8}}",
    ),
    _rule(
        "bidirectional-text",
        "critical",
        "has characters that change the direction of text, so it reads differently from how it looks",
        "[\u202a\u202b\u202d\u202e\u2066-\u2068]",
    ),
    _rule(
        "hidden-character", "note", "has a character that nobody sees", "[\u200b\u2060-\u2064\ufeff\u00ad]"
    ),
    _rule(
        "instructions-to-hide",
        "warning",
        "asks a model to act against its users",
        r"\bignore\s+(?:all\s+|any\s+)?(?:of\s+)?(?:your\s+|the\s+)?(?:previous|prior|above|earlier)\s+instruct",
        (
            r"\b(?:do\s+not|don't|never)\s+(?:tell|inform|notify|alert)\s+the\s+user\b",
            r"\b(?:this|about|that)\b",
        ),
        r"\bwithout\s+(?:telling|informing|notifying|asking)\s+the\s+user\b",
        r"\bdisregard\s+(?:all\s+)?(?:safety|security)\s+(?:rules|guidelines|checks)",
        words=("ignore", "the user", "disregard"),
        but_quoted=True,
    ),
    _rule(
        "drop-box",
        "warning",
        "names a place where data is dropped for anybody to fetch",
        r"\b(?:webhook\.site|requestbin\.\w|pipedream\.net|interact\.sh|oast\.\w|burpcollaborator\.net)",
        r"discord(?:app)?\.com/api/webhooks/\d|api\.telegram\.org/bot\d|\btransfer\.sh\b|\w\.ngrok(?:-free)?\.\w",
        words=(
            "webhook",
            "requestbin",
            "pipedream",
            "interact",
            "oast",
            "burp",
            "telegram",
            "transfer",
            "ngrok",
        ),
    ),
    _rule(
        "unchecked-connection",
        "note",
        "does not check whom it is connected to",
        (r"\bcurl\b", r"\s(?:-k|--insecure)\b"),
        r"verify\s?=\s?False|NODE_TLS_REJECT_UNAUTHORIZED=0|--no-check-certificate\b|sslVerify\s?=?\s?false",
        words=("curl", "verify", "node_tls", "no-check"),
    ),
)
# Of files as a whole.
FILE_RULES: dict[str, tuple[Severity, str]] = {
    "too-large": ("critical", "was not looked through to its end: there is too much text"),
    "unreadable": ("critical", "could not be read"),
    "executable-file": ("critical", "is {what}: nobody can read what it does"),
    "nested-archive": ("critical", "is an archive, or compressed; its contents were not scanned"),
    "zero-byte": ("critical", "has zero bytes in it, as texts have not"),
    "run-by-tools": ("critical", "is run by {what} by itself, outside of the sandbox"),
    "run-by-tools-there": ("warning", "is run by {what} where somebody starts that in this folder"),
    "binary-file": ("warning", "is neither text nor a picture, a font, a film or the like"),
    "not-a-file": ("warning", "is a link, a device or a pipe"),
}
# What nobody has looked at, or what runs by itself, is accepted for one file as it is, and not for any other.
BY_FILE = frozenset({"too-large", "executable-file", "nested-archive", "zero-byte", "run-by-tools"})
RULE_NAMES: tuple[str, ...] = tuple(
    dict.fromkeys((*FETCH_RULES, *(rule.name for rule in SCAN_RULES), *FILE_RULES))
)
