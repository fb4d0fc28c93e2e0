"""Texts that fit a parameter, by its name and by what is said of it: a workbook's name for a workbook.

Not random, and not checked: they show a reader what kind of value is meant.
"""

import re
from collections.abc import Sequence
from typing import TypeAlias

Rows: TypeAlias = Sequence[tuple[str, str]]
Patterns: TypeAlias = Sequence[tuple[re.Pattern[str], str]]

# By the format that a schema demands.
FORMATS = {
    "date": "2026-01-31",
    "time": "12:00:00Z",
    "date-time": "2026-01-31T12:00:00Z",
    "email": "ada@example.com",
    "uri": "https://example.com",
    "url": "https://example.com",
    "uuid": "00000000-0000-4000-8000-000000000001",
    "ipv4": "192.0.2.1",
    "hostname": "example.com",
}
# By the name of a parameter that can mean one thing only; the first that fits counts.
_PLAIN_NAMES = (
    (r"[eE].?mail", "ada@example.com"),
    (r"uuid|UUID|Uuid", FORMATS["uuid"]),
    (r"(^|_)arn$|Arn$", "arn:aws:s3:eu-west-1:123456789012:example"),
    (r"(^|_)(id|ID|key|token)s?$|(?<=[a-z])(Id|ID|Key|Token)s?$", "example1"),
)
# By the name of any other.
_NAMES = (
    (r"sheet.?name|worksheet", "Sheet1"),
    (r"table.?(name|id)?$", "orders"),
    (r"collection.?(name)?$", "documents"),
    (r"bucket", "example-bucket"),
    (r"database|^db", "shop"),
    (r"^(cell|range|start.?cell|end.?cell)", "A1"),
    (r"date|since|until|before$|after$|(^|_)day$", "2026-01-31"),
    (r"(^|_)time$|Time$|timestamp", "2026-01-31T12:00:00Z"),
    (r"^sql$|statement", "SELECT 1"),
    (r"query|search|keyword|term|question", "quarterly report"),
    (r"channel", "general"),
    (r"branch", "main"),
    (r"^repo", "example"),
    (r"country", "US"),
    (r"city|^location|^place|address", "Berlin"),
    (r"currency", "EUR"),
    (r"colou?r", "#336699"),
    (r"symbol|ticker", "AAPL"),
    (r"version", "1.0.0"),
    (r"host|domain", "example.com"),
    (r"selector", "#main"),
    (r"expression", "1 + 1"),
    (r"^code$|script", "print(1)"),
    (r"column|field|attribute|property", "name"),
    (r"owner|user|author|assignee|(first|last|full|display).?name", "ada"),
    (r"title|subject|summary|heading", "Quarterly report"),
    (r"message|text|content|body|comment|description|prompt|note|caption", "Hello from Satchel"),
    (r"lang", "en"),
    (r"region", "eu-west-1"),
)

_ADDRESS = re.compile(r"ur[il]s?$|link|href|website", re.IGNORECASE)
_FOLDER = re.compile(r"dir|folder|repo.*path|^root|workspace|project.?path", re.IGNORECASE)
_FILE = re.compile(r"path|file|document|workbook|spreadsheet|presentation|image|attachment", re.IGNORECASE)
_ENDING = re.compile(
    r"\.(xlsx|csv|docx|pptx|pdf|json|ya?ml|md|html|png|jpe?g|svg|mp4|mp3|wav|zip|py|sql|db)\b"
)
# By what is said about a file; words that are clear come first.
_KINDS = (
    (r"dockerfile", "Dockerfile"),
    (r"workbook|spreadsheet|excel|xlsx", "report.xlsx"),
    (r"powerpoint|pptx|slide|presentation", "report.pptx"),
    (r"docx|word document|ms word|microsoft word", "report.docx"),
    (r"\bpdfs?\b|_pdf|pdf_", "report.pdf"),
    (r"\bcsv\b", "data.csv"),
    (r"screenshot|image|picture|photo|\bicon", "picture.png"),
    (r"video|\bmp4\b", "video.mp4"),
    (r"audio|\bmp3\b|speech|recording", "audio.mp3"),
    (r"notebook|ipynb", "notebook.ipynb"),
    (r"markdown", "notes.md"),
    (r"sqlite|database file", "data.db"),
    (r"\bjson\b", "data.json"),
    (r"\byaml\b", "settings.yaml"),
    (r"\bhtml\b", "page.html"),
    (r"\bzip\b|archive", "files.zip"),
    (r"source (code|file)|code file|syntax|\bpython\b", "main.py"),
    (r"\bword\b", "report.docx"),
)
# By the language that a query is in.
_LANGUAGES = (
    (r"\bsql\b", "SELECT 1"),
    (r"cypher", "MATCH (n) RETURN n LIMIT 5"),
    (r"gremlin", "g.V().limit(5)"),
    (r"graphql", "{ viewer { login } }"),
    (r"\bjql\b", "project = DEMO"),
    (r"promql", "up"),
)
_CONTAINER = re.compile(r"container|docker|\becr\b|\boci\b", re.IGNORECASE)


def _compiled(rows: Rows, flags: int = re.IGNORECASE) -> Patterns:
    return tuple((re.compile(pattern, flags), text) for pattern, text in rows)


_PLAIN = _compiled(_PLAIN_NAMES, 0)  # `paid` is not an ID, `accountId` is one
_PATTERNS, _FILES, _QUERIES = map(_compiled, (_NAMES, _KINDS, _LANGUAGES))


def sample_text(name: str, about: str, around: str) -> str:
    """A text for a parameter of that name; `around` is about the tool, and tells what `about` leaves open."""
    if found := _first(_PLAIN, name):
        return found
    if _ADDRESS.search(name):
        file = _file(f"{name} {about}")
        return f"https://example.com/{file}" if file else "https://example.com"
    said = f"{about} {around}"
    if name.lower().startswith("image") and _CONTAINER.search(said):
        return "example:latest"
    if _FOLDER.search(name):
        return _rooted("projects/example", about)
    if _FILE.search(name):
        return _rooted(_file(f"{name} {about}") or _file(around) or "notes/example.txt", about)
    if "query" in name.lower() and (found := _first(_QUERIES, said)):
        return found
    return _first(_PATTERNS, name) or "example"


def _file(text: str) -> str:
    """The name of a file of the kind that a text speaks of; empty where it speaks of none."""
    ending = _ENDING.search(text)
    if ending:
        return f"report{ending.group()}"
    return _first(_FILES, text)


def _rooted(path: str, about: str) -> str:
    return f"/home/ada/{path}" if "absolute" in about.lower() else path


def _first(rows: Patterns, text: str) -> str:
    return next((sample for pattern, sample in rows if pattern.search(text)), "")
