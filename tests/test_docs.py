"""The documentation against the program: what exists is documented, and nothing else; examples run."""

import argparse
import ast
import inspect
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from textwrap import indent
from typing import Any, cast, get_args, get_type_hints
from xml.etree import ElementTree

import pytest
import yaml

from satchel import errors
from satchel.catalog.cache import encode
from satchel.cli.parser import EXIT_CODES, build_parser
from satchel.config.entries import FOREIGN_KEYS, OAuthHints, WrittenEntry
from satchel.config.extensions import read_extensions
from satchel.config.hiding import _PUBLIC_VARIABLES
from satchel.config.settings import Settings, read_settings
from satchel.model import CallStatus, Listing, Writer
from satchel.sandbox.backends import USER
from satchel.sandbox.limits import MIB, Ended, Limits
from satchel.sandbox.running.watch import DISK_INTERVAL, INTERVAL
from satchel.upstream.auth import LOGIN_TIMEOUT
from satchel.upstream.listing import MAX_BYTES, MAX_ITEMS, MAX_PAGES
from satchel.upstream.processes import _PASSED_ON
from satchel.upstream.stdio import MAX_MESSAGE
from satchel.verbs.satchel import Satchel
from satchel_runtime import ToolError
from tests.commands import forked_command, run_command
from tests.terminals import decide

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
# What other clients may have in their files to start Satchel; `satchel init` leaves it out.


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def section(name: str, heading: str) -> str:
    """What stands under a heading of any level, up to the next one of that level or above."""
    text = read(name)
    # Comments in blocks of code look like headings.
    bare = re.sub(
        r"^```.*?^```$", lambda block: block[0].replace("#", " "), text, flags=re.MULTILINE | re.DOTALL
    )
    found = re.search(rf"^(#+) {re.escape(heading)}$", bare, re.MULTILINE)
    assert found, f"{name} has no section '{heading}'"
    end = re.compile(rf"^#{{1,{len(found[1])}}} ", re.MULTILINE).search(bare, found.end())
    return text[found.end() : end.start() if end else None]


def rows(text: str) -> Iterator[list[str]]:
    """The cells of every table row."""
    for line in text.splitlines():
        if line.startswith("| "):
            yield [cell.strip() for cell in line.strip("| ").split(" | ")]


@cache
def markdown_files() -> list[Path]:
    visible = [place for place in ROOT.iterdir() if place.is_dir() and not place.name.startswith(".")]
    files = [*ROOT.glob("*.md"), *(file for place in visible for file in place.rglob("*.md"))]
    return sorted(file.relative_to(ROOT) for file in files if "node_modules" not in file.parts)


