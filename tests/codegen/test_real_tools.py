"""The tools of real servers: all of them, in both languages, checked, imported and counted in tokens."""

import json
import statistics
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from satchel.codegen.places import folder_of
from satchel.languages import LANGUAGES, Language
from satchel.model import Server, Tool
from tests.codegen.helpers import (
    check_python,
    check_typescript,
    generate_tree,
    read_real_servers,
    run_python,
)
from tests.conftest import SHARED

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
REAL_TOOLS = SHARED / "realtools"
ENDINGS: dict[Language, str] = {"python": ".py", "typescript": ".ts"}


@cache
def real_servers() -> tuple[Server, ...]:
    if not REAL_TOOLS.is_dir():
        pytest.skip("../shared/data/realtools is not here")
    return tuple(read_real_servers(REAL_TOOLS))


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("real") / "tree"
    generate_tree(place, real_servers())
    return place


def file_of(tree: Path, server: Server, tool: Tool, language: Language) -> Path:
    name = tool.spelling.python if language == "python" else tool.spelling.typescript
    return tree / language / folder_of(server, language) / f"{name}{ENDINGS[language]}"


@cache
def count_tokens() -> Callable[[str], int]:
    module: Any = import_module("rs_bpe.bpe")  # has no types
    return module.openai.o200k_base().count


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_tool_has_a_file_of_its_own(tree: Path, language: Language) -> None:
    files = [file_of(tree, server, tool, language) for server in real_servers() for tool in server.tools]
    assert len(files) > 1000
    assert len({str(file).casefold() for file in files}) == len(files)
    assert [file for file in files if not file.is_file()] == []


def test_no_tool_needed_to_be_left_untyped(tree: Path) -> None:
    texts = {file: file.read_text() for file in (tree / "python" / "servers").rglob("*.py")}
    assert [str(file) for file, text in texts.items() if "Input schema not understood" in text] == []


IMPORT_ALL = """
import importlib, inspect, json
from pathlib import Path
import servers

count = 0
for row in json.loads((Path(servers.__file__).parent / "index.json").read_text())["servers"]:
    package = importlib.import_module(f"servers.{row['folder']}")
    twins = importlib.import_module(f"servers.{row['folder']}.sync")
    importlib.import_module(f"servers.{row['folder']}.example")
    importlib.import_module(f"servers.{row['folder']}.__version__")
    index = json.loads((Path(package.__file__).parent / "index.json").read_text())
    assert len(index["tools"]) == row["tools"], row
    for tool in index["tools"]:
        module = importlib.import_module(f"servers.{row['folder']}.{tool['file'].removesuffix('.py')}")
        function = getattr(package, tool["name"])
        assert function is vars(module)[tool["name"]], tool
        assert inspect.iscoroutinefunction(function), tool
        assert not inspect.iscoroutinefunction(getattr(twins, tool["name"])), tool
        count += 1
print(count)
"""


def test_every_python_file_can_be_imported_and_every_name_is_distinct(tree: Path) -> None:
    done = run_python(tree / "python", "-W", "error", "-c", IMPORT_ALL)
    assert done.stderr == ""
    assert int(done.stdout) == sum(server.tool_count for server in real_servers())


def test_every_python_file_passes_a_strict_type_checker(tree: Path) -> None:
    assert check_python(tree / "python") == []


def test_every_typescript_file_passes_deno_check(tree: Path) -> None:
    assert check_typescript(tree / "typescript") == ""


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_median_wrapper_costs_fewer_tokens_than_its_definition(tree: Path, language: Language) -> None:
    count = count_tokens()
    ratios: list[float] = []
    for server in real_servers():
        for tool in server.tools:
            definition = json.dumps(tool.definition, separators=(",", ":"), ensure_ascii=False)
            text = file_of(tree, server, tool, language).read_text()
            ratios.append(count(text) / count(definition))
    median = statistics.median(ratios)
    print(f"{language}: median {median:.3f}, worst {max(ratios):.2f} of the definition")
    assert median < 1


@pytest.mark.parametrize("language", LANGUAGES)
def test_to_use_any_one_tool_an_agent_reads_less_than_three_percent_of_all(
    tree: Path, language: Language
) -> None:
    count = count_tokens()
    servers = real_servers()
    whole = sum(
        count(json.dumps(tool.definition, separators=(",", ":"), ensure_ascii=False))
        for server in servers
        for tool in server.tools
    )
    listed = count((tree / language / "servers" / "index.json").read_text())
    shares: dict[str, float] = {}
    for server in servers:
        index = count((tree / language / folder_of(server, language) / "index.json").read_text())
        wrappers = [count(file_of(tree, server, tool, language).read_text()) for tool in server.tools]
        shares[server.name] = (listed + index + max(wrappers, default=0)) / whole
    worst = max(shares, key=lambda name: shares[name])
    print(
        f"{language}: all {whole} tokens; list {listed / whole:.2%}; "
        f"median {statistics.median(shares.values()):.2%}, worst {shares[worst]:.2%} ({worst})"
    )
    assert {name: share for name, share in shares.items() if share >= 0.03} == {}


@pytest.mark.parametrize("language", LANGUAGES)
def test_few_wrappers_are_longer_than_four_thousand_characters(tree: Path, language: Language) -> None:
    lengths = {
        tool.qualified_name: len(file_of(tree, server, tool, language).read_text())
        for server in real_servers()
        for tool in server.tools
    }
    assert sum(length > 4000 for length in lengths.values()) < 30
    # Only one result has more than a hundred properties.
    assert [name for name, length in lengths.items() if length > 8000] == ["brave.brave_place_search"]
