"""Functions of a project as tools: what is listed of them, what they return, and how they fail."""

import sys
import textwrap
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from satchel.config import ServerEntry
from satchel.config.custom import custom_entries
from satchel.errors import ServerFailedError
from satchel.model import CallResult
from satchel.upstream import custom_host
from satchel.upstream.custom_host import build_tool, load_tools
from satchel.upstream.listing import PROBLEM
from satchel.upstream.pool import Pool, open_pool
from tests.upstream.helpers import QUICK, call, see_that_none_is_left

WriteModule = Callable[..., str]
Properties = dict[str, dict[str, Any]]


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WriteModule:
    """Writes a module that this process can import; its name is that of no other test's."""
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(custom_host, "_PROJECT", str(tmp_path))
    stem = "custom_" + "".join(filter(str.isalnum, tmp_path.name))

    def write(text: str, suffix: str = "") -> str:
        (tmp_path / f"{stem}{suffix}.py").write_text(textwrap.dedent(text))
        return stem + suffix

    return write


def navigate(url: str, depth: int = 2, tags: list[str] | None = None) -> str:
    """Open a page.

    Args:
        url: The address.
        depth: How deep to go.
    """
    return f"{url} {depth} {tags}"


def test_signature_and_docstring_make_the_definition() -> None:
    tool = build_tool("go", navigate)

    properties: Properties = tool.parameters["properties"]
    assert tool.name == "go"
    assert tool.description.startswith("Open a page.\n\nArgs:\n    url: The address.")
    assert tool.parameters["required"] == ["url"]
    assert (properties["url"]["type"], properties["url"]["description"]) == ("string", "The address.")
    assert properties["depth"]["default"] == 2
    assert properties["depth"]["description"] == "How deep to go."
    assert "description" not in properties["tags"]


@pytest.mark.parametrize(
    "code",
    [
        """
        from dataclasses import dataclass
        @dataclass
        class Page:
            title: str
        """,
        """
        from typing import TypedDict
        class Page(TypedDict):
            title: str
        """,
        """
        from pydantic import BaseModel
        class Page(BaseModel):
            title: str
        """,
    ],
    ids=["dataclass", "TypedDict", "pydantic"],
)
def test_records_as_return_types_give_an_output_schema(module: WriteModule, code: str) -> None:
    name = module(textwrap.dedent(code) + "def page() -> Page:\n    return Page(title='x')\n")

    (tool,), problems = load_tools({"page": f"{name}:page"})

    assert problems == {}
    assert tool.output_schema is not None
    assert tool.output_schema["properties"]["title"]["type"] == "string"


def test_a_return_type_without_a_schema_costs_the_schema_only_and_is_told(module: WriteModule) -> None:
    # Stands in for what depends on the version of Python: a type that pydantic refuses where it is nested.
    name = module(
        """
        class Odd:
            @classmethod
            def __get_pydantic_core_schema__(cls, source, handler):
                raise RuntimeError("no schema for this one")
        def odd() -> list[Odd]:
            return []
        """
    )

    (tool,), problems = load_tools({"odd": f"{name}:odd"})

    assert problems == {}
    assert tool.output_schema is None
    assert tool.meta is not None
    assert "has no output schema: RuntimeError: no schema for this one" in tool.meta[PROBLEM]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (
            "import not_installed_anywhere",
            "ModuleNotFoundError: No module named 'not_installed_anywhere' at {file}:1",
        ),
        ("def broken(:", "SyntaxError: invalid syntax at {file}:1"),
        ("import sys\nsys.exit('no display')", "SystemExit: no display at {file}:2"),
        ("def brocken(): pass", "LookupError: {file} has no 'broken'; did you mean 'brocken'?"),
        ("broken = 3", "TypeError: 'broken' in {file} is not a function but of type int"),
        ("def broken(*values): pass", "'values' can't be given by name"),
        ("def broken(**values): pass", "'values' can't be given by name"),
        ("def broken(value, /): pass", "'value' can't be given by name"),
        ("def broken(value: 'Missing'): pass", "NameError: name 'Missing' is not defined"),
    ],
)
def test_a_function_that_can_not_be_loaded_is_listed_with_the_reason_and_the_others_work(
    module: WriteModule, code: str, expected: str
) -> None:
    bad = module(code, "_bad")
    good = module("def good(): pass")

    tools, problems = load_tools({"broken": f"{bad}:broken", "good": f"{good}:good"})

    assert [tool.name for tool in tools] == ["broken", "good"]
    assert list(problems) == ["broken"]
    assert problems["broken"].startswith(f"can't be loaded: {bad}:broken: ")
    assert expected.format(file=f"{bad}.py") in problems["broken"]
    assert tools[0].description == problems["broken"]
    assert tools[0].meta == {PROBLEM: problems["broken"]}


