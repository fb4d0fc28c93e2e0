"""docs: the documentation of the installed version, which comes with the package."""

import argparse
import re
from pathlib import Path

import satchel
from satchel.cli import output
from satchel.errors import ArgumentError
from satchel.names import closest

_PACKAGE = Path(satchel.__file__).parent
_PLACES = (_PACKAGE / "docs", _PACKAGE.parents[1] / "docs")  # of a wheel, of a checkout
_ABOUT = {
    "commands": "every command and option, exit codes, environment variables, shell completion",
    "configuration": "both files and every key",
    "connecting": "the entry for each client",
    "importing": "what satchel init copies from other clients",
    "wrappers": "what satchel generate writes, and how to use it",
    "search": "what a query can be, how tools are ranked, search by meaning",
    "serving": "Satchel as an MCP server, its modes, HTTP, read-only programs, prompts",
    "programs": "what they see, how they fail, how they end, sessions, checks, and the journal",
    "skills": "instructions and code that agents find, read, save and share",
    "plugins": "folders with skills, commands and servers, and what a person approves of them",
    "approvals": "calls that wait for a person, who decides, and what is kept",
    "flows": "which data may go from one server to another",
    "agents": "permissions, workspaces, memory, tasks, and what one may read of another",
    "asking": "agents that do tasks, over a model of yours: router, specialists, conversations",
    "python": "the same verbs in a program",
    "privacy": "what counts as personal data, and how well it is found",
    "security": "what is trusted, what a server gets, where credentials are",
    "troubleshooting": "each error, its cause and the next step",
    "architecture": "how Satchel is built, and why",
    "measured": "speed, tokens and search, measured",
}


def docs_command(options: argparse.Namespace) -> int:
    pages = _pages()
    if options.page is None:
        output.show_table((name, _about(name, pages[name])) for name in sorted(pages, key=_order))
        output.note("satchel docs PAGE shows one")
        return 0
    name = options.page.removeprefix("docs/").removesuffix(".md").lower()
    if name not in pages:
        near = closest(name, list(pages), limit=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(sorted(pages, key=_order))}"
        raise ArgumentError(f"there is no page '{options.page}'", hint=hint)
    output.show_page(pages[name].read_text(encoding="utf-8"))
    return 0


def _pages() -> dict[str, Path]:
    for place in _PLACES:
        if pages := {page.stem: page for page in place.glob("*.md")}:
            return pages
    raise ArgumentError(
        f"this copy of Satchel has no documentation: {_PLACES[0]} is missing",
        hint="install Satchel from a wheel or a checkout",
    )


def _order(name: str) -> tuple[int, str]:
    """As they are listed above; others come last."""
    return ([*_ABOUT, name].index(name), name)


def _about(name: str, page: Path) -> str:
    if name in _ABOUT:
        return _ABOUT[name]
    heading = re.match(r"# (.*)", page.read_text(encoding="utf-8"))
    return heading[1] if heading else ""
