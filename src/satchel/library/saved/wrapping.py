"""From a program that was run to a module with one function, where the program defines none.

The imports at its beginning stay where they are. Everything else becomes the body of the function, word for
word; what the program left as `result` is what the function returns.
"""

import ast
import io
import re
import tokenize

from satchel.errors import ArgumentError
from satchel.library.saved.python_code import awaits, outside_functions, parse
from satchel.library.saved.typescript_code import imports, mask

_GONE = "\0"  # what was taken out: no program has it
_EXPORT = re.compile(r"(?<![\w$.])export\s*\b((?:const|let|var)\s+result(?![\w$]))?")
_HINT = "write the function yourself, and save it with save_skill from a program"


def wrap_python(code: str, function: str) -> str:
    """The program as a function without parameters: async, unless it runs an event loop of its own."""
    code = code.replace("\r\n", "\n").replace("\r", "\n")
    tree = parse(code, "program")
    if any(getattr(node, "name", None) == function for node in tree.body):
        return code
    if any(isinstance(node, ast.Global) for node in ast.walk(tree)):
        raise ArgumentError("the program has global variables, which a function can't have", hint=_HINT)
    body = tree.body[_length_of_head(tree.body) :]
    if not body:
        raise ArgumentError("the program does nothing that could be a skill", hint=_HINT)
    first = _begin(body[0]) - 1
    lines = code.rstrip().split("\n")
    is_async = awaits(tree) or "asyncio.run(" not in code
    before, after = _around(tree)
    inner = [*before, *_indented(lines, first), *after]
    head = "\n".join(lines[:first]).rstrip()
    word = "async def" if is_async else "def"
    text = "\n".join([f"{word} {function}():", *inner, ""])
    return f"{head}\n\n\n{text}" if head else text


def _length_of_head(body: list[ast.stmt]) -> int:
    for number, node in enumerate(body):
        is_text = number == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not is_text and not isinstance(node, ast.Import | ast.ImportFrom):
            # One that shares its line with an import goes where that goes.
            same = [n for n, other in enumerate(body[:number]) if (other.end_lineno or 0) >= node.lineno]
            return same[0] if same else number
    return len(body)


def _begin(node: ast.stmt) -> int:
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _around(tree: ast.Module) -> tuple[list[str], list[str]]:
    """The head and foot of the function, so that the program means the same inside it."""
    names = [node for node in outside_functions(tree) if isinstance(node, ast.Name)]
    before = ['    __name__ = "__main__"'] if any(node.id == "__name__" for node in names) else []
    if any(node.id == "result" and isinstance(node.ctx, ast.Store) for node in names):
        return [*before, "    result = None"], ["    return result"]
    return before, []


def _indented(lines: list[str], first: int) -> list[str]:
    """Lines from the first on, four spaces further in, but for those that begin inside of a string."""
    inside = _inside_strings("\n".join(lines))
    return [
        line if number in inside or not line.strip() else f"    {line}"
        for number, line in enumerate(lines)
        if number >= first
    ]


def _inside_strings(code: str) -> set[int]:
    found: set[int] = set()
    opened: list[int] = []  # since Python 3.12 an f-string is several tokens
    try:
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            kind = tokenize.tok_name[token.type]
            if kind == "STRING":
                found.update(range(token.start[0], token.end[0]))
            elif kind == "FSTRING_START":
                opened.append(token.start[0])
            elif kind == "FSTRING_END":
                found.update(range(opened.pop(), token.end[0]))
    except (tokenize.TokenError, IndentationError) as error:
        raise ArgumentError(f"the program can't be read: {error}", hint=_HINT) from None
    return found


def wrap_typescript(code: str, function: str) -> str:
    """The program as an async function without parameters, after its imports."""
    code = code.replace(_GONE, "")
    masked = mask(code)
    if re.search(rf"(?<![\w$])(?:function|const|let|class)\s+{re.escape(function)}(?![\w$])", masked):
        return code
    head: list[str] = []
    body = list(code)
    for _, _, start, end in imports(code, masked):
        stop = end + 1 if code[end : end + 1] == ";" else end
        head.append(code[start:stop])
        body[start:stop] = _GONE * (stop - start)
    returns: list[str] = []
    for found in _EXPORT.finditer(masked):
        if found[1] is None:
            raise ArgumentError("the program exports more than its result", hint=_HINT)
        body[found.start() : found.start(1)] = _GONE * (found.start(1) - found.start())
        returns = ["  return result;"]
    lines = "".join(body).split("\n")
    kept = [line.replace(_GONE, "") for line in lines if _GONE not in line or line.strip(f" {_GONE}")]
    text = "\n".join(kept).strip("\n")
    return "\n".join(
        [*head, *([""] if head else []), f"export async function {function}() {{", text, *returns, "}", ""]
    )
