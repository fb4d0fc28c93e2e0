"""The settings of flows: which data may go where. The dataclasses are the schema."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from satchel.config.agents import check_pattern
from satchel.config.reader import Key, Locate
from satchel.errors import ConfigError
from satchel.model import PRIVATE, SENSITIVE, UNTRUSTED

LABELS = (UNTRUSTED, SENSITIVE, PRIVATE)
"""What is said of data that was read."""
WRITES, EGRESS = EFFECTS = ("writes", "egress")
"""What a call may do."""
Then = Literal["allow", "ask", "deny"]
_WORDS = {"from": LABELS, "to": (*EFFECTS, *LABELS)}
_KINDS = {"from": "label", "to": "effect or label"}
_ALIKE = 0.85  # of 1: a slip, and not the name of a server such as `drive`
_LISTS = ("sensitive", "private", "egress")


@dataclass(frozen=True, kw_only=True)
class FlowRule:
    """What happens to a call that fits `to` once something that fits `from` has been read."""

    sources: tuple[str, ...] = field(metadata={"key": "from", "one": True})
    sinks: tuple[str, ...] = field(metadata={"key": "to", "one": True})
    then: Then
    same_server: bool = False  # it counts between two parts of one server, too

    def __str__(self) -> str:
        return f"{', '.join(self.sources)} -> {', '.join(self.sinks)}: {self.then}"


@dataclass(frozen=True, kw_only=True)
class FlowsSettings:
    """Rules about data between servers."""

    rules: tuple[FlowRule, ...] = ()
    sensitive: tuple[str, ...] = ()  # servers and tools whose content is confidential
    private: tuple[str, ...] = ()  # those whose content is personal data
    egress: tuple[str, ...] = ()  # those that send data outside, even if they only read
    files: Literal["track", "ignore"] = "track"  # what programs leave in files for later ones


def patterns_of_flows(flows: FlowsSettings) -> Iterator[tuple[str, str]]:
    """Every pattern of servers or tools, with the setting that it is in."""
    for name in _LISTS:
        yield from ((f"flows.{name}", pattern) for pattern in getattr(flows, name))
    for number, rule in enumerate(flows.rules):
        for side, terms in (("from", rule.sources), ("to", rule.sinks)):
            for term in terms:
                if term not in _WORDS[side]:
                    yield f"{name_of_rule(number)}.{side}", term


def name_of_rule(number: int) -> str:
    return f"flows.rules[{number}]"


def check_flows(flows: FlowsSettings, locate: Locate) -> None:
    """Refuse patterns that fit nothing, and words that are nearly a label or an effect."""
    for key, pattern in _patterns(flows):
        check_pattern(pattern, key, locate)
    for number, rule in enumerate(flows.rules):
        for side, terms in (("from", rule.sources), ("to", rule.sinks)):
            key: Key = ("flows", "rules", number, side)
            if not terms:
                raise _error(f"'{side}' names nothing", key, locate, _hint(side))
            for term in terms:
                _check_word(term, side, key, locate)


def _patterns(flows: FlowsSettings) -> Iterator[tuple[Key, str]]:
    for name in _LISTS:
        for place, pattern in enumerate(getattr(flows, name)):
            yield ("flows", name, place), pattern
    for number, rule in enumerate(flows.rules):
        for side, terms in (("from", rule.sources), ("to", rule.sinks)):
            for pattern in terms:
                yield ("flows", "rules", number, side), pattern


def _check_word(term: str, side: str, key: Key, locate: Locate) -> None:
    words = _WORDS[side]
    if term in words:
        return
    if term in EFFECTS:
        raise _error(f"'{term}' says what a call may do, and stands in 'to'", key, locate, _hint(side))
    from difflib import get_close_matches  # only where there are rules

    near = get_close_matches(term.casefold(), words, n=1, cutoff=_ALIKE) if term.isalpha() else []
    if near:
        hint = f"did you mean '{near[0]}'? a server of that name is written '{term}.*'"
        raise _error(f"unknown {_KINDS[side]} '{term}'", key, locate, hint)


def _hint(side: str) -> str:
    return f"write one of {', '.join(_WORDS[side])}, a server, or a pattern server.tool"


def _error(message: str, key: Key, locate: Locate, hint: str) -> ConfigError:
    file, line = locate(key)
    return ConfigError(message, file=file, line=line, key=".".join(map(str, key)), hint=hint)
