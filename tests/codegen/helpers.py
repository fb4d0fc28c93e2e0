"""Servers from plain definitions, trees from servers, and the checkers that generated files must pass."""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from deno import find_deno_bin

from satchel.catalog.definitions import digest
from satchel.codegen.generate import generate
from satchel.codegen.python.tool import tool_file as python_file
from satchel.codegen.signature import Signature, read_signature
from satchel.codegen.tree import Written
from satchel.codegen.typescript.tool import tool_file as typescript_file
from satchel.languages import LANGUAGES, Language
from satchel.model import Json, Server, Tool
from satchel.names import Spelling, assign_servers, assign_tools, wire_name
from satchel.verbs.wrappers import _guest_files

CHECK_TIMEOUT = 110


def make_tools(server: str, definitions: Sequence[Mapping[str, Any]]) -> tuple[Tool, ...]:
    """The tools of one server as the catalog builds them from what the server lists."""
    spellings = assign_tools([definition["name"] for definition in definitions])
    place = assign_servers([server])[server]
    return tuple(_tool(server, place, spellings[row["name"]], dict(row)) for row in definitions)


def make_server(
    name: str,
    definitions: Sequence[Mapping[str, Any]] = (),
    *,
    spelling: Spelling | None = None,
    **details: Any,
) -> Server:
    """A server with those tools. `details` are other fields of Server: resources, prompts, instructions …"""
    tools = make_tools(name, definitions)
    told = [dict(definition) for definition in definitions]
    server = Server(
        name=name,
        spelling=spelling or assign_servers([name])[name],
        transport="stdio",
        state="listed",
        tool_count=len(tools),
        read_tools=lambda: tools,
        digest=hashlib.sha256(f"{name}{json.dumps(told)}{details!r}".encode()).hexdigest(),
    )
    return replace(server, **details)


def make_servers(definitions: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[Server]:
    """Several servers, spelled together so that no two have the same folder."""
    spellings = assign_servers(definitions)
    return [make_server(name, tools, spelling=spellings[name]) for name, tools in definitions.items()]


def read_real_servers(directory: Path) -> list[Server]:
    """The servers of `../shared/data/realtools`, each file one server."""
    rows: list[Json] = [json.loads(file.read_bytes()) for file in sorted(directory.glob("*.json"))]
    spellings = assign_servers([row["server"] for row in rows])
    return [
        make_server(
            row["server"],
            row["tools"],
            spelling=spellings[row["server"]],
            version=row["version"],
            instructions=row["initialize"].get("instructions"),
        )
        for row in rows
    ]


def signature_of(definition: Mapping[str, Any], *, server: str = "demo") -> Signature:
    """The signature of one tool; a definition without `name` is called `tool`."""
    made = make_server(server, [{"name": "tool", **definition}])
    return read_signature(made.tools[0], made)


def python_of(definition: Mapping[str, Any], *, server: str = "demo") -> str:
    """The Python file of one tool."""
    return python_file(signature_of(definition, server=server))


def typescript_of(definition: Mapping[str, Any], *, server: str = "demo") -> str:
    """The TypeScript file of one tool."""
    return typescript_file(signature_of(definition, server=server))


def generate_tree(
    directory: Path, servers: Sequence[Server], *, languages: Iterable[Language] = LANGUAGES, **options: Any
) -> list[Written]:
    """Write `directory/python` and `directory/typescript`, whole trees with the runtime in them.

    The record of what was written lies beside, in `<directory>-records`; `options` go to `generate`.
    """
    records = directory.with_name(f"{directory.name}-records")
    return generate(directory, servers, records=records, support=_guest_files, languages=languages, **options)


def check_python(tree: Path, *others: Path, only: Path | None = None) -> list[str]:
    """What basedpyright, strict, says about every Python file of the tree; nothing at best.

    `others` are further files or folders to check; they find the tree's packages as a program would. `only`
    is one that is checked without the rest.
    """
    with tempfile.TemporaryDirectory() as place:
        settings = {
            "typeCheckingMode": "strict",
            "pythonVersion": "3.11",
            "include": [str(only)] if only else [str(tree), *map(str, others)],
            "extraPaths": [str(tree)],
        }
        (Path(place) / "pyrightconfig.json").write_text(json.dumps(settings))
        program = Path(sys.executable).parent / "basedpyright"
        command = [str(program), "--project", place, "--outputjson", "--threads", "4"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=CHECK_TIMEOUT, check=False)
    try:
        report = json.loads(done.stdout)
    except ValueError:
        return [f"basedpyright ended with {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}"]
    if not report["summary"]["filesAnalyzed"]:
        return ["basedpyright found no files"]
    return [
        f"{row['file']}:{row['range']['start']['line'] + 1}: {row['severity']}: {row['message']}"
        for row in report["generalDiagnostics"]
    ]


def check_typescript(tree: Path, *, only: Path | None = None) -> str:
    """What `deno check` says about the TypeScript files of the tree, or about `only` one; nothing at best."""
    files = [str(only)] if only else sorted(map(str, tree.rglob("*.ts")))
    if not files:
        return "there are no files"
    done = run_deno(tree, "check", "--quiet", "--no-remote", *files)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def run_deno(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Deno at the root of a tree, with a cache of its own and nothing of the network."""
    with tempfile.TemporaryDirectory() as place:
        environment = {**os.environ, "DENO_DIR": place, "NO_COLOR": "1", "DENO_NO_UPDATE_CHECK": "1"}
        command = [find_deno_bin(), *arguments]
        return subprocess.run(
            command,
            cwd=tree,
            env=environment,
            capture_output=True,
            text=True,
            timeout=CHECK_TIMEOUT,
            check=False,
        )


def run_python(
    tree: Path, *arguments: str, input: str | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run this Python with the tree on its path, in the tree's parent directory."""
    variables = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1", **environment}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=tree.parent,
        env=variables,
        input=input,
        capture_output=True,
        text=True,
        timeout=CHECK_TIMEOUT,
        check=False,
    )


def _tool(server: str, place: Spelling, spelling: Spelling, definition: Json) -> Tool:
    listed: Json = {"inputSchema": {"type": "object"}, **definition}
    return Tool(
        server=server,
        name=listed["name"],
        spelling=spelling,
        wire_name=wire_name(place, spelling),
        title=listed.get("title"),
        description=listed.get("description") or "",
        annotations=listed.get("annotations") or {},
        digest=digest(listed),
        read_definition=lambda: listed,
    )