def test_a_module_that_does_not_exist_is_named_with_the_places_that_were_searched(tmp_path: Path) -> None:
    _, problems = load_tools({"go": "no_such_package.web:go"})

    assert "there is no module 'no_such_package' in" in problems["go"]


def test_a_module_that_fails_is_run_once_however_many_functions_it_has(
    module: WriteModule, tmp_path: Path
) -> None:
    name = module(
        """
        from pathlib import Path
        with Path(__file__).with_name("runs").open("a") as stream:
            stream.write("x")
        raise RuntimeError("no")
        """
    )

    _, problems = load_tools({"one": f"{name}:one", "two": f"{name}:two"})

    assert list(problems) == ["one", "two"]
    assert (tmp_path / "runs").read_text() == "x"


# As a process


FUNCTIONS = """
import asyncio
import os
import subprocess
import sys
from dataclasses import dataclass

print("printed while importing")
subprocess.run(["echo", "a child's output"])
assert sys.stdin.read() == ""


@dataclass
class Page:
    title: str
    depth: int


def plain(url: str, depth: int = 2) -> Page:
    print("printed by", url, flush=True)
    os.write(1, b"written to the descriptor\\n")
    subprocess.run(["echo", "a child's output"])
    return Page(title=url, depth=depth)


async def later(url: str) -> str:
    await asyncio.sleep(0)
    return url


def crash(code: int) -> None:
    raise ValueError(f"no page {code}")


async def crash_later() -> None:
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(later_still())


async def later_still() -> None:
    raise KeyError("inner")


def leave() -> None:
    sys.exit("gone home")


def lie() -> int:
    return "many"


def variable(name: str) -> str:
    return os.environ.get(name, "unset")
"""
NAMES = ("plain", "later", "crash", "crash_later", "leave", "lie", "variable")


def group(directory: Path, **targets: str) -> ServerEntry:
    (entry,) = custom_entries(
        {f"web.{name}": target for name, target in targets.items()}, directory / "satchel.yaml"
    )
    return entry


def functions(directory: Path) -> ServerEntry:
    (directory / "pages").mkdir()
    (directory / "pages/web.py").write_text(FUNCTIONS)
    return group(directory, **{name: f"pages.web:{name}" for name in NAMES})


@asynccontextmanager
async def opened(**environment: str) -> AsyncGenerator[Pool]:
    async with open_pool(QUICK, environment=environment) as pool:
        yield pool


async def run(pool: Pool, entry: ServerEntry, name: str, /, **arguments: Any) -> CallResult:
    return await pool.send(entry, call("web", name, arguments))


@pytest.mark.slow
@pytest.mark.anyio
async def test_plain_and_async_functions_run_and_what_they_print_never_meets_the_protocol(
    tmp_path: Path,
) -> None:
    entry = functions(tmp_path)
    async with opened() as pool:
        listing = await pool.list_server(entry)
        assert [tool["name"] for tool in listing.tools] == list(NAMES)
        plain = await run(pool, entry, "plain", url="x")
        assert plain.structured == {"title": "x", "depth": 2}
        assert (await run(pool, entry, "later", url="y")).text == "y"
        again = await pool.list_server(entry)
        noise = pool.last_words("web")
    assert again.problems == ()
    assert noise[0] == "printed while importing"
    assert noise[2:5] == ["printed by x", "written to the descriptor", "a child's output"]
    see_that_none_is_left()


