"""Real checkers on real wrappers: what they must find, and what they must not."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from deno import find_deno_bin

from satchel.errors import SandboxError
from satchel.languages import Language
from satchel.sandbox.checking.findings import check_command, describe, read_findings
from satchel.sandbox.checking.model import Finding, Places
from tests.codegen.helpers import generate_tree, make_servers

GUEST = Path(__file__).parents[3] / "src/satchel/sandbox/guest"
TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


def record(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


DOCUMENT = record(
    *("id", "title", "content", "size"),
    id=TEXT,
    title=TEXT,
    content=TEXT,
    size=WHOLE,
    owner=record("name", name=TEXT, email=TEXT),
    tags={"type": "array", "items": TEXT},
)
ROWS = {"type": "array", "items": record("id", "title", "modified_at", id=TEXT, title=TEXT, modified_at=TEXT)}
FILTER = record("status", status={"enum": ["open", "closed"]}, label=TEXT, **{"from": TEXT})
ORDER = {"enum": ["newest", "oldest"]}
NUMBERS = {"type": "array", "items": {"type": "number"}}
DEFINITIONS: dict[str, list[dict[str, Any]]] = {
    "google-drive": [
        {
            "name": "get_document",
            "inputSchema": record("document_id", document_id=TEXT, max_chars=WHOLE),
            "outputSchema": DOCUMENT,
        },
        {
            "name": "list_documents",
            "inputSchema": record(folder=TEXT, query=TEXT, order=ORDER),
            "outputSchema": record("documents", documents=ROWS, next={"type": ["string", "null"]}),
        },
    ],
    "tracker": [
        {
            "name": "search_issues",
            "inputSchema": record(
                "filter", filter=FILTER, limit=WHOLE, labels={"type": "array", "items": TEXT}, sizes=NUMBERS
            ),
        },
        {
            "name": "count_issues",
            "inputSchema": record(project=TEXT),
            "outputSchema": {**record("result", result=WHOLE), "x-fastmcp-wrap-result": True},
        },
    ],
    "team-chat": [
        {"name": "post_message", "inputSchema": record("channel", "text", channel=TEXT, text=TEXT)}
    ],
}
for _tools in DEFINITIONS.values():
    for _tool in _tools:
        _tool["inputSchema"]["additionalProperties"] = False  # so that no other arguments fit


@dataclass(frozen=True, kw_only=True)
class Checker:
    """Runs the checker as it would run in the box, but in a plain process."""

    language: Language
    places: Places
    home: Path

    def run(self, code: str) -> subprocess.CompletedProcess[str]:
        return self._check({"main": code})

    def _check(self, programs: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        ending = "py" if self.language == "python" else "ts"
        files = [Path(self.places.program) / f"{name}.{ending}" for name in programs]
        for file, code in zip(files, programs.values(), strict=True):
            file.write_text(code)
        *command, _ = check_command(self.language, self.places)
        environment = {
            **os.environ,
            "XDG_CONFIG_HOME": "/dev/null",
            "NO_COLOR": "1",
            "HOME": str(self.home),
            "DENO_DIR": str(self.home / "deno"),
        }
        environment.pop("VIRTUAL_ENV", None)
        return subprocess.run(
            [*command, *map(str, files)],
            cwd=self.home,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def findings(self, code: str) -> tuple[Finding, ...]:
        done = self.run(code)
        return read_findings(
            self.language,
            code,
            stdout=done.stdout,
            stderr=done.stderr,
            exit_code=done.returncode,
            places=self.places,
        )

    def findings_of_each(self, codes: Sequence[str]) -> list[tuple[Finding, ...]]:
        """One start of the checker for many programs that can all be parsed, and find what they import."""
        programs = {f"program{number}": code for number, code in enumerate(codes)}
        done = self._check(programs)
        return [
            read_findings(
                self.language,
                code,
                stdout=done.stdout,
                stderr=done.stderr.replace(f"/{name}.ts:", "/main.ts:"),  # those of others don't count
                exit_code=done.returncode,
                places=self.places,
            )
            for name, code in programs.items()
        ]

    def told(self, code: str) -> str:
        return describe(self.language, code, self.findings(code))


def make_checker(language: Language, program: Path, directory: Path) -> Checker:
    generate_tree(directory / "code-api", make_servers(DEFINITIONS), languages=[language])
    places = Places(
        program=str(directory / "program"),
        wrappers=str(directory / "code-api" / language),
        runtime=str(GUEST / "python"),
        support=str(GUEST / "python" / "satchel_check"),
        programs=str(program.parent),
        packages=str(directory / "packages"),
    )
    for place in (places.program, places.packages, directory / "workspace"):
        Path(place).mkdir()
    for name in ("servers", "helpers", "satchel-runtime"):
        (directory / "program" / name).symlink_to(directory / "code-api" / language / name)
    shutil.copy(GUEST / "typescript/satchel-guest/program.json", directory / "program" / "deno.json")
    return Checker(language=language, places=places, home=directory / "workspace")


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Checker:
    beside = Path(sys.executable).parent
    program = shutil.which("ty", path=f"{beside}:{os.environ['PATH']}")
    if program is None:
        pytest.skip("ty is not installed")
    return make_checker("python", Path(program), tmp_path_factory.mktemp("python"))


@pytest.fixture(scope="module")
def typescript(tmp_path_factory: pytest.TempPathFactory) -> Checker:
    return make_checker("typescript", Path(find_deno_bin()), tmp_path_factory.mktemp("typescript"))


RIGHT_PYTHON = {
    "the_example_of_the_documentation": """\
