"""What a program gives to a wrapper is what the server gets, and what that answers is what comes back."""

import ast
import inspect
import json
import sys
import types
import typing
from collections.abc import Coroutine, Generator, Iterator
from contextlib import contextmanager
from importlib import import_module, invalidate_caches
from pathlib import Path
from random import Random
from typing import Any

import pytest

import satchel_runtime
from satchel.codegen.places import folder_of
from satchel.model import Json, Prompt, PromptArgument, Server, Tool, is_list, is_object
from satchel_runtime import Record
from satchel_runtime.testing import Answers
from tests.codegen.helpers import generate_tree, make_server, run_deno
from tests.codegen.schema_values import draw, draw_anything, draw_misfit

REAL_TOOLS = Path(__file__).resolve().parents[3] / "shared" / "data" / "realtools"
REAL_NAMES = sorted(file.stem for file in REAL_TOOLS.glob("*.json")) or ["none"]
SAMPLE = 60  # tools that TypeScript is tried with
EXAMPLES = 10

pytestmark = pytest.mark.slow

needs_real_tools = pytest.mark.skipif(not REAL_TOOLS.is_dir(), reason="../shared/data/realtools is not here")

ODD_NAMES = (
    *("class", "from", "None", "async", "match", "type", "lambda", "print", "self", "cls", "args", "kwargs"),
    *("call", "locals", "omit", "Record", "JsonOrText", "list", "dict", "str", "names", "unwrap", "shape"),
    *("Any", "Literal", "arguments", "extra", "extra2", "server", "tool", "input", "value", "call_", "odd"),
    *("__typename", "__proto__", "__init__", "_private", "_", "__", "constructor", "then", "default"),
    *("$filter", "@id", "#", "", " ", "two words", "kebab-case", "a.b", "a/b", "1st", "007", "x[0]", "x[]"),
    *(
        "a-b",
        "a_b",
        "a b",
        "A_B",
        "ﬁ",
        "fi",
        "K",
        "\u212a",
        "²",
        "é",
        "e\u0301",
        "名前",
        "😀",
        "\u200b",
        "\n",
        "\0",
    ),
    *("\ud800", "x" * 200, "_Record__attributes", "items", "keys", "get", "update", "copy", "read", "fits"),
    *("metaclass", "kw_only", "slots", "init", "frozen"),
)
INNER = {"type": "object", "properties": {name: {"type": "integer"} for name in ODD_NAMES}}
DEFINITIONS: list[Json] = [
    {
        "name": "all_at_once",
        "inputSchema": {
            "type": "object",
            "properties": {name: {"type": ["string", "null"]} for name in ODD_NAMES},
            "required": ["class", "", "self"],
        },
    },
    {
        "name": "all_and_more",
        "inputSchema": {
            "type": "object",
            "properties": {name: {} for name in ODD_NAMES},
            "additionalProperties": {"type": "string"},
        },
    },
    {
        "name": "nested",
        "inputSchema": {
            "type": "object",
            "properties": {
                "from": INNER,
                "list": {"type": "array", "items": INNER},
                "by name": {"type": "object", "additionalProperties": INNER},
                "either": {"anyOf": [INNER, {"type": "string"}, {"type": "null"}]},
                "tree": {"$ref": "#/$defs/Node"},
                "Node": {"$ref": "#/$defs/Node"},
                "pair": {"type": "array", "prefixItems": [INNER, {"type": "string"}], "items": False},
            },
            "required": ["from"],
            "$defs": {
                "Node": {
                    "type": "object",
                    "properties": {
                        "Node": {"type": "string"},
                        "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
                        "next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]},
                    },
                    "required": ["Node"],
                }
            },
        },
    },
    {"name": "only_more", "inputSchema": {"type": "object", "additionalProperties": {"type": "integer"}}},
    {"name": "anything", "inputSchema": {"type": "object"}},
    {"name": "nothing", "inputSchema": {"type": "object", "properties": {}, "additionalProperties": False}},
    {
        "name": "alternatives",
        "inputSchema": {
            "type": "object",
            "oneOf": [
                {"properties": {"by": {"const": "id"}, "id": {"type": "integer"}}, "required": ["by", "id"]},
                {"properties": {"by": {"const": "name"}, "Name": {"type": "string"}}, "required": ["by"]},
            ],
        },
    },
    *(
        {
            "name": name,
            "inputSchema": {
                "type": "object",
                "properties": {
                    name: {"type": "array", "items": {"enum": ["a", 1, 1.5, None, True]}},
                    "record": {
                        "type": "object",
                        "properties": {name: {"type": "object", "properties": {name: {}}}},
                    },
                    "map": {"type": "object", "additionalProperties": {"type": "number"}},
                },
            },
            "outputSchema": {"type": "object", "properties": {name: {"type": "string"}}},
        }
        for name in ODD_NAMES
        if name
    ),
]
JSON_VALUE: Json = {
    "anyOf": [
        {"type": "string"},
        {"type": "array", "items": {"$ref": "#/$defs/Json"}},
        {"type": "object", "additionalProperties": {"$ref": "#/$defs/Json"}},
    ]
}
CAT: Json = {
    "type": "object",
    "properties": {"kind": {"const": "cat"}, "lives": {"type": "integer"}, "of": {"$ref": "#/$defs/Cat"}},
    "required": ["kind"],
}
DOG: Json = {
    "type": "object",
    "properties": {"kind": {"const": "dog"}, "cats": {"type": "array", "items": {"$ref": "#/$defs/Cat"}}},
    "required": ["kind", "cats"],
}
OUTPUTS: dict[str, Json] = {
    "record": {"type": "object", "properties": {name: {"type": "integer"} for name in ODD_NAMES}},
    "list_of_records": {"type": "array", "items": CAT},
    "map_of_records": {"type": "object", "additionalProperties": DOG},
    "union": {"oneOf": [CAT, DOG, {"type": "array", "items": DOG}, {"type": "null"}]},
    "wrapped": {
        "type": "object",
        "properties": {"result": {"type": "array", "items": DOG}},
        "required": ["result"],
    },
    "wrapped_choice": {
        "type": "object",
        "properties": {"result": {"anyOf": [CAT, {"type": "null"}]}},
        "required": ["result"],
    },
    "tuple": {"type": "array", "prefixItems": [CAT, {"type": "string"}, DOG], "items": False},
    "recursive": CAT,
    "recursive_value": {
        "type": "object",
        "properties": {"value": {"$ref": "#/$defs/Json"}, "cat": CAT, "values": {"$ref": "#/$defs/Json"}},
        "required": ["value"],
    },
    "recursive_value_or_record": {"anyOf": [{"$ref": "#/$defs/Json"}, CAT]},
    "deep": {
        "type": "object",
        "properties": {
            "a": {"type": "object", "properties": {"b": {"type": "array", "items": {"items": CAT}}}}
        },
    },
}


