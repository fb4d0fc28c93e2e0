"""flows list, check and clear."""

import argparse

from satchel.cli import output
from satchel.cli.deciding import decided
from satchel.cli.running import run_with_servers
from satchel.config.control.flows import FlowRule
from satchel.model import Json, Source
from satchel.support.text import label
from satchel.verbs.control.flows import FlowAnswer, NamedRule
from satchel.verbs.satchel import Satchel

_STYLES = {"allow": "green", "ask": "cyan", "deny": "red"}
_MOST_SHOWN = 20  # sources of one place


def list_command(options: argparse.Namespace) -> int:
    async def read(satchel: Satchel) -> tuple[tuple[NamedRule, ...], dict[str, tuple[Source, ...]]]:
        return satchel.flows.rules(), satchel.flows.files(options.agent)

    rules, files = run_with_servers(options, read)
    if options.json:
        output.show_json(
            {
                "rules": [{"name": named.name, **_rule(named.rule)} for named in rules],
                "files": {place: [_source(source) for source in sources] for place, sources in files.items()},
            }
        )
        return 0
    if not rules:
        output.note("satchel.yaml has no rules in flows: data may go anywhere")
        output.note("hint: satchel docs flows has examples")
        return 0
    output.show_table(
        [
            (named.name, ", ".join(named.rule.sources), ", ".join(named.rule.sinks), named.rule.then)
            for named in rules
        ],
        headings=("rule", "from", "to", "then"),
        styles={"then": _STYLES},
    )
    for place, sources in files.items():
        output.show(f"\n{place} of agent {options.agent} may carry what these returned:")
        output.show_table(
            [(label(source.name, 80), ", ".join(sorted(source.labels))) for source in sources[:_MOST_SHOWN]],
            indent="  ",
        )
        if len(sources) > _MOST_SHOWN:
            output.show(f"  and {len(sources) - _MOST_SHOWN} more")
    return 0


def check_command(options: argparse.Namespace) -> int:
    async def read(satchel: Satchel) -> FlowAnswer:
        return satchel.flows.check(options.source, options.sink)

    answer = run_with_servers(options, read)
    if options.json:
        matches = [{"name": match.name, **_rule(match.rule)} for match in answer.matches]
        output.show_json({**{k: v for k, v in vars(answer).items() if k != "matches"}, "matches": matches})
        return 0
    rows = [
        ("from", answer.source, ", ".join(answer.source_labels) or "no label"),
        ("to", answer.sink, ", ".join(answer.sink_words) or "only reads, no label"),
    ]
    output.show_table(rows, indent="  ", whole=True)
    verdict = output.styled(answer.then, _STYLES[answer.then])
    if not answer.matches:
        output.show(f"{verdict}: no rule fits")
        return 0
    first, *others = answer.matches
    output.show(f"{verdict}: {first.name} decides ({first.rule})")
    for other in others:
        output.show(f"  {other.name} fits as well ({other.rule}), and is not stricter")
    return 0


def clear_command(options: argparse.Namespace) -> int:
    async def read(satchel: Satchel) -> dict[str, tuple[Source, ...]]:
        return satchel.flows.files(options.agent)

    files = run_with_servers(options, read)
    if not files:
        output.note(f"nothing is noted of the files of agent '{options.agent}'")
        return 0
    for place, sources in files.items():
        names = ", ".join(label(source.name, 80) for source in sources[:_MOST_SHOWN])
        output.show(f"{place}: {names}" + (" …" if len(sources) > _MOST_SHOWN else ""))
    question = f"Forget that the files of agent '{options.agent}' may hold what these returned?"
    if not decided(question, without="run satchel flows clear at a terminal, or clear the workspace"):
        return 2

    async def clear(satchel: Satchel) -> None:
        satchel.flows.clear(options.agent)

    run_with_servers(options, clear)
    output.note("forgotten: the rules do not count these files any more")
    return 0


def _rule(rule: FlowRule) -> Json:
    return {"from": rule.sources, "to": rule.sinks, "then": rule.then, "same_server": rule.same_server}


def _source(source: Source) -> Json:
    return {"name": source.name, "labels": sorted(source.labels)}