from servers.google_drive import get_document, list_documents
from servers.team_chat import post_message

found = await list_documents(folder="Finance/Quarterly Reports", query="Quarterly")
newest = max(found.documents, key=lambda document: document.modified_at)
report = await get_document(document_id=newest.id)
findings = [line for line in report.content.splitlines() if line.startswith("Finding:")]
await post_message(channel="sales", text=f"{len(findings)} findings of {newest.title}")
print(f"{newest.title}: {len(findings)} findings noted")
result = {"document": newest.id, "findings": len(findings)}
""",
    "text_that_may_be_json": """\
import json, re
from collections import Counter, defaultdict
from datetime import datetime, timedelta
from servers.team_chat import post_message

raw = await post_message(channel="a", text="b")
data = json.loads(raw) if isinstance(raw, str) else raw
by_day = defaultdict(list)
for item in data["items"]:
    day = datetime.fromisoformat(item["at"]).date()
    by_day[day].append(item)
counts = Counter(word for item in data["items"] for word in re.findall(r"\\w+", item["text"]))
print(counts.most_common(3), datetime.now() - timedelta(days=3))
result = {str(day): len(items) for day, items in by_day.items()}
""",
    "calls_at_once": """\
import asyncio
from servers.google_drive import get_document

ids = ["a", "b", "c"]
documents = await asyncio.gather(*[get_document(document_id=i) for i in ids])
total = sum(document.size for document in documents)
first, second = await asyncio.gather(get_document(document_id="x"), get_document(document_id="y"))
print(total, first.title, second["title"])
""",
    "failures_among_calls_at_once": """\
import asyncio
from servers.google_drive import get_document

outcomes = await asyncio.gather(*(get_document(document_id=i) for i in "abc"), return_exceptions=True)
for outcome in outcomes:
    if isinstance(outcome, Exception):
        print("failed", outcome)
    else:
        print(outcome.title)
""",
    "failures_left_out": """\
import asyncio
from servers.google_drive import get_document

outcomes = await asyncio.gather(*(get_document(document_id=i) for i in "abc"), return_exceptions=True)
good = [o for o in outcomes if not isinstance(o, Exception)]
print([o["title"] for o in good])
""",
    "a_call_without_a_wrapper": """\
value = await call_mcp_tool("slack__list_channels", {"limit": 5})
print(value["channels"][0]["name"])
for channel in value.get("channels", []):
    print(channel)
""",
    "blocking_twins": """\
from servers.google_drive.sync import get_document, list_documents
from servers.team_chat.sync import post_message

for row in list_documents(folder="x").documents:
    document = get_document(document_id=row.id)
    print(document.title, document.size + 1)
answer = post_message(channel="a", text="b")
print(answer["ok"])
""",
    "helpers_without_types": """\
from servers.google_drive import get_document

def shorten(text, length=10, *, suffix=None):
    if suffix:
        return text[:length] + suffix
    return text[:length]

async def fetch(document_id):
    try:
        document = await get_document(document_id=document_id)
        return document.title
    except Exception as error:
        return {"error": str(error)}

def summary(rows, seen=None):
    seen = seen or {}
    for row in rows:
        seen.setdefault(row["kind"], []).append(row)
    return seen

print(shorten(str(await fetch("x"))), summary([{"kind": "a"}]))
""",
    "a_main_function": """\
import asyncio
from servers.google_drive import get_document

async def main():
    document = await get_document(document_id="x")
    print(document.title)
    return document

if __name__ == "__main__":
    asyncio.run(main())
""",
    "what_a_server_may_leave_out": """\
from servers.google_drive import get_document, list_documents

document = await get_document(document_id="x")
print(document.owner.name, document.tags[0], len(document.tags))
for tag in document.tags:
    print(tag.upper())
if document.owner:
    print(document.owner.email.lower())
page = await list_documents()
while page.next:
    page = await list_documents(query=page.next)
""",
    "a_dict_for_a_record": """\
from servers.tracker import search_issues

first = await search_issues(filter={"status": "open", "label": "bug"}, limit=5)
filter = {"status": "open"}
second = await search_issues(filter=filter)
for issue in first["issues"] + second["issues"]:
    print(issue["title"])
""",
    "a_record": """\
from servers.tracker import search_issues, count_issues
from servers.tracker.search_issues import Filter

issues = await search_issues(filter=Filter(status="open", from_="ann"), labels=["a", "b"])
print(len(issues), await count_issues() + 1)
""",
    "a_choice_in_a_variable": """\
from servers.google_drive import list_documents

for order in ("newest", "oldest"):
    page = await list_documents(order=order)
    print(len(page.documents))
orders = ["newest", "oldest"]
for order in orders:
    await list_documents(order=order)
direction = "newest" if len(orders) > 1 else "oldest"
await list_documents(order=direction)
""",
    "arguments_in_a_dict": """\
from servers.google_drive import list_documents, get_document

options = {"folder": "x", "query": "y"}
page = await list_documents(**options)
extra = {}
if page.documents:
    extra["max_chars"] = 100
