"""A skill's module in TypeScript, as far as its text tells. What strings and comments say does not count."""

import re
from collections.abc import Iterator
from itertools import islice

from satchel.library.saved.reading import LONGEST_SIGNATURE, Calls, Reading, missing

# Each is quick on any text: what can't match is given up at the next import, or without a second try.
_IMPORT = re.compile(
    r"(?<![\w$.])import\b(?!\s*[.(])((?:(?!\bimport\b)[^\"'`;]){0,4000}?)(?:\bfrom\b\s*)?([\"'])"
)
_FROM = re.compile(
    r"^(?:\./|\.\./|/mnt/code-api/|/workspace/)?(?:servers|tools)/([^/]+)(?:/([^/]+?))?(?:\.ts)?$"
)
_CALLED = re.compile(r"(?<![\w$])(callTool|callMCPTool)(?:\s*<[^()]{0,200}>)?\s*\(\s*")
_MOST_IMPORTS = 200
_WORD = r"[A-Za-z_$][\w$]*"


def read_typescript(code: str, function: str) -> Reading:
    """Take a module apart. ArgumentError where it has no such function."""
    masked = mask(code)
    name = re.escape(function)
    defined = re.search(rf"(?<![\w$])export\s+(async\s+)?function(?:\s*\*)?\s*{name}(?![\w$])", masked)
    if defined is None:
        defined = re.search(
            rf"(?<![\w$])export\s+(?:const|let)\s+{name}(?![\w$])[^=]{{0,500}}=\s*(async\b)?", masked
        )
    if defined is None:
        raise missing(function, f"export async function {function}(…)")
    opened = masked.find("(", defined.end())
    closed = _closing(masked, opened)
    parameters = code[opened + 1 : closed].strip() if opened >= 0 else ""
    signature = " ".join(f"{code[defined.start() : closed + 1]}".split())
    return Reading(
        signature=signature[:LONGEST_SIGNATURE],
        needs=(parameters[:60],) if _is_needed(parameters) else (),
        is_async=defined.group(1) is not None,
        calls=_calls(code, masked),
    )


def call(function: str, reading: Reading) -> str:
    """The line of an example that uses a skill's function."""
    values = "/* … */" if reading.needs else ""
    return f"export const result = await {function}({values});"


def mask(code: str) -> str:
    """The code with spaces for what is in comments and strings; every character stays where it is."""
    kept: list[str] = []
    position = 0
    for start, end in _texts(code):
        kept += [code[position:start], re.sub(r"[^\n]", " ", code[start:end])]
        position = end
    return "".join([*kept, code[position:]])


def imports(code: str, masked: str) -> Iterator[tuple[str, str, int, int]]:
    """(what is imported, from where, begin, end) of every import statement."""
    for found in islice(_IMPORT.finditer(masked), _MOST_IMPORTS):
        quote = found.end() - 1
        end = masked.find(found[2], quote + 1)
        if end >= 0:
            yield found[1].strip(), code[quote + 1 : end], found.start(), end + 1


def _calls(code: str, masked: str) -> tuple[str, ...]:
    calls = Calls()
    spaces: dict[str, str] = {}  # name of a whole server here → the server
    for names, origin, _, _ in imports(code, masked):
        place = _FROM.match(origin)
        if place is None:
            continue
        server, tool = place[1], place[2]
        listed = re.search(r"\{([^}]*)\}", names)
        for name in (listed[1] if listed else "").split(","):
            calls.add(server, re.sub(r"^type\s+", "", name.strip()).split(" ")[0])
        if tool and not listed:
            calls.add(server, tool)
        if space := re.search(rf"\*\s*as\s+({_WORD})", names):
            spaces[space[1]] = server
    for used in re.finditer(rf"(?<![\w$.])({_WORD})\s*\.\s*({_WORD})", masked) if spaces else ():
        if used[1] in spaces:
            calls.add(spaces[used[1]], used[2])
    for found in _CALLED.finditer(masked):
        words = re.match(r"([\"'])([^\"'\n]*)\1(?:\s*,\s*([\"'])([^\"'\n]*)\3)?", code[found.end() :])
        if words and found[1] == "callMCPTool":
            calls.add_name(words[2])
        elif words and words[4]:
            calls.add(words[2], words[4])
    return calls.found()


def _is_needed(parameters: str) -> bool:
    """Whether something has to be given: not where the first parameter is optional, or there is none."""
    return bool(parameters) and not re.match(rf"(?:{_WORD}\s*\?|[^,(]*?[^=!<>]=[^=>])", parameters)


def _closing(masked: str, opened: int) -> int:
    depth = 0
    for position in range(max(opened, 0), len(masked)):
        depth += (masked[position] == "(") - (masked[position] == ")")
        if depth == 0 and position > opened:
            return position
    return len(masked) - 1


_BEFORE_REGULAR_EXPRESSION = re.compile(
    r"(?:^|[(,=:\[!&|?{};+\-*%<>~^]|\b(?:return|typeof|case|in|of|do|else))\s*$"
)


def _texts(code: str) -> Iterator[tuple[int, int]]:
    """Where the insides of comments, strings and regular expressions begin and end."""
    position, braces = 0, list[int]()  # how deep each template was left for code
    depth = hopeless = 0
    while position < len(code):
        character = code[position]
        if code.startswith("//", position):
            end = _to(code, "\n", position)
        elif code.startswith("/*", position):
            end = min(_to(code, "*/", position + 2) + 2, len(code))
        elif character in "\"'":
            end = _string_end(code, position + 1, character)
            yield position + 1, end
            position = end + 1
            continue
        elif character == "`" or (character == "}" and braces and braces[-1] == depth):
            if character == "}":
                braces.pop()
            end, is_code = _template_end(code, position + 1)
            if is_code:
                braces.append(depth)
            yield position + 1, end
            position = end + (2 if is_code else 1)
            continue
        elif (
            character == "/"
            and position >= hopeless
            and _BEFORE_REGULAR_EXPRESSION.search(code[max(0, position - 40) : position])
        ):
            end = _expression_end(code, position + 1)
            if end > position:
                yield position + 1, end
                position = end + 1
                continue
            hopeless = _to(code, "\n", position)  # there is none in the rest of this line either
            position += 1
            continue
        else:
            depth += (character == "{") - (character == "}")
            position += 1
            continue
        yield position, end
        position = end


def _to(code: str, mark: str, start: int) -> int:
    found = code.find(mark, start)
    return found if found >= 0 else len(code)


def _string_end(code: str, start: int, quote: str) -> int:
    position = start
    while position < len(code) and code[position] not in (quote, "\n"):
        position += 2 if code[position] == "\\" else 1
    return min(position, len(code))


def _template_end(code: str, start: int) -> tuple[int, bool]:
    """Where a template's text ends, and whether code follows, as after `${`."""
    position = start
    while position < len(code) and code[position] != "`":
        if code.startswith("${", position):
            return position, True
        position += 2 if code[position] == "\\" else 1
    return min(position, len(code)), False


def _expression_end(code: str, start: int) -> int:
    """Where a regular expression ends; -1 if it is not one."""
    position, is_set = start, False
    while position < len(code) and code[position] != "\n":
        if code[position] == "\\":
            position += 1
        elif code[position] == "/" and not is_set:
            return position
        else:
            is_set = code[position] == "[" or (is_set and code[position] != "]")
        position += 1
    return -1
