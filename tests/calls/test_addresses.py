"""Addresses in many spellings: however a server reads one, it gets no further than permissions allow."""

import posixpath
import re
from collections.abc import Callable
from urllib.parse import quote, unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from satchel.calls.addresses import readings
from satchel.calls.policy import check_policy, is_allowed
from satchel.config.agents import AgentSettings
from satchel.errors import ArgumentError, NotAllowedError
from satchel.model import Call, Caller, Json, Prompt, Resource
from tests.fakes import FakeRules, FakeServer

PATIENT = settings(deadline=None, max_examples=500)
PUBLIC = AgentSettings(allow=("raw.resource:file:///public/*", "raw.resource:res://public/*"))


def may(address: str, agent: AgentSettings = PUBLIC) -> bool:
    return is_allowed(agent, "raw", f"resource:{address}")


@pytest.mark.parametrize(
    "address",
    [
        "file:///public/../secret/key.txt",
        "file:///public/%2e%2e/secret/key.txt",
        "file:///public/%2E./secret",
        "file:///public/%252e%252e%252fsecret",
        "file:///public/\n/../secret",
        "file:///public/%0a/../secret",
        "file:///public/key.pem%00.txt",
        "file:///public/\x7f",
        "file:///public/..\\secret",
        "file:///public/a\\..\\..\\secret",
        "file:///public/a%5c..%5c..%5csecret",
        "file:///public//../secret",
        "file:///public/a%2fb%2fc/../../../secret",
        "file:///public/a\\b\\c/../../../secret",
        "file:///public/..;/secret",
        "file:///public/..%3b/secret",
        "file:///public/get?path=../secret",
        "file:///public/.. /secret",
        "file:///public/\u2025/secret",
        "file:///public/\uff0e\uff0e/secret",
        "file:///public/\u2025;/secret",
        "file:///public/\u2025 /secret",
        "file:///public/get?path=\u2025/secret",
        "file:///public/..\uff0fsecret",
        "file:///public/%c0%ae%c0%ae/secret",
        "file:///public/%u002e%u002e/secret",
        "file:///public/" + quote(quote(quote(quote(quote(quote("../secret")))))),
        "file:///public/..",
        "res://public/../secret",
        "res://public/a/../../secret",
        "file:///public/\ud800",
        "file:///public//etc/passwd",
        "file:///public///etc/passwd",
        "file:///public/a//etc/passwd",
        "file:///public//public/../etc/passwd",
        "file:///public//",
        "file:///public/a//",
        "file:///public/%2fetc/passwd",
        "file:///public/%252fetc/passwd",
        "file:///public/\\etc/passwd",
        "file:///public/%5c%5chost/share",
        "file:///public/ /etc/passwd",
        "file:///public/;/etc/passwd",
        "file:///public/;a=b/etc/passwd",
        "file:///public/https:///etc/passwd",
        "file:///public/C:/Windows/win.ini",
        "file:///public/c:\\Windows",
        "file:///public/c%3a/Windows",
        "file:///public/" + "a//" * 10,
        "res://public//secret",
    ],
)
def test_no_spelling_of_an_address_outside_passes_a_pattern_with_a_blank(address: str) -> None:
    assert not may(address)
    assert may(address, AgentSettings()), "where all is allowed, there is nothing to get around"
    assert may(address, AgentSettings(allow=("raw",)))
    assert may(address, AgentSettings(allow=("raw.*",)))
    assert may(address, AgentSettings(allow=("raw.resource:*",)))
    assert may(address, AgentSettings(allow=(f"raw.resource:{address}",))), "it was allowed as it is"


@pytest.mark.parametrize(
    "address",
    [
        "file:///public/a",
        "file:///public/a/b.txt?x=1#part",
        "file:///public/a%20b%2Fc",
        "file:///public/a/../b",
        "file:///public/./b",
        "file:///public/a..b/...c/..d",
        "file:///public/100%",
        "file:///public/\u00e9\u2026/\U0001f469\u200d\U0001f52c",
        "file:///public/https://example.com/x",
        "file:///public/a/",
        "file:///public/a;v=1/b",
        "file:///public/get?url=https://example.com//x#//y",
        "file:///public/a:b/c:d",
        "res://public/a",
    ],
)
def test_an_address_inside_is_allowed(address: str) -> None:
    assert may(address)