document = await get_document(document_id="a", **extra)
mixed = {"document_id": "a", "max_chars": 5}
await get_document(**mixed)
print(document.get("title"), document["title"], document.get("unknown", 3))
""",
    "names_used_again": """\
import json
from pathlib import Path
from servers.google_drive import get_document

document = await get_document(document_id="x")
document = document.content
lines = document.splitlines()
lines = "\\n".join(lines[:3])
total = 0
total += 1.5
total = f"{total:.2f}"
path = Path("/workspace/out.json")
path = str(path)
data = None
for n in range(3):
    if data is None:
        data = []
    data.append(n)
best = None
for item in data:
    if best is None or item > best:
        best = item
print(best + 1, json.dumps({"a": lines}))
with open(path, "w") as file:
    json.dump(data, file)
""",
    "a_name_bound_in_a_loop": """\
import re
from servers.google_drive import get_document

document = await get_document(document_id="x")
for line in document.content.splitlines():
    match = re.search(r"total: (\\d+)", line)
    if match:
        total = int(match.group(1))
print(total, re.match("a", "abc").group(0))
""",
    "errors_and_verbs": """\
from satchel_runtime import ToolError, call_tool, search_tools
from servers.google_drive import get_document

try:
    document = await get_document(document_id="missing")
except ToolError as error:
    print(error.kind, error.server, error.tool, error.message)
except PermissionError:
    print("refused")
tools = await search_tools("documents", limit=3)
for tool in tools["tools"]:
    print(tool["name"])
print(await call_tool("team-chat", "post_message", {"channel": "a", "text": "b"}))
""",
    "other_ways_to_import": """\
from helpers.call_mcp_tool import call_mcp_tool
import servers.google_drive
from servers import google_drive as drive, team_chat

document = await drive.get_document(document_id="x")
await team_chat.post_message(channel="a", text=document.title)
print(await servers.google_drive.list_documents(), await call_mcp_tool("a__b"))
""",
    "classes": """\
from __future__ import annotations
import csv, io, itertools, math, statistics, textwrap, sys, os, time
from dataclasses import dataclass, field, asdict
from typing import Any, Optional

@dataclass
class Row:
    name: str
    amount: float = 0
    tags: list[str] = field(default_factory=list)
    parent: Optional[Row] = None

class Report:
    def __init__(self, rows):
        self.rows = rows
        self.cache = {}
    def total(self):
        return sum(r.amount for r in self.rows)

rows = [Row(name=n, amount=float(a)) for n, a in csv.reader(io.StringIO("a,1\\nb,2"))]
report = Report(rows)
report.extra = 5
print(report.total(), asdict(rows[0]), statistics.mean(r.amount for r in rows), math.sqrt(4))
rows.sort(key=lambda r: (-r.amount, r.name))
groups = {k: list(g) for k, g in itertools.groupby(rows, key=lambda r: r.name[0])}
writer = csv.DictWriter(sys.stdout, fieldnames=["a"])
writer.writerow({"a": 1})
config: dict[str, Any] = {}
config["x"] = {"y": 1}
print(config["x"]["y"], os.environ.get("HOME").upper(), groups)
result = {"total": report.total()}
""",
    "dicts_of_anything": """\
totals = {}
rows = [{"name": "a", "amount": 3, "tags": ["x"]}, {"name": "b", "amount": 5, "tags": []}]
for row in rows:
    totals[row["name"]] = totals.get(row["name"], 0) + row["amount"]
    for tag in row["tags"]:
        print(tag.upper())
summary = {"rows": [], "count": 0, "meta": None}
for row in rows:
    summary["rows"].append(row["name"])
    summary["count"] += 1
summary["meta"] = {"best": max(rows, key=lambda row: row["amount"])}
summary["meta"]["best"]["name"] = "z"
print(sorted(totals.items(), key=lambda pair: pair[1], reverse=True)[:3], max(totals, key=totals.get))
result = summary
""",
    "tasks_and_async_blocks": """\
import asyncio
from servers.google_drive import get_document

semaphore = asyncio.Semaphore(3)

async def one(document_id: str):
    async with semaphore:
        return await get_document(document_id=document_id)

tasks = [asyncio.create_task(one(i)) for i in ("a", "b")]
for task in asyncio.as_completed(tasks):
    print((await task).title)
async with asyncio.timeout(5):
    await asyncio.sleep(0)
titles = {d.id: d.title for d in [await one(i) for i in "ab"]}
async def aiter_of(items):
    for item in items:
        yield item

async for _ in aiter_of([1, 2]):
    pass
""",
    "a_module_that_may_be_missing": """\
try:
    import tomllib
except ImportError:
    import tomli as tomllib
try:
    import orjson
except ImportError:
    orjson = None
print(tomllib.loads("a = 1"), orjson)
""",
    "matching": """\
from servers.google_drive import list_documents
page = await list_documents()
names = [d.title for d in page.documents if "x" in d.title.lower()]
print(*names, sep="\\n")
print("%s of %d" % (names, len(names)))
match page.documents:
    case [first, *_]:
        print(first.title)
    case _:
        print("none")
exit(0)
""",
    "coroutines_kept_for_later": """\
