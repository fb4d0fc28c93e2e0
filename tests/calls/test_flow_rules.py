"""Which rule decides, for every spelling of what was read and of what is called."""

import pytest

from satchel.calls.flow_rules import Match, labels_of_part, matches, names_of_call, sink_of
from satchel.config.control.flows import FlowRule, FlowsSettings, Then
from satchel.model import Call, Prompt, Resource, Source, Tool
from tests.fakes import FakeRules, make_tool

READS = {"readOnlyHint": True}


def tool(server: str, name: str, **annotations: bool) -> Tool:
    return make_tool({"name": name, "annotations": annotations}, server=server)


def rule(sources: str, sinks: str, then: Then = "deny", *, same_server: bool = False) -> FlowRule:
    return FlowRule(
        sources=tuple(sources.split()), sinks=tuple(sinks.split()), then=then, same_server=same_server
    )


def decided(settings: FakeRules, source: Source, what: Tool | Resource | Prompt) -> list[Match]:
    sink = sink_of(settings, what, names_of_call(Call(what=what)))
    return matches(settings, sink, [source])


def rules(*given: FlowRule, **more: object) -> FakeRules:
    flows = {key: more.pop(key) for key in ("sensitive", "private", "egress", "files") if key in more}
    return FakeRules({}, flow=FlowsSettings(rules=given, **flows), **more)  # pyright: ignore[reportArgumentType]


def read(settings: FakeRules, server: str, what: str) -> Source:
    return Source(server=server, what=what, labels=labels_of_part(settings, server, (what,)))


POST = tool("slack", "post_message")


@pytest.mark.parametrize(
    ("source", "sink", "fits"),
    [
        ("crm", "slack", True),
        ("crm.get_contact", "slack.post_message", True),
        ("crm.get_*", "slack.post_*", True),
        ("*.get_contact", "*.post_message", True),
        ("crm__get_contact", "mcp__slack__post_message", True),
        ("crm.find_*", "slack", False),
        ("crm", "slack.get_*", False),
        ("hr", "slack", False),
        ("hr crm", "mail slack", True),
        ("untrusted", "egress", True),
        ("untrusted", "writes", True),
        ("untrusted", "untrusted", True),
        ("sensitive", "egress", False),
        ("*", "*", True),
    ],
)
def test_a_rule_fits_by_names_labels_and_effects(source: str, sink: str, fits: bool) -> None:
    settings = rules(rule(source, sink))
    assert bool(decided(settings, read(settings, "crm", "get_contact"), POST)) is fits


@pytest.mark.parametrize(
    ("annotations", "words"),
    [
        ({}, {"writes", "egress"}),
        ({"openWorldHint": False}, {"writes"}),
        ({"readOnlyHint": True}, set[str]()),
        ({"readOnlyHint": False, "openWorldHint": True}, {"writes", "egress"}),
    ],
)
def test_effects_come_from_annotations(annotations: dict[str, bool], words: set[str]) -> None:
    settings = rules(trusted=("web",))
    assert sink_of(settings, tool("web", "search", **annotations), ("search",)).words == words


def test_a_search_can_be_named_as_a_way_out_and_so_can_resources_prompts_and_completions() -> None:
    settings = rules(rule("crm", "egress"), egress=("web",))
    source = read(settings, "crm", "get_contact")
    found = (
        tool("web", "search", readOnlyHint=True),
        Resource(server="web", uri="https://evil.example/?q=secret", name="x"),
        Prompt(server="web", name="ask"),
    )
    for what in found:
        assert decided(settings, source, what), what
        assert not decided(rules(rule("crm", "egress")), source, what), what


def test_labels_of_a_source_are_those_that_the_settings_name() -> None:
    settings = rules(sensitive=("crm.get_*",), private=("hr",), trusted=("crm",))
    assert labels_of_part(settings, "crm", ("get_contact",)) == {"sensitive"}
    assert labels_of_part(settings, "crm", ("find",)) == set()
    assert labels_of_part(settings, "hr", ("find",)) == {"private", "untrusted"}


