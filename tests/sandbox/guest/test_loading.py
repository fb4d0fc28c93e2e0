"""Wrappers of a generated tree, loaded by need: one file at a time, right in every order of imports."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from satchel_runtime import connect
from satchel_runtime.testing import Answers
from tests.codegen.helpers import generate_tree, make_servers, run_python

TEXT = {"type": "string"}
GET = {
    "name": "get_document",
    "inputSchema": {
        "type": "object",
        "properties": {"document_id": TEXT, "from": TEXT},
        "required": ["document_id"],
    },
    "outputSchema": {
        "type": "object",
        "title": "Document",
        "properties": {"title": TEXT, "size": {"type": "integer"}},
        "required": ["title"],
    },
}
TOOLS = [GET, {"name": "list"}, {"name": "search"}, {"name": "_load"}, {"name": "lazy"}, {"name": "blocking"}]
NAMES = ["_load", "blocking", "get_document", "lazy", "list", "search"]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("loading") / "tree"
    generate_tree(place, make_servers({"drive": TOOLS, "other": [GET]}), languages=["python"])
    return place / "python"


Run = Callable[[str], Any]


@pytest.fixture
def run(tree: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Runs a program as if nothing of the tree had been imported yet; gives what it calls `result`."""
    monkeypatch.setattr(sys, "path", [str(tree), *sys.path])

    def run_program(program: str) -> Any:
        forget()
        answers = Answers({"drive.get_document": {"title": "Plan"}, "drive.search": "found"})
        connect(answers)
        names: dict[str, Any] = {"__name__": "program", "answers": answers, "loaded": loaded}
        program = "import asyncio, satchel_runtime\n" + program
        exec(compile(program, "program.py", "exec"), names)  # noqa: S102
        return names["result"]

    yield run_program
    forget()
    connect(None)


def loaded() -> list[str]:
    return sorted(name for name in sys.modules if name == "servers" or name.startswith("servers."))


def forget() -> None:
    for name in loaded():
        del sys.modules[name]


def test_importing_a_tool_loads_its_file_and_no_other(run: Run) -> None:
    program = "from servers.drive import get_document\nresult = (loaded())"
    assert run(program) == ["servers", "servers.drive", "servers.drive.get_document"]


def test_importing_a_server_loads_no_tool(run: Run) -> None:
    assert run("import servers.drive\nresult = (loaded())") == ["servers", "servers.drive"]
    assert run("import servers.drive.sync\nresult = (loaded())") == [
        "servers",
        "servers.drive",
        "servers.drive.sync",
    ]


def test_looking_around_loads_nothing(run: Run) -> None:
    program = (
        "import servers.drive as d\nhasattr(d, '__wrapped__'); names = dir(d), d.__all__\nresult = (loaded())"
    )
    assert run(program) == ["servers", "servers.drive"]


def test_dir_and_all_name_the_tools(run: Run) -> None:
    for module in ("servers.drive", "servers.drive.sync"):
        program = f"import {module} as d\nresult = ([sorted(d.__all__), set(d.__all__) <= set(dir(d))])"
        assert run(program) == [NAMES, True]


ORDERS = [
    "from servers.drive import get_document",
    "import servers.drive.get_document\nfrom servers.drive import get_document",
    "from servers.drive import get_document\nimport servers.drive.get_document",
    "from servers.drive.get_document import get_document",
    "from servers.drive.get_document import Document\nfrom servers.drive import get_document",
    "from servers.drive import *",
    "import servers.drive.get_document\nfrom servers.drive import *",
    "from servers.drive.sync import get_document as twin\nfrom servers.drive import get_document",
    "from servers import drive\nget_document = drive.get_document",
    "import servers.drive\nget_document = servers.drive.get_document",
    "import servers.drive.get_document\nget_document = servers.drive.get_document",
    "import servers.drive.get_document as get_document",
    "__import__('servers.drive.get_document')\nfrom servers.drive import get_document",
    "import servers.drive.example\nfrom servers.drive import get_document",
    "from servers.other import get_document as other\nfrom servers.drive import get_document",
    "import servers.drive.sync\nimport servers.drive.get_document\nfrom servers.drive import get_document",
]