import asyncio
from servers.google_drive import get_document
coroutine = get_document(document_id="x")
document = await coroutine
task = asyncio.ensure_future(get_document(document_id="y"))
print(document.title, (await task).title)
results = []
for i in range(2):
    results.append(await get_document(document_id=f"{i}"))
print(sum(len(r.content) for r in results) / len(results))
""",
    "a_record_as_a_dict": """\
from servers.google_drive import get_document
document = await get_document(document_id="x")
document["note"] = "mine"
document.update(extra=3)
print(document["note"], dict(document), list(document), {**document}, document | {"a": 1})
for key, value in document.items():
    print(key, value)
title, size = document.title, document.size
print(title.strip() + str(size), f"{size:,}", size / 3)
""",
    "numbers": """\
from servers.tracker import count_issues, search_issues
count = await count_issues(project="a")
print(f"{count / 3:.1f}", round(count * 1.5), int(count), count % 2 == 0)
limit = min(count, 10)
issues = await search_issues(filter={"status": "closed"}, limit=limit, labels=list({"a", "b"}))
print([i["id"] for i in issues][:3], issues.count if hasattr(issues, "count") else None)
""",
    "narrowing": """\
from servers.google_drive import get_document, list_documents
from servers.team_chat import post_message

data = await post_message(channel="a", text="b")
if isinstance(data, dict):
    data = data.get("items", [])
elif isinstance(data, str):
    data = data.splitlines()
items = data if isinstance(data, list) else [data]
for item in items:
    print(item["name"] if isinstance(item, dict) else item.strip())
    order = item.get("order")
    if order and isinstance(order, str):
        await list_documents(order=order, folder=item["folder"])
document = await get_document(document_id="x")
if hasattr(document, "summary"):
    print(document.summary)
print(getattr(document, "other", None), document.get("owner", {}).get("name"))
orders = document.content.split()
if orders[0]:
    await list_documents(order=orders[0], query=orders[-1] or None)
""",
    "comprehensions_and_sorting": """\
import heapq, operator, random, string, uuid, base64, hashlib, functools, subprocess, urllib.parse
from datetime import date, datetime, timezone
from servers.google_drive import get_document, list_documents

page = await list_documents(folder="x")
titles = sorted({d.title for d in page.documents}, key=str.lower)
pairs = {d.id: (d.title, d.modified_at) for d in page.documents}
oldest = min(page.documents, key=operator.attrgetter("modified_at"), default=None)
print(heapq.nlargest(2, pairs.items(), key=lambda pair: pair[1][1]), oldest.title if oldest else "none")
text = "".join([(await get_document(document_id=i)).content for i in pairs])
words = {}
for word in text.lower().translate(str.maketrans("", "", string.punctuation)).split():
    words[word] = words.get(word, 0) + 1
print(dict(sorted(words.items(), key=lambda item: -item[1])[:10]), sum(words.values()) / max(len(words), 1))
stamp = datetime.strptime("2024-01-02", "%Y-%m-%d").replace(tzinfo=timezone.utc)
print((datetime.now(timezone.utc) - stamp).days, date.today().isoformat())
print(hashlib.sha256(text.encode()).hexdigest(), base64.b64encode(text.encode()).decode())
print(functools.reduce(lambda a, b: a + b, [len(t) for t in titles], 0), urllib.parse.quote(text[:5]))
print(subprocess.run(["ls"], capture_output=True, text=True).stdout.split("\\n"))
total, *rest = [1, 2, 3]
first, second = (await list_documents()).documents[:2]
matrix = [[0] * 3 for _ in range(3)]
matrix[0][1] += total
print(f"{first.title!r:>10} {total:05.1f} {len(rest):,}", second["id"], matrix)
print(random.choice(titles), uuid.uuid4().hex)
""",
    "sloppy_types": """\
def half(value: int = None) -> int:
    return value / 2

class Account:
    limit: int = None

    def add(self, amount: int):
        self.total = amount

half("3" if input() else 3.5)
half(None)
account = Account()
account.add("5")
print(account.total, account.limit + 1 if account.limit else 0)
class Options:
    def __init__(self, **options):
        for name, value in options.items():
            setattr(self, name, value)

    def text(self):
        return f"{self.name}"

print(Options(name="a").text(), Options(name="b").name)
class Base:
    def run(self):
        return self.step() + 1

class Derived(Base):
    def step(self):
        return 1

print(Derived().run())
seen = None

def remember(name):
    global seen
    seen = [*(seen or []), name]

remember("a")
print("a" in seen, seen[0])
globals()["made"] = 3
print(made)
half.calls = 1
print(half.calls)
""",
    "lists_and_tuples": """\
from servers.tracker import search_issues

sizes = [1, 2]
labels = ("a", "b")
await search_issues(filter={"status": "open"}, sizes=sizes, labels=labels)
await search_issues(filter={"status": "open"}, sizes=(1, 2.5))
""",
    "a_name_set_by_a_function": """\
import asyncio
from servers.team_chat import post_message

def load():
    global cache
    cache = {"a": 1}

load()
print(cache["a"])
asyncio.create_task(post_message(channel="a", text="b"))
rows = [await post_message(channel=c, text="b") for c in "ab"]
if rows:
    for row in rows:
        await post_message(
            channel="a",
            text=str(row),
        )
""",
    "a_module_of_an_environment": """\
