r"""What the scan looks for: each rule has a name, a severity, and ways in which a line can break it.

A critical one stands for what hardly anybody means well. What honest skills tell people to do as well, such
as running a known installer, is a warning or a note. A way is several patterns that must all be in the line,
in any order. None has a gap such as `curl.*\|`: whoever writes a skill must not be able to make us wait.
"""

import re
from dataclasses import dataclass
from typing import Literal

Severity = Literal["critical", "warning", "note"]
_SEND = r"\b(?:curl|wget|nc|ncat|netcat|socat|Invoke-WebRequest|requests\.p\w+|httpx\.p\w+|urlopen|fetch)\b"
_SENDERS = ("curl", "wget", "nc", "socat", "invoke", "requests", "httpx", "urlopen", "fetch")
_SECRETS = (
    r"\.ssh/(?:id_\w|\*|config)|\.ssh\b/?(?=[\s\"')|;]|$)|\.aws/credentials|\.netrc\b|\.gnupg\b|\.kube/config"
    r"|\.docker/config\.json|\.config/gcloud|\.azure/|\.git-credentials|\.npmrc\b|\.pypirc\b|/etc/shadow"
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
    but_quoted: bool = False  # a short quotation does not break it: whoever quotes it speaks about it


def _rule(
    name: str,
    severity: Severity,
    text: str,
    *ways: str | tuple[str, ...],
    words: tuple[str, ...] = (),
    in_texts: Severity | None = None,
    unless: str = "",
    but_quoted: bool = False,
) -> ScanRule:
    tuples = [(way,) if isinstance(way, str) else way for way in ways]
    patterns = tuple(tuple(re.compile(part, re.IGNORECASE) for part in way) for way in tuples)
    return ScanRule(
        name=name,
        severity=severity,
        text=text,
        words=words,
        ways=patterns,
        in_texts=in_texts,
        unless=unless,
        but_quoted=but_quoted,
    )


# What a line runs that it has fetched: library/scan.py finds out which of them it is.
FETCH_RULES: dict[str, tuple[Severity, Severity, str]] = {  # in code, in texts
    "pipe-to-shell-plain": (
        "critical",
        "critical",
        "runs what it fetches from an address that anybody can answer for",
    ),
    "pipe-to-shell": ("critical", "warning", "runs what it fetches from the network"),
    "pipe-to-shell-hosted": ("warning", "warning", "runs what anybody may have put on GitHub"),
    "pipe-to-shell-known": ("note", "note", "runs the installer of a known program from the network"),
}

SCAN_RULES: tuple[ScanRule, ...] = (
    _rule(
        "encoded-execution",
        "critical",
        "runs what it has decoded first",
        r"\b(?:base64\s+(?:-d|-D|--decode)|xxd\s+-r)\b[^|]{0,80}\|\s*(?:sudo\s+)?(?:/bin/)?(?:ba|z|da)?sh\b",
        (r"\b(?:eval|source)\b", r"\bbase64\s+(?:-d|-D|--decode)\b"),
        rf"\b(?:exec|eval)\s*\(\s*{_DECODED}\s*\(",
        r"\b(?:eval|Function)\s*\(\s*(?:atob|Buffer\.from)\s*\(",
        (r"\bpowershell\b", r"\s-e(?:nc|ncodedcommand)?\s+[A-Za-z0-9+/=]{20}"),
        words=("base64", "xxd", "exec", "eval", "function", "powershell"),
    ),
    _rule(
        "environment-upload",
        "critical",
        "sends the environment, where secrets are, to somebody",
        (_PIPED, _SEND),
        (r"(?:\$\(|`)\s*(?:env|printenv)\s*[)`|]", _SEND),
        (r"\.(?:post|put)\(", r"=\s*(?:dict\()?os\.environ\b(?!\s*[\[.])"),
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
        (_SECRETS, _SEND, r"\||[=\"']@|\s-[FTd]\s|--post-file|--data|\$\(cat|open\(|<\s*[~/$]"),
        words=_PLACES,
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
        (r"\b(?:nc|ncat|netcat)\s", r"\s-e\s*/?[\w/]{0,20}sh\b"),
        (r"\bmkfifo\b", r"\b(?:nc|ncat|netcat)\s"),
        (r"socket\.socket\(", r"\bdup2\("),
        (r"\bpty\.spawn\(", r"sh[\"']"),
        words=("/dev/tcp", "nc", "mkfifo", "socket", "pty.spawn"),
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
        "[\U000e0001\U000e0020-\U000e007f]",
        "[\u200b\u200c\u200d\u2060\u2061-\u2064\ufeff]{8}",
        "[\U000e0100-\U000e01ef]{4}",
    ),
    _rule(
        "bidirectional-text",
        "critical",
        "has characters that turn the direction of text, so that it is not what it looks like",
        "[\u202a\u202b\u202d\u202e\u2066-\u2068]",
    ),
    _rule(
        "hidden-character", "note", "has a character that nobody sees", "[\u200b\u2060-\u2064\ufeff\u00ad]"
    ),
    _rule(
        "instructions-to-hide",
        "warning",
        "asks a model to go against those who use it",
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
    "nested-archive": ("critical", "is an archive, or compressed; what is in it was not looked at"),
    "zero-byte": ("critical", "has zero bytes in it, as texts have not"),
    "run-by-tools": ("critical", "is run by {what} by itself, outside of the sandbox"),
    "run-by-tools-there": ("warning", "is run by {what} where somebody starts that in this folder"),
    "binary-file": ("warning", "is neither text nor a picture, a font, a film or the like"),
    "not-a-file": ("warning", "is a link, a device or a pipe"),
}
# What nobody has looked at, or what runs by itself, is accepted for one file as it is, and not for any other.
BY_FILE = frozenset({"too-large", "executable-file", "nested-archive", "zero-byte", "run-by-tools"})
RULE_NAMES: tuple[str, ...] = (*FETCH_RULES, *(rule.name for rule in SCAN_RULES), *FILE_RULES)