@pytest.mark.parametrize(
    ("pattern", "address", "outside"),
    [
        ("https://host//x", "https://host//x", "https://host//y"),
        ("https://host//*", "https://host//x", "https://host///x//y"),
        ("https://host/*", "https://host//x", "https://other//x"),
        ("https://host/*", "https://host/a//b", "https://host/../x"),
        ("https://host/public/*", "https://host/public/a/", "https://host/public//secret"),
        ("https://host/web/*", "https://host/web/2020/https://example.com/x", "https://host/web//x"),
        ("https://host/my%20docs//*", "https://host/my%20docs//x", "https://host/my%20docs//a//x"),
        ("s3://bucket//*", "s3://bucket//key", "s3://bucket//a//key"),
        ("file:////srv/*", "file:////srv/a", "file:////srv//etc"),
        ("file:///C:/docs/*", "file:///C:/docs/a", "file:///C:/docs/D:/a"),
    ],
)
def test_an_empty_part_that_the_pattern_has_itself_is_meant(pattern: str, address: str, outside: str) -> None:
    agent = AgentSettings(allow=(f"raw.resource:{pattern}",))
    assert may(address, agent)
    assert not may(outside, agent)


def test_a_pattern_that_is_encoded_itself_allows_what_it_says() -> None:
    agent = AgentSettings(allow=("raw.resource:file:///my%20docs/*", "raw.resource:file:///C:\\docs\\*"))
    assert may("file:///my%20docs/a%20b", agent)
    assert not may("file:///my%20docs/%2e%2e/x", agent)
    assert may("file:///C:\\docs\\a", agent)
    assert not may("file:///C:\\docs\\..\\x", agent)


def test_what_is_denied_is_denied_in_other_spellings_too() -> None:
    agent = AgentSettings(deny=("raw.resource:file:///denied*",))
    for address in (
        "file:///%64enied",
        "file:///x/../denied",
        "file:///x/%252e%252e/denied/y",
        "file:///x//denied/y",
    ):
        assert not may(address, agent)
    assert may("file:///other", agent)


# The principle, against readers that were written apart from it

_PARTS = st.sampled_from(("..", ".", "", "a", "public", "secret", "a..b"))
_ENCODED = st.sampled_from(("", "%2e", "%2E", "%252e", "%25252e"))
_SLASHES = st.sampled_from(("/", "\\", "//", "%2f", "%5c", "%252F"))


@st.composite
def addresses(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(("file:///public/", "res://public/")))
    for _ in range(draw(st.integers(1, 7))):
        dot = draw(_ENCODED)
        part = draw(_PARTS)
        text += (part.replace(".", dot) if dot else part) + draw(_SLASHES)
    return text + draw(st.sampled_from(("", "key.txt", "..")))


def _posix(path: str) -> str:
    return posixpath.normpath("/" + path.lstrip("/"))


def _windows(path: str) -> str:
    return _posix(path.replace("\\", "/"))


def _joined(path: str) -> str:
    """Of a server that joins what follows its folder to it, as Python and others do."""
    return posixpath.normpath(posixpath.join("/", *re.split("(?<=/)", path.lstrip("/"))))


@PATIENT
@given(address=addresses(), rounds=st.integers(0, 5), read=st.sampled_from((_posix, _windows, _joined)))
def test_if_any_reader_ends_up_outside_the_request_is_refused(
    address: str, rounds: int, read: Callable[[str], str]
) -> None:
    text = address
    for _ in range(rounds):
        text = unquote(text)
    path = read(text.partition("://")[2])
    if path != "/public" and not path.startswith("/public/"):
        assert not may(address), (address, path)


@PATIENT
@given(text=st.text(max_size=40))
def test_any_text_is_read_or_said_to_be_unclear(text: str) -> None:
    found = readings(text)
    assert found is None or found
    assert may(f"file:///public/{text}") <= may(f"file:///public/{text}", AgentSettings())


