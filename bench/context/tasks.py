"""The tasks, and what an agent does for them: fixed turns, written by hand, without mistakes on either side.

A script yields the calls of one turn, which don't depend on each other, gets their answers, and returns what
it tells the user. With tools in its context it sends what it has read; with Satchel it searches, reads the
wrappers of what it will use, and runs programs. Both must arrive at the same words.
"""

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.context.client import Answer
from bench.context.conversation import ToolCall
from bench.context.servers import EXAMPLES
from bench.surroundings import ROOT
from satchel.languages import Language

Script = Generator[list[ToolCall], list[Answer], str]

PROGRAMS = Path(__file__).parent / "programs"
EXAMPLE_PROGRAMS = ROOT / "examples" / "programs"
NEXT_STEP = "Confirm the date with the customer before 30 November"


@dataclass(frozen=True, kw_only=True)
class Task:
    """`servers` are those it needs, `code` how it is done with Satchel, by language.

    `at_once` is how it is done directly in the fewest turns, where that is in another order.
    """

    name: str
    text: str
    servers: tuple[str, ...]
    direct: Callable[[], Script]
    code: Mapping[Language, Callable[[], Script]]
    at_once: Callable[[], Script] | None = None


# The running example


def _report_directly(*, at_once: bool) -> Script:
    """In the order of the task; or the deal with the first call, before the report is in the context."""
    find = _send("google-drive", "list_documents", folder="Finance/Quarterly Reports", query="Quarterly")
    look = _send("salesforce", "get_record", object_type="Opportunity", record_id="OPP-001")
    answers = yield ([find, look] if at_once else [find])
    latest = max(_value(answers[0])["documents"], key=lambda document: document["modified_at"])
    (document,) = yield [_send("google-drive", "get_document", document_id=latest["id"])]
    if not at_once:
        answers += yield [look]
    findings = _findings(_value(document)["content"])
    title, name = latest["title"], _value(answers[1])["fields"]["name"]
    body = "\n".join(line.replace("Finding:", "-") for line in findings)
    (note,) = yield [
        _send("salesforce", "add_note", record_id="OPP-001", title=f"Findings of {title}", body=body)
    ]
    number = _value(note)["id"]
    text = f"{name}: {len(findings)} findings of {title} are in {number}"
    yield [_send("slack", "post_message", channel="sales", text=text)]
    return _reported(len(findings), title, number, name)


def _report_in_code(language: Language) -> Script:
    searches = {
        "read documents in Google Drive": [
            "google-drive.list_documents",
            "google-drive.get_document",
        ],
        "get a Salesforce record and add a note to it": ["salesforce.get_record", "salesforce.add_note"],
        "post a message to a Slack channel": ["slack.post_message"],
    }
    yield from _find(searches)
    yield [_read_wrappers(language, [name for names in searches.values() for name in names])]
    suffix = {"python": "py", "typescript": "ts"}[language]
    code = (EXAMPLE_PROGRAMS / f"quarterly_report.{suffix}").read_text(encoding="utf-8")
    (printed,) = yield [_execute(code)]
    title, _, counted = printed.text.splitlines()[0].partition(": ")
    number, _, name = printed.text.splitlines()[1].removeprefix("noted as ").partition(" at OPP-001, ")
    return _reported(int(counted.split()[-2]), title, number, name)


def _reported(findings: int, title: str, note: str, name: str) -> str:
    return f"The {findings} findings of {title} are in {note} at OPP-001, {name}, and #sales knows."


# Ten records


def _update_directly() -> Script:
    (listed,) = yield [_send("salesforce", "list_opportunities", open_only=True, limit=10)]
    changed = [
        _send("salesforce", "update_opportunity", opportunity_id=deal["id"], next_step=NEXT_STEP)
        for deal in _value(listed)["opportunities"]
    ]
    updated = yield changed
    return _updated(_value(answer)["id"] for answer in updated)


def _update_in_code() -> Script:
    tools = ["salesforce.list_opportunities", "salesforce.update_opportunity"]
    yield from _find({"list open Salesforce opportunities, update an opportunity": tools})
    yield [_read_wrappers("python", tools)]
    (printed,) = yield [_execute(_program("update.py"))]
    return _updated(printed.text.split())


def _updated(ids: Any) -> str:
    return f"The next step is set for {', '.join(ids)}."


