"""The options of commands that let agents and other clients use Satchel, for cli/parser.py."""

import argparse
from pathlib import Path

from satchel.cli.options.common import agent_option


def serve_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--http",
        metavar="HOST:PORT",
        help="over HTTP at http://HOST:PORT/mcp; default: over standard input and output",
    )
    agent_option(parser, "clients act as this agent; over HTTP their tokens say it", default="default")
    parser.add_argument(
        "--mode",
        choices=("auto", "code", "search", "direct"),
        help="what models are shown, whatever satchel.yaml says",
    )


def token_options(parser: argparse.ArgumentParser) -> None:
    agent = parser.add_mutually_exclusive_group()
    # Suppressed, or its default would take the place of what the option says.
    agent.add_argument(
        "agent", metavar="AGENT", nargs="?", default=argparse.SUPPRESS, help="the agent whose token it is"
    )
    agent.add_argument(
        "--agent", metavar="NAME", default="default", help="the same as AGENT; default: default"
    )
    parser.add_argument("--new", action="store_true", help="make a new token; the old one is void")
    parser.add_argument("--remove", action="store_true", help="make the token void")


def prompt_options(parser: argparse.ArgumentParser) -> None:
    agent_option(parser, "for this agent; default: default", default="default")
    parser.add_argument(
        "--mode", choices=("auto", "code", "search", "direct"), help="default: as satchel.yaml says"
    )
    parser.add_argument("--plain", action="store_true", help="use Satchel's own templates, not the project's")
    parser.add_argument(
        "--skills", action="store_true", help="only what a model is told about skills, with its cost"
    )
    parser.add_argument(
        "--query", default="", metavar="TEXT", help="with --skills: skills that fit this come first"
    )


def connect_options(parser: argparse.ArgumentParser) -> None:
    clients = ("claude-code", "claude-desktop", "cursor", "vscode", "codex", "windsurf", "gemini")
    parser.add_argument("client", nargs="?", choices=clients, help="the client that is to use Satchel")
    parser.add_argument("--all", action="store_true", help="every client on this machine")
    parser.add_argument(
        "--move",
        action="store_true",
        help="take the client's own servers out, into Satchel's configuration; --undo puts them back",
    )
    parser.add_argument("--undo", action="store_true", help="take the change back")
    parser.add_argument("--yes", action="store_true", help="write without asking")
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would be written, and write nothing"
    )
    parser.add_argument(
        "--project", action="store_true", help="write to the client's file in this directory, not to your own"
    )
    agent_option(parser, "the client acts as this agent; default: default")
    parser.add_argument(
        "--name", default="satchel", metavar="NAME", help="what the client calls it; default: satchel"
    )


def pack_claude_plugin_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "directory",
        nargs="?",
        type=Path,
        default=Path("satchel-plugin"),
        metavar="DIR",
        help="where to; default: satchel-plugin",
    )
    agent_option(parser, "clients that use it act as this agent; default: default")
    parser.add_argument(
        "--force", action="store_true", help="write to a directory that has something in it already"
    )