def test_an_encoded_star_in_a_pattern_is_no_blank() -> None:
    agent = AgentSettings(allow=("raw.resource:file:///a%2a/x*",))
    assert may("file:///a%2a/x/../../ab/x1", AgentSettings(allow=("raw.resource:file:///a*/x*",)))
    assert not may("file:///a%2a/x/../../ab/x1", agent)


# In the chain, for whatever is asked of a resource


def _template(value: str, **context: str) -> Call:
    resource = Resource(server="raw", uri="file:///public/{+path}", name="files", template=True)
    asked: Json = {"argument": {"name": "path", "value": value}, "context": {"arguments": context}}
    return Call(what=resource, action="complete", arguments=asked, caller=Caller(agent="public"))


def _resource(address: str, **more: object) -> Call:
    resource = Resource(server="raw", uri=address, name="x")
    return Call(what=resource, caller=Caller(agent="public", **more))  # pyright: ignore[reportArgumentType]


@pytest.mark.anyio
async def test_reading_following_and_completing_are_refused_alike() -> None:
    server = FakeServer()
    noted: list[Call] = []
    check = check_policy(FakeRules({"public": PUBLIC}), noted.append)(server.send)
    outside = "file:///public/%2e%2e/secret"
    skill = ("raw.resource:file:///public/*",)
    refused = [
        _resource(outside),
        Call(what=_resource(outside).what, action="follow", caller=Caller(agent="public")),
        Call(what=_resource(outside).what, action="complete", caller=Caller(agent="public")),
        _template("../secret/"),
        _template("a", path="%2e%2e/"),
        _template("x\n"),
        _template("/etc/passwd"),
        _template("a", path="%2fetc/"),
        _resource(outside, only=skill),
    ]
    for call in refused:
        with pytest.raises(NotAllowedError):
            await check(call)
    assert server.calls == [] and noted == refused
    for call in (_resource("file:///public/a"), _template("a/b"), _template("a/../b"), _template("")):
        await check(call)
    await check(_resource("file:///public/a", only=skill))
    assert len(server.calls) == 5


@pytest.mark.anyio
async def test_what_the_active_skill_allows_has_no_way_around_it_either() -> None:
    server = FakeServer()
    check = check_policy(FakeRules({"public": AgentSettings()}), lambda call: None)(server.send)
    for pattern in ("raw.resource:file:///public/*", "mcp__raw__resource:file:///public/*"):
        await check(_resource("file:///public/a", only=(pattern,)))
        with pytest.raises(NotAllowedError):
            await check(_resource("file:///public/../secret", only=(pattern,)))
    assert len(server.calls) == 2


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["half \ud800 a pair", "x" * 10_001])
async def test_what_no_server_can_be_asked_for_is_refused_as_an_argument(name: str) -> None:
    server = FakeServer()
    noted: list[Call] = []
    check = check_policy(FakeRules({"default": AgentSettings()}), noted.append)(server.send)
    for what in (Resource(server="raw", uri=name, name="x"), Prompt(server="raw", name=name)):
        with pytest.raises(ArgumentError) as caught:
            await check(Call(what=what))
        caught.value.message.encode()
        assert len(caught.value.message) < 500
    assert server.calls == [] and noted == []


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("uri", "value", "others"),
    [
        ("file:///public/{path}", "../" * 20_000, {}),
        ("file:///public/" + "{path}" * 1_000, "../" * 1_000, {}),
        ("file:///public/" + "a/" * 4_000 + "{path}", "", {str(number): "../x" for number in range(300)}),
    ],
    ids=["a long value", "a value in many places", "many values"],
)
async def test_a_completion_is_refused_that_would_take_long_to_check(
    uri: str, value: str, others: dict[str, str]
) -> None:
    server = FakeServer()
    check = check_policy(FakeRules({"all": AgentSettings(allow=("*",))}), lambda call: None)(server.send)
    asked = {"argument": {"name": "path", "value": value}, "context": {"arguments": others}}
    template = Resource(server="raw", uri=uri, name="t", template=True)
    with pytest.raises(ArgumentError, match="too many or too long"):
        await check(Call(what=template, action="complete", arguments=asked, caller=Caller(agent="all")))
    assert server.calls == []