import installed

print(installed.anything().at["all"])
""",
    "nothing": "",
}


@pytest.mark.parametrize("name", RIGHT_PYTHON)
def test_a_right_python_program_has_no_findings(python: Checker, name: str) -> None:
    (Path(python.places.packages) / "installed.py").write_text("def anything(): return load()\n")
    assert python.findings(RIGHT_PYTHON[name]) == ()


DRIVE = "from servers.google_drive import get_document, list_documents\n"
ISSUES = "from servers.tracker import count_issues, search_issues\n"
GET = DRIVE + 'document = await get_document(document_id="x")\n'
WRONG_PYTHON = [
    (DRIVE + 'await get_document(doc_id="x")', 2, "`doc_id` does not match any known parameter"),
    (DRIVE + 'await get_document(document_id="x", lines=3)', 2, "`lines` does not match"),
    (DRIVE + "await get_document(max_chars=3)", 2, "required parameter `document_id`"),
    (DRIVE + 'await get_document("x")', 2, "Too many positional arguments"),
    (DRIVE + 'await get_document(document_id=["x"])', 2, "Expected `str`, found `list[str]`"),
    (DRIVE + 'await get_document(document_id="x", max_chars="9")', 2, "Expected `int`"),
    (DRIVE + 'await get_document(document_id={"id": "x"})', 2, "Expected `str`, found `dict"),
    (DRIVE + 'await list_documents(order="latest")', 2, 'Expected `Literal["newest", "oldest"]`'),
    (ISSUES + 'await search_issues(filter="open")', 2, "Expected `dict[str, Any]`"),
    (ISSUES + 'await search_issues(filter={"status": "open"}, labels="bug")', 2, "Expected `list[str]`"),
    (
        "from servers.tracker.search_issues import Filter\nprint(Filter(state='open'))",
        2,
        "Argument `state` does not match",
    ),
    ("from servers.google_drive.sync import get_document\nget_document()", 2, "document_id"),
    ("from servers.google_drive.sync import get_document\nget_document(document_id='x').titel", 2, "titel"),
    (GET + "print(document.titel)", 3, "`GetDocumentOutput` has no attribute `titel`"),
    (DRIVE + "page = await list_documents()\nprint([row.name for row in page.documents])", 3, "`name`"),
    (DRIVE + "page = await list_documents()\nmax(page.documents, key=lambda d: d.age)", 3, "`age`"),
    (DRIVE + "async def f(i):\n    d = await get_document(document_id=i)\n    return d.titel", 4, "titel"),
    (GET + "print(document.title.trim())", 3, "`str` has no attribute `trim`"),
    (GET + "print(document.title + document.size)", 3, "between objects of type `str` and `int`"),
    (ISSUES + "print(len(await count_issues()))", 2, "Expected `Sized`, found `int`"),
    ("from servers.google_driv import get_document", 1, "module `servers.google_driv`"),
    ("try:\n    from servers.nowhere import a\nexcept ImportError:\n    pass", 2, "`servers.nowhere`"),
    ("from servers.google_drive import get_documents", 1, "has no member `get_documents`"),
    ("from servers.google_drive.sync import get_documents", 1, "has no member `get_documents`"),
    ("import requestz", 1, "module `requestz`"),
    ("total = 3\nprint(totl)", 2, "`totl`"),
    ("def f():\n    return missing", 2, "`missing`"),
    ("class A:\n    def f(self):\n        return self.missing\nA().f()", 3, "`missing`"),
    ("import json\njson.parse('{}')", 2, "has no member `parse`"),
    (DRIVE + "document = get_document(document_id='x')\nprint(document.title)", 3, "an `await` missing?"),
    (DRIVE + "document = get_document(document_id='x')\nprint(document['title'])", 3, "an `await` missing?"),
    (ISSUES + "for row in search_issues(filter={'status': 'open'}):\n    print(row)", 2, "`await` missing?"),
    (DRIVE + "print(len(list_documents()))", 2, "an `await` missing?"),
    ("value = call_mcp_tool('a__b')\nprint(value['x'])", 2, "an `await` missing?"),
    ("await call_mcp_tool('a__b', 'text')", 1, "Expected `Mapping[str, Any] | None`"),
    (DRIVE + "get_document(document_id='x')", 2, "is not awaited"),
    ("from servers.google_drive.sync import list_documents\nawait list_documents()", 2, "not awaitable"),
    (DRIVE + "def f():\n    return await list_documents()\nprint(f())", 3, "outside of an asynchronous"),
    ("x = 1\nprint(x\ny = 2", 3, "Expected `,`"),
    ("return 5", 1, "outside of a function"),
]


@pytest.mark.parametrize(("code", "line", "fragment"), WRONG_PYTHON)
def test_a_wrong_python_program_is_found_out(python: Checker, code: str, line: int, fragment: str) -> None:
    assert_found(python, code, line, fragment)


def assert_found(checker: Checker, code: str, line: int, fragment: str) -> None:
    assert_are(checker, checker.findings(code), code, line, fragment)


def assert_are(checker: Checker, findings: Sequence[Finding], code: str, line: int, fragment: str) -> None:
    assert [row.message for row in findings if row.line == line and fragment in row.message], findings
    assert {row.line for row in findings} == {line}, "there is only one mistake"
    told = describe(checker.language, code, findings)
    assert checker.places.wrappers not in told and checker.places.program not in told


RIGHT_TYPESCRIPT = {
    "the_example_of_the_documentation": """\