@pytest.mark.parametrize("imports", ORDERS)
def test_a_tool_is_its_function_in_every_order_of_imports(run: Run, imports: str) -> None:
    program = f"{imports}\nresult = (asyncio.run(get_document(document_id='x')))"
    assert run(program) == {"title": "Plan"}


@pytest.mark.parametrize(
    "imports", [order.replace("servers.drive", "servers.drive.sync", 1) for order in ORDERS[:1]]
)
def test_a_blocking_twin_needs_no_event_loop(run: Run, imports: str) -> None:
    program = f"{imports}\nresult = ([get_document(document_id='x').title, answers.requests])"
    sent = {"server": "drive", "tool": "get_document", "arguments": {"document_id": "x"}}
    assert run(program) == ["Plan", [("call_tool", sent)]]


@pytest.mark.parametrize(
    "imports",
    [
        "from servers.drive.sync import *",
        "import servers.drive.get_document\nfrom servers.drive.sync import get_document",
        "from servers.drive import get_document\nfrom servers.drive.sync import get_document",
        "from servers.drive.sync import get_document\nfrom servers.drive import get_document as other",
        "import servers.drive.sync as s\nget_document = s.get_document",
        "from servers.drive import sync\nget_document = sync.get_document",
    ],
)
def test_a_twin_blocks_in_every_order_of_imports(run: Run, imports: str) -> None:
    assert run(f"{imports}\nresult = (get_document(document_id='x').title == 'Plan')") is True


def test_a_twin_blocks_inside_a_running_event_loop(run: Run) -> None:
    program = """
from servers.drive.sync import get_document
from servers.drive import get_document as awaited
async def main():
    first = get_document(document_id="a")
    second = await awaited(document_id="b")
    async def inner():
        return get_document(document_id="c"), await awaited(document_id="d")
    rest = await asyncio.gather(inner(), inner())
    return [first.title, second.title, len(rest)]
result = (asyncio.run(main()))
"""
    assert run(program) == ["Plan", "Plan", 2]


def test_awaited_calls_never_block_and_twins_always_do(run: Run) -> None:
    program = """
from servers.drive.sync import get_document as twin
from servers.drive import get_document
ways = []
class Way:
    async def request(self, method, params):
        await asyncio.sleep(0)
        ways.append("await")
        return {"title": "x"}
    def request_blocking(self, method, params):
        ways.append("block")
        return {"title": "x"}
satchel_runtime.connect(Way())
async def main():
    waiting = asyncio.create_task(get_document(document_id="a"))
    twin(document_id="b")
    await waiting
    twin(document_id="c")
asyncio.run(main())
result = (ways)
"""
    assert run(program) == ["block", "await", "block"]


def test_twins_work_in_many_threads_at_once(run: Run) -> None:
    program = """
from concurrent.futures import ThreadPoolExecutor
import servers.drive.sync as s
def one(number):
    return s.get_document(document_id=str(number)).title
with ThreadPoolExecutor(16) as pool:
    titles = list(pool.map(one, range(200)))
ids = sorted(int(params["arguments"]["document_id"]) for _, params in answers.requests)
result = ([set(titles), ids == list(range(200))])
"""
    assert run(program) == [{"Plan"}, True]


def test_a_twin_has_the_name_the_text_and_the_signature_of_its_tool(run: Run) -> None:
    program = """
import inspect
from servers.drive import get_document
from servers.drive.sync import get_document as twin
same = inspect.signature(twin) == inspect.signature(get_document)
result = ([twin.__name__, twin.__doc__ == get_document.__doc__, same, inspect.iscoroutinefunction(twin)])
"""
    assert run(program) == ["get_document", True, True, False]


def test_an_error_comes_out_of_a_twin_as_it_is(run: Run) -> None:
    program = """
from servers.drive.sync import list as list_twin, get_document
try:
    list_twin()
except satchel_runtime.ToolError as error:
    first = [error.server, error.tool]
try:
    get_document(id="x")
except TypeError as error:
    second = "unexpected keyword argument" in str(error)
satchel_runtime.connect(None)
try:
    get_document(document_id="x")
except satchel_runtime.NotConnectedError as error:
    third = "not connected" in str(error)
result = ([*first, second, third])
"""
    assert run(program) == ["drive", "list", True, True]


