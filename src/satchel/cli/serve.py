"""satchel serve, token, prompt: Satchel for MCP clients."""

import argparse
from typing import TYPE_CHECKING

from satchel.cli.output import note, note_warnings, show
from satchel.cli.running import paths_of, run_with_servers
from satchel.config import read_configuration
from satchel.config.settings import find_agent
from satchel.context.budget import tokens_at_most
from satchel.errors import ArgumentError, NotFoundError, SandboxError
from satchel.server.tokens import Tokens
from satchel.support.presence import announced, parent_name
from satchel.version import __version__

if TYPE_CHECKING:
    from satchel.server.surface import Surface
    from satchel.verbs.satchel import Satchel


def serve_command(options: argparse.Namespace) -> int:
    """Serve until the client leaves, or Ctrl-C."""
    return run_with_servers(options, lambda satchel: _serve(satchel, options))


async def _serve(satchel: "Satchel", options: argparse.Namespace) -> int:
    from satchel.server.surface import Surface  # loads the SDK, which other commands here don't need

    satchel.project.refuse_to_serve_itself()
    if not getattr(options, "verbose", False):
        note_warnings()
    surface = Surface(satchel, agent=options.agent, mode=options.mode)
    surface.check()
    if satchel.configuration.settings.code_execution.required:
        await _require_sandbox(satchel)
    facts = {"agent": options.agent, "http": options.http, "started_by": parent_name()}
    with announced(paths_of(options).serving, facts):
        if options.http is None:
            from satchel.server.stdio import serve_stdio  # loads the SDK

            await serve_stdio(surface)
        else:
            await _serve_http(satchel, surface, options)
    return 0


async def _serve_http(satchel: "Satchel", surface: "Surface", options: argparse.Namespace) -> None:
    from satchel.server.mcp_http import is_local, read_address, serve_http  # loads Starlette

    if options.agent != "default":
        raise ArgumentError(
            "--agent is for stdio; over HTTP a client's token says which agent it is",
            hint=f"satchel token {options.agent} prints its token",
        )
    tokens = Tokens(paths_of(options).tokens)
    tokens.of("default")
    host, _ = read_address(options.http)
    if not is_local(host):
        note(f"{host} can be reached from other machines, and nothing is encrypted: use a proxy with TLS")

    def is_agent(name: str) -> bool:
        try:
            satchel.project.agent(name)
        except NotFoundError:
            return False
        return True

    await serve_http(
        surface,
        options.http,
        agent_of=tokens.agent_of,
        is_agent=is_agent,
        settings=lambda: satchel.configuration.settings.http,
        started=lambda url: note(f"Satchel {__version__} at {url}; `satchel token` prints the token to send"),
    )


async def _require_sandbox(satchel: "Satchel") -> None:
    """Refuse to start where programs can't be run, as the settings want it."""
    try:
        await satchel.execute("pass", description="to see whether programs can be run")
    except SandboxError as error:
        hint = f"{error.hint}; " if error.hint else ""
        raise SandboxError(
            f"programs can't be run here, and code_execution.required asks for it: {error.message}",
            hint=f"{hint}or set mode: search (or direct), which need no sandbox, and required: false",
        ) from error


def token_command(options: argparse.Namespace) -> int:
    """Print an agent's token, or void it."""
    paths = paths_of(options)
    settings = read_configuration(paths).settings
    tokens = Tokens(paths.tokens)
    if options.remove:
        if options.new:
            raise ArgumentError("--new and --remove exclude each other")
        note(f"the token of {options.agent} is void" if tokens.remove(options.agent) else "there was none")
        return 0
    find_agent(settings, options.agent)
    show(tokens.of(options.agent, new=options.new))
    return 0


def prompt_command(options: argparse.Namespace) -> int:
    """Print the system prompt."""
    from satchel.toolset import Toolset  # loads anyio, which `satchel token` does not need

    if options.query and not options.skills:
        raise ArgumentError("--query goes with --skills")
    if (options.level == 2) != (options.skill is not None):
        raise ArgumentError("--level 2 and --skill go together", hint="satchel skills list shows the skills")

    async def print_prompt(satchel: "Satchel") -> int:
        if options.skills:
            return _print_skills(satchel, options)
        if options.level is not None:
            return await _print_level(satchel, options)
        toolset = Toolset(satchel, agent=options.agent, mode=options.mode)
        memory = toolset.memory(plain=options.plain)
        text = toolset.instructions(plain=options.plain, memory=memory)
        if not text:
            if toolset.mode == "direct":
                note("nothing: in mode direct a model is shown the tools themselves")
                note("hint: --mode code, or --mode search, prints what it is told there")
            else:
                note(f"nothing: this project's template for mode {toolset.mode} is empty")
                note("hint: --plain prints what Satchel's own says")
            return 0
        show(text)
        return 0

    return run_with_servers(options, print_prompt)


async def _print_level(satchel: "Satchel", options: argparse.Namespace) -> int:
    """What a model of the loop is told, on standard output; what that costs, on standard error."""
    # Templates take their time to load, and `satchel token` is here too.
    from satchel.context.agent import costs
    from satchel.toolset import PATIENCE, Toolset
    from satchel.toolset.prompting import instructions_for, level_of

    await satchel.servers.list_new(PATIENCE)
    level = level_of(satchel, options.agent, options.level, options.skill)
    toolset = Toolset(satchel, agent=options.agent, mode=options.mode, level=level)
    memory = toolset.memory(plain=options.plain).text
    text = instructions_for(
        satchel,
        toolset,
        memory,
        delegates=satchel.project.agent(options.agent).delegates,
        can_ask=True,
        plain=options.plain,
    )
    show(text)
    for name, tokens in costs(text):
        note(f"{name:24} {tokens:6,} tokens at most")
    note(f"{'together':24} {tokens_at_most(text):6,}")
    return 0


def _print_skills(satchel: "Satchel", options: argparse.Namespace) -> int:
    satchel.project.agent(options.agent)
    text = satchel.skills.prompt(options.agent, query=options.query, plain=options.plain)
    if not text:
        note("there are no skills")
        return 0
    show(text)
    budget = satchel.configuration.settings.skills.budget
    note(f"at most {tokens_at_most(text):,} tokens; skills.budget is {budget:,}")
    return 0
