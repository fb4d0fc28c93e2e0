"""Values that all checkers share: paths, findings, and how to use a checker."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Places:
    """The checker's paths; by default, those in the box."""

    program: str = "/program"  # the folder that it is in
    wrappers: str = "/mnt/code-api"
    runtime: str = "/opt/satchel/python"  # satchel_runtime, for Python
    support: str = "/opt/satchel/python/satchel_check"  # what a program has without an import
    programs: str = "/opt/satchel/bin"
    packages: str = ""  # of python_env


BOX = Places()


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One mistake. Lines and columns count from 1."""

    line: int
    column: int
    message: str
    rule: str = ""


@dataclass(frozen=True, kw_only=True)
class Checker:
    """A program that checks types. What it prints may be hostile, and is read line by line."""

    name: str  # of the program, which must be in the box
    file: str  # that it checks
    options: Callable[[Places, str], Sequence[str]]  # for these places and this version of Python
    read: Callable[[Sequence[str]], Iterator[Finding]]
    likely: Callable[[Sequence[Finding], Sequence[str], Collection[str]], Iterable[Finding]]
    """Those that would fail, given the program's lines and the modules of the workspace."""
