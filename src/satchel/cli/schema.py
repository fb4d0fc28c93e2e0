"""schema: the JSON schemas of both configuration files."""

import argparse

from satchel.cli import output
from satchel.cli.running import paths_of
from satchel.config.schemas import FILES, place_of, schema_of, write_schemas


def schema_command(options: argparse.Namespace) -> int:
    if options.write:
        for file in write_schemas(paths_of(options)):
            output.note(f"wrote {output.from_home(file)}")
        output.note(f'hint: in extensions_config.json, "$schema": "{place_of("extensions")}"')
        output.note(f"hint: first in satchel.yaml, # yaml-language-server: $schema={place_of('satchel')}")
    elif options.file:
        output.show_json(schema_of(options.file))
    else:
        output.show_json({file: schema_of(name) for name, file in FILES.items()})
    return 0
