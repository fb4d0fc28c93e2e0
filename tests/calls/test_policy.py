"""Which tools an agent may call: patterns, what wins, and that a refusal reaches nobody but the journal."""

import string

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from satchel.calls.policy import check_policy, is_allowed
from satchel.config.agents import AgentSettings
from satchel.errors import NotAllowedError
from satchel.model import Call, Caller
from tests.fakes import FakeRules, FakeServer, make_tool

PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
# Names as servers give them: anything but a dot in a server's, anything in a tool's.
SERVERS = st.text(st.characters(exclude_characters=".*?", exclude_categories=("Cs",)), min_size=1, max_size=8)
TOOLS = st.text(st.characters(exclude_characters="*?", exclude_categories=("Cs",)), min_size=1, max_size=8)
PATTERNS = st.text(string.ascii_lowercase[:3] + ".*?[]^$+\\", max_size=8)
NAMES = st.text(string.ascii_lowercase[:3] + "._\n", min_size=1, max_size=10)


def allowed(tool: str, *patterns: str, deny: tuple[str, ...] = ()) -> bool:
    """`tool` is `server.tool`, of a server without a dot in its name."""
    return is_allowed(AgentSettings(allow=patterns, deny=deny), *tool.split(".", 1))


@pytest.mark.parametrize(
    ("pattern", "tools", "others"),
    [
        ("*", ["drive.get", "x.y", "a.b.c"], []),
        (
            "drive",
            ["drive.get", "drive.put", "drive.a.b"],
            ["drives.get", "mydrive.get", "Drive.get", "x.drive"],
        ),
        ("drive.get", ["drive.get"], ["drive.get_all", "drive.Get", "drive.ge", "xdrive.get", "drive_.get"]),
        ("drive.get*", ["drive.get", "drive.get_all"], ["drive.forget", "drive.put", "drive2.get"]),
        ("*.get", ["drive.get", "mail.get"], ["drive.get_all", "x.forget"]),
        ("*.get*", ["drive.get", "drive.get_all"], ["drive.forget"]),
        ("drive.?et", ["drive.get", "drive.set"], ["drive.et", "drive.reset"]),
        ("drive-*", ["drive-a.get", "drive-b.c"], ["drive.get"]),
        ("memos.resource:*", ["memos.resource:memo://text"], ["memos.prompt:greet", "memos.get"]),
        ("", [], ["drive.get"]),
    ],
)
def test_a_pattern_is_a_server_or_a_tool_with_blanks(
    pattern: str, tools: list[str], others: list[str]
) -> None:
    assert [tool for tool in (*tools, *others) if allowed(tool, pattern)] == tools


def test_characters_that_mean_something_elsewhere_are_only_themselves_here() -> None:
    assert not allowed("drive.gat", "drive.g[ae]t")
    assert allowed("drive.g[ae]t", "drive.g[ae]t")
    assert not allowed("drivex.get", "drive.get")
    assert not allowed("drive.gett", "drive.get+")
    assert not allowed("drive.get", "(drive|mail).get")
    assert not allowed("drive.get", "^drive.get$")


def test_a_pattern_fits_a_whole_name_of_several_lines_or_not_at_all() -> None:
    assert not allowed("drive.get\n", "drive.get")
    assert not allowed("drive.get\nmail.send", "drive.get")
    assert not allowed("x\ndrive.get", "drive.get")
    assert allowed("drive.get\nmore", "drive.*")
    assert not allowed("mail.send", "*", deny=("*.send",))
    assert not allowed("mail.a\nsend", "*", deny=("mail.*",))


def test_names_that_look_alike_are_not_the_same() -> None:
    for look_alike in ("drivе.get", "ｄrive.get", "drive\u200b.get", "DRIVE.GET", "ﬁle.get"):
        assert not allowed(look_alike, "drive.get", "drive", "file")
        assert allowed(look_alike, "*", deny=("drive", "drive.get", "file")), look_alike
    for look_alike in ("drive.gеt", "drive.get\u200b", "drive.gét", "drive.GET"):
        assert not allowed(look_alike, "drive.get")


def test_what_is_denied_is_denied_whatever_is_allowed() -> None:
    assert not allowed("drive.get", "*", "drive", "drive.get", deny=("drive.get",))
    assert not allowed("drive.get", "drive.get", deny=("*",))
    assert not allowed("drive.get", "drive.get", deny=("drive",))
    assert allowed("drive.get", "*", deny=("drive.put", "mail"))


def test_an_agent_without_settings_may_call_everything_and_one_that_is_allowed_nothing_nothing() -> None:
    assert is_allowed(AgentSettings(), "drive", "get")
    assert not is_allowed(AgentSettings(allow=()), "drive", "get")


@PATIENT
@given(server=SERVERS, tool=TOOLS)
def test_a_name_without_blanks_fits_itself_and_so_does_its_server(server: str, tool: str) -> None:
    name = f"{server}.{tool}"
    assert allowed(name, name)
    assert allowed(name, server)
    assert allowed(name, "*")
    assert not allowed(name, "*", deny=(server,))


