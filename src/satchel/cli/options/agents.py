"""The options of commands that let agents and other clients use Satchel, for cli/parser.py."""

import argparse
from pathlib import Path
from typing import Any

from satchel.cli.options.common import agent_option, complete_agents


def serve_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--http",
        metavar="HOST:PORT",
        help="serve over HTTP at http://HOST:PORT/mcp; default: over standard input and output",
    )
    agent_option(
        parser, "clients act as this agent; over HTTP, the token determines the agent", default="default"
    )
    parser.add_argument(
        "--mode",
        choices=("auto", "code", "search", "direct"),
        help="how tools are shown to models; overrides satchel.yaml",
    )


def token_options(parser: argparse.ArgumentParser) -> None:
    agent = parser.add_mutually_exclusive_group()
    # Suppressed, or its default would take the place of what the option says.
    argument: Any = agent.add_argument(
        "agent",
        metavar="AGENT",
        nargs="?",
        default=argparse.SUPPRESS,
        help="the agent that the token identifies",
    )
    argument.completer = complete_agents
    option: Any = agent.add_argument(
        "--agent", metavar="NAME", default="default", help="the same as AGENT; default: default"
    )
    option.completer = complete_agents
    parser.add_argument("--new", action="store_true", help="make a new token; the old one stops working")
    parser.add_argument("--remove", action="store_true", help="remove the token; it stops working")


def prompt_options(parser: argparse.ArgumentParser) -> None:
    agent_option(parser, "the agent that gets the instructions; default: default", default="default")
    parser.add_argument(
        "--mode",
        choices=("auto", "code", "search", "direct"),
        help="how tools are shown to models; default: as in satchel.yaml",
    )
    parser.add_argument("--plain", action="store_true", help="use Satchel's own templates, not the project's")
    parser.add_argument("--skills", action="store_true", help="only the part about skills, and its cost")
    parser.add_argument(
        "--level",
        type=int,
        choices=(1, 2),
        help="the prompt of `satchel ask`, with the cost of its sections: 1 for the router, 2 with --skill",
    )
    parser.add_argument("--skill", metavar="NAME", help="with --level 2: the specialist's skill")
    parser.add_argument(
        "--query", default="", metavar="TEXT", help="with --skills: list skills that match TEXT first"
    )


def connect_options(parser: argparse.ArgumentParser) -> None:
    clients = ("claude-code", "claude-desktop", "cursor", "vscode", "codex", "windsurf", "gemini")
    parser.add_argument("client", nargs="?", choices=clients, help="the client to connect")
    parser.add_argument("--all", action="store_true", help="connect every client on this machine")
    parser.add_argument(
        "--move",
        action="store_true",
        help="move the client's own servers to Satchel's configuration; --undo moves them back",
    )
    parser.add_argument("--undo", action="store_true", help="undo the change")
    parser.add_argument("--yes", action="store_true", help="write without asking")
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would be written, and write nothing"
    )
    parser.add_argument(
        "--project",
        action="store_true",
        help="write to the client's file in this directory, not in your home directory",
    )
    agent_option(parser, "the client acts as this agent; default: default")
    parser.add_argument(
        "--name", default="satchel", metavar="NAME", help="the server's name in the client; default: satchel"
    )


def pack_claude_plugin_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "directory",
        nargs="?",
        type=Path,
        default=Path("satchel-plugin"),
        metavar="DIR",
        help="the directory to write to; default: satchel-plugin",
    )
    agent_option(parser, "clients that use it act as this agent; default: default")
    parser.add_argument("--force", action="store_true", help="write to DIRECTORY even if it is not empty")
