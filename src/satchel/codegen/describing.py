"""Resources and prompts in words, the same in both languages."""

from collections.abc import Collection, Sequence

from satchel.codegen.places import plain_name
from satchel.codegen.text import WIDTH, one_line, summary, wrap
from satchel.model import Prompt, Server

_MOST_RESOURCES = 200  # named in a file; the rest can be read all the same


def resource_lines(server: Server) -> list[str]:
    """Which resources there are."""
    lines = [
        f"Resources of {plain_name(server)}. Fill in the {{blanks}} of an address before reading it.",
        "",
    ]
    for resource in server.resources[:_MOST_RESOURCES]:
        kind = f" ({one_line(resource.mime_type)})" if resource.mime_type else ""
        text = summary(resource.description or resource.title or resource.name)
        lines.append(one_line(f"{resource.uri}{kind}: {text}"))
    if len(server.resources) > _MOST_RESOURCES:
        lines.append(f"… and {len(server.resources) - _MOST_RESOURCES} more")
    return [part for line in lines for part in wrap(line, WIDTH - 3)]


def prompt_lines(prompt: Prompt) -> list[str]:
    """The purpose of a prompt."""
    text = one_line(prompt.description or prompt.title or "")
    return wrap(text, WIDTH - 4) if text else []


def prompt_names(names: Sequence[str], reserved: Collection[str]) -> list[str]:
    """The functions of prompts, none called like another or like what their file needs."""
    used = {*reserved, *names}
    given: list[str] = []
    for name in names:
        while name in reserved or name in given:
            name = f"{name}_"
            if name in used and name not in given:
                name = f"{name}_"
        given.append(name)
    return given
