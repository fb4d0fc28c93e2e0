"""What is generated for a chosen dozen of tools, byte for byte.

Each `golden/*.json` is a server's name and a tool's definition; beside it lie the Python and the TypeScript
that come of it. After a change that is meant to change them, write them anew and read the difference:

    SATCHEL_WRITE_GOLDEN=1 .venv/bin/python -m pytest tests/codegen/test_golden.py -n 0; git diff
"""

import json
import os
from pathlib import Path

import pytest

from satchel.languages import Language
from satchel.model import Json, Server
from tests.codegen.helpers import (
    check_python,
    check_typescript,
    generate_tree,
    make_servers,
    python_of,
    run_python,
    typescript_of,
)

GOLDEN = Path(__file__).parent / "golden"
NAMES = sorted(file.stem for file in GOLDEN.glob("*.json"))


def read(name: str) -> tuple[str, Json]:
    """The server and the definition of a golden tool."""
    row = json.loads((GOLDEN / f"{name}.json").read_bytes())
    return row["server"], row["tool"]


def golden_servers() -> list[Server]:
    return make_servers({server: [tool] for server, tool in map(read, NAMES)})


def agrees_with(file: Path, text: str) -> bool:
    if os.environ.get("SATCHEL_WRITE_GOLDEN") == "1":
        file.write_bytes(text.encode())
    return file.read_bytes().decode() == text


def assert_golden(file: Path, text: str) -> None:
    if not agrees_with(file, text):
        assert text == file.read_bytes().decode(), f"{file.name} is not what is generated now"


@pytest.mark.parametrize("name", NAMES)
def test_python_is_generated_as_in_its_golden_file(name: str) -> None:
    server, tool = read(name)
    assert_golden(GOLDEN / f"{name}.py", python_of(tool, server=server))


@pytest.mark.parametrize("name", NAMES)
def test_typescript_is_generated_as_in_its_golden_file(name: str) -> None:
    server, tool = read(name)
    assert_golden(GOLDEN / f"{name}.ts", typescript_of(tool, server=server))


def test_a_golden_server_has_one_name_and_one_tool() -> None:
    assert len({read(name)[0] for name in NAMES}) == len(NAMES) >= 12


RUN_EXAMPLES = """
import asyncio, importlib, json
from pathlib import Path
import satchel_runtime, servers

class Echo:
    async def request(self, method, params):
        json.dumps(params)
        print("ran", params["server"] + "." + params["tool"])
        return params["arguments"]

satchel_runtime.connect(Echo())
listed = json.loads((Path(servers.__file__).parent / "index.json").read_text())["servers"]
for row in sorted(listed, key=lambda row: row["name"]):
    asyncio.run(importlib.import_module(f"servers.{row['folder']}.example").main())
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree of all golden servers, with the golden files as their tools."""
    place = tmp_path_factory.mktemp("golden") / "tree"
    servers = golden_servers()
    generate_tree(place, servers)
    for name, server in zip(NAMES, servers, strict=True):
        spelling, tool = server.spelling, server.tools[0].spelling
        python = place / "python" / "servers" / spelling.python / f"{tool.python}.py"
        typescript = place / "typescript" / "servers" / spelling.typescript / f"{tool.typescript}.ts"
        for file in (python, typescript):
            assert file.is_file()
            file.write_bytes((GOLDEN / f"{name}{file.suffix}").read_bytes())
    return place


@pytest.mark.slow
def test_golden_python_and_its_examples_pass_a_strict_type_checker(tree: Path) -> None:
    assert check_python(tree / "python") == []
    assert len(list((tree / "python" / "servers").glob("*/example.py"))) == len(NAMES)


@pytest.mark.slow
def test_golden_typescript_and_its_examples_pass_deno_check(tree: Path) -> None:
    assert check_typescript(tree / "typescript") == ""
    assert len(list((tree / "typescript" / "servers").glob("*/example.ts"))) == len(NAMES)


@pytest.mark.slow
def test_every_example_of_a_golden_server_runs(tree: Path) -> None:
    done = run_python(tree / "python", "-c", RUN_EXAMPLES)
    assert done.stderr == ""
    assert done.returncode == 0
    ran = done.stdout.splitlines()
    assert [line for line in ran if line.startswith("ran ")] == [
        f"ran {server.name}.{server.tools[0].name}"
        for server in sorted(golden_servers(), key=lambda s: s.name)
    ]


@pytest.mark.parametrize("language", ["python", "typescript"])
def test_the_same_servers_give_the_same_bytes(tmp_path: Path, language: Language) -> None:
    for place in ("one", "two"):
        generate_tree(tmp_path / place, golden_servers(), languages=[language])
    one, two = (
        {file.relative_to(root): file.read_bytes() for file in root.rglob("*") if file.is_file()}
        for root in (tmp_path / "one", tmp_path / "two")
    )
    assert one == two
