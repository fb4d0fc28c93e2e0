"""changes: how definitions differ from those that a person accepted, and accepting exactly what was shown."""

import argparse
from collections.abc import Callable
from itertools import groupby

from satchel.cli import output
from satchel.cli.deciding import decided
from satchel.cli.running import paths_of
from satchel.model import Difference, Json
from satchel.names import count
from satchel.support.text import folded
from satchel.verbs.control.differences import lines_of
from satchel.verbs.offline import Catalog, read_catalog

_WIDTH = 74  # columns of a line: one that a terminal breaks could begin like a line of ours
_STYLES = {"+": "green", "-": "red"}


def changes_command(options: argparse.Namespace) -> int:
    catalog = read_catalog(paths_of(options))
    names = [options.server] if isinstance(options.server, str) else list(options.server or ())
    servers = [catalog.snapshot.server(name) for name in names] or list(catalog.snapshot.servers)
    found = [each for server in servers for each in catalog.differences(catalog.entries[server.name])]
    if options.json and not options.accept:
        output.show_json({"changes": [_as_json(each, catalog) for each in found]})
        return 0
    if not found:
        output.note("no definition has changed since it was accepted")
        return 0
    for each in found:
        is_held = each.change.tool in catalog.snapshot.server(each.server).held
        _show(each, output.note if options.json else output.show, is_held=is_held)
    if options.accept:
        return _accept(catalog, found, as_json=options.json)
    output.note(f"{count(len(found), 'definition')} to accept: satchel changes --accept, at a terminal")
    return 0


def _accept(catalog: Catalog, found: list[Difference], *, as_json: bool) -> int:
    """Server by server, and only what was shown: what has changed again since is not accepted."""
    accepted: list[Difference] = []
    for name, group in groupby(found, key=lambda each: each.server):
        shown = list(group)
        question = f"Accept {count(len(shown), 'definition')} of {name} as shown above?"
        if not decided(
            question, without="run satchel changes --accept at one; until then nothing is accepted"
        ):
            continue
        entry = catalog.entries[name]
        catalog.accept_changes(entry, [each.change.after for each in shown])
        left = {each.change.tool for each in catalog.differences(entry)}
        for each in shown:
            if each.change.tool not in left:
                accepted.append(each)
                output.note(f"{name}: accepted '{each.change.tool}' ({each.change.after[:12]})")
        if left:
            output.note(
                f"{name}: {count(len(left), 'definition')} changed again meanwhile; look at them again"
            )
    if as_json:
        rows = [
            {"server": each.server, "tool": each.change.tool, "digest": each.change.after}
            for each in accepted
        ]
        output.show_json({"accepted": rows})
    return 0 if len(accepted) == len(found) else 2


def _show(difference: Difference, show: Callable[[str], None], *, is_held: bool) -> None:
    """Everything that a model or a caller relies on, with what is not seen spelled out."""
    change = difference.change
    what = "is new" if change.is_new else f"has changed ({', '.join(change.fields)})"
    held = "; it can't be called until it is accepted" if is_held else ""
    heading = output.styled(f"{difference.server}.{change.tool}", "bold")
    show(f"{heading} {what} since {change.at[:10]}{held}")
    if difference.before is None and not change.is_new:
        show("  its former definition is not known any more")
    for line in lines_of(difference):
        style = _STYLES.get(line[:1], "dim")
        first, *others = folded(line, _WIDTH)
        show(f"  {output.styled(first, style)}")
        for other in others:
            show(f"  {output.styled(f'| {other}', style)}")
    show(f"  sha256 {change.after}\n")


def _as_json(difference: Difference, catalog: Catalog) -> Json:
    change = difference.change
    return {
        "server": difference.server,
        "tool": change.tool,
        "is_new": change.is_new,
        "held": change.tool in catalog.snapshot.server(difference.server).held,
        "fields": list(change.fields),
        "at": change.at,
        "digest": change.after,
        "before": difference.before,
        "after": difference.after,
    }
