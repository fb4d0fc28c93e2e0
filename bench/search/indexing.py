"""Satchel's index of tools, made as Satchel makes it: a section for each server."""

from collections.abc import Iterable, Sequence

from bench.search.data import Tool
from satchel.search.index import Index, Section, make_section
from satchel.search.tool_documents import FIELDS, document_of, siblings_text


def by_server(tools: Iterable[Tool]) -> dict[str, list[Tool]]:
    servers: dict[str, list[Tool]] = {}
    for tool in tools:
        servers.setdefault(tool.server, []).append(tool)
    return servers


def section_of(tools: Sequence[Tool]) -> Section:
    siblings = siblings_text((tool.name, tool.description) for tool in tools)
    documents = [
        document_of(
            tool.server,
            tool.name,
            tool.title,
            tool.description,
            tool.input_schema,
            tool.server_description,
            siblings,
        )
        for tool in tools
    ]
    return make_section(documents, FIELDS)


def index_of(tools: Iterable[Tool]) -> Index:
    index = Index()
    for server, group in by_server(tools).items():
        index.put(server, section_of(group))
    return index
