"""The commands of `satchel skills` and their options, for cli/parser.py."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from satchel.cli.options.common import accept_option, agent_option, json_option, name_argument, results_option


def _list(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--enabled", action="store_true", help="only enabled skills")
    parser.add_argument("--category", metavar="NAME", help="only skills of this category")
    agent_option(parser, "only skills that this agent sees")
    json_option(parser)


def _search(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", nargs="*", help="the task a skill is for; without it, all skills by name")
    results_option(parser)
    _agent_name_option(parser, "search the skills that this agent may use; default: default")
    json_option(parser)


def _show(parser: argparse.ArgumentParser) -> None:
    _name_argument(parser)
    json_option(parser)


def _switch(parser: argparse.ArgumentParser) -> None:
    _name_argument(parser, nargs="+")


def _lint(parser: argparse.ArgumentParser) -> None:
    _targets_argument(parser)
    parser.add_argument(
        "--profile",
        choices=("spec", "claude", "deerflow"),
        default="spec",
        help="whose rules: the specification's (the default), Claude's or DeerFlow's",
    )
    json_option(parser)


def _scan(parser: argparse.ArgumentParser) -> None:
    _targets_argument(parser)
    accept_option(parser)
    json_option(parser)


def _install(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source", type=Path, metavar="SOURCE", help="a .skill archive, a folder, or a local git repository"
    )
    _allow_option(parser)
    accept_option(parser)
    parser.add_argument("--ref", metavar="REF", help="the branch, tag or commit; default: HEAD")
    parser.add_argument("--path", metavar="DIR", help="the skill's folder in a folder or repository")
    json_option(parser)


def _remove(parser: argparse.ArgumentParser) -> None:
    _name_argument(parser)
    parser.add_argument("--yes", action="store_true", help="remove it without asking")


def _pack(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="the folder with the SKILL.md")
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="the archive to write; default: NAME.skill in this directory",
    )
    _allow_option(parser)
    parser.add_argument("--force", action="store_true", help="overwrite an existing file")


def _save(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("execution", metavar="EXECUTION", help="the id of the execution, or its beginning")
    parser.add_argument(
        "--name", required=True, metavar="NAME", help="the name of the skill and of its function"
    )
    parser.add_argument(
        "--description",
        default="",
        metavar="TEXT",
        help="what it does and when to use it; default: the execution's description",
    )
    parser.add_argument("--example", type=Path, metavar="FILE", help="a program that uses it, for its test")
    agent_option(parser, "the agent that gets the skill; default: the agent that ran the program")
    json_option(parser)


def _test(parser: argparse.ArgumentParser) -> None:
    _name_argument(parser)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--record", action="store_true", help="record the results of its calls in its folder")
    how.add_argument("--recorded", action="store_true", help="answer its calls from the recording")
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="maximum run time")
    _agent_name_option(parser, "run it as this agent; default: default")
    json_option(parser)


def _promote(parser: argparse.ArgumentParser) -> None:
    _name_argument(parser)
    parser.add_argument(
        "--force", action="store_true", help="even if it is untested, or replaces another agent's"
    )
    _agent_name_option(parser, "the agent that owns the skill; default: default")


def _agent_name_option(parser: argparse.ArgumentParser, text: str) -> None:
    agent_option(parser, text, default="default")


def _name_argument(parser: argparse.ArgumentParser, nargs: str | None = None) -> None:
    name_argument(parser, "a skill's name, or category:name", _complete_skills, nargs)


def _targets_argument(parser: argparse.ArgumentParser) -> None:
    argument: Any = parser.add_argument(
        "targets", nargs="*", metavar="TARGET", help="skills by name, or folders; default: all skills"
    )
    argument.completer = _complete_skills


def _allow_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="RULE",
        help="waive a rule of the specification. Repeatable",
    )


def _complete_skills(prefix: str, parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    from satchel.cli.skills import known_skills  # only a shell that completes needs the library

    return known_skills(getattr(parsed_args, "config", None))


# As in cli/parser.py
COMMANDS: dict[str, tuple[str, str, Callable[[argparse.ArgumentParser], None]]] = {
    "list": ("skills:list_command", "list all skills, including those that can't be used", _list),
    "search": ("skills:search_command", "find skills by task", _search),
    "show": ("skills:show_command", "show one skill: its text, files and origin", _show),
    "enable": ("skills:enable_command", "enable skills", _switch),
    "disable": ("skills:disable_command", "disable skills", _switch),
    "lint": ("installing:lint_command", "check skills by the strict rules", _lint),
    "scan": ("installing:scan_command", "scan the files of skills for dangerous content", _scan),
    "install": ("installing:install_command", "install a skill", _install),
    "remove": ("skills:remove_command", "remove a skill, with its folder", _remove),
    "save": ("skills_saved:save_command", "save an executed program as a skill", _save),
    "test": ("skills_saved:test_command", "run the example of a saved skill in the sandbox", _test),
    "check": (
        "skills_saved:check_command",
        "list saved skills whose tools have changed or gone",
        json_option,
    ),
    "curate": (
        "skills_saved:curate_command",
        "list the skills of all agents with their uses and failures",
        json_option,
    ),
    "promote": ("skills_saved:promote_command", "share a saved skill with all agents", _promote),
    "pack": ("installing:pack_command", "make a .skill archive of a folder", _pack),
}