@pytest.mark.slow
@pytest.mark.anyio
async def test_an_exception_is_told_with_type_message_and_place_and_the_server_goes_on(
    tmp_path: Path,
) -> None:
    entry = functions(tmp_path)
    line = FUNCTIONS.splitlines().index('    raise ValueError(f"no page {code}")') + 1
    async with opened() as pool:
        crash = await run(pool, entry, "crash", code=404)
        trace = pool.last_words("web")
        later = await run(pool, entry, "crash_later")
        leave = await run(pool, entry, "leave")
        lie = await run(pool, entry, "lie")
        misfit = await run(pool, entry, "crash", code="many")
        assert (await run(pool, entry, "later", url="y")).text == "y"
    assert all(result.is_error for result in (crash, later, leave, lie, misfit))
    assert crash.text == f"ValueError: no page 404\nat pages/web.py:{line}"
    assert trace[-4:] == [
        "Traceback (most recent call last):",
        f'  File "{tmp_path}/pages/web.py", line {line}, in crash',
        '    raise ValueError(f"no page {code}")',
        "ValueError: no page 404",
    ]
    assert "KeyError: 'inner'" in later.text
    assert leave.text.startswith("SystemExit: gone home")
    assert "it returned something else than it declares" in lie.text
    assert "valid integer" in lie.text
    assert "code" in misfit.text


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_function_sees_the_whole_environment(tmp_path: Path) -> None:
    entry = functions(tmp_path)
    async with opened(MY_API_KEY="for my own code", MY_TEAM="the blue one") as pool:
        assert (await run(pool, entry, "variable", name="MY_TEAM")).text == "the blue one"
        assert (
            await run(pool, entry, "variable", name="MY_API_KEY")
        ).text == "***"  # it sees, and can't tell


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_broken_function_is_listed_as_a_problem_and_answers_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text("def f() -> str:\n    return 'fine'\n")
    (tmp_path / "bad.py").write_text("\nimport not_installed_anywhere\n")
    entry = group(tmp_path, good="good:f", bad="bad:f")
    async with opened() as pool:
        listing = await pool.list_server(entry)
        assert (await run(pool, entry, "good")).text == "fine"
        failed = await run(pool, entry, "bad", whatever=1)
        words = pool.last_words("web")
    reason = (
        "can't be loaded: bad:f: ModuleNotFoundError: No module named 'not_installed_anywhere' at bad.py:2"
    )
    assert listing.problems == (f"tool 'bad': it says: {reason}",)
    assert listing.tools[1]["description"] == reason
    assert (failed.is_error, failed.text) == (True, reason)
    assert words[-1] == f"web.bad {reason}"


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_group_of_which_nothing_can_be_loaded_fails_with_the_reasons(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("1 / 0\n")
    entry = group(tmp_path, one="bad:one", two="missing:two")
    async with opened() as pool:
        # Its output may be seen to end before its exit code is known.
        with pytest.raises(ServerFailedError, match=r"exited with code 1|closed the connection") as caught:
            await pool.list_server(entry)
    assert (
        "web.one can't be loaded: bad:one: ZeroDivisionError: division by zero at bad.py:1"
        in caught.value.stderr
    )
    assert "no module 'missing'" in caught.value.message


@pytest.mark.slow
@pytest.mark.anyio
async def test_files_of_the_project_do_not_take_the_place_of_what_the_host_needs(tmp_path: Path) -> None:
    for name in ("mcp", "anyio", "inspect", "satchel"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('not this one')\n")
    (tmp_path / "mine.py").write_text("def f() -> str:\n    return 'fine'\n")
    entry = group(tmp_path, f="mine:f")
    async with opened() as pool:
        assert (await run(pool, entry, "f")).text == "fine"


@pytest.mark.slow
@pytest.mark.anyio
async def test_an_import_that_takes_too_long_meets_the_startup_time_out(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("import threading\nthreading.Event().wait()\n")
    entry = group(tmp_path, f="slow:f")
    async with open_pool(type(QUICK)(startup_timeout=3, timeout=10)) as pool:
        with pytest.raises(ServerFailedError, match="did not answer within 3 s"):
            await pool.list_server(entry)
    see_that_none_is_left()
