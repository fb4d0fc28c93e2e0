"""The rules of the architecture, checked by reading the source; import-linter checks the layers too."""

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "satchel"
WAIT = 60  # seconds; only a hang reaches it

LONGEST_APP = 150  # lines
LONGEST_MODULE = 400  # lines
LARGEST_ROOM = 22  # modules directly in a folder

STAGES = frozenset(
    ("calls", "catalog", "codegen", "library", "privacy", "sandbox", "search", "store", "upstream")
)
SURFACES = frozenset(("agent", "cli", "integrations", "server", "web"))
BELOW_STAGES = frozenset(("errors", "languages", "model", "names", "support"))
OPENS_SATCHEL = "cli/running.py"  # the only file of a surface that imports the composition root

SDK = frozenset(("httpx2", "mcp", "mcp_types"))
MODELS = frozenset(("anthropic", "langchain", "langchain_core", "langgraph", "openai", "pydantic_ai"))
ONLY_IN = (  # packages, and the rooms that may import them
    (SDK, ("upstream", "server")),
    (frozenset(("starlette",)), ("server", "web")),
    (MODELS, ("agent", "integrations")),
)
TASK_STARTERS = frozenset(("create_task", "ensure_future", "run_coroutine_threadsafe"))
PRAGMA = re.compile(
    r"#\s*(?:noqa(?::\s*[A-Z]+\d+(?:,\s*[A-Z]+\d+)*)?|(?:pyright|type): ignore(?:\[[^\]]*\])?)"
)

Node = TypeVar("Node", bound=ast.AST)
Function = ast.FunctionDef | ast.AsyncFunctionDef
Import = ast.Import | ast.ImportFrom


class Module:
    """A file of `src/satchel` by its path from there."""

    def __init__(self, path: str, text: str) -> None:
        self.path = PurePosixPath(path)
        self.text = text

    @property
    def room(self) -> str:
        """The folder below `satchel` that it is in, or its own name."""
        return self.path.parts[0].removesuffix(".py")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @cached_property
    def explained(self) -> frozenset[int]:
        """Lines with a comment that says something to people."""
        tokens = tokenize.generate_tokens(io.StringIO(self.text).readline)
        return frozenset(
            token.start[0]
            for token in tokens
            if token.type == tokenize.COMMENT and PRAGMA.sub("", token.string).strip("# ")
        )

    @cached_property
    def _nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))  # of which most of the time goes to the walk, for each rule

    def nodes(self, *kinds: type[Node]) -> Iterator[Node]:
        return (node for node in self._nodes if isinstance(node, kinds))

    def has_comment_above(self, line: int) -> bool:
        return line - 1 in self.explained and self.lines[line - 2].lstrip().startswith("#")

    def has_comment_on(self, first: int, last: int | None = None) -> bool:
        return any(line in self.explained for line in range(first, (last or first) + 1))

    @cached_property
    def imports(self) -> list[tuple[int, str]]:
        """Every name that is imported anywhere, for type checkers too, as (line, name with all its dots)."""
        found: list[tuple[int, str]] = []
        for node in self.nodes(ast.Import, ast.ImportFrom):
            if isinstance(node, ast.Import):
                found += [(node.lineno, alias.name) for alias in node.names]
            else:
                package = self._absolute(node)
                found += [(node.lineno, f"{package}.{alias.name}") for alias in node.names]
        return found

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        package = ("satchel", *self.path.parent.parts)
        above = package[: len(package) - node.level + 1]
        return ".".join((*above, node.module) if node.module else above)


Rule = Callable[[Module], Iterator[int]]


# The rules: each yields the lines of a module that break it


def length(module: Module) -> Iterator[int]:
    """app.py has at most 150 lines, any other module at most 400."""
    longest = LONGEST_APP if module.path == PurePosixPath("app.py") else LONGEST_MODULE
    if len(module.lines) > longest:
        yield longest + 1


def surfaces_and_stages(module: Module) -> Iterator[int]:
    """Surfaces import no stage."""
    return _imports_of(module, STAGES) if module.room in SURFACES else iter(())


def surfaces_and_app(module: Module) -> Iterator[int]:
    """Surfaces import `satchel.app` only in cli/running.py."""
    if module.room in SURFACES and module.path != PurePosixPath(OPENS_SATCHEL):
        yield from _imports_of(module, {"app", "open_satchel"})


def stages_and_stages(module: Module) -> Iterator[int]:
    """Stages don't import each other."""
    return _imports_of(module, STAGES - {module.room}) if module.room in STAGES else iter(())


