"""Tools as plain data for a model or a script, in as much detail as is asked for."""

from typing import NamedTuple

from satchel.calls.policy import is_allowed
from satchel.catalog import Snapshot
from satchel.catalog.states import is_usable, why_and_next
from satchel.codegen.places import wrapper_file
from satchel.codegen.text import summary
from satchel.config.agents import AgentSettings
from satchel.languages import Language
from satchel.model import Json, Server, Tool
from satchel.support.program_paths import CODE_API

DESCRIPTION = 200  # characters


class ToolRows(NamedTuple):
    """`language` is the one whose wrappers are named, `agent` the settings of the agent that asks."""

    snapshot: Snapshot
    language: Language
    agent: AgentSettings

    def row(self, tool: Tool, detail: str) -> Json:
        row: Json = {"name": tool.wire_name, "short_name": tool.name, "server": tool.server}
        if detail == "desc":
            row["description"] = summary(tool.description or tool.title or "", DESCRIPTION)
        if detail == "full":
            row |= self._whole(tool)
        row["allowed"] = is_allowed(self.agent, tool.server, tool.name, tool.aliases)
        return row | mark_of(self.snapshot.server(tool.server))

    def wrapper_path(self, tool: Tool) -> str:
        """Where a program's author reads on."""
        return f"{CODE_API}/{wrapper_file(self.snapshot.server(tool.server), tool, self.language)}"

    def _whole(self, tool: Tool) -> Json:
        # The writers of code take long to import, and most rows are short.
        from satchel.codegen.signature import read_signature
        from satchel.codegen.writers import WRITERS

        signature = read_signature(tool, self.snapshot.server(tool.server))
        return {
            "description": tool.description.strip(),
            "parameters": tool.input_schema,
            "output": tool.output_schema,
            "wrapper_path": self.wrapper_path(tool),
            **{language: writer.head_of(signature) for language, writer in WRITERS.items()},
        }


def mark_of(server: Server) -> Json:
    """What a row of a tool says of its server; nothing where it can be used."""
    if is_usable(server):
        return {}
    return {"server_state": server.state, "reason": why_and_next(server)}