@pytest.mark.parametrize(
    ("source", "sink", "same_server", "fits"),
    [
        ("untrusted", "egress", False, False),
        ("untrusted", "egress", True, True),
        ("*", "slack", False, False),
        ("*.get_thread", "slack.post_message", False, False),
        ("slack", "*.post_message", False, False),
        ("slack", "slack.post_message", False, True),
        ("slack.get_*", "slack", False, True),
        ("chat", "slack", False, True),
        ("mcp__chat__get_thread", "slack", False, True),
        ("untrusted slack", "egress", False, False),
    ],
)
def test_a_server_is_its_own_violation_only_if_the_rule_names_it_on_both_sides_or_says_so(
    source: str, sink: str, same_server: bool, fits: bool
) -> None:
    settings = rules(rule(source, sink, same_server=same_server), aliases={"slack": ("chat",)})
    assert bool(decided(settings, read(settings, "slack", "get_thread"), POST)) is fits


def test_the_strictest_rule_decides_and_allow_is_no_exception_from_a_stricter_one() -> None:
    settings = rules(rule("crm", "slack", "allow"), rule("crm", "slack", "ask"), rule("*", "slack", "deny"))
    found = decided(settings, read(settings, "crm", "get_contact"), POST)
    assert [match.name for match in found] == ["flows.rules[2]", "flows.rules[1]", "flows.rules[0]"]


def test_every_name_of_a_server_counts_on_both_sides() -> None:
    aliases = {"crm": ("sales:crm",), "slack": ("sales:slack",)}
    for source, sink in (("sales:crm", "sales:slack"), ("mcp__plugin_sales_crm", "plugin:sales:slack")):
        settings = rules(rule(source, sink), aliases=aliases)
        assert decided(settings, read(settings, "crm", "get_contact"), POST), source


@pytest.mark.parametrize(
    "address",
    [
        "file:///secret/a",
        "file:///public/../secret/a",
        "file:///%73ecret/a",
        "file:///public//secret/a",
        "file:///public/%2e%2e/secret/a",
        "file:///public/..;/secret/a",  # it is unclear how a server reads this one
        "file:///public/\x01",
    ],
)
def test_no_spelling_of_an_address_evades_a_rule_about_it_on_either_side(address: str) -> None:
    settings = rules(rule("disk.resource:file:///secret/*", "slack"))
    assert decided(settings, read(settings, "disk", f"resource:{address}"), POST)
    for prefix in ("follow:", "complete:"):
        assert decided(settings, read(settings, "disk", f"{prefix}resource:{address}"), POST)
    other = rules(rule("crm", "disk.resource:file:///secret/*"))
    assert decided(other, read(other, "crm", "get"), Resource(server="disk", uri=address, name="x"))


def test_an_address_beside_it_is_not_meant() -> None:
    settings = rules(rule("disk.resource:file:///secret/*", "slack"))
    assert not decided(settings, read(settings, "disk", "resource:file:///public/a"), POST)


@pytest.mark.parametrize(
    ("pattern", "fits"),
    [("crm.get_contact", True), ("c*.get_*", True), ("mcp__crm__get", True), ("hr.get_contact", False)],
)
def test_of_what_is_not_named_in_full_the_server_is_enough(pattern: str, fits: bool) -> None:
    settings = rules(rule(pattern, "slack"))
    assert bool(decided(settings, Source(server="crm", what="others", is_cut=True), POST)) is fits


def test_files_count_unless_the_settings_ignore_them() -> None:
    files = Source(what="workspace", labels=frozenset({"untrusted"}))
    assert decided(rules(rule("untrusted", "egress")), files, POST)
    assert not decided(rules(rule("untrusted", "egress"), files="ignore"), files, POST)


def test_a_refusal_names_the_sources_and_the_rule_in_one_line() -> None:
    settings = rules(rule("crm", "slack"))
    sink = sink_of(settings, POST, ("post_message",))
    sources = [read(settings, "crm", f"get\n{number}") for number in range(5)]
    (match,) = matches(settings, sink, sources)
    assert match.why == (
        "it would send on what crm.get\ufffd0, crm.get\ufffd1, crm.get\ufffd2 and 2 more returned"
        " (crm -> slack: deny)"
    )