def blocks(name: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", read(name), re.MULTILINE | re.DOTALL)


def code_of(text: str) -> list[str]:
    """What stands in code spans and in blocks of shell or of no language, line by line."""
    fenced = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    lines = [match[2] for match in fenced.finditer(text) if match[1] in ("", "console")]
    rest = fenced.sub("", text)
    indented = re.compile(r"^ {4}.*$", re.MULTILINE)
    lines += indented.findall(rest)
    spans = re.findall(r"`([^`]+)`", indented.sub("", rest))
    return [line for block in lines for line in block.splitlines()] + [s.replace("\n", " ") for s in spans]


# The command line


def subparsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Every command by its words, those of commands as `skills list`."""
    found: dict[str, argparse.ArgumentParser] = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in cast("Mapping[str, argparse.ArgumentParser]", action.choices).items():
                found[name] = command
                found |= {f"{name} {inner}": nested for inner, nested in subparsers(command).items()}
    return found


def options_of(parser: argparse.ArgumentParser) -> set[str]:
    return {option for action in parser._actions for option in action.option_strings}


PARSERS = subparsers(build_parser())
ALIASES = "mcp "  # satchel mcp list is documented as satchel list
EVERY_OPTION = options_of(build_parser()).union(*map(options_of, PARSERS.values()))


def documented_options(heading: str) -> set[str]:
    """Those that have a row in a table."""
    first = [cells[0] for cells in rows(section("docs/commands.md", heading))]
    return {option for cell in first for option in re.findall(r"`(--?[a-z-]+)", cell)}


@pytest.mark.parametrize("command", PARSERS)
def test_exactly_the_options_that_a_command_has_are_documented(command: str) -> None:
    heading = f"satchel {command.removeprefix(ALIASES)}"
    documented = documented_options(heading) | documented_options("Options of every command")
    assert documented == options_of(PARSERS[command])


@pytest.mark.parametrize("command", PARSERS)
def test_the_arguments_and_choices_of_a_command_are_documented(command: str) -> None:
    text = section("docs/commands.md", f"satchel {command.removeprefix(ALIASES)}")
    for action in PARSERS[command]._actions:
        if not action.option_strings and isinstance(action.metavar, str):
            assert action.metavar in text
        for choice in action.choices or ():
            assert re.search(rf"\b{choice}\b", text), choice


def test_options_of_the_program_itself_are_documented() -> None:
    text = section("docs/commands.md", "Options of every command")
    assert [option for option in sorted(options_of(build_parser())) if option not in text] == []


def invocations() -> Iterator[tuple[str, str, list[str]]]:
    """(file, command, options) of every `satchel …` in code."""
    for file in markdown_files():
        for line in code_of(read(str(file))):
            for match in re.finditer(r"(?:^|[\s$(])satchel +([a-z-]+)([^|)]*)", line):
                arguments = match[2].split(" -- ")[0]
                nested = re.match(r" +([a-z-]+)", arguments)
                has_commands = any(command.startswith(f"{match[1]} ") for command in PARSERS)
                command = f"{match[1]} {nested[1]}" if nested and has_commands else match[1]
                yield file.name, command, re.findall(r"(?<![\w'-])--[a-z][a-z-]*", arguments)


def test_the_docs_name_only_commands_and_options_that_exist() -> None:
    seen = list(invocations())
    assert len(seen) > 50
    for file, command, options in seen:
        known = options_of(build_parser()) if command.startswith("--") else options_of(PARSERS[command])
        assert set(options) | ({command} if command.startswith("--") else set()) <= known, (file, command)


def test_options_in_code_of_their_own_exist() -> None:
    for file in markdown_files():
        for code in code_of(read(str(file))):
            if found := re.match(r"--[a-z][a-z-]*", code):
                assert found[0] in EVERY_OPTION, f"{file}: {code}"


def test_exactly_the_exit_codes_that_exist_are_documented() -> None:
    def codes(kind: type[errors.SatchelError]) -> set[int]:
        return {kind.exit_code}.union(*map(codes, kind.__subclasses__()))

    documented = {
        int(cells[0]) for cells in rows(section("docs/commands.md", "Exit codes")) if cells[0].isdigit()
    }
    assert codes(errors.SatchelError) <= documented
    assert documented == {int(code) for code in re.findall(r"^ +(\d+)", EXIT_CODES, re.MULTILINE)}


def test_every_error_and_kind_of_failed_call_is_documented() -> None:
    def names(kind: type[errors.SatchelError]) -> Iterator[str]:
        if not kind.__name__.startswith("_"):  # one that a caller knows by its base
            yield kind.__name__
        for sub in kind.__subclasses__():
            yield from names(sub)

    python, troubleshooting = read("docs/python.md"), read("docs/troubleshooting.md")
    abstract = {"SatchelError", "ServerError"}
    assert [name for name in names(errors.SatchelError) if f"`{name}`" not in python] == []
    assert [
        name
        for name in names(errors.SatchelError)
        if f"`{name}`" not in troubleshooting and name not in abstract
    ] == []
    kinds = {kind for text in sources() for kind in re.findall(r'\bkind="(\w+)"', text)}
    kinds -= {*get_args(get_type_hints(Writer)["kind"])}  # who writes to a memory, which is no failure
    assert kinds
    assert [
        kind for kind in sorted(kinds) if f"`{kind}`" not in python or f"`{kind}`" not in troubleshooting
    ] == []


def test_the_messages_in_the_page_on_troubleshooting_are_said() -> None:
    texts = {" ".join(written(node).split()) for text in sources() for node in ast.walk(ast.parse(text))}
    said = "\n".join(texts)
    forms = [
        re.compile(".{1,60}?".join(re.escape(part) for part in text.strip(f"{_VALUE} :").split(_VALUE)))
        for text in texts
        if _VALUE in text and len(text) < 400 and len(re.sub("[^a-z]", "", text)) >= 7
    ]
    rows = [line.split(" | ")[0] for line in read("docs/troubleshooting.md").splitlines()]
    messages = [
        message for row in rows if row.startswith("| ") for message in re.findall("`([^`]* [^`]*)`", row)
    ]
    assert len(messages) > 100
    assert [
        message
        for message in messages
        if message not in _PUT_TOGETHER
        and not all(part in said for part in parts_of(message))
        and not any(form.search(message) for form in forms)
    ] == []


_PUT_TOGETHER = {"'NAME' is a group of custom tools, in FILE:LINE", "SKILL.md: line N: … [RULE]"}
_VALUE = "\0"  # in place of a value in a text of the source


def written(node: ast.AST) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(written(value) for value in node.values)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return _VALUE


def parts_of(message: str) -> list[str]:
    """What is long enough to be looked for, between its placeholders."""
    parts = re.split(r"\b[A-Z][A-Z_.]*\b(?:\.md)?|…|,|\b\d[\d.]*\b|'[^']*'", message)
    return [part for part in (part.strip(" '\"():.;") for part in parts) if len(part) > 6]


def sources() -> Iterator[str]:
    return (file.read_text(encoding="utf-8") for file in (ROOT / "src").rglob("*.py"))


def test_every_environment_variable_of_the_program_is_documented() -> None:
    pattern = re.compile(r"\b(?:SATCHEL_[A-Z_]+|XDG_[A-Z_]+|NO_COLOR)\b")
    used = {"HOME"} | {name for text in sources() for name in pattern.findall(text)}
    documented = {cells[0].strip("`") for cells in rows(section("docs/commands.md", "Environment variables"))}
    assert used == documented - {"Variable", "---"}


# The configuration


def leaves(value: object, prefix: str = "") -> Iterator[tuple[str, object]]:
    """Every setting by its dotted name, with its default; `<name>` stands for a key that people choose."""
    if is_dataclass(value):
        for field in fields(value):
            yield from leaves(getattr(value, field.name), f"{prefix}.{field.name}")
    elif isinstance(value, Mapping) and value:
        (only,) = cast("Mapping[str, object]", value).values()
        yield from leaves(only, f"{prefix}.<name>")
    else:
        yield prefix.removeprefix("."), plain(cast("object", value))


def plain(value: object) -> object:
    return [plain(item) for item in cast("tuple[object, ...]", value)] if isinstance(value, tuple) else value


def documented_defaults(*headings: str) -> dict[str, object]:
    found: dict[str, object] = {}
    for heading in headings:
        for cells in rows(section("docs/configuration.md", heading)):
            if cells[0].startswith("`"):
                found[cells[0].strip("`")] = yaml.safe_load(cells[2].strip("`"))
    return found


def test_exactly_the_settings_that_exist_are_documented_with_their_defaults() -> None:
    assert documented_defaults("Settings") == dict(leaves(Settings()))


def test_exactly_the_keys_of_a_server_that_exist_are_documented_with_their_defaults() -> None:
    hints = {f"oauth.{name}": default for name, default in leaves(OAuthHints())}
    assert documented_defaults("Keys of a server") == dict(leaves(WrittenEntry())) | hints


def test_the_defaults_in_the_docs_are_the_defaults(tmp_path: Path) -> None:
    block = blocks("docs/configuration.md", "yaml")[0]
    file = tmp_path / "satchel.yaml"
    file.write_text(block)
    assert read_settings(file) == Settings()
    written: dict[str, Any] = yaml.safe_load(block)
    assert set(written) == {field.name for field in fields(Settings)}


def test_the_servers_in_the_docs_are_valid(tmp_path: Path) -> None:
    file = tmp_path / "extensions_config.json"
    file.write_text(blocks("docs/configuration.md", "json")[0])
    assert [(entry.name, entry.problem) for entry in read_extensions(file)] == [
        ("google-drive", None),
        ("issues", None),
    ]


# What Satchel promises in numbers and lists


def test_the_limits_in_the_docs_are_those_of_the_program() -> None:
    security, troubleshooting = read("docs/security.md"), read("docs/troubleshooting.md")
    assert f"refused at {MAX_MESSAGE >> 20} MiB" in security
    assert f"more than {MAX_MESSAGE >> 20} MiB" in troubleshooting
    assert f"{MAX_PAGES:,} pages, about {MAX_ITEMS:,} items and {MAX_BYTES >> 20} MiB" in security
    assert f"within {LOGIN_TIMEOUT:g} s" in troubleshooting


def test_exactly_the_variables_that_a_server_gets_are_documented() -> None:
    listed = section("docs/security.md", "What a server gets").split("- the variables in `env`")[0]
    assert set(re.findall(r"`([A-Z_]+)`", listed)) == set(_PASSED_ON)


def test_exactly_the_variables_that_are_no_secret_are_documented() -> None:
    listed = section("docs/security.md", "What is redacted").split("refers to, except")[1].split(".")[0]
    assert set(re.findall(r"`([A-Z_]+)`", listed)) == _PUBLIC_VARIABLES


def test_exactly_the_keys_of_other_clients_that_are_ignored_are_documented() -> None:
    line = next(line for line in read("docs/configuration.md").splitlines() if line.startswith("The keys `"))
    assert set(re.findall(r"`([^`]+)`", line)) == FOREIGN_KEYS


def test_exactly_the_keys_of_a_cached_head_are_documented() -> None:
    head = json.loads(encode(Listing()).split(b"\n")[0])
    listed = section("docs/architecture.md", "The cache").split("a JSON object:")[1].split(".\n")[0]
    assert set(re.findall(r"`(\w+)`", listed)) == set(head)


def test_exactly_the_ways_in_which_a_program_ends_are_documented() -> None:
    listed = rows(section("docs/programs.md", "How a program ends"))
    assert {cells[0].strip("`") for cells in listed} - {"ended", "---"} == set(get_args(Ended))


def test_exactly_the_statuses_of_a_call_are_documented() -> None:
    listed = rows(section("docs/programs.md", "Executions and the journal"))
    assert {word for cells in listed for word in re.findall(r"`(\w+)`", cells[0])} == set(
        get_args(CallStatus)
    )


def test_exactly_the_kinds_of_errors_in_a_program_are_documented() -> None:
    listed = rows(section("docs/programs.md", "When a call fails"))
    told = set(re.findall(r"\w+", ToolError.__doc__ or "")) & {
        *("tool", "arguments", "not_found", "server", "timeout", "connection", "protocol", "input"),
        *("limit", "request", "internal"),
    }
    assert {word for cells in listed for word in re.findall(r"`(\w+)`", cells[0])} == told


def test_the_variables_and_the_user_of_a_box_are_documented() -> None:
    text = section("docs/security.md", "The sandbox")
    assert f"uid {USER}" in text
    assert "`PATH`, `HOME`, `LANG`, `TMPDIR` and `PYTHONDONTWRITEBYTECODE`" in text
    assert f"look every {INTERVAL * 1000:g} ms" in text
    assert f"look every {DISK_INTERVAL * 1000:g} ms" in text
    assert f"{Limits().files:,} files" in section("docs/programs.md", "How a program ends")
    assert f"{Limits().output // MIB} MiB printed" in section("docs/programs.md", "How a program ends")


# Python


VERBS: dict[str, Any] = {
    each.name: each.type for each in fields(Satchel) if each.name not in ("tasks", "host", "call_tool")
}
VERBS["Satchel"] = Satchel


@pytest.mark.parametrize("heading", VERBS)
def test_the_verbs_in_the_docs_exist_with_their_parameters(heading: str) -> None:
    text = section("docs/python.md", heading).split("\n### ")[0]
    documented = re.findall(r"`(?:await )?(\w+)\(([^`]*)\)`", "\n".join(cells[0] for cells in rows(text)))
    assert documented
    for name, parameters in documented:
        if hasattr(VERBS[heading], name):
            verb = inspect.signature(getattr(VERBS[heading], name))
            named = {each.partition("=")[0] for each in parameters.split(", ")} - {"", "*"}
            assert named <= set(verb.parameters), name
        else:  # a field that is a function
            assert name in {each.name for each in fields(Satchel)}, name


# The specifications


def test_each_difference_from_the_specifications_has_a_reason_in_a_line() -> None:
    heading, _, *differences = rows(
        section("docs/architecture.md", "Where Satchel differs from the specifications")
    )
    assert heading == ["Promise", "Here", "Why"]
    assert len(differences) > 15
    for cells in differences:
        assert len(cells) == 3 and all(cells), cells
        assert all(len(cell) < 200 for cell in cells), cells
    assert len({promise for promise, *_ in differences}) == len(differences)


# The repository


def slug(heading: str) -> str:
    """The anchor that a heading gets."""
    return re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).replace(" ", "-")


@pytest.mark.parametrize("file", markdown_files(), ids=str)
def test_no_relative_link_is_broken(file: Path) -> None:
    text = re.sub(r"^```.*?^```$|`[^`]*`", "", read(str(file)), flags=re.MULTILINE | re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (ROOT / file).parent / path if path else ROOT / file
        assert target.exists(), f"{file}: {link}"
        if anchor:
            headings = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in map(slug, headings), f"{file}: {link}"


def test_every_dependency_is_justified() -> None:
    project = tomllib.loads(read("pyproject.toml"))
    groups = [
        project["project"]["dependencies"],
        *project["project"]["optional-dependencies"].values(),
        *project["dependency-groups"].values(),
    ]
    names = {cast("re.Match[str]", re.match(r"[\w.-]+", line))[0] for group in groups for line in group}
    text = section("docs/architecture.md", "Dependencies")
    assert [name for name in sorted(names) if f"`{name}`" not in text] == []


def test_the_package_links_only_to_places_that_the_docs_link_to() -> None:
    urls = tomllib.loads(read("pyproject.toml"))["project"]["urls"]
    text = "".join(read(str(file)) for file in markdown_files())
    assert urls
    assert [url for url in urls.values() if f"({url})" not in text] == []


def test_every_make_target_in_the_docs_exists_and_the_described_ones_are_documented() -> None:
    makefile = read("Makefile")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    code = [line for file in markdown_files() for line in code_of(read(str(file)))]
    named = {target for line in code for target in re.findall(r"(?:^|[\s$])make ([a-z]+)", line)}
    assert named <= targets
    described = set(re.findall(r"^([a-z]+):.*## ", makefile, re.MULTILINE)) - {"help"}
    assert [target for target in sorted(described) if f"`make {target}`" not in read("CONTRIBUTING.md")] == []


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_modules_and_folders_that_the_docs_name_exist(name: str) -> None:
    package = ROOT / "src/satchel"
    rooms = ("cli", "codegen", "sandbox", "sandbox/bridge", "sandbox/running", "sandbox/guest/python")
    places = [ROOT, package, *(package / room for room in (*rooms, "sandbox/backends/bubblewrap"))]
    for code in code_of(read(name)):
        if re.fullmatch(r"[a-z_/]+(\.py|/)", code):
            assert any((place / code).exists() for place in places), code


# The examples


@pytest.fixture
def examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the examples, whose servers run with the Python that runs this test.

    In a shell, `satchel` is a process that has its modules loaded already.
    """
    program = tmp_path / "bin" / "satchel"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.join(forked_command([]))} "$@"\n')
    program.chmod(0o755)
    places = [str(program.parent), str(Path(sys.executable).parent), os.environ["PATH"]]
    monkeypatch.setenv("PATH", os.pathsep.join(places))
    ignored = shutil.ignore_patterns(".satchel", ".examples", "listings", "__pycache__")
    return Path(shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=ignored))


