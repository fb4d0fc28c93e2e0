"""The commands, their options and their help. docs/commands.md describes the same; a test compares them."""

import argparse
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from satchel.cli.options.agents import (
    connect_options,
    pack_claude_plugin_options,
    prompt_options,
    serve_options,
    token_options,
)
from satchel.cli.options.asking import ask_options, chat_options
from satchel.cli.options.calls import call_options
from satchel.cli.options.common import (
    agent_option,
    complete_servers,
    complete_tools,
    journal_options,
    json_option,
    language,
    page_argument,
    seconds,
    server_argument,
    tool_argument,
)
from satchel.cli.options.looking import (
    follow_option,
    logs_options,
    schema_options,
    search_options,
    status_options,
)
from satchel.cli.options.servers import add_options, auth_options, changes_options, init_options
from satchel.languages import LANGUAGES, PROGRAMS
from satchel.version import __version__

EXIT_CODES = """exit codes:
  0    done
  1    the tool reported an error, or the call failed; skills lint, skills scan: something was found
  2    wrong usage: unknown server or tool, arguments that don't fit
  3    a configuration file can't be used
  4    a server can't be used: it needs setup or a login, or it failed
  5    programs can't run safely on this machine; nothing was run
  6    a call waits for a person to agree (satchel approvals)
  130  interrupted
  137  run: a limit ended the program
  Otherwise `satchel run` exits with the program's own code.
"""


def build_parser(only: str | None = None) -> argparse.ArgumentParser:
    """The parser of all commands, or of the one named in `only`, which is quicker to build."""
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument(
        "--config",
        type=Path,
        metavar="PATH",
        default=argparse.SUPPRESS,
        help="configuration file, or the directory it is in; default: the nearest one above here",
    )
    common.add_argument(
        "--verbose", action="store_true", default=argparse.SUPPRESS, help="log what happens to standard error"
    )
    parser = _Parser(
        prog="satchel",
        description="See, call and diagnose the tools of your MCP servers, and run programs that use them.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[common],
    )
    parser.add_argument("--version", action="version", version=f"satchel {__version__}")
    _add_commands(parser, COMMANDS, common, only)
    return parser


