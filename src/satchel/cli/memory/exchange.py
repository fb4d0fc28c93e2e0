"""memory export, import."""

import argparse
import json
from functools import partial

from satchel.cli import output
from satchel.cli.memory.entries import count_entries, memories_of
from satchel.cli.running import run_async
from satchel.support.files import write_atomically


def export_command(options: argparse.Namespace) -> int:
    exported = run_async(partial(memories_of(options).export, options.agent))
    if options.output is None:
        output.show_json(exported)
        return 0
    text = json.dumps(exported, ensure_ascii=False, indent=2) + "\n"
    write_atomically(options.output, text.encode("utf-8", "replace"))
    output.note(f"wrote {count_entries(len(exported['entries']))} to {output.from_here(options.output)}")
    return 0
