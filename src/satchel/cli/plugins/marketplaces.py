"""plugins marketplace add, list, refresh, remove."""

import argparse
from pathlib import Path

from satchel.cli import output
from satchel.cli.plugins.sources import sources_of
from satchel.model import Json
from satchel.names import count
from satchel.verbs.plugins.installing import Shelf


def add_command(options: argparse.Namespace) -> int:
    shelf = sources_of(options).add_marketplace(options.source, options.ref)
    if options.json:
        output.show_json(_as_json(shelf))
        return 0
    output.show(f"{shelf.list.name}  {count(len(shelf.list.offers), 'plugin')}")
    _note_remarks(shelf)
    output.note(f"hint: satchel plugins search lists them; satchel plugins install NAME@{shelf.list.name}")
    return 0


def list_command(options: argparse.Namespace) -> int:
    shelves = sources_of(options).marketplaces.shelves()
    if options.json:
        output.show_json({"marketplaces": [_as_json(shelf) for shelf in shelves]})
        return 0
    output.show_table(
        [(shelf.known.name, _plugins(shelf), str(shelf.known)) for shelf in shelves],
        headings=("marketplace", "plugins", "from"),
    )
    for shelf in shelves:
        if shelf.list.error is not None:
            output.note(f"{shelf.known.name}: {shelf.list.error}")
        _note_remarks(shelf)
    if not shelves:
        output.note("no marketplaces")
        output.note("hint: satchel plugins marketplace add FOLDER adds a list of plugins")
    return 0


def refresh_command(options: argparse.Namespace) -> int:
    marketplaces = sources_of(options).marketplaces
    for name in options.name or list(marketplaces.known()):
        before, now = marketplaces.refresh(name)
        old, new = ({offer.name for offer in shelf.list.offers} for shelf in (before, now))
        changes = [*(f"+ {each}" for each in sorted(new - old)), *(f"- {each}" for each in sorted(old - new))]
        told = ", ".join(changes[:20]) if changes else "the same plugins"
        output.note(f"{name}: {count(len(new), 'plugin')}; {told}")
    return 0


def remove_command(options: argparse.Namespace) -> int:
    sources_of(options).marketplaces.remove(options.name)
    output.note(f"removed {options.name}; plugins that were installed from it stay")
    return 0


def _plugins(shelf: Shelf) -> str:
    return "error" if shelf.list.error is not None else str(len(shelf.list.offers))


def _note_remarks(shelf: Shelf) -> None:
    for remark in shelf.list.remarks[:20]:
        output.note(f"{shelf.list.name}: {remark}")


def _as_json(shelf: Shelf) -> Json:
    known = shelf.known
    return {
        "name": shelf.list.name,
        "path": str(Path(known.path)) if known.path else None,
        "url": known.url or None,
        "ref": known.ref,
        "commit": known.commit,
        "error": shelf.list.error,
        "plugins": [offer.name for offer in shelf.list.offers],
        "remarks": list(map(str, shelf.list.remarks)),
    }
