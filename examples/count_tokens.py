"""What a model has to read and write for the running example, in tokens of o200k.

Three ways: with calls of its own, with a program in Python, and with one in TypeScript.

    python examples/count_tokens.py [DIRECTORY]

Nothing is estimated: both programs are run once in DIRECTORY (default: the one that this file is in), and
what the calls of the first sent and received is counted as a model would have had to send and receive it.
Needs rs-bpe: pip install rs-bpe.
"""

import json
import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

import anyio

from satchel import Satchel, open_satchel
from satchel.model import Call, CallResult, CallTool, Execution

HERE = Path(__file__).resolve().parent
PROGRAMS = {
    "python": HERE / "programs" / "quarterly_report.py",
    "typescript": HERE / "programs" / "quarterly_report.ts",
}
NAMES = {"python": "Python", "typescript": "TypeScript"}

NOT_COUNTED = """
All ways make the same calls, and each text is counted once. A model that calls tools itself might find
calls with shorter answers; and with every step it would be sent the whole conversation again, which is not
counted. Nor are the task and the final answer, nor, in B and C, the definitions of the few tools by which a
model reads files and runs programs: they are the same for any number of servers.
""".strip()

Row = tuple[str, str]
"""What it is, and its text."""
Exchange = tuple[Call, CallResult]
"""What a call sent, and what it received."""


async def main(directory: Path) -> None:
    record = Record()
    async with open_satchel(directory, links=[record.link]) as satchel:
        runs = {language: await run_and_record(satchel, record, language) for language in PROGRAMS}
        _, calls = runs["python"]
        direct = show("A: the model calls the tools itself", rows_of_calls(satchel, calls))
        times: list[str] = []
        for letter, (language, (execution, calls)) in zip("BC", runs.items(), strict=True):
            tree = directory / ".satchel" / "code-api" / language
            texts = [*rows_of_tree(satchel, tree, language, calls), *rows_of_program(language, execution)]
            tokens = show(f"{letter}: the model writes a program in {NAMES[language]}", texts)
            times.append(f"{direct / tokens:.1f} times {letter}")
    print(f"\nA is {' and '.join(times)}.\n{NOT_COUNTED}")


class Record:
    """What calls sent and received. `link` goes in front of the chain's own links and sees every call."""

    def __init__(self) -> None:
        self.calls: list[Exchange] = []

    def link(self, call_next: CallTool) -> CallTool:
        async def record(call: Call) -> CallResult:
            result = await call_next(call)
            self.calls.append((call, result))
            return result

        return record


async def run_and_record(satchel: Satchel, record: Record, language: str) -> tuple[Execution, list[Exchange]]:
    """Run the program, and keep what each of its calls sent and received."""
    record.calls = []
    code = PROGRAMS[language].read_text(encoding="utf-8")
    execution = await satchel.execute(code, language=language, description="counted")
    if execution.exit_code:
        sys.exit(f"the program in {NAMES[language]} failed:\n{execution.stderr}")
    return execution, record.calls


def rows_of_calls(satchel: Satchel, calls: list[Exchange]) -> Iterable[Row]:
    """Every definition as clients send them, then every call: arguments written, whole result read."""
    tools = [tool for server in satchel.catalog.servers for tool in server.tools]
    shown = [
        {"name": tool.wire_name, "description": tool.description, "inputSchema": tool.input_schema}
        for tool in tools
    ]
    yield f"definitions of all {len(tools)} tools", "\n".join(map(compact, shown))
    for call, result in calls:
        yield f"{call.what.qualified_name}: arguments", compact(dict(call.arguments))
        yield f"{call.what.qualified_name}: result", result.text


def rows_of_tree(satchel: Satchel, tree: Path, language: str, calls: list[Exchange]) -> Iterable[Row]:
    """What is read on the way that the tree's README describes: the servers, tools of each, one tool."""
    indexes, wrappers = ["servers/index.json"], list[str]()
    for call, _ in calls:
        tool = satchel.servers.describe_tool(call.what.qualified_name)
        server = satchel.catalog.server(tool.server)
        folder = f"servers/{getattr(server.spelling, language)}"
        indexes.append(f"{folder}/index.json")
        wrappers.append(f"{folder}/{getattr(tool.spelling, language)}{PROGRAMS[language].suffix}")
    for file in dict.fromkeys([*indexes, *wrappers]):
        yield file, (tree / file).read_text(encoding="utf-8")


def rows_of_program(language: str, execution: Execution) -> Iterable[Row]:
    yield "the program", PROGRAMS[language].read_text(encoding="utf-8")
    yield "what it printed and returned", execution.stdout + compact(execution.result)


def show(title: str, rows: Iterable[Row]) -> int:
    print(f"\n{title}")
    total = 0
    for name, text in rows:
        tokens = count(text)
        total += tokens
        print(f"{tokens:10,}  {name}")
    print(f"{total:10,}  tokens")
    return total


def compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def count(text: str) -> int:
    return ENCODING.count(text)


if __name__ == "__main__":
    ENCODING = import_module("rs_bpe.bpe").openai.o200k_base()
    anyio.run(main, Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else HERE)
