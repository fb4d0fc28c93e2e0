"""privacy test: a file as a model would read it."""

import argparse
import sys
from pathlib import Path

from satchel.cli import output
from satchel.errors import ArgumentError
from satchel.names import count
from satchel.support.installing import how_to_install
from satchel.verbs.privacy.trying import try_detection

_MOST = 64 * 1024 * 1024  # bytes


def test_command(options: argparse.Namespace) -> int:
    trial = try_detection(_read(options.file))
    if options.json:
        found = [{"kind": kind, "values": number} for kind, number in trial.found]
        output.show_json({"text": trial.text, "found": found, "missing": list(trial.missing)})
        return 0
    output.show(output.clean(trial.text).removesuffix("\n"))
    for kind, number in trial.found:
        output.note(f"{kind}: {count(number, 'value')}")
    if not trial.found:
        output.note("nothing was found")
    if trial.missing:
        output.note(f"without {' and '.join(trial.missing)}, fewer phone numbers and national ids are found")
        output.note(f"hint: {how_to_install('privacy')}")
    return 0


def _read(name: str) -> str:
    try:
        if name == "-":
            data = sys.stdin.buffer.read(_MOST + 1)
        else:
            with Path(name).open("rb") as file:
                data = file.read(_MOST + 1)
    except OSError as error:
        raise ArgumentError(f"{name} can't be read: {error.strerror or error}") from error
    if len(data) > _MOST:
        raise ArgumentError(f"{name} is too large: more than {_MOST // 1024 // 1024} MiB")
    return data.decode("utf-8", "replace")
