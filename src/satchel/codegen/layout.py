"""Which files make up a tree, and what is in each: pure functions from servers to texts.

A server has one folder with a file a tool; custom tools lie in `tools/`, everything else in `servers/`.
"""

import hashlib
import json
from collections.abc import Sequence

from satchel.codegen.places import about, file_of, folder_of, manual_file_of, top_of
from satchel.codegen.signature import Signature
from satchel.codegen.text import has_unseen, summary
from satchel.codegen.writers import WRITERS
from satchel.languages import LANGUAGES, Language
from satchel.model import Json, Server


def server_files(server: Server, signatures: Sequence[Signature], language: Language) -> dict[str, str]:
    """File name → text, of one server's folder."""
    files = WRITERS[language].package_files(server, signatures, catalog_hash(server))
    files["index.json"] = _server_index(server, signatures, language)
    for signature in signatures:
        if signature.manual:
            files[manual_file_of(signature.spelling, language)] = signature.manual
    return files


def top_files(servers: Sequence[Server], language: Language) -> dict[str, dict[str, str]]:
    """Folder → file name → text, of what lies above the folders of servers."""
    writer = WRITERS[language]
    root = writer.root_files(servers)
    folders: dict[str, dict[str, str]] = {"": root} if root else {}
    for top, text in (("servers", "MCP servers, one package each."), ("tools", "Custom tools, by group.")):
        inside = [server for server in servers if top_of(server) == top]
        folders[top] = {"index.json": _list_of_servers(inside, language), **writer.group_files(text)}
    return folders


def alias_files(server: Server, language: Language) -> dict[str, str]:
    """File name → text, of each folder that leads to a server's."""
    return WRITERS[language].alias_files(server)


def catalog_hash(server: Server) -> str:
    """One hash over everything that the files of a server were made from."""
    facts = [server.name, server.implementation, server.version, server.protocol_version]
    facts += [part for tool in server.tools for part in (tool.name, tool.digest)]
    facts += [resource.uri for resource in server.resources] + [prompt.name for prompt in server.prompts]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def _list_of_servers(servers: Sequence[Server], language: Language) -> str:
    rows = [
        {
            "name": server.name,
            "folder": folder_of(server, language).partition("/")[2],
            "tools": server.tool_count,
            "about": about(server),
        }
        for server in servers
    ]
    return _json_rows({"total_tools": sum(server.tool_count for server in servers)}, "servers", rows)


def _server_index(server: Server, signatures: Sequence[Signature], language: Language) -> str:
    head: Json = {"server": server.name, "about": about(server)}
    head["import"] = LANGUAGES[language].imported(folder_of(server, language), "NAME")
    if server.resources:
        head["resources"] = len(server.resources)
    if server.prompts:
        head["prompts"] = len(server.prompts)
    return _json_rows(head, "tools", [_tool_row(signature, language) for signature in signatures])


def _tool_row(signature: Signature, language: Language) -> Json:
    name = LANGUAGES[language].spelled(signature.spelling)
    row: Json = {"name": name, "file": file_of(signature.spelling, language)}
    if signature.name != name:
        row["tool"] = signature.name
    row["summary"] = summary(signature.text)
    if signature.read_only:
        row["read_only"] = True
    if signature.destructive:
        row["destructive"] = True
    return row


def _json_rows(head: Json, key: str, rows: Sequence[Json]) -> str:
    """JSON with a line for each row, so that `grep` finds whole entries."""
    start = "".join(f"{_json(name)}: {_json(value)},\n" for name, value in head.items())
    body = ",\n".join(map(_json, rows))
    return f"{{{start}{_json(key)}: [\n{body}\n]}}\n" if rows else f"{{{start}{_json(key)}: []}}\n"


def _json(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return json.dumps(value) if has_unseen(text) else text