def below_stages(module: Module) -> Iterator[int]:
    """support, model, names, errors and languages import no stage."""
    return _imports_of(module, STAGES) if module.room in BELOW_STAGES else iter(())


def below_surfaces(module: Module) -> Iterator[int]:
    """verbs and toolset import neither a surface nor app."""
    return _imports_of(module, SURFACES | {"app"}) if module.room in ("verbs", "toolset") else iter(())


def packages(module: Module) -> Iterator[int]:
    """Only upstream and server import the MCP SDK; server, web: Starlette; agent, integrations: models."""
    for line, name in module.imports:
        package = name.partition(".")[0]
        if any(package in names and module.room not in rooms for names, rooms in ONLY_IN):
            yield line


def imports_in_functions(module: Module) -> Iterator[int]:
    """An import in a function has a reason beside it, or above the first of several."""
    for body in _bodies_in_functions(module.tree):
        is_shared = False  # the comment above the first of several
        for before, statement in pairwise([None, *body]):
            if not isinstance(statement, Import):
                continue
            if not isinstance(before, Import):
                is_shared = module.has_comment_above(statement.lineno)
            above = is_shared or module.has_comment_above(statement.lineno)
            if not above and not module.has_comment_on(statement.lineno, statement.end_lineno):
                yield statement.lineno


def tasks(module: Module) -> Iterator[int]:
    """A task outside a task group has a reason beside it."""
    if not any(starter in module.text for starter in TASK_STARTERS):
        return
    for statement in module.nodes(ast.stmt):
        for node in _own_expressions(statement):
            if not isinstance(node, ast.Call):
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in TASK_STARTERS and not (
                module.has_comment_above(statement.lineno)
                or module.has_comment_on(statement.lineno, node.lineno)
            ):
                yield node.lineno


def broad_handlers(module: Module) -> Iterator[int]:
    """An `except Exception` that does not end by raising has a reason on its line."""
    for handler in module.nodes(ast.ExceptHandler):
        caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        names = {"Exception" if kind is None else getattr(kind, "id", "") for kind in caught}
        if not names & {"Exception", "BaseException"} or isinstance(handler.body[-1], ast.Raise):
            continue
        if not module.has_comment_on(handler.lineno):
            yield handler.lineno


def properties(module: Module) -> Iterator[int]:
    """A property has no effects: it awaits nothing and sets nothing of its object."""
    for function in module.nodes(ast.FunctionDef, ast.AsyncFunctionDef):
        if not any(isinstance(each, ast.Name) and each.id == "property" for each in function.decorator_list):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Await):
                yield node.lineno
            yield from (target.lineno for target in _targets(node) if _is_of_self(target))


RULES: dict[str, Rule] = {
    rule.__name__: rule
    for rule in (
        length,
        surfaces_and_stages,
        surfaces_and_app,
        stages_and_stages,
        below_stages,
        below_surfaces,
        packages,
        imports_in_functions,
        tasks,
        broad_handlers,
        properties,
    )
}


def crowded(files: Iterable[PurePosixPath]) -> list[str]:
    """Folders with too many modules directly in them; `__init__.py` is a folder's door and does not count."""
    modules = Counter(str(file.parent) for file in files if file.name != "__init__.py")
    return [folder for folder, count in modules.items() if count > LARGEST_ROOM]


def _imports_of(module: Module, rooms: Iterable[str]) -> Iterator[int]:
    for line, name in module.imports:
        first, _, rest = name.partition(".")
        if first == "satchel" and rest.partition(".")[0] in rooms:
            yield line


def _bodies_in_functions(node: ast.AST, *, inside: bool = False) -> Iterator[list[ast.stmt]]:
    """Every list of statements in any function."""
    inside = inside or isinstance(node, Function)
    for name in ("body", "orelse", "finalbody"):
        body: Any = getattr(node, name, None)
        if inside and isinstance(body, list):
            yield body
    for child in ast.iter_child_nodes(node):
        yield from _bodies_in_functions(child, inside=inside)


