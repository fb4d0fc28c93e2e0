"""How long the tokens of a conversation stand for something, and for whom."""

import pytest

from satchel.config.settings import PrivacySettings, Settings
from satchel.errors import ArgumentError, NotAllowedError
from satchel.model import Call, Caller, Tool
from satchel.verbs.privacy.boundary import IDLE, MOST_SCOPES, Privacy
from tests.fakes import make_tool

CRM = make_tool({"name": "find"}, server="crm")
MAIL = make_tool({"name": "send"}, server="mail")


class Clock:
    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def boundary(settings: PrivacySettings, clock: Clock | None = None) -> Privacy:
    return Privacy(lambda: Settings(privacy=settings), clock or Clock())


def hidden(privacy: Privacy, caller: Caller, value: str = "x@y.org") -> str:
    scope = privacy.scope_of(caller)
    assert scope is not None
    return str(scope.hidden_now(value, "crm"))


def restored(privacy: Privacy, caller: Caller, token: str, tool: Tool = CRM) -> object:
    scope = privacy.scope_of(caller)
    assert scope is not None
    return scope.restored({"to": token}, Call(what=tool, caller=caller))["to"]


def test_people_and_settings_that_hide_nothing_have_no_scope() -> None:
    on, off = boundary(PrivacySettings(detect=("all",))), boundary(PrivacySettings())
    assert on.scope_of(Caller()) is None
    assert off.scope_of(Caller(conversation="a")) is None
    assert not off.is_on


def test_tokens_end_a_day_after_their_last_use() -> None:
    clock = Clock()
    privacy, caller = boundary(PrivacySettings(detect=("all",)), clock), Caller(conversation="a")
    token = hidden(privacy, caller)
    clock.seconds = IDLE - 1
    assert restored(privacy, caller, token) == "x@y.org"
    clock.seconds = 2 * IDLE - 2
    assert restored(privacy, caller, token) == "x@y.org"
    clock.seconds = 4 * IDLE
    with pytest.raises(ArgumentError, match="not known here"):
        restored(privacy, caller, token)


def test_of_very_many_conversations_the_oldest_end() -> None:
    privacy = boundary(PrivacySettings(detect=("all",)))
    first = Caller(conversation="first")
    token = hidden(privacy, first)
    for number in range(MOST_SCOPES + 2):
        privacy.scope_of(Caller(conversation=str(number)))
    with pytest.raises(ArgumentError, match="not known here"):
        restored(privacy, first, token)


@pytest.mark.parametrize("other", [Caller(conversation="b"), Caller(agent="other", conversation="a")])
def test_nobody_else_has_the_token(other: Caller) -> None:
    privacy = boundary(PrivacySettings(detect=("all",)))
    token = hidden(privacy, Caller(conversation="a"))
    with pytest.raises(ArgumentError, match="not known here"):
        restored(privacy, other, token)


@pytest.mark.parametrize(
    ("reveal_to", "is_sent"),
    [
        ((), False),
        (("mail",), True),
        (("mail.send",), True),
        (("m*.se*",), True),
        (("crm", "mail.read"), False),
    ],
)
def test_other_servers_get_values_only_where_the_settings_name_them(
    reveal_to: tuple[str, ...], is_sent: bool
) -> None:
    privacy = boundary(PrivacySettings(detect=("all",), reveal_to=reveal_to))
    caller = Caller(conversation="a")
    token = hidden(privacy, caller)
    if is_sent:
        assert restored(privacy, caller, token, MAIL) == "x@y.org"
    else:
        with pytest.raises(NotAllowedError, match="mail may not receive EMAIL_"):
            restored(privacy, caller, token, MAIL)
    assert hidden(privacy, caller) == token
    assert restored(privacy, caller, token) == "x@y.org"
