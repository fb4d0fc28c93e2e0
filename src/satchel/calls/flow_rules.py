"""Which rule of `flows` decides what happens to a call after something was read. Pure functions, no link.

A source fits `from` by its label or its name, a call fits `to` by its effect, its label or its name. Names
are read as in `deny`: in doubt, they fit.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from satchel.calls.addresses import readings
from satchel.calls.policy import completed, fits, is_denied, is_read_only
from satchel.config.control.flows import (
    EFFECTS,
    EGRESS,
    LABELS,
    WRITES,
    FlowRule,
    FlowsSettings,
    name_of_rule,
)
from satchel.model import PRIVATE, SENSITIVE, UNTRUSTED, Call, Prompt, Resource, Source, Tool
from satchel.names import claude_names
from satchel.support.text import label

_BEFORE_ADDRESS = ("follow:", "complete:")  # in the names of what was read
_STRICTEST = ("deny", "ask", "allow")
_RESOURCE = "resource:"
_MOST_NAMED = 3
_SHORT = 300  # characters of a name that is remembered
_MOST_SHOWN = 80  # characters of a source's name


class FlowSettings(Protocol):
    """The current settings of flows and servers, from `config/follow.py`."""

    def flows(self) -> FlowsSettings: ...

    def aliases_of(self, server: str) -> Sequence[str]: ...

    def is_trusted(self, server: str) -> bool: ...

    def read_only_tools(self) -> Sequence[str]: ...


@dataclass(frozen=True, kw_only=True)
class Sink:
    """What a call would reach, with its effects and the labels of what is there."""

    server: str
    names: tuple[str, ...]  # the tool; of a resource also the addresses that a completion is about
    aliases: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Match:
    """A rule that fits, and the sources that it fits for."""

    number: int
    rule: FlowRule
    sources: tuple[Source, ...] = ()

    @property
    def name(self) -> str:
        return name_of_rule(self.number)

    @property
    def why(self) -> str:
        """For the person who is asked, and whoever is refused."""
        named = [label(source.name, _MOST_SHOWN) for source in self.sources[:_MOST_NAMED]]
        more = len(self.sources) - len(named)
        read = ", ".join(named) + (f" and {more} more" if more > 0 else "")
        return f"it would send on what {read} returned ({self.rule})"


def labels_of_part(settings: FlowSettings, server: str, names: Iterable[str]) -> frozenset[str]:
    """The labels of what a server returns for one of its parts."""
    flows = settings.flows()
    labels = set[str]() if settings.is_trusted(server) else {UNTRUSTED}
    for word, patterns in ((SENSITIVE, flows.sensitive), (PRIVATE, flows.private)):
        if patterns and _is_about(patterns, server, names, settings.aliases_of(server)):
            labels.add(word)
    return frozenset(labels)


def names_of_call(call: Call) -> tuple[str, ...]:
    return (call.what.label, *completed(call))


def sink_of(settings: FlowSettings, what: Tool | Resource | Prompt, names: Sequence[str]) -> Sink:
    """What a call would reach."""
    server = what.server
    aliases = tuple(dict.fromkeys((*settings.aliases_of(server), *what.aliases)))
    words = set(labels_of_part(settings, server, names))
    if isinstance(what, Tool) and not is_read_only(what, settings.read_only_tools()):
        words.add(WRITES)
        if what.annotations.get("openWorldHint") is not False:
            words.add(EGRESS)
    if _is_about(settings.flows().egress, server, names, aliases):
        words.add(EGRESS)
    return Sink(server=server, names=tuple(names), aliases=aliases, words=frozenset(words))


def fitting(rules: Sequence[FlowRule], sink: Sink) -> list[tuple[int, FlowRule, tuple[str, ...]]]:
    """The rules that are about a call, each with its number and the words of `to` that fit."""
    found = ((number, rule, tuple(_fitting_terms(rule, sink))) for number, rule in enumerate(rules))
    return [(number, rule, terms) for number, rule, terms in found if terms]


def matches(settings: FlowSettings, sink: Sink, sources: Iterable[Source]) -> list[Match]:
    """The rules that fit a call after these reads, strictest first."""
    flows = settings.flows()
    if flows.files == "ignore":
        sources = (source for source in sources if source.server)
    rules = fitting(flows.rules, sink)
    named = {term for _, rule, _ in rules for term in rule.sources}
    read = [(source, {term for term in named if _fits_source(term, source, settings)}) for source in sources]
    found: list[Match] = []
    for number, rule, terms in rules:
        fits_rule = tuple(source for source, fit in read if _counts(rule, terms, source, fit, sink))
        if fits_rule:
            found.append(Match(number=number, rule=rule, sources=fits_rule))
    return sorted(found, key=lambda match: _STRICTEST.index(match.rule.then))


def could_count(rule: FlowRule, terms: Sequence[str], server: str, sink: Sink) -> bool:
    """Whether a rule can be about something that is read from a server while it is about the call."""
    if server != sink.server or rule.same_server:
        return True
    names = (sink.server, *sink.aliases)
    return any(_names(term, names) for term in rule.sources) and any(_names(term, names) for term in terms)


def _counts(rule: FlowRule, terms: Sequence[str], source: Source, fit: Collection[str], sink: Sink) -> bool:
    """Whether a rule applies to a source; `fit` are the words in `from` of any rule that fit it."""
    fitting_sources = [term for term in rule.sources if term in fit]
    if not fitting_sources:
        return False
    if source.server != sink.server or rule.same_server:
        return True
    # A server is never its own violation, unless the rule names it on both sides.
    names = (sink.server, *sink.aliases)
    return any(_names(term, names) for term in fitting_sources) and any(_names(term, names) for term in terms)


def _fits_source(term: str, source: Source, settings: FlowSettings) -> bool:
    if term in LABELS:
        return term in source.labels
    if not source.server:
        return False
    aliases = settings.aliases_of(source.server)
    if source.is_cut and _is_about_server(term, (source.server, *aliases)):
        return True
    names = (source.what, *(source.what.removeprefix(prefix) for prefix in _BEFORE_ADDRESS))
    return _is_about((term,), source.server, dict.fromkeys(names), aliases)


def _fitting_terms(rule: FlowRule, sink: Sink) -> Iterator[str]:
    for term in rule.sinks:
        if term in LABELS or term in EFFECTS:
            if term in sink.words:
                yield term
        elif _is_about((term,), sink.server, sink.names, sink.aliases):
            yield term


def _is_about(patterns: Sequence[str], server: str, names: Iterable[str], aliases: Sequence[str]) -> bool:
    others = tuple(aliases)
    return any(
        (_fits_short if len(name) <= _SHORT else _fits_part)(pattern, server, name, others)
        for name in names
        for pattern in patterns
    )


def _fits_part(pattern: str, server: str, name: str, aliases: tuple[str, ...]) -> bool:
    if is_denied((pattern,), server, name, aliases):
        return True
    is_unclear = name.startswith(_RESOURCE) and readings(name.removeprefix(_RESOURCE)) is None
    return is_unclear and _is_about_server(pattern, (server, *aliases))


_fits_short = lru_cache(maxsize=20_000)(_fits_part)  # every call asks the same of all that was read


def _is_about_server(pattern: str, names: Sequence[str]) -> bool:
    """Whether a pattern can be about any part of a server."""
    spelt = (*names, *(spelling for name in names for spelling in claude_names(name)))
    plain = pattern.removeprefix("mcp__")
    sides = [plain, pattern]
    for separator in (".", "__"):
        sides += [plain[:place] for place in range(len(plain)) if plain.startswith(separator, place)]
        sides += [pattern[:place] for place in range(len(pattern)) if pattern.startswith(separator, place)]
    return any(fits(side, name) for side in sides for name in spelt)


def _names(term: str, names: Sequence[str]) -> bool:
    """Whether a pattern names one of these servers without a blank."""
    spelt = (*names, *(spelling for name in names for spelling in claude_names(name)))
    plain = term.removeprefix("mcp__")
    return any(
        form == name or form.startswith((f"{name}.", f"{name}__")) for form in (term, plain) for name in spelt
    )
