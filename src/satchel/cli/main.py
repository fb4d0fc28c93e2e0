"""`satchel`: the commands, their options and their help. The code of a command is imported when it runs."""

import argparse
import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from satchel.version import __version__

EXIT_CODES = """exit codes:
  0    done
  1    the tool reported an error, or the call failed
  2    wrong usage: unknown server or tool, arguments that don't fit
  3    a configuration file can't be used
  4    a server can't be used: it needs setup or a login, or it failed
  130  interrupted
"""


def run() -> None:
    """The console script."""
    sys.exit(main(sys.argv[1:]))


def main(arguments: list[str]) -> int:
    """Run one command and return its exit code."""
    parser = build_parser()
    if "_ARGCOMPLETE" in os.environ:
        import argcomplete

        argcomplete.autocomplete(parser)
    options = _parse(parser, arguments)
    from satchel.cli import output
    from satchel.errors import SatchelError

    _set_up_logging(options.verbose)
    try:
        module, function = options.run.split(":")
        code = getattr(import_module(f"satchel.cli.{module}"), function)(options)
        sys.stdout.flush()
    except SatchelError as error:
        sys.stdout.flush()
        output.show_error(error)
        return error.exit_code
    except KeyboardInterrupt:
        output.note("interrupted")
        return 130
    except BrokenPipeError:
        # The reader of a pipe had enough. Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except BaseExceptionGroup as group:
        return _show_group(group)
    return int(code or 0)


