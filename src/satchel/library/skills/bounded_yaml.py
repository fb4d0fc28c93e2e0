"""YAML that anybody may have written, read only where it is neither too deep nor too large."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import yaml

DEEPEST = 50
LARGEST = 256 * 1024  # characters of all values, with what aliases stand for
_LARGEST_NUMBER = 1024  # bits
_loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class SyntaxFault(ValueError):
    """The error, with its line in the text, counted from 0."""

    def __init__(self, problem: str, line: int) -> None:
        super().__init__(problem)
        self.line = line


def load(text: str) -> tuple[object, dict[str, str]]:
    """The values of the text, and the spelling of those that YAML reads as no text. Raises ValueError."""
    try:
        scalars = _checked(text)
        loaded = _loaded(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise SyntaxFault(getattr(error, "problem", None) or str(error), mark.line if mark else 0) from None
    except RecursionError as error:
        raise ValueError(str(error)) from None
    if not isinstance(loaded, dict):
        return {} if loaded is None else loaded, {}
    values = cast("dict[Any, Any]", loaded)
    return values, {
        key: written
        for key, written in scalars.items()
        if values.get(key) is not None and not isinstance(values[key], str)
    }


def _loaded(text: str) -> object:
    try:
        return yaml.load(text, Loader=_loader)
    except (KeyError, IndexError, AttributeError, TypeError, ArithmeticError) as error:
        raise ValueError(f"a value does not fit its tag: {error!r}") from None


@dataclass(slots=True)
class _Extent:
    """How much a part of the text stands for."""

    size: int = 0  # characters, and one for each value
    height: int = 0  # levels below
    anchor: str | None = None


def _checked(text: str) -> dict[str, str]:
    """Refuse what is too deep or too large to be made; the plain values of keys at the top, as written.

    Only events tell without recursion: what makes values of them follows a nesting of any depth on the stack
    of the machine, and aliases to more than any memory holds.
    """
    parse: Any = getattr(yaml, "parse")  # noqa: B009  its types are not known
    top = _Extent()
    open_parts = [top]
    anchored: dict[str, _Extent] = {}
    scalars: dict[str, str] = {}
    key: str | None = None
    is_key = True
    for event in parse(text, Loader=_loader):
        if isinstance(event, yaml.CollectionStartEvent):
            open_parts.append(_Extent(anchor=event.anchor))
            if len(open_parts) > DEEPEST:
                raise ValueError(f"it is nested more than {DEEPEST} deep")
            continue
        if isinstance(event, yaml.ScalarEvent):
            part = _Extent(size=1 + len(event.value), anchor=event.anchor)
        elif isinstance(event, yaml.AliasEvent):
            known = anchored.get(event.anchor)
            if known is None:
                raise ValueError(f"the alias '*{event.anchor}' stands for nothing that is before it")
            part = _Extent(size=known.size, height=known.height)
        elif isinstance(event, yaml.CollectionEndEvent):
            part = open_parts.pop()
            part.height += 1
        else:
            continue
        if part.anchor is not None:
            anchored[part.anchor] = part
        above = open_parts[-1]
        above.size += 1 + part.size
        above.height = max(above.height, part.height)
        if above.size > LARGEST or len(open_parts) + part.height > DEEPEST + 1:
            raise ValueError(f"its aliases stand for more than {LARGEST:,} characters or {DEEPEST} levels")
        if len(open_parts) == 2:  # a key at the top, or its value
            if is_key:
                key = event.value if isinstance(event, yaml.ScalarEvent) else None
            elif key is not None and isinstance(event, yaml.ScalarEvent) and event.implicit[0]:
                scalars[key] = event.value
            is_key = not is_key
    return scalars


def plain(value: Any, depth: int = 0) -> Any:
    """As JSON has it."""
    if depth > DEEPEST:
        raise ValueError(f"it is nested more than {DEEPEST} deep")
    if isinstance(value, Mapping):
        parts = cast("Mapping[Any, Any]", value).items()
        return {str(plain(key, depth)): plain(part, depth + 1) for key, part in parts}
    if isinstance(value, list | tuple | set):
        return [plain(part, depth + 1) for part in cast("list[Any]", value)]
    if isinstance(value, datetime.date | datetime.datetime):
        return value.isoformat()
    if isinstance(value, int) and value.bit_length() > _LARGEST_NUMBER:
        return hex(value)  # as decimal digits it takes longer than anybody waits
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)
