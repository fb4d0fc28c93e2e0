"""The writers of wrappers, by language: pure functions from a server's listing to texts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from satchel.codegen.python import package as python_package
from satchel.codegen.python import tool as python_tool
from satchel.codegen.signature import Signature
from satchel.codegen.typescript import package as typescript_package
from satchel.codegen.typescript import tool as typescript_tool
from satchel.languages import Language
from satchel.model import Server

Files = dict[str, str]
"""File name → text."""


@dataclass(frozen=True, kw_only=True)
class Writer:
    """The files of one language. `index.json` is the same for all, and not theirs."""

    root_files: Callable[[Sequence[Server]], Files]  # at the root of the tree
    group_files: Callable[[str], Files]  # of `servers` and `tools`; the text says what lies there
    package_files: Callable[[Server, Sequence[Signature], str], Files]  # of a server
    alias_files: Callable[[Server], Files]  # of a folder that leads to a server's by a different name
    tool_file: Callable[[Signature], str]
    head_of: Callable[[Signature], str]  # the line by which a tool is called


WRITERS: Mapping[Language, Writer] = {
    "python": Writer(
        root_files=python_package.root_files,
        group_files=python_package.group_files,
        package_files=python_package.package_files,
        alias_files=python_package.alias_files,
        tool_file=python_tool.tool_file,
        head_of=python_tool.head_of,
    ),
    "typescript": Writer(
        root_files=typescript_package.root_files,
        group_files=typescript_package.group_files,
        package_files=typescript_package.package_files,
        alias_files=typescript_package.alias_files,
        tool_file=typescript_tool.tool_file,
        head_of=typescript_tool.head_of,
    ),
}
