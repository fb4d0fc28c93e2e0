"""plugins search, install, update."""

import argparse

from satchel.cli import output
from satchel.cli.deciding import decided
from satchel.cli.installing import finding_line
from satchel.cli.plugins.kept import as_json, library_of, show_needs, show_parts
from satchel.errors import SatchelError
from satchel.names import count
from satchel.verbs.plugins.installing import Offer, PluginSources, Proposal

_WITHOUT = "--yes decides without asking"
_MOST_FINDINGS = 20
_MOST_FILES = 20


def search_command(options: argparse.Namespace) -> int:
    sources = sources_of(options)
    offers = sources.offers(" ".join(options.query), limit=options.limit)
    if options.json:
        rows = [
            {
                "name": offer.identity,
                "version": offer.version,
                "description": offer.description,
                "source": str(offer.source),
                "pin": offer.source.sha or offer.source.ref,
                "command": sources.command_for(offer) or None,
                "problem": offer.source.problem or None,
            }
            for offer in offers
        ]
        output.show_json({"plugins": rows})
        return 0
    output.show_table(
        [
            (offer.identity, offer.version, _pin(offer), offer.source.problem or offer.description)
            for offer in offers
        ],
        headings=("plugin", "version", "pin", "about"),
        optional=("version", "pin"),
    )
    away = next((offer for offer in offers if offer.source.url), None)
    if away is not None:
        output.note(f"hint: satchel plugins show {away.identity} shows its repository, and how to get it")
    if not offers:
        output.note("no plugin fits" if sources.marketplaces.known() else "there are no marketplaces yet")
        output.note("hint: satchel plugins marketplace add FOLDER adds a list of plugins")
    return 0


def _pin(offer: Offer) -> str:
    return (offer.source.sha or offer.source.ref or "")[:12]


def install_command(options: argparse.Namespace) -> int:
    sources = sources_of(options)
    with sources.proposed(
        options.source, reference=options.ref, folder=options.path, accept=options.accept
    ) as proposal:
        _show_proposal(proposal)
        if not _is_acceptable(proposal):
            return 2
        question = f"Install {proposal.new.plugin.name}?"
        if not options.yes and not decided(question, without=_WITHOUT):
            return 2
        plugin = proposal.go_on()
    if options.json:
        output.show_json(as_json(plugin, library_of(options).info(plugin.name)))
        return 0
    output.show(f"{plugin.name}  {output.from_here(plugin.folder)}")
    _note_waiting(options, plugin.name)
    if plugin.skills or plugin.commands:
        output.note("hint: satchel commands list shows what can be typed")
    return 0


def update_command(options: argparse.Namespace) -> int:
    library, failed = library_of(options), 0
    names = options.name or [
        plugin.name for plugin in library.plugins() if library.info(plugin.name).installed is not None
    ]
    if not names:
        output.note("no plugin was installed by Satchel on this machine")
    for name in names:
        try:
            failed += not _update(options, name)
        except SatchelError as error:
            if len(names) == 1:
                raise
            output.show_error(error)
            failed += 1
    return 2 if failed else 0


def _update(options: argparse.Namespace, name: str) -> bool:
    """Whether a plugin is up to date now."""
    with sources_of(options).updated(name, accept=options.accept) as proposal:
        if proposal.is_same:
            output.note(f"{name} is up to date")
            return True
        _show_changes(proposal)
        if proposal.changed_here and not options.force:
            output.note(f"{name} was changed here, and an update would overwrite that")
            output.note("hint: --force overwrites it")
            return False
        if not _is_acceptable(proposal):
            return False
        if not options.yes and _asks(proposal) and not decided(f"Update {name}?", without=_WITHOUT):
            return False
        proposal.go_on()
    output.note(f"updated {name}")
    _note_waiting(options, name)
    return True


def _asks(proposal: Proposal) -> bool:
    """Show what of an update needs a person's decision, and whether anything does."""
    show_needs(proposal.news, "new: ")
    show_needs(proposal.again, "with other files: ")
    if proposal.moved_from:
        output.note(f"  it was installed from {proposal.moved_from}, and its files come from elsewhere now")
    return bool(proposal.news or proposal.again or proposal.moved_from)


def _show_proposal(proposal: Proposal) -> None:
    plugin = proposal.new.plugin
    version = f" {plugin.version}" if plugin.version else ""
    output.note(output.styled(plugin.name, "bold") + f"{version}, from {proposal.new.origin}")
    if not plugin.name.isascii():
        output.note(f"its name has letters other than a to z: {plugin.name!a}")
    if plugin.description:
        output.note(output.first_line(plugin.description, 300))
    show_parts(plugin, proposal.servers, proposed=True)
    if not proposal.new.has_parts:
        output.note("it has no skill, command or server that Satchel can use")
    for path in proposal.new.left_out[:_MOST_FINDINGS]:
        output.note(f"{path}: a link that leads out of it or nowhere was left out")
    _show_findings(proposal)


def _show_changes(proposal: Proposal) -> None:
    before, now = proposal.before, proposal.new.plugin
    assert before is not None
    output.note(f"{now.name}: {before.version or '?'} → {now.version or '?'}, from {proposal.new.origin}")
    for what, old, new in (
        ("skill", [f.name for f in before.skills], [f.name for f in now.skills]),
        ("command", [c.name for c in before.commands], [c.name for c in now.commands]),
        ("server", [s.name for s in before.servers], [s.name for s in now.servers]),
    ):
        for name in sorted({*new} - {*old}):
            output.note(f"  + {what} {name}")
        for name in sorted({*old} - {*new}):
            output.note(f"  - {what} {name}")
    changed = proposal.changed_files
    for sign, file in changed[:_MOST_FILES]:
        output.note(f"  {sign} {file}")
    if len(changed) > _MOST_FILES:
        output.note(f"  and {count(len(changed) - _MOST_FILES, 'more file')}")
    _show_findings(proposal)


def _show_findings(proposal: Proposal) -> None:
    findings = proposal.new.findings
    for finding in findings[:_MOST_FINDINGS]:
        output.note(finding_line(finding))
    if len(findings) > _MOST_FINDINGS:
        output.note(f"and {count(len(findings) - _MOST_FINDINGS, 'more finding')}")


def _is_acceptable(proposal: Proposal) -> bool:
    blocking = proposal.blocking
    if not blocking:
        return True
    import shlex  # only where something was found

    names = sorted({finding.accept for finding in blocking})
    options = " ".join(f"--accept {shlex.quote(name)}" for name in names[:10])
    output.note(f"not installed, because of {count(len(blocking), 'critical finding')}")
    output.note(f"hint: read them first; {options} accepts them")
    return False


def _note_waiting(options: argparse.Namespace, name: str) -> None:
    waiting = library_of(options).waiting(name)
    if waiting:
        servers = ", ".join(dict.fromkeys(need.server for need in waiting))
        output.note(f"not used until you approve what it starts and reads: {servers}")
        output.note(f"hint: satchel plugins approve {name}")


def sources_of(options: argparse.Namespace) -> PluginSources:
    return PluginSources(library=library_of(options))