def test_a_tool_that_is_not_there_is_answered_with_those_that_are(run: Run) -> None:
    program = """
import servers.drive
try:
    servers.drive.get_dokument
except AttributeError as error:
    result = str(error)
"""
    text = run(program)
    assert "servers.drive has no tool 'get_dokument'" in text
    assert "get_document" in text
    with pytest.raises(ImportError, match="cannot import name 'get_dokument'"):
        run("from servers.drive import get_dokument")


@pytest.mark.parametrize("name", NAMES)
def test_tools_called_like_parts_of_the_runtime_are_tools(run: Run, name: str) -> None:
    program = f"""
import inspect
from servers.drive import {name} as tool
from servers.drive.sync import {name} as twin
waits = inspect.iscoroutinefunction
result = [waits(tool), tool.__module__, waits(twin), twin.__module__]
"""
    module = f"servers.drive.{name}"
    assert run(program) == [True, module, False, module]


def test_parameters_take_keywords_only_and_real_names_are_sent(run: Run) -> None:
    program = """
from servers.drive.sync import get_document
get_document(document_id="x", from_="y")
try:
    get_document("x")
except TypeError as error:
    result = ([answers.requests[-1][1]["arguments"], "positional" in str(error)])
"""
    assert run(program) == [{"document_id": "x", "from": "y"}, True]


def test_a_result_is_a_record_of_the_tools_own_file(run: Run) -> None:
    program = """
import copy, pickle
from servers.drive.sync import get_document
from servers.drive.get_document import Document
document = get_document(document_id="x")
again = pickle.loads(pickle.dumps(document))
same = type(document) is type(again) is Document and again == document
result = [same, document.size, document["title"]]
"""
    assert run(program) == [True, None, "Plan"]


SCRIPT = '''
"""An ordinary script, beside a generated tree."""
import asyncio
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "tree" / "python"))

from satchel_runtime import ToolError, connect
from satchel_runtime.testing import Answers
from servers.drive import get_document
from servers.drive.sync import search
from helpers.call_mcp_tool import call_mcp_tool

def get(arguments):
    return {"title": arguments["document_id"].upper()}

connect(Answers({"drive.get_document": get, "drive.search": [1]}))

async def main():
    document = await get_document(document_id="plan")
    print(json.dumps([document.title, document, search()]))
    try:
        await call_mcp_tool("drive__nothing", {})
    except ToolError as error:
        print(type(error).__name__)

asyncio.run(main())
'''


def test_a_tree_runs_from_an_ordinary_script(tmp_path: Path) -> None:
    generate_tree(tmp_path / "tree", make_servers({"drive": TOOLS}), languages=["python"])
    (tmp_path / "my_script.py").write_text(SCRIPT)
    done = run_python(tmp_path / "nowhere", "-W", "error", str(tmp_path / "my_script.py"), PYTHONPATH="")
    assert done.stderr == ""
    first, second = done.stdout.splitlines()
    assert json.loads(first) == ["PLAN", {"title": "PLAN"}, [1]]
    assert second == "WrongCallError"


async def test_a_server_called_sync_is_a_server_like_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = {"drive": [{"name": "drive"}], "sync": [{"name": "drive"}, {"name": "push"}]}
    generate_tree(tmp_path / "tree", make_servers(both), languages=["python"])
    monkeypatch.setattr(sys, "path", [str(tmp_path / "tree" / "python"), *sys.path])
    forget()
    answers = Answers({"sync.drive": 1, "sync.push": 2})
    connect(answers)
    try:
        from servers.sync import drive, push  # pyright: ignore

        assert [await drive(), await push()] == [1, 2]  # pyright: ignore
        from servers.sync.sync import push as push_and_wait  # pyright: ignore

        assert push_and_wait() == 2  # pyright: ignore
    finally:
        forget()
        connect(None)
