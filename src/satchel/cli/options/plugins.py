"""The commands of `satchel plugins` and their options, for cli/parser.py."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from satchel.cli.options.common import accept_option, json_option, name_argument, results_option

_DECIDES = "don't ask at the terminal: anyone who can run this command can approve with it"


def _list(parser: argparse.ArgumentParser) -> None:
    json_option(parser)


def _show(parser: argparse.ArgumentParser) -> None:
    name_argument(parser, "a plugin", _complete_plugins)
    json_option(parser)


def _switch(parser: argparse.ArgumentParser) -> None:
    name_argument(parser, "a plugin", _complete_plugins, nargs="+")


def _search(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", nargs="*", help="the task a plugin is for; without it, all plugins by name")
    results_option(parser)
    json_option(parser)


def _install(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source",
        metavar="SOURCE",
        help="NAME or NAME@MARKETPLACE, a folder, a .zip archive, or a local git repository",
    )
    parser.add_argument("--ref", metavar="REF", help="the branch, tag or commit of a repository")
    parser.add_argument(
        "--path", metavar="DIR", default="", help="the plugin's folder in a folder or repository"
    )
    accept_option(parser)
    _yes_option(parser)
    json_option(parser)


def _update(parser: argparse.ArgumentParser) -> None:
    name_argument(parser, "a plugin", _complete_plugins, nargs="*")
    accept_option(parser)
    parser.add_argument("--force", action="store_true", help="overwrite local changes")
    _yes_option(parser)


def _remove(parser: argparse.ArgumentParser) -> None:
    name_argument(parser, "a plugin", _complete_plugins)
    parser.add_argument("--keep-data", action="store_true", help="keep the data that its servers have stored")
    parser.add_argument("--yes", action="store_true", help="remove it without asking")


def _approve(parser: argparse.ArgumentParser) -> None:
    name_argument(parser, "a plugin", _complete_plugins)
    _yes_option(parser)


def _marketplace_add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source",
        metavar="SOURCE",
        help="a folder, a marketplace.json, a local git repository; an address, with plugins.allow_fetch",
    )
    parser.add_argument("--ref", metavar="REF", help="the branch, tag or commit of a repository")
    json_option(parser)


def _marketplace_name(parser: argparse.ArgumentParser) -> None:
    name_argument(parser, "the marketplace", _complete_marketplaces)


def _marketplace_refresh(parser: argparse.ArgumentParser) -> None:
    name_argument(parser, "the marketplaces; default: all", _complete_marketplaces, nargs="*")


def _yes_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help=_DECIDES)


def _complete_plugins(prefix: str, parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    return _completed("known_plugins", parsed_args)


def _complete_marketplaces(prefix: str, parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    return _completed("known_marketplaces", parsed_args)


def _completed(what: str, parsed_args: argparse.Namespace) -> list[str]:
    from satchel.cli.plugins import kept  # only a shell that completes needs the library

    config: Path | None = getattr(parsed_args, "config", None)
    return getattr(kept, what)(config)


# As in cli/parser.py
_Commands = dict[str, tuple[str, str, Callable[[argparse.ArgumentParser], None] | None]]
COMMANDS: _Commands = {
    "list": ("plugins.kept:list_command", "list all plugins, including those that can't be used", _list),
    "show": ("plugins.kept:show_command", "show one plugin: its parts, servers and origin", _show),
    "search": ("plugins.sources:search_command", "find plugins in the marketplaces", _search),
    "install": ("plugins.sources:install_command", "install a plugin", _install),
    "update": ("plugins.sources:update_command", "update plugins from their sources", _update),
    "enable": ("plugins.kept:enable_command", "enable plugins", _switch),
    "disable": ("plugins.kept:disable_command", "disable plugins, with all their parts", _switch),
    "approve": (
        "plugins.kept:approve_command",
        "approve the servers of a plugin: addresses, command lines, variables",
        _approve,
    ),
    "remove": (
        "plugins.kept:remove_command",
        "remove a plugin, with all its records",
        _remove,
    ),
    "marketplace": (
        "options.plugins:MARKETPLACE_COMMANDS",
        "add, list and remove marketplaces: lists of plugins",
        None,
    ),
}
MARKETPLACE_COMMANDS: _Commands = {
    "add": ("plugins.marketplaces:add_command", "add a marketplace: a list of plugins", _marketplace_add),
    "list": ("plugins.marketplaces:list_command", "list the marketplaces of the project", json_option),
    "refresh": ("plugins.marketplaces:refresh_command", "read marketplaces again", _marketplace_refresh),
    "remove": (
        "plugins.marketplaces:remove_command",
        "remove a marketplace; installed plugins stay",
        _marketplace_name,
    ),
}
