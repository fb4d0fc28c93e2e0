"""Languages and backends are rows of tables: no source compares their names, so others can be added."""

import ast
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import get_args

import pytest

import satchel
from satchel.codegen.writers import WRITERS
from satchel.errors import ArgumentError
from satchel.languages import (
    LANGUAGES,
    PROGRAMS,
    Language,
    ProgramLanguage,
    language_of,
    language_of_file,
    with_wrappers,
)
from satchel.library.saved.code import CODE
from satchel.sandbox.backends import BACKENDS
from satchel.sandbox.checking.findings import CHECKERS
from satchel.sandbox.jobs import JOBS

SOURCE = Path(satchel.__file__).parent
NAMES = {name for programs in PROGRAMS.values() for name in programs.names}
# What is about one language only, and what runs inside of a box, where there is only one.
OF_ONE_LANGUAGE = (
    "languages.py",
    "codegen/python/",
    "codegen/typescript/",
    "library/saved/python_code.py",
    "library/saved/typescript_code.py",
    "sandbox/checking/python.py",
    "sandbox/checking/typescript.py",
    "sandbox/guest/",
)


def comparisons(code: str, names: Collection[str]) -> Iterator[int]:
    """The lines on which something is compared with one of the names, or with a list of some."""
    if not any(f"{quote}{name}{quote}" in code for name in names for quote in "'\""):
        return  # reading the text of all files is quick, parsing them is not
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Compare):
            compared = [node.left, *node.comparators]
        elif isinstance(node, ast.MatchValue):
            compared = [node.value]
        else:
            continue
        for side in compared:
            parts = side.elts if isinstance(side, ast.Tuple | ast.List | ast.Set) else [side]
            if any(isinstance(part, ast.Constant) and part.value in names for part in parts):
                yield node.lineno if isinstance(node, ast.expr) else compared[0].lineno


def places_that_compare(names: Collection[str], spared: tuple[str, ...] = ()) -> list[str]:
    found: list[str] = []
    for file in sorted(SOURCE.rglob("*.py")):
        name = file.relative_to(SOURCE).as_posix()
        if not name.startswith(spared):
            found += [f"{name}:{line}" for line in comparisons(file.read_text(), names)]
    return found


def test_no_source_compares_the_name_of_a_language() -> None:
    assert places_that_compare(NAMES, OF_ONE_LANGUAGE) == []


def test_no_source_compares_the_name_of_a_backend() -> None:
    assert places_that_compare(BACKENDS) == []


@pytest.mark.parametrize(
    "code",
    [
        "x = 1 if language == 'python' else 2",
        "if 'python' != language: pass",
        "language in ('python', 'typescript')",
        "match language:\n    case 'python': pass",
    ],
)
def test_a_comparison_is_noticed_in_any_form(code: str) -> None:
    assert list(comparisons(code, NAMES))
    assert not list(comparisons(code.replace("python", "cobol").replace("typescript", "cobol"), NAMES))


def test_every_language_has_a_row_in_every_table() -> None:
    for table in (LANGUAGES, WRITERS, CODE, CHECKERS):
        assert set(table) == set(get_args(Language))
    for table in (PROGRAMS, JOBS):
        assert set(table) == set(get_args(ProgramLanguage))
    assert set(LANGUAGES) <= set(PROGRAMS)


def test_a_language_is_found_by_any_of_its_names_and_by_the_endings_of_its_files() -> None:
    assert {language_of(name) for name in ("typescript", "ts", "javascript", "js")} == {"typescript"}
    assert {language_of(name) for name in ("python", "py")} == {"python"}
    assert [language_of_file(ending) for ending in (".py", ".mjs", ".sh", ".rb", "")] == [
        "python", "typescript", "bash", None, None,
    ]  # fmt: skip
    for language, conventions in LANGUAGES.items():
        assert language_of_file(conventions.ending) == language
    with pytest.raises(ArgumentError, match="programs can't be in 'cobol'"):
        language_of("cobol")


def test_the_shell_has_no_wrappers() -> None:
    assert [with_wrappers(name) for name in ("python", "typescript", "bash", "py", None)] == [
        "python", "typescript", None, None, None,
    ]  # fmt: skip


def test_the_line_that_imports_a_tool_is_that_of_its_language() -> None:
    assert LANGUAGES["python"].imported("servers/drive", "get") == "from servers.drive import get"
    assert (
        LANGUAGES["typescript"].imported("servers/drive", "get") == 'import { get } from "./servers/drive";'
    )
