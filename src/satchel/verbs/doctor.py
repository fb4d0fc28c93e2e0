"""Checks that really try: the machine, the servers, the settings; with a next step for each finding."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from anyio import to_thread

from satchel.calls.schemas import schema_problem
from satchel.config import Configuration, Paths, ServerEntry, read_configuration, resolve
from satchel.config.agents import Mode
from satchel.config.entries import is_bare_reference
from satchel.config.settings import TemplatesSettings
from satchel.config.shown import without_secrets
from satchel.errors import (
    ConfigError,
    JournalError,
    NeedsAuthorizationError,
    NeedsSetupError,
    SatchelError,
    ServerError,
)
from satchel.library.sources import included
from satchel.model import Change, Event, Server, ServerFailed, Tell, silent
from satchel.names import count, in_shell
from satchel.sandbox.trial.totals import try_totals
from satchel.sandbox.trial.trial import try_sandbox
from satchel.upstream.listing import NESTED
from satchel.verbs.journal import check_database
from satchel.verbs.programs.showing import persons_memories
from satchel.verbs.satchel import Satchel

Level = Literal["ok", "note", "warning", "error"]
FillIn = Callable[[str, Mode | None], object]
"""Makes the instructions of an agent in a mode; ConfigError says what is wrong with a template."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that was checked. Whatever is not ok has a next step."""

    subject: str
    check: str
    level: Level
    message: str
    next_step: str | None = None
    stderr: Sequence[str] = ()


async def check_servers(
    satchel: Satchel, entries: Sequence[ServerEntry], *, tell: Tell = silent
) -> list[Finding]:
    """Start each server, and say what is wrong with it or with what it lists."""
    errors: dict[str, ServerError] = {}
    enabled = [entry.name for entry in entries if entry.enabled]

    def note(event: Event) -> None:
        tell(event)
        if isinstance(event, ServerFailed):
            errors[event.server] = event.error

    await satchel.servers.refresh(enabled, tell=note)
    findings: list[Finding] = []
    for entry in entries:
        findings += _server(satchel.catalog.server(entry.name), entry, errors.get(entry.name))
    if len(entries) == len(satchel.catalog.servers):
        findings += _patterns(satchel)
    return findings


def _patterns(satchel: Satchel) -> Iterable[Finding]:
    for remark in satchel.project.unused_patterns():
        yield Finding(
            subject="settings",
            check="patterns",
            level="warning",
            message=remark,
            next_step="satchel list SERVER has the names of tools",
        )


# What satchel.yaml says


async def check_settings(satchel: Satchel, fill_in: FillIn) -> list[Finding]:
    """What would keep `serve` from starting, or be passed over without a word."""
    configuration = satchel.project.follow()
    database = await to_thread.run_sync(lambda: list(_database(configuration)))
    templates = _templates(configuration, fill_in)
    found = [*_without_effect(configuration), *_folders(configuration), *_privacy(configuration)]
    return [*found, *templates, *database]


def _privacy(configuration: Configuration) -> Iterable[Finding]:
    if configuration.settings.privacy.is_on:
        from satchel.verbs.privacy.checking import check_privacy  # loads detection, which few have

        for message, next_step in check_privacy(configuration.settings.privacy):
            level: Level = "note" if next_step is None else "warning"
            yield Finding(
                subject="settings", check="privacy", level=level, message=message, next_step=next_step
            )


def _without_effect(configuration: Configuration) -> Iterable[Finding]:
    for text in configuration.warnings:
        yield _warning("effect", text, "correct it, or take it out")


def _folders(configuration: Configuration) -> Iterable[Finding]:
    """Folders that the settings name and that are not there, or can't be read."""
    settings, project = configuration.settings, configuration.paths.project
    for source in included(configuration.paths, settings.skills):
        if source.problem is not None:
            yield _warning("skills", f"{source.root} {source.problem}", "take it out of skills.include")
    for written in settings.skills.include:
        if not (project / os.path.expanduser(written)).is_dir():
            yield _warning(
                "skills",
                f"skills.include has {written}, and {project / os.path.expanduser(written)} is not a folder",
                "correct it, or take it out",
            )
    templates = settings.templates.path  # the default need not be there
    if templates != TemplatesSettings().path and not (project / templates).is_dir():
        yield _warning(
            "templates",
            f"templates.path is {templates}, and {project / templates} is not a folder",
            "correct it; Satchel's own templates are used",
        )


