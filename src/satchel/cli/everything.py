"""search --in: tools, skills and memory in one search."""

import argparse

from satchel.cli import output
from satchel.cli.running import catalog_with_new_servers, run_with_servers
from satchel.errors import ArgumentError
from satchel.model import Json
from satchel.verbs.satchel import Satchel

KINDS = {"tools": "tool", "skills": "skill", "memory": "memory"}


def search_everything(options: argparse.Namespace) -> int:
    for word in options.kinds:
        if word not in KINDS:
            raise ArgumentError(f"--in does not know '{word}'", hint=f"any of {', '.join(KINDS)}")
    query = " ".join(options.query)
    if not query.strip():
        raise ArgumentError(
            "--in needs a query", hint=f"satchel search --in {','.join(KINDS)} quarterly report"
        )
    if options.server or options.offset or options.detail != "desc":
        raise ArgumentError(
            "--server, --detail and --offset are for searches of tools alone", hint="leave out --in"
        )
    if "tools" in options.kinds:
        catalog_with_new_servers(options)
    kinds = {KINDS[word] for word in options.kinds}

    async def search(satchel: Satchel) -> list[Json]:
        return satchel.tools.search_everything(query, options.limit, agent=options.agent, kinds=kinds)

    found = run_with_servers(options, search)
    if options.json:
        output.show_json({"query": query, "found": found})
    elif found:
        rows = [(row["kind"], _place(row), output.first_line(row["text"])) for row in found]
        output.show_table(rows, headings=("kind", "path", "about"), whole=True)
    else:
        output.note("nothing fits; say it in other words, or search more kinds with --in")
    return 0


def _place(row: Json) -> str:
    waits = " (waits for review)" if row.get("waiting") else ""
    return (f"{row['path']}:{row['line']}" if "line" in row else row["path"]) + waits
