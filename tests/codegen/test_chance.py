"""Whatever a schema is made of, its files compile, pass the checkers, and run."""

from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from satchel.codegen.layout import server_files
from satchel.codegen.signature import read_signature
from tests.codegen.chance import chance_definition
from tests.codegen.helpers import check_python, check_typescript, generate_tree, make_server, run_python

SERVERS = 150


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(min_value=0))
def test_every_python_file_compiles(seed: int) -> None:
    server = make_server("demo", [chance_definition(Random(seed))])
    files = server_files(server, [read_signature(tool, server) for tool in server.tools], "python")
    for name, text in files.items():
        if name.endswith(".py"):
            compile(text, name, "exec")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("chance") / "tree"
    servers = [make_server(f"server{seed}", [chance_definition(Random(seed))]) for seed in range(SERVERS)]
    generate_tree(place, servers)
    return place


@pytest.mark.slow
def test_every_python_file_passes_a_strict_type_checker(tree: Path) -> None:
    assert check_python(tree / "python") == []


@pytest.mark.slow
def test_every_typescript_file_passes_deno_check(tree: Path) -> None:
    assert check_typescript(tree / "typescript") == ""


CALL_ALL = """
import asyncio, importlib, inspect, json, random, sys
from pathlib import Path
import satchel_runtime, servers

chance = random.Random(1)
names = ["", "id", "from", "_id", "a b", "list", "str", "value", "x", "get", "items", "kind", "self", "none"]

def anything(depth=0):
    if depth > 4 or chance.random() < 0.4:
        return chance.choice([None, 1, "a", True, 2.5, [], {}])
    if chance.random() < 0.3:
        return [anything(depth + 1) for _ in range(3)]
    return {chance.choice(names): anything(depth + 1) for _ in range(5)}

class Anything:
    def request_blocking(self, method, params):
        self.sent = json.loads(json.dumps(params["arguments"]))
        self.answer = anything()
        return self.answer
    async def request(self, method, params):
        return self.request_blocking(method, params)

satchel_runtime.connect(connection := Anything())
for folder in sorted(Path(servers.__file__).parent.glob("*/")):
    if folder.name.startswith("__"):
        continue
    try:
        twins = importlib.import_module(f"servers.{folder.name}.sync")
        for name in twins.__all__:
            tool = getattr(twins, name)
            wanted = inspect.signature(tool).parameters.values()
            given = {p.name: anything() for p in wanted if p.kind == p.KEYWORD_ONLY and p.default is p.empty}
            for _ in range(5):
                result = tool(**given)
                assert len(connection.sent) == len(given)
                answer = connection.answer
                assert result == answer or result == answer["result"]
        asyncio.run(importlib.import_module(f"servers.{folder.name}.example").main())
    except Exception as error:
        print(f"{folder.name}: {error!r}", file=sys.stderr)
"""


@pytest.mark.slow
def test_every_tool_can_be_called_whatever_comes_back(tree: Path) -> None:
    done = run_python(tree / "python", "-c", CALL_ALL)
    assert done.stderr == ""
    assert done.returncode == 0
