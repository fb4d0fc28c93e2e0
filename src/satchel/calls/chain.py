"""The one chain: everything that reaches a server passes the same links, in the order of their list.

A link is a function from CallTool to CallTool with one concern; each has a file here. `app.py` has the list.
"""

from collections.abc import Sequence

from satchel.model import CallTool, Link


def chain(links: Sequence[Link], send: CallTool) -> CallTool:
    """Wrap `send`, the way to the server, so that a call meets the first link first."""
    for link in reversed(links):
        send = link(send)
    return send
