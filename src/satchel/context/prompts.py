"""The text for models besides their tools: Jinja templates, the project's own before Satchel's.

Nothing in them changes from one turn to the next, so that what providers have cached of a prompt stays good.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from traceback import extract_tb
from typing import Any

from jinja2 import BaseLoader, ChoiceLoader, Environment, FileSystemLoader, PrefixLoader, StrictUndefined
from jinja2.exceptions import TemplateError, TemplateNotFound, TemplateSyntaxError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from satchel.errors import ConfigError
from satchel.model import Server

TEMPLATES = {
    "code": "code_execution_system.jinja",
    "search": "tool_search_system.jinja",
    "direct": "direct_system.jinja",
}
_OWN = Path(__file__).parent / "templates"
_LONGEST_TOGETHER = 20_000  # characters of all servers' instructions; what is told ends there
_FRAME = len('<server name="">\n\n</server>\n')
_MARKUP = re.compile(r"<(?=\s*/?\s*server)", re.IGNORECASE)
_SURROGATE = re.compile("[\ud800-\udfff]")  # listings that were cached by an older Satchel may have some


def render(template: str, variables: Mapping[str, Any], project: Path | None = None) -> str:
    """Fill in a template: that of the directory `project`, where it has one.

    The project's may extend Satchel's: {% extends "satchel/code_execution_system.jinja" %}.
    """
    loaders: list[BaseLoader] = [FileSystemLoader(_OWN), PrefixLoader({"satchel": FileSystemLoader(_OWN)})]
    if project is not None:
        loaders.insert(0, _ProjectLoader(project))
    environment = ImmutableSandboxedEnvironment(
        loader=ChoiceLoader(loaders), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    if "servers" in variables:
        variables = {**variables, "servers": _quoted(variables["servers"])}
    try:
        return environment.get_template(template).render(variables).strip()
    except TemplateError as error:
        raise _problem(error, template, project) from error
    except Exception as error:
        raise _problem(error, template, project) from error


class _ProjectLoader(FileSystemLoader):
    """Files of the project's directory of templates, and no others that links in it lead to."""

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, Callable[[], bool]]:
        source, file, is_current = super().get_source(environment, template)
        directory = Path(self.searchpath[0])
        if not Path(file).resolve().is_relative_to(directory.resolve()):
            raise TemplateError(f"'{template}' is a link that leads out of {directory}")
        return source, file, is_current


def _quoted(servers: Sequence[Server]) -> list[Server]:
    """With instructions that can't be taken for another server's, and that leave the others their part."""
    texts = [_SURROGATE.sub("\ufffd", _MARKUP.sub("&lt;", server.instructions or "")) for server in servers]
    frames = [_FRAME + len(escape(server.name)) for server in servers if server.instructions]
    part = _fair_part([len(text) for text in texts if text], _LONGEST_TOGETHER - sum(frames) + 1)
    return [replace(server, instructions=text[:part]) for server, text in zip(servers, texts, strict=True)]


def _fair_part(lengths: Sequence[int], room: int) -> int:
    """How long each may be, where those that are shorter leave the rest of theirs to the others."""
    for index, length in enumerate(sorted(lengths)):
        waiting = len(lengths) - index
        if length * waiting > room:
            return max(0, room // waiting)
        room -= length
    return max(lengths, default=0)


def _problem(error: Exception, template: str, project: Path | None) -> ConfigError:
    file, line = _place(error) or (project / template if project is not None else _OWN / template, None)
    reason = f"there is no template '{error.name}'" if isinstance(error, TemplateNotFound) else str(error)
    return ConfigError(
        f"the template can't be filled in: {reason}",
        file=file,
        line=line,
        hint="compare it with `satchel prompt --plain`, which uses Satchel's own",
    )


def _place(error: Exception) -> tuple[Path, int | None] | None:
    """Where it is wrong: that may be in a file that the template includes or extends."""
    if isinstance(error, TemplateSyntaxError):
        return (Path(error.filename), error.lineno) if error.filename else None
    # Jinja leaves frames in the traceback that have the template's own file and line.
    for frame in reversed(extract_tb(error.__traceback__)):
        file = Path(frame.filename)
        if file.suffix != ".py" and file.is_file():
            return file, frame.lineno
    return None