class _Parser(argparse.ArgumentParser):
    """Suggests the closest name for an unknown command or choice."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            from satchel.names import closest  # only needed once something has gone wrong

            near = closest(str(value), map(str, action.choices or ()), limit=1)
            meant = f"; did you mean {near[0]}?" if near else ""
            if isinstance(action, argparse._SubParsersAction):  # pyright: ignore[reportPrivateUsage]
                others = "" if near else f"; {self.prog} --help lists them"
                self.error(f"unknown command '{value}'{meant}{others}")
            error.message += meant
            raise


def _add_commands(
    parser: argparse.ArgumentParser,
    table: "Commands",
    common: argparse.ArgumentParser,
    only: str | None = None,
) -> None:
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    parser.set_defaults(run="help:no_command", parser=parser)  # the parser has the usage for mistakes
    for name, (run, text, add) in table.items():
        if only in table and name != only:
            continue
        description = text[0].upper() + text[1:] + "."
        command = commands.add_parser(name, help=text, description=description, parents=[common])
        if add is None:
            module, nested = run.split(":")
            _add_commands(command, getattr(import_module(f"satchel.cli.{module}"), nested), common)
        else:
            command.set_defaults(run=run, parser=command)
            add(command)


def _list(parser: argparse.ArgumentParser) -> None:
    which: Any = parser.add_mutually_exclusive_group()
    for name, how in (("server", {"nargs": "?", "default": argparse.SUPPRESS}), ("--server", {})):
        argument = which.add_argument(name, metavar="SERVER", help="only this server, with its tools", **how)
        argument.completer = complete_servers
    parser.add_argument("--tools", action="store_true", help="also list the tools of every server")
    parser.add_argument(
        "--detailed", action="store_true", help="also show parameters, annotations and problems"
    )
    json_option(parser)


def _show(parser: argparse.ArgumentParser) -> None:
    tool_argument(parser)
    json_option(parser)


def _run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the program; - reads it from standard input")
    parser.add_argument(
        "--language",
        type=language,
        choices=tuple(PROGRAMS),
        help="or py, ts, js, sh; default: by the file's ending, else code_execution.language in satchel.yaml",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="check its types against the wrappers first; run it only if they fit",
    )
    _execution_options(parser)


def _sh(parser: argparse.ArgumentParser) -> None:
    _execution_options(parser)
    parser.add_argument(
        "command",
        nargs=argparse.REMAINDER,
        metavar="COMMAND",
        help="a command with its arguments, or a script as one word; default: read it from standard input",
    )


def _execution_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--timeout",
        type=seconds,
        metavar="SECONDS",
        help="end it after this long; default: code_execution.timeout in satchel.yaml",
    )
    agent_option(parser, "run it as this agent; default: default", default="default")
    parser.add_argument(
        "--description", default="", metavar="TEXT", help="a short description for the journal"
    )
    json_option(parser)


def _executions(parser: argparse.ArgumentParser) -> None:
    agent_option(parser, "only executions of this agent")
    follow_option(parser, "show executions as they begin and end")
    journal_options(parser, limit=20, text="maximum number of executions, newest first; default: 20")


def _show_execution(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="an execution's id, or the beginning of one")
    json_option(parser)


def _audit(parser: argparse.ArgumentParser) -> None:
    argument: Any = parser.add_argument("--server", metavar="SERVER", help="only calls of this server")
    argument.completer = complete_servers
    argument = parser.add_argument("--tool", metavar="TOOL", help="only calls of this tool")
    argument.completer = complete_tools
    agent_option(parser, "only calls of this agent")
    journal_options(parser, limit=50, text="maximum number of calls, newest first; default: 50")


def _bridge(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--socket",
        type=Path,
        metavar="PATH",
        help="path of the socket; default: a new one in a directory that only you can access",
    )
    agent_option(parser, "scripts act as this agent; default: default", default="default")


def _refresh(parser: argparse.ArgumentParser) -> None:
    server_argument(parser, nargs="*")
    parser.add_argument(
        "--accept",
        action="store_true",
        help="the same as satchel changes --accept: list nothing, and accept what is shown",
    )
    json_option(parser)


def _generate(parser: argparse.ArgumentParser) -> None:
    argument: Any = parser.add_argument(
        "--server",
        action="append",
        default=[],
        metavar="SERVER",
        help="only this server; leave the others as they are. Repeatable",
    )
    argument.completer = complete_servers
    parser.add_argument(
        "--language", type=language, choices=(*LANGUAGES, "both"), default="both", help="default: both"
    )
    parser.add_argument(
        "--clean", action="store_true", help="remove all generated files before writing them again"
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        help="write to DIR/python and DIR/typescript; default: .satchel/code-api in the project",
    )
    json_option(parser)


def _resources(parser: argparse.ArgumentParser) -> None:
    server_argument(parser, nargs="?")
    parser.add_argument("--read", metavar="URI", help="read this resource of SERVER")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the resource to FILE")
    json_option(parser)


def _prompts(parser: argparse.ArgumentParser) -> None:
    server_argument(parser, nargs="?")
    parser.add_argument("--get", metavar="NAME", help="fill in this prompt of SERVER")
    parser.add_argument("values", nargs="*", metavar="key=value", help="the prompt's arguments")
    json_option(parser)


def _doctor(parser: argparse.ArgumentParser) -> None:
    server_argument(parser, nargs="*")
    json_option(parser)


def _help(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topic", nargs="*", metavar="COMMAND", help="the command to explain")


def _completion(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))


# name → (module:function that runs it, summary, function that adds its arguments and options). A command with
# subcommands has None instead of the function, and names the table of its subcommands.
Commands = Mapping[str, tuple[str, str, Callable[[argparse.ArgumentParser], None] | None]]
COMMANDS: Commands = {
    "list": ("catalog:list_command", "list servers, or the tools of one server", _list),
    "search": (
        "catalog:search_command",
        "find tools by what they do, or skills and memory with --in",
        search_options,
    ),
    "show": ("catalog:show_command", "show one tool: description, parameters, output, spellings", _show),
    "call": ("call:call_command", "call a tool", call_options),
    "refresh": ("catalog:refresh_command", "start servers and list their tools again", _refresh),
    "changes": (
        "control.changes:changes_command",
        "show how tools differ from what a person accepted, and accept it",
        changes_options,
    ),
    "generate": (
        "generate:generate_command",
        "write typed Python and TypeScript wrappers of all tools",
        _generate,
    ),
    "ask": ("asking.ask:ask_command", "have an agent do a task, over a model of yours", ask_options),
    "chat": ("asking.chat:chat_command", "talk with an agent at the terminal", chat_options),
    "conversations": (
        "options.asking:COMMANDS",
        "list, show, export and delete conversations of agents",
        None,
    ),
    "run": ("execute:run_command", "run a program in the sandbox", _run),
    "sh": ("execute:shell_command", "run a shell command in the sandbox, to look around", _sh),
    "executions": ("looking.journal:executions_command", "list the programs that have run", _executions),
    "show-execution": (
        "looking.journal:show_execution_command",
        "show one execution: program, output, result, calls",
        _show_execution,
    ),
    "logs": ("looking.logs:logs_command", "show what a server wrote to standard error", logs_options),
    "audit": (
        "looking.journal:audit_command",
        "list calls: which agent made them, and how they ended",
        _audit,
    ),
    "approvals": ("options.approvals:COMMANDS", "decide on calls that wait for a person", None),
    "commands": ("options.commands:COMMANDS", "list the commands of plugins and skills, or print one", None),
    "skills": ("options.skills:COMMANDS", "list, check, install, enable and disable skills", None),
    "plugins": ("options.plugins:COMMANDS", "install, approve, update, enable and disable plugins", None),
    "serve": (
        "serve:serve_command",
        "run as an MCP server for Claude Code, Cursor and other clients",
        serve_options,
    ),
    "token": ("serve:token_command", "print the token that identifies an agent over HTTP", token_options),
    "prompt": (
        "serve:prompt_command",
        "print the instructions that a model gets besides its tools",
        prompt_options,
    ),
    "bridge": ("execute:bridge_command", "let your own scripts call tools, until Ctrl-C", _bridge),
    "resources": ("catalog:resources_command", "list resources, or read one", _resources),
    "prompts": ("catalog:prompts_command", "list prompts, or fill one in", _prompts),
    "status": (
        "looking.status:status_command",
        "show on one screen what is configured, what runs and what failed",
        status_options,
    ),
    "memory": ("options.memory:COMMANDS", "manage the memories of agents: list, add, review, import", None),
    "flows": ("options.flows:COMMANDS", "show and explain the rules about data between servers", None),
    "agents": (
        "options.agent_commands:COMMANDS",
        "list, show, add and remove agents; clear workspaces",
        None,
    ),
    "privacy": (
        "options.privacy:COMMANDS",
        "see what is hidden from models: status, reveal, forget, test",
        None,
    ),
    "doctor": (
        "looking.doctor:doctor_command",
        "find problems, and show the next step for each",
        _doctor,
    ),
    "schema": ("schema:schema_command", "print the JSON schema of a configuration file", schema_options),
    "docs": ("docs:docs_command", "list the pages of the documentation, or show one", page_argument),
    "init": (
        "servers:init_command",
        "import the servers of other MCP clients on this machine",
        init_options,
    ),
    "add": ("servers:add_command", "add a server: NAME -- COMMAND…, or NAME --url URL", add_options),
    "remove": ("servers:remove_command", "remove a server from the configuration", server_argument),
    "enable": ("servers:enable_command", "enable a server", server_argument),
    "disable": ("servers:disable_command", "disable a server, and keep its entry", server_argument),
    "auth": ("servers:auth_command", "log in to a remote server in the browser", auth_options),
    "completion": (
        "options.completion:completion_command",
        "print the script for shell completion",
        _completion,
    ),
    "connect": (
        "connecting.connect:connect_command",
        "connect an MCP client to Satchel",
        connect_options,
    ),
    "pack": ("parser:PACK_COMMANDS", "write a plugin that brings Satchel to other people's clients", None),
    "mcp": ("parser:MCP_COMMANDS", "aliases: the same list, generate and call", None),
    "help": ("help:help_command", "show the most important commands, or explain one", _help),
}
MCP_COMMANDS: Commands = {name: COMMANDS[name] for name in ("list", "generate", "call")}
PACK_COMMANDS: Commands = {
    "claude-plugin": (
        "pack:pack_command",
        "a plugin for Claude Code and Claude Desktop",
        pack_claude_plugin_options,
    )
}
