"""What a model has to read and write for the running example, both ways, in tokens of o200k.

    python examples/count_tokens.py [DIRECTORY]

Nothing is estimated: the program is run once in DIRECTORY (default: the one that this file is in), and what
its calls really sent and received is counted as a model would have had to send and receive it.
Needs rs-bpe: pip install rs-bpe.
"""

import json
import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

import anyio

from satchel import Satchel, open_satchel
from satchel.model import Call, CallResult, Execution

HERE = Path(__file__).resolve().parent
PROGRAM = HERE / "programs" / "quarterly_report.py"

NOT_COUNTED = """
Both ways make the same calls, and each text is counted once. A model that calls tools itself might find
calls with shorter answers; and with every step it would be sent the whole conversation again, which is not
counted. Nor are the task and the final answer, nor, in B, the definitions of the few tools by which a model
reads files and runs programs: they are the same for any number of servers.
""".strip()

Row = tuple[str, str]
"""What it is, and its text."""


async def main(directory: Path) -> None:
    async with open_satchel(directory) as satchel:
        execution, calls = await run_and_record(satchel)
        if execution.exit_code:
            sys.exit(f"the program failed:\n{execution.stderr}")
        direct = show("A: the model calls the tools itself", rows_of_calls(satchel, calls))
        tree = directory / ".satchel" / "code-api" / "python"
        program = show("B: the model writes a program", rows_of_program(satchel, tree, calls, execution))
    print(f"\nA is {direct / program:.1f} times B.\n{NOT_COUNTED}")


async def run_and_record(satchel: Satchel) -> tuple[Execution, list[tuple[Call, CallResult]]]:
    """Run the program, and keep what each of its calls sent and received."""
    calls: list[tuple[Call, CallResult]] = []
    send = satchel.call_tool

    async def recorded(call: Call) -> CallResult:
        result = await send(call)
        calls.append((call, result))
        return result

    satchel.call_tool = recorded
    return await satchel.execute(PROGRAM.read_text(encoding="utf-8"), description="counted"), calls


def rows_of_calls(satchel: Satchel, calls: list[tuple[Call, CallResult]]) -> Iterable[Row]:
    """Every definition as clients send them, then every call: arguments written, whole result read."""
    tools = [tool for server in satchel.catalog.servers for tool in server.tools]
    shown = [
        {"name": tool.wire_name, "description": tool.description, "inputSchema": tool.input_schema}
        for tool in tools
    ]
    yield f"definitions of all {len(tools)} tools", "\n".join(map(compact, shown))
    for call, result in calls:
        yield f"{call.tool.qualified_name}: arguments", compact(dict(call.arguments))
        yield f"{call.tool.qualified_name}: result", result.text


def rows_of_program(
    satchel: Satchel, tree: Path, calls: list[tuple[Call, CallResult]], execution: Execution
) -> Iterable[Row]:
    """The way that the tree's README describes, the program itself, and what came back."""
    yield "servers/index.json", (tree / "servers/index.json").read_text(encoding="utf-8")
    for name in dict.fromkeys(call.tool.server for call, _ in calls):
        file = f"servers/{satchel.catalog.server(name).spelling.python}/index.json"
        yield file, (tree / file).read_text(encoding="utf-8")
    for call, _ in calls:
        folder = satchel.catalog.server(call.tool.server).spelling.python
        file = f"servers/{folder}/{call.tool.spelling.python}.py"
        yield file, (tree / file).read_text(encoding="utf-8")
    yield "the program", PROGRAM.read_text(encoding="utf-8")
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