def _own_expressions(statement: ast.stmt) -> Iterator[ast.AST]:
    """The parts of a statement that are in no statement below it."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt)]


def _targets(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.Assign(targets=targets) | ast.Delete(targets=targets):
            return targets
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
            return [target]
        case _:
            return []


def _is_of_self(target: ast.expr) -> bool:
    match target:
        case ast.Name(id=name):
            return name == "self"
        case ast.Attribute(value=value) | ast.Subscript(value=value):
            return _is_of_self(value)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return any(_is_of_self(part) for part in parts)
        case _:
            return False


# The source keeps them


@pytest.fixture(scope="module")
def modules() -> list[Module]:
    files = sorted(SOURCE.rglob("*.py"))
    return [Module(file.relative_to(SOURCE).as_posix(), file.read_text(encoding="utf-8")) for file in files]


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_the_source_keeps_the_rule(rule: Rule, modules: list[Module]) -> None:
    found = [
        f"src/satchel/{module.path}:{line}: {rule.__doc__}" for module in modules for line in rule(module)
    ]
    assert not found, "\n".join(["", *found])


def test_no_room_is_crowded(modules: list[Module]) -> None:
    found = crowded(module.path for module in modules)
    assert not found, f"more than {LARGEST_ROOM} modules: {', '.join(found)}"


# Each rule finds what breaks it

BROKEN: list[tuple[Rule, str, str, list[int]]] = [
    (length, "app.py", "x = 1\n" * 151, [151]),
    (length, "app.py", "x = 1\n" * 150, []),
    (length, "sandbox/guest/python/satchel_guest/run.py", "x = 1\n" * 401, [401]),
    (length, "names.py", "x = 1\n" * 400, []),
    (surfaces_and_stages, "cli/list.py", "from satchel.catalog import Catalog\n", [1]),
    (surfaces_and_stages, "server/wire.py", "import satchel.upstream.pool\n", [1]),
    (surfaces_and_stages, "web/pages.py", "from satchel import privacy\n", [1]),
    (
        surfaces_and_stages,
        "cli/list.py",
        "if TYPE_CHECKING:\n    from satchel.store.journal import Row\n",
        [2],
    ),
    (surfaces_and_stages, "cli/list.py", "def work():\n    from ..search import rank\n", [2]),
    (surfaces_and_stages, "cli/list.py", "from satchel.cli.catalog import rows\n", []),
    (surfaces_and_stages, "verbs/tools.py", "from satchel.search.rank import search\n", []),
    (surfaces_and_app, "integrations/langchain.py", "from satchel.app import open_satchel\n", [1]),
    (surfaces_and_app, "server/surface.py", "if TYPE_CHECKING:\n    from satchel import app\n", [2]),
    (surfaces_and_app, "server/surface.py", "from satchel import open_satchel\n", [1]),
    (surfaces_and_app, "cli/running.py", "from satchel.app import open_satchel\n", []),
    (surfaces_and_app, "skills.py", "from satchel.app import open_satchel\n", []),
    (stages_and_stages, "search/index.py", "from satchel.catalog import Snapshot\n", [1]),
    (stages_and_stages, "search/index.py", "from satchel.search.words import words_of\n", []),
    (stages_and_stages, "search/index.py", "from satchel.config import Paths\n", []),
    (below_stages, "support/files.py", "from satchel.store.store import Store\n", [1]),
    (below_stages, "names.py", "from satchel.catalog import Snapshot\n", [1]),
    (below_stages, "config/paths.py", "from satchel.support.files import read_small\n", []),
    (below_surfaces, "verbs/tools.py", "from satchel.cli.output import note\n", [1]),
    (below_surfaces, "toolset/offer.py", "from satchel.app import open_satchel\n", [1]),
    (below_surfaces, "toolset/offer.py", "from satchel.verbs.satchel import Satchel\n", []),
    (packages, "calls/chain.py", "import mcp_types as types\n", [1]),
    (packages, "verbs/tools.py", "from mcp.types import Tool\n", [1]),
    (packages, "catalog/cache.py", "import httpx2\n", [1]),
    (packages, "cli/serve.py", "from starlette.applications import Starlette\n", [1]),
    (packages, "context/prompts.py", "import pydantic_ai\n", [1]),
    (packages, "upstream/pool.py", "from mcp.client import Client\nimport httpx2\n", []),
    (packages, "server/http.py", "from starlette.applications import Starlette\n", []),
    (packages, "integrations/langchain.py", "from langchain_core.tools import tool\n", []),
    (imports_in_functions, "names.py", "def work():\n    import json\n", [2]),
    (imports_in_functions, "names.py", "import json\n", []),
    (imports_in_functions, "names.py", "def work():\n    import json  # seldom needed\n", []),
    (imports_in_functions, "names.py", "def work():\n    import json  # noqa: F401\n", [2]),
    (imports_in_functions, "names.py", "def work():\n    # Seldom needed.\n    import json\n", []),
    (imports_in_functions, "names.py", "def work():\n    # Seldom.\n\n    import json\n", [4]),
    (imports_in_functions, "names.py", "def work():\n    # Seldom.\n    import json\n\n    import re\n", []),
    (imports_in_functions, "names.py", "def work():\n    import json  # seldom\n    import re\n", [3]),
    (imports_in_functions, "names.py", "def work():\n    x = 1  # one\n    import json\n", [3]),
    (
        imports_in_functions,
        "names.py",
        "def work():\n    if is_seldom:\n        with suppress(OSError):\n            import re\n",
        [4],
    ),
    (tasks, "names.py", "task = asyncio.create_task(work())\n", [1]),
    (tasks, "names.py", "async def work():\n    await asyncio.ensure_future(other())\n", [2]),
    (tasks, "names.py", "asyncio.run_coroutine_threadsafe(work(), loop).result()\n", [1]),
    (tasks, "names.py", "x = 1  # one\ntask = create_task(work())\n", [2]),
    (tasks, "names.py", "task = asyncio.create_task(work())  # outlives whoever waits\n", []),
    (tasks, "names.py", "# Outlives whoever waits.\ntask = asyncio.create_task(work())\n", []),
    (tasks, "names.py", "tasks.start_soon(work)\n", []),
    (broad_handlers, "names.py", "try:\n    work()\nexcept Exception:\n    pass\n", [3]),
    (broad_handlers, "names.py", "try:\n    work()\nexcept (OSError, BaseException):\n    pass\n", [3]),
    (broad_handlers, "names.py", "try:\n    work()\nexcept:\n    pass\n", [3]),
    (broad_handlers, "names.py", "try:\n    work()\nexcept Exception:  # noqa: BLE001\n    pass\n", [3]),
    (broad_handlers, "names.py", "try:\n    work()\nexcept Exception:  # noqa: BLE001  hers\n    pass\n", []),
    (broad_handlers, "names.py", "try:\n    work()\nexcept BaseException:\n    tidy()\n    raise\n", []),
    (broad_handlers, "names.py", "try:\n    work()\nexcept OSError:\n    pass\n", []),
    (properties, "names.py", "@property\ndef one(self):\n    self._asked += 1\n    return 1\n", [3]),
    (properties, "names.py", "@property\ndef one(self):\n    self._kept['one'] = 1\n    return 1\n", [3]),
    (properties, "names.py", "@property\nasync def one(self):\n    return await self.ask()\n", [3]),
    (properties, "names.py", "@property\ndef one(self):\n    one = self._one\n    return one\n", []),
    (properties, "names.py", "@cached_property\ndef one(self):\n    self._asked = 1\n    return 1\n", []),
]


@pytest.mark.parametrize(("rule", "path", "source", "lines"), BROKEN)
def test_a_rule_finds_the_lines_that_break_it(rule: Rule, path: str, source: str, lines: list[int]) -> None:
    assert list(rule(Module(path, source))) == lines


def test_every_rule_is_broken_by_an_example() -> None:
    assert {rule.__name__ for rule, _, _, lines in BROKEN if lines} == set(RULES)


def test_a_crowded_room_is_found() -> None:
    files = [PurePosixPath(f"verbs/verb_{number}.py") for number in range(LARGEST_ROOM)]
    files += [PurePosixPath("verbs/__init__.py"), PurePosixPath("verbs/more/other.py")]
    assert crowded(files) == []
    assert crowded([*files, PurePosixPath("verbs/one_more.py")]) == ["verbs"]


# Start-up: what must not be loaded on the way to a quick command


@pytest.mark.parametrize(
    ("statement", "unwanted"),
    [
        ("import satchel; help(satchel)", "anyio jsonschema mcp pydantic sqlalchemy yaml"),
        (
            "from satchel.cli.main import main; main(['list', '--json'])",
            "anyio jinja2 jsonschema mcp pydantic sqlalchemy yaml",
        ),
        ("import satchel.verbs.tool_search", "anyio jsonschema satchel.library satchel.search.meaning yaml"),
        ("import satchel.app", "jinja2 mcp pydantic satchel.sandbox satchel.search.meaning sqlalchemy yaml"),
    ],
    ids=["the package", "list", "search", "call"],
)
def test_what_is_not_needed_is_not_loaded(statement: str, unwanted: str, tmp_path: Path) -> None:
    (tmp_path / "extensions_config.json").write_text("{}")
    program = f"import sys\n{statement}\nprint(); print('loaded:', *sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=WAIT,
    )
    loaded = done.stdout.rpartition("loaded: ")[2].split()
    assert not [name for name in loaded if name.startswith(tuple(unwanted.split()))]
