"""Which patterns of the settings are told to fit nothing, and which may be about something after all."""

import pytest

from satchel.calls.patterns import unused_patterns
from satchel.config.agents import AgentSettings
from satchel.config.settings import Settings
from satchel.model import Prompt, Resource, Server
from satchel.names import Spelling
from tests.fakes import make_tool


def server(name: str, *tools: str, listed: bool = True) -> Server:
    found = tuple(make_tool({"name": tool, "inputSchema": {"type": "object"}}, server=name) for tool in tools)
    wire = name.replace("-", "_")
    return Server(
        name=name,
        spelling=Spelling(python=wire, typescript=wire, wire=wire),
        transport="stdio",
        state="listed" if listed else "failed",
        listed_at="2026-11-17T00:00:00Z" if listed else None,
        resources=(Resource(server=name, uri="memo://a", name="a"),) if listed else (),
        prompts=(Prompt(server=name, name="greet"),) if listed else (),
        read_tools=lambda: found,
    )


SERVERS = (server("time", "get_time"), server("admin-panel", "drop"), server("a.b", "c.d"), server("empty"))


def unused(*, allow: tuple[str, ...] = ("*",), deny: tuple[str, ...] = ()) -> list[str]:
    agents = {"default": AgentSettings(allow=allow, deny=deny)}
    return unused_patterns(Settings(agents=agents), (*SERVERS, server("broken", listed=False)))


@pytest.mark.parametrize(
    ("pattern", "meant"),
    [
        ("admn-panel", "admin-panel"),
        ("tme.get_*", "time.get_*"),
        ("time.gt_*", None),
        ("time.prompt:gret", None),
        ("tme.resource:*", "time.resource:*"),
        ("zzzzzz", None),
        ("", None),
    ],
)
def test_a_pattern_of_an_agent_that_fits_nothing_is_told(pattern: str, meant: str | None) -> None:
    hint = f"; did you mean '{meant}'?" if meant else ""
    assert unused(deny=(pattern,)) == [f"agents.default.deny: '{pattern}' fits no tool{hint}"]
    assert unused(allow=(pattern,)) == [f"agents.default.allow: '{pattern}' fits no tool{hint}"]


def test_a_name_on_the_wire_denies_but_does_not_allow() -> None:
    assert unused(deny=("time__get_time",)) == []
    assert unused(allow=("time__get_time",)) == ["agents.default.allow: 'time__get_time' fits no tool"]


@pytest.mark.parametrize(
    "pattern",
    [
        "*",
        "*.delete_*",  # a precaution
        "time",
        "t*",
        "time.*",
        "time.get_*",
        "time.resource:memo://a",
        "time.resource:memo://not-listed",  # templates have addresses without number
        "time.prompt:greet",
        "time.prompt:*",
        "a.b",
        "a.b.c.d",
        "empty",
        "empty.*",
        "broken",
        "broken.anything",  # it could not be listed
        "brok*.any*",
    ],
)
def test_a_pattern_that_is_about_something_or_may_be_is_not_told(pattern: str) -> None:
    assert unused(allow=(pattern,), deny=(pattern,)) == []


def test_what_denies_by_another_reading_of_its_dots_is_used() -> None:
    assert unused(deny=("a.*",)) == []
    assert unused(allow=("a.*",)) != []


def test_tools_in_context_may_be_those_of_a_server_that_could_not_be_listed() -> None:
    patterns = ("broken.echo", "broken", "broken__echo", "time__get_time", "tme__get_time")
    settings = Settings(in_context_tools=patterns, read_only_tools=("nothing.*",))
    assert unused_patterns(settings, (*SERVERS, server("broken", listed=False))) == [
        "in_context_tools: 'tme__get_time' fits no tool",
        "read_only_tools: 'nothing.*' fits no tool",
    ]