import { getDocument, listDocuments } from "./servers/google-drive";
import { postMessage } from "./servers/team-chat";

const found = await listDocuments({ folder: "Finance", query: "Quarterly" });
const newest = found.documents.sort((a, b) => b.modified_at.localeCompare(a.modified_at))[0];
const report = await getDocument({ document_id: newest.id });
const findings = report.content.split("\\n").filter((line) => line.startsWith("Finding:"));
await postMessage({ channel: "sales", text: `${findings.length} findings of ${newest.title}` });
console.log(findings.length);
""",
    "what_a_server_may_leave_out": """\
import { getDocument, listDocuments } from "./servers/google-drive/index.ts";

const document = await getDocument({ document_id: "x" });
console.log(document.owner.name, document.owner?.email.length, document.tags[0], document.tags.length);
let page = await listDocuments({});
while (page.next) page = await listDocuments({ query: page.next });
for (const tag of document.tags) console.log(tag.toUpperCase());
""",
    "functions_without_types": """\
import { getDocument } from "./servers/google-drive";

function shorten(text, length = 10, options = {}) {
  return text.slice(0, length) + (options.suffix ?? "");
}
const fetchAll = async (ids) => await Promise.all(ids.map((id) => getDocument({ document_id: id })));
for (const document of await fetchAll(["a", "b"])) console.log(shorten(document.title));
""",
    "errors": """\
import { ToolError } from "satchel-runtime";
import { getDocument } from "./servers/google-drive/getDocument.ts";

try {
  await getDocument({ document_id: "x" });
} catch (error) {
  if (error instanceof ToolError) console.log(error.kind, error.tool);
  console.log(error.message, error.stack);
}
""",
    "a_call_without_a_wrapper": """\
const value = await callMCPTool("slack__list_channels", { limit: 5 });
console.log(value.channels[0].name, value.anything.at.all);
for (const channel of value.channels) console.log(channel.name);
""",
    "helpers": """\
import { callMCPTool } from "./helpers/callMCPTool";
import * as drive from "./servers/google-drive";

console.log(await callMCPTool("a__b"), await drive.listDocuments());
""",
    "objects_that_grow": """\
const totals = {};
const state = { items: [], best: null };
let best = null;
for (const [name, amount] of [["a", 1], ["b", 2]] as [string, number][]) {
  totals[name] = (totals[name] ?? 0) + amount;
  state.items.push({ name, amount });
  if (best === null || amount > best.amount) best = { name, amount };
}
totals.all = state.items.length;
const result = { count: 1 };
result.extra = 5;
console.log(best.name.toUpperCase(), totals.all, state.items[0].name, result.extra);
""",
    "a_choice_in_a_variable": """\
import { listDocuments } from "./servers/google-drive";
import { searchIssues } from "./servers/tracker";

let order = "newest";
const filter = { status: "open", label: "bug" };
console.log(await listDocuments({ order }), await searchIssues({ filter }));
for (const one of ["newest", "oldest"]) await listDocuments({ order: one });
""",
    "json_and_maps": """\
import { postMessage } from "./servers/team-chat";

const raw = await postMessage({ channel: "a", text: "b" });
const data = typeof raw === "string" ? JSON.parse(raw) : raw;
const counts = new Map();
for (const item of data.items) counts.set(item.kind, (counts.get(item.kind) ?? 0) + 1);
const groups = data.items.reduce((all, item) => { (all[item.kind] ||= []).push(item); return all; }, {});
console.log([...counts.entries()].sort((a, b) => b[1] - a[1]), Object.keys(groups), /a(b)/.exec("ab")[1]);
""",
    "types_of_its_own": """\
import { getDocument } from "./servers/google-drive";

interface Row { name: string; size?: number }
const rows: Row[] = [];
const byName: Record<string, Row> = {};
async function load(id: string): Promise<Row> {
  const document = await getDocument({ document_id: id, max_chars: 100 });
  return { name: document.title, size: document.size };
}
for (const id of ["a"]) { const row = await load(id); rows.push(row); byName[row.name] = row; }
console.log(rows.map((row) => row.size + 1), Object.values(byName).length, (rows as any).anything);
""",
    "files_and_node": """\
import { readFileSync } from "node:fs";
import path from "node:path";

const text = await Deno.readTextFile("/workspace/a.txt").catch(() => "");
await Deno.writeTextFile(path.join("/workspace", "b.txt"), text + readFileSync("/workspace/c.txt", "utf8"));
setTimeout(() => console.log(new Date().toISOString(), structuredClone({ a: 1 })), 10);
""",
    "a_result": """\
import { join } from "path";
import { getDocument } from "servers/google-drive";

result = { title: (await getDocument({ document_id: "x" })).title, path: join("a", "b") };
""",
    "an_exported_result": """\
const rows = [1, 2, 3].map((n) => ({ n, square: n ** 2 }));
export const result = rows.filter((row) => row.square > 1);
""",
    "a_promise_kept_for_later": """\
import { getDocument } from "./servers/google-drive";