@contextmanager
def imported(tree: Path) -> Generator[None]:
    """Let `servers` and `tools` be those of the tree."""

    def forget() -> None:
        for name in [name for name in sys.modules if name.partition(".")[0] in ("servers", "tools")]:
            del sys.modules[name]
        invalidate_caches()

    forget()
    sys.path.insert(0, str(tree))
    try:
        yield
    finally:
        sys.path.remove(str(tree))
        forget()
        satchel_runtime.connect(None)


class Wrapper:
    """One tool's wrapper, with its own account of what it calls its parameters and the fields of records."""

    def __init__(self, server: Server, tool: Tool, tree: Path) -> None:
        self.tool = tool
        package = folder_of(server, "python").replace("/", ".")
        self.function = getattr(import_module(package), tool.spelling.python)
        self.blocking = getattr(import_module(f"{package}.sync"), tool.spelling.python)
        code = ast.parse((tree / folder_of(server, "python") / f"{tool.spelling.python}.py").read_bytes())
        (function,) = (node for node in code.body if isinstance(node, ast.AsyncFunctionDef))
        mapping = _names(function)
        self.parameters = {mapping.get(each.arg, each.arg): each.arg for each in function.args.kwonlyargs}
        pairs = zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
        self.needed = [parameter.arg for parameter, default in pairs if default is None]
        self.takes_more = function.args.kwarg is not None
        self._records = {node.name: _keys(node) for node in code.body if isinstance(node, ast.ClassDef)}
        self._module = sys.modules[self.function.__module__]

    def arguments(self, random: Random) -> Json:
        """Arguments of the tool's schema, as far as its wrapper lets them be given."""
        drawn = draw(self.tool.definition["inputSchema"], random)
        return {
            key: value
            for key, value in (drawn if is_object(drawn) else {}).items()
            if key in self.parameters or (self.takes_more and key not in self.parameters.values())
        }

    def keywords(self, arguments: Json) -> Json:
        return {self.parameters.get(key, key): value for key, value in arguments.items()}

    def sent(self, keywords: Json, *, blocking: bool = False) -> Any:
        """What arrives when the wrapper is called with those keywords."""
        answers = Answers({self.tool.qualified_name: None})
        satchel_runtime.connect(answers)
        if blocking:
            self.blocking(**keywords)
        else:
            finish(self.function(**keywords))
        ((method, params),) = answers.requests
        assert (method, params["server"], params["tool"]) == ("call_tool", self.tool.server, self.tool.name)
        return params["arguments"]

    def answer(self, value: Any) -> Any:
        """What the wrapper returns when that is what comes."""
        satchel_runtime.connect(Answers({self.tool.qualified_name: value}))
        return finish(self.function(**dict.fromkeys(self.needed, "x")))

    def with_records(self, keywords: Json) -> Json:
        """The same, with records in place of the objects that have one."""
        hints = typing.get_type_hints(self.function)
        return {key: self._as_record(hints.get(key), value) for key, value in keywords.items()}

    def _as_record(self, hint: Any, value: Any) -> Any:
        origin, inner = typing.get_origin(hint), typing.get_args(hint)
        if origin in (typing.Union, types.UnionType):
            made = (self._as_record(option, value) for option in inner)
            return next((part for part in made if part is not value), value)
        if isinstance(hint, type) and issubclass(hint, Record) and is_object(value):
            keys, needed = self._records[hint.__name__]
            if not needed <= value.keys() <= keys.keys():
                return value
            hints = typing.get_type_hints(hint, vars(self._module))
            fields = {keys[key]: self._as_record(hints[keys[key]], part) for key, part in value.items()}
            return hint(**fields)
        if origin is list and is_list(value):
            return [self._as_record(inner[0], part) for part in value]
        if origin is dict and is_object(value):
            return {key: self._as_record(inner[1], part) for key, part in value.items()}
        return value


