"""What a generated Python file may contain. Everything else is trouble, whatever text brought it there.

Python's own parser reads the files, so that a text that escapes from a docstring, a comment or a string is
seen as what it has become.
"""

import ast
import io
import re
import tokenize
import unicodedata
from collections.abc import Iterable, Iterator

_IMPORTED = {
    "__future__": {"annotations"},
    "typing": {"Any", "Literal", "TypeAlias", "TYPE_CHECKING", "Union", "Optional"},
    "builtins": {"str", "int", "float", "bool", "list", "dict", "tuple", "locals"},
    "satchel_runtime": {
        *("call", "omit", "Record", "JsonOrText", "lazy", "blocking", "Resource", "read_resource"),
        *("Prompt", "get_prompt", "renamed"),
    },
}
_BUILTIN_TYPES = {"str", "int", "float", "bool", "list", "dict", "tuple"}
_CALLS = {"call", "read_resource", "get_prompt"}
_VERSION = {"SERVER", "NAME", "VERSION", "PROTOCOL_VERSION", "CATALOG_HASH"}
# Joiners and the emoji selector belong to ordinary writing.
_JOINERS = "\u200c\u200d"
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
# Comments that mean something to a checker or a formatter.
# A tool whose name begins with an underscore is private to checkers, and is meant to be used all the same.
_OURS = ("# pyright: reportUnusedFunction=false", "# pyright: reportPrivateUsage=false")
_DIRECTIVE = re.compile(
    r"#\s*(type:\s*ignore|(pyright|mypy|ruff|flake8|fmt|yapf|pylint|isort|pragma)\s*:|noqa\b|nosec\b)",
    re.IGNORECASE,
)


def hidden_characters(text: str) -> set[str]:
    """Characters that nobody sees or that change how a line reads, by their code."""
    return {
        f"U+{ord(character):04X}"
        for character in set(text)
        if character != "\n" and character not in _JOINERS and unicodedata.category(character) in _HIDDEN
    }


def python_troubles(name: str, text: str) -> list[str]:
    """What in the file is not allowed; `name` is the file's."""
    try:
        tree = ast.parse(text.encode("utf-8"))
    except (SyntaxError, ValueError) as error:
        return [f"it can't be parsed: {error}"]
    return [*_File(name, tree).troubles(), *_comments(text)]


def _comments(text: str) -> Iterator[str]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.string in _OURS:
            continue
        if token.type == tokenize.COMMENT and _DIRECTIVE.search(token.string):
            yield f"a comment that is a directive: {token.string[:80]!r}"