@PATIENT
@given(server=SERVERS, tool=TOOLS, other=SERVERS)
def test_a_server_never_stands_for_another(server: str, tool: str, other: str) -> None:
    assert allowed(f"{server}.{tool}", other) is (server == other)


@PATIENT
@given(
    server=NAMES,
    tool=NAMES,
    allow=st.lists(PATTERNS, max_size=3),
    deny=st.lists(PATTERNS, max_size=3),
    more=PATTERNS,
)
def test_more_denied_never_means_more_allowed_and_more_allowed_never_less(
    server: str, tool: str, allow: list[str], deny: list[str], more: str
) -> None:
    def may(allow: list[str], deny: list[str]) -> bool:
        return is_allowed(AgentSettings(allow=tuple(allow), deny=tuple(deny)), server, tool)

    assert may(allow, [*deny, more]) <= may(allow, deny) <= may([*allow, more], deny)


@PATIENT
@given(server=NAMES.map(lambda name: name.replace(".", "")), tool=NAMES, pattern=PATTERNS)
def test_patterns_mean_what_matching_by_hand_says(server: str, tool: str, pattern: str) -> None:
    left, dot, right = pattern.partition(".")
    by_hand = fits(left, server) and (fits(right, tool) or not dot)
    assert is_allowed(AgentSettings(allow=(pattern,)), server, tool) is by_hand


def fits(pattern: str, name: str) -> bool:
    """`*` and `?` by plain recursion."""
    if not pattern:
        return not name
    if pattern[0] == "*":
        return fits(pattern[1:], name) or (bool(name) and fits(pattern, name[1:]))
    return bool(name) and pattern[0] in ("?", name[0]) and fits(pattern[1:], name[1:])


@pytest.mark.anyio
async def test_a_refused_call_is_noted_and_goes_no_further() -> None:
    server = FakeServer()
    noted: list[Call] = []
    agents = {"reader": AgentSettings(deny=("drive.put",)), "writer": AgentSettings()}
    check = check_policy(FakeRules(agents), noted.append)(server.send)
    put = make_tool({"name": "put"}, server="drive")
    with pytest.raises(NotAllowedError, match=r"^agent 'reader' may not call 'drive\.put'$") as caught:
        await check(Call(what=put, caller=Caller(agent="reader")))
    assert caught.value.hint == "agents.reader in satchel.yaml says what it may call"
    assert server.calls == []
    assert [call.what for call in noted] == [put]
    assert await check(Call(what=put, caller=Caller(agent="writer"))) is server.result
    assert len(noted) == 1


def test_a_server_whose_name_has_a_dot_is_not_taken_for_a_tool_of_another() -> None:
    def may(*patterns: str, server: str = "drive.admin", tool: str = "wipe") -> bool:
        return is_allowed(AgentSettings(allow=patterns), server, tool)

    assert not any(may(pattern) for pattern in ("drive", "drive.*", "drive.admin*"))
    assert all(
        may(pattern) for pattern in ("*", "drive.admin", "drive.admin.*", "drive.admin.wipe", "*.wipe")
    )
    assert may("drive.admin.wipe", server="drive", tool="admin.wipe")
    assert not is_allowed(AgentSettings(deny=("drive.admin",)), "drive.admin", "wipe")


@pytest.mark.parametrize(
    ("pattern", "server", "tool"),
    [
        ("io.github.*", "io.github.foo", "x"),
        ("google.*", "google.drive", "get"),
        ("*.eu", "prod.eu", "wipe"),
        ("prod.eu", "prod.eu", "wipe"),
        ("prod.eu.w*", "prod.eu", "wipe"),
    ],
)
def test_of_the_readings_of_a_pattern_any_will_do_to_deny(pattern: str, server: str, tool: str) -> None:
    assert not is_allowed(AgentSettings(deny=(pattern,)), server, tool)


@pytest.mark.parametrize(
    "pattern",
    [
        "plugin:sales:slack",
        "plugin:sales:slack.post",
        "mcp__plugin_sales_slack",
        "mcp__plugin_sales_slack__post",
        "mcp__plugin_sales_*__post",
        "mcp__sales:slack__post",
        "sales:slack__post",
    ],
)
def test_to_deny_the_names_that_claude_code_gives_do_too(pattern: str) -> None:
    agent = AgentSettings(deny=(pattern,))
    assert not is_allowed(agent, "sales:slack", "post")
    assert not is_allowed(agent, "support:chat", "post", ["sales:slack"])
    assert is_allowed(agent, "other:slack", "post")
    assert is_allowed(agent, "slack", "post")


def test_no_pattern_takes_long_for_any_name() -> None:
    name = "/" * 50_000
    assert not is_allowed(AgentSettings(allow=("res.resource:*/*/*.md",)), "res", f"resource:{name}")
