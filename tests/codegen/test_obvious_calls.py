"""The call that a model writes from a tool's schema alone is right the first time.

Wire names as keyword arguments or properties, plain dicts, lists and strings; what is sent is what was meant.
"""

import inspect
import json
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import satchel_runtime
from satchel.codegen.places import folder_of
from satchel.model import Json, Server, Tool, is_object
from satchel.names import assign_parameters
from satchel.sandbox.checking.findings import check_command, read_findings
from satchel.sandbox.checking.model import Finding, Places
from satchel_runtime.testing import Answers
from tests.codegen.helpers import (
    check_python,
    check_typescript,
    generate_tree,
    make_server,
    read_real_servers,
    run_deno,
)
from tests.codegen.schema_values import fill
from tests.codegen.test_round_trip import exact, finish, imported
from tests.conftest import SHARED

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
REAL_TOOLS = SHARED / "realtools"
GUEST = Path(__file__).parents[2] / "src/satchel/sandbox/guest/python"
TEXT = {"type": "string"}
POINT = {"type": "array", "prefixItems": [{"type": "number"}, TEXT], "items": False}
STEP = {
    "type": "object",
    "properties": {
        "from": TEXT,
        "values": {"type": "array", "items": TEXT},
        "type": {"enum": ["text", "values"]},
        "text": TEXT,
        "point": POINT,
        "then": {"$ref": "#/$defs/Step"},
        "others": {"type": "array", "items": {"$ref": "#/$defs/Step"}},
        "by name": {"type": "object", "additionalProperties": {"$ref": "#/$defs/Step"}},
    },
    "required": ["from"],
}
SEND: Json = {
    "name": "send",
    "inputSchema": {
        "type": "object",
        "properties": {
            "from": TEXT,
            "to-whom": TEXT,
            "class": {"type": "array", "items": TEXT},
            "call": TEXT,
            "step": {"$ref": "#/$defs/Step"},
            "steps": {"type": "array", "items": {"$ref": "#/$defs/Step"}},
            "place": {"type": "object", "properties": {"name": TEXT, "at": POINT}, "required": ["name"]},
        },
        "required": ["from", "step"],
        "additionalProperties": False,
        "$defs": {"Step": STEP},
    },
}


@cache
def servers() -> tuple[Server, ...]:
    if not REAL_TOOLS.is_dir():
        pytest.skip("../shared/data/realtools is not here")
    return tuple(server for server in read_real_servers(REAL_TOOLS) if server.tool_count)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("obvious") / "tree"
    generate_tree(place, servers())
    return place


def calls() -> Iterator[tuple[Server, Tool, Json]]:
    """Every tool with all of its arguments, and with those that it needs."""
    for server in servers():
        for tool in server.tools:
            for everything in (True, False):
                arguments = fill(tool.input_schema, everything=everything)
                yield server, tool, arguments if is_object(arguments) else {}


def test_python_sends_what_was_meant_for_every_tool(tree: Path) -> None:
    done = 0
    with imported(tree / "python"):
        for server, tool, arguments in calls():
            package = import_module(folder_of(server, "python").replace("/", "."))
            answers = Answers({tool.qualified_name: None})
            satchel_runtime.connect(answers)
            finish(getattr(package, tool.spelling.python)(**arguments))
            sent = {"server": tool.server, "tool": tool.name, "arguments": arguments}
            assert exact(answers.requests) == exact([("call_tool", sent)]), tool.qualified_name
            done += 1
    assert done > 2000


def test_typescript_sends_what_was_meant_for_every_tool(tree: Path, tmp_path: Path) -> None:
    work, expected = list[Json](), list[Json]()
    for server, tool, arguments in calls():
        name = tool.spelling.typescript
        file = f"{folder_of(server, 'typescript')}/{name}.ts"
        work.append({"file": file, "name": name, "inputs": [arguments]})
        expected.append({"server": tool.server, "tool": tool.name, "arguments": arguments})
    (tmp_path / "calls.json").write_text(json.dumps(work))
    program = Path(__file__).with_name("send_all.ts")
    place = tree / "typescript"
    options = ("run", "--no-remote", "--no-check", "--allow-read")
    done = run_deno(place, *options, str(program), str(place), str(tmp_path / "calls.json"))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == expected


def write_python_program(at: Path) -> None:
    """A program with every call, in a function for each server."""
    lines = ["from typing import Any"]
    for number, server in enumerate(servers()):
        place = folder_of(server, "python").replace("/", ".")
        lines += [f"import {place} as s{number}", f"async def f{number}() -> Any:"]
        lines += [
            f"    await s{number}.{tool.spelling.python}({keywords(tool, arguments)})"
            for owner, tool, arguments in calls()
            if owner is server
        ]
    at.write_text("\n".join(lines) + "\n")


def keywords(tool: Tool, arguments: Json) -> str:
    names = assign_parameters(tool.input_schema.get("properties", ()))
    return ", ".join(f"{names.get(name, name)}={value!r}" for name, value in arguments.items())