class _File:
    def __init__(self, name: str, tree: ast.Module) -> None:
        self._name = name
        self._tree = tree
        self._known: dict[str, str] = {}  # names that the file imports → what they are
        self._types: set[str] = set()

    def troubles(self) -> Iterator[str]:
        body = self._tree.body
        for node in body:
            if isinstance(node, ast.ClassDef):
                self._types.add(node.name)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                self._types.add(node.target.id)
        if body and _is_text(body[0]):
            body = body[1:]
        for node in body:
            try:
                self._statement(node)
            except _TroubleError as trouble:
                yield f"{self._name}:{node.lineno}: {trouble}"
        functions = sum(isinstance(node, ast.AsyncFunctionDef) for node in body)
        if functions != 1 and self._name not in ("prompts.py", "__init__.py", "sync.py", "__version__.py"):
            yield f"{self._name}: {functions} functions"

    def _statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.ImportFrom):
            self._imports(node)
        elif isinstance(node, ast.ClassDef):
            self._record(node)
        elif isinstance(node, ast.AnnAssign):
            self._alias(node)
        elif isinstance(node, ast.AsyncFunctionDef) and self._name == "example.py":
            self._example(node)
        elif isinstance(node, ast.AsyncFunctionDef):
            self._wrapper(node)
        elif self._name in ("__init__.py", "sync.py"):
            self._lazy(node)
        elif self._name == "__version__.py" and isinstance(node, ast.Assign):
            _need(_one_name(node.targets) in _VERSION and _is_string(node.value), node)
        else:
            shown = ast.unparse(node)
            main = "if __name__ == '__main__':\n    asyncio.run(main())"
            _need(self._name == "example.py" and shown in ("import asyncio", main), node)

    def _imports(self, node: ast.ImportFrom) -> None:
        if self._name == "example.py":
            top, *rest = (node.module or "").split(".")
            _need(node.level == 0 and top in ("servers", "tools") and len(rest) in (0, 2), node)
            if rest:
                self._types |= {alias.name for alias in node.names}
            else:
                self._known |= {alias.asname or alias.name: "package" for alias in node.names}
            return
        allowed = _IMPORTED.get(node.module or "", set())
        for alias in node.names:
            _need(node.level == 0 and alias.name in allowed, node)
            self._known[alias.asname or alias.name] = alias.name

    def _record(self, node: ast.ClassDef) -> None:
        _need(not node.decorator_list and len(node.bases) == 1 and self._is(node.bases[0], "Record"), node)
        _need(all(keyword.arg and _is_string(keyword.value) for keyword in node.keywords), node)
        for row in node.body[1:] if _is_text(node.body[0]) else node.body:
            _need(isinstance(row, ast.AnnAssign) and isinstance(row.target, ast.Name), row)
            assert isinstance(row, ast.AnnAssign)
            self._type(row.annotation)
            _need(row.value is None or self._is(row.value, "omit") or _is_none(row.value), row)

    def _alias(self, node: ast.AnnAssign) -> None:
        _need(isinstance(node.target, ast.Name) and self._is(node.annotation, "TypeAlias"), node)
        _need(node.value is not None, node)
        value = node.value
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            value = ast.parse(value.value, mode="eval").body
        assert value is not None
        self._type(value)

    def _wrapper(self, node: ast.AsyncFunctionDef) -> None:
        given = node.args
        _need(not given.posonlyargs and not given.vararg and not given.defaults, node)
        for decorator in node.decorator_list:
            self._renamed(decorator, [parameter.arg for parameter in given.kwonlyargs])
        _need(not given.args or (self._name == "resources.py" and len(given.args) == 1), node)
        parameters = [*given.args, *given.kwonlyargs, *([given.kwarg] if given.kwarg else [])]
        for parameter in parameters:
            _need(parameter.annotation is not None, node)
            assert parameter.annotation is not None
            self._type(parameter.annotation)
        _need(all(value is None or self._is(value, "omit") for value in given.kw_defaults), node)
        assert node.returns is not None
        self._type(node.returns)
        rows = node.body[1:] if _is_text(node.body[0]) else node.body
        _need(len(rows) == 1 and isinstance(rows[0], ast.Return), node)
        assert isinstance(rows[0], ast.Return)
        self._call(rows[0].value, [parameter.arg for parameter in parameters])

    def _renamed(self, node: ast.expr, parameters: list[str]) -> None:
        """`@renamed(from_="from")`."""
        _need(isinstance(node, ast.Call) and self._is(node.func, "renamed") and not node.args, node)
        assert isinstance(node, ast.Call)
        _need(all(keyword.arg in parameters and _is_string(keyword.value) for keyword in node.keywords), node)

    def _call(self, node: ast.expr | None, parameters: list[str]) -> None:
        call = node.value if isinstance(node, ast.Await) else None
        _need(isinstance(call, ast.Call) and any(self._is(call.func, name) for name in _CALLS), node)
        assert isinstance(call, ast.Call)
        first, *others = call.args
        _need(_is_string(first), first)
        if others and _is_string(others[0]):
            others.pop(0)
        if others:
            source = others.pop(0)
            given = (
                (isinstance(source, ast.Name) and source.id in parameters)
                or (isinstance(source, ast.Dict) and not source.keys)
                or (isinstance(source, ast.Call) and self._is(source.func, "locals") and not source.args)
            )
            _need(given, source)
        for shape in others:
            self._type(shape)
        for keyword in call.keywords:
            value = keyword.value
            if keyword.arg == "names" and isinstance(value, ast.Dict):
                _need(all(key is not None and _is_string(key) for key in value.keys), value)
                _need(all(_is_string(part) or _is_none(part) for part in value.values), value)
            else:
                _need(
                    keyword.arg == "unwrap" and isinstance(value, ast.Constant) and value.value is True, value
                )

    def _type(self, node: ast.expr) -> None:
        if isinstance(node, ast.BinOp):
            _need(isinstance(node.op, ast.BitOr), node)
            self._type(node.left)
            self._type(node.right)
        elif isinstance(node, ast.Subscript):
            inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            if self._is(node.value, "Literal"):
                _need(all(map(_is_literal, inner)), node)
            else:
                self._type(node.value)
                for part in inner:
                    self._type(part)
        elif isinstance(node, ast.Name):
            real = self._known.get(node.id, node.id)
            known = node.id in self._known or real in _BUILTIN_TYPES or node.id in self._types
            _need(known and real not in (*_CALLS, "locals", "omit"), node)
        elif _is_string(node):
            self._type(
                ast.parse(ast.literal_eval(node), mode="eval").body
            )  # one that is defined further down
        else:
            _need(_is_none(node), node)

    def _lazy(self, node: ast.stmt) -> None:
        """`if _TYPE_CHECKING: …` and `_lazy(__name__, "…")`."""
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            call = node.value
            first, *others = call.args
            _need(
                self._is(call.func, "lazy") and not call.keywords and ast.unparse(first) == "__name__", node
            )
            return _need(all(map(_is_string, others)), node)
        _need(isinstance(node, ast.If) and self._is(node.test, "TYPE_CHECKING") and not node.orelse, node)
        assert isinstance(node, ast.If)
        for row in node.body:
            if isinstance(row, ast.ImportFrom):
                _need(row.level in (1, 2) or row.module == "satchel_runtime", row)
            else:
                _need(isinstance(row, ast.Assign) and isinstance(row.value, ast.Call), row)
                name = ast.unparse(row).partition(" = ")[0]
                _need(ast.unparse(row) == f"{name} = _blocking(_tools.{name})" and name.isidentifier(), row)
        return None

    def _example(self, node: ast.AsyncFunctionDef) -> None:
        _need(node.name == "main" and not ast.unparse(node.args) and not node.decorator_list, node)
        for row in node.body:
            printed = row.value if isinstance(row, ast.Expr) else None
            _need(isinstance(printed, ast.Call) and ast.unparse(printed.func) == "print", row)
            assert isinstance(printed, ast.Call)
            _need(len(printed.args) == 1 and not printed.keywords, row)
            shown = printed.args[0]
            if isinstance(shown, ast.Attribute):
                _need(shown.attr == "__doc__" and self._is(shown.value, "package"), row)
                continue
            call = shown.value if isinstance(shown, ast.Await) else None
            _need(isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute), row)
            assert isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
            _need(self._is(call.func.value, "package") and not call.args, row)
            for keyword in call.keywords:
                _need(keyword.arg is not None, row)
                self._value(keyword.value)

    def _value(self, node: ast.expr) -> None:
        if isinstance(node, ast.List | ast.Tuple):
            for part in node.elts:
                self._value(part)
        elif isinstance(node, ast.Dict):
            _need(all(key is not None and _is_string(key) for key in node.keys), node)
            for part in node.values:
                self._value(part)
        elif isinstance(node, ast.Call):
            _need(isinstance(node.func, ast.Name) and node.func.id in self._types and not node.args, node)
            for keyword in node.keywords:
                _need(keyword.arg is not None, node)
                self._value(keyword.value)
        else:
            _need(_is_literal(node), node)

    def _is(self, node: ast.expr, what: str) -> bool:
        """Whether it is the name under which the file has imported that; builtins need no import."""
        if not isinstance(node, ast.Name):
            return False
        if what == "locals" and "locals" not in self._known.values():
            return node.id == "locals"
        return self._known.get(node.id) == what


class _TroubleError(Exception):
    pass


def _need(fact: bool, node: ast.AST | None) -> None:
    if not fact:
        shown = ast.unparse(node) if node is not None else "nothing"
        raise _TroubleError(f"{type(node).__name__} is not allowed: {shown[:200]!r}")


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and _is_string(node.value)


def _is_string(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_literal(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    kinds = str | int | float | bool | None
    return isinstance(node, ast.Constant) and isinstance(node.value, kinds)


def _one_name(targets: Iterable[ast.expr]) -> str:
    return ",".join(map(ast.unparse, targets))