def run_satchel(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command, or a program that uses Satchel, by `-c`; its modules are loaded already."""
    done = run_command(arguments, directory=directory, environment=os.environ, stdin="", timeout=90)
    return subprocess.CompletedProcess(arguments, *done)


def run(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], cwd=directory, capture_output=True, text=True, timeout=90, check=False
    )


@pytest.mark.e2e
def test_the_example_in_python_runs(examples: Path) -> None:
    done = run(examples, "call_tool.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert set(done.stdout.splitlines()) == {  # two of the calls run at the same time
        "google-drive: 8 tools",
        "salesforce: 12 tools",
        "slack: 6 tools",
        "slack.post_message takes channel, text, thread_ts",
        "newest report: Q3 2026 Quarterly Report, doc-006",
        "deal: Meridian Health: framework contract",
        "unknown argument 'chanel'; did you mean 'channel'?",
        "google-drive.get_document failed, kind tool",
    }


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("name", "language", "number", "printed"),
    [
        ("docs/programs.md", "python", 0, "Q3 2026 Quarterly Report: [0-9]+ findings noted"),
        ("docs/programs.md", "ts", 0, "Q3 2026 Quarterly Report: [0-9]+ findings noted"),
        ("README.md", "python", -1, r"\d+ characters, and only this line is printed"),
    ],
)
def test_the_program_in_the_docs_fits_its_tools_and_runs_in_the_sandbox(
    examples: Path, name: str, language: str, number: int, printed: str
) -> None:
    file = "program.ts" if language == "ts" else "program.py"
    (examples / file).write_text(blocks(name, language)[number])
    done = run_satchel(examples, "run", "--check", file)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(printed, done.stdout.strip())


@pytest.mark.e2e
def test_the_session_in_the_docs_works(examples: Path) -> None:
    block = blocks("docs/programs.md", "python")[2]
    lines = [
        "import anyio",
        "from satchel import open_satchel",
        "async def main():",
        "    async with open_satchel() as satchel:",
        *(f"        {line}" for line in block.splitlines()),
        "        print(second.result)",
        "anyio.run(main)",
    ]
    done = run_satchel(examples, "-c", "\n".join(lines))
    assert (done.returncode, done.stdout, done.stderr) == (0, "42\n", "")


@pytest.mark.e2e
def test_the_program_without_await_in_the_docs_runs(examples: Path) -> None:
    (examples / "program.py").write_text(blocks("docs/programs.md", "python")[1])
    done = run_satchel(examples, "run", "--check", "program.py")
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"\d+\n", done.stdout)


@pytest.mark.e2e
def test_the_skill_in_the_docs_is_saved_and_used(examples: Path) -> None:
    save, use = blocks("docs/programs.md", "python")[3:]
    for block, printed in (
        (save, "from skills.count_channels import count_channels"),
        (use, r"\d+"),
    ):
        (examples / "program.py").write_text(block)
        done = run_satchel(examples, "run", "--check", "program.py")
        assert done.returncode == 0, done.stderr
        assert re.fullmatch(printed, done.stdout.strip())


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("name", "printed"), [("README.md", r"\d+"), ("docs/python.md", "Q3 2026 Quarterly Report")]
)
def test_the_first_program_in_the_docs_runs(examples: Path, name: str, printed: str) -> None:
    done = run_satchel(examples, "-c", blocks(name, "python")[0])
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(printed, done.stdout.strip())


OPENED = "from satchel import open_satchel\nasync with open_satchel() as satchel:"
SNIPPETS = {
    ("docs/python.md", 1): (
        'code = "from servers.slack.sync import list_channels; list_channels()"',
        OPENED,
        "",
        "1 slack",
    ),
    ("docs/python.md", 2): ("", "", "", "default slack.list_channels"),
    ("docs/python.md", 3): ("", "", "print([tool.name for tool in tools])", "'execute_code'"),
    ("docs/python.md", 4): (
        "from pydantic_ai.models.test import TestModel\nmodel = TestModel(call_tools=['list_servers'])",
        "",
        "print(answer.output)",
        "google-drive",
    ),
    ("docs/skills.md", 0): ("", "", "", "/mnt/skills/community/find-customer/SKILL.md"),
    ("docs/skills.md", 1): (
        "from satchel.skills import load_skills",
        "",
        "print([skill.name for skill in load_skills() if not skill.enabled])",
        "['quarterly-report']",
    ),
}
"""What stands before a snippet of Python, the block that it is in, what follows, and what is printed."""


@pytest.mark.e2e
@pytest.mark.slow
@pytest.mark.parametrize(("name", "number"), SNIPPETS)
def test_the_snippets_of_python_in_the_docs_run(examples: Path, name: str, number: int) -> None:
    before, opening, after, printed = SNIPPETS[name, number]
    skill = examples / "skills/public/quarterly-report/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: quarterly-report\ndescription: Writes a report.\n---\n")
    body = "\n".join([blocks(name, "python")[number], after])
    body = f"{opening}\n{indent(body, '    ')}" if opening else body
    inner = indent(f"{before}\n{body}", "    ")
    code = f"import anyio\nasync def main():\n{inner}\nanyio.run(main)\n"
    done = run_satchel(examples, "-c", code)
    assert done.returncode == 0, done.stderr
    assert printed in done.stdout


@pytest.mark.e2e
@pytest.mark.slow
@pytest.mark.parametrize("language", ["python", "ts"])
def test_the_wrappers_in_the_docs_are_used_and_tried_without_servers(examples: Path, language: str) -> None:
    used, tried = blocks("docs/wrappers.md", language)
    file = "program.py" if language == "python" else "program.ts"
    (examples / file).write_text(used)
    done = run_satchel(examples, "run", "--check", file)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[0].startswith("Q3 2026 Quarterly Report")
    if language == "python":  # as a script of one's own, on the generated tree
        run_satchel(examples, "generate", "--output", "code", "--language", "python")
        program = "from servers.google_drive.sync import get_document\nget_document(document_id='doc-006')"
        code = tried.replace("# … run the program …", program)
        done = run(examples / "code" / "python", "-c", code)
        assert (done.returncode, done.stderr) == (0, "")
        assert "'google-drive'" in done.stdout and "'doc-006'" in done.stdout


SESSIONS = {"README.md": "examples", "examples/universal/README.md": "examples/universal"}
"""Pages with sessions, and where these take place."""


def session(text: str) -> list[tuple[str, str]]:
    """(command, output) of every command in the sessions of a text."""
    found = re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    steps = [
        (*step.split("\n", 1),)
        for block in found
        for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    ]
    return [(command, output) for command, output in steps]


def run_in_shell(directory: Path, command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", command], cwd=directory, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize("name", SESSIONS)
def test_the_commands_in_sessions_exist(name: str) -> None:
    words = [shlex.split(command) for command, _ in session(read(name))]
    assert len(words) > 3
    for line in words:
        assert line[0] in ("satchel", "make", "pip", "uv", "cd", "python")
        if line[0] == "satchel":
            build_parser().parse_args(line[1 : line.index("--") if "--" in line else None])


@pytest.mark.e2e
@pytest.mark.parametrize("name", SESSIONS)
def test_sessions_show_what_the_program_prints(examples: Path, name: str) -> None:
    place = examples.parent / SESSIONS[name]
    shown = [step for step in session(read(name)) if step[1] or step[0].startswith("python ")]
    assert len(shown) >= 3
    for command, output in shown:
        done = run_in_shell(place, command)
        assert done.stdout + done.stderr == output, command


@pytest.mark.e2e
@pytest.mark.slow
def test_the_way_in_works_as_the_readme_has_it(examples: Path, own_home: Path, tmp_path: Path) -> None:
    entry = {"command": sys.executable, "args": [str(examples / "servers/slack.py")]}
    client = own_home / ".claude.json"
    client.write_text(json.dumps({"mcpServers": {"slack": entry}}, indent=2))
    before = client.read_bytes()
    project = tmp_path / "project"
    project.mkdir()
    commands = [command for command, _ in session(section("README.md", "Start"))]
    assert [command.split()[1] for command in commands[1:]] == ["init", "doctor", "connect"]
    for command in [*commands[1:], "satchel connect claude-code --undo"]:
        asks = "init" in command or "connect" in command
        done = run_in_shell(project, f"{command} --yes" if asks else command)
        assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads((project / "extensions_config.json").read_text())["mcpServers"] == {"slack": entry}
    assert client.read_bytes() == before


def test_the_readme_installs_extras_that_exist() -> None:
    extras = tomllib.loads(read("pyproject.toml"))["project"]["optional-dependencies"]
    named = re.findall(r"'\.\[([a-z,-]+)\]'", read("README.md"))
    assert named
    assert {extra for names in named for extra in names.split(",")} <= set(extras)


def test_the_figures_in_the_readme_are_those_that_were_measured() -> None:
    measured = read("docs/measured.md")
    beginning = read("README.md").partition("## Start")[0]
    figures = set(re.findall(r"\d+,\d{3}", beginning)) - {"105,909"}  # the length of the report
    assert len(figures) >= 5
    assert [figure for figure in sorted(figures) if figure not in measured] == []


def test_what_a_measurement_writes_anew_is_its_own_section_only() -> None:
    text = read("docs/measured.md")
    written = text.partition("<!-- context: written by")[2].partition("<!-- end of context -->")[0]
    assert re.findall(r"^## (.*)", written, re.MULTILINE) == ["Context"]


@pytest.mark.e2e
@pytest.mark.slow
def test_the_recording_shows_what_the_commands_print(tmp_path: Path) -> None:
    made = tmp_path / "recording.svg"
    done = run(ROOT, "scripts/record.py", "--output", str(made))
    assert (done.returncode, done.stderr) == (0, "")

    def lines(file: Path) -> list[str]:
        """Without times and ids, which differ each time."""
        texts = [
            "".join(element.itertext())
            for element in ElementTree.parse(file).iter()
            if element.tag.endswith("text")
        ]
        texts = [re.sub(r"\b[0-9a-f]{12}\b|[\d-]{10} [\d:]{8}|\d[\d.]* m?s\b", "…", text) for text in texts]
        return [" ".join(text.split()) for text in texts]

    assert len(lines(made)) > 15
    assert lines(ROOT / "docs/first-look.svg") == lines(made)
    assert "![" in read("README.md") and "(docs/first-look.svg)" in read("README.md")


@pytest.mark.e2e
def test_the_wrapper_in_the_readme_is_what_is_generated(examples: Path) -> None:
    run_satchel(examples, "generate", "--output", "code", "--language", "python")
    wrapper = (examples / "code/python/servers/slack/list_channels.py").read_text()
    assert f"```python\n{wrapper}```" in read("README.md")


def shell_lines(name: str) -> list[str]:
    """Indented lines of a page that a shell runs."""
    return re.findall(r"^    ((?:satchel |echo ).*)$", read(name), re.MULTILINE)


@pytest.mark.e2e
@pytest.mark.slow
def test_the_lines_for_a_shell_in_the_page_on_programs_work(examples: Path) -> None:
    (examples / "report.py").write_text((examples / "programs/quarterly_report.py").read_text())
    (examples / "report.ts").write_text((examples / "programs/quarterly_report.ts").read_text())
    lines = shell_lines("docs/programs.md")
    assert len(lines) >= 12
    ran: list[str] = []
    for line in lines:
        command = line.replace("3f2a", ran[0][:8]) if ran else line
        if command == "satchel bridge":  # which goes on until somebody ends it
            command = "timeout --signal=INT 20 satchel bridge | grep -m 1 'export SATCHEL_BRIDGE='"
        done = run_in_shell(examples, command)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        if command == "satchel run report.py":
            listed = run_in_shell(examples, "satchel executions --json")
            ran.append(json.loads(listed.stdout)["executions"][0]["id"])
    assert "quarterly-report" in run_in_shell(examples, "satchel skills list").stdout


@pytest.mark.e2e
@pytest.mark.slow
def test_the_sessions_in_the_page_on_skills_work(examples: Path, tmp_path: Path) -> None:
    head = "---\nname: {}\ndescription: Sums up the newest quarterly numbers.\n---\n\nRead the report.\n"
    for name in ("quarterly-report", "report"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "SKILL.md").write_text(head.format(name))
        if name == "report":
            (folder / "conftest.py").write_text("print('run by pytest')\n")
        packed = run_in_shell(examples, f"satchel skills pack {folder} --output {name}.skill")
        assert packed.returncode == 0, packed.stderr
    steps = session(read("docs/skills.md"))
    assert len(steps) == 5
    for command, output in steps:
        done = run_in_shell(examples, command)
        said = re.sub(r"(?<=@)[0-9a-f]{4}\w*", "3f1c…", done.stdout + done.stderr)
        assert said == output if output else done.returncode == 0, (command, said)


@pytest.mark.e2e
def test_the_session_in_the_page_on_connecting_shows_what_is_printed(examples: Path, own_home: Path) -> None:
    file = own_home / ".cursor/mcp.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"mcpServers": {"browser": {"command": "npx"}}}, indent=2) + "\n")
    ((command, output),) = session(read("docs/connecting.md"))
    program = Path(sys.executable).with_name("satchel")
    code, said = decide([str(program), *command.split()[1:]], examples, asked=r"\[(y)/N\]")
    said = re.sub(r"\x1b\[\d*m", "", said).replace(str(program), "/home/ada/.venv/bin/satchel")
    said = said.replace(str(examples), "/home/ada/work").replace(str(own_home), "/home/ada")
    assert (code, said) == (0, output)


@pytest.mark.e2e
def test_the_session_in_the_page_on_plugins_works(examples: Path) -> None:
    plugin = examples.parent / "tools/sales"
    skill = plugin / "skills/forecast"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: forecast\ndescription: Makes a forecast.\n---\n\nRead on.\n")
    catalog = plugin.parent / ".claude-plugin/marketplace.json"
    catalog.parent.mkdir()
    entry = {"name": "sales", "source": "./sales", "description": "Makes a forecast."}
    catalog.write_text(json.dumps({"name": "tools", "owner": {"name": "Ada"}, "plugins": [entry]}))
    add, search, install = (command for command, _ in session(read("docs/plugins.md")))
    for command in (add, search):
        done = run_in_shell(examples, command)
        assert done.returncode == 0 and ("sales" in done.stdout or command == add), done.stdout + done.stderr
    program = str(Path(sys.executable).with_name("satchel"))
    code, said = decide([program, *install.split()[1:]], examples)
    assert code == 0, said
    assert "forecast" in run_in_shell(examples, "satchel skills list").stdout