# A long document


def _summarise_directly() -> Script:
    (document,) = yield [_send("google-drive", "get_document", document_id="doc-006")]
    return "\n".join(_findings(_value(document)["content"]))


def _summarise_in_code() -> Script:
    tools = ["google-drive.get_document"]
    yield from _find({"read a document of Google Drive": tools})
    yield [_read_wrappers("python", tools)]
    (printed,) = yield [_execute(_program("summarise.py"))]
    return "\n".join(_findings(printed.text))


# One small call


def _post_directly() -> Script:
    yield [_send("slack", "post_message", channel="general", text="The new release is out.")]
    return "Posted to #general."


def _post_in_code() -> Script:
    search = {"post a message to a Slack channel": ["slack.post_message"]}
    yield from _find(search, detail="full", limit=3)
    yield [_execute(_program("post.py"))]
    return "Posted to #general."


EXAMPLE = Task(
    name="running example",
    text="Find the latest quarterly report in the folder Finance/Quarterly Reports of Google Drive. Its"
    " findings are the lines that begin with 'Finding:'. Attach them as a note, with a dash before each, to"
    " the opportunity OPP-001 in Salesforce, and tell #sales in Slack the name of the deal, how many findings"
    " there are, and the number of the note.",
    servers=EXAMPLES,
    direct=lambda: _report_directly(at_once=False),
    at_once=lambda: _report_directly(at_once=True),
    code={
        "python": lambda: _report_in_code("python"),
        "typescript": lambda: _report_in_code("typescript"),
    },
)
RECORDS = Task(
    name="ten records",
    text=f"Set the next step of the ten largest open opportunities in Salesforce to '{NEXT_STEP}'.",
    servers=("salesforce",),
    direct=_update_directly,
    code={"python": _update_in_code},
)
DOCUMENT = Task(
    name="long document",
    text="What are the findings of the quarterly report doc-006 in Google Drive?",
    servers=("google-drive",),
    direct=_summarise_directly,
    code={"python": _summarise_in_code},
)
SMALL_CALL = Task(
    name="one small call",
    text="Post 'The new release is out.' to #general in Slack.",
    servers=("slack",),
    direct=_post_directly,
    code={"python": _post_in_code},
)
TASKS = (EXAMPLE, RECORDS, DOCUMENT, SMALL_CALL)


def _send(server: str, tool: str, **arguments: Any) -> ToolCall:
    return ToolCall(server=server, name=tool, arguments=arguments)


def _search(query: str, **options: Any) -> ToolCall:
    return ToolCall(name="search_tools", arguments={"query": query, **options})


def _execute(code: str) -> ToolCall:
    return ToolCall(name="execute_code", arguments={"code": code})


def _read_wrappers(language: Language, tools: Sequence[str]) -> ToolCall:
    """A program that prints them: only they say what a tool returns."""
    if language == "python":
        files = [name.replace("-", "_").replace(".", "/") for name in tools]
        return _execute(f"for name in {files}:\n    print(open(f'servers/{{name}}.py').read())")
    files = [_in_typescript(name) for name in tools]
    return _execute(
        f"for (const name of {json.dumps(files)}) {{\n"
        "  console.log(Deno.readTextFileSync(`servers/${name}.ts`));\n}"
    )


def _in_typescript(name: str) -> str:
    server, _, tool = name.partition(".")
    first, *rest = tool.split("_")
    return f"{server}/{first}{''.join(map(str.capitalize, rest))}"


def _find(searches: Mapping[str, Sequence[str]], **options: Any) -> Generator[list[ToolCall], list[Answer]]:
    """Search for these tools. An agent can use only what it was told of, so that it lists a server's tools
    where a search did not show what it looked for."""
    found = yield [_search(query, **options) for query in searches]
    shown = {line.partition(":")[0] for answer in found for line in answer.text.splitlines()}
    unseen = [name for names in searches.values() for name in names if name not in shown]
    if unseen:
        yield [_search("", server=server) for server in {name.partition(".")[0]: None for name in unseen}]


def _value(answer: Answer) -> Any:
    return json.loads(answer.text)


def _findings(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("Finding:")]


def _program(name: str) -> str:
    """As a model would write it: without what is there for the linters."""
    lines = (PROGRAMS / name).read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if not line.startswith(("# ruff:", "# type:")))