def _names(function: ast.AsyncFunctionDef) -> dict[str, str]:
    """The `names=` of the wrapper's one call: parameter → real name."""
    keywords = [
        keyword for node in ast.walk(function) if isinstance(node, ast.Call) for keyword in node.keywords
    ]
    found = [keyword.value for keyword in keywords if keyword.arg == "names"]
    return ast.literal_eval(found[0]) if found else {}


def _keys(record: ast.ClassDef) -> tuple[dict[str, str], set[str]]:
    """The keys of a record, each with the name of its field, and those that it needs."""
    given = {keyword.arg: ast.literal_eval(keyword.value) for keyword in record.keywords}
    fields = [node for node in record.body if isinstance(node, ast.AnnAssign)]
    keys = {given.get(name := ast.unparse(node.target), name): name for node in fields}
    needed = {ast.unparse(node.target) for node in fields if node.value is None}
    return keys, {key for key, name in keys.items() if name in needed}


def finish(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """The result of something that never really waits."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("it waited")


def exact(value: Any) -> str:
    """JSON text: it tells 1 from true and from 1.0, as == does not."""
    return json.dumps(value, sort_keys=True)


class Wrappers(dict[str, Wrapper]):
    """Wrappers by the names of their tools, each imported when it is asked for."""

    def __init__(self, server: Server, place: Path) -> None:
        self._server, self._tree = server, place / "python"
        self.tools = {tool.name: tool for tool in server.tools}
        generate_tree(place, [server], languages=["python"])

    def __missing__(self, name: str) -> Wrapper:
        self[name] = Wrapper(self._server, self.tools[name], self._tree)
        return self[name]


@contextmanager
def wrappers_of(server: Server, place: Path) -> Generator[Wrappers]:
    wrappers = Wrappers(server, place)
    with imported(place / "python"):
        yield wrappers


@pytest.fixture
def odd_tools(tmp_path: Path) -> Iterator[Wrappers]:
    with wrappers_of(make_server("odd tools", DEFINITIONS), tmp_path / "odd") as wrappers:
        yield wrappers


@pytest.fixture
def outputs(tmp_path: Path) -> Iterator[Wrappers]:
    shared = {"$defs": {"Cat": CAT, "Json": JSON_VALUE}}
    definitions = [{"name": name, "outputSchema": schema | shared} for name, schema in OUTPUTS.items()]
    with wrappers_of(make_server("outputs", definitions), tmp_path / "outputs") as wrappers:
        yield wrappers


def test_every_name_has_a_parameter_of_its_own(odd_tools: Wrappers) -> None:
    for name in ("all_at_once", "all_and_more"):
        parameters = odd_tools[name].parameters
        assert parameters.keys() == set(ODD_NAMES)
        assert len(set(parameters.values())) == len(ODD_NAMES)


def test_arguments_arrive_exactly_as_given(odd_tools: Wrappers) -> None:
    for name in odd_tools.tools:
        wrapper = odd_tools[name]
        for seed in range(EXAMPLES):
            arguments = wrapper.arguments(Random(seed))
            assert exact(wrapper.sent(wrapper.keywords(arguments))) == exact(arguments), (name, seed)


def test_blocking_twins_send_the_same(odd_tools: Wrappers) -> None:
    for name in odd_tools.tools:
        wrapper = odd_tools[name]
        for seed in range(EXAMPLES):
            arguments = wrapper.arguments(Random(seed))
            sent = wrapper.sent(wrapper.keywords(arguments), blocking=True)
            assert exact(sent) == exact(arguments), (name, seed)


def test_each_odd_name_arrives_alone(odd_tools: Wrappers) -> None:
    wrapper = odd_tools["all_and_more"]
    for name, parameter in wrapper.parameters.items():
        assert wrapper.sent({parameter: 5}) == {name: 5}


def test_arguments_not_given_are_not_sent(odd_tools: Wrappers) -> None:
    for wrapper in map(odd_tools.__getitem__, odd_tools.tools):
        needed = dict.fromkeys(wrapper.needed, "given")
        real = {name: "given" for name, parameter in wrapper.parameters.items() if parameter in needed}
        assert wrapper.sent(needed) == real
        assert wrapper.sent(needed, blocking=True) == real


def test_none_is_sent_when_it_is_given(odd_tools: Wrappers) -> None:
    for wrapper in map(odd_tools.__getitem__, odd_tools.tools):
        everything = dict.fromkeys(wrapper.parameters.values())
        assert wrapper.sent(everything) == dict.fromkeys(wrapper.parameters)
        assert wrapper.sent(everything, blocking=True) == dict.fromkeys(wrapper.parameters)


def test_nested_objects_may_be_given_as_records(odd_tools: Wrappers) -> None:
    for name in odd_tools.tools:
        wrapper = odd_tools[name]
        for seed in range(EXAMPLES):
            arguments = wrapper.arguments(Random(seed))
            keywords = wrapper.with_records(wrapper.keywords(arguments))
            assert exact(wrapper.sent(keywords)) == exact(arguments), (name, seed)


def test_objects_do_become_records_here(odd_tools: Wrappers) -> None:
    wrapper = odd_tools["nested"]
    odd = dict.fromkeys(ODD_NAMES, 1)
    node = {"Node": "a", "children": [{"Node": "b"}], "next": {"Node": "c"}}
    arguments: Json = {"from": odd, "list": [odd], "by name": {"x": odd}, "either": odd, "tree": node}
    keywords = wrapper.with_records(wrapper.keywords(arguments))
    first, listed, named, either, tree = keywords.values()
    found = (first, listed[0], named["x"], either, tree, tree.children[0], tree.next)
    assert all(isinstance(record, Record) for record in found)
    assert exact(wrapper.sent(keywords)) == exact(arguments)


def test_fields_of_records_that_are_not_given_are_not_sent(odd_tools: Wrappers) -> None:
    wrapper = odd_tools["nested"]
    (record,) = wrapper.with_records({"from_": {"from": 1}}).values()
    assert type(record) is not dict
    assert wrapper.sent({"from_": record}) == {"from": {"from": 1}}
    assert wrapper.sent({"from_": type(record)()}) == {"from": {}}
    assert wrapper.sent({"from_": type(record)(from_=None)}) == {"from": {"from": None}}


@pytest.mark.parametrize("name", OUTPUTS)
def test_results_come_back_equal_to_what_was_answered(outputs: Wrappers, name: str) -> None:
    wrapper = outputs[name]
    for seed in range(10 * EXAMPLES):
        value = draw(wrapper.tool.output_schema, Random(seed))
        assert exact(wrapper.answer(value)) == exact(unwrapped(wrapper, value)), seed


@pytest.mark.parametrize("name", OUTPUTS)
def test_a_result_that_does_not_fit_comes_back_all_the_same(outputs: Wrappers, name: str) -> None:
    wrapper = outputs[name]
    for seed in range(10 * EXAMPLES):
        random = Random(seed)
        value = draw_misfit(draw(wrapper.tool.output_schema, random), random)
        assert exact(wrapper.answer(value)) == exact(unwrapped(wrapper, value)), seed
        anything = draw_anything(random)
        assert exact(wrapper.answer(anything)) == exact(unwrapped(wrapper, anything)), seed


@pytest.mark.parametrize("name", OUTPUTS)
def test_a_result_nested_without_end_comes_back_all_the_same(outputs: Wrappers, name: str) -> None:
    value: Any = {"kind": "cat"}
    for _ in range(3000):
        value = {"kind": "cat", "of": value, "cats": [value], "a": value, "value": value}
    assert outputs[name].answer(value)["of"] == value["of"]


def test_prompts_ask_for_what_is_given_under_real_names(tmp_path: Path) -> None:
    names = [*ODD_NAMES, "_get_prompt", "_omit", "_str", "_locals", "_Prompt"]
    needed = (PromptArgument(name="needed", required=True), PromptArgument(name="left out"))
    prompts = [
        Prompt(server="odd", name=name, arguments=(*needed, PromptArgument(name=name))) for name in names
    ]
    server = make_server("odd", prompts=tuple(prompts))
    generate_tree(tmp_path / "prompts", [server], languages=["python"])
    with imported(tmp_path / "prompts" / "python"):
        module = import_module("servers.odd.prompts")
        code = ast.parse(inspect.getsource(module))
        functions = [node.name for node in code.body if isinstance(node, ast.AsyncFunctionDef)]
        for name, function in zip(names, functions, strict=True):
            ask = getattr(module, function)
            (parameter,) = inspect.signature(ask).parameters.keys() - {"needed", "left_out"}
            answers = Answers({"get_prompt": {"messages": []}})
            satchel_runtime.connect(answers)
            finish(ask(needed="yes", **{parameter: "given"}))
            asked = {"server": "odd", "name": name, "arguments": {"needed": "yes", name: "given"}}
            assert answers.requests == [("get_prompt", asked)]


@needs_real_tools
@pytest.mark.slow
@pytest.mark.parametrize("name", REAL_NAMES)
def test_arguments_of_real_tools_arrive_exactly_as_given(name: str, tmp_path: Path) -> None:
    with wrappers_of(read_real_server(name), tmp_path / "real") as wrappers:
        for wrapper in map(wrappers.__getitem__, wrappers.tools):
            for seed in range(6):
                arguments = wrapper.arguments(Random(f"{wrapper.tool.wire_name} {seed}"))
                keywords = wrapper.keywords(arguments)
                if seed % 2:
                    keywords = wrapper.with_records(keywords)
                sent = wrapper.sent(keywords, blocking=seed % 3 == 2)
                assert exact(sent) == exact(arguments), wrapper.tool.qualified_name


@needs_real_tools
@pytest.mark.slow
@pytest.mark.parametrize("name", REAL_NAMES)
def test_results_of_real_tools_come_back_equal_to_what_was_answered(name: str, tmp_path: Path) -> None:
    with wrappers_of(read_real_server(name), tmp_path / "real") as wrappers:
        for wrapper in map(wrappers.__getitem__, wrappers.tools):
            for seed in range(6) if wrapper.tool.output_schema else ():
                random = Random(f"{wrapper.tool.wire_name} {seed}")
                value = draw(wrapper.tool.output_schema, random)
                value = draw_misfit(value, random) if seed % 2 else value
                got = wrapper.answer(value)
                assert exact(got) == exact(unwrapped(wrapper, value)), wrapper.tool.qualified_name


@needs_real_tools
@pytest.mark.slow
def test_typescript_sends_exactly_what_is_given(tmp_path: Path) -> None:
    odd = make_server("odd tools", DEFINITIONS)
    real = [read_real_server(name) for name in REAL_NAMES]
    every = [(server, tool) for server in real for tool in server.tools]
    first = [(server, tool) for server in real for tool in server.tools[:1]]
    chosen = [*((odd, tool) for tool in odd.tools), *first, *Random(1).sample(every, SAMPLE)]
    generate_tree(tmp_path / "tree", [odd, *real], languages=["typescript"])
    tree = tmp_path / "tree" / "typescript"
    work: list[Json] = []
    for server, tool in chosen:
        drawn = [draw(tool.input_schema, Random(f"{tool.wire_name} {seed}")) for seed in range(4)]
        inputs = [value for value in drawn if is_object(value)]
        name = tool.spelling.typescript
        work.append({"file": f"{folder_of(server, 'typescript')}/{name}.ts", "name": name, "inputs": inputs})
    calls = tmp_path / "calls.json"
    calls.write_text(json.dumps(work))
    program = Path(__file__).with_name("send_all.ts")
    done = run_deno(tree, "run", "--no-remote", "--allow-read", str(program), str(tree), str(calls))
    assert done.returncode == 0, done.stderr
    sent = json.loads(done.stdout)
    expected: list[Json] = [
        {"server": tool.server, "tool": tool.name, "arguments": value if takes_arguments(tree, row) else {}}
        for (_, tool), row in zip(chosen, work, strict=True)
        for value in row["inputs"]
    ]
    assert len(sent) == len(expected)
    for one, other in zip(sent, expected, strict=True):
        assert one == other


def takes_arguments(tree: Path, row: Json) -> bool:
    """Whether the wrapper has a parameter; what a program gives to one without it is not meant to be sent."""
    return f"export function {row['name']}(input" in (tree / row["file"]).read_text()


def read_real_server(name: str) -> Server:
    row: Json = json.loads((REAL_TOOLS / f"{name}.json").read_bytes())
    return make_server(row["server"], row["tools"])


def unwrapped(wrapper: Wrapper, value: Any) -> Any:
    """What a program is to get of an answer: some servers put every value into `result`."""
    schema = wrapper.tool.output_schema
    is_wrapped = (
        set(schema.get("properties", ())) == {"result"}
        and "result" in schema.get("required", ())
        and is_object(schema["properties"]["result"])
    )
    return value["result"] if is_wrapped and is_object(value) and "result" in value else value
