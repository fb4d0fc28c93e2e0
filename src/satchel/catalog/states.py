"""A server's state in words: the one place that says why a server can't be used, and what a person can do.

Every surface tells models, programs and people the same. Reasons are short and carry no secret: errors of
servers have been redacted before they get here.
"""

from satchel.errors import ServerError
from satchel.model import Server, State
from satchel.names import in_shell

_LONGEST_REASON = 160  # characters
_USABLE: frozenset[State] = frozenset({"listed", "running"})
_WORDS: dict[State, str] = {
    "needs setup": "needs setup",
    "needs approval": "needs a person's approval",
    "needs authorization": "needs a login",
    "failed": "failed when last asked",
    "disabled": "is disabled",
    "not listed": "has not been listed yet",
}
_NEXT: dict[State, str] = {
    "needs setup": "satchel doctor {} tells more",
    "needs approval": "satchel plugins approve {} shows what it needs",
    "needs authorization": "satchel auth {} logs in",
    "failed": "satchel doctor {} tells more",
    "disabled": "satchel enable {} enables it",
    "not listed": "satchel refresh {} lists it",
}
_SAYS_ENOUGH = ("needs authorization", "disabled", "not listed")  # the words above are the reason


def is_usable(server: Server) -> bool:
    """Whether nothing is known that would make a call fail."""
    return server.state in _USABLE


def shows_no_tools(server: Server) -> bool:
    """Whether none of its tools can be found: none is known, or a person has disabled it."""
    return not server.tool_count or server.state == "disabled"


def why(state: State, reason: str = "", room: int = _LONGEST_REASON) -> str:
    """`needs setup (GITHUB_TOKEN is not set)`: why a server in this state can't be used."""
    text = " ".join(reason.split())
    if len(text) > room:
        text = text[: room - 1].rstrip() + "…"
    words = _WORDS.get(state, state)
    return f"{words} ({text})" if text and state not in _SAYS_ENOUGH else words


def next_step(name: str, state: State) -> str:
    """The next step for a person."""
    named = name.partition(":")[0] if state == "needs approval" else name  # it is about the plugin as a whole
    return _NEXT[state].format(in_shell(named)) if state in _NEXT else ""


def why_and_next(server: Server, room: int = _LONGEST_REASON) -> str:
    """Both of them, for a server that can't be used."""
    return f"{why(server.state, server.reason, room)}; {next_step(server.name, server.state)}"


def trouble(error: ServerError) -> str:
    """The same of a server that was just asked, whose error may have a next step of its own.

    Where the reason in full is for people alone, so is that step: a command line may be in both.
    """
    hint = error.hint if error.brief == error.reason else None
    step = hint or next_step(error.server, error.state)
    return f"{error.server} {why(error.state, error.brief)}; {step}"


def sentence(server: Server) -> str:
    """`github has no tools: it needs setup (GITHUB_TOKEN is not set); satchel doctor github tells more`."""
    if is_usable(server):
        return f"{server.name} has no tools" if not server.tool_count else f"{server.name} can be used"
    so = "can't be used now" if server.tool_count else "has no tools"
    return f"{server.name} {so}: it {why_and_next(server)}"
