"""Calls that a program forgot to await: nothing was called, and Python says so late, or not at all."""

import os
import sys
from collections.abc import Iterable
from types import CoroutineType
from typing import Any

from satchel_guest.telling import is_ours

_MARK = "was never awaited"
_told: list[Any] = []  # calls, as long as a session lives, so that each is told once
_explained = set[str]()  # the names of those that an error was about


def hint_for(coroutine: Any) -> str:
    """The correction to suggest."""
    name = coroutine.cr_code.co_name
    hint = f"write await {name}(…)"
    *_, top, server, file = ["", "", *os.path.normpath(coroutine.cr_code.co_filename).split(os.sep)]
    if top in ("servers", "tools") and file == f"{name}.py":
        hint += f", or from {top}.{server}.sync import {name}, which needs none"
    return hint


def forgotten(values: Iterable[object]) -> list[Any]:
    """Those among the values that are calls which nobody has begun."""
    found: list[Any] = [value for value in values if isinstance(value, CoroutineType)]
    return [each for each in found if each.cr_frame is not None and each.cr_frame.f_lasti <= 0]


def forgotten_before(error: BaseException, program: str) -> Any:
    """The call that an error is probably about: its object, or a variable where the program failed."""
    found = forgotten([getattr(error, "obj", None)])
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == program:
            found = found or forgotten(trace.tb_frame.f_locals.values())
        trace = trace.tb_next
    if found:
        _explained.add(found[-1].cr_code.co_name)
    return found[-1] if found else None


def tell_left(names: dict[str, Any]) -> None:
    """At the end of a program: those that its variables still hold."""
    for each in forgotten(list(names.values())):
        if not any(each is told for told in _told):
            _told.append(each)
            tell(f"{each.cr_code.co_name}(…) {_MARK}: nothing was called", hint_for(each))


def is_about_awaits(category: type[Warning], message: Warning | str) -> bool:
    return category is RuntimeWarning and _MARK in str(message)


def tell_warning(message: Warning | str, filename: str, line: int, program: str) -> None:
    """In place of Python's own warning, whose place is that where the call was thrown away."""
    name = str(message).partition("'")[2].partition("'")[0].rpartition(".")[2]
    if name in _explained:
        _explained.remove(name)
        return
    place = "" if is_ours(filename, program) else f"{os.path.basename(filename)}:{line}: "
    tell(f"{place}{name}(…) {_MARK}: nothing was called", f"write await {name}(…)")


def tell(text: str, hint: str) -> None:
    print(f"{text}\nhint: {hint}", file=sys.stderr)
