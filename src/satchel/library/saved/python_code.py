"""A skill's module in Python, taken apart by its syntax. It is parsed and never compiled, imported or run."""

import ast
import threading
import warnings
from collections.abc import Iterator

from satchel.errors import ArgumentError
from satchel.library.saved.reading import LONGEST_SIGNATURE, Calls, Reading, missing

_ROOTS = ("servers", "tools")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_AWAITS = (ast.Await, ast.AsyncFor, ast.AsyncWith)
_MOST_BRACES = 10_000  # Python 3.11 takes seconds for one text with several times as many values in it
_one_at_a_time = threading.Lock()  # what is warned of belongs to all threads


def read_python(code: str, function: str) -> Reading:
    """Take a module apart. ArgumentError where it is none, or has no such function."""
    tree = parse(code)
    defined = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    found = [node for node in defined if node.name == function]
    if not found:
        raise missing(function, f"async def {function}(…):")
    if awaits(tree):
        raise ArgumentError(
            "the code awaits outside of a function, and can't be imported so",
            argument="code",
            hint=f"put it into: async def {function}():",
        )
    return Reading(
        signature=_signature(found[-1]),
        needs=_needs(found[-1].args),
        is_async=isinstance(found[-1], ast.AsyncFunctionDef),
        calls=_calls(tree),
    )


def call(function: str, reading: Reading) -> str:
    """The line of an example that uses a skill's function."""
    word = "await " if reading.is_async else ""
    values = ", ".join(f"{name}=..." for name in reading.needs)
    return f"result = {word}{function}({values})"


def parse(code: str, what: str = "code") -> ast.Module:
    if code.count("{") > _MOST_BRACES:
        raise ArgumentError(
            f"the {what} has more than {_MOST_BRACES:,} opening braces",
            argument=what,
            hint="give data to the function as a value",
        )
    try:
        with _one_at_a_time, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(code)
    except SyntaxError as error:
        line = f" (line {error.lineno})" if error.lineno else ""
        raise ArgumentError(f"the {what} is not valid Python: {error.msg}{line}", argument=what) from None
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        reason = "it is nested too deeply" if not isinstance(error, ValueError) else str(error)[:100]
        raise ArgumentError(f"the {what} can't be read: {reason}", argument=what) from None


def outside_functions(tree: ast.AST) -> Iterator[ast.AST]:
    """The statements that a module runs itself: not the bodies of its functions, but their heads."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, _FUNCTIONS):
            continue
        waiting += ast.iter_child_nodes(node)


def awaits(tree: ast.AST) -> bool:
    return any(
        isinstance(node, _AWAITS) or (isinstance(node, ast.comprehension) and node.is_async)
        for node in outside_functions(tree)
    )


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    try:
        returns = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
        text = f"{word} {node.name}({ast.unparse(node.args)}){returns}"
    except (RecursionError, ValueError):
        text = f"{word} {node.name}(…)"
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_SIGNATURE else f"{text[: LONGEST_SIGNATURE - 1]}…"


def _needs(given: ast.arguments) -> tuple[str, ...]:
    positional = [*given.posonlyargs, *given.args]
    needed = positional[: len(positional) - len(given.defaults)]
    needed += [
        name for name, default in zip(given.kwonlyargs, given.kw_defaults, strict=True) if default is None
    ]
    return tuple(name.arg for name in needed)


def _calls(tree: ast.Module) -> tuple[str, ...]:
    """By the imports of wrappers, by modules of servers and what is taken from them, by literal names."""
    calls, modules = Calls(), dict[str, str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            _note_from(node, calls, modules)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                root, _, server = alias.name.partition(".")
                if root in _ROOTS and server:
                    modules[alias.asname or alias.name] = server
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            _note_attribute(node, calls, modules)
        elif isinstance(node, ast.Call):
            _note_call(node, calls)
    return calls.found()


def _note_from(node: ast.ImportFrom, calls: Calls, modules: dict[str, str]) -> None:
    root, *rest = (node.module or "").split(".")
    if root not in _ROOTS:
        return
    for alias in node.names:
        match rest:
            case []:
                modules[alias.asname or alias.name] = alias.name
            case [server] if alias.name == "sync":
                modules[alias.asname or alias.name] = server
            case [server] | [server, "sync"]:
                calls.add(server, alias.name)
            case [server, tool, *_]:
                calls.add(server, tool)
            case _:
                pass


def _note_attribute(node: ast.Attribute, calls: Calls, modules: dict[str, str]) -> None:
    words = [node.attr]
    inner: ast.expr = node.value
    while isinstance(inner, ast.Attribute) and len(words) < 5:
        words.append(inner.attr)
        inner = inner.value
    if not isinstance(inner, ast.Name):
        return
    *path, tool = [inner.id, *reversed(words)]
    if path[-1] == "sync":
        path.pop()
    server = modules.get(".".join(path))
    if server is not None:
        calls.add(server.removesuffix(".sync"), tool)


def _note_call(node: ast.Call, calls: Calls) -> None:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    texts = [part.value for part in node.args if isinstance(part, ast.Constant)]
    words = [text for text in texts if isinstance(text, str)]
    if name == "call_tool" and len(words) >= 2:
        calls.add(words[0], words[1])
    elif name == "call_mcp_tool" and words:
        calls.add_name(words[0])