def _warning(check: str, message: str, next_step: str) -> Finding:
    return Finding(subject="settings", check=check, level="warning", message=message, next_step=next_step)


def _templates(configuration: Configuration, fill_in: FillIn) -> Iterable[Finding]:
    """Fill in the project's templates as `serve` does: for each agent, and in every mode it can be given."""
    agents = dict.fromkeys(("default", *configuration.settings.agents))
    modes: tuple[Mode | None, ...] = (None, "code", "search", "direct")
    said: set[str] = set()
    for agent in agents:
        for mode in modes:
            try:
                fill_in(agent, mode)
            except ConfigError as error:
                if error.message not in said:
                    yield _failure("templates", error)
                said.add(error.message)


def _database(configuration: Configuration) -> Iterable[Finding]:
    try:
        answer = check_database(configuration)
    except JournalError as error:
        yield _failure("journal", error)
    else:
        if answer is not None:
            yield Finding(subject="settings", check="journal", level="ok", message=answer)


def _failure(check: str, error: SatchelError) -> Finding:
    return Finding(
        subject="settings",
        check=check,
        level="error",
        message=error.message,
        next_step=error.hint or "correct satchel.yaml",
    )


# One server


def _server(server: Server, entry: ServerEntry, error: ServerError | None) -> Iterable[Finding]:
    def finding(check: str, level: Level, message: str, next_step: str | None = None, **more: Any) -> Finding:
        return Finding(
            subject=server.name, check=check, level=level, message=message, next_step=next_step, **more
        )

    if not entry.enabled:
        yield finding("enabled", "note", "disabled", _how_to_enable(entry))
        return
    try:
        target = resolve(entry)
    except NeedsSetupError as problem:
        yield finding("configuration", "error", problem.reason, problem.hint or "correct the entry")
        return
    yield finding("configuration", "ok", "its entry is valid and its variables resolve")
    for name in entry.env:
        if is_bare_reference(entry.env[name]):  # which may be a secret all the same, and is not shown
            message = f"env.{name} is a name after a $, and the server gets it as it is written"
            yield finding("variables", "note", message, "write ${NAME} if it is meant to be a variable")
    if target.transport == "stdio":
        command = shutil.which(target.command, path=target.env.get("PATH") or os.environ.get("PATH"))
        if command:
            yield finding("command", "ok", command)
    if isinstance(error, NeedsAuthorizationError):
        yield finding(
            "authorization", "error", error.reason, error.hint or f"satchel auth {in_shell(server.name)}"
        )
        return
    if error is not None:
        stderr = getattr(error, "stderr", ())
        by_hand = not error.hint or error.hint.startswith("satchel doctor")
        step = error.hint if not by_hand else f"run it by hand: {_by_hand(entry)}"
        if entry.custom and by_hand:
            step = f"correct its functions, or their names in {_place(entry)}"
        yield finding("starts", "error", error.reason, step, stderr=tuple(stderr))
        return
    about = " ".join(part for part in (server.implementation, server.version) if part)
    yield finding("starts", "ok", f"{about or server.name} speaks protocol {server.protocol_version}")
    if server.tool_count or server.resources or server.prompts:
        counts = ", ".join(
            (
                count(server.tool_count, "tool"),
                count(len(server.resources), "resource"),
                count(len(server.prompts), "prompt"),
            )
        )
        yield finding("lists", "ok", counts)
    else:
        yield finding("lists", "warning", "it offers nothing", "check its arguments and credentials")
    for problem in server.problems:
        if problem.startswith(NESTED):
            step = "a program here could only start a program there"
            yield finding("nesting", "warning", problem, step)
        elif entry.custom:
            step = f"correct the function, or its name in {_place(entry)}, then satchel refresh {server.name}"
            yield finding("functions", "warning", problem, step)
        else:
            yield finding("oddities", "note", problem, "the rest works; tell the server's author")
    yield from _schemas(server)
    for change in server.changes:
        yield finding(
            "definitions",
            "warning",
            _changed(server, change),
            f"read satchel changes {in_shell(server.name)}; with --accept, a person accepts it",
        )