const promise = getDocument({ document_id: "x" });
const [first, second] = await Promise.allSettled([promise, getDocument({ document_id: "y" })]);
if (first.status === "fulfilled") console.log(first.value.title);
console.log((await promise).size, second.status);
""",
}


@pytest.mark.slow
def test_right_typescript_programs_have_no_findings(typescript: Checker) -> None:
    """The last one has some, so the others were looked at."""
    *found, of_wrong = typescript.findings_of_each([*RIGHT_TYPESCRIPT.values(), "missing;"])
    assert {name: each for name, each in zip(RIGHT_TYPESCRIPT, found, strict=True) if each} == {}
    assert [row.message for row in of_wrong] == ["Cannot find name 'missing'."]


DRIVE_TS = 'import { getDocument, listDocuments } from "./servers/google-drive";\n'
WRONG_TYPESCRIPT = [
    (
        DRIVE_TS + 'await getDocument({ doc_id: "x" });',
        2,
        "'doc_id' does not exist in type 'GetDocumentInput'",
    ),
    (DRIVE_TS + "await getDocument({ max_chars: 3 });", 2, "Property 'document_id' is missing"),
    (DRIVE_TS + "await getDocument();", 2, "Expected 1 arguments, but got 0"),
    (
        DRIVE_TS + "await getDocument({ document_id: 5 });",
        2,
        "Type 'number' is not assignable to type 'string'",
    ),
    (DRIVE_TS + 'await listDocuments({ order: "latest" });', 2, '"newest" | "oldest"'),
    (
        DRIVE_TS + 'const d = await getDocument({ document_id: "x" });\nconsole.log(d.titel);',
        3,
        "Property 'titel' does not exist on type 'GetDocumentOutput'. Did you mean 'title'?",
    ),
    (
        DRIVE_TS + 'const d = getDocument({ document_id: "x" });\nconsole.log(d.title);',
        3,
        "'Promise<GetDocumentOutput>'. Did you forget to use 'await'?",
    ),
    (DRIVE_TS + "for (const d of listDocuments()) console.log(d);", 2, "Promise<ListDocumentsOutput>"),
    ('import { nope } from "./servers/google-drive";\nconsole.log(nope);', 1, "no exported member 'nope'"),
    ("const total = 3;\nconsole.log(totl);", 2, "Cannot find name 'totl'. Did you mean 'total'?"),
    ('const value = callMCPTool("a__b");\nconsole.log(value.x);', 2, "'Promise<any>'"),
]
BROKEN_TYPESCRIPT = [
    (
        "const total = 3;\nconsole.log(totl);",
        2,
        "Cannot find name 'totl'. Did you mean 'total'?",
    ),
    (
        'import { getDocument } from "./servers/google-driv";\nconsole.log(getDocument);',
        1,
        "servers/google-driv",
    ),
    ("const x = (1;\n", 1, "Expected ',', got ';'"),
    ('import lodash from "npm:lodash";\nconsole.log(lodash);', 1, "npm"),
    ('import { z } from "zod";\nconsole.log(z);', 1, "zod"),
]


@pytest.mark.slow
def test_wrong_typescript_programs_are_found_out(typescript: Checker) -> None:
    codes = [code for code, _, _ in WRONG_TYPESCRIPT]
    for expected, findings in zip(WRONG_TYPESCRIPT, typescript.findings_of_each(codes), strict=True):
        assert_are(typescript, findings, *expected)


@pytest.mark.slow
@pytest.mark.parametrize(("code", "line", "fragment"), BROKEN_TYPESCRIPT)
def test_a_typescript_program_that_can_not_be_loaded_is_found_out(
    typescript: Checker, code: str, line: int, fragment: str
) -> None:
    """The first one can be: alone, it is told as it would be among others."""
    assert_found(typescript, code, line, fragment)


def test_settings_that_a_program_left_behind_are_not_read(python: Checker) -> None:
    settings = python.home / ".config" / "ty" / "ty.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text("not = = settings")
    script = '# /// script\n# [tool.ty.rules]\n# unresolved-reference = "ignore"\n# ///\nprint(missing)\n'
    assert [row.line for row in python.findings(script)] == [5]


def test_modules_of_the_workspace_are_not_looked_at_and_not_missed(python: Checker) -> None:
    (python.home / "json.py").write_text("x = 1")  # stands in for nothing
    (python.home / "mine.py").write_text("x = 1")
    code = "import json, mine, nowhere\nprint(json.dumps(mine.x))\n"
    done = python.run(code)
    found = read_findings(
        "python", code, stdout=done.stdout, stderr=done.stderr, exit_code=done.returncode, local={"mine"}
    )
    assert [row.message for row in found] == ["Cannot resolve imported module `nowhere`"]


def test_what_a_program_writes_keeps_nobody_busy() -> None:
    text = "`a`: Expected `b`, found `" * 40
    row = f"/program/main.py:1:1: error[invalid-argument-type] Argument to `f` is incorrect: Expected `{text}"
    began = time.process_time()
    read_findings("python", "f(1)", stdout="\n".join([row] * 1000), stderr="", exit_code=1)
    row = "/program/main.py:1:1: error[missing-attribute] " + "`" * 1100
    read_findings("python", "f(1)", stdout="\n".join([row] * 1000), stderr="", exit_code=1)
    assert time.process_time() - began < 10  # seconds; it took minutes


def test_a_checker_that_breaks_is_not_a_finding(python: Checker) -> None:
    with pytest.raises(SandboxError, match=r"^ty could not check the program \(exit code -?\d+\)") as caught:
        python.findings("x = " + "-" * 100_000 + "1\n")
    assert caught.value.hint == "run it without check"
    with pytest.raises(SandboxError, match=r"deno could not check the program \(exit code 1\): error: no"):
        read_findings("typescript", "", stdout="", stderr="error: no such file\n", exit_code=1)


def test_what_is_told_is_short_and_has_the_line_beneath(python: Checker) -> None:
    code = GET + "if document:\n\tprint(document.titel)\n"
    assert python.told(code) == (
        "1 error; nothing was run\n"
        "main.py:4:8: Object of type `GetDocumentOutput` has no attribute `titel`\n"
        "  print(document.titel)\n"
        "        ^"
    )


def test_more_than_twenty_findings_are_counted() -> None:
    findings = [Finding(line=number, column=1, message="no") for number in range(1, 28)]
    lines = describe("python", "x\n" * 27, findings).splitlines()
    assert (lines[0], lines[-1]) == ("27 errors; nothing was run", "… and 7 more")
    assert len(lines) == 2 + 20 * 3


def test_lines_are_those_of_the_checker(python: Checker) -> None:
    code = 'text = "a\x0cb\u2028c"\r\nprint(text)\rprint(missing)\n'
    assert python.told(code).splitlines()[2:] == ["  print(missing)", "        ^"]


def test_a_place_that_is_not_in_the_program_is_told_without_its_line() -> None:
    findings = [Finding(line=9, column=1, message="a"), Finding(line=1, column=10**9, message="b")]
    told = describe("typescript", "let x;", findings)
    assert told == "2 errors; nothing was run\nmain.ts:9:1: a\nmain.ts:1:1000000000: b\n  let x;"


def test_long_lines_are_cut_around_the_place() -> None:
    code = "x" * 5000 + "HERE" + "y" * 5000
    told = describe("python", code, [Finding(line=1, column=5001, message="a")]).splitlines()
    assert max(map(len, told)) < 120
    assert told[2][told[3].index("^") :].startswith("HERE")


@pytest.mark.slow
@pytest.mark.timeout(100)
@pytest.mark.parametrize(
    "row",
    [
        "main.py:1:1: error[invalid-argument-type] Argument to function `a`: Expected `" * 100,
        "main.py:1:1: error[missing-attribute] \x1b[31m" + "`" * 100_000,
        "main.py:99999999:99999999: error[not-iterable] x",
        "main.py:" + "9" * 5000 + ":1: error[not-iterable] x",
        "main.py:1:1: error[invalid-syntax] `await` outside of an asynchronous function",
    ],
    ids=["argument", "ticks", "far", "number", "await"],
)
@pytest.mark.parametrize(
    "code",
    [
        "\n".join(" " * (number % 300) + "def x" for number in range(20_000)),
        "\n" * 1_000_000,
        " " * 1_000_000,
        "x" * 1_000_000,
        "",
    ],
    ids=["blocks", "lines", "spaces", "word", "nothing"],
)
def test_any_amount_of_anything_is_read_in_bounds(row: str, code: str) -> None:
    output = "main.py:1:1: a[b] c\n" + f"{row}\n" * (4_000_000 // len(row))
    began = time.process_time()
    findings = read_findings("python", code, stdout=output, stderr="", exit_code=1)
    told = describe("python", code, findings)
    assert time.process_time() - began < 15
    assert len(told) < 20_000
    assert "\x1b" not in told


@pytest.mark.timeout(100)
@pytest.mark.parametrize(
    "row", ["TS1 [ERROR]: " + "a" * 10_000, "    at file:///program/main.ts:1:1", "x", " ~~~", ""]
)
def test_any_amount_of_typescript_is_read_in_bounds(row: str) -> None:
    output = (
        f"{row}\n" * (900_000 // (len(row) + 1))
        + "TS2 [ERROR]: b\n    at file:///mnt/code-api/servers/a.ts:1:1\n"
    )
    began = time.process_time()
    findings = read_findings("typescript", "let x;", stdout="", stderr=output, exit_code=1)
    assert len(describe("typescript", "let x;", findings)) < 20_000
    assert time.process_time() - began < 15


def test_mistakes_of_a_wrapper_are_not_the_programs() -> None:
    output = "TS2304 [ERROR]: Cannot find name 'x'.\n    at file:///mnt/code-api/servers/a/b.ts:1:1\n"
    assert read_findings("typescript", "", stdout="", stderr=output, exit_code=1) == ()


def test_the_commands_are_those_of_the_box() -> None:
    command = check_command("python", Places(packages="/env/site-packages"), python_version="3.12")
    paths = [command[index + 1] for index, part in enumerate(command) if part == "--extra-search-path"]
    assert paths == [
        "/opt/satchel/python/satchel_check",
        "/mnt/code-api",
        "/opt/satchel/python",
        "/env/site-packages",
    ]
    assert (command[0], command[-1]) == ("/opt/satchel/bin/ty", "/program/main.py")
    assert check_command("typescript")[-2:] == ["--config=/program/deno.json", "/program/main.ts"]
