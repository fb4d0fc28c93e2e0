"""The SKILL.md of a saved skill, and the program that is its example."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from satchel.library.saved.code import CODE
from satchel.library.saved.naming import Names
from satchel.library.saved.reading import Reading

_FENCE = re.compile(r"`{3,}")


@dataclass(frozen=True, kw_only=True)
class Example:
    """How a skill is used. `given` is what its author says; without it, a call is made up."""

    names: Names
    reading: Reading
    given: str = ""

    @property
    def can_run(self) -> bool:
        """Not where values have to be given that nobody has told."""
        return bool(self.given.strip()) or not self.reading.needs

    @property
    def program(self) -> str:
        imported = self.names.imported
        if not self.given.strip():
            call = CODE[self.names.language].call(self.names.function, self.reading)
            return f"{imported}\n\n{call}\n"
        has_import = re.search(r"\bskills[./]", self.given) is not None
        given = self.given.strip("\n")
        return f"{given}\n" if has_import else f"{imported}\n\n{given}\n"


def skill_text(example: Example, description: str, metadata: Mapping[str, Any]) -> str:
    """Everything but code stands on one line: none of it can pass for another part of the file."""
    names, reading = example.names, example.reading
    head = {"name": names.skill, "description": description, "metadata": dict(metadata)}
    front = yaml.safe_dump(head, allow_unicode=True, sort_keys=False, width=1_000_000)
    tools = [f"- {_inline(tool)}" for tool in metadata["tools"]]
    parts = [
        f"---\n{front}---\n",
        f"# {names.skill}\n",
        f"{_plain(description)}\n",
        _fenced(names.language, reading.signature),
        "## Example\n",
        _fenced(names.language, example.program),
        "## Tools that it calls\n",
        "\n".join(tools or ["None that its code names."]) + "\n",
    ]
    return "\n".join(parts)


def _fenced(language: str, code: str) -> str:
    longest = max((len(run) for run in _FENCE.findall(code)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{code.rstrip()}\n{fence}\n"


def _inline(text: str) -> str:
    plain = "".join(character if character.isprintable() else " " for character in text)
    return f"`{plain.replace('`', chr(39))}`"


def _plain(text: str) -> str:
    """A line of text that Markdown takes for nothing else."""
    return f"\\{text}" if text[:1] in "#-+*=>`~|" else text