def _parse(parser: argparse.ArgumentParser, arguments: list[str]) -> argparse.Namespace:
    """Parse, and let key=value stand before, between and after options, which argparse alone does not."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    options, rest = parser.parse_known_args(arguments[:end])
    after = arguments[end + 1 :]
    if hasattr(options, "command"):
        options.command = [*options.command, *after]
        after = []
    rest += after
    if rest and (not hasattr(options, "values") or any(word.startswith("-") for word in rest)):
        parser.error("unrecognized arguments: " + " ".join(rest))
    if rest:
        options.values = [*options.values, *rest]
    return options


def _show_group(group: BaseException) -> int:
    """Errors that came out of a task group: the first one that is meant to be read, else all of it."""
    from satchel.cli import output
    from satchel.errors import SatchelError

    error = group
    while inner := getattr(error, "exceptions", ()):
        error = inner[0]
    if isinstance(error, SatchelError):
        output.show_error(error)
        return error.exit_code
    if isinstance(error, KeyboardInterrupt):
        return 130
    raise group


def _set_up_logging(verbose: bool) -> None:
    if verbose:
        import logging

        logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(name)s: %(message)s")


def build_parser() -> argparse.ArgumentParser:
    """Every command and option. docs/commands.md describes the same, and a test compares them."""
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument(
        "--config",
        type=Path,
        metavar="PATH",
        default=argparse.SUPPRESS,
        help="configuration file, or directory with one; default: the nearest one above here",
    )
    common.add_argument(
        "--verbose", action="store_true", default=argparse.SUPPRESS, help="log what happens to standard error"
    )
    parser = argparse.ArgumentParser(
        prog="satchel",
        description="Every MCP tool your people have, for the price of three.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[common],
    )
    parser.set_defaults(config=None, verbose=False)
    parser.add_argument("--version", action="version", version=f"satchel {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def command(name: str, run: str, text: str) -> argparse.ArgumentParser:
        added = commands.add_parser(
            name, help=text, description=text[0].upper() + text[1:] + ".", parents=[common]
        )
        added.set_defaults(run=run)
        return added

    _add_catalog_commands(command)
    _add_call_command(command)
    _add_server_commands(command)
    _add_other_commands(command)
    return parser


Command = Callable[[str, str, str], argparse.ArgumentParser]


def _add_catalog_commands(command: Command) -> None:
    listing = command("list", "catalog:list_command", "list servers, or the tools of one server")
    _server_argument(listing, nargs="?")
    listing.add_argument("--detailed", action="store_true", help="with parameters, annotations and problems")
    _json_option(listing)

    show = command(
        "show", "catalog:show_command", "show one tool: description, parameters, output, spellings"
    )
    _tool_argument(show)
    _json_option(show)

    refresh = command("refresh", "catalog:refresh_command", "start servers and list their tools anew")
    _server_argument(refresh, nargs="*")
    refresh.add_argument("--accept", action="store_true", help="take changed definitions for the right ones")
    _json_option(refresh)

    resources = command("resources", "catalog:resources_command", "list resources, or read one")
    _server_argument(resources, nargs="?")
    resources.add_argument("--read", metavar="URI", help="read this resource of SERVER")
    resources.add_argument("--output", type=Path, metavar="FILE", help="write what was read to FILE")
    _json_option(resources)

    prompts = command("prompts", "catalog:prompts_command", "list prompts, or fill one in")
    _server_argument(prompts, nargs="?")
    prompts.add_argument("--get", metavar="NAME", help="fill in this prompt of SERVER")
    prompts.add_argument("values", nargs="*", metavar="key=value", help="the prompt's arguments")
    _json_option(prompts)


def _add_call_command(command: Command) -> None:
    call = command("call", "call:call_command", "call a tool")
    _tool_argument(call)
    call.add_argument(
        "values",
        nargs="*",
        metavar="key=value",
        help="arguments, read by the parameter's type; key:=JSON for a value written as JSON",
    )
    call.add_argument(
        "--args", metavar="JSON", help="all arguments as one JSON object; - reads standard input"
    )
    call.add_argument("--interactive", action="store_true", help="ask for each parameter")
    call.add_argument(
        "--timeout", type=float, metavar="SECONDS", help="wait at most this long for the answer"
    )
    call.add_argument("--output", type=Path, metavar="FILE", help="write the result to FILE")
    _json_option(call)


def _add_server_commands(command: Command) -> None:
    init = command(
        "init", "servers:init_command", "import the servers that other clients on this machine have"
    )
    init.add_argument("--yes", action="store_true", help="write without asking")
    init.add_argument("--dry-run", action="store_true", help="show what would be written, and write nothing")
    _user_option(init)

    add = command("add", "servers:add_command", "add a server: NAME -- COMMAND…, or NAME --url URL")
    add.add_argument("name", metavar="NAME")
    add.add_argument("command", nargs="*", metavar="COMMAND", help="the command that starts it, after --")
    add.add_argument("--url", help="the address of a remote server")
    add.add_argument("--type", choices=("http", "sse"), help="the remote server's transport; default: http")
    add.add_argument(
        "--header", action="append", default=[], metavar="NAME=VALUE", help="sent with every request"
    )
    add.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="set for the command")
    add.add_argument("--cwd", metavar="DIRECTORY", help="where the command runs; default: next to the file")
    add.add_argument("--description", default="", metavar="TEXT", help="a line about it")
    add.add_argument("--replace", action="store_true", help="if NAME exists, replace it")
    add.add_argument("--no-check", action="store_true", help="don't start it to see whether it works")
    _user_option(add)

    remove = command("remove", "servers:remove_command", "remove a server from the configuration")
    _server_argument(remove)
    for word, text in (
        ("enable", "switch a server on"),
        ("disable", "switch a server off and keep its entry"),
    ):
        switch = command(word, f"servers:{word}_command", text)
        _server_argument(switch)

    auth = command("auth", "servers:auth_command", "log in to a remote server with the browser")
    _server_argument(auth)
    auth.add_argument("--no-browser", action="store_true", help="only print the address to open")
    auth.add_argument("--logout", action="store_true", help="forget the stored tokens")


def _add_other_commands(command: Command) -> None:
    doctor = command(
        "doctor", "doctor:doctor_command", "find out what is wrong, with a next step for each finding"
    )
    _server_argument(doctor, nargs="*")
    _json_option(doctor)

    completion = command(
        "completion", "completion:completion_command", "print the script for shell completion"
    )
    completion.add_argument("shell", choices=("bash", "zsh", "fish"))


def _server_argument(parser: argparse.ArgumentParser, nargs: str | None = None) -> None:
    options: dict[str, Any] = {"nargs": nargs} if nargs else {}
    argument: Any = parser.add_argument("server", metavar="SERVER", help="a server's name", **options)
    argument.completer = _complete_servers


def _tool_argument(parser: argparse.ArgumentParser) -> None:
    argument: Any = parser.add_argument("tool", metavar="SERVER.TOOL", help="a tool, in any of its spellings")
    argument.completer = _complete_tools


def _json_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def _user_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--user", action="store_true", help="write to your own configuration, not the project's"
    )


def _complete_servers(prefix: str, parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    from satchel.cli.completion import known_names

    return known_names(getattr(parsed_args, "config", None), tools=False)


def _complete_tools(prefix: str, parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    from satchel.cli.completion import known_names

    return known_names(getattr(parsed_args, "config", None), tools=True)