def check_with_ty(program: Path, tree: Path) -> tuple[Finding, ...]:
    """What a program is told before it runs."""
    places = Places(
        program=str(program.parent),
        wrappers=str(tree),
        runtime=str(GUEST),
        support=str(GUEST / "satchel_check"),
        programs=str(Path(sys.executable).parent),
    )
    command = check_command("python", places)
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return read_findings(
        "python",
        program.read_text(),
        stdout=done.stdout,
        stderr=done.stderr,
        exit_code=done.returncode,
        places=places,
    )


def test_python_checkers_accept_plain_values_for_every_tool(tree: Path, tmp_path: Path) -> None:
    program = tmp_path / "main.py"
    write_python_program(program)
    assert check_with_ty(program, tree / "python") == ()
    assert check_python(tree / "python", only=program) == []


def test_deno_check_accepts_plain_values_for_every_tool(tree: Path, tmp_path: Path) -> None:
    lines: list[str] = []
    for number, server in enumerate(servers()):
        place = tree / "typescript" / folder_of(server, "typescript") / "index.ts"
        lines.append(f"import * as s{number} from {json.dumps(place.as_uri())};")
        lines += [
            f"await s{number}.{tool.spelling.typescript}({json.dumps(arguments) if arguments else ''});"
            for owner, tool, arguments in calls()
            if owner is server
        ]
    program = tmp_path / "main.ts"
    program.write_text("\n".join(lines) + "\n")
    assert check_typescript(tree / "typescript", only=program) == ""


@pytest.fixture
def send(tmp_path: Path) -> Iterator[Any]:
    generate_tree(tmp_path / "tree", [make_server("mail", [SEND])], languages=["python"])
    with imported(tmp_path / "tree" / "python"):
        yield import_module("servers.mail").send


def sent(coroutine: Any) -> Json:
    answers = Answers({"mail.send": None})
    satchel_runtime.connect(answers)
    finish(coroutine)
    ((_, params),) = answers.requests
    return params["arguments"]


def test_a_renamed_parameter_may_be_given_by_either_name(send: Any) -> None:
    step = {"from": "a"}
    meant = {"from": "x", "to-whom": "y", "class": ["z"], "call": "c", "step": step}
    assert sent(send(**meant)) == meant
    assert sent(send(from_="x", to_whom="y", class_=["z"], call_="c", step=step)) == meant
    assert inspect.iscoroutinefunction(send)
    with pytest.raises(TypeError, match=r"send\(\) got 'from' twice, once as 'from_'"):
        finish(send(from_="x", **{"from": "x"}, step=step))
    with pytest.raises(TypeError, match="unexpected keyword argument 'whom'"):
        finish(send(from_="x", step=step, whom="y"))


def test_records_and_plain_dicts_may_be_mixed_at_every_depth(send: Any) -> None:
    step_class = sys.modules[send.__module__].Step
    inner: Json = {"from": "b", "values": ["v"], "point": [1, "x"]}
    step = step_class(
        from_="a",
        type="text",
        text="t",
        then=inner,
        others=[inner, step_class(**{"from": "c", "values": ["w"], "then": {"from": "d"}})],
        by_name={"one": inner, "two": step_class(from_="e", values_=[])},
    )
    meant: Json = {
        "from": "a",
        "type": "text",
        "text": "t",
        "then": inner,
        "others": [inner, {"from": "c", "values": ["w"], "then": {"from": "d"}}],
        "by name": {"one": inner, "two": {"from": "e", "values": []}},
    }
    given = {"from": "x", "step": step, "steps": [inner, step], "place": {"name": "p", "at": [1, "x"]}}
    assert sent(send(**given)) == {**given, "step": meant, "steps": [inner, meant]}


MIXED = """
from servers.mail import send
from servers.mail.send import Place, Step

async def main() -> None:
    inner = {"from": "b", "values": ["v"]}
    await send(from_="x", step=inner)
    await send(from_="x", step={"from": "a", "others": [{"from": "b"}]}, place={"name": "p"})
    await send(from_="x", step=Step(from_="a", text="t", then=inner, others=[inner, Step(from_="c")]))
    await send(from_="x", step=Step(from_="a", point=[1, "x"]), place=Place(name="p", at=(1, "x")))
"""


def test_checkers_accept_mixed_values_and_still_find_mistakes(tmp_path: Path) -> None:
    generate_tree(tmp_path / "tree", [make_server("mail", [SEND])], languages=["python"])
    tree, program = tmp_path / "tree" / "python", tmp_path / "main.py"
    program.write_text(MIXED)
    assert check_with_ty(program, tree) == ()
    lines = MIXED.count("\n")
    wrong = ('await send(from_="x", step=Step(form="a"))', 'await send(form="x", step={"from": "a"})')
    program.write_text(MIXED + "".join(f"    {line}\n" for line in wrong))
    assert {finding.line for finding in check_with_ty(program, tree)} == {lines + 1, lines + 2}
    found = check_python(tree, program)
    assert {row.partition(": ")[0] for row in found} == {f"{program}:{lines + 1}", f"{program}:{lines + 2}"}