def _changed(server: Server, change: Change) -> str:
    what = "is new" if change.is_new else "has changed"
    fields = f": {', '.join(change.fields)}" if change.fields else ""
    held = "; it can't be called until it is accepted" if change.tool in server.held else ""
    return f"'{change.tool}' {what} since {change.at[:10]}{fields}{held}"


def _by_hand(entry: ServerEntry) -> str:
    """Its command for a shell, which fills in variables as Satchel does; no secret in it is shown."""
    return " ".join(map(_quoted, without_secrets([entry.command, *entry.args])))


def _quoted(word: str) -> str:
    if "${" not in word:
        return shlex.quote(word)
    return '"' + re.sub(r'["\\`]|\$(?!\{)', r"\\\g<0>", word) + '"'


def _how_to_enable(entry: ServerEntry) -> str:
    if entry.file.suffix == ".json":
        return f"satchel enable {in_shell(entry.name)}"
    return f"edit {_place(entry)}: Satchel does not write to that file"


def _place(entry: ServerEntry) -> str:
    file, line = entry.locate(())
    return f"{file}:{line}"


def _schemas(server: Server) -> Iterable[Finding]:
    for tool in server.tools:
        for key, schema in (("inputSchema", tool.input_schema), ("outputSchema", tool.output_schema)):
            problem = schema_problem(schema) if schema is not None else None
            if problem:
                yield Finding(
                    subject=server.name,
                    check="schemas",
                    level="note",
                    message=f"{tool.name}: {key} {problem}",
                    next_step="it is not checked before a call; tell the server's author",
                )


# The machine


def _configuration(paths: Paths) -> Finding:
    files = [str(file) for file in (paths.settings_file, paths.extensions_file) if file and file.exists()]
    return Finding(
        subject="machine",
        check="configuration",
        level="ok" if files else "note",
        message=", ".join(files) or "no configuration found",
        next_step=None if files else "satchel init, or satchel add NAME -- COMMAND",
    )


def _names(paths: Paths) -> Iterable[Finding]:
    """What satchel.yaml calls by names from elsewhere."""
    for note in read_configuration(paths).notes:
        yield Finding(
            subject="machine",
            check="names",
            level="note",
            message=note,
            next_step="it works as it is; bring the file up to date when you edit it",
        )


async def check_machine(paths: Paths) -> list[Finding]:
    """What Satchel needs of the machine, with a program really isolated on it."""
    version = sys.version.split()[0]
    sandbox = await _sandbox(paths)
    return [
        Finding(subject="machine", check="python", level="ok", message=f"{version} at {sys.executable}"),
        *(finding for finding in sandbox if finding.subject == "machine"),
        _program("node", "servers that run with npx", "apt-get install nodejs npm, or see nodejs.org"),
        _configuration(paths),
        *_names(paths),
        *(finding for finding in sandbox if finding.subject != "machine"),
    ]


async def _sandbox(paths: Paths) -> list[Finding]:
    """Whether programs can be isolated here, by isolating one."""
    configuration = read_configuration(paths)
    settings, code = configuration.settings.code_execution, configuration.code()
    memories = persons_memories(configuration)
    checks = await try_sandbox(settings, paths.project, paths.private, os.environ, code, memories)
    if all(check.name != "sandbox" or check.level != "error" for check in checks):
        checks += try_totals(settings, len({"default", *configuration.settings.agents}))
    return [
        Finding(
            subject="machine" if check.name == "sandbox" else "sandbox",
            check=check.name,
            level=check.level,
            message=check.message,
            next_step=check.next_step,
        )
        for check in checks
    ]


def _program(name: str, use: str, remedy: str) -> Finding:
    path = shutil.which(name) or shutil.which(name, path=os.path.dirname(sys.executable))
    if path is None:
        return Finding(
            subject="machine",
            check=name,
            level="note",
            message=f"not found; needed for {use}",
            next_step=remedy,
        )
    try:
        answer = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        return Finding(
            subject="machine",
            check=name,
            level="warning",
            message=f"{path} does not run: {error}",
            next_step=remedy,
        )
    return Finding(
        subject="machine",
        check=name,
        level="ok",
        message=f"{answer.stdout.split(chr(10))[0].strip()} at {path}",
    )
