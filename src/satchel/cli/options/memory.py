"""The commands of `satchel memory` and their options, for cli/parser.py."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from satchel.cli.options.common import agent_option, json_option, results_option


def _list(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--file", metavar="FILE", help="only entries of this file of the memory")
    parser.add_argument("--waiting", action="store_true", help="only entries that wait for review")
    _agent_option(parser)
    json_option(parser)


def _show(parser: argparse.ArgumentParser) -> None:
    _key_argument(parser)
    _agent_option(parser)
    json_option(parser)


def _search(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", nargs="+", metavar="QUERY", help="words of what is looked for")
    results_option(parser)
    _agent_option(parser)
    json_option(parser)


def _add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "content", metavar="TEXT", help="what to remember; for a file of keys and values: KEY=VALUE"
    )
    parser.add_argument("--topic", metavar="TOPIC", help="what it is about; in Markdown, the heading")
    parser.add_argument(
        "--file", metavar="FILE", help="a file of the memory; default: core_memories.json, the facts"
    )
    parser.add_argument(
        "--read-only", action="store_true", help="only people change it; told to models first"
    )
    _agent_option(parser)
    json_option(parser)


def _edit(parser: argparse.ArgumentParser) -> None:
    _key_argument(parser)
    parser.add_argument("--content", metavar="TEXT", help="the new text; default: edit it in $EDITOR")
    _agent_option(parser)


def _forget(parser: argparse.ArgumentParser) -> None:
    _key_argument(parser)
    _agent_option(parser)


def _review(parser: argparse.ArgumentParser) -> None:
    _agent_option(parser)
    json_option(parser)


def _export(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="write to this file, which only you can read; default: standard output",
    )
    _agent_option(parser)


def _import(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "path",
        type=Path,
        metavar="PATH",
        help="an export of mem0 or Satchel as JSON, the folder of a local Qdrant, or history.db",
    )
    agent_option(parser, "the agent for memories that name none; default: default", default="default")
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would be imported, and write nothing"
    )
    parser.add_argument("--yes", action="store_true", help="import without asking")
    parser.add_argument(
        "--reviewed",
        action="store_true",
        help="you have reviewed all of it: models may be told at once. Asks at the terminal",
    )
    json_option(parser)


def _key_argument(parser: argparse.ArgumentParser) -> None:
    argument: Any = parser.add_argument(
        "key", metavar="KEY", help="an entry: its topic, id, heading or key, or FILE:LINE"
    )
    argument.completer = _complete_keys


def _agent_option(parser: argparse.ArgumentParser) -> None:
    agent_option(parser, "the agent whose memory it is; default: default", default="default")


def _complete_keys(prefix: str, parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    from satchel.cli.memory.entries import known_keys  # only a shell that completes needs the memory

    return known_keys(getattr(parsed_args, "config", None), parsed_args.agent)


# As in cli/parser.py
COMMANDS: dict[str, tuple[str, str, Callable[[argparse.ArgumentParser], None]]] = {
    "list": (
        "memory.entries:list_command",
        "list the entries of an agent's memory, and faults of its files",
        _list,
    ),
    "show": ("memory.entries:show_command", "show one entry: its text, and who wrote it", _show),
    "search": ("memory.entries:search_command", "find entries by words", _search),
    "add": ("memory.entries:add_command", "add an entry to an agent's memory", _add),
    "edit": ("memory.entries:edit_command", "change an entry", _edit),
    "forget": ("memory.entries:forget_command", "remove an entry", _forget),
    "review": (
        "memory.reviewing:review_command",
        "approve or remove entries written after reading untrusted content",
        _review,
    ),
    "export": ("memory.exchange:export_command", "write all entries as JSON", _export),
    "import": ("memory.exchange:import_command", "read memories of mem0, or an export", _import),
}
