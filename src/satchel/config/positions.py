"""The line on which a key stands in a JSON or YAML text. Used only when there is something to report."""

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_OTHER = re.compile(r"[^\s,:\[\]{}\"]+")


def line_in_json(text: str, path: Sequence[str | int]) -> int | None:
    """The line of the last element of `path` that can be found, or None for an unreadable text."""
    lines = lines_in_json(text)
    ways = (tuple(path[:end]) for end in range(len(path), 0, -1))
    return next((lines[way] for way in ways if way in lines), None)


@lru_cache(maxsize=2)  # one file may have something to report in each of its entries
def lines_in_json(text: str) -> dict[tuple[str | int, ...], int]:
    """The lines of all keys and items at once; of two of the same name, the line of the last one."""
    # Of two keys of the same name the last one counts, here as for the parser.
    lines: dict[tuple[str | int, ...], int] = {}
    line, counted = 1, 0
    for path, offset in _walk(text):
        line, counted = line + text.count("\n", counted, offset), offset
        lines[path] = line
    return lines


def _walk(text: str) -> Any:
    """Yield (path, offset) of every key and item, in order."""
    stack: list[list[Any]] = []  # [kind, current key or index, expecting a key]
    position = 0
    while position < len(text):
        character = text[position]
        if character in "{[":
            if stack and stack[-1][0] == "[":
                yield tuple(frame[1] for frame in stack), position
            stack.append(["{", None, True] if character == "{" else ["[", 0, False])
        elif character in "}]":
            if stack:
                stack.pop()
        elif character == "," and stack:
            if stack[-1][0] == "[":
                stack[-1][1] += 1
            else:
                stack[-1][2] = True
        elif character == '"' or (not character.isspace() and character != ":"):
            match = (_STRING if character == '"' else _OTHER).match(text, position)
            if match is None:
                return
            if stack and stack[-1][0] == "{" and stack[-1][2]:
                try:
                    stack[-1][1] = json.loads(match.group())
                except ValueError:
                    return
                stack[-1][2] = False
                yield tuple(frame[1] for frame in stack), position
            elif stack and stack[-1][0] == "[":
                yield tuple(frame[1] for frame in stack), position
            position = match.end()
            continue
        position += 1


def line_in_yaml(text: str, path: Sequence[str | int]) -> int | None:
    """The same for YAML."""
    import yaml  # most positions are in JSON

    yaml_module: Any = yaml  # its stubs leave the nodes untyped
    try:
        node: Any = yaml_module.compose(text, Loader=yaml.SafeLoader)
    except RecursionError:
        return None
    line: int | None = None
    for step in path:
        if isinstance(node, yaml.MappingNode):
            pairs: Any = node.value
            # `on` is read as true, `1` as a number: a key is found as written or as read.
            match = [(key, value) for key, value in pairs if str(step) in (str(key.value), _as_read(key))]
            if not match:
                break
            line, node = match[-1][0].start_mark.line + 1, match[-1][1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            node = node.value[step]
            line = node.start_mark.line + 1
        else:
            break
    return line


def _as_read(key: Any) -> str | None:
    import yaml  # most positions are in JSON

    yaml_module: Any = yaml
    try:
        return str(yaml_module.safe_load(yaml_module.serialize(key)))
    except yaml.YAMLError:  # `<<`, which is not a key by itself
        return None
