"""The options of commands that add servers or log in to them, for cli/parser.py."""

import argparse

from satchel.cli.options.common import json_option, server_argument, user_option


def init_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help="write without asking")
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would be written, and write nothing"
    )
    parser.add_argument(
        "--settings", action="store_true", help="also write a starter satchel.yaml if there is none"
    )
    user_option(parser)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the server's name")
    parser.add_argument("command", nargs="*", metavar="COMMAND", help="the command that starts it, after --")
    parser.add_argument("--url", help="the address of a remote server")
    parser.add_argument(
        "--type", choices=("http", "sse"), help="the remote server's transport; default: http"
    )
    parser.add_argument(
        "--header",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a header to send with every request; repeatable",
    )
    parser.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a variable for the command; repeatable",
    )
    parser.add_argument(
        "--cwd",
        metavar="DIRECTORY",
        help="the working directory of the command; default: the configuration file's directory",
    )
    parser.add_argument("--description", default="", metavar="TEXT", help="a short description")
    parser.add_argument("--replace", action="store_true", help="replace NAME if it exists")
    parser.add_argument(
        "--no-check", action="store_true", help="add the server without starting it to check it"
    )
    user_option(parser)


def changes_options(parser: argparse.ArgumentParser) -> None:
    server_argument(parser, nargs="?")
    parser.add_argument(
        "--accept", action="store_true", help="accept what is shown, at a terminal, server by server"
    )
    json_option(parser)


def auth_options(parser: argparse.ArgumentParser) -> None:
    server_argument(parser)
    parser.add_argument("--no-browser", action="store_true", help="only print the address to open")
    parser.add_argument("--logout", action="store_true", help="forget the stored tokens")
